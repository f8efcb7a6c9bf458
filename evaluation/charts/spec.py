"""Colours, axes and labels of all charts, and the conversion to a Vega-Lite document.

Colours are variables of `static/site.css`, such as "var(--accent)". `static/charts.js` and `pictures.py` replace
them by their values in the reader's theme. `url(#neg)` and `url(#unj)` are the hatches for values below the
neutral point and for undefined values. Titles, captions and legends are part of the page, not of the chart.

Every channel is written as a class, `text=alt.Text("name:N")`. For a channel as a string, `text="name:N"`, Altair
would read its whole schema at each call.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice

import altair as alt
from altair.utils import schemapi

# Altair would validate every part of a chart, which takes most of a second for a page. The tests validate instead.
schemapi.disable_debug_mode()

INK, SOFT, ACCENT, WARN = "var(--ink)", "var(--soft)", "var(--accent)", "var(--warn)"
PAPER, EDGE = "var(--paper)", "var(--edge)"
BELOW_HATCH, UNDEFINED_HATCH = "url(#neg)", "url(#unj)"
SHADES = ("var(--wash)", "var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)")

# Looks of lines. The two numbers have no common divisor, so that a look comes again after all pairs.
DASHES = ([1, 0], [8, 3], [4, 3], [10, 3, 2, 3], [8, 3, 2, 3, 2, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DOTTED = [2, 3]

LABEL_HEIGHT = 17  # pixels, of a line of text
SHORT, SIGNED = "~r", "+~r"  # formats of axis labels without trailing zeros: 0, 0.2, 0.005
MOST_LETTERS = 20  # letters of a name at the end of a line; the tooltip has the whole name

Rows = Sequence[Mapping]


def score_domain(values: Sequence[float | None], bounded: bool, to_maximum: bool = True) -> list[float]:
    """The ends of a score axis: it includes 0, and with `to_maximum` also 1, the most of a `bounded` measure."""
    known = [value for value in values if value is not None]
    least, most = min([*known, 0.0]), max([*known, 0.0])
    if bounded and to_maximum:
        return [least, max(1.0, most)]
    if bounded and 0 < most <= 1:
        # Rounded up to a tenth, so that the axis ends on a grid line.
        return [least, min(1.0, int(most * 10 + 1) / 10)]
    return [least, most * 1.05 or 1.0]


def shortened(name: str, most: int) -> str:
    """The Vega expression of a name cut to `most` letters in its middle, since variants differ at the end."""
    head = most // 3
    return f"length({name}) > {most} ? slice({name}, 0, {head}) + '…' + slice({name}, {head + 1 - most}) : {name}"


def interval(form: str, low: str = "low", high: str = "high", title: str = "95 % from") -> list[alt.Tooltip]:
    """The two lines of a tooltip for the ends of an interval: `title` and the low end, "to" and the high end.

    form: the number format of both; low, high: their columns.
    """
    return [
        alt.Tooltip(f"{low}:Q", title=title, format=form),
        alt.Tooltip(f"{high}:Q", title="to", format=form),
    ]


def marks_of_changes(x: alt.X, height: int) -> list[alt.Chart]:
    """The layers of the data set `marks`: at each change a dashed line over the whole height, and what changed."""
    changes = alt.Chart(alt.NamedData("marks")).encode(x=x)
    texts = changes.mark_text(angle=270, align="left", dx=6, dy=-7, color=SOFT, fontSize=12)
    return [
        changes.mark_rule(strokeDash=[3, 3], strokeWidth=1, color=WARN).encode(tooltip=alt.Tooltip("what:N")),
        texts.encode(y=alt.YValue(height), text=alt.Text("what:N")),
    ]


def tooltip_of_mean(*about: alt.Tooltip) -> list[alt.Tooltip]:
    """The tooltip of a system's mean with its interval. The lines `about` follow the system's name."""
    mean = alt.Tooltip("mean:Q", title="Mean", format=".4f")
    counted = alt.Tooltip("queries:Q", title="Queries counted")
    return [alt.Tooltip("system:N", title="System"), *about, mean, *interval(".4f"), counted]


def end_labels(values: Mapping[str, float], domain: list[float], height: int) -> tuple[alt.Chart, list[dict]]:
    """The layer with the name of each system at the end of its line, and the rows of its data set `names`.

    Labels of lines that end close together are moved apart. values: where the line of each system ends; domain:
    the ends of the scale; height: of the chart, in pixels.
    """
    label_height = LABEL_HEIGHT * (domain[1] - domain[0]) / height  # in units of the scale
    places = spread_labels([*values.values()], label_height)
    rows = [{"system": name, "place": place} for name, place in zip(values, places, strict=True)]
    names = alt.Chart(alt.NamedData("names")).mark_text(align="left", baseline="middle", dx=10)
    labels = names.transform_calculate(name=shortened("datum.system", MOST_LETTERS)).encode(
        x=alt.XValue("width"),
        y=alt.Y("place:Q", title=None, scale=alt.Scale(domain=domain, nice=False)),
        text=alt.Text("name:N"),
        tooltip=alt.Tooltip("system:N"),
    )
    return labels, rows


def spread_labels(values: Sequence[float], room: float) -> list[float]:
    """A place near each of the `values` for its label, in their order. Labels are at least `room` apart.

    Labels that would overlap form a block around the mean of their values, in which neighbours are `room` apart.
    """

    def start(block: list[int]) -> float:
        """The place of the lowest label of a block."""
        mean = sum(values[index] for index in block) / len(block)
        return mean - room * (len(block) - 1) / 2

    blocks: list[list[int]] = []  # of indexes of `values`; both blocks and indexes are in the order of the values
    for index in sorted(range(len(values)), key=values.__getitem__):
        blocks.append([index])
        # Two blocks that overlap are joined. The joined one reaches down to more, and may overlap the next.
        while len(blocks) > 1 and start(blocks[-1]) < start(blocks[-2]) + room * len(blocks[-2]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = {index: start(block) + room * step for block in blocks for step, index in enumerate(block)}
    return [places[index] for index in range(len(values))]


def line_and_dots(base: alt.Chart, rows: Rows, *, size: int, width: float = 1.5, **line) -> list[alt.Chart]:
    """A line for each system and a dot at each of its values; those of the leader are accented.

    Dashes and shapes tell the systems apart, since their names stand at the ends of the lines alone. size, width:
    of dots and of their outlines; line: further properties of the lines.
    """
    stroke = where("leader", alt.StrokeValue, ACCENT, INK)
    dash, shape = looks(rows)
    return [
        base.mark_line(**line).encode(
            stroke=stroke, strokeDash=dash, strokeWidth=where("leader", alt.StrokeWidthValue, 2.5, 1.25)
        ),
        base.mark_point(size=size, opacity=1, strokeWidth=width).encode(
            stroke=stroke, shape=shape, fill=where("leader", alt.FillValue, ACCENT, PAPER)
        ),
    ]


def looks(rows: Rows) -> tuple[alt.StrokeDash, alt.Shape]:
    """The dash and the shape of each system: of 30 systems, no two have both in common.

    A row: system, leader (bool: a solid line with circles), and optionally ideal (bool: the dotted line).
    """
    # The leader comes first, as False is before True: it gets the first dash, the solid line, and the first shape,
    # the circle.
    leader_first = sorted(rows, key=lambda row: not row["leader"])
    # Each system once, though it has several rows.
    systems = list(dict.fromkeys(row["system"] for row in leader_first if not row.get("ideal")))
    ideal_lists = list(dict.fromkeys(row["system"] for row in rows if row.get("ideal")))
    dashes = [*islice(cycle(DASHES), len(systems)), *(DOTTED for _ in ideal_lists)]
    shapes = [*islice(cycle(SHAPES), len(systems)), *(SHAPES[0] for _ in ideal_lists)]
    domain = systems + ideal_lists
    return (
        alt.StrokeDash("system:N").legend(None).scale(domain=domain, range=dashes),
        alt.Shape("system:N").legend(None).scale(domain=domain, range=shapes),
    )


def where(field: str, channel: type, yes: object, no: object):
    """A channel with the value `yes` where the field is true, else `no`. (alt.when validates, which is slow.)"""
    return channel(no, condition={"test": f"datum.{field}", "value": yes})


def vega_lite(layers: Sequence[alt.Chart], *, height: int, **datasets: Rows) -> dict:
    """The Vega-Lite document of these layers and data sets, as wide as its container. The page configures it."""
    return {
        # alt.layer would copy each layer three times.
        "layer": [layer.to_dict(validate=False, context={"top_level": False}) for layer in layers],
        "$schema": alt.SCHEMA_URL,
        "width": "container",
        "height": height,
        "datasets": {name: list(rows) for name, rows in datasets.items()},
    }
