"""What the page of a rater shows of their work: figures, missed gold, differing repeats, leases.

Gold is a pair whose grade is known: a rater who gives it another grade misses it. A repeat is a pair that the
rater graded twice; `repeats` annotates it with the grade that they gave before, as `first`.
"""

from django.db.models import F, QuerySet
from django.utils import timezone

from ...models import Assignment, Rater, Rating
from .counts import gold_answers, repeats, work_of

ROWS_OF_TABLE = 50


def work_on_page(rater: Rater) -> dict:
    """What the rater's page shows of their work, as its context. A table has at most ROWS_OF_TABLE rows."""
    # The answers to gold pairs with another grade than the known one.
    missed = gold_answers(Rating.objects.filter(rater=rater)).exclude(grade=F("pair__anchor__grade"))
    # Repeats with another grade than the first: the second one is the value of the event that recorded it.
    differing = repeats([rater.pk]).exclude(first=F("event__value")).order_by("-event")
    leases = Assignment.objects.filter(rater=rater, state=Assignment.State.LEASED).order_by("leased_until", "pk")
    return {
        "work": work_of(rater),
        "scale": list(rater.collection.grades.all()),
        "missed": _of_pairs(missed.order_by("-created_at"), "grade", "pair__anchor__grade"),
        "differing": _of_pairs(differing, "event"),
        "leases": _of_pairs(leases),
        "most": ROWS_OF_TABLE,
        "now": timezone.now(),  # a lease that ended earlier "ran out"
    }


def _of_pairs(rows: QuerySet, *also: str) -> list:
    """The first ROWS_OF_TABLE rows, with their pairs."""
    rows = rows.select_related("pair__query", "pair__document", *also)
    return list(rows.defer("pair__document__body", "pair__document__fields")[:ROWS_OF_TABLE])
