"""Which systems the address chooses to compare, and what is said where there is nothing to compare."""

from django.http import HttpRequest

from ratings.models import Collection

from ..measures.refusal import refuse_unknown
from ..page.address import CannotAnswer
from ..page.holdings import NextStep, holdings, next_step
from ..results.leader import MOST_COMPARED, Selection, best_first
from ..scores import Asked, Evaluation

ALL = "all"
NOTHING_TO_COMPARE = "there is nothing to compare: fewer than two systems have a mean."


def nothing_to_compare(collection: Collection, asked: Asked) -> NextStep:
    """The step before there are two systems with a mean: what the collection lacks, or else another choice."""
    return next_step(collection, holdings(collection)) or NextStep(
        f"{NOTHING_TO_COMPARE[0].upper()}{NOTHING_TO_COMPARE[1:]}",
        f"Bring another system, or choose another measure than {asked.measure}.",
    )


def selection_in(request: HttpRequest, evaluation: Evaluation) -> Selection | None:
    """The baseline and the systems that the address compares; None where nothing can be compared.

    Without a `system` in the address all systems are compared. Without a `baseline` it is the best of them, and
    all pairs are compared whatever `pairs` says. Raises CannotAnswer for an address that has no meaning, or too
    many systems; WrongOption for an unknown system.
    """
    baseline, pairs = request.GET.get("baseline", ""), request.GET.get("pairs", "")
    names = named_in(request)  # the baseline is one of them
    for name in names:
        refuse_unknown("system", name, evaluation.systems)
    if pairs not in ("", ALL):
        raise CannotAnswer(
            f"unknown pairs {pairs!r}; write {ALL}, or leave it out to compare each with the baseline."
        )
    ranked = list(evaluation.means)  # best first
    if baseline and baseline not in ranked:
        raise CannotAnswer(f"{baseline} has no mean in this measure, so nothing can be compared with it.")
    if any(request.GET.getlist("system")):  # a baseline alone leaves all systems in
        ranked = [name for name in ranked if name in names]
    if len(names) > MOST_COMPARED:
        raise CannotAnswer(
            f"at most {MOST_COMPARED} systems are compared on a page, not {len(names)}; "
            "the command compare takes any number."
        )
    if not baseline:
        return best_first(ranked)
    others = [name for name in ranked if name != baseline]
    if not others:
        return None
    compared = others[: MOST_COMPARED - 1]  # 1: the baseline
    all_pairs = pairs == ALL and len(compared) > 1  # with one other system there is a single pair
    left_out = len(others) - len(compared)
    return Selection(baseline, tuple(compared), named=True, all_pairs=all_pairs, left_out=left_out)


def named_in(request: HttpRequest) -> list[str]:
    """The baseline and the other systems that the address names."""
    names = [request.GET.get("baseline"), *request.GET.getlist("system")]
    return [name for name in dict.fromkeys(names) if name]  # each once


def too_few(request: HttpRequest) -> str:
    """The sentence on systems that were chosen, of which fewer than two can be compared."""
    chosen = named_in(request)
    if len(chosen) == 1:
        return f"Only {chosen[0]} is chosen, so there is nothing to compare. Tick another system."
    return "Fewer than two of the chosen systems have a mean in this measure. Tick another system."
