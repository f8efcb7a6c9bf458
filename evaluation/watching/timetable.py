"""When a watch looks next."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

DAYS_A_WEEK = 7


def following(after: datetime, at: time, days: list[int], zone: str, from_day: date | None = None) -> datetime:
    """The first moment after `after` at this time of day, on one of these days of the week (0: Monday).

    from_day: the first day that counts, such as that after a holiday; None: any day. Where a clock is set forward
    over this time of day, so that the day lacks it, the moment is one hour later by the clock.
    """
    there = ZoneInfo(zone)
    day = after.astimezone(there).date()
    if from_day:
        day = max(day, from_day)
    for _ in range(DAYS_A_WEEK + 1):  # the first of these days counts again a week later, if its time is past
        moment = datetime.combine(day, at, there)
        if day.weekday() in days and moment > after:
            return moment
        day += timedelta(days=1)
    raise ValueError("a watch needs a day of the week.")
