"""The unjudged documents on which the difference of a night to its baseline rests. No database."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .. import measures as kernel
from ..measures import Judgments, Rankings
from ..measures.arrays import pair_key
from ..scores import Asked

NOT_RETURNED = np.inf  # the place of a document below the depth, or that a list does not have


def moved(judgments: Judgments, night: Rankings, baseline: Rankings, depth: int) -> pd.DataFrame:
    """The unjudged documents with another place in the night than in the baseline, of queries that both answered.

    Columns: query (row of the record), document (pk), night and baseline (places from 1, or NOT_RETURNED).
    """
    lists = [_places(night, depth), _places(baseline, depth)]
    both = pd.merge(*lists, how="outer", on=["query", "document"], suffixes=("_night", "_baseline"))
    both.columns = pd.Index(["query", "document", "night", "baseline"])
    both = both.fillna(NOT_RETURNED)
    query = both["query"].to_numpy()
    judged = np.isin(pair_key(query, both["document"].to_numpy()), judgments.key)
    answered = (np.asarray(night.present) & np.asarray(baseline.present))[query]
    return both[~judged & answered & (both["night"] != both["baseline"])]


def _places(rankings: Rankings, depth: int) -> pd.DataFrame:
    top = rankings.top(depth)
    place = np.arange(len(top.documents)) - top.offsets[top.query] + 1
    return pd.DataFrame({"query": top.query, "document": top.documents.astype(np.int64), "place": place})


def deciding(moved: pd.DataFrame) -> pd.DataFrame:
    """Of the `moved` documents those that only one of the lists returns. Where there are none, all of them."""
    of_one = moved[np.isinf(moved["night"]) | np.isinf(moved["baseline"])]
    return of_one if len(of_one) else moved


def at_best(
    asked: Asked, judgments: Judgments, lists: Sequence[Rankings], moved: pd.DataFrame, scale: Sequence[float]
) -> np.ndarray:
    """The values of the night and of its baseline if the missing judgments are as good for the night as can be.

    float64[queries, 2], nan where one counts in no mean. lists: of the night and the baseline; moved: see above.
    A document that the night ranks higher than the baseline gets the highest grade of the scale, another one the
    lowest.
    """
    in_favour = moved["night"].to_numpy() < moved["baseline"].to_numpy()
    judged = Judgments(
        judgments.queries,
        np.append(judgments.query, moved["query"]),
        np.append(judgments.document, moved["document"]),
        np.append(judgments.grade, np.where(in_favour, scale[-1], scale[0])),
    )
    scores = [kernel.evaluate([asked.measure], judged, rankings, asked.options) for rankings in lists]
    return np.column_stack([of_list.counting(asked.measure) for of_list in scores])
