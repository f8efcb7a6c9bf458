"""How many queries a difference needs to be seen, and how small a one so many queries can show. NumPy and SciPy.

Sample sizes of the paired t test by the normal approximation with Guenther's correction, within a query or two of
those by the noncentral t from ten queries on.
"""

from math import ceil, sqrt

POWER = 0.8  # a difference that is there is then seen four times in five


def queries_needed(effect: float, alpha: float) -> int | None:
    """How many queries show a difference of `effect` standard deviations; None where there is none to show."""
    both, one = _quantiles(alpha)
    return ceil((both / effect) ** 2 + one**2 / 2) if effect else None


def least_effect(queries: int, alpha: float) -> float | None:
    """The least difference that so many queries show, in standard deviations; None where they are too few."""
    both, one = _quantiles(alpha)
    left = queries - one**2 / 2
    return both / sqrt(left) if left > 0 else None


def _quantiles(alpha: float) -> tuple[float, float]:
    """Of the normal distribution: what level and power ask for together, and what the level asks for."""
    from scipy.special import ndtri  # as in `paired`

    one = float(ndtri(1 - alpha / 2))
    return one + float(ndtri(POWER)), one
