"""Charts of systems: means, curves over cutoffs and ranks, and differences."""

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
    for_leader,
    for_significant,
    interval,
    of_mean,
    score_domain,
    vega_lite,
)

ROW = 48  # pixels of height for a system: its dot, with the number above
BANDS = 4  # systems: more overlapping bands cannot be distinguished


def means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for the mean of each system on its interval, in the order of the rows.

    A row: system, mean, low and high (None without an interval), queries, leader (bool), and optionally lowest and
    highest (bounds of the mean, a thin whisker). neutral: the mean score of an empty list, a tick in each row. A
    dotted line marks the leader's mean.
    """
    ends = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest")]
    scale = alt.Scale(domain=score_domain(ends, bounded), nice=False)
    tone, fill = for_leader(alt.StrokeValue, ACCENT, INK), for_leader(alt.FillValue, ACCENT, PAPER)
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
        # Numbers get an outline in the colour of the paper, so that the line does not cross them.
        on_paper = layers[-1].mark_text(dy=-15, stroke=PAPER, strokeWidth=4)
        layers = [line.encode(x=at_mean), *layers[:-1], on_paper, layers[-1]]
    if any(row.get("lowest") is not None for row in rows):
        layers = whisker(base.transform_filter("isValid(datum.lowest)"), scale) + layers
    if neutral is not None:
        layers.insert(0, neutral_tick(base, scale, neutral))
        rows = [{**row, "neutral": neutral} for row in rows]
    return vega_lite(layers, height=ROW * max(len(rows), 1), means=rows, **({"best": best} if best else {}))


def neutral_tick(base: alt.Chart, scale: alt.Scale, neutral: float) -> alt.Chart:
    """A tick in each row at the score of an empty list."""
    tooltip = alt.TooltipValue(f"An empty list scores {neutral:.4f}")
    tick = base.mark_tick(size=14, thickness=2, color=WARN)
    return tick.encode(x=alt.X("neutral:Q", scale=scale, title=None), tooltip=tooltip)


def whisker(base: alt.Chart, scale: alt.Scale) -> list[alt.Chart]:
    """The bounds from `lowest` to `highest`: a thin line with caps, visible even within the interval."""
    tooltip = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("lowest:Q", title="Bounds, from", format=".4f"),
        alt.Tooltip("highest:Q", title="to", format=".4f"),
    ]
    low = alt.X("lowest:Q", scale=scale, title=None)
    line = base.mark_rule(strokeWidth=1, color=INK).encode(x=low, x2=alt.X2("highest:Q"), tooltip=tooltip)
    caps = [
        base.mark_tick(size=15, thickness=1, opacity=1, color=INK).encode(
            x=alt.X(f"{end}:Q", scale=scale, title=None), tooltip=tooltip
        )
        for end in ("lowest", "highest")
    ]
    return [line, *caps]


def curves(rows: Rows, *, bounded: bool = True) -> dict:
    """A line of values over cutoffs for each system, with its name at the end.

    A row: system, cutoff, value (None: undefined), leader (bool), and optionally low and high (a band behind the
    lines; with more than BANDS systems, only the leader's). The axis of cutoffs is logarithmic, since the first
    ranks count most.
    """
    cutoffs = sorted({row["cutoff"] for row in rows})
    ends = {row["system"]: row for row in rows if row["cutoff"] == cutoffs[-1] and row["value"] is not None}
    height = max(300, LABEL * (len(ends) + 2))
    bands = [row for row in rows if row.get("low") is not None and (row["leader"] or len(ends) <= BANDS)]
    reached = [row[name] for row in bands for name in ("low", "high")]
    domain = score_domain([row["value"] for row in rows] + reached, bounded, whole=False)
    x = alt.X("cutoff:Q", title="k, the cutoff").scale(type="log", domain=[cutoffs[0], cutoffs[-1]], nice=False)
    # With a smaller tick count Vega would leave out some of the values.
    x = x.axis(values=cutoffs, tickCount=len(cutoffs), grid=False, labelOverlap=False, labelExpr="datum.value")
    return _lines(rows, list(ends.values()), x=x, domain=domain, height=height, step=False, bands=bands)


def running(rows: Rows) -> dict:
    """A line of the DCG down to each rank for each list.

    A row: system, cutoff (rank), value, leader (bool), ideal (bool: the row is of the ideal list).
    """
    last = {row["system"]: row for row in rows}
    height = max(280, LABEL * (len(last) + 2))
    values = [row["value"] for row in rows] + [0.0]
    domain = [min(values), max(values) or 1.0]
    deepest = max(row["cutoff"] for row in rows)
    x = alt.X("cutoff:Q", title="rank").scale(domain=[1, max(deepest, 2)], nice=False)
    x = x.axis(grid=False, format="d", tickMinStep=1, tickCount=10)
    return _lines(rows, list(last.values()), x=x, domain=domain, height=height, step=True)


def differences(rows: Rows, *, scale_with: Rows = (), overall: float | None = None) -> dict:
    """A dot for each difference on its interval, with a line at 0, in the order of the rows.

    A row: label, value, low and high (None without an interval), n, significant (bool: else the dot is hollow),
    and optionally few (True: too few queries for a test; grey) and url (the link of the dot). scale_with: rows
    that the scale includes, too, so that charts can be compared; overall: the place of a dotted line.
    """
    # Intervals of few queries are clipped: that of two may be a hundred times as wide as any other.
    ends = [
        row[name]
        for row in [*rows, *scale_with]
        for name in (("value",) if row.get("few") else ("value", "low", "high"))
        if row[name] is not None
    ]
    least, most = min([*ends, 0.0]), max([*ends, 0.0])
    room = 0.08 * (most - least) or 1.0  # margin for the numbers above the outermost dots
    scale = alt.Scale(domain=[least - room, most + room], nice=False)
    few, significant = {"test": "datum.few", "value": EDGE}, {"test": "datum.significant", "value": ACCENT}
    tone, fill = alt.StrokeValue(INK, condition=[few, significant]), for_significant(alt.FillValue, ACCENT, PAPER)
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
    if overall is not None:
        line = alt.Chart(alt.NamedData("whole")).mark_rule(color=INK, strokeWidth=1, strokeDash=[2, 3])
        layers.insert(1, line.encode(x=alt.X("value:Q", scale=scale, title=None)))
        # Numbers get an outline in the colour of the paper, so that the line does not cross them.
        layers.insert(-1, layers[-1].mark_text(dy=-15, stroke=PAPER, strokeWidth=4))
        datasets["whole"] = [{"value": overall}]
    return vega_lite(layers, height=ROW * max(len(rows), 1), **datasets)


def spread_labels(values: Sequence[float], room: float) -> list[float]:
    """Places for labels near `values`, at least `room` apart, in the order of the arguments.

    Labels that would overlap form a block around the mean of their values.
    """
    blocks: list[list] = []  # [sum of values, count]
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
    """The place of the first label of a block."""
    total, count = block
    return total / count - room * (count - 1) / 2


def _lines(
    rows: Rows, ends: Rows, *, x: alt.X, domain: list[float], height: int, step: bool, bands: Rows = ()
) -> dict:
    """Lines over `cutoff`, each with the name of its list at the end; the leader's is accented."""
    scale = alt.Scale(domain=domain, nice=False)
    stroke = for_leader(alt.StrokeValue, ACCENT, INK)
    width = for_leader(alt.StrokeWidthValue, 2.5, 1.25)
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
            stroke=stroke, fill=for_leader(alt.FillValue, ACCENT, PAPER)
        ),
        end_labels(scale),
    ]
    if bands:
        # Opaque: with transparent layers the bytes of a PDF would differ each time.
        band = alt.Chart(alt.NamedData("bands")).mark_area(opacity=1)
        low = alt.Y("low:Q", title=None, scale=scale)
        shade = for_leader(alt.FillValue, "var(--wash)", "var(--sunk)")
        layers.insert(0, band.encode(x=x, y=low, y2=alt.Y2("high:Q"), detail=alt.Detail("system:N"), fill=shade))
    places = spread_labels([row["value"] for row in ends], LABEL * (domain[1] - domain[0]) / height)
    named = [{"system": row["system"], "place": place} for row, place in zip(ends, places, strict=True)]
    return vega_lite(layers, height=height, lines=rows, names=named, **({"bands": bands} if bands else {}))
