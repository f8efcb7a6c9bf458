"""Scores as charts: rows in, a Vega-Lite document out. Knows no Django and no database.

Colours are names of the style sheet, "var(--accent)": `static/charts.js` puts in what they are in the reader's
theme. `url(#neg)` and `url(#unj)` are the page's hatches for harm and for "no value". Titles, sentences and
keys stand in the page, so that a chart carries none.
"""

import json
from collections.abc import Mapping, Sequence

import altair as alt
from altair.utils import schemapi

# Altair checks every part of a chart against the schema, which takes most of a second a page. Here the tests do.
schemapi.disable_debug_mode()

INK, SOFT, ACCENT, WARN = "var(--ink)", "var(--soft)", "var(--accent)", "var(--warn)"
PAPER, EDGE = "var(--paper)", "var(--edge)"
BELOW, UNDEFINED = "url(#neg)", "url(#unj)"
SHADES = ("var(--wash)", "var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)")

STEPS = (0.25, 0.5)  # between the shades of a confusion of grades
PANEL = 84  # pixels for a rater with a strip
STRIP, BELOW_STRIP = 0.8, 0.9  # how much of it the strip takes, and where it ends
ROW = 48  # pixels for a system with its dot and the number above it
BANDS = 4  # as many can be told apart where they lie over each other
LABEL = 17  # pixels that a line of text needs, so that names below each other can be read
# Labels of an axis: as many digits as its steps need, and no more: 0, 0.2, 0.005.
SHORT, SIGNED = "~r", "+~r"
LONGEST = 20  # letters of a name at the end of a line; tooltip and table give it whole

# What a cell of the heat map says when it is pointed at.
SHOWN = (
    "!isValid(datum.value) ? 'undefined' : "
    "format(datum.value, '.4f') + (datum.below ? ', worse than an empty list' : '')"
)

Rows = Sequence[Mapping]


def means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for each system's mean on its interval, in the order given.

    A row: system, mean, low, high (None without an interval), queries, leader (bool), and lowest and highest where
    it is known what the mean can still become: a thin whisker behind the interval. `neutral` is what an empty list
    scores on average, marked where it is given. A dotted line stands at the leader's mean, which the others lack.
    """
    ends = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest")]
    scale = alt.Scale(domain=score_domain(ends, bounded), nice=False)
    tone, fill = _leads(alt.StrokeValue, ACCENT, INK), _leads(alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("means")).encode(
        y=alt.Y("system:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("mean:Q", title="Mean", format=".4f"),
            alt.Tooltip("low:Q", title="95 % from", format=".4f"),
            alt.Tooltip("high:Q", title="to", format=".4f"),
            alt.Tooltip("queries:Q", title="Queries counted"),
        ],
    )
    at_mean = alt.X("mean:Q", scale=scale, title=None, axis=alt.Axis(format=SHORT))
    layers = [
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5)
        .encode(x=alt.X("low:Q", scale=scale, title=None), x2="high:Q", stroke=tone),
        base.mark_point(size=120, strokeWidth=2, opacity=1).encode(x=at_mean, stroke=tone, fill=fill),
        base.mark_text(dy=-15).encode(
            x=at_mean, text=alt.Text("mean:Q", format=".4f"), tooltip=alt.TooltipValue(None)
        ),
    ]
    best = [{"mean": row["mean"]} for row in rows if row["leader"] and len(rows) > 1]
    if best:
        line = alt.Chart(alt.NamedData("best")).mark_rule(color=ACCENT, strokeWidth=1, strokeDash=[1, 3])
        # A number that the line would run through stands on paper.
        on_paper = layers[-1].mark_text(dy=-15, stroke=PAPER, strokeWidth=4)
        layers = [line.encode(x=at_mean), *layers[:-1], on_paper, layers[-1]]
    if any(row.get("lowest") is not None for row in rows):
        layers = _whisker(base.transform_filter("isValid(datum.lowest)"), scale) + layers
    if neutral is not None:
        tick = base.mark_tick(size=14, thickness=2, color=WARN)
        says = alt.TooltipValue(f"An empty list scores {neutral:.4f}")
        layers.insert(0, tick.encode(x=alt.X("neutral:Q", scale=scale, title=None), tooltip=says))
        rows = [{**row, "neutral": neutral} for row in rows]
    return _spec(
        alt.layer(*layers), height=ROW * max(len(rows), 1), means=rows, **({"best": best} if best else {})
    )


def _whisker(base: alt.Chart, scale: alt.Scale) -> list[alt.Chart]:
    """A thin line with caps that stand out from the interval even where they lie within it."""
    says = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("lowest:Q", title="Can still become, from", format=".4f"),
        alt.Tooltip("highest:Q", title="to", format=".4f"),
    ]
    low = alt.X("lowest:Q", scale=scale, title=None)
    line = base.mark_rule(strokeWidth=1, color=INK).encode(x=low, x2="highest:Q", tooltip=says)
    caps = [
        base.mark_tick(size=15, thickness=1, opacity=1, color=INK).encode(
            x=alt.X(f"{end}:Q", scale=scale, title=None), tooltip=says
        )
        for end in ("lowest", "highest")
    ]
    return [line, *caps]


def heat_map(cells: Rows, queries: Rows, *, systems: Sequence[str], top: float = 1.0) -> dict:
    """A cell for each query and system, shaded in five equal steps from 0 to `top`.

    A cell: query (key), system, value (None: undefined), and below (True) where it is under the neutral point. A
    query: query, text, url; their order is that of the columns.
    """
    few = len(queries) <= 60
    keys = [query["query"] for query in queries]
    x = (
        alt.X("query:N")
        .sort(None)
        .title(None)
        .axis(None)
        .scale(domain=keys, paddingInner=0.08 if few else 0, paddingOuter=0)
    )
    y = alt.Y("system:N").sort(None).title(None).axis(labelColor=INK, grid=False)
    y = y.scale(domain=list(systems), paddingInner=0.06, paddingOuter=0)
    shade = alt.Color("value:Q").legend(None)
    shade = shade.scale(type="threshold", domain=[top * step / 5 for step in (1, 2, 3, 4)], range=list(SHADES))
    base = (
        alt.Chart(alt.NamedData("cells"))
        .transform_calculate(shown=SHOWN)
        .transform_lookup("query", alt.LookupData(alt.NamedData("queries"), "query", ["text", "url"]))
        .encode(
            x=x,
            y=y,
            href="url:N",
            tooltip=[
                alt.Tooltip("text:N", title="Query"),
                alt.Tooltip("query:N", title="Key"),
                alt.Tooltip("system:N", title="System"),
                alt.Tooltip("shown:N", title="Value"),
            ],
        )
    )
    layers = [
        base.transform_filter("isValid(datum.value) && !datum.below").mark_rect().encode(fill=shade),
        base.transform_filter("isValid(datum.value) && datum.below").mark_rect(fill=BELOW),
        base.transform_filter("!isValid(datum.value)").mark_rect(fill=UNDEFINED),
    ]
    ends = alt.Chart(alt.NamedData("ends")).encode(y=alt.YValue(-8), text="text:N")
    at_end = "hardest, then undefined" if any(cell["value"] is None for cell in cells) else "hardest"
    layers += [
        ends.transform_filter("!datum.last").mark_text(align="left").encode(x=alt.XValue(0)),
        ends.transform_filter("datum.last").mark_text(align="right").encode(x=alt.XValue("width")),
    ]
    both = [{"text": "easiest", "last": False}, {"text": at_end, "last": True}]
    height = len(systems) * (34 if len(systems) <= 12 else 20)
    return _spec(alt.layer(*layers), height=height, cells=cells, queries=queries, ends=both)


def curves(rows: Rows, *, bounded: bool = True) -> dict:
    """A line for each system over the cutoffs. A row: system, cutoff, value (None: undefined), leader (bool).

    Where it has an interval, also low and high: a band behind the lines, of many systems only the leader's, for
    bands hide each other. The axis of cutoffs is logarithmic, since the first ranks decide most. Names stand at
    the ends of the lines.
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
    """The DCG summed down the ranks, a line for each list.

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


def by_query(rows: Rows, *, bounded: bool = True) -> dict:
    """A bar for each query of one system, in the order given; its best and its worst query are named.

    A row: query (key), text, value, below (bool: under the neutral point), url.
    """
    keys = [row["query"] for row in rows]
    padding = 0.15 if len(rows) <= 120 else 0
    base = alt.Chart(alt.NamedData("bars")).encode(
        x=alt.X("query:N").sort(None).axis(None).scale(domain=keys, paddingInner=padding, paddingOuter=0),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(format=SHORT)).scale(
            domain=score_domain([row["value"] for row in rows], bounded), nice=False
        ),
        href="url:N",
        tooltip=[
            alt.Tooltip("text:N", title="Query"),
            alt.Tooltip("query:N", title="Key"),
            alt.Tooltip("value:Q", title="Value", format=".4f"),
        ],
    )
    layers = [
        base.transform_filter("!datum.below").mark_bar(fill="var(--p3)"),
        base.transform_filter("datum.below").mark_bar(fill=BELOW, stroke=WARN, strokeWidth=0.75),
    ]
    return _spec(alt.layer(*layers), height=240, bars=rows)


def deltas(rows: Rows) -> dict:
    """A bar for each query with the difference of two systems on it, in the order given, beside the line of none.

    A row: query (key), text, first, second (their values), value (the difference), url, start and end (where it
    stands along the axis: as wide as the queries that it is drawn for). What is equal is a part of the line.
    """
    values = [row["value"] for row in rows] + [0.0]
    room = 0.05 * (max(values) - min(values)) or 1.0
    y = alt.Y("value:Q", title=None, axis=alt.Axis(format=SIGNED))
    y = y.scale(domain=[min(values) - room, max(values) + room], nice=False)
    width = rows[-1]["end"] if rows else 1
    x = alt.X("start:Q").axis(None).scale(domain=[0, width], nice=False)
    base = alt.Chart(alt.NamedData("deltas")).encode(
        x=x,
        x2="end:Q",
        href="url:N",
        tooltip=[
            alt.Tooltip("text:N", title="Query"),
            alt.Tooltip("query:N", title="Key"),
            alt.Tooltip("value:Q", title="Difference", format="+.4f"),
            alt.Tooltip("first:Q", title="From", format=".4f"),
            alt.Tooltip("second:Q", title="to", format=".4f"),
        ],
    )
    # Where bars touch, an outline would be all that is seen.
    edge = alt.StrokeWidthValue(0.75 if width <= 120 else 0)
    bars = base.encode(y=y, y2=alt.Y2Datum(0))
    layers = [
        bars.transform_filter("datum.value > 0").mark_rect(fill="var(--p3)").encode(stroke=alt.StrokeValue(PAPER)),
        bars.transform_filter("datum.value < 0").mark_rect(fill=BELOW).encode(stroke=alt.StrokeValue(WARN)),
    ]
    layers = [layer.encode(strokeWidth=edge) for layer in layers]
    layers.append(base.transform_filter("datum.value == 0").mark_rule(color=EDGE, strokeWidth=4).encode(y=y))
    return _spec(alt.layer(*layers), height=280, deltas=rows)


def differences(rows: Rows, *, beside: Rows = (), whole: float | None = None) -> dict:
    """A dot for each difference on its interval, beside the line of none, in the order given.

    A row: label, value, low, high (None without an interval), n, told (bool: whether it is more than chance), and
    few (True) where it rests on too few queries to be tested: then it is grey. What is not told from 0 is hollow.
    The scale has room for the rows `beside`, so that charts can be compared; `whole` is a dotted line. A row may
    have a url, to which its dot leads.
    """
    # The interval of two queries may be a hundred times as wide as any other: it runs out of the picture.
    ends = [
        row[name]
        for row in [*rows, *beside]
        for name in (("value",) if row.get("few") else ("value", "low", "high"))
        if row[name] is not None
    ]
    least, most = min([*ends, 0.0]), max([*ends, 0.0])
    room = 0.08 * (most - least) or 1.0  # for the numbers above the outermost dots
    scale = alt.Scale(domain=[least - room, most + room], nice=False)
    few, told = {"test": "datum.few", "value": EDGE}, {"test": "datum.told", "value": ACCENT}
    tone, fill = alt.StrokeValue(INK, condition=[few, told]), _told(alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("differences")).encode(
        y=alt.Y("label:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=[
            alt.Tooltip("label:N", title="Of"),
            alt.Tooltip("value:Q", title="Difference", format="+.4f"),
            alt.Tooltip("low:Q", title="95 % from", format="+.4f"),
            alt.Tooltip("high:Q", title="to", format="+.4f"),
            alt.Tooltip("n:Q", title="n"),
        ],
    )
    if any("url" in row for row in rows):
        base = base.encode(href="url:N")
    at_value = alt.X("value:Q", scale=scale, title=None, axis=alt.Axis(format=SIGNED))
    none = alt.Chart(alt.NamedData("none")).mark_rule(color=EDGE, strokeWidth=1.5)
    layers = [
        none.encode(x=alt.X("value:Q", scale=scale, title=None)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5, clip=True)
        .encode(x=alt.X("low:Q", scale=scale, title=None), x2="high:Q", stroke=tone),
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
    return _spec(alt.layer(*layers), height=ROW * max(len(rows), 1), **datasets)


def confusion(cells: Rows, *, grades: Sequence[str]) -> dict:
    """Grade by grade, how often the other grade of a pair was which.

    A cell: one and other (labels, as in `grades`), share (of the row; None for a row without a couple), couples.
    """
    # The rows have the names of the grades; on a phone there is room for them only once.
    number = "split(datum.label, ' ')[0]"
    x = alt.X("other:N").sort(None).title(None)
    x = x.axis(labelColor=INK, grid=False, orient="top", labelAngle=0, labelExpr=number)
    y = alt.Y("one:N").sort(None).title(None).axis(labelColor=INK, grid=False)
    shade = alt.Color("share:Q").legend(None)
    # Only shades on which the number can be read.
    shade = shade.scale(type="threshold", domain=list(STEPS), range=list(SHADES[:3]))
    base = alt.Chart(alt.NamedData("cells")).encode(
        x=x.scale(domain=list(grades), paddingInner=0.04, paddingOuter=0),
        y=y.scale(domain=list(grades)[::-1], paddingInner=0.04, paddingOuter=0),
        tooltip=[
            alt.Tooltip("one:N", title="One gave"),
            alt.Tooltip("other:N", title="the other"),
            alt.Tooltip("share:Q", title="Share of the row", format=".1%"),
            alt.Tooltip("couples:Q", title="Couples of grades"),
        ],
    )
    known = base.transform_filter("isValid(datum.share)")
    layers = [
        known.mark_rect().encode(fill=shade),
        base.transform_filter("!isValid(datum.share)").mark_rect(fill=UNDEFINED),
        known.mark_text(baseline="middle").encode(
            text=alt.Text("share:Q", format=".0%"), tooltip=alt.TooltipValue(None)
        ),
    ]
    return _spec(alt.layer(*layers), height=42 * max(len(grades), 1), cells=cells)


def mixes(cells: Rows, *, raters: Sequence[str], grades: Mapping[str, str]) -> dict:
    """A strip for each rater: bars of their periods from left to right, each the mix of grades, the lowest below.

    A cell: place (of the rater, from 0), rater, period, grade (label), start and end (shares), first, last, given,
    share. `grades` are the fills by label.
    """
    base = alt.Chart(alt.NamedData("cells")).transform_calculate(
        top=f"datum.place + {BELOW_STRIP} - {STRIP} * datum.end",
        bottom=f"datum.place + {BELOW_STRIP} - {STRIP} * datum.start",
    )
    fill = alt.Fill("grade:N").legend(None).scale(domain=list(grades), range=list(grades.values()))
    bars = base.mark_rect(stroke=EDGE, strokeWidth=0.5).encode(
        x=_periods(),
        y=_strips("top:Q", raters),
        y2="bottom:Q",
        fill=fill,
        tooltip=[
            alt.Tooltip("rater:N", title="Rater"),
            alt.Tooltip("first:Q", title="From their grade"),
            alt.Tooltip("last:Q", title="to"),
            alt.Tooltip("grade:N", title="Grade"),
            alt.Tooltip("given:Q", title="Given"),
            alt.Tooltip("share:Q", title="Share", format=".1%"),
        ],
    )
    return _spec(alt.layer(bars), height=PANEL * len(raters), cells=cells)


def courses(dots: Rows, *, raters: Sequence[str], reach: float) -> dict:
    """A strip for each rater: the mean distance from the others in each period, from -reach below to reach above.

    A dot: place (of the rater, from 0), rater, period, bias, low, high (None without an interval), shared, first,
    last, told (bool: whether the rater moves more than by chance). Intervals end where the strip does.
    """
    height = STRIP / (2 * reach)

    def at(name: str) -> str:
        return f"datum.place + 0.5 - {height} * clamp(datum.{name}, {-reach}, {reach})"

    base = (
        alt.Chart(alt.NamedData("dots"))
        .transform_calculate(at=at("bias"), top=at("high"), bottom=at("low"))
        .encode(
            x=_periods(),
            tooltip=[
                alt.Tooltip("rater:N", title="Rater"),
                alt.Tooltip("first:Q", title="From their grade"),
                alt.Tooltip("last:Q", title="to"),
                alt.Tooltip("bias:Q", title="From the others", format="+.4f"),
                alt.Tooltip("low:Q", title="95 % from", format="+.4f"),
                alt.Tooltip("high:Q", title="to", format="+.4f"),
                alt.Tooltip("shared:Q", title="Shared grades"),
            ],
        )
    )
    tone, fill = _told(alt.StrokeValue, ACCENT, INK), _told(alt.FillValue, ACCENT, PAPER)
    none = alt.Chart(alt.NamedData("none")).mark_rule(color=EDGE, strokeWidth=1.5)
    point = base.mark_point(size=50, strokeWidth=1.5, opacity=1)
    layers = [
        none.encode(y=_strips("at:Q", raters)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3)
        .encode(y=_strips("top:Q", raters), y2="bottom:Q", stroke=tone),
        point.encode(y=_strips("at:Q", raters), stroke=tone, fill=fill),
    ]
    lines = [{"at": place + 0.5} for place in range(len(raters))]
    return _spec(alt.layer(*layers), height=PANEL * len(raters), dots=dots, none=lines)


def _periods() -> alt.X:
    return alt.X("period:O").axis(None).scale(paddingInner=0.15, paddingOuter=0.05)


def _strips(field: str, raters: Sequence[str]) -> alt.Y:
    """Strips below each other on one axis, where each is 1 high and has the name of its rater in the middle."""
    axis = alt.Axis(
        values=[place + 0.5 for place in range(len(raters))],
        tickCount=len(raters),
        labelOverlap=False,
        labelExpr=f"{json.dumps(list(raters))}[floor(datum.value)]",
        labelColor=INK,
        grid=False,
    )
    return alt.Y(field).scale(domain=[0, len(raters)], reverse=True, nice=False).axis(axis).title(None)


def score_domain(values: Sequence[float | None], bounded: bool, whole: bool = True) -> list[float]:
    """The ends of a score axis: always with 0; to 1 where the measure ends there and the `whole` is wanted."""
    known = [value for value in values if value is not None]
    least, most = min([*known, 0.0]), max([*known, 0.0])
    if bounded and whole:
        return [least, max(1.0, most)]
    if bounded and 0 < most <= 1:
        # The next tenth, so that the axis ends on a line of its grid.
        return [least, min(1.0, int(most * 10 + 1) / 10)]
    return [least, most * 1.05 or 1.0]


def spread(values: Sequence[float], room: float) -> list[float]:
    """Places for labels near `values`, in the same order, at least `room` apart from each other.

    Labels that would touch form a block around the middle of their values.
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
    stroke = _leads(alt.StrokeValue, ACCENT, INK)
    width = _leads(alt.StrokeWidthValue, 2.5, 1.25)
    dash = alt.StrokeDashValue([1, 0], condition={"test": "datum.ideal", "value": [2, 3]})
    base = alt.Chart(alt.NamedData("lines")).encode(
        x=x,
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT)),
        detail="system:N",
        tooltip=[
            alt.Tooltip("system:N", title="List"),
            alt.Tooltip("cutoff:Q", title="Down to rank"),
            alt.Tooltip("value:Q", title="Value", format=".4f"),
        ],
    )
    names = alt.Chart(alt.NamedData("names")).encode(
        x=alt.XValue("width"),
        y=alt.Y("place:Q", title=None, scale=scale),
        text="name:N",
        tooltip="system:N",
    )
    names = names.transform_calculate(name=shortened("datum.system", LONGEST))
    layers = [
        base.mark_line(interpolate="step-after" if step else "linear").encode(
            stroke=stroke, strokeWidth=width, strokeDash=dash
        ),
        base.mark_point(size=28, opacity=1, strokeWidth=1.25).encode(
            stroke=stroke, fill=_leads(alt.FillValue, ACCENT, PAPER)
        ),
        names.mark_text(align="left", baseline="middle", dx=10),
    ]
    if bands:
        # Layers that shine through would give a PDF that is never the same twice.
        band = alt.Chart(alt.NamedData("bands")).mark_area(opacity=1)
        low, shade = alt.Y("low:Q", title=None, scale=scale), _leads(alt.FillValue, "var(--wash)", "var(--sunk)")
        layers.insert(0, band.encode(x=x, y=low, y2="high:Q", detail="system:N", fill=shade))
    places = spread([row["value"] for row in ends], LABEL * (domain[1] - domain[0]) / height)
    named = [{"system": row["system"], "place": place} for row, place in zip(ends, places, strict=True)]
    return _spec(alt.layer(*layers), height=height, lines=rows, names=named, **({"bands": bands} if bands else {}))


def shortened(name: str, most: int) -> str:
    """The Vega expression of a name in so many letters at most, its middle left out: variants end differently."""
    head = most // 3
    return f"length({name}) > {most} ? slice({name}, 0, {head}) + '…' + slice({name}, {head + 1 - most}) : {name}"


def _leads(channel: type, yes: object, no: object):
    """One look for the leader, another for the rest. Without alt.when, whose check of each condition is slow."""
    return channel(no, condition={"test": "datum.leader", "value": yes})


def _told(channel: type, yes: object, no: object):
    """One look for what is told from 0, another for what is not."""
    return channel(no, condition={"test": "datum.told", "value": yes})


def _spec(chart: alt.LayerChart, *, height: int, **datasets: Rows) -> dict:
    """The chart as wide as its place, with its rows. Altair's own look is left out: the page has one."""
    spec = chart.properties(width="container", height=height).to_dict(validate=False)
    del spec["config"]
    return spec | {"datasets": {name: list(rows) for name, rows in datasets.items()}}
