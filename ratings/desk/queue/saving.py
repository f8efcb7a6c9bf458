"""Save a rating or the answer to a check, or put a pair off."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, FilteredRelation, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ...database.prepared import Blank, Prepared, PreparedInsert, PreparedUpdate
from ...models import Anchor, Assignment, Check, Grade, Pair, Rater, Rating, RatingEvent, Shown
from ..happenings import happened
from .acts import KeyUsed, Overtaken, event_of_key, is_other, lock, locking, record, refuse_over, transacted
from .leases import State, assignment_of, give_back, take
from .mixing import LATER_TURN, take_gold, to_warm_up
from .tasks import PAIR, REPEAT, WARM_UP, Task, answer_of

Kind = RatingEvent.Kind
# Fields of a submission that an event has, too.
SENT = ("seconds", "shown", "client_key", "scale", "guidelines", "presentation", "opened")
# The kinds of the events that the answer to a task of each kind can make.
ANSWERS = {PAIR: (Kind.GRADE, Kind.CANNOT), WARM_UP: (Kind.WARM_UP,), REPEAT: (Kind.REPEAT,)}
COUNTED, SURPLUS, RETIRED = "counted", "surplus", "retired"


@dataclass(frozen=True)
class Submission:
    """What a rater sends for one pair: either a grade or a reason why it cannot be judged.

    Raises ValueError for both or none.
    """

    grade: Grade | None = None
    reason: str = ""
    comment: str = ""
    base_revision: int = 0  # the revision of the rating that the rater saw; 0: there was none
    client_key: UUID | None = None  # idempotency key: the same key again is the same save, or refused
    seconds: float | None = None
    shown: str = Shown.ALONE
    scale: int | None = None  # the version that the rater saw; None: the latest
    guidelines: int | None = None  # likewise for the guidelines
    presentation: int | None = None  # likewise for the presentation
    opened: bool = False  # whether they opened a link of the document

    def __post_init__(self) -> None:
        if (self.grade is None) == (self.reason == ""):
            raise ValueError("A rating is a grade or a reason why the pair cannot be judged.")

    @property
    def content(self) -> dict:
        """The fields of an event that are equal in two submissions of the same rating."""
        return {"value": self.grade and self.grade.value, "reason": self.reason, "comment": self.comment}

    @property
    def event_fields(self) -> dict:
        sent = {name: getattr(self, name) for name in SENT}
        return self.content | sent


class Conflict(Exception):
    """The rating was changed elsewhere since the form was shown. `current` is the stored one; None: withdrawn."""

    def __init__(self, current: Rating | None) -> None:
        self.current = current
        super().__init__("This rating was changed in another window.")


@dataclass(frozen=True)
class Saved:
    """The result of a save."""

    event: RatingEvent  # for a retry: the event of the first attempt
    rating: Rating | None  # for a check: its answer, which is not stored as a rating; None: withdrawn since
    fate: str  # COUNTED; SURPLUS: other raters had filled the pair; RETIRED: the pair is no longer needed
    answer: Anchor | None = None  # for a warm-up: the known grade and its explanation


@transacted
def save(rater: Rater, task: Task | Pair, sent: Submission, *, now: datetime | None = None) -> Saved:
    """Save a rating of the pair, or the answer to a check.

    Raises Conflict if `base_revision` is not the stored revision, KeyUsed for the client key of another act, and
    ValueError for a grade or pair of another collection. A rating that comes after the lease was lost or the pair
    was retired is kept. Four queries for a grade of a pair that the rater holds.
    """
    now = now or timezone.now()
    pair = task if isinstance(task, Pair) else task.pair
    collection_ids = {pair.query.collection_id} | ({sent.grade.collection_id} if sent.grade else set())
    if collection_ids != {rater.collection_id}:
        raise ValueError("The grade, the pair and the rater must belong to one collection.")
    if isinstance(task, Task) and task.kind != PAIR:
        return _save_check(rater, task, sent, now)
    me = _look(rater=rater.pk, pair=pair.pk, client_key=sent.client_key)[0]
    # If a FilteredRelation finds no row, Django sets no attribute.
    current, assignment = getattr(me, "own_rating", None), getattr(me, "own_assignment", None)
    if me.event_id:
        # A reason fills no assignment, so it was not surplus the first time either.
        counted = assignment or sent.grade is None
        event = RatingEvent.objects.get(pk=me.event_id)
        return _retried(Saved(event, current, _fate(me.pair_retired, counted)), pair, PAIR, sent)
    _refuse_conflict(current, sent)
    if sent.comment or current:
        refuse_over(me, pair)
    rating = write(me, pair, current, sent, now)
    counted = settle(me, pair, assignment, rating, now)
    kind = Kind.GRADE if sent.grade else Kind.CANNOT
    event = record(me, pair, kind, now, **sent.event_fields)
    fate = _fate(me.pair_retired, counted)
    transaction.on_commit(partial(happened, SURPLUS if fate == SURPLUS else "save"))
    return Saved(event, rating, fate)


@transacted
def skip(
    rater: Rater,
    task: Task | Pair,
    *,
    comment: str = "",
    client_key: UUID | None = None,
    now: datetime | None = None,
) -> None:
    """Put the pair off: it is given back, and this rater gets it again after all others, with their comment.

    A warm-up comes again after the other warm-ups. Raises KeyUsed for the client key of another act.
    """
    now = now or timezone.now()
    me = lock(rater)
    pair, kind = (task, PAIR) if isinstance(task, Pair) else (task.pair, task.kind)
    if earlier := event_of_key(me, client_key):
        if is_other(earlier, pair, [Kind.SKIP]):
            raise KeyUsed
        return
    refuse_over(me, pair)
    if kind == WARM_UP:
        last = me.checks.filter(turn__gte=LATER_TURN, kind=WARM_UP).aggregate(last=Max("turn"))["last"]
        later = LATER_TURN if last is None else last + 1
        me.checks.filter(token=task.token, event__isnull=True).update(turn=later)
        return
    if kind == PAIR:
        give_back(assignment_of(pair, me).filter(state=State.LEASED))
    else:
        me.checks.filter(token=task.token, event__isnull=True).update(turn=None)
    record(me, pair, Kind.SKIP, now, comment=comment, client_key=client_key)


def used(rater: Rater, answers: Sequence[tuple[Task, UUID]]) -> list[bool]:
    """Whether an answer to each task with its client key would raise KeyUsed. One query."""
    events = RatingEvent.objects.filter(rater=rater, client_key__in=[key for _, key in answers])
    earlier = {event.client_key: event for event in events}
    return [key in earlier and is_other(earlier[key], task.pair, ANSWERS[task.kind]) for task, key in answers]


def write(me: Rater, pair: Pair, current: Rating | None, sent: Submission, now: datetime) -> Rating:
    """The rating, after it was inserted or updated. One query.

    Raises Overtaken if `current` is no longer the stored rating.
    """
    fields = {"grade": sent.grade, "reason": sent.reason, "comment": sent.comment, "changed_at": now}
    if current is None:
        of_pair = {"pair": pair, "query_id": pair.query_id, "document_id": pair.document_id}
        current = Rating(**of_pair, rater=me, created_at=now, **fields)
        _insert(current)
        return current
    fields["revision"] = current.revision + 1
    if not Rating.objects.filter(pk=current.pk, revision=current.revision).update(**fields):
        raise Overtaken
    for name, value in fields.items():
        setattr(current, name, value)
    return current


def settle(me: Rater, pair: Pair, own: Assignment | None, rating: Rating, now: datetime) -> bool:
    """Whether the grade was wanted, after the assignments of the pair were made to agree with the rating.

    A grade fills an assignment: the rater's `own`, if there is one. A surplus grade finds none. A reason gives the
    assignment back.
    """
    if rating.grade_id is None:
        if own:
            give_back(assignment_of(pair, me))
        return True
    if own and _fill(pair=pair.pk, rater=me.pk):
        return True
    return take(me, pair.pk, State.DONE, now) or take_gold(me, pair.pk, State.DONE, now)


def _states() -> QuerySet:
    """A rater with what a save reads first: their rating and assignment of the pair, the event with the same
    client key, and whether the pair is retired.
    """
    pair = Blank("pair", Rating, "pair")
    key = Blank("client_key", RatingEvent, "client_key")
    raters = Rater.objects.filter(pk=Blank("rater", Rating, "rater")).annotate(
        own_rating=FilteredRelation("ratings", condition=Q(ratings__pair=pair)),
        own_assignment=FilteredRelation("assignments", condition=Q(assignments__pair=pair)),
        event_id=Subquery(RatingEvent.objects.filter(rater=OuterRef("pk"), client_key=key).values("pk")[:1]),
        pair_retired=Exists(Pair.objects.filter(pk=pair, retired_at__isnull=False)),
    )
    return locking(raters.select_related("own_rating__grade", "own_assignment"))


_look = Prepared(_states)
_insert = PreparedInsert(Rating)
_fill = PreparedUpdate(
    lambda: assignment_of(Blank("pair", Rating, "pair"), Blank("rater", Rating, "rater")),
    state=State.DONE,
    leased_until=None,
)


def _fate(retired: bool, counted: object) -> str:
    return RETIRED if retired else COUNTED if counted else SURPLUS


def _refuse_conflict(current: Rating | None, sent: Submission) -> None:
    if (current.revision if current else 0) != sent.base_revision:
        happened("conflict")
        raise Conflict(current)


def _retried(saved: Saved, pair: Pair, kind: str, sent: Submission) -> Saved:
    """`saved`, the result of the first attempt at a task of this kind.

    Raises KeyUsed if the event of the key is another act, and Conflict if it has other content. Then the request
    is no retry: the rater came back to the form by the back button and changed it.
    """
    if is_other(saved.event, pair, ANSWERS[kind]):
        raise KeyUsed
    if {name: getattr(saved.event, name) for name in sent.content} != sent.content:
        happened("conflict")
        raise Conflict(saved.rating)
    happened("doubled")
    return saved


def _save_check(rater: Rater, task: Task, sent: Submission, now: datetime) -> Saved:
    """Save the answer to a warm-up or a repeat. The answer is not a rating, so no judgment changes."""
    me = lock(rater)
    check = _check(rater=rater.pk, token=task.token)[0]
    is_warm_up, answer = check.kind == WARM_UP, None
    if is_warm_up:
        # If the anchor became gold meanwhile, its grade is not shown: the rater may still get the pair.
        answer = Anchor.objects.select_related("grade").filter(pair=check.pair, use=Anchor.Use.WARM_UP).first()
    earlier, current = event_of_key(me, sent.client_key), answer_of(check)
    fate = _fate(retired=not is_warm_up and check.pair.retired_at, counted=True)
    if earlier:
        return _retried(Saved(earlier, current, fate, answer), check.pair, check.kind, sent)
    _refuse_conflict(current, sent)
    if sent.comment or current:
        refuse_over(me, task.pair)
    event = record(me, check.pair, Kind.WARM_UP if is_warm_up else Kind.REPEAT, now, **sent.event_fields)
    _answered(check=check.pk, event=event.pk)
    if is_warm_up and not me.warmed_up_at and not to_warm_up(me).exists():
        Rater.objects.filter(pk=me.pk).update(warmed_up_at=now)
    # Made here, without the queries of `answer_of`: the duration of a save must not give a repeat away.
    rating = Rating(
        pair=check.pair,
        rater=me,
        grade=sent.grade,
        reason=sent.reason,
        comment=sent.comment,
        revision=sent.base_revision + 1,
        created_at=current.created_at if current else now,
        changed_at=now,
    )
    return Saved(event, rating, fate, answer)


# Prepared, like `lock` and `event_of_key`, so that saving a repeat takes no longer than saving a pair.
_check = Prepared(
    lambda: Check.objects.select_related("pair__query", "event").filter(
        rater=Blank("rater", Rating, "rater"), token=Blank("token", Pair, "token")
    )
)
_answered = PreparedUpdate(
    lambda: Check.objects.filter(pk=Blank("check", Check, "id")), event=Blank("event", Check, "event"), turn=None
)
