"""Leave out the ratings of a rater: what they filled is open again, and filled by them again once they count.

An assignment is one wanted rating of a pair: open, leased to a rater, or done, that is, filled by the grade of a
rater. An extra one is beyond the number wanted, for one rater. A surplus grade is one that fills no assignment.
"""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ...models import Assignment, Rater
from .acts import lock
from .leases import State, give_back, release_all, surplus_grades, take
from .wanting import chunks


@transaction.atomic
def leave_out(rater: Rater, *, now: datetime | None = None) -> int:
    """Let the rater's ratings count no more, and end their leases. Returns how many assignments they fill no more.

    The ratings stay. Of these assignments, surplus grades of other raters fill some, those of retired pairs are
    deleted, and the others are open again.
    """
    me = lock(rater)
    Rater.objects.filter(pk=me.pk).update(left_out_at=now or timezone.now())
    release_all(me)
    done = Assignment.objects.filter(rater=me, state=State.DONE, extra=False).order_by("pk")
    done_ids = list(done.values_list("pk", flat=True))
    return sum(give_back(Assignment.objects.filter(pk__in=chunk)) for chunk in chunks(done_ids))


@transaction.atomic
def count_again(rater: Rater, *, now: datetime | None = None) -> int:
    """Let the rater's ratings count again. Returns how many assignments their grades fill again.

    A grade of a pair that others rated or hold meanwhile fills none, and counts all the same.
    """
    now = now or timezone.now()
    me = lock(rater)
    Rater.objects.filter(pk=me.pk).update(left_out_at=None)
    # Since the line above, `surplus_grades` has those of this rater, too.
    unfilled = surplus_grades().filter(rater=me, pair__retired_at=None).order_by("pk")
    return sum(take(me, pair, State.DONE, now) for pair in unfilled.values_list("pair", flat=True))
