"""What is said where there is nothing to compare."""

from ratings.models import Collection

from ..page.holdings import NextStep, holdings, next_step
from ..scores import Asked

NOTHING = "there is nothing to compare: fewer than two systems have a mean."


def nothing_to_compare(collection: Collection, asked: Asked) -> NextStep:
    return next_step(collection, holdings(collection)) or NextStep(
        f"{NOTHING[0].upper()}{NOTHING[1:]}",
        f"Bring another system, or choose another measure than {asked.measure}.",
    )
