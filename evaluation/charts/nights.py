"""Charts of the nights of a watch, as Vega-Lite documents. No Django.

A watch asks a search the same queries every night and scores the results.
"""

import altair as alt

from .spec import (
    ACCENT,
    EDGE,
    INK,
    PAPER,
    SHORT,
    SIGNED,
    SOFT,
    WARN,
    Rows,
    interval,
    marks_of_changes,
    score_domain,
    vega_lite,
    where,
)

MEANS_HEIGHT = 280  # pixels
DIFFERENCES_HEIGHT = 200  # pixels
JUDGED = alt.Tooltip("judged:Q", title="Judged", format=".1%")


def nights(rows: Rows, marks: Rows, *, bounded: bool = True) -> dict:
    """A line of the mean of each night, with bands for its bounds and its 95 % interval, and marks of changes.

    A row: at (ISO time), night (as text), stretch (a number: the line joins the nights with the same one, and so
    breaks at a gap), mean, low and high (the interval), lowest and highest (the bounds), judged (share), today
    (the mean by today's judgments, a dashed line; None where it was not asked for), worse (bool: than a baseline,
    its dot has another colour), queries (how many count, for the tooltip). A mark: at, what (text). bounded:
    whether 1 is the highest value that the measure can have.
    """
    values = [row.get(name) for row in rows for name in ("mean", "low", "high", "lowest", "highest", "today")]
    scale = alt.Scale(domain=score_domain(values, bounded, to_maximum=False), nice=False, zero=False)
    base = alt.Chart(alt.NamedData("nights")).encode(x=_time(), detail=alt.Detail("stretch:N"))
    layers = marks_of_changes(_time(), MEANS_HEIGHT) if marks else []
    layers += _band(rows, base, "lowest", "highest", scale, color=EDGE, opacity=0.35)
    layers += _band(rows, base, "low", "high", scale, color=ACCENT, opacity=0.22)
    if any(row.get("today") is not None for row in rows):
        today = base.mark_line(strokeDash=[4, 3], color=SOFT).transform_filter("isValid(datum.today)")
        layers.append(today.encode(y=alt.Y("today:Q", title=None, scale=scale)))
    y = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT))
    layers += _line(base.encode(y=y, tooltip=[*_tooltip("mean", ".4f"), JUDGED]))
    return vega_lite(layers, height=MEANS_HEIGHT, nights=rows, marks=marks)


def by_night(rows: Rows, margin: float) -> dict:
    """A line of the difference of each night to a baseline, with a band for its 95 % interval.

    A row: at (ISO time), night (as text), stretch (a number: the line joins the nights with the same one),
    difference, low and high (the interval), worse (bool: its dot has another colour), queries (how many count, for
    the tooltip). margin: a greater loss counts as worse; a dashed line shows it, below the solid line at 0.
    """
    values = [row.get(name) for row in rows for name in ("difference", "low", "high")]
    values_to_show = [0.0, -margin, *(value for value in values if value is not None)]
    scale = alt.Scale(domain=[min(values_to_show), max(values_to_show)], nice=True, zero=False)
    base = alt.Chart(alt.NamedData("nights")).encode(x=_time(), detail=alt.Detail("stretch:N"))
    y = alt.Y("difference:Q", title=None, scale=scale, axis=alt.Axis(format=SIGNED))
    # In the rows of the two horizontal lines, `at` is a difference; in those of nights it is a time.
    lines = alt.Chart(alt.NamedData("lines")).encode(y=alt.Y("at:Q", scale=scale))
    # Values for the row with `margin` true, and for the line at 0, where [1, 0] is a solid line.
    dash = where("margin", alt.StrokeDashValue, [3, 3], [1, 0])
    color = where("margin", alt.ColorValue, WARN, INK)
    layers = [
        lines.mark_rule(strokeWidth=1).encode(strokeDash=dash, color=color),
        *_band(rows, base, "low", "high", scale, color=ACCENT, opacity=0.22),
        *_line(base.encode(y=y, tooltip=_tooltip("difference", "+.4f"))),
    ]
    line_rows = [{"at": 0.0, "margin": False}, {"at": -margin, "margin": True}]
    return vega_lite(layers, height=DIFFERENCES_HEIGHT, nights=rows, lines=line_rows)


def judged(rows: Rows) -> dict:
    """The share of judged results of each night. A row: at, night, stretch, judged, worse (bool), queries."""
    base = alt.Chart(alt.NamedData("nights")).encode(x=_time(), detail=alt.Detail("stretch:N"))
    y = alt.Y("judged:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
    at_share = base.encode(y=y, tooltip=[alt.Tooltip("night:N", title="Night"), JUDGED])
    return vega_lite(_line(at_share), height=DIFFERENCES_HEIGHT, nights=rows)


def _time() -> alt.X:
    return alt.X("at:T", title=None, axis=alt.Axis(format="%e %b", labelOverlap=True, grid=False))


def _band(
    rows: Rows, base: alt.Chart, low: str, high: str, scale: alt.Scale, *, color: str, opacity: float
) -> list[alt.Chart]:
    """The layer of a band between two columns, where both have a value; none without rows, of which Vega warns."""
    if not any(row[low] is not None and row[high] is not None for row in rows):
        return []
    with_ends = base.transform_filter(f"isValid(datum.{low}) && isValid(datum.{high})")
    ends = {"y": alt.Y(f"{low}:Q", title=None, scale=scale), "y2": alt.Y2(f"{high}:Q")}
    return [with_ends.mark_area(color=color, opacity=opacity, line=False).encode(**ends)]


def _line(base: alt.Chart) -> list[alt.Chart]:
    """A line with a dot a night; a night that was told worse is filled with the colour of warnings."""
    dot, ring = where("worse", alt.FillValue, WARN, PAPER), where("worse", alt.StrokeValue, WARN, ACCENT)
    return [
        base.mark_line(color=ACCENT, strokeWidth=2),
        base.mark_point(size=34, opacity=1, strokeWidth=1.5).encode(fill=dot, stroke=ring),
    ]


def _tooltip(name: str, form: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("night:N", title="Night"),
        alt.Tooltip(f"{name}:Q", title=name.capitalize(), format=form),
        *interval(form),
        alt.Tooltip("queries:Q", title="Queries counted"),
    ]
