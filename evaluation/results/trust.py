"""How far the numbers of the overview can be trusted."""

from collections.abc import Iterable, Sequence

import numpy as np

from ratings.models import Collection
from ratings.pool import ageing

from .. import record
from ..measures import MEASURES
from ..record import cache
from ..scores import Evaluation, Standing

LOW_JUDGED_SHARE = 0.9  # judged share below which a warning is shown
UNEVEN_FROM = 0.1  # least difference of judged shares with a warning


def older_texts(collection: Collection) -> int:
    """How many ratings that count were given to an older text of their document. From the cache where possible."""
    ratings = ageing.of_collection(collection)
    return cache.count(collection, record.version(collection), "older texts", ageing.to_older_text(ratings).count)


def trust_of(evaluation: Evaluation) -> dict:
    """The context about reliability: judged share, holes, undefined queries."""
    standings = evaluation.standings
    holes, places = evaluation.holes
    shares = by_judged_share(standings)
    judged = [standing.judged for standing in standings if standing.judged is not None]
    most_undefined = max(standings, key=lambda standing: standing.undefined)
    return {
        "judged": float(np.mean(judged)) if judged else None,
        # The least judged system; None where all are judged alike.
        "worst": shares[min(shares)] if len(shares) > 1 else None,
        "look": min(shares, default=1.0) < LOW_JUDGED_SHARE,
        "holes": holes,
        "places": places,
        "undefined": most_undefined.undefined,
        "why": most_undefined.why,
        "negative": evaluation.negative,
    }


def by_judged_share(standings: Sequence[Standing]) -> dict[float, Standing]:
    """The first of the standings with each judged share."""
    return {standing.judged: standing for standing in reversed(standings) if standing.judged is not None}


def uneven(evaluation: Evaluation, systems: Iterable[str], lowest: float) -> dict | None:
    """The context of _uneven.html: the most and the least judged system, and if the latter may be better or worse.

    None where they are judged alike, and for a measure that does not read the judgments of what a system returned.
    lowest: the lowest grade of the scale.
    """
    options, definition = evaluation.asked.options, MEASURES[evaluation.asked.measure.name]
    shares = by_judged_share([evaluation.standing(name) for name in systems])
    # The difference is rounded, since 0.9 - 0.8 is a little below 0.1.
    if not definition.of_judgments or not shares or round(max(shares) - min(shares), 9) < UNEVEN_FROM:
        return None
    return {
        "most": shares[max(shares)],
        "least": shares[min(shares)],
        # Unjudged documents count as gain 0, so that the system may be better than it looks.
        "as_zero": options.unjudged == "zero" and not definition.skips_unjudged,
        # It may be worse, too, where a document can have a gain below 0. `clip` counts such gains as 0.
        "or_worse": "gain" in definition.reads and lowest < 0 and options.negatives != "clip",
    }
