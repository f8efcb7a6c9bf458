"""How far the rating of a collection is, who did how much, how fast and how steadily; and when it may be done.

Everything is counted from assignments, ratings, checks and events when it is asked for: no counter is kept that
could drift from them. The number of queries is fixed, whatever the collection holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from math import ceil, sqrt
from statistics import fmean, quantiles, stdev

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Coalesce, Substr
from django.utils import timezone

from .models import (
    Anchor,
    Assignment,
    Check,
    Collection,
    Grade,
    Membership,
    Rater,
    Rating,
    RatingEvent,
    Reason,
    Role,
)

Kind = RatingEvent.Kind
State = Assignment.State

ENOUGH = 20  # answers below which no number is held against anybody
TIMED = 200  # latest acts of a rater that tell how fast they are
LOOKED_THROUGH = 1_000  # latest grades of one rater that tell how fast they give each
LOOKED_BACK = 28  # days that a forecast is made of, at most
FEWEST_DAYS = 5  # and at least: fewer do not tell how much days differ
Z = 1.959964  # standard deviations on either side that hold 95 % of a normal distribution


@dataclass(frozen=True)
class Share:
    """So many of so many, and what that says of the long run."""

    hits: int = 0
    n: int = 0

    @property
    def value(self) -> float | None:
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval. It stays within 0 and 1, and few answers make it wide."""
        if not self.n:
            return None
        middle = (self.hits + Z**2 / 2) / (self.n + Z**2)
        half = Z * sqrt(self.hits * (self.n - self.hits) / self.n + Z**2 / 4) / (self.n + Z**2)
        return max(0.0, middle - half), min(1.0, middle + half)

    def below(self, other: "Share") -> bool:
        """Whether even the upper end of the interval is below the share of `other`; never with few answers."""
        return self.n >= ENOUGH and bool(other.n) and self.interval[1] < other.value

    def __add__(self, other: "Share") -> "Share":
        return Share(self.hits + other.hits, self.n + other.n)


@dataclass(frozen=True)
class Pace:
    """How long grades took: a quarter, half and three quarters of n timed ones took no longer, in seconds.

    Long readings pull the mean above the middle. A sum of times, as of the work that is left, goes by the mean.
    """

    n: int
    low: float
    middle: float
    high: float
    mean: float
    error: float | None  # standard error of the mean; None for one grade

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Pace | None":
        if len(seconds) < 2:
            return cls(1, *seconds, *seconds, *seconds, *seconds, None) if seconds else None
        n, mean = len(seconds), fmean(seconds)
        error = sqrt(sum((each - mean) ** 2 for each in seconds) / (n - 1) / n)
        return cls(n, *quantiles(seconds, n=4, method="inclusive"), mean, error)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None for few grades."""
        if self.n < ENOUGH:
            return None
        return max(0.0, self.mean - Z * self.error), self.mean + Z * self.error

    def hours(self, ratings: int) -> float:
        """What so many ratings take in all."""
        return ratings * self.mean / 3600


@dataclass(frozen=True)
class Extent:
    """How many ratings are wanted, and where they stand. Gold beside the number wanted is not in it."""

    done: int
    held: int  # leased to somebody whose lease runs
    open: int  # free to be taken, those whose lease ran out among them

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
    """What one rater did and holds."""

    rater: Rater
    may_rate: bool  # active, with an account that is a rater's
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
        """Whether they have rated as many pairs as they may."""
        return self.rater.limit is not None and self.graded >= self.rater.limit

    @property
    def holds(self) -> int:
        return self.held + self.expired

    @property
    def takes_more(self) -> bool:
        return self.may_rate and not self.full


@dataclass(frozen=True)
class Progress:
    extent: Extent
    by_day: dict[date, int]  # grades that stand, by the day on which their pair was first rated
    beside: int  # of these, grades that fill no wanted rating: gold beside the number, and surplus
    works: dict[int, Work]  # by id of the rater, in the order of their names
    passed: dict[int, set[int]]  # pair -> raters who put it off or cannot judge it, without a grade since
    broken: dict[int, set[int]]  # pair -> raters who say that its text is missing or broken
    expired: dict[int, datetime]  # assignment -> when its lease ran out, the longest ago first

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
        """What about a rater's work is worth a look: hints, never with few answers."""
        pace, usual = work.pace, self.pace
        fast = pace and pace.n >= ENOUGH and pace.middle < usual.middle / 3
        return [
            *(["fewer gold hits than all together"] if work.gold.below(self.gold) else []),
            *(["agrees less with themselves than all together"] if work.repeats.below(self.repeats) else []),
            *(["less than a third of the usual time"] if fast else []),
        ]


@dataclass(frozen=True)
class Forecast:
    """When the last wanted rating may be given, at a pace like that of the latest complete days."""

    days: int  # looked at
    pace: float  # wanted ratings filled a day
    slow: float  # the ends of the 95 % interval of that mean; at most 0 where days differ too much
    fast: float
    early: date
    late: date | None  # None: the slow end never gets there


def progress(collection: Collection, *, now: datetime | None = None) -> Progress:
    """Everything that the page of progress counts. Twelve queries."""
    works = _works(collection.raters)
    # As a list: SQLite then reads the table once instead of jumping through an index, which takes twice as long.
    ratings = Rating.objects.filter(rater__in=list(works)).order_by()
    passed, broken = _count(works, ratings)
    held, extra, expired = _leases(collection, works, now or timezone.now())
    done, by_day = _done(collection, works), _by_day(ratings)
    return Progress(
        extent=Extent(done=done, held=held, open=still_wanted(collection).count() - held - extra),
        by_day=by_day,
        beside=max(0, sum(by_day.values()) - done),
        works=works,
        passed=passed,
        broken=broken,
        expired=expired,
    )


def left(collection: Collection) -> int:
    """Ratings that are wanted and not given. Two queries, answered by indexes."""
    waiting = still_wanted(collection)
    return waiting.count() - waiting.filter(leased_until__isnull=False, extra=True).count()


def pace(collection: Collection) -> Pace | None:
    """How long a grade takes now, over all raters. One query."""
    return Pace.of([seconds for _, seconds in _latest_seconds(collection.raters)])


def pace_of(rater: Rater) -> Pace | None:
    """How long a grade takes this rater. One query."""
    return Pace.of([seconds for _, seconds in _latest_seconds(Rater.objects.filter(pk=rater.pk))])


def forecast(progress: Progress, today: date) -> Forecast | str:
    """When it may be done, or a sentence that says why nobody can know.

    The pace is the mean of the latest complete days, those without a grade among them, and its ends are two
    standard errors away: days that differ much give a wide answer or none. Today is not complete.
    """
    if not progress.extent.left:
        return "Nothing is left to rate."
    if not progress.by_day:
        return "Nobody has graded anything yet: there is no pace to look at."
    since = today - timedelta(days=LOOKED_BACK)
    # From the first day of work on: a pause before it, as after an import of old ratings, is none of the pace.
    days = (today - min((day for day in progress.by_day if day >= since), default=since)).days
    if days < FEWEST_DAYS:
        return f"No forecast before {FEWEST_DAYS} complete days of rating."
    # Of what is given, some fills no wanted rating.
    filling = 1 - progress.beside / progress.graded
    counts = [filling * progress.by_day.get(today - timedelta(days=back), 0) for back in range(1, days + 1)]
    if not any(counts):
        return f"No forecast: nobody has graded anything in the last {days} days."
    mean, error = fmean(counts), 2 * stdev(counts) / sqrt(days)
    slow, fast = mean - error, mean + error

    def end(per_day: float) -> date | None:
        needed = ceil(progress.extent.left / per_day) if per_day > 0 else None
        return today + timedelta(days=needed) if needed is not None and needed < 3_650 else None

    early = end(fast)
    if early is None:
        return "No forecast: at the pace of now it takes more than ten years."
    return Forecast(days, mean, slow, fast, early, end(slow))


@dataclass(frozen=True)
class GradeGiven:
    """How often one rater gives one grade, and how fast; beside how often everybody does."""

    grade: Grade
    own: Share
    lately: Share  # of their latest TIMED grades
    all: Share
    pace: Pace | None  # of their latest LOOKED_THROUGH


def work_of(rater: Rater) -> Work:
    """What one rater did, as `progress` counts it, but for what they hold. Seven queries."""
    works = _works(rater.collection.raters.filter(pk=rater.pk))
    _count(works, Rating.objects.filter(rater=rater).order_by())
    return works[rater.pk]


def grades_given(rater: Rater) -> list[GradeGiven]:
    """Grade by grade, in the order of the scale. Five queries."""
    given = RatingEvent.objects.filter(rater=rater, kind__in=[Kind.GRADE, Kind.IMPORT], value__isnull=False)
    latest = list(given.order_by("-pk").values_list("value", "seconds")[:LOOKED_THROUGH])
    everybody = list(rater.collection.raters.values_list("pk", flat=True))
    own, everyone = (
        dict(ratings.values_list("grade").annotate(n=Count("pk")))
        for ratings in (
            Rating.objects.filter(rater=rater, grade__isnull=False).order_by(),
            Rating.objects.filter(rater__in=everybody, grade__isnull=False).order_by(),
        )
    )

    def about(grade: Grade) -> GradeGiven:
        lately = sum(value == grade.value for value, _ in latest[:TIMED])
        return GradeGiven(
            grade,
            own=Share(own.get(grade.pk, 0), sum(own.values())),
            lately=Share(lately, len(latest[:TIMED])),
            all=Share(everyone.get(grade.pk, 0), sum(everyone.values())),
            pace=Pace.of([time for value, time in latest if value == grade.value and time is not None]),
        )

    return [about(grade) for grade in rater.collection.grades.all()]


def gold_answers(ratings: QuerySet) -> QuerySet:
    """Grades of gold pairs. What was said before the pair became gold is no answer to it, and "cannot judge" is
    none either."""
    since = {"created_at__gte": F("pair__anchor__created_at")}
    return ratings.filter(pair__anchor__use=Anchor.Use.GOLD, grade__isnull=False, **since)


def repeats(rater_ids: Sequence[int]) -> QuerySet:
    """Repeats that got a grade, of pairs that have one from the same rater: `first`."""
    rated = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    checks = Check.objects.filter(rater__in=rater_ids, kind=Check.Kind.REPEAT)
    return checks.annotate(first=Subquery(rated.values("grade__value"))).filter(
        first__isnull=False, event__value__isnull=False
    )


def hits(rater_ids: Sequence[int]) -> dict[str, dict[int, Share]]:
    """Gold hits ("gold") and repeats with the same grade ("repeats"), by rater who has some. Two queries."""
    ratings = Rating.objects.filter(rater__in=rater_ids).order_by()
    answered = {
        "gold": (gold_answers(ratings), Q(grade=F("pair__anchor__grade"))),
        "repeats": (repeats(rater_ids).order_by(), Q(first=F("event__value"))),
    }
    found = {}
    for name, (rows, hit) in answered.items():
        shares = rows.values_list("rater").annotate(hits=Count("pk", filter=hit), n=Count("pk"))
        found[name] = {rater_id: Share(same, n) for rater_id, same, n in shares}
    return found


def gold_hits(collection: Collection) -> Share:
    """Gold hits of everybody. One query."""
    answers = gold_answers(Rating.objects.filter(rater__collection=collection))
    return Share(**answers.aggregate(hits=Count("pk", filter=Q(grade=F("pair__anchor__grade"))), n=Count("pk")))


def latest_grades(raters: QuerySet, acts: int) -> QuerySet:
    """(rater, value, seconds) of the timed grades among the latest so many acts of each rater.

    From the rater to their acts, so that both databases read a few rows of an index for each.
    """
    latest = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("pk")
    since = Coalesce(Subquery(latest[acts - 1 : acts]), 0)
    # A repeat is faster than the first time and a warm-up slower: neither tells how fast work is.
    timed = Q(events__kind__in=[Kind.GRADE, Kind.IMPORT], events__value__isnull=False)
    raters = raters.order_by().annotate(since=since)
    raters = raters.filter(timed, events__pk__gte=F("since"), events__seconds__isnull=False)
    return raters.values_list("pk", "events__value", "events__seconds")


# The reading


def _works(raters: QuerySet) -> dict[int, Work]:
    member = Membership.objects.filter(collection=OuterRef("collection"), user=OuterRef("user"), role=Role.RATER)
    last = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("created_at")[:1]
    raters = raters.annotate(member=Exists(member), last=Subquery(last)).select_related("user").order_by("name")
    return {
        rater.pk: Work(rater, may_rate=rater.active and rater.member and rater.user.is_active, last=rater.last)
        for rater in raters
    }


def _count(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Count into the works what their raters said; which pairs they passed and which they reported as broken."""
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
    # Cut out of the text, because for the date of a row SQLite would call Python.
    day = Substr(Cast("created_at", TextField()), 1, 10)
    rows = ratings.filter(grade__isnull=False).annotate(day=day).values("day").annotate(n=Count("pk"))
    return {date.fromisoformat(row["day"]): row["n"] for row in rows.order_by("day")}


def _passed(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Who passed which pair, counted into their works along the way; and who reported which as broken."""
    passed: dict[int, set[int]] = {}
    broken: dict[int, set[int]] = {}
    for pair_id, rater_id, reason in ratings.filter(grade__isnull=True).values_list("pair", "rater", "reason"):
        works[rater_id].graded -= 1
        works[rater_id].cannot += 1
        passed.setdefault(pair_id, set()).add(rater_id)
        if reason == Reason.BROKEN:
            broken.setdefault(pair_id, set()).add(rater_id)
    graded = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"), grade__isnull=False)
    skips = RatingEvent.objects.filter(rater__in=list(works), kind=Kind.SKIP, undone_by__isnull=True).order_by()
    for pair_id, rater_id, since in skips.annotate(since=Exists(graded)).values_list("pair", "rater", "since"):
        works[rater_id].put_off += 1
        if not since:
            passed.setdefault(pair_id, set()).add(rater_id)
    return passed, broken


def _latest_seconds(raters: QuerySet) -> QuerySet:
    """(rater, seconds) of the timed grades among their latest acts."""
    return latest_grades(raters, TIMED).values_list("pk", "events__seconds")


def _leases(collection: Collection, works: dict[int, Work], now: datetime) -> tuple[int, int, dict[int, datetime]]:
    """Wanted ratings that are held, leases of gold beside them, and when which lease ran out."""
    held = extra = 0
    expired = {}
    leased = still_wanted(collection).filter(leased_until__isnull=False).order_by("leased_until")
    for pk, rater_id, until, is_extra in leased.values_list("pk", "rater", "leased_until", "extra"):
        running = until >= now
        works[rater_id].held += running
        works[rater_id].expired += not running
        held += running and not is_extra
        extra += is_extra
        if not running:
            expired[pk] = until
    return held, extra, expired


def still_wanted(collection: Collection) -> QuerySet:
    """Assignments that wait for a grade. Pairs that are retired have none."""
    return Assignment.objects.filter(collection=collection).waiting()


def _done(collection: Collection, works: dict[int, Work]) -> int:
    """Wanted ratings that are filled. Two counts, because an index alone answers the first."""
    filled = Assignment.objects.filter(rater__in=list(works), state=State.DONE)
    extra = Assignment.objects.filter(collection=collection, extra=True, state=State.DONE)
    return filled.count() - extra.count()
