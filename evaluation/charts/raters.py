"""Charts of raters: confusion matrix, and bias over time."""

import json
from collections.abc import Sequence

import altair as alt

from .spec import ACCENT, EDGE, INK, PAPER, SHADES, UNDEFINED_HATCH, Rows, interval, vega_lite, where

SHADE_LIMITS = (0.25, 0.5)  # limits between the shades of a confusion matrix
RATER_HEIGHT = 84  # pixels

# The first lines of the tooltip of a rater's period.
PERIOD_TOOLTIP = (
    alt.Tooltip("rater:N", title="Rater"),
    alt.Tooltip("first:Q", title="From their grade"),
    alt.Tooltip("last:Q", title="to"),
)

STRIP_SHARE = 0.8  # the share of a rater's height within which dots stand


def confusion(cells: Rows, *, grades: Sequence[str]) -> dict:
    """The confusion matrix of grades: where one rater gave the grade of a row, how often another gave each grade.

    A cell: one and other (labels of the grades of its row and column), share (of the second grades in the row;
    None for an empty row), couples (how many pairs of grades it counts). grades: the labels in their order, each
    the value and then the name.
    """
    scale = alt.Scale(domain=list(grades), paddingInner=0.04, paddingOuter=0)
    # Rows have whole labels. Columns are too narrow for these, so a Vega expression keeps the value alone.
    value_of_grade = "split(datum.label, ' ')[0]"
    column_axis = alt.Axis(labelColor=INK, grid=False, orient="top", labelAngle=0, labelExpr=value_of_grade)
    # Only the shades on which numbers are readable; SHADE_LIMITS are the limits between the three.
    shades = alt.Scale(type="threshold", domain=list(SHADE_LIMITS), range=list(SHADES[:3]))
    base = alt.Chart(alt.NamedData("cells")).encode(
        x=alt.X("other:N", sort=None, title=None, scale=scale, axis=column_axis),
        y=alt.Y("one:N", sort=None, title=None, scale=scale, axis=alt.Axis(labelColor=INK, grid=False)),
        tooltip=[
            alt.Tooltip("one:N", title="One gave"),
            alt.Tooltip("other:N", title="the other"),
            alt.Tooltip("share:Q", title="Share of the row", format=".1%"),
            alt.Tooltip("couples:Q", title="Pairs of grades"),
        ],
    )
    with_share = base.transform_filter("isValid(datum.share)")
    number = alt.Text("share:Q", format=".0%")
    layers = [
        with_share.mark_rect().encode(fill=alt.Color("share:Q", legend=None, scale=shades)),
        base.transform_filter("!isValid(datum.share)").mark_rect(fill=UNDEFINED_HATCH),
        with_share.mark_text(baseline="middle").encode(text=number, tooltip=alt.TooltipValue(None)),
    ]
    return vega_lite(layers, height=42 * max(len(grades), 1), cells=cells)


def biases(dots: Rows, *, raters: Sequence[str], reach: float) -> dict:
    """A strip for each rater with a dot for the bias in each period, on a scale from -reach to reach.

    A dot: place (of the rater, from 0), rater, period, bias, low and high (None without an interval), shared
    (how many grades of the period others graded, too), first and last (numbers of the rater's grades, from 1),
    significant (bool: the drift of the rater is significant). Values and intervals are clipped to the strip.
    """
    strips_per_grade = STRIP_SHARE / (2 * reach)  # the height of a bias of 1, in strips

    def y_of(name: str) -> str:
        """The Vega expression of where this number stands, from the top. The strip of a rater is 1 high."""
        return f"datum.place + 0.5 - {strips_per_grade} * clamp(datum.{name}, {-reach}, {reach})"

    placed = alt.Chart(alt.NamedData("dots"))
    placed = placed.transform_calculate(at=y_of("bias"), top=y_of("high"), bottom=y_of("low"))
    base = placed.encode(
        x=alt.X("period:O", axis=None, scale=alt.Scale(paddingInner=0.15, paddingOuter=0.05)),
        tooltip=[
            *PERIOD_TOOLTIP,
            alt.Tooltip("bias:Q", title="From the others", format="+.4f"),
            *interval("+.4f"),
            alt.Tooltip("shared:Q", title="Shared grades"),
        ],
    )
    stroke = where("significant", alt.StrokeValue, ACCENT, INK)
    fill = where("significant", alt.FillValue, ACCENT, PAPER)
    # "none" is the data set of where there is no bias: the middle of each strip.
    middle = alt.Chart(alt.NamedData("none")).mark_rule(color=EDGE, strokeWidth=1.5)
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3)
    points = base.mark_point(size=50, strokeWidth=1.5, opacity=1)
    layers = [
        middle.encode(y=_strips("at:Q", raters)),
        bars.encode(y=_strips("top:Q", raters), y2=alt.Y2("bottom:Q"), stroke=stroke),
        points.encode(y=_strips("at:Q", raters), stroke=stroke, fill=fill),
    ]
    middles = [{"at": place + 0.5} for place in range(len(raters))]
    return vega_lite(layers, height=RATER_HEIGHT * len(raters), dots=dots, none=middles)


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
