"""Corrections for multiple comparisons: Holm, and randomised Tukey HSD. NumPy only."""

from dataclasses import dataclass

import numpy as np

from .paired import ROUNDING, TOLERANCE
from .shuffles import shuffled_sums


@dataclass(frozen=True, eq=False)
class TukeyHSD:
    """The result of randomised Tukey HSD (honestly significant difference)."""

    p: np.ndarray  # float64[systems, systems], the p value of each pair; nan on the diagonal
    critical: float  # the critical difference of two means at level alpha


def holm(p: np.ndarray) -> np.ndarray:
    """p values adjusted by Holm's step-down method (1979), which controls the family-wise error rate.

    p: float64[comparisons]. nan stays nan and is no comparison.
    """
    adjusted = np.full(len(p), np.nan)
    comparisons = np.flatnonzero(~np.isnan(p))
    order = comparisons[np.argsort(p[comparisons], kind="stable")]
    # The least p counts as many times as there are comparisons, the next one time fewer, and so on.
    multiplied = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def tukey_hsd(values: np.ndarray, draws: int, seed: int, alpha: float = 0.05) -> TukeyHSD:
    """Randomised Tukey HSD of all pairs of systems. values: float64[queries, systems].

    Each draw permutes the values of every query among the systems and takes the range of the means. p is the share
    of draws whose range is at least the difference of the pair; the observed values count as one draw more. All p
    values are nan where the systems differ on no query.
    (Carterette, Multiple testing in statistical analysis of systems-based information retrieval experiments,
    ACM Transactions on Information Systems 30, 2012.)
    """
    queries, systems = values.shape
    # Whether the systems differ on each query, by more than a rounding error.
    differs = (np.ptp(values, axis=1) > ROUNDING * np.abs(values).max()) if values.size else np.zeros(0, bool)
    if not differs.any():
        return TukeyHSD(np.full((systems, systems), np.nan), float("nan"))
    # Differences stay the same without the mean over systems, and keep more digits.
    values = values - values.mean(axis=1, keepdims=True)
    tolerance = TOLERANCE * np.abs(values).sum() / queries  # of means: closer ones count as equal
    sums = shuffled_sums(values, draws, seed)
    ranges = np.sort(np.ptp(sums, axis=0) / queries)  # of the means, in each draw
    means = values.mean(axis=0)
    distance = np.abs(means[:, np.newaxis] - means)
    # Of the sorted ranges, those from here on are at least the difference of the pair.
    as_extreme = draws - np.searchsorted(ranges, distance - tolerance)
    p = (as_extreme + 1.0) / (draws + 1)
    np.fill_diagonal(p, np.nan)
    return TukeyHSD(p, float(np.quantile(ranges, 1 - alpha)))
