"""Save a rating or the answer to a check, or put a pair off.

A check is a warm-up, a pair with a known grade before the first other pair, or a repeat, a pair that the rater
grades again. An assignment is one wanted rating of a pair; a grade that fills none is surplus.
"""

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
from ..happenings import notify_listeners
from .acts import KeyUsed, Overtaken, event_of_key, is_other, lock, locking, record, refuse_many_acts, transacted
from .leases import State, assignment_of, give_back, take
from .mixing import LATER_TURN, take_gold, to_warm_up
from .tasks import PAIR, REPEAT, WARM_UP, Task, answer_of

Kind = RatingEvent.Kind
# The fields of a submission that its event has under the same names, besides grade, reason and comment.
SENT_FIELDS = ("seconds", "shown", "client_key", "scale", "guidelines", "presentation", "opened")
# The kinds of the events that the answer to a task of each kind can make.
EVENT_KINDS = {PAIR: (Kind.GRADE, Kind.CANNOT), WARM_UP: (Kind.WARM_UP,), REPEAT: (Kind.REPEAT,)}
# The outcomes of a save, see `Saved.outcome`.
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
        return self.content | {name: getattr(self, name) for name in SENT_FIELDS}


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
    # COUNTED; SURPLUS: other raters had filled the pair; RETIRED: the pair is no longer needed
    outcome: str
    right_answer: Anchor | None = None  # for a warm-up: the known grade and its explanation; None for other tasks


@transacted
def save(rater: Rater, task: Task | Pair, sent: Submission, *, now: datetime | None = None) -> Saved:
    """Save what the rater sent as their rating of the pair, or as their answer to a check (a warm-up or a repeat).

    Raises Conflict if `base_revision` is not the stored revision, KeyUsed for the client key of another act, and
    ValueError for a grade or pair of another collection. A rating that comes after the lease was lost or the pair
    was retired is kept. Four queries for a grade of a pair that the rater holds.
    """
    now = now or timezone.now()
    pair = task if isinstance(task, Pair) else task.pair
    grade_collection_id = sent.grade.collection_id if sent.grade else rater.collection_id
    if not pair.query.collection_id == grade_collection_id == rater.collection_id:
        raise ValueError("The grade, the pair and the rater must belong to one collection.")
    if isinstance(task, Task) and task.kind != PAIR:
        return _save_check(rater, task, sent, now)
    # One query locks the rater and reads all that the following needs: see `_states`.
    me = _lock_state(rater=rater.pk, pair=pair.pk, client_key=sent.client_key)[0]
    # If a FilteredRelation finds no row, Django sets no attribute. `current`: the rating as it is stored, or None.
    current = getattr(me, "own_rating", None)
    assignment = getattr(me, "own_assignment", None)
    if me.event_id:  # the client key came before: this is a retry, or the key of another act
        event = RatingEvent.objects.get(pk=me.event_id)
        # As `sync_assignments` returns it: false only for a grade that fills no assignment.
        counted = sent.grade is None or assignment is not None
        return _result_of_retry(Saved(event, current, _outcome(me.pair_retired, counted)), pair, PAIR, sent)
    _refuse_conflict(current, sent)
    # A first rating without a comment is spared this query: to repeat it, the rater must undo it each time, and so
    # many undos are refused.
    if sent.comment or current:
        refuse_many_acts(me, pair)
    rating = write_rating(me, pair, current, sent, now)
    counted = sync_assignments(me, pair, assignment, rating, now)
    kind = Kind.GRADE if sent.grade else Kind.CANNOT
    event = record(me, pair, kind, now, **sent.event_fields)
    outcome = _outcome(me.pair_retired, counted)
    transaction.on_commit(partial(notify_listeners, SURPLUS if outcome == SURPLUS else "save"))
    return Saved(event, rating, outcome)


@transacted
def skip(
    rater: Rater,
    task: Task | Pair,
    *,
    comment: str = "",
    client_key: UUID | None = None,
    now: datetime | None = None,
) -> None:
    """Put the task off: it is given back, and this rater gets it again after all others, with their comment.

    A warm-up stays held and comes again after the other warm-ups; no event records that. A pair in place of a task
    is put off as a pair. Raises KeyUsed for the client key of another act. `checks` of a rater are their warm-ups
    and repeats.
    """
    now = now or timezone.now()
    me = lock(rater)
    pair, kind = (task, PAIR) if isinstance(task, Pair) else (task.pair, task.kind)
    if earlier := event_of_key(me, client_key):
        if is_other(earlier, pair, [Kind.SKIP]):
            raise KeyUsed
        return  # a retry of an act that is done already
    refuse_many_acts(me, pair)
    if kind == WARM_UP:
        # A warm-up that was put off has a turn, its position among the tasks, from LATER_TURN on.
        put_off = me.checks.filter(turn__gte=LATER_TURN, kind=WARM_UP)
        last_turn = put_off.aggregate(last=Max("turn", default=LATER_TURN - 1))["last"]
        me.checks.filter(token=task.token, event__isnull=True).update(turn=last_turn + 1)
        return
    if kind == PAIR:
        give_back(assignment_of(pair, me).filter(state=State.LEASED))
    else:
        me.checks.filter(token=task.token, event__isnull=True).update(turn=None)  # no longer held
    record(me, pair, Kind.SKIP, now, comment=comment, client_key=client_key)


def used(rater: Rater, answers: Sequence[tuple[Task, UUID]]) -> list[bool]:
    """Whether an answer to each task with its client key would raise KeyUsed. One query."""
    events = RatingEvent.objects.filter(rater=rater, client_key__in=[key for _, key in answers])
    earlier = {event.client_key: event for event in events}
    return [key in earlier and is_other(earlier[key], task.pair, EVENT_KINDS[task.kind]) for task, key in answers]


def write_rating(me: Rater, pair: Pair, current: Rating | None, sent: Submission, now: datetime) -> Rating:
    """Insert or update the rating of the pair, and return it. One query.

    `current`: the rating as it was read; None: there was none. Raises Overtaken if it is no longer as stored.
    """
    fields = {"grade": sent.grade, "reason": sent.reason, "comment": sent.comment, "changed_at": now}
    if current is None:
        of_pair = {"pair": pair, "query_id": pair.query_id, "document_id": pair.document_id}
        rating = Rating(**of_pair, rater=me, created_at=now, **fields)
        _insert(rating)
        return rating
    fields["revision"] = current.revision + 1
    # No row has the revision if another transaction changed the rating since it was read.
    if not Rating.objects.filter(pk=current.pk, revision=current.revision).update(**fields):
        raise Overtaken
    for name, value in fields.items():
        setattr(current, name, value)
    return current


def sync_assignments(me: Rater, pair: Pair, assignment: Assignment | None, rating: Rating, now: datetime) -> bool:
    """Make the assignments of the pair agree with the rating. Returns False for a grade that fills none of them.

    `assignment`: the one that the rater `me` has of the pair, or None. A reason in place of a grade gives it back.
    A grade fills it, or else a free one. If none is free, gold gets an extra assignment, and any other grade is
    surplus. A grade that does not count fills none: its rater is left out, or it was set aside to ask others.
    """
    if rating.grade_id is None:
        if assignment:
            give_back(assignment_of(pair, me))  # which reads the row anew, as it may be lost by now
        return True
    if me.left_out_at or rating.set_aside_at:
        return False
    if assignment and _fill(pair=pair.pk, rater=me.pk):  # no row if it was lost since it was read
        return True
    return take(me, pair.pk, State.DONE, now) or take_gold(me, pair.pk, State.DONE, now)


def _states() -> QuerySet:
    """A rater with their rating and assignment of the pair, the event of the client key, and `pair_retired`."""
    pair = Blank("pair", Rating, "pair")
    key = Blank("client_key", RatingEvent, "client_key")
    raters = Rater.objects.filter(pk=Blank("rater", Rating, "rater")).annotate(
        own_rating=FilteredRelation("ratings", condition=Q(ratings__pair=pair)),
        own_assignment=FilteredRelation("assignments", condition=Q(assignments__pair=pair)),
        event_id=Subquery(RatingEvent.objects.filter(rater=OuterRef("pk"), client_key=key).values("pk")[:1]),
        pair_retired=Exists(Pair.objects.filter(pk=pair, retired_at__isnull=False)),
    )
    return locking(raters.select_related("own_rating__grade", "own_assignment"))


_lock_state = Prepared(_states)
_insert = PreparedInsert(Rating)
_fill = PreparedUpdate(
    lambda: assignment_of(Blank("pair", Rating, "pair"), Blank("rater", Rating, "rater")),
    state=State.DONE,
    leased_until=None,
)


def _outcome(retired: bool, counted: bool) -> str:
    if retired:
        return RETIRED
    return COUNTED if counted else SURPLUS


def _refuse_conflict(current: Rating | None, sent: Submission) -> None:
    if (current.revision if current else 0) != sent.base_revision:
        notify_listeners("conflict")
        raise Conflict(current)


def _result_of_retry(saved: Saved, pair: Pair, kind: str, sent: Submission) -> Saved:
    """Return `saved`, the result of the first attempt, if the request with the same client key is a retry of it.

    Otherwise refuse the request. Raises KeyUsed if the event of the key is of another pair or of no task of this
    kind. Raises Conflict if it has other content: then the rater came back to the form by the back button and
    changed it.
    """
    if is_other(saved.event, pair, EVENT_KINDS[kind]):
        raise KeyUsed
    if {name: getattr(saved.event, name) for name in sent.content} != sent.content:
        notify_listeners("conflict")
        raise Conflict(saved.rating)
    notify_listeners("doubled")
    return saved


def _save_check(rater: Rater, task: Task, sent: Submission, now: datetime) -> Saved:
    """Save the answer to a warm-up or a repeat, a `Check` of the pair. It is no rating, so no judgment changes."""
    me = lock(rater)
    check = _checks_of_token(rater=rater.pk, token=task.token)[0]  # a token is that of one check
    is_warm_up = check.kind == WARM_UP
    # If the anchor became gold meanwhile, its grade is not shown: the rater may still get the pair.
    warm_ups = Anchor.objects.select_related("grade").filter(pair=check.pair, use=Anchor.Use.WARM_UP)
    right_answer = warm_ups.first() if is_warm_up else None
    current = answer_of(check)  # the stored answer, in the form of a rating
    # The pair of a warm-up is always retired, which says nothing about the answer.
    outcome = RETIRED if check.pair.retired_at and not is_warm_up else COUNTED
    if earlier := event_of_key(me, sent.client_key):
        return _result_of_retry(Saved(earlier, current, outcome, right_answer), check.pair, check.kind, sent)
    _refuse_conflict(current, sent)
    # A first answer without a comment is spared this query: to repeat it, the rater must undo it each time, and so
    # many undos are refused.
    if sent.comment or current:
        refuse_many_acts(me, check.pair)
    event = record(me, check.pair, Kind.WARM_UP if is_warm_up else Kind.REPEAT, now, **sent.event_fields)
    _set_answer(check=check.pk, event=event.pk)
    if is_warm_up and not me.warmed_up_at and not to_warm_up(me).exists():
        Rater.objects.filter(pk=me.pk).update(warmed_up_at=now)
    # What `answer_of` would return, without its queries: the duration of a save must not give a repeat away.
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
    return Saved(event, rating, outcome, right_answer)


# Prepared, like `lock` and `event_of_key`, so that saving a repeat takes no longer than saving a pair.
_checks_of_token = Prepared(
    lambda: Check.objects.select_related("pair__query", "event").filter(
        rater=Blank("rater", Rating, "rater"), token=Blank("token", Pair, "token")
    )
)
_set_answer = PreparedUpdate(
    lambda: Check.objects.filter(pk=Blank("check", Check, "id")), event=Blank("event", Check, "event"), turn=None
)
