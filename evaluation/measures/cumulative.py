"""Cumulative gain: CG, DCG, IDCG and nDCG."""

import numpy as np

from .grading import GradedRankings
from .ideal import best_lists, worst_lists

# Sums of the same numbers in another order may differ by about this much, relative to their span.
ROUNDING = 1e-12


def cg(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """CG@k, the sum of the gains, float64[queries]; below 0 if losses prevail."""
    return graded.total(graded.gain, cutoff)


def dcg(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """DCG@k, the sum of the discounted gains, float64[queries]; below 0 if losses prevail."""
    return graded.dcg(cutoff)


def idcg(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """IDCG@k, the DCG of the ideal list down to rank k, however short the ranking, float64[queries]."""
    return best_lists(graded).dcg(cutoff)


def min_dcg(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """The DCG of the worst list, float64[queries]; 0 under negatives=raw and clip, at most 0 under minmax."""
    if graded.options.negatives == "raw":
        return np.zeros(graded.queries)
    return worst_lists(graded).dcg(cutoff)


def ndcg(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """nDCG@k = (DCG - W) / (IDCG - W), where W is the DCG of the worst list, float64[queries]; nan if IDCG = W.

    Without negative gains W = 0, and this is DCG / IDCG (Järvelin & Kekäläinen 2002). negatives=minmax_closed is
    the min-max of Gienapp et al. (CIKM 2020), in which all judged documents fill the ideal and the worst list.
    Under the default, minmax, these lists leave places empty, and the value is within [0, 1] for every ranking.
    """
    best, worst = idcg(graded, cutoff), min_dcg(graded, cutoff)
    span = best - worst
    values = np.full(graded.queries, np.nan)
    np.divide(dcg(graded, cutoff) - worst, span, out=values, where=span > _noise(graded, cutoff))
    # A value that is outside [0, 1] by a rounding error alone becomes 0 or 1.
    values[(values < 0) & (values > -ROUNDING)] = 0.0
    values[(values > 1) & (values < 1 + ROUNDING)] = 1.0
    return values


def _noise(graded: GradedRankings, cutoff: int | None) -> np.ndarray | float:
    """The rounding error of IDCG - W where the ideal and the worst list are the same."""
    if graded.options.negatives != "minmax_closed":
        return 0.0
    best = best_lists(graded)
    return ROUNDING * best.total(np.abs(best.contribution), cutoff)
