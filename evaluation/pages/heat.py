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

TIED = 1e-12  # smaller differences are none
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


@dataclass(frozen=True, eq=False)
class Shaded:
    """The value of every query and system, with its shade. Systems are in the order of their means."""

    value: np.ndarray  # float64[queries, systems], nan = undefined
    below: np.ndarray  # bool[queries, systems]: the neutral point
    shade: np.ndarray  # object[queries, systems]: classes of colours

    @property
    def undefined(self) -> np.ndarray:
        """The queries without any value, int64[any]."""
        return np.flatnonzero(np.isnan(self.value).all(axis=1))


def shaded(answer: Answer) -> Shaded:
    value, below = answer.array(answer.names), answer.below(answer.names)
    top = highest(answer)
    steps = np.digitize(value, [top * step / 5 for step in range(1, 5)])
    shade = np.where(below, BELOW, np.array(SHADES, object)[steps])
    return Shaded(value, below, np.where(np.isnan(value), UNDEFINED, shade))


def rows(answer: Answer, all_of: Shaded) -> list[Row]:
    """All queries in the order of the record, the systems in that of their means."""
    there, shown = ~np.isnan(all_of.value), []
    for row, (pk, key, text) in enumerate(answer.record.queries[["pk", "key", "text"]].itertuples(index=False)):
        found = all_of.value[row][there[row]]
        columns = (each[row].tolist() for each in (all_of.value, all_of.below, all_of.shade))
        shown.append(
            Row(
                pk=pk,
                key=key,
                text=text,
                values=[Cell(known(value), below, shade) for value, below, shade in zip(*columns, strict=True)],
                why="" if there[row].all() else answer.reason_of(row),
                mean=float(found.mean()) if found.size else None,
                spread=float(found.max() - found.min()) if found.size else None,
                judged=int(answer.judgments.count[row]),
            )
        )
    return shown


def highest(answer: Answer) -> float:
    """The upper end of the last shade: 1, or the highest value of an unbounded measure."""
    values = answer.array(answer.names)
    top = 1.0 if answer.asked.bounded or np.isnan(values).all() else float(np.nanmax(values))
    return top if top > 0 else 1.0


def key(answer: Answer, all_of: Shaded) -> dict:
    """The legend of the shades."""
    ends = [highest(answer) * step / 5 for step in range(6)]
    places = 1 if answer.asked.bounded else 2
    undefined = [answer.reason_of(row) for row in all_of.undefined]
    return {
        "shades": [
            (shade, f"{decimals(low, places)} to {decimals(high, places)}")
            for shade, low, high in zip(SHADES, ends, ends[1:], strict=False)
        ],
        "below": bool(all_of.below.any()),
        "undefined": len(undefined),
        "why": ", ".join(dict.fromkeys(undefined)),
    }


def picture(answer: Answer, all_of: Shaded) -> dict:
    """The context of `_heat.html`: a chart, or for more than MOST_CELLS cells a line for each system."""
    order = answer.by_ease()
    alt_text = f"{answer.asked.measure} of {len(order):,} queries by {len(answer.names)} systems, as shades."
    drawn = {"key": key(answer, all_of), "alt_text": alt_text}
    if len(order) * len(answer.names) > MOST_CELLS:
        return drawn | {"lines": lines(answer, all_of.shade[order]), "queries": len(order)}
    least = max(280, 3 * len(order) + 90) if len(order) > 60 else None
    shown = rows(answer, all_of)
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


def lines(answer: Answer, shade: np.ndarray) -> list[dict]:
    """Each system with its mean and, by shade, the SVG path that fills its queries, each one unit wide and high.

    shade: object[queries, systems], in the order that is drawn.

    Values below the neutral point fill only the lower half, so that they differ by more than colour; undefined
    ones fill nothing.
    """
    found = []
    for place, standing in enumerate(answer.standings):
        paths = dict.fromkeys((*SHADES, BELOW), "")
        start = 0
        for each, run in groupby(shade[:, place]):
            width = len(list(run))
            if each != UNDEFINED:
                top, height = (0.5, 0.5) if each == BELOW else (0, 1)
                paths[each] += f"M{start} {top}h{width}v{height}h-{width}z"
            start += width
        found.append({"standing": standing, "paths": paths.items()})
    return found


def brief(value: float | None) -> float | None:
    """The value rounded for a picture. Table and file have all digits."""
    return None if value is None else round(value, 4)


def wins(answer: Answer) -> dict[str, int]:
    """On how many queries each system alone has the highest value."""
    names = list(answer.systems)
    values = answer.array(names)
    values = np.where(np.isnan(values), -np.inf, values)
    top = values >= values.max(axis=1, initial=-np.inf, keepdims=True) - TIED
    alone = top & (top.sum(axis=1, keepdims=True) == 1) & np.isfinite(values)
    return dict(zip(names, alone.sum(axis=0).tolist(), strict=True))


def heads(answer: Answer, sort: str | None = None) -> list[dict]:
    """The columns of the table; with `sort`, they are links that sort by it."""
    columns = [("text", "Query", False), ("key", "Id", False)]
    columns += [("mean", "Mean", True), ("spread", "Spread", True)]
    columns += [(f"s{answer.systems[name].pk}", name, True) for name in answer.names]
    columns += [("judged", "Judged", True)]
    return sortable(columns, sort)
