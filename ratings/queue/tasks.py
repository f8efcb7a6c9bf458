"""What a rater has before them: pairs leased to them and checks, by the tokens under which they see them."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from ..models import Anchor, Assignment, Check, Grade, LostLease, Pair, Rater, Rating, RatingEvent
from ..prepared import Blank, Prepared

Kind = RatingEvent.Kind
PAIR, WARM_UP, REPEAT = "pair", Check.Kind.WARM_UP.value, Check.Kind.REPEAT.value


@dataclass(frozen=True)
class Task:
    """One thing for a rater to do: a pair, by the token under which they see it."""

    token: UUID  # the pair's token, or the check's own: a repeat looks like any other pair
    pair: Pair  # query and document are loaded
    kind: str  # PAIR, WARM_UP or REPEAT: never sent to a rater, but for WARM_UP, which they are told
    rating: (
        Rating | None
    )  # what the rater says of it now, grade loaded; of a check its answer, which is not stored
    comment: str  # what the comment field starts with


def held(rater: Rater) -> list[Task]:
    """What `rater` holds, in the order in which it is to be shown. Reads only, two queries.

    A lease that ran out holds until somebody else takes the pair.
    """
    return in_turn(rater, held_assignments(rater=rater.pk), open_checks(rater=rater.pk))


def task(rater: Rater, token: UUID) -> Task | None:
    """What the token stands for, where the rater holds it, has held it or has acted on it. None for any other."""
    pair = _known.first(rater=rater.pk, collection=rater.collection_id, token=token)
    if pair:
        return _task_of(pair)
    check = checks_of(rater).filter(token=token).first()
    return check and check_task(rater, check)


def _known_by() -> QuerySet:
    """The pair of a token, where the rater was given it. What they said of it as in `with_own`."""
    rater = Blank("rater", Rating, "rater")
    has = Assignment.objects.filter(rater=rater, pair=OuterRef("pk"))
    had = LostLease.objects.filter(rater=rater, pair=OuterRef("pk"))
    collection = Blank("collection", Rater, "collection")
    known = Pair.objects.filter(token=Blank("token", Pair, "token"), query__collection=collection)
    known = known.filter(Exists(has) | Exists(acts_on(rater, "pk")) | Exists(had))
    return with_own(known.select_related("query", "document"), rater, "pk")


_known = Prepared(_known_by)


def pair_task(rater: Rater, one: QuerySet) -> Task | None:
    """The pair that `one` finds, as a task. Two queries at most."""
    pair = with_own(one.select_related("query", "document"), rater, "pk").first()
    return _task_of(pair) if pair else None


def _task_of(pair: Pair) -> Task:
    """Of a pair that `with_own` looked at."""
    rating = Rating.objects.select_related("grade").filter(pk=pair.own).first() if pair.own else None
    return Task(pair.token, pair, PAIR, rating, rating.comment if rating else pair.said or "")


def in_turn(rater: Rater, rows: Iterable[Assignment], checks: Iterable[Check]) -> list[Task]:
    """Tasks of leased assignments and of checks, by their turns."""
    rows = list(rows)
    # Hardly ever: who holds a pair has not rated it.
    ratings = Rating.objects.select_related("grade").in_bulk([row.own for row in rows if row.own])
    found = []
    for row in rows:
        rating = ratings.get(row.own)
        comment = rating.comment if rating else row.said or ""
        found.append((row.turn, row.pair_id, Task(row.pair.token, row.pair, PAIR, rating, comment)))
    found += [(check.turn, check.pair_id, check_task(rater, check)) for check in checks]
    return [one for *_, one in sorted(found, key=lambda row: row[:2])]


def held_pairs(rater: Rater | Blank) -> QuerySet:
    leased = Assignment.objects.filter(rater=rater, state=Assignment.State.LEASED, pair__retired_at__isnull=True)
    return with_own(leased.select_related("pair__query", "pair__document"), rater, "pair")


def held_checks(rater: Rater | Blank) -> QuerySet:
    """Those before the rater. Warm-ups are retired pairs; a repeat of a retired pair is no longer needed."""
    needed = Q(kind=WARM_UP, pair__anchor__use=Anchor.Use.WARM_UP) | Q(kind=REPEAT, pair__retired_at__isnull=True)
    return checks_of(rater).filter(needed, event__isnull=True, turn__isnull=False)


def checks_of(rater: Rater | Blank) -> QuerySet:
    """With what the rater wrote last, as `with_own` has it of pairs: else a repeat could be told from them."""
    about = {"rater": OuterRef("rater"), "pair": OuterRef("pair"), "created_at__gte": OuterRef("created_at")}
    wrote = RatingEvent.objects.filter(**about, kind__in=[Kind.REPEAT, Kind.SKIP]).order_by("-pk")
    checks = Check.objects.filter(rater=rater).annotate(said=Subquery(wrote.values("comment")[:1]))
    return checks.select_related("pair__query", "pair__document", "event")


held_assignments = Prepared(lambda: held_pairs(Blank("rater", Rating, "rater")))
open_checks = Prepared(lambda: held_checks(Blank("rater", Rating, "rater")))


def check_task(rater: Rater, check: Check) -> Task:
    """Of a check that `checks_of` found."""
    answer = answer_of(rater, check)
    return Task(check.token, check.pair, check.kind, answer, answer.comment if answer else check.said or "")


def answer_of(rater: Rater, check: Check) -> Rating | None:
    """What was answered, as if it were a rating: shown again, a repeat looks like any other pair."""
    event = check.event
    if event is None:
        return None
    grade = None
    if event.value is not None:
        grade = Grade.objects.filter(collection=rater.collection_id, value=event.value).first()
    answers = RatingEvent.objects.filter(rater=rater, pair=check.pair_id, kind=check.kind)
    return Rating(
        pair=check.pair,
        rater=rater,
        grade=grade,
        reason=event.reason,
        comment=event.comment,
        revision=answers.count(),
        created_at=event.created_at,
        changed_at=event.created_at,
    )


def acts_on(rater: Rater | Blank, pair: str) -> QuerySet:
    """The rater's events about the pair that the outer query names, but for checks: those have other tokens."""
    events = RatingEvent.objects.filter(rater=rater, pair=OuterRef(pair))
    return events.exclude(kind__in=[Kind.WARM_UP, Kind.REPEAT])


def with_own(rows: QuerySet, rater: Rater | Blank, pair: str) -> QuerySet:
    """`rows` with the id of the rater's rating, and what they wrote last: it is there after an undo, and after it
    was put off."""
    own = Rating.objects.filter(rater=rater, pair=OuterRef(pair))
    wrote = RatingEvent.objects.filter(
        rater=rater, pair=OuterRef(pair), kind__in=[Kind.GRADE, Kind.CANNOT, Kind.SKIP]
    )
    return rows.annotate(
        own=Subquery(own.values("pk")[:1]), said=Subquery(wrote.order_by("-pk").values("comment")[:1])
    )
