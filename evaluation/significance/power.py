"""Sample size and smallest detectable difference of the paired t test. SciPy.

Both use the normal approximation with Guenther's correction. From ten queries on it is within one or two queries
of the noncentral t distribution.
"""

from math import ceil, sqrt

POWER = 0.8  # the chance to detect a true difference


def queries_needed(effect: float, alpha: float) -> int | None:
    """The number of queries that detect a difference of `effect` standard deviations; None for an effect of 0."""
    total, of_level = _quantiles(alpha)
    return ceil((total / effect) ** 2 + of_level**2 / 2) if effect else None


def least_effect(queries: int, alpha: float) -> float | None:
    """The smallest detectable difference in standard deviations; None for too few queries."""
    total, of_level = _quantiles(alpha)
    corrected = queries - of_level**2 / 2
    return total / sqrt(corrected) if corrected > 0 else None


def _quantiles(alpha: float) -> tuple[float, float]:
    """The sum of the normal quantiles of level and power, and the quantile of the level alone."""
    from scipy.special import ndtri  # imported late, as in `paired`

    of_level = float(ndtri(1 - alpha / 2))
    return of_level + float(ndtri(POWER)), of_level
