"""The chart of means over time, as a Vega-Lite document. No Django."""

import altair as alt

from .spec import (
    ACCENT,
    INK,
    LABEL,
    SHORT,
    SOFT,
    WARN,
    Rows,
    end_labels,
    line_and_dots,
    of_mean,
    score_domain,
    vega_lite,
    where,
)

HEIGHT = 320


def over_time(rows: Rows, marks: Rows, *, bounded: bool = True) -> dict:
    """A line of means for each system over the frozen evaluations, with 95 % intervals and marks of changes.

    A row: system, place (from 1), name, mean, low and high (None without an interval), queries, leader (bool). A
    mark: place (half-way between two evaluations), what (text).
    """
    last = {row["system"]: row["mean"] for row in rows}
    ends = [row.get(name) for row in rows for name in ("mean", "low", "high")]
    domain = score_domain(ends, bounded, whole=False)
    most = max([row["place"] for row in rows], default=1)
    height = max(HEIGHT, LABEL * (len(last) + 2))
    scale = alt.Scale(domain=domain, nice=False)
    axis = alt.Axis(values=list(range(1, most + 1)), format="d", grid=False, labelOverlap=True)
    x = alt.X("place:Q", title="frozen evaluation, in order", axis=axis)
    x = x.scale(domain=[0.75, most + 0.25], nice=False)
    base = alt.Chart(alt.NamedData("means")).encode(
        x=x,
        detail=alt.Detail("system:N"),
        tooltip=of_mean(alt.Tooltip("name:N", title="Frozen as")),
    )
    at_mean = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT))
    labels, names = end_labels(last, domain, height)
    changes = alt.Chart(alt.NamedData("marks")).encode(x=x)
    layers = [
        changes.mark_rule(strokeDash=[3, 3], strokeWidth=1, color=WARN).encode(tooltip=alt.Tooltip("what:N")),
        changes.mark_text(angle=270, align="left", dx=6, dy=-7, color=SOFT, fontSize=12).encode(
            y=alt.YValue(height), text=alt.Text("what:N")
        ),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5, opacity=0.28)
        .encode(
            y=alt.Y("low:Q", title=None, scale=scale),
            y2=alt.Y2("high:Q"),
            stroke=where("leader", alt.StrokeValue, ACCENT, INK),
        ),
        *line_and_dots(base.encode(y=at_mean), size=60),
        labels,
    ]
    return vega_lite(layers, height=height, means=rows, marks=marks, names=names)
