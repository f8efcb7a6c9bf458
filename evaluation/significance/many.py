"""Corrections for multiple comparisons: Holm, and randomised Tukey HSD. NumPy only."""

from dataclasses import dataclass

import numpy as np

from .paired import NEAR, ROUNDING
from .shuffles import shuffled_sums


@dataclass(frozen=True, eq=False)
class TukeyHSD:
    """Randomised honestly significant differences."""

    p: np.ndarray  # float64[systems, systems], of each pair; nan on the diagonal
    critical: float  # a difference of means from here on is significant at the level asked for


def holm(p: np.ndarray) -> np.ndarray:
    """p values with Holm's correction of the family-wise error rate (1979). nan stays and is not counted."""
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def tukey_hsd(values: np.ndarray, draws: int, seed: int, alpha: float = 0.05) -> TukeyHSD:
    """Randomised Tukey HSD of all pairs of float64[queries, systems].

    Each draw permutes the values of every query among the systems and records the range of the means. p is the
    share of draws, the observed values included, in which the range is at least the difference of the pair. All
    nan where the systems differ on no query.
    (Carterette, Multiple testing in statistical analysis of systems-based information retrieval experiments,
    ACM Transactions on Information Systems 30, 2012.)
    """
    queries, systems = values.shape
    differs = (np.ptp(values, axis=1) > ROUNDING * np.abs(values).max()) if values.size else np.zeros(0, bool)
    if not differs.any():
        return TukeyHSD(np.full((systems, systems), np.nan), float("nan"))
    # The mean over systems changes no difference, but would cost digits.
    values = values - values.mean(axis=1, keepdims=True)
    sizes = np.abs(values).sum()
    ranges = np.sort(_ranges(values, draws, seed))
    means = values.mean(axis=0)
    distance = np.abs(means[:, np.newaxis] - means)
    as_far = draws - np.searchsorted(ranges, distance - NEAR * sizes / queries)
    p = (as_far + 1.0) / (draws + 1)
    np.fill_diagonal(p, np.nan)
    return TukeyHSD(p, float(np.quantile(ranges, 1 - alpha)))


def _ranges(values: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """float64[draws]: the range of the means, each time with the values of every query permuted."""
    sums = shuffled_sums(values, draws, seed)
    return (sums.max(axis=0) - sums.min(axis=0)) / len(values)
