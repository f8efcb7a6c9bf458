"""How far the numbers of the overview can be trusted."""

from collections.abc import Iterable, Sequence

import numpy as np

from ..measures import MEASURES
from ..scores import Evaluation, Standing

WORTH_A_LOOK = 0.9  # judged share below which a warning is shown
UNEVEN = 0.1  # least difference of judged shares with a warning


def trust_of(evaluation: Evaluation) -> dict:
    """The context about reliability: judged share, holes, undefined queries."""
    holes, places = evaluation.holes
    shares = by_judged_share(evaluation.standings)
    judged = [standing.judged for standing in evaluation.standings if standing.judged is not None]
    most = max(evaluation.standings, key=lambda standing: standing.undefined)
    counts_any = any(standing.queries for standing in evaluation.standings)
    return {
        "judged": float(np.mean(judged)) if judged else None,
        "worst": shares[min(shares)] if len(shares) > 1 else None,
        "look": min(shares, default=1.0) < WORTH_A_LOOK,
        "holes": holes,
        "places": places,
        # Why no place can be judged or a hole.
        "nothing": "" if places else "no system returns a document" if counts_any else "no query counts",
        "undefined": most.undefined,
        "why": most.why,
        "negative": evaluation.negative,
    }


def by_judged_share(standings: Sequence[Standing]) -> dict[float, Standing]:
    """The first of the standings with each judged share."""
    return {each.judged: each for each in reversed(standings) if each.judged is not None}


def uneven(evaluation: Evaluation, systems: Iterable[str], lowest: float) -> dict | None:
    """The facts of _uneven.html: the most and the least judged of these systems, and what that does to the latter.

    None where they are judged alike, and for a measure that does not read the judgments of what a system returned.
    lowest: the lowest grade of the scale.
    """
    options, definition = evaluation.asked.options, MEASURES[evaluation.asked.measure.name]
    shares = by_judged_share([evaluation.standing(name) for name in systems])
    if not definition.of_judgments or not shares or round(max(shares) - min(shares), 9) < UNEVEN:
        return None
    return {
        "most": shares[max(shares)],
        "least": shares[min(shares)],
        "as_zero": options.unjudged == "zero" and not definition.skips_unjudged,
        "or_worse": "gain" in definition.reads and lowest < 0 and options.negatives != "clip",
    }
