"""Sample size and smallest detectable difference of the paired t test. SciPy.

By the normal approximation with Guenther's correction, within a query or two of the noncentral t from ten queries
on.
"""

from math import ceil, sqrt

POWER = 0.8  # a true difference is detected four times in five


def queries_needed(effect: float, alpha: float) -> int | None:
    """The queries needed to detect a difference of `effect` standard deviations; None for an effect of 0."""
    both, one = _quantiles(alpha)
    return ceil((both / effect) ** 2 + one**2 / 2) if effect else None


def least_effect(queries: int, alpha: float) -> float | None:
    """The smallest detectable difference in standard deviations; None for too few queries."""
    both, one = _quantiles(alpha)
    left = queries - one**2 / 2
    return both / sqrt(left) if left > 0 else None


def _quantiles(alpha: float) -> tuple[float, float]:
    """Normal quantiles: the sum of those of level and power, and that of the level."""
    from scipy.special import ndtri  # as in `paired`

    one = float(ndtri(1 - alpha / 2))
    return one + float(ndtri(POWER)), one
