"""Give a pair to one rater: the act of an admin, for a pair that nobody else rates."""

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from ...models import Assignment, Pair, Rater, Rating
from .acts import transacted
from .leases import State, assignment_of, give_back, hand_over, surplus_grades, take
from .undoing import give_back_surplus


@transacted
def give(pair: Pair, rater: Rater, *, now: datetime | None = None) -> bool:
    """Whether the pair could be leased to `rater`, as their first task.

    If no assignment of it is free, the rater whose lease ends first loses theirs; what they still send is kept.
    The rater's limit and their restriction to queries do not apply. The pair cannot be given if the collection is
    put away, the rater cannot rate now, has rated the pair or holds it, the pair is retired, or no grade of it is
    wanted.
    """
    now = now or timezone.now()
    holders = Assignment.objects.filter(pair=pair, state=State.LEASED).values("rater")
    # All raters are locked in one order, as in `release`.
    people = Rater.objects.filter(Q(pk=rater.pk) | Q(pk__in=holders)).order_by("pk")
    me = {person.pk: person for person in people.select_for_update(no_key=True)}[rater.pk]
    # Asked by a statement of its own: it sees a role that was taken while this act waited for the lock.
    if me.collection.put_away_at or not Rater.objects.able().filter(pk=me.pk).exists():
        return False
    if assignment_of(pair, me).exists() or Rating.objects.filter(pair=pair, rater=me).exists():
        return False
    leased = Assignment.objects.filter(pair=pair, state=State.LEASED, extra=False).order_by("leased_until", "pk")
    # Surplus grades first fill expired leases. Otherwise this rater would give one grade too many.
    give_back(leased.filter(leased_until__lt=now))
    if not take(me, pair.pk, State.LEASED, now):
        # Each surplus grade will fill one of the leases. If there is one for each lease, no grade is wanted.
        if leased.count() <= surplus_grades().filter(pair=pair).count():
            return False
        hand_over(leased[0], me, now)
    give_back_surplus(me)
    return True
