"""The tasks of a rater: leased pairs and checks. Each has a random token, the only id on the rater's page.

A check is a warm-up, a pair with a known grade before the first other pair, or a repeat, a pair that the rater
grades again. Its answer is stored as an event and is no rating.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from ...database.prepared import Blank, Prepared
from ...models import Anchor, Assignment, Check, Grade, LostLease, Pair, Rater, Rating, RatingEvent

Kind = RatingEvent.Kind
PAIR, WARM_UP, REPEAT = "pair", Check.Kind.WARM_UP.value, Check.Kind.REPEAT.value

_RATER, _TOKEN = Blank("rater", Rating, "rater"), Blank("token", Pair, "token")


@dataclass(frozen=True)
class Task:
    """One pair for a rater to rate."""

    token: UUID  # of the pair, or the check's own: a repeat looks like any other pair
    pair: Pair  # query and document are loaded
    kind: str  # PAIR, WARM_UP or REPEAT; the rater sees only whether it is WARM_UP
    rating: Rating | None  # the rater's present rating, grade loaded; for a check its answer, which is not stored
    comment: str  # the initial text of the comment field


def held(rater: Rater) -> list[Task]:
    """The tasks that `rater` holds, in their order on the desk. Two queries, nothing is written.

    An expired lease is held until another rater takes the pair.
    """
    return in_turn(held_assignments(rater=rater.pk), open_checks(rater=rater.pk))


def task(rater: Rater, token: UUID) -> Task | None:
    """The task of a token; None if the rater never held it and never acted on it."""
    if pair := _pair_of_token.first(rater=rater.pk, collection=rater.collection_id, token=token):
        return _task_of(pair)
    check = _check_of_token.first(rater=rater.pk, token=token)
    return check_task(check) if check else None


def _pair_of_token_statement() -> QuerySet:
    """The pair with the token, if the rater has or had an assignment of it or acted on it."""
    has_assignment = Exists(Assignment.objects.filter(rater=_RATER, pair=OuterRef("pk")))
    had_assignment = Exists(LostLease.objects.filter(rater=_RATER, pair=OuterRef("pk")))
    acted = Exists(acts_on(_RATER, "pk"))
    pairs = Pair.objects.filter(token=_TOKEN, query__collection=Blank("collection", Rater, "collection"))
    pairs = pairs.filter(has_assignment | acted | had_assignment)
    return with_own(pairs.select_related("query", "document"), _RATER, "pk")


_pair_of_token = Prepared(_pair_of_token_statement)


def pair_task(rater: Rater, pair_id: int) -> Task:
    """The pair as a task of the rater. Two queries at most."""
    pairs = Pair.objects.select_related("query", "document").filter(pk=pair_id)
    return _task_of(with_own(pairs, rater, "pk")[0])


def _task_of(pair: Pair) -> Task:
    """The task of a pair that `with_own` annotated."""
    rating = None
    if pair.own_rating:
        rating = Rating.objects.select_related("grade").filter(pk=pair.own_rating).first()
    return Task(pair.token, pair, PAIR, rating, rating.comment if rating else pair.last_comment or "")


def in_turn(leased: Sequence[Assignment], checks: Iterable[Check]) -> list[Task]:
    """The tasks of leased assignments, which `with_own` annotated, and of checks, sorted by turn.

    The turn is the position of a task among those that the rater holds.
    """
    # Usually none: a rater seldom holds a pair that they have rated.
    rating_ids = [row.own_rating for row in leased if row.own_rating]
    ratings = Rating.objects.select_related("grade").in_bulk(rating_ids)
    tasks: list[tuple] = []  # (turn, id of the pair, task), sorted by the first two: the id decides equal turns
    for row in leased:
        rating = ratings.get(row.own_rating)
        comment = rating.comment if rating else row.last_comment or ""
        tasks.append((row.turn, row.pair_id, Task(row.pair.token, row.pair, PAIR, rating, comment)))
    tasks += [(check.turn, check.pair_id, check_task(check)) for check in checks]
    tasks.sort(key=lambda entry: entry[:2])
    return [task for _, _, task in tasks]


def leased_to(rater: Rater | Blank) -> QuerySet:
    return Assignment.objects.filter(rater=rater, state=Assignment.State.LEASED, pair__retired_at__isnull=True)


def held_checks(rater: Rater | Blank) -> QuerySet:
    """The rater's unanswered checks, without repeats of retired pairs. Pairs of warm-ups are always retired."""
    needed = Q(kind=WARM_UP, pair__anchor__use=Anchor.Use.WARM_UP) | Q(kind=REPEAT, pair__retired_at__isnull=True)
    return checks_of(rater).filter(needed, event__isnull=True, turn__isnull=False)


def checks_of(rater: Rater | Blank) -> QuerySet:
    """The rater's checks with their last comment, as pairs have it: otherwise a repeat would look different."""
    about = {"rater": OuterRef("rater"), "pair": OuterRef("pair"), "created_at__gte": OuterRef("created_at")}
    wrote = RatingEvent.objects.filter(**about, kind__in=[Kind.REPEAT, Kind.SKIP]).order_by("-pk")
    checks: QuerySet = Check.objects.filter(rater=rater)
    checks = checks.annotate(last_comment=Subquery(wrote.values("comment")[:1]))
    return checks.select_related("pair__query", "pair__document", "event")


held_assignments = Prepared(
    lambda: with_own(leased_to(_RATER).select_related("pair__query", "pair__document"), _RATER, "pair")
)
open_checks = Prepared(lambda: held_checks(_RATER))
_check_of_token = Prepared(lambda: checks_of(_RATER).filter(token=_TOKEN))


def check_task(check: Check) -> Task:
    """The task of a check that `checks_of` annotated."""
    answer = answer_of(check)
    comment = answer.comment if answer else check.last_comment or ""
    return Task(check.token, check.pair, check.kind, answer, comment)


def answer_of(check: Check) -> Rating | None:
    """The answer to a check in the form of a rating, so that a repeat looks like any other pair."""
    return answers_of([check])[0] if check.event else None


def answers_of(checks: list[Check]) -> list[Rating]:
    """The answers to answered checks, as ratings that are not stored, in the order of the checks. Two queries."""
    raters, pairs = {check.rater_id for check in checks}, {check.pair_id for check in checks}
    events = RatingEvent.objects.filter(rater__in=raters, pair__in=pairs).select_related("undoes").order_by("pk")
    events_by_check: dict[tuple, list[RatingEvent]] = {}  # (rater id, pair id, kind of the answer) → oldest first
    for event in events:
        kind = event.undoes.kind if event.undoes else event.kind  # an undo counts to the answer that it undoes
        events_by_check.setdefault((event.rater_id, event.pair_id, kind), []).append(event)
    grades = Grade.objects.filter(collection__raters__in=raters)
    grade_by_value = {(grade.collection_id, grade.value): grade for grade in grades}
    answers = []
    for check in checks:
        grade = grade_by_value.get((check.pair.query.collection_id, check.event.value))
        answers.append(_answer(check, grade, events_by_check[check.rater_id, check.pair_id, check.kind]))
    return answers


def _answer(check: Check, grade: Grade | None, events: Iterable[RatingEvent]) -> Rating:
    """The answer to a check as a rating that is not stored, so that pages show a repeat like any other pair.

    `grade`: that of the answer. `events`: all events of the check, as for `_revision_and_first`.
    """
    present = check.event  # of the latest answer that is not undone
    revision, first_event = _revision_and_first(events)
    return Rating(
        pair=check.pair,
        rater_id=check.rater_id,
        grade=grade,
        reason=present.reason,
        comment=present.comment,
        revision=revision,
        created_at=first_event.created_at,
        changed_at=present.created_at,
    )


def _revision_and_first(events: Iterable[RatingEvent]) -> tuple[int, RatingEvent]:
    """The revision of the present answer to a check, and the first of its events that is not undone.

    `events`: all events of the check, answers and undos, oldest first. At least one answer is not undone. The
    revision counts as that of a rating does: each change of the present answer raises it by one, also an undo that
    brings back an earlier answer. An undo that leaves no answer sets it to 0.
    """
    revision = 0
    answers: list[RatingEvent] = []  # those that are not undone so far; the last one is the present answer
    for event in events:
        if event.undoes is None:
            answers.append(event)
            revision += 1
        elif event.undoes == answers[-1]:  # the present answer is undone: the one before it, if any, comes back
            answers.pop()
            revision = revision + 1 if answers else 0
        else:  # an earlier answer is undone: the present one does not change, and so its revision does not
            answers.remove(event.undoes)
    return revision, answers[0]


def acts_on(rater: Rater | Blank, pair: str) -> QuerySet:
    """The rater's events about a pair of the outer query, without those of checks, which have their own tokens."""
    events = RatingEvent.objects.filter(rater=rater, pair=OuterRef(pair))
    return events.exclude(kind__in=[Kind.WARM_UP, Kind.REPEAT])


def with_own(rows: QuerySet, rater: Rater | Blank, pair: str) -> QuerySet:
    """`rows` with `own_rating`, the id of the rater's rating, and `last_comment`, kept after an undo or a skip.

    `pair` is the path from a row to its pair.
    """
    ratings = Rating.objects.filter(rater=rater, pair=OuterRef(pair))
    kinds = [Kind.GRADE, Kind.CANNOT, Kind.SKIP]
    wrote = RatingEvent.objects.filter(rater=rater, pair=OuterRef(pair), kind__in=kinds)
    last_comment = wrote.order_by("-pk").values("comment")[:1]
    return rows.annotate(own_rating=Subquery(ratings.values("pk")[:1]), last_comment=Subquery(last_comment))
