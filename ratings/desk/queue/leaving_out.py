"""Leave out the ratings of a rater: what they filled is open again, and filled by them again once they count."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ...models import Assignment, Rater
from .acts import lock
from .leases import State, give_back, release_all, surplus_grades, take
from .wanting import chunks


@transaction.atomic
def leave_out(rater: Rater, *, now: datetime | None = None) -> int:
    """How many wanted ratings are open again after the rater's ratings stopped to count and their leases ended.

    The ratings stay. Surplus grades of other raters fill some of the opened ones.
    """
    me = lock(rater)
    Rater.objects.filter(pk=me.pk).update(left_out_at=now or timezone.now())
    release_all(me)
    done = Assignment.objects.filter(rater=me, state=State.DONE, extra=False).order_by("pk")
    done_ids = list(done.values_list("pk", flat=True))
    return sum(give_back(Assignment.objects.filter(pk__in=chunk)) for chunk in chunks(done_ids))


@transaction.atomic
def count_again(rater: Rater, *, now: datetime | None = None) -> int:
    """How many wanted ratings the rater's grades fill, now that they count again.

    A grade of a pair that others rated or hold meanwhile fills none, and counts all the same.
    """
    now = now or timezone.now()
    me = lock(rater)
    Rater.objects.filter(pk=me.pk).update(left_out_at=None)
    unfilled = surplus_grades().filter(rater=me, pair__retired_at=None).order_by("pk")
    return sum(take(me, pair, State.DONE, now) for pair in unfilled.values_list("pair", flat=True))
