"""Numbers of documents: NumRet, NumRel, NumRelRet, as trec_eval counts them."""

import numpy as np

from .binary import all_relevant
from .grading import GradedRankings


def returned(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """NumRet@k, the documents of the ranking down to rank k, judged or not, float64[queries].

    Under unjudged=condensed those of the condensed ranking.
    """
    return graded.listed_to(cutoff).astype(np.float64)


def relevant(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """NumRel, all judged documents that are relevant, returned or not, float64[queries]."""
    return all_relevant(graded, rel).astype(np.float64)


def relevant_returned(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """NumRelRet@k, the relevant documents down to rank k, float64[queries]."""
    return graded.total(graded.relevant(rel), cutoff)
