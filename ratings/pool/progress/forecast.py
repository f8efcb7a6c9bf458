"""The forecast of the day on which nothing is left to rate."""

from datetime import date, timedelta
from math import ceil, sqrt
from statistics import fmean, stdev

from .counts import Progress

MOST_DAYS_BACK = 28  # a forecast uses at most so many complete days,
FEWEST_DAYS = 5  # and at least so many, since fewer do not show how much days differ
DAYS_NAMED_AHEAD = 60  # days ahead up to which a forecast names the day, not the month


def forecast(progress: Progress, today: date) -> str:
    """The range of days on which the last wanted rating may be given, as a sentence; or why there is no forecast.

    The pace is the mean over the latest complete days, including days without a grade. Today is not complete. The
    ends of its interval are two standard errors away.
    """
    left = progress.extent.left
    if not left:
        return "Nothing is left to rate."
    if not progress.by_day:
        return "No forecast: nobody has graded anything yet."
    since = today - timedelta(days=MOST_DAYS_BACK)
    # Days before the first grade do not count, such as a pause after an import of old ratings.
    first_day = min((day for day in progress.by_day if day >= since), default=since)
    days = (today - first_day).days
    if days < FEWEST_DAYS:
        return f"No forecast before {FEWEST_DAYS} complete days of rating."
    # Surplus grades bring the end no nearer: this share of the grades fills wanted ratings.
    useful_share = 1 - progress.surplus / progress.graded
    latest_days = [today - timedelta(days=back) for back in range(1, days + 1)]
    useful_grades = [useful_share * progress.by_day.get(day, 0) for day in latest_days]
    if not any(useful_grades):
        return f"No forecast: nobody has graded anything in the last {days} days."
    mean = fmean(useful_grades)
    two_errors = 2 * stdev(useful_grades) / sqrt(days)
    early = _end(left, mean + two_errors, today)
    late = _end(left, mean - two_errors, today)
    if early is None:
        return "No forecast: at the present pace it takes more than ten years."
    pace = f"{float(f'{mean:.2g}'):,.6g}"  # two significant digits
    basis = f"At the pace of the last {days} days, {pace} a day, the {left:,} left may be done"
    is_near = ((late or early) - today).days <= DAYS_NAMED_AHEAD
    first = _named(early, is_near)
    if late is None:
        return f"{basis} about {first} at the soonest; days differ too much to say the latest."
    last = _named(late, is_near)
    return f"{basis} about {first}." if first == last else f"{basis} between {first} and {last}."


def _end(left: int, per_day: float, today: date) -> date | None:
    """The day on which nothing is left at this pace; None if that is never, or takes over ten years."""
    if per_day <= 0 or ceil(left / per_day) >= 3_650:
        return None
    return today + timedelta(days=ceil(left / per_day))


def _named(day: date, is_near: bool) -> str:
    return f"{day.day} {day:%B}" if is_near else f"{day:%B %Y}"
