"""The heat map of queries by systems: as a picture from easiest to hardest query, and as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from django.urls import reverse

from .. import charts
from ..page.charts import Chart
from ..page.documents import known
from ..page.numbers import decimals
from ..page.tables import heads as sortable
from ..scores import Evaluation

SHADES = ("h1", "h2", "h3", "h4", "h5")
BELOW, UNDEFINED = "h0", "hu"

TIED = 1e-12  # values with smaller differences are tied
WINNERS = 4  # systems named in a sentence; the table has all
MOST_CELLS = 5_000  # of a Vega chart; more are drawn on the server as SVG paths


class Cell(NamedTuple):
    """The value of one system on one query."""

    value: float | None
    below: bool  # whether the value is below the neutral point
    shade: str  # CSS class of the colour
    why: str  # why it counts in no mean; "" where it counts


@dataclass(frozen=True, eq=False)
class Shaded:
    """The values of all queries and systems with their shades. Systems are in the order of `Evaluation.names`."""

    value: np.ndarray  # float64[queries, systems], nan = undefined
    why: np.ndarray  # object[queries, systems], why a value counts in no mean; "" where it counts
    below: np.ndarray  # bool[queries, systems], whether the value is below the neutral point
    shade: np.ndarray  # object[queries, systems], CSS classes of colours

    @property
    def counts(self) -> np.ndarray:
        """Whether each value counts in a mean, bool[queries, systems]."""
        return self.why == ""


def shaded(evaluation: Evaluation) -> Shaded:
    """The values of the asked measure with their shades."""
    value, why, below = (
        evaluation.values(evaluation.names),
        evaluation.why(evaluation.names),
        evaluation.below(evaluation.names),
    )
    top = highest(evaluation)
    steps = np.digitize(value, [top * step / 5 for step in range(1, 5)])
    shade = np.where(below, BELOW, np.array(SHADES, object)[steps])
    return Shaded(value, why, below, np.where(why == "", shade, UNDEFINED))


def rows(evaluation: Evaluation, all_of: Shaded) -> list[dict]:
    """A row for each query, in the order of the record, with a Cell for each system among its `values`.

    mean and spread are of the values that count; `why` has the reasons of the others.
    """
    counts, result = all_of.counts, []
    for row, (pk, key, text) in enumerate(
        evaluation.table.record.queries[["pk", "key", "text"]].itertuples(index=False)
    ):
        values = all_of.value[row][counts[row]]
        columns = (each[row].tolist() for each in (all_of.value, all_of.below, all_of.shade, all_of.why))
        result.append(
            {
                "pk": pk,
                "key": key,
                "text": text,
                "values": [Cell(known(value), *facts) for value, *facts in zip(*columns, strict=True)],
                "why": "" if counts[row].all() else reasons(all_of.why[row]),
                "mean": float(values.mean()) if values.size else None,
                "spread": float(values.max() - values.min()) if values.size else None,
                "judged": int(evaluation.judgments.count[row]),
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


def key(evaluation: Evaluation, all_of: Shaded) -> dict:
    """The context of the legend of shades."""
    ends = [highest(evaluation) * step / 5 for step in range(6)]
    places = 1 if evaluation.asked.bounded else 2
    left_out = np.flatnonzero(~all_of.counts.any(axis=1))  # queries that count for no system
    return {
        "shades": [
            (shade, f"{decimals(low, places)} to {decimals(high, places)}")
            for shade, low, high in zip(SHADES, ends, ends[1:], strict=False)
        ],
        "below": bool(all_of.below.any()),
        "uncounted": len(left_out),
        "undefined": bool(np.isnan(all_of.value[left_out]).all()),
        "why": reasons(all_of.why[left_out].ravel()),
    }


def picture(evaluation: Evaluation, all_of: Shaded) -> dict:
    """The context of `_heat.html`: a chart, or for more than MOST_CELLS cells a line for each system."""
    order = evaluation.by_ease()
    alt_text = (
        f"{evaluation.asked.measure} of {len(order):,} queries by {len(evaluation.names)} systems, as shades."
    )
    context = {"key": key(evaluation, all_of), "alt_text": alt_text, "ends": charts.ends(evaluation.asked.measure)}
    if len(order) * len(evaluation.names) > MOST_CELLS:
        return context | {"lines": lines(evaluation, all_of.shade[order]), "queries": len(order)}
    least = max(280, 3 * len(order) + 90) if len(order) > 60 else None
    shown = rows(evaluation, all_of)
    return context | {"chart": Chart("heat", chart(evaluation, [shown[row] for row in order]), alt_text, least)}


def chart(evaluation: Evaluation, shown: Sequence[dict]) -> dict:
    """The chart of these rows, in their order."""
    # The slug may contain a 0, too: the last one is the placeholder for the query.
    before, after = reverse("query", args=[evaluation.collection, 0]).rsplit("0", 1)
    queries = [
        {"query": row["key"], "text": row["text"], "url": f"{before}{row['pk']}{after}{evaluation.asked.keep}"}
        for row in shown
    ]

    def drawn(cell: Cell) -> dict:
        # Pictures have four decimals; tables and files have all digits.
        value = None if cell.value is None else round(cell.value, 4)
        if cell.why:
            return charts.uncounted(value, cell.why)
        return {"value": value} | ({"below": True} if cell.below else {})

    cells = [
        {"query": row["key"], "system": name, **drawn(cell)}
        for row in shown
        for name, cell in zip(evaluation.names, row["values"], strict=True)
    ]
    return charts.heat_map(
        cells,
        queries,
        systems=evaluation.names,
        top=highest(evaluation),
        ends=charts.ends(evaluation.asked.measure),
    )


def lines(evaluation: Evaluation, shade: np.ndarray) -> list[dict]:
    """For each system its standing and, by shade, the SVG path of its queries, each one unit wide and high.

    shade: object[queries, systems], in the order of the picture. Values below the neutral point fill the lower
    half only, so that they differ not by colour alone. Values that count in no mean are left out.
    """
    result = []
    for place, standing in enumerate(evaluation.standings):
        paths = dict.fromkeys((*SHADES, BELOW), "")
        start = 0
        for each, run in groupby(shade[:, place]):
            width = len(list(run))
            if each != UNDEFINED:
                top, height = (0.5, 0.5) if each == BELOW else (0, 1)
                paths[each] += f"M{start} {top}h{width}v{height}h-{width}z"
            start += width
        result.append({"standing": standing, "paths": paths.items()})
    return result


def differ(evaluation: Evaluation, all_of: Shaded) -> dict:
    """The facts of _differing.html: on how many queries each system alone has the highest value, and of how many.

    These are the queries that count for two systems or more: on others there is nothing to win.
    """
    values = evaluation.counting(evaluation.names)
    values = values[(~np.isnan(values)).sum(axis=1) > 1]
    values = np.where(np.isnan(values), -np.inf, values)
    top = values >= values.max(axis=1, initial=-np.inf, keepdims=True) - TIED
    alone = (top & (top.sum(axis=1, keepdims=True) == 1)).sum(axis=0).tolist()
    winners = [(name, wins) for name, wins in zip(evaluation.names, alone, strict=True) if wins]
    return {
        "winners": winners[:WINNERS],
        "others": sum(wins for _, wins in winners[WINNERS:]),
        "queries": len(values),
        "below": int(all_of.below.sum()),
    }


def heads(evaluation: Evaluation, sort: str | None = None) -> list[dict]:
    """The heads of the table. With `sort`, the present order, they are links that sort."""
    columns = [("text", "Query", False), ("key", "Id", False)]
    columns += [("mean", "Mean", True), ("spread", "Spread", True)]
    columns += [(f"s{each.pk}", each.system, True) for each in evaluation.standings]
    columns += [("judged", "Judged", True)]
    return sortable(columns, sort)
