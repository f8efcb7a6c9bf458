"""The forecast of the day on which nothing is left to rate."""

from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil, sqrt
from statistics import fmean, stdev

from .counts import Progress

LOOKED_BACK = 28  # a forecast uses at most so many complete days,
FEWEST_DAYS = 5  # and at least so many, since fewer do not show how much days differ


@dataclass(frozen=True)
class Forecast:
    """The day on which the last wanted rating may be given, as an interval."""

    days: int  # complete days on which it is based
    pace: float  # wanted ratings filled a day
    slow: float  # the ends of the 95 % interval of that mean; 0 or less if days differ too much
    fast: float
    early: date
    late: date | None  # None: at the slow end it is never done, or takes over ten years


def forecast(progress: Progress, today: date) -> Forecast | str:
    """The forecast, or a sentence that says why there is none.

    The pace is the mean over the latest complete days, including days without a grade. Today is not complete. The
    ends of its interval are two standard errors away.
    """
    if not progress.extent.left:
        return "Nothing is left to rate."
    if not progress.by_day:
        return "No forecast: nobody has graded anything yet."
    since = today - timedelta(days=LOOKED_BACK)
    # Days before the first grade do not count, such as a pause after an import of old ratings.
    first_day = min((day for day in progress.by_day if day >= since), default=since)
    days = (today - first_day).days
    if days < FEWEST_DAYS:
        return f"No forecast before {FEWEST_DAYS} complete days of rating."
    # The part of the grades that fills wanted ratings.
    filling = 1 - progress.surplus / progress.graded
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
        return "No forecast: at the present pace it takes more than ten years."
    return Forecast(days, mean, slow, fast, early, end(slow))
