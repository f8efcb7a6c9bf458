"""Take back what a rater did, and hand them its pair again."""

from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, OuterRef, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from ..models import Assignment, Check, Grade, Pair, Rater, Rating, RatingEvent
from .acts import judged, lock, record, sent_before, transacted
from .claiming import MOST_HELD
from .leases import LEASE, State, before_all, give_back, row_of, take
from .saving import settle, write
from .tasks import PAIR, REPEAT, Task, check_task, checks_of, held, pair_task

UNDO_DEPTH = 20

Kind = RatingEvent.Kind
SAID = [Kind.GRADE, Kind.CANNOT, Kind.IMPORT]
OF_REPEATS = [Kind.REPEAT, Kind.SKIP]


@transacted
def undo(
    rater: Rater, *, act: UUID | None = None, client_key: UUID | None = None, now: datetime | None = None
) -> Task | None:
    """Take back one of the rater's last UNDO_DEPTH acts, and hand them its pair to do next.

    `act` is the client key of the act meant, None the last one. None comes back where there is no such act or it
    is undone already. A warm-up is not taken back. Where the pair cannot be leased to them again, because others
    have it or it is retired, they can still rate it.
    """
    now = now or timezone.now()
    me = lock(rater)
    before = sent_before(me, client_key)
    meant = before.undoes if before else _meant(me, act)
    if meant is None:
        return None
    check = _check_of(me, meant)
    if not before:
        changed = _take_back_check(me, check, meant) if check else _take_back(me, meant, now)
        record(me, meant.pair, Kind.UNDO, now, undoes=meant, client_key=client_key, **changed)
        give_back_surplus(me)
    if check:
        return check_task(me, checks_of(me).get(pk=check.pk))
    return pair_task(me, Pair.objects.filter(pk=meant.pair_id))


def last_acts(rater: Rater, count: int = UNDO_DEPTH) -> list[RatingEvent]:
    """What undo can take back, latest first, with query and document. One query.

    `token` of each is that under which the rater saw the pair.
    """
    check = Check.objects.filter(rater=rater, pair=OuterRef("pair"), kind=REPEAT)
    acts = RatingEvent.objects.filter(
        rater=rater, kind__in=[Kind.GRADE, Kind.CANNOT, Kind.SKIP, Kind.REPEAT], undone_by__isnull=True
    )
    own = Case(When(kind__in=OF_REPEATS, then=Subquery(check.values("token")[:1])))
    acts = acts.annotate(token=Coalesce(own, F("pair__token")))
    return list(acts.select_related("pair__query", "pair__document").order_by("-pk")[:count])


def _meant(me: Rater, act: UUID | None) -> RatingEvent | None:
    return next((event for event in last_acts(me) if act is None or event.client_key == act), None)


def _check_of(me: Rater, event: RatingEvent) -> Check | None:
    """The repeat that the event answered or put off. Who puts off a pair of their last acts has it as a repeat or
    has not graded it: a repeat comes long after the grade."""
    if event.kind not in OF_REPEATS:
        return None
    return Check.objects.filter(rater=me, pair=event.pair_id, kind=REPEAT).first()


def _take_back_check(me: Rater, check: Check, event: RatingEvent) -> dict:
    answers = RatingEvent.objects.filter(rater=me, pair=check.pair_id, kind=Kind.REPEAT, undone_by__isnull=True)
    earlier = answers.exclude(pk=event.pk).order_by("-pk").first()
    Check.objects.filter(pk=check.pk).update(event=earlier, turn=None if earlier else before_all(me))
    return {}


def _take_back(me: Rater, event: RatingEvent, now: datetime) -> dict:
    """Restore what the act changed; what its own event is to hold."""
    rating = Rating.objects.filter(pair=event.pair_id, rater=me).first()
    if event.kind != Kind.SKIP:
        standing = _standing(event)
        if standing is None or standing.pk < event.pk:
            rating = _restore(me, event.pair, rating, standing, now)
    if rating is None:
        _lease_again(me, event.pair, now)
    return {} if event.kind == Kind.SKIP else judged(me)


def _standing(event: RatingEvent) -> RatingEvent | None:
    """What the rater said last of the pair, if `event` is not counted."""
    said = RatingEvent.objects.filter(
        pair=event.pair_id, rater=event.rater_id, kind__in=SAID, undone_by__isnull=True
    )
    return said.exclude(pk=event.pk).order_by("-pk").first()


def _restore(
    me: Rater, pair: Pair, rating: Rating | None, earlier: RatingEvent | None, now: datetime
) -> Rating | None:
    """Make the rating what `earlier` says. None: then there is none."""
    grade = None
    if earlier and earlier.value is not None:
        grade = Grade.objects.filter(collection=me.collection_id, value=earlier.value).first()
    # A step that the scale no longer has cannot be gone back to: then the pair is unrated again.
    if earlier is None or (earlier.value is not None and grade is None):
        Rating.objects.filter(pair=pair, rater=me).delete()
        return None
    said = {"grade": grade, "reason": earlier.reason, "comment": earlier.comment}
    rating = write(me, pair, rating, **said, now=now)
    settle(me, pair, row_of(pair, me).first(), rating, now)
    return rating


def _lease_again(me: Rater, pair: Pair, now: datetime) -> None:
    own = row_of(pair, me)
    if pair.retired_at:
        give_back(own)
    elif not own.update(state=State.LEASED, leased_until=now + LEASE, turn=before_all(me)):
        take(me, pair.pk, State.LEASED, now)


def give_back_surplus(me: Rater) -> None:
    """What is undone comes first, and what a rater would hold beyond MOST_HELD goes back from the end."""
    over = held(me)[MOST_HELD:]
    pairs = [task.pair for task in over if task.kind == PAIR]
    if pairs:
        give_back(Assignment.objects.filter(rater=me, pair__in=pairs, state=State.LEASED))
