"""The chart of means over time, as a Vega-Lite document. No Django."""

import altair as alt

from .spec import (
    ACCENT,
    INK,
    LABEL_HEIGHT,
    SHORT,
    Rows,
    end_labels,
    line_and_dots,
    marks_of_changes,
    score_domain,
    tooltip_of_mean,
    vega_lite,
    where,
)

HEIGHT = 320  # pixels, at least


def over_time(rows: Rows, marks: Rows, *, bounded: bool = True) -> dict:
    """A line of means for each system over the frozen evaluations, with 95 % intervals and marks of changes.

    A frozen evaluation is stored with its numbers. A row: system, place (number of the evaluation, from 1), name
    (of the evaluation), mean, low and high (None without an interval), queries (how many count), leader (bool). A
    mark: place (half-way between two evaluations), what (text: what changed between them).
    """
    last_means = {row["system"]: row["mean"] for row in rows}  # the rows have the order of the evaluations
    height = max(HEIGHT, LABEL_HEIGHT * (len(last_means) + 2))  # the labels at the ends of lines fit, and two more
    values = [row.get(name) for row in rows for name in ("mean", "low", "high")]
    domain = score_domain(values, bounded, to_maximum=False)
    scale = alt.Scale(domain=domain, nice=False)
    last_place = max([row["place"] for row in rows], default=1)
    axis = alt.Axis(values=list(range(1, last_place + 1)), format="d", grid=False, labelOverlap=True)
    # A quarter of a place is free before the first evaluation and after the last.
    x = alt.X("place:Q", title="frozen evaluation, in order", axis=axis)
    x = x.scale(domain=[0.75, last_place + 0.25], nice=False)
    base = alt.Chart(alt.NamedData("means")).encode(
        x=x, detail=alt.Detail("system:N"), tooltip=tooltip_of_mean(alt.Tooltip("name:N", title="Frozen as"))
    )
    at_mean = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(format=SHORT))
    labels, names = end_labels(last_means, domain, height)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=5, opacity=0.28)
    stroke = where("leader", alt.StrokeValue, yes=ACCENT, no=INK)
    layers = [
        *marks_of_changes(x, height),
        intervals.encode(y=alt.Y("low:Q", title=None, scale=scale), y2=alt.Y2("high:Q"), stroke=stroke),
        *line_and_dots(base.encode(y=at_mean), rows, size=60),
        labels,
    ]
    return vega_lite(layers, height=height, means=rows, marks=marks, names=names)
