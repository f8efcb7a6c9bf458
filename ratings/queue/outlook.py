"""What a rater has done and what is left for them, told by nothing that others did."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ..models import Assignment, Rater, Rating
from .choosing import graded, narrowed, number, set_of
from .leases import State, free, uncounted
from .mixing import to_warm_up
from .tasks import REPEAT, held_checks

COUNTED = 500  # beyond this a rater is told "more": to count a million pairs would take a second of each page


@dataclass(frozen=True)
class Outlook:
    """What a rater has done and what is left."""

    done: int  # what they answered, repeats among it
    left: int  # tasks that this rater could do now, at most COUNTED
    more: bool  # whether there are more than that
    held_by_others: int  # pairs that come back when somebody else's lease runs out
    next_return: datetime | None
    why: str = ""  # why they get no pairs: "not_active", "limit", "warm_up" (until that is done)


def outlook(rater: Rater, *, now: datetime | None = None) -> Outlook:
    """Counts for the rater's own progress."""
    now = now or timezone.now()
    me = Rater.objects.annotate(narrowed=narrowed()).get(pk=rater.pk)
    done = Rating.objects.filter(rater=me).count()
    done += me.checks.filter(kind=REPEAT, event__isnull=False).count()
    if not me.active:
        return Outlook(done, 0, False, 0, None, "not_active")
    warm_ups = None if me.warmed_up_at else to_warm_up(me).count()
    if warm_ups:
        return Outlook(done, warm_ups, False, 0, None, "warm_up")
    left = _count_left(me, now) + held_checks(me).count()
    room = None if me.limit is None else max(0, me.limit - graded(me))
    if room is not None and left >= room:
        # Where a limit comes first, what others hold is nothing to wait for.
        return Outlook(done, min(room, COUNTED), room > COUNTED, 0, None, "" if room else "limit")
    returns = list(_held_by_others(me, now).order_by("leased_until").values_list("pair", "leased_until"))
    return Outlook(
        done=done,
        left=min(left, COUNTED),
        more=left > COUNTED,
        held_by_others=len({pair for pair, _ in returns}),
        next_return=returns[0][1] if returns else None,
    )


def _unrated_by(me: Rater) -> QuerySet:
    """Assignments of pairs that the rater has not rated, in the queries they may rate.

    What is rated is looked up row by row. What is written as NOT EXISTS, PostgreSQL takes for a join, and where
    its statistics are old it reads all that the rater has rated for each row that it counts.
    """
    rated = Rating.objects.filter(rater=me, pair=OuterRef("pair")).values("pk")[:1]
    pairs = Assignment.objects.filter(collection=me.collection_id, pair__retired_at__isnull=True)
    found = pairs.annotate(rated=Subquery(rated)).filter(rated=None)
    # What they hold already they can do, whatever its query has become since.
    return found.filter(Q(query__in=set_of(me)) | Q(rater=me)) if me.narrowed else found


def _count_left(me: Rater, now: datetime) -> int:
    """Pairs that the rater could rate now, counted up to one more than COUNTED."""
    own = Q(rater=me, state=State.LEASED)
    of_pair = Assignment.objects.filter(free(now), pair=OuterRef("pair"))
    late = uncounted().filter(pair=OuterRef("pair"))
    # Grades that came late fill as many leases that ran out.
    enough = Q(leased_until__isnull=True) | Q(n_free__gt=F("n_late"))
    found = _unrated_by(me).waiting().annotate(n_free=number(of_pair, "pair"), n_late=number(late, "pair"))
    # A pair counts once: as the rater's own, whatever else is free of it, or else as the first that is free.
    other = Assignment.objects.filter(own | free(now) & Q(pk__lt=OuterRef("pk")), pair=OuterRef("pair"))
    found = found.annotate(other=Subquery(other.values("pk")[:1]))
    one_a_pair = found.filter(own | free(now) & enough & Q(other=None))
    # Neither DISTINCT nor no order: PostgreSQL would then read far more rows than it counts.
    return one_a_pair.order_by("lot")[: COUNTED + 1].count()


def _held_by_others(me: Rater, now: datetime) -> QuerySet:
    held = _unrated_by(me).filter(leased_until__isnull=False, leased_until__gte=now, extra=False)
    return held.exclude(rater=me)
