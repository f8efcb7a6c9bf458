"""Charts of systems: means, curves over cutoffs and ranks, differences."""

from collections.abc import Sequence

import altair as alt

from .spec import (
    ACCENT,
    EDGE,
    INK,
    LABEL,
    PAPER,
    SHORT,
    SIGNED,
    WARN,
    Rows,
    end_labels,
    highlighted,
    interval,
    leading,
    of_mean,
    score_domain,
    vega_lite,
)

ROW = 48  # pixels for a system with its dot and the number above it


BANDS = 4  # more overlapping bands cannot be distinguished


def means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for each system's mean on its interval, in the order given.

    A row: system, mean, low, high (None without an interval), queries, leader (bool), and optionally lowest and
    highest, the bounds of the mean, drawn as a thin whisker. `neutral`, what an empty list scores on average, is a
    tick. A dotted line marks the leader's mean.
    """
    ends = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest")]
    scale = alt.Scale(domain=score_domain(ends, bounded), nice=False)
    tone, fill = leading(alt.StrokeValue, ACCENT, INK), leading(alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("means")).encode(
        y=alt.Y("system:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=of_mean(),
    )
    at_mean = alt.X("mean:Q", scale=scale, title=None, axis=alt.Axis(format=SHORT))
    layers = [
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5)
        .encode(x=alt.X("low:Q", scale=scale, title=None), x2=alt.X2("high:Q"), stroke=tone),
        base.mark_point(size=120, strokeWidth=2, opacity=1).encode(x=at_mean, stroke=tone, fill=fill),
        base.mark_text(dy=-15).encode(
            x=at_mean, text=alt.Text("mean:Q", format=".4f"), tooltip=alt.TooltipValue(None)
        ),
    ]
    best = [{"mean": row["mean"]} for row in rows if row["leader"] and len(rows) > 1]
    if best:
        line = alt.Chart(alt.NamedData("best")).mark_rule(color=ACCENT, strokeWidth=1, strokeDash=[1, 3])
        # A number that the line would cross gets an outline in the colour of the paper.
        on_paper = layers[-1].mark_text(dy=-15, stroke=PAPER, strokeWidth=4)
        layers = [line.encode(x=at_mean), *layers[:-1], on_paper, layers[-1]]
    if any(row.get("lowest") is not None for row in rows):
        layers = whisker(base.transform_filter("isValid(datum.lowest)"), scale) + layers
    if neutral is not None:
        layers.insert(0, neutral_tick(base, scale, neutral))
        rows = [{**row, "neutral": neutral} for row in rows]
    return vega_lite(layers, height=ROW * max(len(rows), 1), means=rows, **({"best": best} if best else {}))


def neutral_tick(base: alt.Chart, scale: alt.Scale, neutral: float) -> alt.Chart:
    """What an empty list scores, in each row."""
    says = alt.TooltipValue(f"An empty list scores {neutral:.4f}")
    tick = base.mark_tick(size=14, thickness=2, color=WARN)
    return tick.encode(x=alt.X("neutral:Q", scale=scale, title=None), tooltip=says)


def whisker(base: alt.Chart, scale: alt.Scale) -> list[alt.Chart]:
    """A thin line with caps, visible even within the interval."""
    says = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("lowest:Q", title="Bounds, from", format=".4f"),
        alt.Tooltip("highest:Q", title="to", format=".4f"),
    ]
    low = alt.X("lowest:Q", scale=scale, title=None)
    line = base.mark_rule(strokeWidth=1, color=INK).encode(x=low, x2=alt.X2("highest:Q"), tooltip=says)
    caps = [
        base.mark_tick(size=15, thickness=1, opacity=1, color=INK).encode(
            x=alt.X(f"{end}:Q", scale=scale, title=None), tooltip=says
        )
        for end in ("lowest", "highest")
    ]
    return [line, *caps]


def curves(rows: Rows, *, bounded: bool = True) -> dict:
    """A line for each system over the cutoffs. A row: system, cutoff, value (None: undefined), leader (bool).

    With low and high, a row adds to a band behind the lines; of more than BANDS systems only the leader's is
    drawn. The axis of cutoffs is logarithmic, since the first ranks decide most. Names stand at the line ends.
    """
    cutoffs = sorted({row["cutoff"] for row in rows})
    ends = {row["system"]: row for row in rows if row["cutoff"] == cutoffs[-1] and row["value"] is not None}
    height = max(300, LABEL * (len(ends) + 2))
    bands = [row for row in rows if row.get("low") is not None and (row["leader"] or len(ends) <= BANDS)]
    reached = [row[name] for row in bands for name in ("low", "high")]
    domain = score_domain([row["value"] for row in rows] + reached, bounded, whole=False)
    x = alt.X("cutoff:Q", title="k, the cutoff").scale(type="log", domain=[cutoffs[0], cutoffs[-1]], nice=False)
    # With fewer ticks than values Vega would leave some of the values out.
    x = x.axis(values=cutoffs, tickCount=len(cutoffs), grid=False, labelOverlap=False, labelExpr="datum.value")
    return _lines(rows, list(ends.values()), x=x, domain=domain, height=height, step=False, bands=bands)


def running(rows: Rows) -> dict:
    """The DCG down to each rank, a line for each list.

    A row: system, cutoff (the rank), value, leader (bool), ideal (bool).
    """
    last = {row["system"]: row for row in rows}
    height = max(280, LABEL * (len(last) + 2))
    values = [row["value"] for row in rows] + [0.0]
    domain = [min(values), max(values) or 1.0]
    deepest = max(row["cutoff"] for row in rows)
    x = alt.X("cutoff:Q", title="rank").scale(domain=[1, max(deepest, 2)], nice=False)
    x = x.axis(grid=False, format="d", tickMinStep=1, tickCount=10)
    return _lines(rows, list(last.values()), x=x, domain=domain, height=height, step=True)


def differences(rows: Rows, *, beside: Rows = (), whole: float | None = None) -> dict:
    """A dot for each difference on its interval, with a line at 0, in the order given.

    A row: label, value, low, high (None without an interval), n, significant (bool), and
    few (True) where it rests on too few queries to be tested: then it is grey. What is not significant is hollow.
    The scale includes the rows `beside`, so that charts can be compared; `whole` is a dotted line. A row may have
    a url, the link of its dot.
    """
    # The interval of two queries may be a hundred times as wide as any other: it is clipped.
    ends = [
        row[name]
        for row in [*rows, *beside]
        for name in (("value",) if row.get("few") else ("value", "low", "high"))
        if row[name] is not None
    ]
    least, most = min([*ends, 0.0]), max([*ends, 0.0])
    room = 0.08 * (most - least) or 1.0  # for the numbers above the outermost dots
    scale = alt.Scale(domain=[least - room, most + room], nice=False)
    few, significant = {"test": "datum.few", "value": EDGE}, {"test": "datum.significant", "value": ACCENT}
    tone, fill = alt.StrokeValue(INK, condition=[few, significant]), highlighted(alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("differences")).encode(
        y=alt.Y("label:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=[
            alt.Tooltip("label:N", title="Of"),
            alt.Tooltip("value:Q", title="Difference", format="+.4f"),
            *interval("+.4f"),
            alt.Tooltip("n:Q", title="n"),
        ],
    )
    if any("url" in row for row in rows):
        base = base.encode(href=alt.Href("url:N"))
    at_value = alt.X("value:Q", scale=scale, title=None, axis=alt.Axis(format=SIGNED))
    none = alt.Chart(alt.NamedData("none")).mark_rule(color=EDGE, strokeWidth=1.5)
    layers = [
        none.encode(x=alt.X("value:Q", scale=scale, title=None)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5, clip=True)
        .encode(x=alt.X("low:Q", scale=scale, title=None), x2=alt.X2("high:Q"), stroke=tone),
        base.mark_point(size=120, strokeWidth=2, opacity=1).encode(x=at_value, stroke=tone, fill=fill),
        base.mark_text(dy=-15).encode(
            x=at_value, text=alt.Text("value:Q", format="+.4f"), tooltip=alt.TooltipValue(None)
        ),
    ]
    datasets = {"differences": rows, "none": [{"value": 0}]}
    if whole is not None:
        line = alt.Chart(alt.NamedData("whole")).mark_rule(color=INK, strokeWidth=1, strokeDash=[2, 3])
        layers.insert(1, line.encode(x=alt.X("value:Q", scale=scale, title=None)))
        # A number that the line would run through stands on paper.
        layers.insert(-1, layers[-1].mark_text(dy=-15, stroke=PAPER, strokeWidth=4))
        datasets["whole"] = [{"value": whole}]
    return vega_lite(layers, height=ROW * max(len(rows), 1), **datasets)


def spread(values: Sequence[float], room: float) -> list[float]:
    """Places for labels near `values`, in the same order, at least `room` apart.

    Labels that would overlap form a block around the mean of their values.
    """
    blocks: list[list] = []  # [sum of values, count, first index in the order]
    order = sorted(range(len(values)), key=values.__getitem__)
    for index in order:
        blocks.append([values[index], 1])
        while len(blocks) > 1 and _start(blocks[-1], room) < _start(blocks[-2], room) + blocks[-2][1] * room:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    placed = [_start(block, room) + room * step for block in blocks for step in range(block[1])]
    places = [0.0] * len(values)
    for index, place in zip(order, placed, strict=True):
        places[index] = place
    return places


def _start(block: list, room: float) -> float:
    total, count = block
    return total / count - room * (count - 1) / 2


def _lines(
    rows: Rows, ends: Rows, *, x: alt.X, domain: list[float], height: int, step: bool, bands: Rows = ()
) -> dict:
    """Lines over `cutoff` with the name of each list beside its end. The leader's is the accented one."""
    scale = alt.Scale(domain=domain, nice=False)
    stroke = leading(alt.StrokeValue, ACCENT, INK)
    width = leading(alt.StrokeWidthValue, 2.5, 1.25)
    dash = alt.StrokeDashValue([1, 0], condition={"test": "datum.ideal", "value": [2, 3]})
    base = alt.Chart(alt.NamedData("lines")).encode(
        x=x,
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT)),
        detail=alt.Detail("system:N"),
        tooltip=[
            alt.Tooltip("system:N", title="List"),
            alt.Tooltip("cutoff:Q", title="Down to rank"),
            alt.Tooltip("value:Q", title="Value", format=".4f"),
        ],
    )
    layers = [
        base.mark_line(interpolate="step-after" if step else "linear").encode(
            stroke=stroke, strokeWidth=width, strokeDash=dash
        ),
        base.mark_point(size=28, opacity=1, strokeWidth=1.25).encode(
            stroke=stroke, fill=leading(alt.FillValue, ACCENT, PAPER)
        ),
        end_labels(scale),
    ]
    if bands:
        # Transparent layers would make each PDF differ from the one before.
        band = alt.Chart(alt.NamedData("bands")).mark_area(opacity=1)
        low, shade = alt.Y("low:Q", title=None, scale=scale), leading(alt.FillValue, "var(--wash)", "var(--sunk)")
        layers.insert(0, band.encode(x=x, y=low, y2=alt.Y2("high:Q"), detail=alt.Detail("system:N"), fill=shade))
    places = spread([row["value"] for row in ends], LABEL * (domain[1] - domain[0]) / height)
    named = [{"system": row["system"], "place": place} for row, place in zip(ends, places, strict=True)]
    return vega_lite(layers, height=height, lines=rows, names=named, **({"bands": bands} if bands else {}))
