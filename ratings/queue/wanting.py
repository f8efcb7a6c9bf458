"""Which pairs are to be rated, and how often: the admin's side of the queue."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Min, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from ..models import UNRANKED, Assignment, Pair
from .leases import State, lost, uncounted

CHUNK = 5_000


@transaction.atomic
def want(pair_ids: Sequence[int], wanted: int, *, depths: Mapping[int, int] | None = None) -> int:
    """Ask for `wanted` grades of each pair, and say how many are newly to give. Never asks for fewer.

    Grades that fill no assignment yet, as imported ones, fill the first of the new. Of a retired pair nothing
    is asked; how often it is wanted is kept for when it comes back.
    `depths`: pair id -> the best place that a system gives its document, from 1. A worse place than one known
    from before changes nothing.
    """
    added = 0
    for chunk in _chunks(pair_ids):
        # First, because it locks the pairs: of two who ask at once, the second counts what the first has added.
        Pair.objects.filter(pk__in=chunk, wanted__lt=wanted).update(wanted=wanted)
        added += _ask(chunk, depths or {})
    return added


@transaction.atomic
def retire(pair_ids: Sequence[int], *, now: datetime | None = None) -> int:
    """Nobody is given these pairs any more, and no pool wants them again; says how many are newly retired.

    Ratings that they have stay and count. Who holds one keeps what they send for it, without being asked for it.
    """
    now, retired = now or timezone.now(), 0
    for chunk in _chunks(pair_ids):
        depths = Assignment.objects.filter(pair=OuterRef("pk")).order_by("depth").values("depth")[:1]
        retired += Pair.objects.filter(pk__in=chunk, retired_at__isnull=True).update(
            retired_at=now, depth=Least("depth", Coalesce(Subquery(depths), UNRANKED))
        )
        waiting = Assignment.objects.waiting().filter(pair__in=chunk).order_by("pk")
        # Locked, so that who takes one at this moment has either got it, and then lost it, or does not get it.
        rows = list(waiting.select_for_update(no_key=True).values_list("pk", "rater", "pair"))
        lost((rater, pair) for _, rater, pair in rows)
        Assignment.objects.filter(pk__in=[pk for pk, *_ in rows]).delete()
    return retired


@transaction.atomic
def unretire(pair_ids: Sequence[int]) -> int:
    """Bring retired pairs back, with the ratings that are still wanted of them; says how many pairs came back."""
    back = 0
    for chunk in _chunks(pair_ids):
        retired = list(Pair.objects.filter(pk__in=chunk, retired_at__isnull=False).values_list("pk", flat=True))
        back += Pair.objects.filter(pk__in=retired).update(retired_at=None)
        _ask(retired, {})
    return back


def pairs_for(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """(query id, document id) -> pair id, making the pairs that are missing."""
    known = _known_pairs(wanted)
    missing = [Pair(query_id=q, document_id=d) for q, d in dict.fromkeys(wanted) if (q, d) not in known]
    if not missing:
        return known
    Pair.objects.bulk_create(missing, batch_size=5_000, ignore_conflicts=True)
    return _known_pairs(wanted)


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))


def _ask(pair_ids: Sequence[int], depths: Mapping[int, int]) -> int:
    """Make the assignments that are missing to what is wanted of pairs; how many of them nobody fills yet."""
    known = Pair.objects.filter(pk__in=pair_ids, retired_at__isnull=True).annotate(
        n=Count("assignments", filter=Q(assignments__extra=False)),
        known_depth=Least("depth", Coalesce(Min("assignments__depth"), UNRANKED)),
    )
    late: dict[int, list[int]] = {}
    for pair_id, rater_id in uncounted().filter(pair__in=pair_ids).order_by("pk").values_list("pair", "rater"):
        late.setdefault(pair_id, []).append(rater_id)
    filled, added, better = [], [], {}
    rows = known.values_list("pk", "query", "query__collection", "wanted", "n", "known_depth")
    for pk, query_id, collection_id, wanted, n, known_depth in rows:
        depth = min(depths.get(pk, UNRANKED), known_depth)
        if depth < known_depth:
            better.setdefault(depth, []).append(pk)
        facts = {"pair_id": pk, "query_id": query_id, "collection_id": collection_id, "depth": depth}
        given = late.get(pk, [])[: max(0, wanted - n)]
        filled += [Assignment(**facts, rater_id=rater_id, state=State.DONE) for rater_id in given]
        added += [Assignment(**facts) for _ in range(wanted - n - len(given))]
    for depth, improved in better.items():
        Assignment.objects.filter(pair__in=improved).update(depth=depth)
    # A grade that another act has counted meanwhile is no reason to refuse the rest.
    Assignment.objects.bulk_create(filled, batch_size=5_000, ignore_conflicts=True)
    Assignment.objects.bulk_create(added, batch_size=5_000)
    return len(added)


def _known_pairs(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """One database query for each search query among `wanted`."""
    known = {}
    by_query: dict[int, set[int]] = {}
    for query_id, document_id in wanted:
        by_query.setdefault(query_id, set()).add(document_id)
    for query_id, documents in by_query.items():
        rows = Pair.objects.filter(query=query_id).values_list("document_id", "pk")
        known |= {(query_id, d): pk for d, pk in rows if d in documents}
    return known
