"""Queries by systems: as a picture from the easiest to the hardest, and as the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.urls import reverse

from .. import charts
from ..templatetags.numbers import decimals
from .answer import Answer, known

SHADES = ("h1", "h2", "h3", "h4", "h5")


@dataclass(frozen=True)
class Row:
    """One query with the value of every system."""

    pk: int
    key: str
    text: str
    values: list[tuple[float | None, bool]]  # and whether it lies below the neutral point
    why: str  # it has no value
    mean: float | None
    spread: float | None  # highest less lowest
    judged: int  # documents with a judgment


def rows(answer: Answer) -> list[Row]:
    """All queries in the order of the record, the systems in that of their means."""
    values, below = answer.values()[answer.names].to_numpy(), answer.below[answer.names].to_numpy()
    there = ~np.isnan(values)
    shown = []
    for row, (pk, key, text) in enumerate(answer.record.queries[["pk", "key", "text"]].itertuples(index=False)):
        found = values[row][there[row]]
        shown.append(
            Row(
                pk=pk,
                key=key,
                text=text,
                values=[(known(value), bool(low)) for value, low in zip(values[row], below[row], strict=True)],
                why="" if there[row].all() else answer.reason_of(row),
                mean=float(found.mean()) if found.size else None,
                spread=float(found.max() - found.min()) if found.size else None,
                judged=int(answer.judgments.count[row]),
            )
        )
    return shown


def picture(answer: Answer, shown: Sequence[Row]) -> dict:
    """What `_heat.html` draws."""
    order = answer.by_ease()
    numbers = [value for row in shown for value, _ in row.values if value is not None]
    top = 1.0 if answer.asked.bounded else max(numbers, default=0.0)
    top = top if top > 0 else 1.0
    # The slug may hold the placeholder too, so that only the last 0 is that of the query.
    before, after = reverse("query", args=[answer.collection.slug, 0]).rsplit("0", 1)
    queries = [
        {
            "query": shown[row].key,
            "text": shown[row].text,
            "url": f"{before}{shown[row].pk}{after}{answer.asked.keep}",
        }
        for row in order
    ]
    cells = [
        {"query": shown[row].key, "system": name, "value": brief(value)} | ({"below": True} if below else {})
        for row in order
        for name, (value, below) in zip(answer.names, shown[row].values, strict=True)
    ]
    undefined = [shown[row].why for row in order if shown[row].mean is None]
    ends = [top * step / 5 for step in range(6)]
    places = 1 if answer.asked.bounded else 2
    return {
        "spec": charts.heat_map(cells, queries, systems=answer.names, top=top),
        "says": f"{answer.asked.measure} of {len(order)} queries by {len(answer.names)} systems, as shades. "
        "The table has the numbers.",
        "least": max(280, 3 * len(order) + 90) if len(order) > 60 else None,
        "key": [
            (shade, f"{decimals(low, places)} to {decimals(high, places)}")
            for shade, low, high in zip(SHADES, ends, ends[1:], strict=False)
        ],
        "below": any(below for row in shown for _, below in row.values),
        "undefined": len(undefined),
        "why": ", ".join(dict.fromkeys(undefined)),
    }


def brief(value: float | None) -> float | None:
    """As many digits as a picture can show: there may be ten thousand cells. Table and file have them all."""
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
    columns = [("text", "Query", False)]
    columns += [(f"s{answer.systems[name].pk}", name, True) for name in answer.names]
    columns += [("mean", "Mean", True), ("spread", "Spread", True), ("judged", "Judged", True)]
    if sort is None:
        return [{"text": text, "numeric": numeric} for _, text, numeric in columns]
    return [
        {
            "text": text,
            "numeric": numeric,
            # Numbers are first wanted from the highest down, and a second press turns the order around.
            "sort": name if sort == f"-{name}" or (sort != name and not numeric) else f"-{name}",
            "state": {name: "ascending", f"-{name}": "descending"}.get(sort, "none"),
        }
        for name, text, numeric in columns
    ]
