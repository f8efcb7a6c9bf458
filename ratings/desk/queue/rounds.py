"""Store rounds of drawn pairs. In the orders that have rounds raters get these pairs first."""

from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from ...models import HAS_ROUND, UNDRAWN, Assignment, Collection, Drawn, Pair, Round
from .leases import State
from .wanting import ROWS_PER_STATEMENT, chunks


def store_round(
    collection: Collection,
    new: Round,
    pairs: Sequence[Drawn],
    *,
    judged_outside: Sequence[int] = (),
    undrawable: Sequence[int] = (),
    version: int | None = None,
    now: datetime | None = None,
) -> Round | None:
    """The stored round, whose pairs raters get from now on; None, with nothing stored, if it was overtaken.

    `new` and `pairs` are not stored yet and lack what is set here: collection, time, round, places and `born`. The
    pairs are in the order in which raters get them. `judged_outside` are ids of pairs that were judged outside of
    rounds since the last one. `undrawable` are ids of pairs that could not be drawn: raters get what is left of
    them with this round, or with an older one that has them.

    A round is overtaken if another worker stored its number first, if one of the pairs is already drawn or gone,
    or if the collection's version is no longer `version`: pairs that were pooled since then could not be drawn,
    but would count as if they could.
    """
    ids = [row.pair_id for row in pairs]
    if version is not None and not Collection.objects.filter(pk=collection.pk, version=version).exists():
        return None
    try:
        with transaction.atomic():
            new.collection = collection
            new.created_at = now or timezone.now()
            new.save()
            born_by_pair = _lock_pairs(ids)
            if len(born_by_pair) < len(ids):
                raise IntegrityError("a pair is gone")
            for place, row in enumerate(pairs, 1):
                row.round, row.place, row.born = new, place, born_by_pair[row.pair_id]
            Drawn.objects.bulk_create(pairs, batch_size=ROWS_PER_STATEMENT)
            for chunk in chunks(ids):
                Assignment.objects.filter(pair__in=chunk).update(round=new.number)
            for chunk in chunks(undrawable):
                Assignment.objects.filter(pair__in=chunk, round=UNDRAWN).update(round=new.number)
            for chunk in chunks(judged_outside):
                Pair.objects.filter(pk__in=chunk, known__isnull=True).update(known=new.number - 1)
    except IntegrityError:
        if not _overtaken(collection, new.number, ids):
            raise
        return None
    return new


def _overtaken(collection: Collection, number: int, pair_ids: Sequence[int]) -> bool:
    """Whether another worker stored the round, or one of the pairs is already drawn or gone."""
    if Round.objects.filter(collection=collection, number=number).exists():
        return True
    undrawn = (Pair.objects.filter(pk__in=chunk, drawn__isnull=True).count() for chunk in chunks(pair_ids))
    return sum(undrawn) < len(pair_ids)


def _lock_pairs(pair_ids: Sequence[int]) -> dict[int, int]:
    """Pair id → born, for the pairs that exist. They are locked, so that nobody makes assignments meanwhile."""
    born = {}
    for chunk in chunks(pair_ids):
        pairs = Pair.objects.filter(pk__in=chunk).order_by("pk")
        born |= dict(pairs.select_for_update(no_key=True).values_list("pk", "born"))
    return born


def raters_at_work(collection: Collection) -> int:
    """How many raters hold something. One query."""
    leased = Assignment.objects.filter(collection=collection, leased_until__isnull=False, state=State.LEASED)
    return leased.values("rater").distinct().count()


def waiting_in_rounds(collection: Collection, most: int) -> int:
    """How many ratings are still to be given of drawn pairs that nobody rated, at most `most`. One query.

    Further ratings of rated pairs do not count, because whoever gave the first ones cannot give them. If they
    counted, the next round would be drawn too late for these raters, who would get pairs of no round.
    """
    rows = Assignment.objects.waiting().filter(HAS_ROUND, collection=collection, round__lt=UNDRAWN, extra=False)
    rated = Assignment.objects.filter(pair=OuterRef("pair"), state=State.DONE)
    rows = rows.filter(~Exists(rated)).order_by("-round")  # those are of the latest rounds
    return rows[:most].count()
