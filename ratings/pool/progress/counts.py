"""The counts of a collection and of each rater: how much was rated, how fast and how consistently.

Everything is counted from assignments, ratings, checks and events when it is needed. No counter is stored that
could be wrong. The number of database queries does not depend on the data.

An assignment is one wanted rating of a pair: open, leased to a rater, or done. An extra one is for one rater, and
beyond the number that is wanted. Surplus grades fill no wanted rating. Gold is a pair whose grade is known: a
rater who gives the same grade has a hit. A repeat is a pair that a rater gets again.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from ...desk.figures import ACTS_FOR_PACE, FEWEST_ANSWERS, Pace, Share, latest_grades, too_fast_to_read
from ...models import Anchor, Assignment, Check, Collection, Rater, Rating, RatingEvent, Reason

Kind = RatingEvent.Kind
State = Assignment.State

GRADES_FOR_DRIFT = 1_000  # latest grades of a rater that the drift of the grades is read from


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
    last: datetime | None = None  # when their latest act was; None: they have none
    graded: int = 0  # present grades
    cannot: int = 0  # present ratings without a grade
    put_off: int = 0
    held: int = 0  # running leases
    expired: int = 0  # expired leases of pairs that nobody else took
    seconds: list[float] = field(default_factory=list)  # of their latest grades
    too_fast: int = 0  # of these, how many came faster than anybody reads
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


@dataclass(frozen=True)
class Progress:
    extent: Extent
    by_day: dict[date, int]  # present grades, by the day of the rater's first rating of the pair
    surplus: int  # how many of these grades fill no wanted rating, such as extra gold
    works: dict[int, Work]  # by id of the rater, in the order of their names
    passed: dict[int, set[int]]  # pair → raters who put it off or cannot judge it, without a grade since
    broken: dict[int, set[int]]  # pair → raters who say that its text is missing or broken, or a picture missing

    @cached_property
    def counted(self) -> list[Work]:
        """The work of the raters whose ratings count."""
        return [work for work in self.works.values() if not work.rater.left_out_at]

    @cached_property
    def pace(self) -> Pace | None:
        return Pace.of([seconds for work in self.counted for seconds in work.seconds])

    @property
    def graded(self) -> int:
        return sum(self.by_day.values())

    @cached_property
    def gold(self) -> Share:
        return sum((work.gold for work in self.counted), Share())

    @cached_property
    def repeats(self) -> Share:
        return sum((work.repeats for work in self.counted), Share())

    def hints(self, work: Work) -> list[str]:
        """Hints for an admin to look at a rater's work. There are none from fewer than FEWEST_ANSWERS answers.

        `Pace.unread` and `Share.below` check that themselves. `work.gold` and `work.repeats` are shares. A share
        is below that of all raters if its whole interval is.
        """
        pace, usual = work.pace, self.pace
        is_unread = pace is not None and pace.unread(work.too_fast)
        # The usual pace is that of raters who are not left out: there may be none.
        is_fast = pace and usual and pace.n >= FEWEST_ANSWERS and pace.middle < usual.middle / 3
        hints = {
            "too fast to have read": is_unread,
            "fewer gold hits than all raters together": work.gold.below(self.gold),
            "agrees less with themselves than all raters do": work.repeats.below(self.repeats),
            "less than a third of the usual time": is_fast and not is_unread,
        }
        return [hint for hint, applies in hints.items() if applies]


def progress(collection: Collection, *, now: datetime | None = None) -> Progress:
    """All counts of the page of progress. Fourteen database queries."""
    raters = collection.raters.all()
    works = _works(raters)
    for rater_id, count in too_fast_to_read(collection, raters, ACTS_FOR_PACE).items():
        works[rater_id].too_fast = count
    # With a list in place of a subquery SQLite scans the table, which takes half the time of the index.
    ratings = Rating.objects.filter(rater__in=list(works)).order_by()
    # `_add_counts` and `_leases` also fill the counts of `works`. A rater passes a pair that they put off or
    # cannot judge. Some say that it is broken: its text is missing or damaged, or a picture is missing.
    passed, broken = _add_counts(works, ratings)
    held, extra_leases = _leases(collection, works, now or timezone.now())
    done = _done(collection, works)
    # An extra lease, such as of gold, is one of the waiting assignments, but nobody wants its rating.
    left = still_wanted(collection).count() - extra_leases
    extent = Extent(done, held, open=left - held)
    by_day = _by_day(ratings.counted())
    grade_count = sum(by_day.values())
    # `done` of these grades fill a wanted rating. `max`: some may be undone since `done` was counted.
    surplus = max(0, grade_count - done)
    return Progress(extent, by_day, surplus, works, passed, broken)


def ratings_left(collection: Collection) -> int:
    """The number of wanted ratings that are still missing. Two queries, answered by indexes."""
    waiting = still_wanted(collection)
    return waiting.count() - waiting.filter(leased_until__isnull=False, extra=True).count()


def pace(collection: Collection) -> Pace | None:
    """The present pace of all raters together. One query."""
    return Pace.of([seconds for _, seconds in _latest_seconds(collection.raters.counted())])


def work_of(rater: Rater) -> Work:
    """The work of one rater as `progress` counts it, without leases. Seven queries."""
    works = _works(rater.collection.raters.filter(pk=rater.pk))
    _add_counts(works, Rating.objects.filter(rater=rater).order_by())
    return works[rater.pk]


def gold_answers(ratings: QuerySet) -> QuerySet:
    """The grades of gold pairs that were given since the pair became gold."""
    # By the pairs: for `pair__anchor__use` SQLite would go through all ratings of the raters.
    gold = Anchor.objects.filter(use=Anchor.Use.GOLD).values("pair")
    return ratings.filter(pair__in=gold, grade__isnull=False, created_at__gte=F("pair__anchor__created_at"))


def repeats(rater_ids: Sequence[int]) -> QuerySet:
    """The graded repeats of pairs that the rater has graded, annotated with the earlier grade as `first`."""
    rated = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    checks = Check.objects.filter(rater__in=rater_ids, kind=Check.Kind.REPEAT)
    checks = checks.annotate(first=Subquery(rated.values("grade__value")))
    return checks.filter(first__isnull=False, event__value__isnull=False)


def hits(rater_ids: Sequence[int]) -> dict[str, dict[int, Share]]:
    """{"gold": rater id → share of hits, "repeats": rater id → share with the same grade}. Two queries."""
    gold = gold_answers(Rating.objects.filter(rater__in=rater_ids))
    return {
        "gold": shares(gold, "rater", hit=Q(grade=F("pair__anchor__grade"))),
        "repeats": shares(repeats(rater_ids), "rater", hit=Q(first=F("event__value"))),
    }


def shares(answers: QuerySet, column: str, *, hit: Q) -> dict[int, Share]:
    """Each id in this column → the share of its answers that are a `hit`. One query."""
    counts = answers.order_by().values_list(column).annotate(hits=Count("pk", filter=hit), n=Count("pk"))
    return {pk: Share(hits, n) for pk, hits, n in counts}


def gold_hits(collection: Collection) -> Share:
    """The gold hits of all raters. One query."""
    answers = gold_answers(Rating.objects.counted().filter(rater__collection=collection))
    return Share(**answers.aggregate(hits=Count("pk", filter=Q(grade=F("pair__anchor__grade"))), n=Count("pk")))


# Queries


def _works(raters: QuerySet) -> dict[int, Work]:
    """A Work without counts for each rater. One query."""
    latest = RatingEvent.objects.of_work().filter(rater=OuterRef("pk")).order_by("-pk").values("created_at")[:1]
    rows = raters.with_able().annotate(latest_act=Subquery(latest)).order_by("name")
    return {row.pk: Work(row, may_rate=bool(row.is_able), last=row.latest_act) for row in rows}


def _add_counts(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """`Progress.passed` and `Progress.broken`. Adds all counts but those of leases to `works`."""
    for rater_id, n in ratings.values_list("rater").annotate(n=Count("pk")):
        works[rater_id].graded = n  # all ratings, until `_add_passed` takes those without a grade off
    passed, broken = _add_passed(works, ratings)
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


def _add_passed(works: dict[int, Work], ratings: QuerySet) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """`Progress.passed` and `Progress.broken`, each pair id → ids of raters, without raters who are left out.

    A rater passes a pair by "cannot judge", or by a skip if they have not graded it since. Also counts all "cannot
    judge" in `cannot` of each work, and in `put_off` all skips that were not undone: of raters who are left out,
    too. Ratings without a grade are taken off `graded`, which has all ratings.
    """
    passed = defaultdict[int, set[int]](set)
    broken = defaultdict[int, set[int]](set)
    left_out = {work.rater.pk for work in works.values() if work.rater.left_out_at}
    for pair_id, rater_id, reason in ratings.filter(grade__isnull=True).values_list("pair", "rater", "reason"):
        works[rater_id].graded -= 1
        works[rater_id].cannot += 1
        if rater_id not in left_out:
            passed[pair_id].add(rater_id)
            if reason in (Reason.BROKEN, Reason.PICTURE):
                broken[pair_id].add(rater_id)
    own_grade = Rating.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"), grade__isnull=False)
    skips = RatingEvent.objects.standing().filter(rater__in=list(works), kind=Kind.SKIP).order_by()
    skips = skips.annotate(has_grade=Exists(own_grade))
    for pair_id, rater_id, has_grade in skips.values_list("pair", "rater", "has_grade"):
        works[rater_id].put_off += 1
        if not has_grade and rater_id not in left_out:
            passed[pair_id].add(rater_id)
    return passed, broken


def _latest_seconds(raters: QuerySet) -> QuerySet:
    """(rater, seconds) of the timed grades among their latest acts."""
    return latest_grades(raters, ACTS_FOR_PACE).values_list("pk", "events__seconds")


def _leases(collection: Collection, works: dict[int, Work], now: datetime) -> tuple[int, int]:
    """The number of wanted ratings on a running lease, and that of extra leases. Adds all leases to `works`."""
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
    """The number of wanted ratings that are filled. Two queries, each of which reads an index alone."""
    filled = Assignment.objects.filter(rater__in=list(works), state=State.DONE)
    extra = Assignment.objects.filter(collection=collection, extra=True, state=State.DONE)
    return filled.count() - extra.count()
