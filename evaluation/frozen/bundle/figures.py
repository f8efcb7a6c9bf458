"""The charts of a frozen evaluation, each with a title, a caption and a text alternative."""

from dataclasses import replace

import numpy as np

from ... import charts
from ...charts import pictures
from ...measures import Measure
from ...page import documents
from ...page.charts import Chart
from ...page.numbers import counts
from ...page.words import about_interval, degree, ends_of_queries
from ...results.charts import curves_chart, means_chart
from ...scores import SUMS, Evaluation

MOST_CELLS = 20_000  # queries x systems of a heat map, at most
NARROW = 60  # queries: the heat map of so many fits on any page
PIXELS_A_QUERY, PIXELS_OF_LABELS = 3, 90  # of the width of a larger one
WIDEST_PIXELS = 2_400  # pixels that fit on a page of a paper


def figures(evaluation: Evaluation) -> list[Chart]:
    """The charts with data, with titles and captions: means with intervals, means by cutoff, values by query."""
    possible = (_means(evaluation), _curves(evaluation), _heat(evaluation))
    return [figure for figure in possible if figure]


def width(chart: Chart) -> int:
    """The width of the picture in a bundle, in pixels."""
    return min(max(chart.least_width or 0, pictures.WIDTH), WIDEST_PIXELS)


def at_cutoffs(evaluation: Evaluation) -> list[Measure]:
    """The first measure at each of its cutoffs in the evaluation, ascending."""
    first = evaluation.measures[0]
    same_but_for_cutoff = [
        measure
        for measure in evaluation.measures
        if measure.cutoff and (measure.name, measure.params) == (first.name, first.params)
    ]
    return sorted(same_but_for_cutoff, key=lambda measure: measure.cutoff)


def _means(evaluation: Evaluation) -> Chart | None:
    """The mean of each system in the first measure, with its interval; None without a mean."""
    measure = evaluation.measures[0]
    if not evaluation.means:
        return None
    queries = counts(evaluation.standing(name).queries for name in evaluation.means)  # such as "49 to 50"
    most = degree(measure).most  # best, or highest where more is not better
    of_log = " over all searches of the log" if evaluation.sampled else ""
    return replace(
        means_chart(evaluation),
        title=f"Mean {measure} by system",
        caption=f"Dots are means of {measure}{of_log}, lines their 95 % intervals "
        f"{about_interval(evaluation.sampled)}; the dotted one stands at the {most}; "
        f"{evaluation.plain_fingerprint_of(measure)}, n = {queries}.",
    )


def _curves(evaluation: Evaluation) -> Chart | None:
    """The means at each cutoff; None for a measure without several cutoffs, or without a mean."""
    measures = at_cutoffs(evaluation)
    chart = curves_chart(evaluation, measures).get("curves") if len(measures) > 1 else None
    if not chart:
        return None
    first, last = measures[0], measures[-1]
    name = evaluation.asked.uncut  # of the measure, without a cutoff
    # The standings of all systems at all cutoffs, for the numbers of queries in the caption.
    rows = [row for _, standings in evaluation.across(measures) for row in standings if row.mean is not None]
    # plain_fingerprint_of: without `est`, since these means are no expected ones. degree: better, or only higher.
    return replace(
        chart,
        title=f"Mean {name}@k for k from {first.cutoff} to {last.cutoff}",
        caption=f"Means of {name} at growing cutoffs, bands to 95 %; "
        f"{evaluation.plain_fingerprint_of(first)}, n = {counts(row.queries for row in rows)}. "
        f"Where lines cross, the choice of k decides which system looks {degree(first).more}.",
    )


def _heat(evaluation: Evaluation) -> Chart | None:
    """The heat map of queries by systems; None for too many cells, and without a value that counts."""
    measure = evaluation.measures[0]
    systems = evaluation.names
    # Three tables [queries, systems]: `counting` has the values that count in the mean, nan for others; `values`
    # below has all that are known; `why` has the reasons why one does not count, "" where it does.
    counting = evaluation.counting(systems)
    if counting.size > MOST_CELLS or np.isnan(counting).all():
        return None
    # Shades go from 0 to 1. A measure of SUMS, such as DCG, has no upper bound: its highest value is the end of
    # the scale. Without a value above 0 there is nothing to shade, and 1 stays the end.
    highest = float(np.nanmax(counting))
    strongest_shade_at = highest if measure.name in SUMS and highest > 0 else 1.0
    easiest_first = evaluation.by_ease()  # rows of the queries
    queries = [
        {"query": query.key, "text": query.text, "url": ""}
        for query in evaluation.table.record.queries.iloc[easiest_first].itertuples()
    ]
    values = evaluation.values(systems)[easiest_first].tolist()
    why = evaluation.why(systems)[easiest_first].tolist()
    cells = []
    for row, key in enumerate(query["query"] for query in queries):
        for column, system in enumerate(systems):
            cells.append({"query": key, "system": system} | _cell(values[row][column], why[row][column]))
    left_out = int(np.isnan(counting).all(axis=1).sum())
    alt_text = f"{len(queries):,} queries by {len(systems)} systems, {left_out:,} of them not counted (hatched)."
    ends = ends_of_queries(measure)
    return Chart(
        "queries",
        charts.heat_map(cells, queries, systems=systems, top=strongest_shade_at, ends=ends),
        f"{alt_text} per_query.csv has the numbers.",
        least_width=PIXELS_A_QUERY * len(queries) + PIXELS_OF_LABELS if len(queries) > NARROW else None,
        title=f"{measure} of each query and system",
        caption=f"Queries from {ends[0]} to {ends[1]} by their median, in five equal steps from 0 to "
        f"{strongest_shade_at:g}: the stronger the shade, the higher. {evaluation.asked.fingerprint_of(measure)}.",
    )


def _cell(value: float, why: str) -> dict:
    """The value of a cell of the heat map. why: why it counts in no mean; "" where it counts."""
    if why:
        return charts.uncounted(documents.none_for_nan(value), why)
    return {"value": round(value, 4)} | ({"below": True} if value < 0 else {})
