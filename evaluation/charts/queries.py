"""Charts of queries: values by query, differences by query, and queries by systems."""

import json
from collections.abc import Sequence
from urllib.parse import urlencode

import altair as alt

from .spec import (
    BELOW_HATCH,
    EDGE,
    INK,
    PAPER,
    SHADES,
    SHORT,
    SIGNED,
    UNDEFINED_HATCH,
    WARN,
    Rows,
    score_domain,
    vega_lite,
)

NAMEABLE = 24  # queries: the texts of more do not fit below a heat map

# The first lines of a query's tooltip.
QUERY_TOOLTIP = (alt.Tooltip("text:N", title="Query"), alt.Tooltip("query:N", title="Id"))
# The value of a cell as its tooltip in the heat map has it.
CELL_IN_WORDS = "datum.why || format(datum.value, '.4f') + (datum.below ? ', worse than an empty list' : '')"

# Where a cell of the heat map leads. A picture has no url.
TO_CELL = "isValid(datum.url) ? datum.url + (indexof(datum.url, '?') < 0 ? '?' : '&') + datum.asked : null"


def heat_map(
    cells: Rows,
    queries: Rows,
    *,
    systems: Sequence[str],
    top: float = 1.0,
    ends: tuple[str, str] = ("easiest", "hardest"),
) -> dict:
    """A cell for each query and system, shaded in five equal steps from 0 to `top`.

    A cell: query (key), system, value, and below (True) where the value is below the neutral point; or those of
    `uncounted`. A query: query (key), text, url. Columns are in the order of `queries`, rows in that of `systems`.
    ends: what the first and the last query are called. A cell leads to the url of its query, with its system.
    """
    keys = [query["query"] for query in queries]
    # A Vega expression: the text at the place of the query's key.
    texts = f"{json.dumps([query['text'] for query in queries])}[indexof({json.dumps(keys)}, datum.value)]"
    names = alt.Axis(labelAngle=-45, labelLimit=130, labelExpr=texts, grid=False)
    columns = alt.Scale(domain=keys, paddingInner=0.08 if len(queries) <= 60 else 0, paddingOuter=0)
    rows = alt.Scale(domain=list(systems), paddingInner=0.06, paddingOuter=0)
    shades = alt.Scale(type="threshold", domain=[top * step / 5 for step in (1, 2, 3, 4)], range=list(SHADES))
    shade = alt.Color("value:Q", legend=None, scale=shades)
    of_query = alt.LookupData(alt.NamedData("queries"), "query", ["text", "url"])
    with_texts = alt.Chart(alt.NamedData("cells")).transform_calculate(shown=CELL_IN_WORDS)
    with_texts = with_texts.transform_lookup("query", of_query)
    of_system = alt.LookupData(alt.NamedData("systems"), "system", ["asked"])
    with_texts = with_texts.transform_lookup("system", of_system).transform_calculate(to=TO_CELL)
    base = with_texts.encode(
        x=alt.X("query:N", sort=None, title=None, axis=names if len(queries) <= NAMEABLE else None, scale=columns),
        y=alt.Y("system:N", sort=None, title=None, axis=alt.Axis(labelColor=INK, grid=False), scale=rows),
        href=alt.Href("to:N"),
        tooltip=[*QUERY_TOOLTIP, alt.Tooltip("system:N", title="System"), alt.Tooltip("shown:N", title="Value")],
    )
    layers = [
        base.transform_filter("isValid(datum.value) && !datum.below").mark_rect().encode(fill=shade),
        base.transform_filter("isValid(datum.value) && datum.below").mark_rect(fill=BELOW_HATCH),
        base.transform_filter("!isValid(datum.value)").mark_rect(fill=UNDEFINED_HATCH),
    ]
    at_ends = alt.Chart(alt.NamedData("ends")).encode(y=alt.YValue(-8), text=alt.Text("text:N"))
    # Queries without a value stand at the end, after the hardest.
    shaded = {cell["query"] for cell in cells if cell["value"] is not None}
    at_end = ends[1] if len(shaded) == len(queries) else f"{ends[1]}, then not counted"
    layers += [
        at_ends.transform_filter("!datum.last").mark_text(align="left").encode(x=alt.XValue(0)),
        at_ends.transform_filter("datum.last").mark_text(align="right").encode(x=alt.XValue("width")),
    ]
    both = [{"text": ends[0], "last": False}, {"text": at_end, "last": True}]
    height = len(systems) * (34 if len(systems) <= 12 else 20)
    named = [{"system": name, "asked": urlencode({"system": name})} for name in systems]
    return vega_lite(layers, height=height, cells=cells, queries=queries, systems=named, ends=both)


def uncounted(value: float | None, why: str) -> dict:
    """The members of a cell that counts in no mean: no value to shade, and as `why` what its tooltip says."""
    return {
        "value": None,
        "why": f"undefined: {why}" if value is None else f"{value:.4f}, counts in no mean: {why}",
    }


def by_query(rows: Rows, *, bounded: bool = True) -> dict:
    """A bar for each query of one system, in the order of the rows.

    A row: query (key), text, value, below (bool: the value is below the score of an empty list), url.
    """
    keys = [row["query"] for row in rows]
    padding = 0.15 if len(rows) <= 120 else 0  # the gap between bars; more bars are too thin for gaps
    base = alt.Chart(alt.NamedData("bars")).encode(
        x=alt.X("query:N").sort(None).axis(None).scale(domain=keys, paddingInner=padding, paddingOuter=0),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(format=SHORT)).scale(
            domain=score_domain([row["value"] for row in rows], bounded), nice=False
        ),
        href=alt.Href("url:N"),
        tooltip=[*QUERY_TOOLTIP, alt.Tooltip("value:Q", title="Value", format=".4f")],
    )
    layers = [
        base.transform_filter("!datum.below").mark_bar(fill="var(--p3)"),
        base.transform_filter("datum.below").mark_bar(fill=BELOW_HATCH, stroke=WARN, strokeWidth=0.75),
    ]
    return vega_lite(layers, height=240, bars=rows)


def deltas(rows: Rows) -> dict:
    """A bar for the difference of two systems on each query, from a line at 0, in the order of the rows.

    A row: query (key), text, first and second (the values), value (second minus first), url, start and end (where
    the bar begins and ends on the x axis, in queries: one bar can stand for several). A difference of 0 is a thick
    piece of the line.
    """
    values = [row["value"] for row in rows] + [0.0]
    # Free above and below the bars; 1.0 where all differences are 0, so that the axis has two ends.
    margin = 0.05 * (max(values) - min(values)) or 1.0
    y = alt.Y("value:Q", title=None, axis=alt.Axis(format=SIGNED))
    y = y.scale(domain=[min(values) - margin, max(values) + margin], nice=False)
    queries = rows[-1]["end"] if rows else 1  # the axis ends where the last bar does
    base = alt.Chart(alt.NamedData("deltas")).encode(
        x=alt.X("start:Q").axis(None).scale(domain=[0, queries], nice=False),
        x2=alt.X2("end:Q"),
        href=alt.Href("url:N"),
        tooltip=[
            *QUERY_TOOLTIP,
            alt.Tooltip("value:Q", title="Difference", format="+.4f"),
            alt.Tooltip("first:Q", title="From", format=".4f"),
            alt.Tooltip("second:Q", title="to", format=".4f"),
        ],
    )
    # Bars of more queries are so thin that an outline would hide them.
    outline = alt.StrokeWidthValue(0.75 if queries <= 120 else 0)
    bars = base.encode(y=y, y2=alt.Y2Datum(0), strokeWidth=outline)
    rises = bars.transform_filter("datum.value > 0").mark_rect(fill="var(--p3)")
    falls = bars.transform_filter("datum.value < 0").mark_rect(fill=BELOW_HATCH)
    ties = base.transform_filter("datum.value == 0").mark_rule(color=EDGE, strokeWidth=4)
    layers = [
        rises.encode(stroke=alt.StrokeValue(PAPER)),
        falls.encode(stroke=alt.StrokeValue(WARN)),
        ties.encode(y=y),
    ]
    return vega_lite(layers, height=280, deltas=rows)
