"""Take back an act of a rater, and give them its pair again.

An act is a grade, a reason in place of a grade, a skip, which puts a pair off, or the answer to a repeat, a pair
that the rater grades again. A repeat is a check: its answer is an event and no rating.
"""

from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, OuterRef, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from ...models import Assignment, Check, Grade, Pair, Rater, Rating, RatingEvent
from .acts import KeyUsed, event_of_key, lock, record, refuse_many_acts, transacted
from .claiming import MOST_HELD
from .leases import LEASE, State, assignment_of, give_back, take, turn_before_all
from .mixing import take_gold
from .saving import Submission, sync_assignments, write_rating
from .tasks import PAIR, REPEAT, Task, check_task, checks_of, held, pair_task

ACTS_TO_UNDO = 20  # the last acts of a rater, which they can take back

Kind = RatingEvent.Kind
RATING_KINDS = [Kind.GRADE, Kind.CANNOT, Kind.IMPORT]
REPEAT_KINDS = [Kind.REPEAT, Kind.SKIP]


@transacted
def undo(
    rater: Rater, *, act: UUID | None = None, client_key: UUID | None = None, now: datetime | None = None
) -> Task | None:
    """Take an act of the rater back, and return its pair as their next task; None if there is no such act.

    `act`: the client key of one of the rater's last ACTS_TO_UNDO acts; None: the last one. `client_key`: that of
    this undo. Raises KeyUsed if another act has it. Warm-ups cannot be taken back. The rater can rate the pair
    even if it cannot be leased to them again, because others have it or it is retired.
    """
    now = now or timezone.now()
    me = lock(rater)
    earlier = event_of_key(me, client_key)  # the event of this undo, if the request is a retry
    if earlier:
        is_retry = earlier.kind == Kind.UNDO and act in (None, earlier.undoes.client_key)
        if not is_retry:  # another act has the key, or an undo of another act
            raise KeyUsed
    event = earlier.undoes if earlier else _act_to_undo(me, act)
    if event is None:
        return None
    check = _check_of(me, event)  # the repeat that the act answered or put off, or None
    if not earlier:
        refuse_many_acts(me, event.pair)
        if check:
            _take_back_check(me, check, event)
        else:
            _take_back(me, event, now)
        record(me, event.pair, Kind.UNDO, now, undoes=event, client_key=client_key)
        give_back_beyond_most(me)  # with the task that came back, they may hold too many
    if check:
        return check_task(checks_of(me).get(pk=check.pk))
    return pair_task(me, event.pair_id)


def last_acts(rater: Rater, count: int = ACTS_TO_UNDO) -> list[RatingEvent]:
    """The acts that undo can take back, latest first, with query and document. One query.

    The `token` of each event is the one by which the rater knew the task: of a repeat its own, or else the
    pair's. A skip of a pair that has a repeat put the repeat off. A skip of the pair itself was before its
    grade, and at least ACTS_BEFORE_REPEAT acts lie between the grade and the repeat, so it is not among the last
    ACTS_TO_UNDO acts.
    """
    repeat = Check.objects.filter(rater=rater, pair=OuterRef("pair"), kind=REPEAT)
    kinds = [Kind.GRADE, Kind.CANNOT, Kind.SKIP, Kind.REPEAT]
    acts = RatingEvent.objects.standing().filter(rater=rater, kind__in=kinds)
    # NULL for acts of other kinds, and where the rater has no repeat of the pair.
    repeat_token = Case(When(kind__in=REPEAT_KINDS, then=Subquery(repeat.values("token")[:1])))
    acts = acts.annotate(token=Coalesce(repeat_token, F("pair__token")))
    return list(acts.select_related("pair__query", "pair__document").order_by("-pk")[:count])


def _act_to_undo(me: Rater, act: UUID | None) -> RatingEvent | None:
    return next((event for event in last_acts(me) if act is None or event.client_key == act), None)


def _check_of(me: Rater, event: RatingEvent) -> Check | None:
    """The repeat that the event answered or put off.

    A put-off pair among the last acts was either put off as a repeat or is not graded, because a repeat comes long
    after the grade.
    """
    if event.kind not in REPEAT_KINDS:
        return None
    return Check.objects.filter(rater=me, pair=event.pair_id, kind=REPEAT).first()


def _take_back_check(me: Rater, check: Check, event: RatingEvent) -> None:
    answers = RatingEvent.objects.standing().filter(rater=me, pair=check.pair_id, kind=Kind.REPEAT)
    earlier = answers.exclude(pk=event.pk).order_by("-pk").first()
    Check.objects.filter(pk=check.pk).update(event=earlier, turn=None if earlier else turn_before_all(me))


def _take_back(me: Rater, event: RatingEvent, now: datetime) -> None:
    """Restore the rating as it was before the event. If there is none then, lease the pair to the rater again.

    The event is a rating or a skip. A skip changed no rating, so then there is nothing to restore. A rating that
    was set aside, to ask others for the pair, stays as it is.
    """
    rating = Rating.objects.filter(pair=event.pair_id, rater=me).first()
    if rating and rating.set_aside_at:
        return  # the rater does not get a pair again for which others are asked
    if event.kind != Kind.SKIP:
        standing = RatingEvent.objects.standing().filter(pair=event.pair_id, rater=me, kind__in=RATING_KINDS)
        latest_other = standing.exclude(pk=event.pk).order_by("-pk").first()
        # If a rating event follows this one, it made the present rating, which stays.
        if latest_other is None or latest_other.pk < event.pk:
            rating = _restore(me, event.pair, rating, latest_other, now)  # None: there is none to restore
    if rating is None:
        _lease_again(me, event.pair, now)


def _restore(
    me: Rater, pair: Pair, rating: Rating | None, earlier: RatingEvent | None, now: datetime
) -> Rating | None:
    """Restore the rating from the event `earlier`, and return it; without one, delete it, and return None.

    `earlier`: the latest event of a grade or a reason that is not undone, before the one that is taken back.
    `rating`: the present one, or None.
    """
    value = earlier.value if earlier else None  # None, too, for a reason in place of a grade
    grade = Grade.objects.filter(collection=me.collection_id, value=value).first() if value is not None else None
    # A grade that has left the scale cannot be restored: its rating is deleted, too.
    if earlier is None or (value is not None and grade is None):
        # The assignment that it filled stays: `_take_back` then leases it to the rater again, or gives it back.
        Rating.objects.filter(pair=pair, rater=me).delete()
        return None
    rating = write_rating(me, pair, rating, Submission(grade, earlier.reason, earlier.comment), now)
    sync_assignments(me, pair, assignment_of(pair, me).first(), rating, now)
    return rating


def _lease_again(me: Rater, pair: Pair, now: datetime) -> None:
    """Lease the pair to the rater, before all their other tasks, unless it is retired or no assignment is free."""
    assignment = assignment_of(pair, me)
    if pair.retired_at:
        give_back(assignment)
    elif not assignment.update(state=State.LEASED, leased_until=now + LEASE, turn=turn_before_all(me)):
        take(me, pair.pk, State.LEASED, now) or take_gold(me, pair.pk, State.LEASED, now)


def give_back_beyond_most(me: Rater) -> None:
    """Give back what `me` holds beyond MOST_HELD, from the end of their tasks."""
    over = held(me)[MOST_HELD:]
    me.checks.filter(token__in=[task.token for task in over], kind=REPEAT).update(turn=None)
    pairs = [task.pair for task in over if task.kind == PAIR]
    if pairs:
        give_back(Assignment.objects.filter(rater=me, pair__in=pairs, state=State.LEASED))
