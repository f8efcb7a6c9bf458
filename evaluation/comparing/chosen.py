"""Which systems the address chooses to compare, and what is said where there is nothing to compare."""

from django.http import HttpRequest

from ratings.models import Collection

from ..measures.refusal import refuse_unknown
from ..page.address import CannotAnswer
from ..page.holdings import NextStep, holdings, next_step
from ..results.leader import MOST, Selection, best_first
from ..scores import Asked, Evaluation

ALL = "all"
NOTHING = "there is nothing to compare: fewer than two systems have a mean."


def nothing_to_compare(collection: Collection, asked: Asked) -> NextStep:
    return next_step(collection, holdings(collection)) or NextStep(
        f"{NOTHING[0].upper()}{NOTHING[1:]}",
        f"Bring another system, or choose another measure than {asked.measure}.",
    )


def selection_in(request: HttpRequest, evaluation: Evaluation) -> Selection | None:
    """The selection in the address; None where nothing can be compared. Raises CannotAnswer."""
    baseline, pairs = request.GET.get("baseline", ""), request.GET.get("pairs", "")
    asked_for = named_in(request)
    for name in asked_for:
        refuse_unknown("system", name, evaluation.systems)
    if pairs not in ("", ALL):
        raise CannotAnswer(
            f"unknown pairs {pairs!r}; write {ALL}, or leave it out to compare each with the baseline."
        )
    order = list(evaluation.means)
    if baseline and baseline not in order:
        raise CannotAnswer(f"{baseline} has no mean in this measure, so nothing can be compared with it.")
    if any(request.GET.getlist("system")):
        order = [name for name in order if name in asked_for]
    if len(asked_for) > MOST:
        raise CannotAnswer(
            f"at most {MOST} systems are compared on a page, not {len(asked_for)}; "
            "the command compare takes any number."
        )
    if not baseline:
        return best_first(order)
    others = [name for name in order if name != baseline]
    if not others:
        return None
    kept = others[: MOST - 1]
    return Selection(baseline, tuple(kept), True, pairs == ALL and len(kept) > 1, len(others) - len(kept))


def named_in(request: HttpRequest) -> list[str]:
    """The baseline and the other systems that the address names."""
    return [*dict.fromkeys(filter(None, [request.GET.get("baseline"), *request.GET.getlist("system")]))]


def too_few(request: HttpRequest) -> str:
    """The sentence on systems that were chosen, of which fewer than two can be compared."""
    chosen = named_in(request)
    if len(chosen) == 1:
        return f"Only {chosen[0]} is chosen, so there is nothing to compare. Tick another system."
    return "Fewer than two of the chosen systems have a mean in this measure. Tick another system."
