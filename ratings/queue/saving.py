"""Record what a rater says of a pair, or that they put it off."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, FilteredRelation, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ..models import Anchor, Assignment, Check, Grade, Pair, Rater, Rating, RatingEvent, Shown
from ..prepared import Blank, Prepared, PreparedInsert, PreparedUpdate
from .acts import Overtaken, judged, lock, locking, record, sent_before, transacted
from .leases import State, give_back, row_of, take
from .mixing import LATER_TURN, to_warm_up
from .tasks import PAIR, WARM_UP, Task, answer_of

Kind = RatingEvent.Kind
COUNTED, SURPLUS, RETIRED = "counted", "surplus", "retired"


class Conflict(Exception):
    """The rating was changed elsewhere since the form was shown. `current` is what is stored (None: withdrawn)."""

    def __init__(self, current: Rating | None) -> None:
        self.current = current
        super().__init__("This rating was changed in another window.")


@dataclass(frozen=True)
class Saved:
    """What became of a rating."""

    event: RatingEvent  # for a retry: the event of the first time
    rating: Rating | None  # of a check its answer, which is not stored; None where it was withdrawn since
    fate: str  # COUNTED; SURPLUS: others had filled the pair, it is kept beside; RETIRED: kept, no longer needed
    answer: Anchor | None = None  # of a warm-up: the known grade and its explanation


@transacted
def save(
    rater: Rater,
    task: Task | Pair,
    *,
    grade: Grade | None = None,
    reason: str = "",
    comment: str = "",
    base_revision: int = 0,
    client_key: UUID | None = None,
    seconds: float | None = None,
    shown: str = Shown.ALONE,
    guidelines: int | None = None,
    now: datetime | None = None,
) -> Saved:
    """Record a grade, or why the pair cannot be judged. The same `client_key` again is the same save.

    `guidelines` is the version that the rater had before them, None for the latest. `base_revision` is the
    revision of the rating that they saw, 0 for none. Raises Conflict when it is no longer the stored one,
    ValueError for a grade or pair of another collection or for both or neither of grade and reason. Late work,
    after the lease was lost or the pair retired, is kept. Five queries for a grade of a pair that the rater holds.
    """
    now = now or timezone.now()
    if (grade is None) == (reason == ""):
        raise ValueError("A rating is a grade or a reason why the pair cannot be judged.")
    pair = task if isinstance(task, Pair) else task.pair
    if rater.collection_id != pair.query.collection_id or (grade and grade.collection_id != rater.collection_id):
        raise ValueError("The grade, the pair and the rater must belong to one collection.")
    said = {"value": grade.value if grade else None, "reason": reason, "comment": comment}
    sent = {**said, "seconds": seconds, "shown": shown, "client_key": client_key, "guidelines": guidelines}
    if isinstance(task, Task) and task.kind != PAIR:
        return _save_check(rater, task, grade, base_revision, sent, now)
    me = _look(rater=rater.pk, pair=pair.pk, client_key=client_key)[0]
    # Where there is none, Django sets none.
    current, place = getattr(me, "own", None), getattr(me, "place", None)
    if me.sent:
        # "Cannot judge" holds no place, the first time neither.
        counted = place or grade is None
        return _retried(me.sent, said, current, RETIRED if me.retired else COUNTED if counted else SURPLUS)
    if (current.revision if current else 0) != base_revision:
        raise Conflict(current)
    rating = write(me, pair, current, grade=grade, reason=reason, comment=comment, now=now)
    counted = settle(me, pair, place, rating, now)
    kind = Kind.GRADE if grade else Kind.CANNOT
    event = record(me, pair, kind, now, **sent, **judged(me))
    return Saved(event, rating, RETIRED if me.retired else COUNTED if counted else SURPLUS)


@transacted
def skip(
    rater: Rater,
    task: Task | Pair,
    *,
    comment: str = "",
    client_key: UUID | None = None,
    now: datetime | None = None,
) -> None:
    """Put the pair off: it goes back to the pool and comes to this rater again after everything else.

    What they wrote so far is there again then. A warm-up comes again after the others; a repeat when its turn is
    drawn again.
    """
    now = now or timezone.now()
    me = lock(rater)
    if sent_before(me, client_key):
        return
    if isinstance(task, Task) and task.kind == WARM_UP:
        last = me.checks.filter(turn__gte=LATER_TURN, kind=WARM_UP).aggregate(last=Max("turn"))["last"]
        later = LATER_TURN if last is None else last + 1
        me.checks.filter(token=task.token, event__isnull=True).update(turn=later)
        return
    pair = task if isinstance(task, Pair) else task.pair
    if isinstance(task, Task) and task.kind != PAIR:
        me.checks.filter(token=task.token, event__isnull=True).update(turn=None)
    else:
        give_back(row_of(pair, me).filter(state=State.LEASED))
    record(me, pair, Kind.SKIP, now, comment=comment, client_key=client_key)


def write(
    me: Rater, pair: Pair, current: Rating | None, *, grade: Grade | None, reason: str, comment: str, now: datetime
) -> Rating:
    """The rating as it is stored now. Raises Overtaken where `current` is no longer what is stored. One query."""
    said = {"grade": grade, "reason": reason, "comment": comment, "changed_at": now}
    if current is None:
        facts = {"query_id": pair.query_id, "document_id": pair.document_id}
        current = Rating(pair=pair, **facts, rater=me, created_at=now, **said)
        _insert(current)
        return current
    said["revision"] = current.revision + 1
    if not Rating.objects.filter(pk=current.pk, revision=current.revision).update(**said):
        raise Overtaken
    for name, value in said.items():
        setattr(current, name, value)
    return current


def settle(me: Rater, pair: Pair, place: Assignment | None, rating: Rating, now: datetime) -> bool:
    """Make the assignments agree with the rating; says whether it stands where one was wanted.

    A grade fills an assignment, the rater's own (`place`) if they have one; "cannot judge" gives it back.
    """
    if rating.grade_id is None:
        if place:
            give_back(row_of(pair, me))
        return True
    if place and _fill(pair=pair.pk, rater=me.pk):
        return True
    return take(me, pair.pk, State.DONE, now)


def _looking_at() -> QuerySet:
    """The rater, locked, with their rating and assignment of the pair, and what was sent under the key before."""
    pair = Blank("pair", Rating, "pair")
    key = Blank("client_key", RatingEvent, "client_key")
    raters = Rater.objects.filter(pk=Blank("rater", Rating, "rater")).annotate(
        own=FilteredRelation("ratings", condition=Q(ratings__pair=pair)),
        place=FilteredRelation("assignments", condition=Q(assignments__pair=pair)),
        sent=Subquery(RatingEvent.objects.filter(rater=OuterRef("pk"), client_key=key).values("pk")[:1]),
        retired=Exists(Pair.objects.filter(pk=pair, retired_at__isnull=False)),
    )
    return locking(raters.select_related("own__grade", "place"))


_look = Prepared(_looking_at)
_insert = PreparedInsert(Rating)
_fill = PreparedUpdate(
    lambda: row_of(Blank("pair", Rating, "pair"), Blank("rater", Rating, "rater")),
    state=State.DONE,
    leased_until=None,
)


def _retried(sent: int, said: dict, current: Rating | None, fate: str, answer: Anchor | None = None) -> Saved:
    """What became of it the first time. The back button can bring back a form that was sent: another rating from
    it is no retry."""
    event = RatingEvent.objects.get(pk=sent)
    if {name: getattr(event, name) for name in said} != said:
        raise Conflict(current)
    return Saved(event, current, fate, answer)


def _save_check(
    rater: Rater, task: Task, grade: Grade | None, base_revision: int, sent: dict, now: datetime
) -> Saved:
    """Record the answer to a warm-up or a repeat. It is no rating: no judgment changes."""
    me = lock(rater)
    check = Check.objects.select_related("pair", "event").get(rater=me, token=task.token)
    answer = None
    if check.kind == WARM_UP:
        # What became gold meanwhile must not be told: the rater may yet be asked.
        known = Anchor.objects.select_related("grade").filter(pair=check.pair, use=Anchor.Use.WARM_UP)
        answer = known.first()
    before = sent_before(me, sent["client_key"])
    current = answer_of(me, check)
    said = {name: sent[name] for name in ("value", "reason", "comment")}
    if before:
        return _retried(before.pk, said, current, COUNTED, answer)
    if (current.revision if current else 0) != base_revision:
        raise Conflict(current)
    event = record(me, check.pair, Kind.WARM_UP if check.kind == WARM_UP else Kind.REPEAT, now, **sent)
    check.event, check.turn = event, None
    check.save(update_fields=["event", "turn"])
    if check.kind == WARM_UP and not me.warmed_up_at and not to_warm_up(me).exists():
        Rater.objects.filter(pk=me.pk).update(warmed_up_at=now)
    return Saved(event, answer_of(me, check), COUNTED, answer)
