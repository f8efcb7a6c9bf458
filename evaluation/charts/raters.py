"""Charts of raters: confusion matrix, and bias over time."""

import json
from collections.abc import Sequence

import altair as alt

from .spec import (
    ACCENT,
    EDGE,
    INK,
    PAPER,
    SHADES,
    UNDEFINED,
    Rows,
    interval,
    vega_lite,
    where,
)

STEPS = (0.25, 0.5)  # limits between the shades of a confusion matrix
PANEL = 84  # pixels of height for each rater

# The first lines of the tooltip of a rater's period.
PERIOD = (
    alt.Tooltip("rater:N", title="Rater"),
    alt.Tooltip("first:Q", title="From their grade"),
    alt.Tooltip("last:Q", title="to"),
)

STRIP = 0.8  # height of a rater's strip, as a share of the panel


def confusion(cells: Rows, *, grades: Sequence[str]) -> dict:
    """The confusion matrix of grades: for each grade of one rater, the share of each grade of another.

    A cell: one and other (labels, as in `grades`), share (of the row; None for an empty row), couples (count).
    """
    # Columns have only the values of the grades: names fit once, on the rows.
    number = "split(datum.label, ' ')[0]"
    x = alt.X("other:N").sort(None).title(None)
    x = x.axis(labelColor=INK, grid=False, orient="top", labelAngle=0, labelExpr=number)
    y = alt.Y("one:N").sort(None).title(None).axis(labelColor=INK, grid=False)
    shade = alt.Color("share:Q").legend(None)
    # Only the shades on which numbers are readable.
    shade = shade.scale(type="threshold", domain=list(STEPS), range=list(SHADES[:3]))
    base = alt.Chart(alt.NamedData("cells")).encode(
        x=x.scale(domain=list(grades), paddingInner=0.04, paddingOuter=0),
        y=y.scale(domain=list(grades)[::-1], paddingInner=0.04, paddingOuter=0),
        tooltip=[
            alt.Tooltip("one:N", title="One gave"),
            alt.Tooltip("other:N", title="the other"),
            alt.Tooltip("share:Q", title="Share of the row", format=".1%"),
            alt.Tooltip("couples:Q", title="Pairs of grades"),
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
    return vega_lite(layers, height=42 * max(len(grades), 1), cells=cells)


def biases(dots: Rows, *, raters: Sequence[str], reach: float) -> dict:
    """A strip for each rater with a dot for the bias in each period, on a scale from -reach to reach.

    A dot: place (of the rater, from 0), rater, period, bias, low and high (None without an interval), shared,
    first and last (numbers of grades), significant (bool: the drift of the rater is significant). Values and
    intervals are clipped to the strip.
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
                *PERIOD,
                alt.Tooltip("bias:Q", title="From the others", format="+.4f"),
                *interval("+.4f"),
                alt.Tooltip("shared:Q", title="Shared grades"),
            ],
        )
    )
    tone, fill = (
        where("significant", alt.StrokeValue, ACCENT, INK),
        where("significant", alt.FillValue, ACCENT, PAPER),
    )
    none = alt.Chart(alt.NamedData("none")).mark_rule(color=EDGE, strokeWidth=1.5)
    point = base.mark_point(size=50, strokeWidth=1.5, opacity=1)
    layers = [
        none.encode(y=_strips("at:Q", raters)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3)
        .encode(y=_strips("top:Q", raters), y2=alt.Y2("bottom:Q"), stroke=tone),
        point.encode(y=_strips("at:Q", raters), stroke=tone, fill=fill),
    ]
    lines = [{"at": place + 0.5} for place in range(len(raters))]
    return vega_lite(layers, height=PANEL * len(raters), dots=dots, none=lines)


def _periods() -> alt.X:
    return alt.X("period:O").axis(None).scale(paddingInner=0.15, paddingOuter=0.05)


def _strips(field: str, raters: Sequence[str]) -> alt.Y:
    """The axis with a strip of height 1 for each rater, with the name in its middle."""
    axis = alt.Axis(
        values=[place + 0.5 for place in range(len(raters))],
        tickCount=len(raters),
        labelOverlap=False,
        labelExpr=f"{json.dumps(list(raters))}[floor(datum.value)]",
        labelColor=INK,
        grid=False,
    )
    return alt.Y(field).scale(domain=[0, len(raters)], reverse=True, nice=False).axis(axis).title(None)
