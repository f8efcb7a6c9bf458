"""Charts of expected means, as Vega-Lite documents. No Django."""

import altair as alt

from .spec import (
    ACCENT,
    EDGE,
    INK,
    LABEL_HEIGHT,
    PAPER,
    SHORT,
    WARN,
    Rows,
    end_labels,
    interval,
    line_and_dots,
    score_domain,
    vega_lite,
    where,
)
from .systems import SYSTEM_HEIGHT, behind_means, with_neutral

DOT_DROP = 10  # pixels from a dot down to its interval over queries
HALF_GAP_PIXELS = 2  # half the distance between two intervals
EXPECTED_HEIGHT, WRONG_HEIGHT = 300, 180  # pixels, of the charts of expected means and of wrong orders over rounds


def expected_means(rows: Rows, *, bounded: bool = True, neutral: float | None = None) -> dict:
    """A dot for the expected mean of each system, in the order of the rows: hollow unless the row is `final`.

    A row: system, expected, expected_low and expected_high (interval for missing judgments, a thick bar), mean
    (the plain mean, a tick), low and high (interval over queries, a lighter bar; or None), lowest and highest
    (bounds, a thin whisker; or None), final and leader (bool). neutral: the mean score of an empty list, a tick in
    each row.
    """
    names = ("expected", "expected_low", "expected_high", "mean", "low", "high", "lowest", "highest")
    values = [row.get(name) for row in rows for name in names]
    scale = alt.Scale(domain=score_domain(values, bounded), nice=False)
    stroke = where("leader", alt.StrokeValue, ACCENT, INK)
    is_final = [{"test": "datum.final && datum.leader", "value": ACCENT}, {"test": "datum.final", "value": INK}]
    base = alt.Chart(alt.NamedData("means")).encode(
        y=alt.Y("system:N").sort(None).title(None).axis(grid=False, labelColor=INK),
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("expected:Q", title="Expected", format=".4f"),
            *interval(".4f", "expected_low", "expected_high", title="90 % from"),
            alt.Tooltip("mean:Q", title="Plain mean", format=".4f"),
            *interval(".4f", title="95 % over queries from"),
        ],
    )

    def at(name: str, **axis) -> alt.X:
        return alt.X(f"{name}:Q", scale=scale, title=None, **axis)

    of_queries = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3, color=EDGE, yOffset=DOT_DROP)
    with_mean = base.transform_filter("isValid(datum.mean)")
    plain_mean = with_mean.mark_tick(size=10, thickness=2, opacity=1, color=INK, yOffset=DOT_DROP)
    for_missing = base.mark_rule(strokeWidth=6)
    dot = base.mark_point(size=120, strokeWidth=2, opacity=1)
    fill = alt.FillValue(PAPER, condition=is_final)
    number = alt.Text("expected:Q", format=".4f")
    layers = [
        *behind_means(base, scale, rows, neutral),
        of_queries.encode(x=at("low"), x2=alt.X2("high:Q")),
        plain_mean.encode(x=at("mean")),
        for_missing.encode(x=at("expected_low"), x2=alt.X2("expected_high:Q"), stroke=stroke),
        dot.encode(x=at("expected", axis=alt.Axis(format=SHORT)), stroke=stroke, fill=fill),
        base.mark_text(dy=-15).encode(x=at("expected"), text=number, tooltip=alt.TooltipValue(None)),
    ]
    return vega_lite(layers, height=SYSTEM_HEIGHT * max(len(rows), 1), means=with_neutral(rows, neutral))


def over_rounds(rows: Rows, *, bounded: bool = True) -> dict:
    """A line of expected means for each system, over the number of judged pairs at the time.

    A row: one system before one round (a draw of pairs to be judged) or now, with judged (pairs), expected, low
    and high (None without an interval), when (text), leader (bool), barred (bool: its interval is drawn as a bar).
    The rows are in the order of time. bounded: whether 1 is the highest value that the measure can have.
    """
    last_values = {row["system"]: row["expected"] for row in rows}
    height = max(EXPECTED_HEIGHT, LABEL_HEIGHT * (len(last_values) + 2))  # the labels at the ends of lines fit
    bars = [row for row in rows if row["low"] is not None and row["barred"]]
    systems_with_bars = list(dict.fromkeys(row["system"] for row in bars))
    values = [row["expected"] for row in rows] + [row[name] for row in bars for name in ("low", "high")]
    domain = score_domain(values, bounded, to_maximum=False)
    scale = alt.Scale(domain=domain, nice=False)
    x = _judged(rows)
    base = alt.Chart(alt.NamedData("rounds")).encode(
        x=x,
        y=alt.Y("expected:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT)),
        detail=alt.Detail("system:N"),
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("when:N", title="When"),
            alt.Tooltip("judged:Q", title="Judged", format=","),
            alt.Tooltip("expected:Q", title="Expected", format=".4f"),
            *interval(".4f", title="90 % from"),
        ],
    )
    labels, names = end_labels(last_values, domain, height)
    # The bars of a round stand side by side, two half gaps apart, half of them on each side of its dots: two bars
    # at -1 and 1 half gaps, three at -2, 0 and 2.
    intervals = []
    for place, name in enumerate(systems_with_bars):
        beside = HALF_GAP_PIXELS * (2 * place + 1 - len(systems_with_bars))
        intervals.append(_bar(x, name, scale, beside))
    layers = [*intervals, *line_and_dots(base, rows, size=40), labels]
    return vega_lite(layers, height=height, rounds=rows, bars=bars, names=names)


def _bar(x: alt.X, system: str, scale: alt.Scale, beside: float) -> alt.Chart:
    """The bars of one system, from the data set `bars`, `beside` pixels to the right of its dots."""
    bars = alt.Chart(alt.NamedData("bars")).transform_filter(alt.FieldEqualPredicate(field="system", equal=system))
    return bars.mark_rule(strokeWidth=3, xOffset=beside).encode(
        x=x,
        y=alt.Y("low:Q", title=None, scale=scale),
        y2=alt.Y2("high:Q"),
        stroke=where("leader", alt.StrokeValue, ACCENT, EDGE),
    )


def wrong_over_rounds(rows: Rows, settled: float) -> dict:
    """A line of the chance of a wrong order over the number of judged pairs.

    The order is wrong where two systems that are clearly apart stand the other way round. A row: judged (pairs),
    wrong (the chance, from 0 to 1), when (text). settled: the chance up to which the order is settled, a dashed
    line.
    """
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(alt.NamedData("rounds")).encode(
        x=_judged(rows),
        y=alt.Y("wrong:Q", title=None, scale=scale, axis=alt.Axis(format=".0%", tickCount=5)),
        tooltip=[
            alt.Tooltip("when:N", title="When"),
            alt.Tooltip("judged:Q", title="Judged", format=","),
            alt.Tooltip("wrong:Q", title="Chance of a wrong order", format=".1%"),
        ],
    )
    rule = alt.Chart(alt.NamedData("settled")).mark_rule(color=WARN, strokeWidth=1.5, strokeDash=[3, 3])
    layers = [
        rule.encode(y=alt.Y("wrong:Q", title=None, scale=scale)),
        base.mark_line(strokeWidth=2, color=INK),
        base.mark_point(size=40, opacity=1, strokeWidth=1.5, color=INK, fill=PAPER),
    ]
    return vega_lite(layers, height=WRONG_HEIGHT, rounds=rows, settled=[{"wrong": settled}])


def _judged(rows: Rows) -> alt.X:
    """The axis of judged pairs."""
    judged = [row["judged"] for row in rows]
    least = min(judged)
    most = max(*judged, least + 1)  # an axis needs two ends
    # On a short axis Vega would label halves, too, rounded to whole numbers.
    whole = {"values": list(range(least, most + 1))} if most - least < 5 else {"tickMinStep": 1}
    axis = alt.Axis(grid=False, format=",d", **whole)
    # Without a domain Vega warns where there is no interval.
    return alt.X("judged:Q", title="pairs judged", axis=axis).scale(domain=[least, most], nice=False)
