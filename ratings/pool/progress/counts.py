"""The counts of a collection and of each rater: how much was rated, how fast and how consistently.

Everything is counted from assignments, ratings, checks and events when it is needed. No counter is stored that
could be wrong. The number of database queries does not depend on the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from ...desk.figures import ENOUGH, TIMED, Pace, Share, latest_grades
from ...models import Anchor, Assignment, Check, Collection, Rater, Rating, RatingEvent, Reason

Kind = RatingEvent.Kind
State = Assignment.State

LOOKED_THROUGH = 1_000  # latest grades of a rater that the drift of the grades is read from


@dataclass(frozen=True)
class Extent:
    """The number of wanted ratings, by state. Extra assignments are not counted."""

    done: int
    held: int  # leased
    open: int  # open, or their lease has expired

    @property
    def wanted(self) -> int:
        return self.done + self.left

    @property
    def left(self) -> int:
        return self.held + self.open

    @property
    def share(self) -> float | None:
        return self.done / self.wanted if self.wanted else None


@dataclass
class Work:
    """The acts and leases of one rater."""

    rater: Rater
    may_rate: bool  # whether they can rate now: `RaterQuerySet.able`
    last: datetime | None = None  # their latest act
    graded: int = 0
    cannot: int = 0
    put_off: int = 0
    held: int = 0
    expired: int = 0
    seconds: list[float] = field(default_factory=list)  # of their latest grades
    gold: Share = Share()
    repeats: Share = Share()

    @property
    def pace(self) -> Pace | None:
        return Pace.of(self.seconds)

    @property
    def full(self) -> bool:
        """Whether they reached their limit, which counts repeats too."""
        return self.rater.limit is not None and self.graded + self.repeats.n >= self.rater.limit

    @property
    def holds(self) -> int:
        return self.held + self.expired

    @property
    def takes_more(self) -> bool:
        return self.may_rate and not self.full


@dataclass(frozen=True)
class Progress:
    extent: Extent
    by_day: dict[date, int]  # present grades, by the day of the rater's first rating of the pair
    surplus: int  # how many of these fill no wanted rating, such as extra gold
    works: dict[int, Work]  # by id of the rater, in the order of their names
    passed: dict[int, set[int]]  # pair → raters who put it off or cannot judge it, without a grade since
    broken: dict[int, set[int]]  # pair → raters who say that its text is missing or broken, or a picture missing

    @cached_property
    def pace(self) -> Pace | None:
        return Pace.of([seconds for work in self.works.values() for seconds in work.seconds])

    @property
    def graded(self) -> int:
        return sum(self.by_day.values())

    @cached_property
    def gold(self) -> Share:
        return sum((work.gold for work in self.works.values()), Share())

    @cached_property
    def repeats(self) -> Share:
        return sum((work.repeats for work in self.works.values()), Share())

    def hints(self, work: Work) -> list[str]:
        """Hints for an admin to look at a rater's work. There are none for fewer than ENOUGH answers."""
        pace, usual = work.pace, self.pace
        fast = pace and pace.n >= ENOUGH and pace.middle < usual.middle / 3
        return [
            *(["fewer gold hits than all raters together"] if work.gold.below(self.gold) else []),
            *(["agrees less with themselves than all raters do"] if work.repeats.below(self.repeats) else []),
            *(["less than a third of the usual time"] if fast else []),
        ]


def progress(collection: Collection, *, now: datetime | None = None) -> Progress:
    """All counts of the page of progress. Twelve database queries."""
    works = _works(collection.raters)
    # With a list in place of a subquery SQLite scans the table, which takes half the time of the index.
    ratings = Rating.objects.filter(rater__in=list(works)).order_by()
    passed, broken = _add_counts(works, ratings)
    held, extra = _leases(collection, works, now or timezone.now())
    done, by_day = _done(collection, works), _by_day(ratings)
    extent = Extent(done=done, held=held, open=still_wanted(collection).count() - held - extra)
    surplus = max(0, sum(by_day.values()) - done)
    return Progress(extent, by_day, surplus, works, passed, broken)


def ratings_left(collection: Collection) -> int:
    """The number of wanted ratings that are still missing. Two queries, answered by indexes."""
    waiting = still_wanted(collection)
    return waiting.count() - waiting.filter(leased_until__isnull=False, extra=True).count()


def pace(collection: Collection) -> Pace | None:
    """The present pace of all raters together. One query."""
    return Pace.of([seconds for _, seconds in _latest_seconds(collection.raters)])


def work_of(rater: Rater) -> Work:
    """The work of one rater as `progress` counts it, without leases. Seven queries."""
    works = _works(rater.collection.raters.filter(pk=rater.pk))
    _add_counts(works, Rating.objects.filter(rater=rater).order_by())
    return works[rater.pk]


def gold_answers(ratings: QuerySet) -> QuerySet:
    """The grades of gold pairs that were given since the pair became gold."""
    since = {"created_at__gte": F("pair__anchor__created_at")}
    return ratings.filter(pair__anchor__use=Anchor.Use.GOLD, grade__isnull=False, **since)


def repeats(rater_ids: Sequence[int]) -> QuerySet:
    """The graded repeats of pairs that the rater has graded, annotated with the earlier grade as `first`."""
    rated = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    checks = Check.objects.filter(rater__in=rater_ids, kind=Check.Kind.REPEAT)
    checks = checks.annotate(first=Subquery(rated.values("grade__value")))
    return checks.filter(first__isnull=False, event__value__isnull=False)


def hits(rater_ids: Sequence[int]) -> dict[str, dict[int, Share]]:
    """{"gold": rater id → share of hits, "repeats": rater id → share with the same grade}. Two queries."""
    ratings = Rating.objects.filter(rater__in=rater_ids).order_by()
    answered = {
        "gold": (gold_answers(ratings), Q(grade=F("pair__anchor__grade"))),
        "repeats": (repeats(rater_ids).order_by(), Q(first=F("event__value"))),
    }
    by_name = {}
    for name, (rows, hit) in answered.items():
        shares = rows.values_list("rater").annotate(hits=Count("pk", filter=hit), n=Count("pk"))
        by_name[name] = {rater_id: Share(same, n) for rater_id, same, n in shares}
    return by_name


def gold_hits(collection: Collection) -> Share:
    """The gold hits of all raters. One query."""
    answers = gold_answers(Rating.objects.filter(rater__collection=collection))
    return Share(**answers.aggregate(hits=Count("pk", filter=Q(grade=F("pair__anchor__grade"))), n=Count("pk")))


# Queries


def _works(raters: QuerySet) -> dict[int, Work]:
    """A Work without counts for each rater. One query."""
    latest = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("created_at")[:1]
    rows = raters.with_able().annotate(latest_act=Subquery(latest)).order_by("name")
    return {row.pk: Work(row, may_rate=bool(row.is_able), last=row.latest_act) for row in rows}


def _add_counts(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Two dicts, pair → raters: those who passed it, and those who reported it broken. Adds counts to `works`."""
    for rater_id, n in ratings.values_list("rater").annotate(n=Count("pk")):
        works[rater_id].graded = n
    passed, broken = _passed(works, ratings)
    for name, shares in hits(list(works)).items():
        for rater_id, share in shares.items():
            setattr(works[rater_id], name, share)
    for rater_id, seconds in _latest_seconds(Rater.objects.filter(pk__in=list(works))):
        works[rater_id].seconds.append(seconds)
    return passed, broken


def _by_day(ratings: QuerySet) -> dict[date, int]:
    # As text, because SQLite would call a Python function for the date of each row.
    day = Substr(Cast("created_at", TextField()), 1, 10)
    rows = ratings.filter(grade__isnull=False).annotate(day=day).values("day").annotate(n=Count("pk"))
    return {date.fromisoformat(row["day"]): row["n"] for row in rows.order_by("day")}


def _passed(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Two dicts as in `_add_counts`. Adds to `works` what raters could not judge or put off."""
    passed: dict[int, set[int]] = {}
    broken: dict[int, set[int]] = {}
    for pair_id, rater_id, reason in ratings.filter(grade__isnull=True).values_list("pair", "rater", "reason"):
        works[rater_id].graded -= 1
        works[rater_id].cannot += 1
        passed.setdefault(pair_id, set()).add(rater_id)
        if reason in (Reason.BROKEN, Reason.PICTURE):
            broken.setdefault(pair_id, set()).add(rater_id)
    graded = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"), grade__isnull=False)
    skips = RatingEvent.objects.standing().filter(rater__in=list(works), kind=Kind.SKIP).order_by()
    for pair_id, rater_id, since in skips.annotate(since=Exists(graded)).values_list("pair", "rater", "since"):
        works[rater_id].put_off += 1
        if not since:
            passed.setdefault(pair_id, set()).add(rater_id)
    return passed, broken


def _latest_seconds(raters: QuerySet) -> QuerySet:
    """(rater, seconds) of the timed grades among their latest acts."""
    return latest_grades(raters, TIMED).values_list("pk", "events__seconds")


def _leases(collection: Collection, works: dict[int, Work], now: datetime) -> tuple[int, int]:
    """The number of wanted ratings that are held, and that of extra leases. Adds leases to `works`."""
    held = extra = 0
    leased = still_wanted(collection).filter(leased_until__isnull=False)
    for rater_id, until, is_extra in leased.values_list("rater", "leased_until", "extra"):
        running = until >= now
        works[rater_id].held += running
        works[rater_id].expired += not running
        held += running and not is_extra
        extra += is_extra
    return held, extra


def still_wanted(collection: Collection) -> QuerySet:
    """The assignments that wait for a grade."""
    return Assignment.objects.filter(collection=collection).waiting()


def _done(collection: Collection, works: dict[int, Work]) -> int:
    """The number of wanted ratings that are filled. It takes two counts, both by an index alone."""
    filled = Assignment.objects.filter(rater__in=list(works), state=State.DONE)
    extra = Assignment.objects.filter(collection=collection, extra=True, state=State.DONE)
    return filled.count() - extra.count()
