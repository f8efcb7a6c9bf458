"""Coverage: the judged share of a ranking."""

import numpy as np

from .arrays import quotient
from .grading import GradedRankings


def judged(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """Judged@k, the judged share of the documents down to rank k, float64[queries]; nan for an empty ranking.

    Under unjudged=condensed, of the condensed ranking.
    """
    return quotient(graded.judged_to(cutoff), graded.listed_to(cutoff))
