"""The forecast of the day on which nothing is left to rate."""

from datetime import date, timedelta
from math import ceil, sqrt
from statistics import fmean, stdev

from .counts import Progress

MOST_DAYS_BACK = 28  # a forecast uses at most so many complete days,
FEWEST_DAYS = 5  # and at least so many, since fewer do not show how much days differ
DAYS_NAMED_AHEAD = 60  # days ahead up to which a forecast names the day, not the month


def forecast(progress: Progress, today: date) -> str:
    """A sentence: between which days the last wanted rating may be given, or why there is no forecast.

    The pace is the mean number of useful grades a day. The two days follow from the ends of its interval, which
    are two standard errors away.
    """
    left = progress.extent.left
    if not left:
        return "Nothing is left to rate."
    if not progress.by_day:
        return "No forecast: nobody has graded anything yet."
    grades_by_day = _useful_grades(progress, today)
    days = len(grades_by_day)
    if days < FEWEST_DAYS:
        return f"No forecast before {FEWEST_DAYS} complete days of rating."
    if not any(grades_by_day):
        return f"No forecast: nobody has graded anything in the last {days} days."
    mean = fmean(grades_by_day)
    two_standard_errors = 2 * stdev(grades_by_day) / sqrt(days)
    earliest_end = _end(left, mean + two_standard_errors, today)
    latest_end = _end(left, mean - two_standard_errors, today)
    if earliest_end is None:
        return "No forecast: at the present pace it takes more than ten years."
    # To two significant digits. `:.2g` alone would print 1200 as 1.2e+03, so it is made a number again.
    rounded_mean = float(f"{mean:.2g}")
    when = _in_words(earliest_end, latest_end, today)
    return f"At the pace of the last {days} days, {rounded_mean:,.6g} a day, the {left:,} left may be done {when}."


def _useful_grades(progress: Progress, today: date) -> list[float]:
    """About how many grades filled wanted ratings, for each complete day, the latest first.

    The days are those since the first grade of the last MOST_DAYS_BACK days, with days without a grade. Today is
    not complete, so the first element is of yesterday. `progress` must have grades; if all of them are older, all
    MOST_DAYS_BACK days count.
    """
    since = today - timedelta(days=MOST_DAYS_BACK)
    # Days before that grade do not count: nobody rated yet, or there was a pause after an import of old ratings.
    first_day = min((day for day in progress.by_day if day >= since), default=since)
    # Surplus grades fill no wanted rating. On which days they came is not known, so each day loses the same share.
    useful_share = 1 - progress.surplus / progress.graded
    complete_days = [today - timedelta(days=back) for back in range(1, (today - first_day).days + 1)]
    return [useful_share * progress.by_day.get(day, 0) for day in complete_days]


def _end(left: int, per_day: float, today: date) -> date | None:
    """The day on which nothing is left at this pace; None if that is never, or takes over ten years."""
    if per_day <= 0 or ceil(left / per_day) >= 3_650:
        return None
    return today + timedelta(days=ceil(left / per_day))


def _in_words(earliest: date, latest: date | None, today: date) -> str:
    """As in “about 3 May” or “between 3 May and 9 May”. `latest`: None if it is never, or in over ten years."""
    is_near = ((latest or earliest) - today).days <= DAYS_NAMED_AHEAD

    def name_of(day: date) -> str:
        return f"{day.day} {day:%B}" if is_near else f"{day:%B %Y}"

    if latest is None:
        return f"about {name_of(earliest)} at the soonest; days differ too much to say the latest"
    if name_of(earliest) == name_of(latest):
        return f"about {name_of(earliest)}"
    return f"between {name_of(earliest)} and {name_of(latest)}"
