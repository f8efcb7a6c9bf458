"""The costs of rating so far and of the rest, at a given rate. Nothing of it is stored.

The time of every act counts, including changes and undone acts. An answer is a pair that a rater has rated;
changes and undone acts make no further answer. Imported ratings count only if they came with their time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet, Sum

from ...desk.figures import Pace
from ...models import Anchor, Check, Collection, Rater, RatingEvent
from .counts import Progress

Kind = RatingEvent.Kind
RATED = Q(kind__in=[Kind.GRADE, Kind.CANNOT]) | Q(kind=Kind.IMPORT, seconds__isnull=False)
SUMS = {"n": Count("pk"), "timed": Count("seconds"), "seconds": Sum("seconds")}
GOLD = Q(pair__anchor__use=Anchor.Use.GOLD, created_at__gte=F("pair__anchor__created_at"))


@dataclass(frozen=True)
class Rate:
    """The price of an hour and of an answer; either may be 0."""

    hour: float = 0.0
    each: float = 0.0

    def of(self, answers: int, hours: float | None) -> float | None:
        """The cost; None if hours are paid but not known."""
        if self.hour and hours is None:
            return None
        return self.each * answers + self.hour * (hours or 0.0)


@dataclass(frozen=True)
class Part:
    """One kind of work. `least` and `most` are the ends of the 95 % interval of `hours`."""

    answers: int
    hours: float | None  # None: not known
    least: float | None = None
    most: float | None = None

    def __add__(self, other: "Part") -> "Part":
        sums = (_sum(getattr(self, name), getattr(other, name)) for name in ("hours", "least", "most"))
        return Part(self.answers + other.answers, *sums)


@dataclass(frozen=True)
class Costs:
    ratings: Part
    gold: Part
    repeats: Part
    warm_ups: Part
    untimed: int  # acts without a time, which count with the mean time of all others
    imported: int  # imported acts without a time, which are left out
    left: Part  # ratings that are still wanted
    mixed: Part  # the most gold and repeats that come with them

    @property
    def so_far(self) -> Part:
        return self.ratings + self.gold + self.repeats + self.warm_ups

    @property
    def remaining(self) -> Part:
        return self.left + self.mixed

    @property
    def whole(self) -> Part:
        return self.so_far + self.remaining


def costs(collection: Collection, counted: Progress) -> Costs:
    """The costs. Four queries, one of which reads every event of the collection; one more for imported times."""
    people = list(counted.works.values())
    raters = [work.rater.pk for work in people]
    acts = RatingEvent.objects.filter(rater__in=raters).order_by()
    took = {row["kind"]: _Acts.of(row) for row in acts.values("kind").annotate(**SUMS)}
    gold = acts.filter(RATED, GOLD)
    checks = Check.objects.filter(rater__in=raters, event__isnull=False)
    checked = dict(checks.values_list("kind").annotate(n=Count("pk")))
    imported = took.get(Kind.IMPORT, _Acts())
    of_gold, gold_time = _answers(gold), _Acts.of(gold.aggregate(**SUMS))
    answers = sum(work.graded + work.cannot for work in people if work.rater.kind == Rater.Kind.PERSON) - of_gold
    if imported.timed:
        answers += _answers(acts.filter(kind=Kind.IMPORT, seconds__isnull=False))
    rated = took.get(Kind.GRADE, _Acts()) + took.get(Kind.CANNOT, _Acts())
    parts = {
        "gold": (of_gold, gold_time),
        "repeats": (checked.get(Check.Kind.REPEAT, 0), took.get(Kind.REPEAT, _Acts())),
        "warm_ups": (checked.get(Check.Kind.WARM_UP, 0), took.get(Kind.WARM_UP, _Acts())),
        "ratings": (answers, rated + imported.timed_only - gold_time),
    }
    whole = sum((time for _, time in parts.values()), _Acts())
    mean = whole.seconds / whole.timed if whole.timed else None
    left = counted.extent.left

    def part(answers: int, time: _Acts) -> Part:
        hours = time.hours(mean)
        return Part(answers, hours, hours, hours)  # what was spent is known: the interval has no width

    return Costs(
        **{name: part(answers, time) for name, (answers, time) in parts.items()},
        untimed=whole.untimed,
        imported=imported.untimed,
        left=ahead(left, counted.pace),
        mixed=ahead(mixed_in(collection, left), counted.pace),
    )


def mixed_in(collection: Collection, ratings: int) -> int:
    """The most gold pairs and repeats that come with so many ratings."""
    work = 1 - collection.gold_share - collection.repeat_share
    return round(ratings / work) - ratings if work > 0 else 0


def gold_lasts(share: float, gold: int, pairs: int) -> int | None:
    """About how many answers a rater gives until they have seen all gold of the pool, in orders not by query.

    None if gold lasts to the end, because at least the fraction `share` of the pairs is gold. Gold that comes in
    its own turn counts towards the share (`queue.mixing`), so a rater gets gold at this share until none is left.
    """
    return None if gold >= share * pairs else round(gold / share)


def ahead(answers: int, pace: Pace | None) -> Part:
    """The work of answers that are still to come, at the present pace, with its 95 % interval."""
    if not answers:
        return Part(0, 0.0, 0.0, 0.0)
    if pace is None:
        return Part(answers, None)
    least, most = pace.interval or (None, None)
    return Part(answers, pace.hours(answers), *(end and answers * end / 3600 for end in (least, most)))


@dataclass(frozen=True)
class _Acts:
    timed: int = 0
    untimed: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, row: Mapping) -> "_Acts":
        """The acts of a row of SUMS."""
        return cls(row["timed"], row["n"] - row["timed"], row["seconds"] or 0.0)

    @property
    def timed_only(self) -> "_Acts":
        return _Acts(self.timed, 0, self.seconds)

    def __add__(self, other: "_Acts") -> "_Acts":
        return _Acts(self.timed + other.timed, self.untimed + other.untimed, self.seconds + other.seconds)

    def __sub__(self, other: "_Acts") -> "_Acts":
        return _Acts(self.timed - other.timed, self.untimed - other.untimed, self.seconds - other.seconds)

    def hours(self, mean: float | None) -> float | None:
        """The hours, with `mean` seconds for each act without a time."""
        if self.untimed and mean is None:
            return None
        return (self.seconds + self.untimed * (mean or 0.0)) / 3600


def _answers(acts: QuerySet) -> int:
    """The number of (rater, pair) with an act that is not undone."""
    return acts.standing().values("rater", "pair").distinct().count()


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
