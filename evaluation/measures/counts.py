"""Counts of documents: NumRet, NumRel, NumRelRet, as in trec_eval."""

import numpy as np

from .binary import all_relevant
from .grading import GradedRankings


def returned(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """NumRet@k, the number of documents down to rank k, judged or not, float64[queries].

    Under unjudged=condensed, of the condensed ranking.
    """
    return graded.listed_to(cutoff).astype(np.float64)


def relevant(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """NumRel, the number of relevant documents, returned or not, float64[queries]."""
    return all_relevant(graded, rel).astype(np.float64)


def relevant_returned(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """NumRelRet@k, the number of relevant documents down to rank k, float64[queries]."""
    return graded.total(graded.relevant(rel), cutoff)
