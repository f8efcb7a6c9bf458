"""The unjudged documents on which the difference of a night to its baseline rests. No database."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .. import measures as kernel
from ..measures import Judgments, Rankings
from ..measures.arrays import pair_key
from ..scores import Asked

NOT_RETURNED = np.inf  # the place of a document below the depth, or that a list does not have


def ranked_differently(judgments: Judgments, night: Rankings, baseline: Rankings, depth: int) -> pd.DataFrame:
    """The unjudged documents that the night ranks at another place than the baseline, of queries both answered.

    A row for each, with the columns query (row of the record), document (pk), night and baseline (places from 1,
    or NOT_RETURNED). depth: down to which places are compared.
    """
    places = pd.merge(_places(night, depth), _places(baseline, depth), how="outer", on=["query", "document"])
    places.columns = pd.Index(["query", "document", "night", "baseline"])
    places = places.fillna(NOT_RETURNED)  # a document of one list alone has no place in the other
    query = places["query"].to_numpy()
    is_judged = np.isin(pair_key(query, places["document"].to_numpy()), judgments.key)
    both_answered = (np.asarray(night.present) & np.asarray(baseline.present))[query]
    return places[~is_judged & both_answered & (places["night"] != places["baseline"])]


def _places(rankings: Rankings, depth: int) -> pd.DataFrame:
    top = rankings.top(depth)
    place = np.arange(len(top.documents)) - top.offsets[top.query] + 1
    return pd.DataFrame({"query": top.query, "document": top.documents.astype(np.int64), "place": place})


def deciding(unjudged: pd.DataFrame) -> pd.DataFrame:
    """Of the documents from `ranked_differently`, those that only one list returns. If no query has one, all."""
    of_one = unjudged[np.isinf(unjudged["night"]) | np.isinf(unjudged["baseline"])]
    return of_one if len(of_one) else unjudged


def at_best(
    asked: Asked, judgments: Judgments, lists: Sequence[Rankings], unjudged: pd.DataFrame, scale: Sequence[float]
) -> np.ndarray:
    """The values of the night and of its baseline if the missing judgments are as good for the night as can be.

    float64[queries, 2], nan where a value counts in no mean. lists: the rankings of the night and of the baseline;
    unjudged: the documents, as from `ranked_differently`; scale: the grades, lowest first. A document that the
    night ranks higher than the baseline gets the highest grade, another one the lowest.
    """
    is_higher_tonight = unjudged["night"].to_numpy() < unjudged["baseline"].to_numpy()  # a lower place number
    best_judgments = Judgments(
        judgments.queries,
        np.append(judgments.query, unjudged["query"]),
        np.append(judgments.document, unjudged["document"]),
        np.append(judgments.grade, np.where(is_higher_tonight, scale[-1], scale[0])),
    )
    scores = [kernel.evaluate([asked.measure], best_judgments, rankings, asked.options) for rankings in lists]
    return np.column_stack([score.counting(asked.measure) for score in scores])
