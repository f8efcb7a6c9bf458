"""The pool and the rounds of a collection as arrays, for expected values.

A round draws pairs to be judged: greedy ones for certain, and units at random. A unit is the pairs of one query
that are drawn together. See `ratings.models.Drawn` for its key, rate and chance `within`.
"""

from collections import defaultdict
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
    known: np.ndarray  # how many when it was judged outside rounds; NOT_KNOWN: unjudged, or not stored yet
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
    threshold: float | None  # the key of the first unit that was not drawn; None: all were
    precision: float  # what the round weighs
    judged: int  # how many pairs were judged before
    rows: DrawnRows
    triage: tuple[str, ...] = ()  # machines by whose grades some pairs were drawn at a higher rate


def pool_rows(collection: Collection) -> PoolRows:
    """All pairs of the collection. One database query."""

    def one_or_zero(condition) -> Case:
        """1 where the condition holds, else 0: `columns_of` reads numbers alone."""
        return Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())

    waiting_assignments = Assignment.objects.waiting().filter(pair=OuterRef("pk"))
    anchors = Anchor.objects.filter(pair=OuterRef("pk"))
    pairs = Pair.objects.filter(query__collection=collection).order_by()
    # Django does not allow an annotation with the name of a field, such as `known`.
    rows = pairs.annotate(
        known_at=Coalesce("known", NOT_KNOWN, output_field=IntegerField()),
        is_waiting=one_or_zero(Exists(waiting_assignments)),
        is_retired=one_or_zero(Q(retired_at__isnull=False)),
        is_anchored=one_or_zero(Exists(anchors)),
    ).values_list(
        "pk", "query_id", "document_id", "wanted", "born", "known_at", "is_waiting", "is_retired", "is_anchored"
    )
    # In the order of the fields of PoolRows; the last three are 0 or 1.
    *numbers, waiting, retired, anchored = columns_of(*rows.query.sql_with_params(), columns=9)
    return PoolRows(*numbers, waiting > 0, retired > 0, anchored > 0)


def round_rows(collection: Collection) -> list[RoundRows]:
    """All rounds, oldest first. Two database queries."""
    # `triage` is a member of the JSON in `seen`; None where it has no such member.
    rounds = collection.rounds.order_by("number").values_list(
        "pk", "number", "threshold", "precision", "judged", "seen__triage"
    )
    drawn_pairs = Drawn.objects.filter(round__collection=collection).order_by("round", "place")
    rows_of_round: dict[int, list] = defaultdict(list)  # by the pk of the round
    for pk, *row in drawn_pairs.values_list("round_id", "pair_id", "unit", "key", "rate", "within", "born"):
        rows_of_round[pk].append(row)
    return [
        RoundRows(number, threshold, precision, judged, _drawn_rows(rows_of_round[pk]), tuple(triage or ()))
        for pk, number, threshold, precision, judged, triage in rounds
    ]


def _drawn_rows(rows: list) -> DrawnRows:
    """The arrays of one round. rows: (pair, unit, key, rate, within, born) of each drawn pair, by place."""
    table = np.array(rows, np.float64).reshape(len(rows), 6)  # None becomes nan
    # The unit of greedy pairs is nan, and 0 as an integer.
    pair, unit, born = np.nan_to_num(table[:, [0, 1, 5]].T).astype(np.int64)
    key, rate, within = table[:, 2:5].T
    return DrawnRows(pair, unit, key, rate, within, born)


def rounds_so_far(collection: Collection) -> int:
    """The number of rounds. One database query."""
    numbers = Round.objects.filter(collection=collection).order_by("-number").values_list("number", flat=True)
    return numbers.first() or 0
