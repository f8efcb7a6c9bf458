"""The heat map of queries by systems: as a picture from easiest to hardest query, and as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from django.urls import reverse

from ratings.web.tables import heads as sortable

from .. import charts
from ..page.charts import Chart
from ..page.documents import none_for_nan
from ..page.numbers import decimals
from ..page.words import ends_of_queries
from ..scores import Evaluation

SHADES = ("h1", "h2", "h3", "h4", "h5")
BELOW_SHADE, UNDEFINED_SHADE = "h0", "hu"

TIE_TOLERANCE = 1e-12  # values with smaller differences are tied
NAMED_WINNERS = 4  # systems named in a sentence; the table has all
MOST_CELLS = 5_000  # of a Vega chart; more are drawn on the server as SVG paths


class Cell(NamedTuple):
    """The value of one system on one query."""

    value: float | None
    below_empty_list: bool  # whether the value is below the score of an empty list
    shade: str  # CSS class of the colour
    why: str  # why it counts in no mean; "" where it counts


@dataclass(frozen=True, eq=False)
class Shaded:
    """The values of all queries and systems with their shades. Systems are in the order of `Evaluation.names`."""

    value: np.ndarray  # float64[queries, systems], nan = undefined
    why: np.ndarray  # object[queries, systems], why a value counts in no mean; "" where it counts
    below_empty_list: np.ndarray  # bool[queries, systems], whether the value is below the score of an empty list
    shade: np.ndarray  # object[queries, systems], CSS classes of colours


def shaded(evaluation: Evaluation) -> Shaded:
    """The values of the asked measure with their shades."""
    value = evaluation.values(evaluation.names)
    why = evaluation.why(evaluation.names)
    below_empty_list = evaluation.below_empty_list(evaluation.names)
    top = highest(evaluation)
    steps = np.digitize(value, [top * step / 5 for step in range(1, 5)])
    shade = np.where(below_empty_list, BELOW_SHADE, np.array(SHADES, object)[steps])
    return Shaded(value, why, below_empty_list, np.where(why == "", shade, UNDEFINED_SHADE))


def rows(evaluation: Evaluation, grid: Shaded) -> list[dict]:
    """A row for each query, in the order of the record: pk, key, text, and a Cell for each system in `values`.

    mean, spread (the highest less the lowest value): of the values that count, None without any; why: the reasons
    why other values do not count, as text; judged: the number of judgments.
    """
    queries = evaluation.table.record.queries[["pk", "key", "text"]].itertuples(index=False)
    result = []
    for place, query in enumerate(queries):
        # By system. below_empty_list: whether the value is below the score of an empty list.
        values, why = grid.value[place], grid.why[place]
        below_empty_list, shades = grid.below_empty_list[place].tolist(), grid.shade[place].tolist()
        counted_values = values[why == ""]
        facts = zip(map(none_for_nan, values.tolist()), below_empty_list, shades, why.tolist(), strict=True)
        cells = [Cell(*facts_of_cell) for facts_of_cell in facts]
        result.append(
            {
                **query._asdict(),
                "values": cells,
                "why": reasons(why),
                "mean": float(counted_values.mean()) if counted_values.size else None,
                "spread": float(np.ptp(counted_values)) if counted_values.size else None,
                "judged": int(evaluation.judgments.count[place]),
            }
        )
    return result


def reasons(why: np.ndarray) -> str:
    """The reasons as text, each once: "not judged, no ranking"."""
    return ", ".join(dict.fromkeys(reason for reason in why.tolist() if reason))


def highest(evaluation: Evaluation) -> float:
    """The upper end of the last shade: 1, or the highest value of an unbounded measure that counts."""
    values = evaluation.counting(evaluation.names)
    top = 1.0 if evaluation.asked.bounded or np.isnan(values).all() else float(np.nanmax(values))
    return top if top > 0 else 1.0


def legend(evaluation: Evaluation, grid: Shaded) -> dict:
    """The context of the legend: the range of each shade, and why some queries have none.

    below: whether any value is below the score of an empty list; uncounted: how many queries count for no system;
    undefined: whether no system has a value on any of these queries; why: the reasons why they do not count.
    """
    # Each of the five shades is between two neighbouring ends.
    ends = [highest(evaluation) * step / 5 for step in range(6)]
    digits = 1 if evaluation.asked.bounded else 2
    uncounted = np.flatnonzero((grid.why != "").all(axis=1))  # rows of queries
    return {
        "shades": [
            (shade, f"{decimals(low, digits)} to {decimals(high, digits)}")
            for shade, (low, high) in zip(SHADES, pairwise(ends), strict=True)
        ],
        "below": bool(grid.below_empty_list.any()),
        "uncounted": len(uncounted),
        "undefined": bool(np.isnan(grid.value[uncounted]).all()),
        "why": reasons(grid.why[uncounted].ravel()),
    }


def picture(evaluation: Evaluation, grid: Shaded) -> dict:
    """The context of `_heat.html`: a `chart`, or for more than MOST_CELLS cells `lines`, one for each system."""
    order = evaluation.by_ease()  # rows of queries, the easiest first, those that count for no system last
    queries, systems, measure = len(order), len(evaluation.names), evaluation.asked.measure
    alt_text = f"{measure} of {queries:,} queries by {systems} systems, as shades."
    # ends: what the first and the last query are called, such as "easiest" and "hardest".
    context = {"key": legend(evaluation, grid), "alt_text": alt_text, "ends": ends_of_queries(measure)}
    if queries * systems > MOST_CELLS:
        return context | {"lines": lines(evaluation, grid.shade[order]), "queries": queries}
    # In pixels: 3 for each query, and 90 for the names of the systems, but never below 280, which 61 to 63 queries
    # would be. Up to 60 queries fit on every screen.
    least_width = max(280, 3 * queries + 90) if queries > 60 else None
    rows_of_record = rows(evaluation, grid)
    spec = chart(evaluation, [rows_of_record[place] for place in order])
    return context | {"chart": Chart("heat", spec, alt_text, least_width=least_width)}


def chart(evaluation: Evaluation, rows: Sequence[dict]) -> dict:
    """The Vega-Lite chart with a cell for each query and system.

    rows: of the queries to show, as from the function `rows`, in the order of the chart.
    """
    # One call of `reverse` serves all queries: it gets 0 for the pk, which is cut out. That is the last 0 of the
    # address, since the slug may have one, too. `keep` is the query string with measure and options.
    before, after = reverse("query", args=[evaluation.collection, 0]).rsplit("0", 1)
    queries = [
        {"query": row["key"], "text": row["text"], "url": f"{before}{row['pk']}{after}{evaluation.asked.keep}"}
        for row in rows
    ]
    cells = []
    for row in rows:
        for name, cell in zip(evaluation.names, row["values"], strict=True):
            cells.append({"query": row["key"], "system": name} | _value_and_look(cell))
    # top: the value at the end of the scale of shades; ends: what the first and the last query are called, such as
    # "easiest" and "hardest".
    return charts.heat_map(
        cells,
        queries,
        systems=evaluation.names,
        top=highest(evaluation),
        ends=ends_of_queries(evaluation.asked.measure),
    )


def _value_and_look(cell: Cell) -> dict:
    """The value with four decimals, since tables and files have all digits, and `below` or `why` for a hatch."""
    value = None if cell.value is None else round(cell.value, 4)
    if cell.why:
        return charts.uncounted(value, cell.why)
    return {"value": value} | ({"below": True} if cell.below_empty_list else {})


def lines(evaluation: Evaluation, shades: np.ndarray) -> list[dict]:
    """For each system its standing and its line of the heat map as (shade, SVG path) pairs.

    A path has a rectangle for each run of neighbouring queries with its shade. A query is one unit wide, a line
    one unit high. UNDEFINED_SHADE has no path. shades: object[queries, systems], in the order of the picture.
    """
    result = []
    for standing, shades_of_system in zip(evaluation.standings, shades.T, strict=True):
        paths = dict.fromkeys((*SHADES, BELOW_SHADE), "")
        start = 0
        for shade, run in groupby(shades_of_system):
            width = len(list(run))
            if shade != UNDEFINED_SHADE:
                # Values below the score of an empty list fill the lower half only, to differ not by colour alone.
                top, height = (0.5, 0.5) if shade == BELOW_SHADE else (0, 1)
                paths[shade] += f"M{start} {top}h{width}v{height}h-{width}z"
            start += width
        result.append({"standing": standing, "paths": paths.items()})
    return result


def wins(evaluation: Evaluation, grid: Shaded) -> dict:
    """The context of _differing.html: how many queries each system wins, with the highest value alone.

    winners: (system, wins) of the first NAMED_WINNERS systems that win any; others: the wins of the rest; queries:
    how many queries count for two systems or more, since on all others there is nothing to win; below: how many
    values are below the score of an empty list.
    """
    values = evaluation.counting(evaluation.names)  # [queries, systems], nan where a value does not count
    values = values[(~np.isnan(values)).sum(axis=1) > 1]
    values = np.where(np.isnan(values), -np.inf, values)  # so that they are never the highest
    # Several systems can share the highest value of a query, up to rounding. `initial` is for no queries at all.
    is_best = values >= values.max(axis=1, initial=-np.inf, keepdims=True) - TIE_TOLERANCE
    has_one_winner = is_best.sum(axis=1) == 1
    wins_of_systems = is_best[has_one_winner].sum(axis=0).tolist()
    winners = [(name, wins) for name, wins in zip(evaluation.names, wins_of_systems, strict=True) if wins]
    return {
        "winners": winners[:NAMED_WINNERS],
        "others": sum(wins for _, wins in winners[NAMED_WINNERS:]),
        "queries": len(values),
        "below": int(grid.below_empty_list.sum()),
    }


def heads(evaluation: Evaluation, sort: str | None = None) -> list[dict]:
    """The heads of the table. With `sort`, the present order, they are links that sort.

    A column: its name in the address, its title, and whether it has numbers.
    """
    columns = [("text", "Query", False), ("key", "Id", False), ("mean", "Mean", True), ("spread", "Spread", True)]
    columns += [(f"s{standing.pk}", standing.system, True) for standing in evaluation.standings]
    columns += [("judged", "Judged", True)]
    return sortable(columns, sort)
