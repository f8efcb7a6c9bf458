"""The progress of a rater: what they have done and what is left. It reveals nothing of what others did."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ...models import HAS_ROUND, Assignment, Rater, Rating
from .choosing import (
    COUNTED,
    answered_repeats,
    grades_of,
    is_restricted,
    put_off_beside,
    queries_of,
    row_count,
    skips,
)
from .leases import State, assignment_of, free, surplus_grades
from .mixing import mix_of, to_warm_up
from .tasks import held_checks


@dataclass(frozen=True)
class Outlook:
    """A rater's progress."""

    done: int  # their answers, those to repeats included
    left: int = 0  # the tasks that they hold, can get and will get beside, at most COUNTED
    more: bool = False  # whether there are more than that
    held_by_others: int = 0  # if nothing is left: the number of pairs that others hold
    next_return: datetime | None = None  # when the first of these leases expires
    why: str = ""  # why they get no pairs: "put_away", "not_active", "limit", "warm_up" (until done)


def outlook(rater: Rater, *, now: datetime | None = None) -> Outlook:
    now = now or timezone.now()
    me = _counted(rater)
    done = me.n_ratings + me.n_repeats
    if me.collection.put_away_at:
        return Outlook(done, why="put_away")
    if not me.is_able:
        return Outlook(done, why="not_active")
    warm_ups = None if me.warmed_up_at else to_warm_up(me).count()
    if warm_ups:
        return Outlook(done, warm_ups, why="warm_up")
    room = None if me.limit is None else me.limit - me.n_graded
    if room is not None and room <= 0:
        return Outlook(done, why="limit")
    left = _left(me, now)
    if not left:
        returns = list(_held_by_others(me, now).order_by("leased_until").values_list("pair", "leased_until"))
        pairs = {pair for pair, _ in returns}
        return Outlook(done, held_by_others=len(pairs), next_return=returns[0][1] if returns else None)
    if room is not None:
        left = min(left, room)
    return Outlook(done, min(left, COUNTED), more=left > COUNTED)


def _counted(rater: Rater) -> Rater:
    """The rater with counts of what they did and hold, and whether they are `restricted` to some queries.

    `n_graded` are the grades that their limit counts.
    """
    me = OuterRef("pk")
    counted = (
        Rater.objects.with_able()
        .select_related("collection")
        .annotate(
            restricted=is_restricted(),
            n_graded=grades_of(me),
            n_ratings=row_count(Rating.objects.filter(rater=me), "rater"),
            n_repeats=row_count(answered_repeats(me), "rater"),
            n_leased=row_count(Assignment.objects.filter(rater=me, state=State.LEASED), "rater"),
        )
    )
    return counted.get(pk=rater.pk)


def _left(me: Rater, now: datetime) -> int:
    """How many tasks they will get if nobody else takes a pair; more than COUNTED if there are so many.

    Each answer takes one away, whatever it was, and a claim none: what will be mixed in is counted from the start.
    """
    put_off = skips(me).filter(pair=OuterRef("pair"))
    free = _unrated_by(me, _free_pairs(me, now)).annotate(put_off=Subquery(put_off.values("pk")[:1]))
    rows = list(free.values_list("query", "put_off")[: COUNTED + 1])
    left = me.n_leased + held_checks(me).count() + len(rows) + put_off_beside(me, me.restricted, now)
    if left > COUNTED or not (me.collection.gold_share or me.collection.repeat_share):
        return left
    fresh = Counter(query for query, skipped in rows if skipped is None)
    return left + mix_of(me, me.restricted, fresh, now).to_come()


def _unrated_by(me: Rater, rows: QuerySet) -> QuerySet:
    """The assignments whose pairs the rater has not rated.

    This is a subquery because PostgreSQL would turn NOT EXISTS into a join. With old statistics it would then read
    all ratings of the rater for each row.
    """
    rated = Rating.objects.filter(rater=me, pair=OuterRef("pair")).values("pk")[:1]
    return rows.annotate(rated=Subquery(rated)).filter(rated=None)


def _in_reach(me: Rater) -> QuerySet:
    """The waiting assignments of pairs that may be given to the rater."""
    rows = Assignment.objects.waiting().filter(collection=me.collection_id, pair__retired_at__isnull=True)
    return rows.filter(query__in=queries_of(me)) if me.restricted else rows


def _free_pairs(me: Rater, now: datetime) -> QuerySet:
    """One free assignment of each pair that the rater does not hold."""
    of_pair = Assignment.objects.filter(free(now), pair=OuterRef("pair"))
    surplus = surplus_grades().filter(pair=OuterRef("pair"))
    # Each surplus grade will fill one expired lease.
    enough = Q(leased_until__isnull=True) | Q(n_free__gt=F("n_surplus"))
    rows = _in_reach(me).annotate(
        n_free=row_count(of_pair, "pair"),
        n_surplus=row_count(surplus, "pair"),
        own=Subquery(assignment_of(OuterRef("pair"), me).values("pk")[:1]),
        older=Subquery(of_pair.filter(pk__lt=OuterRef("pk")).values("pk")[:1]),
    )
    # With DISTINCT or without an order, PostgreSQL would read far more rows than the caller's slice counts.
    return rows.filter(free(now) & enough & HAS_ROUND, own=None, older=None).order_by("round", "lot")


def _held_by_others(me: Rater, now: datetime) -> QuerySet:
    held = _in_reach(me).filter(leased_until__isnull=False, leased_until__gte=now, extra=False)
    return _unrated_by(me, held).exclude(rater=me)
