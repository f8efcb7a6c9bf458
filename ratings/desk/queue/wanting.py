"""Which pairs are to be rated, and how often: the acts of admins."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Case, Count, F, IntegerField, Min, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from ...database.statistics import renew_statistics
from ...models import UNDRAWN, UNRANKED, Assignment, Pair, Round
from .leases import State, record_lost, surplus_grades

CHUNK = 5_000


@transaction.atomic
def want(pair_ids: Sequence[int], wanted: int, *, depths: Mapping[int, int] | None = None) -> int:
    """How many open assignments were made when the wanted grades of each pair were raised to `wanted`.

    Surplus grades, such as imported ones, fill the first of the new assignments. A retired pair gets none, but its
    number is kept in case it comes back. `depths`: pair id → the best rank of its document in any system, from 1;
    it is written only if it is better than the stored one.
    """
    added = 0
    for chunk in _chunks(pair_ids):
        # The update comes first because it locks the pairs: a concurrent call then counts what this one adds.
        born = Case(When(wanted=0, then=Value(_rounds_of(chunk))), default=F("born"), output_field=IntegerField())
        Pair.objects.filter(pk__in=chunk, wanted__lt=wanted).update(wanted=wanted, born=born)
        added += _ask(chunk, depths or {})
    transaction.on_commit(partial(renew_statistics, added, Pair, Assignment), robust=True)
    return added


@transaction.atomic
def want_fewer(pair_ids: Sequence[int], wanted: int, *, now: datetime | None = None) -> int:
    """How many free assignments were withdrawn when the wanted grades of each pair were lowered to `wanted`.

    All ratings stay: a grade beyond the number is surplus from now on. Nobody loses what they hold: a lease beyond
    the number becomes extra, so that it ends with its rater. The number of a retired pair is lowered too, in case
    it comes back.
    """
    now, withdrawn = now or timezone.now(), 0
    for chunk in _chunks(pair_ids):
        # The update comes first because it locks the pairs, as in `want`.
        Pair.objects.filter(pk__in=chunk, wanted__gt=wanted).update(wanted=wanted)
        rows = Assignment.objects.filter(pair__in=chunk, extra=False).order_by("pk")
        # Locked, so that a concurrent claim either got the row earlier and keeps it, or does not get it.
        done, running, free = _beyond(rows.select_for_update(no_key=True), wanted, now)
        record_lost((row.rater_id, row.pair_id) for row in free)
        for some in _chunks([row.pk for row in done + free]):
            Assignment.objects.filter(pk__in=some).delete()
        for some in _chunks([row.pk for row in running]):
            Assignment.objects.filter(pk__in=some).update(extra=True)
        withdrawn += len(free)
    return withdrawn


def _beyond(rows: Iterable[Assignment], wanted: int, now: datetime) -> tuple[list, list, list]:
    """The assignments beyond `wanted` of a pair: done ones, running leases, and free ones.

    What is done counts first, then what is held, then expired leases, then open assignments.
    """

    def rank(row: Assignment) -> int:
        if row.state == State.LEASED:
            return 1 if row.leased_until >= now else 2
        return 0 if row.state == State.DONE else 3

    beyond, counted = ([], [], [], []), Counter()
    for row in sorted(rows, key=lambda row: (rank(row), row.pk)):
        counted[row.pair_id] += 1
        if counted[row.pair_id] > wanted:
            beyond[rank(row)].append(row)
    done, running, expired, open_ = beyond
    return done, running, expired + open_


@transaction.atomic
def retire(pair_ids: Sequence[int], *, now: datetime | None = None) -> int:
    """How many pairs were taken out of the pool. Pairs that were retired before do not count.

    Their ratings stay and count. So does what raters who hold such a pair still send.
    """
    now, retired = now or timezone.now(), 0
    for chunk in _chunks(pair_ids):
        depths = Assignment.objects.filter(pair=OuterRef("pk")).order_by("depth").values("depth")[:1]
        retired += Pair.objects.filter(pk__in=chunk, retired_at__isnull=True).update(
            retired_at=now, depth=Least("depth", Coalesce(Subquery(depths), UNRANKED))
        )
        waiting = Assignment.objects.waiting().filter(pair__in=chunk).order_by("pk")
        # Locked, so that a concurrent claim either got the row earlier and loses it here, or does not get it.
        rows = list(waiting.select_for_update(no_key=True).values_list("pk", "rater", "pair"))
        record_lost((rater, pair) for _, rater, pair in rows)
        Assignment.objects.filter(pk__in=[pk for pk, *_ in rows]).delete()
    return retired


@transaction.atomic
def unretire(pair_ids: Sequence[int]) -> int:
    """How many retired pairs were brought back, with the assignments that they still need."""
    back = 0
    for chunk in _chunks(pair_ids):
        retired = list(Pair.objects.filter(pk__in=chunk, retired_at__isnull=False).values_list("pk", flat=True))
        back += Pair.objects.filter(pk__in=retired).update(retired_at=None, born=_rounds_of(retired))
        _ask(retired, {})
    return back


def pairs_for(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """(query id, document id) → pair id. Pairs that do not exist are made."""
    known = _known_pairs(wanted)
    missing = [Pair(query_id=q, document_id=d) for q, d in dict.fromkeys(wanted) if (q, d) not in known]
    if not missing:
        return known
    Pair.objects.bulk_create(missing, batch_size=5_000, ignore_conflicts=True)
    return _known_pairs(wanted)


def _rounds_of(pair_ids: Sequence[int]) -> int:
    """How many rounds the collection of these pairs has."""
    return Round.objects.filter(collection__queries__pairs=pair_ids[0]).count() if pair_ids else 0


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))


def _ask(pair_ids: Sequence[int], depths: Mapping[int, int]) -> int:
    """How many open assignments were made, with the missing assignments of these pairs."""
    known = Pair.objects.filter(pk__in=pair_ids, retired_at__isnull=True).annotate(
        n=Count("assignments", filter=Q(assignments__extra=False)),
        known_depth=Least("depth", Coalesce(Min("assignments__depth"), UNRANKED)),
    )
    surplus: dict[int, list[int]] = {}
    for pair_id, rater_id in (
        surplus_grades().filter(pair__in=pair_ids).order_by("pk").values_list("pair", "rater")
    ):
        surplus.setdefault(pair_id, []).append(rater_id)
    filled, added, better = [], [], {}
    rows = known.values_list(
        "pk", "query", "query__collection", "wanted", "n", "known_depth", "drawn__round__number"
    )
    for pk, query_id, collection_id, wanted, n, known_depth, number in rows:
        depth = min(depths.get(pk, UNRANKED), known_depth)
        if depth < known_depth:
            better.setdefault(depth, []).append(pk)
        facts = {"pair_id": pk, "query_id": query_id, "collection_id": collection_id, "depth": depth}
        facts["round"] = UNDRAWN if number is None else number
        raters = surplus.get(pk, [])[: max(0, wanted - n)]
        filled += [Assignment(**facts, rater_id=rater_id, state=State.DONE) for rater_id in raters]
        added += [Assignment(**facts) for _ in range(wanted - n - len(raters))]
    for depth, improved in better.items():
        Assignment.objects.filter(pair__in=improved).update(depth=depth)
    # Conflicts are ignored: another act may have made a rater's assignment meanwhile.
    Assignment.objects.bulk_create(filled, batch_size=5_000, ignore_conflicts=True)
    Assignment.objects.bulk_create(added, batch_size=5_000)
    return len(added)


def _known_pairs(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The pairs among `wanted` that exist. One database query for each search query."""
    known = {}
    by_query: dict[int, set[int]] = {}
    for query_id, document_id in wanted:
        by_query.setdefault(query_id, set()).add(document_id)
    for query_id, documents in by_query.items():
        rows = Pair.objects.filter(query=query_id).values_list("document_id", "pk")
        known |= {(query_id, d): pk for d, pk in rows if d in documents}
    return known
