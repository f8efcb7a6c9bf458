"""The log of rounds as rows: one for each drawn pair, with the fields of its round.

A unit of a round is the pairs of one query, which are drawn together. `key`, `rate` and `threshold` decide which
units are drawn, and `within` is the chance of a pair in its unit: see `models.rounds`.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from ..models import Collection, Drawn

ROWS_AT_ONCE = 2_000
# Of a drawn pair and its round. `machines`: whose grades were features of the model that drew the pair; `triage`:
# whose grades made some pairs more likely to be drawn.
COLUMNS = [
    "round", "method", "seed", "measure", "options", "systems", "gains", "threshold", "precision", "frame",
    "judged", "version", "drawn_at", "query", "document", "place", "kind", "unit", "key", "rate", "within",
    "chance", "born", "predicted", "machines", "triage",
]  # fmt: skip


def table(collection: Collection) -> Iterator[list]:
    """Cells of CSV: the header, then a row for each drawn pair, by round and place.

    One database query for each round, and one more.
    """
    yield list(COLUMNS)
    for round in collection.rounds.order_by("number"):
        for drawn in with_keys(round.drawn.order_by("place")).iterator(chunk_size=ROWS_AT_ONCE):
            fields = pair_of(drawn)
            yield [_cell(fields[column]) for column in COLUMNS]


def with_keys(drawn: QuerySet) -> QuerySet:
    """The drawn pairs, with the keys of their queries and documents loaded."""
    rows = drawn.select_related("pair__query", "pair__document")
    return rows.defer("pair__document__body", "pair__document__fields", "pair__query__fields")


def pair_of(drawn: Drawn) -> dict[str, Any]:
    """The pair and its round by COLUMNS.

    Measure, options, systems and gains are of the aim, which says what the round was drawn for. They are as they
    were stored, unchecked; None where the aim lacks them. frame: how many pairs could be drawn.

    unit: the number of the unit, which is the pairs of one query that are drawn together. key and rate decide
    whether it is drawn. within: the chance of the pair in its unit. A greedy pair was chosen for certain, and
    these four are None. born: how many rounds there were before the pair came to the pool. predicted: for each
    gain but the lowest, the predicted chance that the pair has it or a higher one. machines: whose grades helped
    to predict; triage: whose grades made some pairs more likely to be drawn.
    """
    round, aim, seen = drawn.round, drawn.round.aim, drawn.round.seen
    return {
        "round": round.number, "method": round.method, "seed": round.seed, "measure": aim.get("measure"),
        "options": aim.get("options"), "systems": aim.get("systems"), "gains": aim.get("gains"),
        "threshold": round.threshold, "precision": round.precision, "frame": round.frame, "judged": round.judged,
        "version": round.version, "drawn_at": round.created_at, "query": drawn.pair.query.key,
        "document": drawn.pair.document.key, "place": drawn.place, "kind": drawn.kind, "unit": drawn.unit,
        "key": drawn.key, "rate": drawn.rate, "within": drawn.within, "chance": drawn.chance, "born": drawn.born,
        "predicted": drawn.chances, "machines": seen.get("machines", []), "triage": seen.get("triage", []),
    }  # fmt: skip


def _cell(value: Any) -> Any:
    """The value, or its JSON if a cell cannot hold it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
