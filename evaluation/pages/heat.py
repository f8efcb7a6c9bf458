"""The heat map of queries by systems: as a picture from easiest to hardest query, and as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from django.urls import reverse

from .. import charts
from ..analyses.report import known
from ..words.numbers import decimals
from .answer import Answer
from .charts import Chart
from .tables import heads as sortable

SHADES = ("h1", "h2", "h3", "h4", "h5")
BELOW, UNDEFINED = "h0", "hu"

MOST_CELLS = 5_000  # cells of a Vega chart; more are drawn on the server, as SVG paths


class Cell(NamedTuple):
    """What one system scored on one query."""

    value: float | None
    below: bool  # the neutral point
    shade: str  # the class of its colour


@dataclass(frozen=True)
class Row:
    """One query with the value of every system."""

    pk: int
    key: str
    text: str
    values: list[Cell]
    why: str  # it has no value
    mean: float | None
    spread: float | None  # highest less lowest
    judged: int  # documents with a judgment


def rows(answer: Answer) -> list[Row]:
    """All queries in the order of the record, the systems in that of their means."""
    values, below = answer.values()[answer.names].to_numpy(), answer.below[answer.names].to_numpy()
    there, top = ~np.isnan(values), highest(answer)
    steps = np.digitize(values, [top * step / 5 for step in range(1, 5)])
    shades = np.where(there, np.where(below, BELOW, np.array(SHADES)[steps]), UNDEFINED).tolist()
    shown = []
    for row, (pk, key, text) in enumerate(answer.record.queries[["pk", "key", "text"]].itertuples(index=False)):
        found = values[row][there[row]]
        cells = zip(map(known, values[row].tolist()), below[row].tolist(), shades[row], strict=True)
        shown.append(
            Row(
                pk=pk,
                key=key,
                text=text,
                values=[Cell(*cell) for cell in cells],
                why="" if there[row].all() else answer.reason_of(row),
                mean=float(found.mean()) if found.size else None,
                spread=float(found.max() - found.min()) if found.size else None,
                judged=int(answer.judgments.count[row]),
            )
        )
    return shown


def highest(answer: Answer) -> float:
    """The upper end of the last shade: 1, or the highest value of an unbounded measure."""
    values = answer.values().to_numpy()
    top = 1.0 if answer.asked.bounded or np.isnan(values).all() else float(np.nanmax(values))
    return top if top > 0 else 1.0


def key(answer: Answer, shown: Sequence[Row]) -> dict:
    """The legend of the shades."""
    ends = [highest(answer) * step / 5 for step in range(6)]
    places = 1 if answer.asked.bounded else 2
    undefined = [row.why for row in shown if row.mean is None]
    return {
        "shades": [
            (shade, f"{decimals(low, places)} to {decimals(high, places)}")
            for shade, low, high in zip(SHADES, ends, ends[1:], strict=False)
        ],
        "below": any(cell.below for row in shown for cell in row.values),
        "undefined": len(undefined),
        "why": ", ".join(dict.fromkeys(undefined)),
    }


def picture(answer: Answer, shown: Sequence[Row]) -> dict:
    """The context of `_heat.html`: a chart, or for more than MOST_CELLS cells a line for each system."""
    order = answer.by_ease()
    alt_text = f"{answer.asked.measure} of {len(order):,} queries by {len(answer.names)} systems, as shades."
    drawn = {"key": key(answer, shown), "alt_text": alt_text}
    if len(order) * len(answer.names) > MOST_CELLS:
        return drawn | {"lines": lines(answer, [shown[row] for row in order]), "queries": len(order)}
    least = max(280, 3 * len(order) + 90) if len(order) > 60 else None
    return drawn | {"chart": Chart("heat", chart(answer, [shown[row] for row in order]), alt_text, least)}


def chart(answer: Answer, shown: Sequence[Row]) -> dict:
    # The slug may hold the placeholder too, so that only the last 0 is that of the query.
    before, after = reverse("query", args=[answer.collection.slug, 0]).rsplit("0", 1)
    queries = [
        {"query": row.key, "text": row.text, "url": f"{before}{row.pk}{after}{answer.asked.keep}"} for row in shown
    ]
    cells = [
        {"query": row.key, "system": name, "value": brief(cell.value)} | ({"below": True} if cell.below else {})
        for row in shown
        for name, cell in zip(answer.names, row.values, strict=True)
    ]
    return charts.heat_map(cells, queries, systems=answer.names, top=highest(answer))


def lines(answer: Answer, shown: Sequence[Row]) -> list[dict]:
    """Each system with its mean and, by shade, the SVG path that fills its queries, each one unit wide and high.

    Values below the neutral point fill only the lower half, so that they differ by more than colour; undefined
    ones fill nothing.
    """
    found = []
    for place, standing in enumerate(answer.standings):
        paths = dict.fromkeys((*SHADES, BELOW), "")
        start = 0
        for shade, run in groupby(row.values[place].shade for row in shown):
            width = len(list(run))
            if shade != UNDEFINED:
                top, height = (0.5, 0.5) if shade == BELOW else (0, 1)
                paths[shade] += f"M{start} {top}h{width}v{height}h-{width}z"
            start += width
        found.append({"standing": standing, "paths": paths.items()})
    return found


def brief(value: float | None) -> float | None:
    """The value rounded for a picture. Table and file have all digits."""
    return None if value is None else round(value, 4)


def wins(answer: Answer) -> dict[str, int]:
    """On how many queries each system alone has the highest value."""
    values = answer.values()
    best = values.max(axis=1)
    top = values.ge(best - 1e-12, axis=0)
    alone = top[top.sum(axis=1) == 1]
    return {name: int(alone[name].sum()) for name in values.columns}


def heads(answer: Answer, sort: str | None = None) -> list[dict]:
    """The columns of the table; with `sort`, they are links that sort by it."""
    columns = [("text", "Query", False), ("key", "Id", False)]
    columns += [("mean", "Mean", True), ("spread", "Spread", True)]
    columns += [(f"s{answer.systems[name].pk}", name, True) for name in answer.names]
    columns += [("judged", "Judged", True)]
    return sortable(columns, sort)
