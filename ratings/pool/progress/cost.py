"""The cost of rating so far and of the rest, at a price that an admin enters. Nothing of it is stored."""

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from ...desk.figures import Pace
from ...models import Check, Collection, RatingEvent
from .counts import Progress

Kind = RatingEvent.Kind
RATED = Q(kind__in=[Kind.GRADE, Kind.CANNOT]) | Q(kind=Kind.IMPORT, seconds__isnull=False)


@dataclass(frozen=True)
class Work:
    """Answers and their hours. `least` and `most` are the ends of the 95 % interval of the hours."""

    answers: int
    hours: float | None  # None: not known
    least: float | None = None
    most: float | None = None

    def __add__(self, other: "Work") -> "Work":
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("hours", "least", "most"))
        return Work(self.answers + other.answers, *(None if None in pair else sum(pair) for pair in pairs))


def work_so_far(counted: Progress) -> Work:
    """The answers and hours of all raters. Three queries, which read every event of the collection.

    The time of every act counts, including changes and undone acts, which are no further answers. An act without a
    time counts as the mean of the others; imported ratings without a time are left out.
    """
    raters = list(counted.works)
    acts = RatingEvent.objects.filter(rater__in=raters).order_by()
    timed = acts.filter(RATED | Q(kind__in=[Kind.REPEAT, Kind.WARM_UP])).aggregate(
        acts=Count("pk"), timed=Count("seconds"), seconds=Sum("seconds")
    )
    ratings = acts.standing().filter(RATED).values("rater", "pair").distinct().count()
    checks = Check.objects.filter(rater__in=raters, event__isnull=False).count()
    hours = timed["acts"] * timed["seconds"] / timed["timed"] / 3600 if timed["timed"] else None
    if not timed["acts"]:
        hours = 0.0
    return Work(ratings + checks, hours, hours, hours)  # it is known: the interval has no width


def work_ahead(answers: int, pace: Pace | None) -> Work:
    """The work of answers that are still to come, at the present pace, with its 95 % interval."""
    if not answers:
        return Work(0, 0.0, 0.0, 0.0)
    if pace is None:
        return Work(answers, None)
    least, most = pace.interval or (None, None)
    return Work(answers, pace.hours(answers), *(end and answers * end / 3600 for end in (least, most)))


def mixed_in(collection: Collection, ratings: int) -> int:
    """The most gold pairs and repeats that come with so many ratings."""
    work = 1 - collection.gold_share - collection.repeat_share
    return round(ratings / work) - ratings if work > 0 else 0
