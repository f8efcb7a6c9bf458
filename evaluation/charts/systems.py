"""Charts of systems: means, curves over cutoffs and ranks, and differences."""

from collections.abc import Mapping

import altair as alt

from .spec import (
    ACCENT,
    EDGE,
    INK,
    LABEL_HEIGHT,
    PAPER,
    SHORT,
    SIGNED,
    WARN,
    Rows,
    end_labels,
    interval,
    line_and_dots,
    score_domain,
    tooltip_of_mean,
    vega_lite,
    where,
)

SYSTEM_HEIGHT = 48  # pixels of height for a system: its dot, with the number above
MOST_BANDS = 4  # systems: more overlapping bands cannot be distinguished


def means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for the mean of each system on its interval, in the order of the rows.

    A row: system, mean, low and high (None without an interval), queries, leader (bool), and optionally lowest and
    highest (bounds of the mean, a thin whisker). neutral: the mean score of an empty list, a tick in each row. A
    dotted line marks the leader's mean, if there is another system.
    """
    values = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest")]
    scale = alt.Scale(domain=score_domain(values, bounded), nice=False)
    stroke = where("leader", alt.StrokeValue, ACCENT, INK)
    fill = where("leader", alt.FillValue, ACCENT, PAPER)
    base = alt.Chart(alt.NamedData("means")).encode(
        y=alt.Y("system:N").sort(None).title(None).axis(grid=False, labelColor=INK), tooltip=tooltip_of_mean()
    )
    at_mean = alt.X("mean:Q", scale=scale, title=None, axis=alt.Axis(format=SHORT))
    bars, dots, numbers = dots_on_intervals(base, at_mean, alt.Text("mean:Q", format=".4f"), stroke, fill)
    layers, datasets = [bars, dots, numbers], {"means": with_neutral(rows, neutral)}
    leaders_mean = [{"mean": row["mean"]} for row in rows if row["leader"]]
    if leaders_mean and len(rows) > 1:
        datasets["best"] = leaders_mean
        line = alt.Chart(alt.NamedData("best")).mark_rule(color=ACCENT, strokeWidth=1, strokeDash=[1, 3])
        # From the back to the front: the outline interrupts the line where it would cross a number.
        layers = [line.encode(x=at_mean), bars, dots, outlined(numbers), numbers]
    layers = [*behind_means(base, scale, rows, neutral), *layers]
    return vega_lite(layers, height=SYSTEM_HEIGHT * max(len(rows), 1), **datasets)


def dots_on_intervals(base: alt.Chart, x: alt.X, number: alt.Text, stroke, fill, **bar) -> list[alt.Chart]:
    """Three layers: a bar from `low` to `high`, a dot at x, and its number above."""
    low = alt.X("low:Q", scale=x["scale"], title=None)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=5, **bar)
    return [
        intervals.encode(x=low, x2=alt.X2("high:Q"), stroke=stroke),
        base.mark_point(size=120, strokeWidth=2, opacity=1).encode(x=x, stroke=stroke, fill=fill),
        base.mark_text(dy=-15).encode(x=x, text=number, tooltip=alt.TooltipValue(None)),
    ]


def outlined(numbers: alt.Chart) -> alt.Chart:
    """An outline of the numbers in the colour of the paper, so that a line does not cross them."""
    return numbers.mark_text(dy=-15, stroke=PAPER, strokeWidth=4)


def with_neutral(rows: Rows, neutral: float | None) -> Rows:
    """The rows, with the score of an empty list where it is known."""
    return rows if neutral is None else [{**row, "neutral": neutral} for row in rows]


def behind_means(base: alt.Chart, scale: alt.Scale, rows: Rows, neutral: float | None) -> list[alt.Chart]:
    """The layers behind the means: bounds, and the score of an empty list, where these are known.

    Bounds are a thin line from `lowest` to `highest` with caps, visible even within the interval. neutral: the
    score of an empty list, a tick in each row; None: not known. The chart `base` has it as the field `neutral` of
    its rows, by `with_neutral`.
    """

    def at(name: str) -> alt.X:
        return alt.X(f"{name}:Q", scale=scale, title=None)

    layers = []
    if neutral is not None:
        tick = base.mark_tick(size=14, thickness=2, color=WARN)
        words = alt.TooltipValue(f"An empty list scores {neutral:.4f}")
        layers.append(tick.encode(x=at("neutral"), tooltip=words))
    if any(row.get("lowest") is not None for row in rows):
        ends = interval(".4f", "lowest", "highest", title="Bounds, from")
        tooltip = [alt.Tooltip("system:N", title="System"), *ends]
        bounded = base.transform_filter("isValid(datum.lowest)").encode(tooltip=tooltip)
        line = bounded.mark_rule(strokeWidth=1, color=INK).encode(x=at("lowest"), x2=alt.X2("highest:Q"))
        caps = bounded.mark_tick(size=15, thickness=1, opacity=1, color=INK)
        layers += [line, caps.encode(x=at("lowest")), caps.encode(x=at("highest"))]
    return layers


def curves(rows: Rows, *, bounded: bool = True) -> dict:
    """A line of values over cutoffs for each system, with its name at the end.

    A row: system, cutoff, value (None: undefined), leader (bool), and optionally low and high (a band behind the
    lines; with more than MOST_BANDS systems, only the leader's). The axis of cutoffs is logarithmic, since the
    first ranks count most.
    """
    cutoffs = sorted({row["cutoff"] for row in rows})
    rows_at_end = [row for row in rows if row["cutoff"] == cutoffs[-1] and row["value"] is not None]
    last_values = {row["system"]: row["value"] for row in rows_at_end}
    height = max(300, LABEL_HEIGHT * (len(last_values) + 2))  # the labels at the ends of lines fit
    all_have_bands = len(last_values) <= MOST_BANDS
    bands = [row for row in rows if row.get("low") is not None and (row["leader"] or all_have_bands)]
    ends_of_bands = [row[name] for row in bands for name in ("low", "high")]
    domain = score_domain([row["value"] for row in rows] + ends_of_bands, bounded, to_maximum=False)
    x = alt.X("cutoff:Q", title="k, the cutoff").scale(type="log", domain=[cutoffs[0], cutoffs[-1]], nice=False)
    # With a smaller tick count Vega would leave out some of the values.
    x = x.axis(values=cutoffs, tickCount=len(cutoffs), grid=False, labelOverlap=False, labelExpr="datum.value")
    return _lines(rows, last_values, x=x, domain=domain, height=height, interpolate="linear", bands=bands)


def running(rows: Rows) -> dict:
    """A line of the DCG down to each rank for each list: the ranking of a system, or the ideal list.

    A row: system (the name of the list), cutoff (rank), value, leader (bool), ideal (bool: of the ideal list).
    """
    last_values = {row["system"]: row["value"] for row in rows}  # the deepest rank comes last
    height = max(280, LABEL_HEIGHT * (len(last_values) + 2))
    values = [row["value"] for row in rows] + [0.0]
    domain = [min(values), max(values) or 1.0]  # 1.0 where no list has a gain
    deepest = max(row["cutoff"] for row in rows)
    x = alt.X("cutoff:Q", title="rank").scale(domain=[1, max(deepest, 2)], nice=False)  # an axis needs two ends
    x = x.axis(grid=False, format="d", tickMinStep=1, tickCount=10)
    return _lines(rows, last_values, x=x, domain=domain, height=height, interpolate="step-after")


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
    stroke = alt.StrokeValue(INK, condition=[few, significant])
    fill = where("significant", alt.FillValue, ACCENT, PAPER)
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
    bars, dots, numbers = dots_on_intervals(base, at_value, number, stroke, fill, clip=True)
    at_line = alt.X("value:Q", scale=scale, title=None)
    layers = [none.encode(x=at_line), bars, dots, numbers]
    datasets = {"differences": rows, "none": [{"value": 0}]}
    if overall is not None:
        line = alt.Chart(alt.NamedData("whole")).mark_rule(color=INK, strokeWidth=1, strokeDash=[2, 3])
        layers = [none.encode(x=at_line), line.encode(x=at_line), bars, dots, outlined(numbers), numbers]
        datasets["whole"] = [{"value": overall}]
    return vega_lite(layers, height=SYSTEM_HEIGHT * max(len(rows), 1), **datasets)


def _lines(
    rows: Rows,
    last_values: Mapping[str, float],
    *,
    x: alt.X,
    domain: list[float],
    height: int,
    interpolate: str,
    bands: Rows = (),
) -> dict:
    """A line over `cutoff` for each system or list, with its name at the end; the leader's is accented.

    rows: as for `curves` or `running`; last_values: where each line ends, by system; domain: the ends of the
    scale; interpolate: how a line goes from point to point, as Vega names it; bands: rows with an interval, drawn
    behind the lines.
    """
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
    line, dots = line_and_dots(base, rows, size=36, width=1.25, interpolate=interpolate)
    labels, names = end_labels(last_values, domain, height)
    layers, datasets = [line, dots, labels], {"lines": rows, "names": names}
    if bands:
        # Opaque: with transparent layers the bytes of a PDF would differ each time.
        band = alt.Chart(alt.NamedData("bands")).mark_area(opacity=1)
        low = alt.Y("low:Q", title=None, scale=scale)
        shade = where("leader", alt.FillValue, "var(--wash)", "var(--sunk)")  # two faint colours
        layers.insert(0, band.encode(x=x, y=low, y2=alt.Y2("high:Q"), detail=alt.Detail("system:N"), fill=shade))
        datasets["bands"] = bands
    return vega_lite(layers, height=height, **datasets)
