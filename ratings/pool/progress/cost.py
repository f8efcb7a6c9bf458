"""The cost of rating so far and of the rest, at a price that an admin enters. Nothing of it is stored."""

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from ...desk.figures import Pace
from ...models import Check, Collection, RatingEvent
from .counts import Progress

Kind = RatingEvent.Kind
# The events of ratings that were made here, and of imported ones that say how many seconds they took.
IS_RATING = Q(kind__in=[Kind.GRADE, Kind.CANNOT]) | Q(kind=Kind.IMPORT, seconds__isnull=False)


@dataclass(frozen=True)
class Work:
    """Answers and their hours. `least` and `most` are the ends of the 95 % interval of the hours."""

    answers: int
    hours: float | None  # None: not known
    least: float | None = None  # None: there are too few times for an interval, or the hours are not known
    most: float | None = None

    def __add__(self, other: "Work") -> "Work":
        def total(name: str) -> float | None:
            values = getattr(self, name), getattr(other, name)
            return None if None in values else sum(values)

        return Work(self.answers + other.answers, total("hours"), total("least"), total("most"))


def work_so_far(counted: Progress) -> Work:
    """The answers and hours of all raters. Three queries, which read every event of the collection.

    Answers are the present ratings that IS_RATING selects, repeats and warm-ups. The hours are of more acts: those
    of changed and of undone answers too. An act without a time counts as the mean time of all acts that have one.
    """
    raters = list(counted.works)
    events = RatingEvent.objects.filter(rater__in=raters).order_by()
    acts = events.filter(IS_RATING | Q(kind__in=[Kind.REPEAT, Kind.WARM_UP]))
    totals = acts.aggregate(n=Count("pk"), timed=Count("seconds"), seconds=Sum("seconds"))
    # Of a rating that was changed, several events stand: it counts once.
    ratings = events.standing().filter(IS_RATING).values("rater", "pair").distinct().count()
    checks = Check.objects.filter(rater__in=raters, event__isnull=False).count()
    if totals["timed"]:
        hours = totals["n"] * totals["seconds"] / totals["timed"] / 3600  # each act takes the mean time
    else:
        hours = None if totals["n"] else 0.0  # None: there are acts, and none has a time
    # What was measured has no uncertainty, so both ends of the interval are the hours.
    return Work(ratings + checks, hours, least=hours, most=hours)


def work_ahead(answers: int, pace: Pace | None) -> Work:
    """The work of answers that are still to come, at the present pace, with its 95 % interval."""
    if not answers:
        return Work(answers=0, hours=0.0, least=0.0, most=0.0)
    if pace is None:
        return Work(answers, hours=None)
    ends = [answers * seconds / 3600 for seconds in pace.interval or ()]
    return Work(answers, pace.hours(answers), *ends)


def mixed_in(collection: Collection, ratings: int) -> int:
    """The most gold pairs and repeats that come with so many ratings."""
    wanted_share = 1 - collection.gold_share - collection.repeat_share
    return round(ratings / wanted_share) - ratings if wanted_share > 0 else 0
