"""Limits of what an account makes in a day. The rows themselves are counted, so no cache can lose the count."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone

DAY = timedelta(days=1)
RETRY_SECONDS = 3600  # of Retry-After: by then some of the rows are older than a day


class Reached(ValidationError):
    """One more would be over a limit. A form shows it as an error; elsewhere `people.pages` answers 429."""


def refuse_above(most: int, what: str, rows: QuerySet, *, more: int = 1, at: str = "created_at") -> None:
    """Raise Reached if `more` rows would make more than `most` within a day. One query.

    `rows` are those of one account, each with its time in the field `at`.
    """
    made = rows.filter(**{f"{at}__gt": timezone.now() - DAY}).count()
    if made + more > most:
        raise Reached(f"The limit is {most:,} {what} in 24 hours, and {made:,} were made. Go on tomorrow.")
