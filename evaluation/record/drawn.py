"""The pool and the rounds of a collection as arrays, for expected values."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.db.models import Case, Exists, IntegerField, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce

from ratings.models import Anchor, Assignment, Collection, Drawn, Pair, Round

from .sql import columns_of

NOT_KNOWN = -1


class PoolRows(NamedTuple):
    """All pairs of a collection, a row each: int64[pairs] or bool[pairs]."""

    pair: np.ndarray  # pks
    query: np.ndarray  # pks
    document: np.ndarray  # pks
    wanted: np.ndarray  # how many ratings are wanted
    born: np.ndarray  # how many rounds there were when the pair came to the pool
    known: (
        np.ndarray
    )  # how many there were when it was judged outside rounds; NOT_KNOWN: unjudged, or not stored yet
    waiting: np.ndarray  # whether a rating is still wanted
    retired: np.ndarray
    anchored: np.ndarray  # whether it is gold or a warm-up


class DrawnRows(NamedTuple):
    """The pairs of one round, by place. For greedy pairs `unit` is 0, and key, rate and within are nan."""

    pair: np.ndarray  # int64[n], pks
    unit: np.ndarray  # int64[n], from 1
    key: np.ndarray  # float64[n]
    rate: np.ndarray
    within: np.ndarray
    born: np.ndarray  # int64[n]


@dataclass(frozen=True, eq=False)
class RoundRows:
    """One round as stored. See `expected.rounds` for its numbers."""

    number: int
    threshold: float | None
    precision: float
    judged: int
    rows: DrawnRows
    triage: tuple[str, ...] = ()  # machines by whose grades some pairs were drawn at a higher rate


def pool_rows(collection: Collection) -> PoolRows:
    """All pairs of the collection. One database query."""

    def flag(condition) -> Case:
        return Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())

    of_pair = {"pair": OuterRef("pk")}
    rows = Pair.objects.filter(query__collection=collection).order_by()
    columns = rows.annotate(
        known_at=Coalesce("known", NOT_KNOWN, output_field=IntegerField()),
        is_waiting=flag(Exists(Assignment.objects.waiting().filter(**of_pair))),
        is_retired=flag(Q(retired_at__isnull=False)),
        is_anchored=flag(Exists(Anchor.objects.filter(**of_pair))),
    ).values_list(
        "pk", "query_id", "document_id", "wanted", "born", "known_at", "is_waiting", "is_retired", "is_anchored"
    )
    *numbers, waiting, retired, anchored = columns_of(*columns.query.sql_with_params(), 9)
    return PoolRows(*numbers, waiting > 0, retired > 0, anchored > 0)


def round_rows(collection: Collection) -> list[RoundRows]:
    """All rounds, oldest first. Two database queries."""
    facts = collection.rounds.order_by("number").values_list(
        "pk", "number", "threshold", "precision", "judged", "seen__triage"
    )
    drawn: dict[int, list] = {pk: [] for pk, *_ in facts}
    rows = Drawn.objects.filter(round__collection=collection).order_by("round", "place")
    for of, *row in rows.values_list("round_id", "pair_id", "unit", "key", "rate", "within", "born"):
        drawn.setdefault(of, []).append(row)
    return [
        RoundRows(number, threshold, precision, judged, _packed(drawn[pk]), tuple(triage or ()))
        for pk, number, threshold, precision, judged, triage in facts
    ]


def _packed(rows: list) -> DrawnRows:
    table = np.array(rows, np.float64).reshape(len(rows), 6)  # None becomes nan
    pair, unit, key, rate, within, born = table.T
    whole = [np.nan_to_num(column).astype(np.int64) for column in (pair, unit, born)]
    return DrawnRows(whole[0], whole[1], key, rate, within, whole[2])


def rounds_so_far(collection: Collection) -> int:
    """The number of rounds. One database query."""
    return (
        Round.objects.filter(collection=collection).order_by("-number").values_list("number", flat=True).first()
        or 0
    )
