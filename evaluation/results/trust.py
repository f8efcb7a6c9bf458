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
    ratings = ageing.to_older_text(ageing.of_collection(collection))
    return cache.small_value(collection, record.version(collection), "older texts", ratings.count)


def trust_of(evaluation: Evaluation) -> dict:
    """The context about reliability: judged share, holes, undefined queries. It takes at least one system.

    judged: the mean judged share of the systems; look: whether a judged share is so low that the page warns of it;
    holes, places: unjudged documents, of so many in all lists down to the cutoff; undefined, why: queries that do
    not count for the system with most of them; negative: the number of queries with a judgment below 0.
    """
    standings = evaluation.standings
    holes, places = evaluation.holes
    standing_by_share = by_judged_share(standings)
    shares = [standing.judged for standing in standings if standing.judged is not None]
    most_undefined = max(standings, key=lambda standing: standing.undefined)
    return {
        "judged": float(np.mean(shares)) if shares else None,
        # The least judged system; None where all are judged alike.
        "worst": standing_by_share[min(shares)] if len(standing_by_share) > 1 else None,
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


def unevenly_judged(evaluation: Evaluation, systems: Iterable[str], lowest_grade: float) -> dict | None:
    """The context of _uneven.html: the most and the least judged system, and if the latter may be better or worse.

    None where all systems are judged about alike, and for a measure that does not read the judgments of what a
    system returned. lowest_grade: of the scale.
    """
    options, definition = evaluation.asked.options, MEASURES[evaluation.asked.measure.name]
    standing_by_share = by_judged_share([evaluation.standing(name) for name in systems])
    least, most = min(standing_by_share, default=0.0), max(standing_by_share, default=0.0)  # judged shares
    # The difference is rounded, since 0.9 - 0.8 is a little below 0.1.
    if not definition.reads_judgments or round(most - least, 9) < UNEVEN_FROM:
        return None
    return {
        "most": standing_by_share[most],
        "least": standing_by_share[least],
        # Unjudged documents count as gain 0, so that the system may be better than it looks.
        "as_zero": options.unjudged == "zero" and not definition.skips_unjudged,
        # It may be worse, too, where a document can have a gain below 0. `clip` counts such gains as 0.
        "or_worse": "gain" in definition.reads and lowest_grade < 0 and options.negatives != "clip",
    }
