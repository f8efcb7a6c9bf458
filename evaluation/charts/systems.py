"""Charts of systems: means, curves over cutoffs and ranks, and differences."""

from collections.abc import Mapping

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
    interval,
    line_and_dots,
    of_mean,
    score_domain,
    vega_lite,
    where,
)

ROW = 48  # pixels of height for a system: its dot, with the number above
BANDS = 4  # systems: more overlapping bands cannot be distinguished


def means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for the mean of each system on its interval, in the order of the rows.

    A row: system, mean, low and high (None without an interval), queries, leader (bool), and optionally lowest and
    highest (bounds of the mean, a thin whisker). neutral: the mean score of an empty list, a tick in each row. A
    dotted line marks the leader's mean, if there is another system.
    """
    reached = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest")]
    scale = alt.Scale(domain=score_domain(reached, bounded), nice=False)
    stroke, fill = where("leader", alt.StrokeValue, ACCENT, INK), where("leader", alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("means")).encode(
        y=alt.Y("system:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=of_mean(),
    )
    at_mean = alt.X("mean:Q", scale=scale, title=None, axis=alt.Axis(format=SHORT))
    *bars_and_dots, numbers = dots_on_intervals(base, at_mean, alt.Text("mean:Q", format=".4f"), stroke, fill)
    layers = [*bars_and_dots, numbers]
    best = [{"mean": row["mean"]} for row in rows if row["leader"]] if len(rows) > 1 else []
    if best:
        line = alt.Chart(alt.NamedData("best")).mark_rule(color=ACCENT, strokeWidth=1, strokeDash=[1, 3])
        # From the back to the front: the outline interrupts the line where it would cross a number.
        layers = [line.encode(x=at_mean), *bars_and_dots, outlined(numbers), numbers]
    layers, rows = with_bounds(layers, base, scale, rows, neutral)
    return vega_lite(layers, height=ROW * max(len(rows), 1), means=rows, **({"best": best} if best else {}))


def dots_on_intervals(base: alt.Chart, x: alt.X, number: alt.Text, tone, fill, **bar) -> list[alt.Chart]:
    """Layers with a bar from `low` to `high`, a dot at x, and its number above."""
    low = alt.X("low:Q", scale=x["scale"], title=None)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=5, **bar)
    return [
        intervals.encode(x=low, x2=alt.X2("high:Q"), stroke=tone),
        base.mark_point(size=120, strokeWidth=2, opacity=1).encode(x=x, stroke=tone, fill=fill),
        base.mark_text(dy=-15).encode(x=x, text=number, tooltip=alt.TooltipValue(None)),
    ]


def outlined(numbers: alt.Chart) -> alt.Chart:
    """An outline of the numbers in the colour of the paper, so that a line does not cross them."""
    return numbers.mark_text(dy=-15, stroke=PAPER, strokeWidth=4)


def with_bounds(
    layers: list[alt.Chart], base: alt.Chart, scale: alt.Scale, rows: Rows, neutral: float | None
) -> tuple[list[alt.Chart], Rows]:
    """The layers and rows of means, with their bounds and the score of an empty list where these are known.

    Bounds are a thin line from `lowest` to `highest` with caps, visible even within the interval.
    """
    if any(row.get("lowest") is not None for row in rows):
        bounded = base.transform_filter("isValid(datum.lowest)").encode(
            tooltip=[
                alt.Tooltip("system:N", title="System"),
                alt.Tooltip("lowest:Q", title="Bounds, from", format=".4f"),
                alt.Tooltip("highest:Q", title="to", format=".4f"),
            ]
        )
        low, high = (alt.X(f"{end}:Q", scale=scale, title=None) for end in ("lowest", "highest"))
        caps = bounded.mark_tick(size=15, thickness=1, opacity=1, color=INK)
        line = bounded.mark_rule(strokeWidth=1, color=INK).encode(x=low, x2=alt.X2("highest:Q"))
        layers = [line, caps.encode(x=low), caps.encode(x=high), *layers]
    if neutral is not None:
        rows = [{**row, "neutral": neutral} for row in rows]
        tick = base.mark_tick(size=14, thickness=2, color=WARN)
        tooltip = alt.TooltipValue(f"An empty list scores {neutral:.4f}")
        layers = [tick.encode(x=alt.X("neutral:Q", scale=scale, title=None), tooltip=tooltip), *layers]
    return layers, rows


def curves(rows: Rows, *, bounded: bool = True) -> dict:
    """A line of values over cutoffs for each system, with its name at the end.

    A row: system, cutoff, value (None: undefined), leader (bool), and optionally low and high (a band behind the
    lines; with more than BANDS systems, only the leader's). The axis of cutoffs is logarithmic, since the first
    ranks count most.
    """
    cutoffs = sorted({row["cutoff"] for row in rows})
    last = [row for row in rows if row["cutoff"] == cutoffs[-1] and row["value"] is not None]
    ends = {row["system"]: row["value"] for row in last}
    height = max(300, LABEL * (len(ends) + 2))
    bands = [row for row in rows if row.get("low") is not None and (row["leader"] or len(ends) <= BANDS)]
    reached = [row[name] for row in bands for name in ("low", "high")]
    domain = score_domain([row["value"] for row in rows] + reached, bounded, whole=False)
    x = alt.X("cutoff:Q", title="k, the cutoff").scale(type="log", domain=[cutoffs[0], cutoffs[-1]], nice=False)
    # With a smaller tick count Vega would leave out some of the values.
    x = x.axis(values=cutoffs, tickCount=len(cutoffs), grid=False, labelOverlap=False, labelExpr="datum.value")
    return _lines(rows, ends, x=x, domain=domain, height=height, interpolate="linear", bands=bands)


def running(rows: Rows) -> dict:
    """A line of the DCG down to each rank for each list.

    A row: system, cutoff (rank), value, leader (bool), ideal (bool: the row is of the ideal list).
    """
    last = {row["system"]: row["value"] for row in rows}
    height = max(280, LABEL * (len(last) + 2))
    values = [row["value"] for row in rows] + [0.0]
    domain = [min(values), max(values) or 1.0]
    deepest = max(row["cutoff"] for row in rows)
    x = alt.X("cutoff:Q", title="rank").scale(domain=[1, max(deepest, 2)], nice=False)
    x = x.axis(grid=False, format="d", tickMinStep=1, tickCount=10)
    return _lines(rows, last, x=x, domain=domain, height=height, interpolate="step-after")


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
    tone, fill = (
        alt.StrokeValue(INK, condition=[few, significant]),
        where("significant", alt.FillValue, ACCENT, PAPER),
    )
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
    number = alt.Text("value:Q", format="+.4f")
    layers = [
        none.encode(x=alt.X("value:Q", scale=scale, title=None)),
        *dots_on_intervals(base, at_value, number, tone, fill, clip=True),
    ]
    datasets = {"differences": rows, "none": [{"value": 0}]}
    if overall is not None:
        line = alt.Chart(alt.NamedData("whole")).mark_rule(color=INK, strokeWidth=1, strokeDash=[2, 3])
        layers.insert(1, line.encode(x=alt.X("value:Q", scale=scale, title=None)))
        layers.insert(-1, outlined(layers[-1]))
        datasets["whole"] = [{"value": overall}]
    return vega_lite(layers, height=ROW * max(len(rows), 1), **datasets)


def _lines(
    rows: Rows,
    ends: Mapping[str, float],
    *,
    x: alt.X,
    domain: list[float],
    height: int,
    interpolate: str,
    bands: Rows = (),
) -> dict:
    """Lines over `cutoff`, each with the name of its list at the end; the leader's is accented."""
    scale = alt.Scale(domain=domain, nice=False)
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
    line, dots = line_and_dots(base, size=28, width=1.25, interpolate=interpolate)
    dash = alt.StrokeDashValue([1, 0], condition={"test": "datum.ideal", "value": [2, 3]})
    labels, names = end_labels(ends, domain, height)
    layers, datasets = [line.encode(strokeDash=dash), dots, labels], {"lines": rows, "names": names}
    if bands:
        # Opaque: with transparent layers the bytes of a PDF would differ each time.
        band = alt.Chart(alt.NamedData("bands")).mark_area(opacity=1)
        low = alt.Y("low:Q", title=None, scale=scale)
        shade = where("leader", alt.FillValue, "var(--wash)", "var(--sunk)")
        layers.insert(0, band.encode(x=x, y=low, y2=alt.Y2("high:Q"), detail=alt.Detail("system:N"), fill=shade))
        datasets["bands"] = bands
    return vega_lite(layers, height=height, **datasets)
