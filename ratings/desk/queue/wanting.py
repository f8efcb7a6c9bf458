"""Which pairs are to be rated, and how often: the acts of admins.

An assignment is one wanted rating of a pair: open, leased to a rater, or done, that is, filled by the grade of a
rater. An extra one is beyond the number wanted, for one rater. A surplus grade is one that fills no assignment.
The depth of a pair is the best rank of its document in any system, or UNRANKED, which is greater than any rank.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from django.db import transaction
from django.db.models import Case, Count, F, IntegerField, Min, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from ...database.statistics import renew_statistics
from ...models import UNDRAWN, UNRANKED, Assignment, Pair, Round
from .leases import State, record_lost, surplus_grades

ROWS_PER_STATEMENT = 5_000

Row = TypeVar("Row")


@transaction.atomic
def want(pair_ids: Sequence[int], wanted: int, *, depths: Mapping[int, int] | None = None) -> int:
    """Raise the number of grades that are wanted of each pair to `wanted`, and make the assignments for them.

    Returns how many of the new assignments are open.

    `pair_ids`: of one collection. Surplus grades, such as imported ones, fill the first of the new assignments. A
    retired pair gets none, but its number is kept in case it comes back. `depths`: pair id → the best rank of its
    document in any system, from 1; it is written only if it is better than the stored one.
    """
    added = 0
    for chunk in chunks(pair_ids):
        # A round is a random draw of pairs that are to be rated next. A pair with `wanted` = 0 comes to the pool
        # now: its `born` becomes the number of rounds that the collection has so far, as only later ones can
        # draw it. All other pairs keep theirs.
        n_rounds = Value(_number_of_rounds(chunk))
        born = Case(When(wanted=0, then=n_rounds), default=F("born"), output_field=IntegerField())
        # The update comes first because it locks the pairs: a concurrent call then counts what this one adds.
        Pair.objects.filter(pk__in=chunk, wanted__lt=wanted).update(wanted=wanted, born=born)
        added += _make_lacking(chunk, depths or {})
    # The statistics by which PostgreSQL plans queries. `robust`: an error there is logged and not raised.
    transaction.on_commit(partial(renew_statistics, added, Pair, Assignment), robust=True)
    return added


@transaction.atomic
def want_fewer(pair_ids: Sequence[int], wanted: int, *, now: datetime | None = None) -> int:
    """Lower the number of grades that are wanted of each pair to `wanted`, and withdraw what is free beyond it.

    Returns how many assignments were withdrawn: open ones, and leases that have expired.

    All ratings stay: the assignments of grades beyond the number are deleted, so these grades are surplus, and
    they count. Nobody loses what they hold: a lease beyond the number becomes extra, so that it ends with its
    rater. The number of a retired pair is lowered too, in case it comes back.
    """
    now = now or timezone.now()
    withdrawn = 0
    for chunk in chunks(pair_ids):
        # The update comes first because it locks the pairs, as in `want`.
        Pair.objects.filter(pk__in=chunk, wanted__gt=wanted).update(wanted=wanted)
        rows = Assignment.objects.filter(pair__in=chunk, extra=False).order_by("pk")
        # Locked, so that a concurrent claim either got the row earlier and keeps it, or does not get it.
        done, running, free = _beyond(rows.select_for_update(no_key=True), wanted, now)
        record_lost((row.rater_id, row.pair_id) for row in free)  # of expired leases: open rows have no rater
        for ids in chunks([row.pk for row in done + free]):
            Assignment.objects.filter(pk__in=ids).delete()
        # The `round` of an extra assignment is the place where gold, a pair with a known grade, was mixed in. 0:
        # it was not mixed in.
        for ids in chunks([row.pk for row in running]):
            Assignment.objects.filter(pk__in=ids).update(extra=True, round=0)
        withdrawn += len(free)
    return withdrawn


def _beyond(rows: Iterable[Assignment], wanted: int, now: datetime) -> tuple[list, list, list]:
    """The assignments beyond the first `wanted` of each pair, in three lists: done, leased now, and free.

    First of a pair are those that are done, then those held, then expired leases, then open assignments.
    """

    def rank(row: Assignment) -> int:
        if row.state == State.LEASED:
            return 1 if row.leased_until >= now else 2
        return 0 if row.state == State.DONE else 3

    by_rank: tuple[list, list, list, list] = [], [], [], []  # those beyond the number
    number_of_pair = Counter[int]()  # pair id → how many of its assignments came so far
    for row in sorted(rows, key=lambda row: (rank(row), row.pk)):
        number_of_pair[row.pair_id] += 1
        if number_of_pair[row.pair_id] > wanted:
            by_rank[rank(row)].append(row)
    done, running, expired, open_rows = by_rank
    return done, running, expired + open_rows


@transaction.atomic
def retire(pair_ids: Sequence[int], *, now: datetime | None = None) -> int:
    """Take the pairs out of the pool. Returns how many; pairs that were retired before do not count.

    Their ratings stay and count. So does what raters who hold such a pair still send.
    """
    now = now or timezone.now()
    retired = 0
    for chunk in chunks(pair_ids):
        # Waiting assignments are deleted below. The pair keeps the least depth of all, in case it comes back.
        depths = Assignment.objects.filter(pair=OuterRef("pk")).order_by("depth").values("depth")[:1]
        retired += Pair.objects.filter(pk__in=chunk, retired_at__isnull=True).update(
            retired_at=now, depth=Least("depth", Coalesce(Subquery(depths), UNRANKED))
        )
        waiting = Assignment.objects.waiting().filter(pair__in=chunk).order_by("pk")
        # Locked: a concurrent claim either got the row earlier and loses its lease here, or does not get it. After
        # `record_lost`, a rater who held the pair can still send its rating.
        rows = list(waiting.select_for_update(no_key=True).values_list("pk", "rater", "pair"))
        record_lost((rater, pair) for _, rater, pair in rows)
        Assignment.objects.filter(pk__in=[pk for pk, *_ in rows]).delete()
    return retired


@transaction.atomic
def unretire(pair_ids: Sequence[int]) -> int:
    """Bring retired pairs back, with the assignments that they still need. Returns how many were retired."""
    back = 0
    for chunk in chunks(pair_ids):
        retired = list(Pair.objects.filter(pk__in=chunk, retired_at__isnull=False).values_list("pk", flat=True))
        back += Pair.objects.filter(pk__in=retired).update(retired_at=None, born=_number_of_rounds(retired))
        _make_lacking(retired, {})
    return back


def pairs_for(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """(query id, document id) → pair id. Pairs that do not exist are made."""
    stored = _stored_pairs(wanted)
    missing = [key for key in dict.fromkeys(wanted) if key not in stored]  # in their order, each once
    if not missing:
        return stored
    rows = [Pair(query_id=query_id, document_id=document_id) for query_id, document_id in missing]
    Pair.objects.bulk_create(rows, batch_size=5_000, ignore_conflicts=True)
    return _stored_pairs(wanted)


def _number_of_rounds(pair_ids: Sequence[int]) -> int:
    """How many rounds the collection of these pairs has; they are of one collection."""
    return Round.objects.filter(collection__queries__pairs=pair_ids[0]).count() if pair_ids else 0


def chunks(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows or ids in order, at most ROWS_PER_STATEMENT at a time."""
    return (rows[start : start + ROWS_PER_STATEMENT] for start in range(0, len(rows), ROWS_PER_STATEMENT))


def _make_lacking(pair_ids: Sequence[int], depths: Mapping[int, int]) -> int:
    """Make the assignments that these pairs lack: one for each wanted grade. Those that are `extra` do not count.

    Grades of a pair that fill no assignment, such as imported ones, are its surplus: they fill the first of the
    new assignments, and the others are open. Returns how many open assignments were made. `depths`: pair id →
    the best rank of its document in any system. Where it is lower than the stored one, the assignments that the
    pair has already get it, too.
    """
    # The depth of a pair is stored in its assignments. `retire` deletes those that wait and keeps it in
    # `Pair.depth`, from where it comes for the pairs that `unretire` has just brought back.
    pairs = Pair.objects.filter(pk__in=pair_ids, retired_at__isnull=True).annotate(
        n_assigned=Count("assignments", filter=Q(assignments__extra=False)),
        stored_depth=Least("depth", Coalesce(Min("assignments__depth"), UNRANKED)),
        round=Coalesce("drawn__round__number", UNDRAWN),  # UNDRAWN: no round drew the pair; it is after all rounds
    )
    surplus_raters = _surplus_raters(pair_ids)
    pairs_by_better_depth = defaultdict[int, list[int]](list)  # depth → pair ids
    filled_rows = []
    open_rows = []
    rows = pairs.values_list("pk", "query", "query__collection", "wanted", "n_assigned", "stored_depth", "round")
    for pk, query_id, collection_id, wanted, n_assigned, stored_depth, round_number in rows:
        depth = min(depths.get(pk, UNRANKED), stored_depth)
        if depth < stored_depth:
            pairs_by_better_depth[depth].append(pk)
        fields = {"pair_id": pk, "query_id": query_id, "collection_id": collection_id}
        fields |= {"depth": depth, "round": round_number}
        lacking = max(0, wanted - n_assigned)
        raters = surplus_raters[pk][:lacking]
        filled_rows += [Assignment(**fields, rater_id=rater_id, state=State.DONE) for rater_id in raters]
        open_rows += [Assignment(**fields) for _ in range(lacking - len(raters))]
    for depth, ids in pairs_by_better_depth.items():
        Assignment.objects.filter(pair__in=ids).update(depth=depth)
    # Conflicts are ignored: another act may have made a rater's assignment meanwhile.
    Assignment.objects.bulk_create(filled_rows, batch_size=5_000, ignore_conflicts=True)
    Assignment.objects.bulk_create(open_rows, batch_size=5_000)
    return len(open_rows)


def _surplus_raters(pair_ids: Sequence[int]) -> dict[int, list[int]]:
    """Pair id → ids of the raters of its surplus grades, the oldest grade first; [] for other pairs."""
    surplus_raters = defaultdict[int, list[int]](list)
    grades = surplus_grades().filter(pair__in=pair_ids).order_by("pk")
    for pair_id, rater_id in grades.values_list("pair", "rater"):
        surplus_raters[pair_id].append(rater_id)
    return surplus_raters


def _stored_pairs(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The pairs among `wanted` that exist. One database query for each search query."""
    wanted_keys = set(wanted)
    pair_ids = {}
    for query_id in {query_id for query_id, _ in wanted}:
        for document_id, pk in Pair.objects.filter(query=query_id).values_list("document_id", "pk"):
            if (query_id, document_id) in wanted_keys:
                pair_ids[query_id, document_id] = pk
    return pair_ids
