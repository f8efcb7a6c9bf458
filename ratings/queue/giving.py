"""Hand a pair to one rater: what an admin does where it waits for somebody."""

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from ..models import Assignment, Pair, Rater, Rating
from .acts import transacted
from .leases import State, give_back, hand_over, row_of, take, uncounted
from .undoing import give_back_surplus


@transacted
def give(pair: Pair, rater: Rater, *, now: datetime | None = None) -> bool:
    """Lease the pair to `rater`, before all else that they hold; says whether it could be done.

    It is taken from who holds it, longest first, where nothing of it is free; what they still send is kept. Limit
    and queries of the rater are no hindrance: the admin has chosen. Nothing happens where the rater is not active,
    has said something of the pair or holds it, where the pair is retired, and where no grade of it is wanted.
    """
    now = now or timezone.now()
    holders = Assignment.objects.filter(pair=pair, state=State.LEASED).values("rater")
    # All of them in one order, as in `release`.
    people = Rater.objects.filter(Q(pk=rater.pk) | Q(pk__in=holders)).order_by("pk")
    me = {one.pk: one for one in people.select_for_update(no_key=True)}[rater.pk]
    if not me.active or row_of(pair, me).exists() or Rating.objects.filter(pair=pair, rater=me).exists():
        return False
    leased = Assignment.objects.filter(pair=pair, state=State.LEASED, extra=False).order_by("leased_until", "pk")
    # A grade that came late fills what ran out, before somebody is asked for one more.
    give_back(leased.filter(leased_until__lt=now))
    if not take(me, pair.pk, State.LEASED, now):
        # Of what is held, grades that came late make as many no longer wanted.
        if leased.count() <= uncounted().filter(pair=pair).count():
            return False
        hand_over(leased[0], me, now)
    give_back_surplus(me)
    return True
