"""How far the numbers of the overview can be trusted."""

import numpy as np

from .answer import Answer

WORTH_A_LOOK = 0.9  # judged share below which a warning is shown


def trust_of(answer: Answer) -> dict:
    """The context about reliability: judged share, holes, undefined queries."""
    holes, places = answer.holes()
    judged = [standing for standing in answer.standings if standing.judged is not None]
    worst = min(judged, key=lambda standing: standing.judged, default=None)
    same = worst is not None and all(standing.judged == worst.judged for standing in judged)
    most = max(answer.standings, key=lambda standing: standing.undefined)
    counts_any = any(standing.queries for standing in answer.standings)
    return {
        "judged": float(np.mean([standing.judged for standing in judged])) if judged else None,
        "worst": None if same else worst,
        "look": worst is not None and worst.judged < WORTH_A_LOOK,
        "holes": holes,
        "places": places,
        # Why no place can be judged or a hole.
        "nothing": "" if places else "no system returns a document" if counts_any else "no query counts",
        "undefined": most.undefined,
        "why": most.why,
        "negative": answer.negative,
    }


def neutral_mean(answer: Answer) -> float | None:
    """The mean score of an empty list, where negative judgments lift it above 0."""
    if answer.asked.measure.name != "nDCG" or not answer.negative:
        return None
    defined = answer.neutral[~np.isnan(answer.neutral)]
    mean = float(defined.mean()) if defined.size else 0.0
    return mean if mean > 0 else None
