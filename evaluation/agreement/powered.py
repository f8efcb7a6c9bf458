"""Prediction-powered estimates: what a random sample of people's gains and a machine's grades say together.

An estimate is a sum over all pairs of weight times gain, such as a mean DCG. The machine predicts the gain of each
pair, and the sampled pairs correct it by how far it was off, each counted by the inverse of its chance. The
predictions are scaled by the factors that make the correction least variable (power tuning: PPI++ of Angelopoulos,
Duchi and Zrnic, 2023). The factors of a stratum come from the other strata, so that the sum has no bias, whatever
the machine says. NumPy only, but for the quantiles of Student's t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LEVEL = 0.90
SHARED = 4  # pairs that all systems' documents count for in the factors of one


@dataclass(frozen=True, eq=False)
class Sampled:
    """Pairs of which some of each stratum, drawn at random without replacement, have a gain by people."""

    stratum: np.ndarray  # int64[pairs], from 0 without gaps
    predicted: np.ndarray  # float64[pairs], the gain of the machine's grade; nan where it gave none
    rows: np.ndarray  # int64[n], the sampled pairs
    gain: np.ndarray  # float64[n], by people

    @cached_property
    def scale(self) -> np.ndarray:
        """The inverse of the chance of a pair, float64[strata]; inf where none was drawn."""
        every = np.bincount(self.stratum).astype(np.float64)
        drawn = np.bincount(self.stratum[self.rows], minlength=len(every))
        return np.divide(every, drawn, out=np.full(len(every), np.inf), where=drawn > 0)


@dataclass(frozen=True)
class Powered:
    """An estimate with its interval at LEVEL for pairs that were not drawn; queries are taken as given."""

    value: float
    low: float  # nan, as high, where fewer than two sampled pairs have a weight
    high: float
    variance: float
    factor: float  # by how much the predictions count, on average; 0 without them

    @property
    def width(self) -> float:
        return self.high - self.low


def powered(
    sampled: Sampled, weight: np.ndarray, shared: np.ndarray | None = None, machine: bool = True
) -> Powered:
    """The sum of weight times gain over all pairs. weight: float64[pairs].

    shared: float64[pairs], how much a pair counts among those of all systems, to which the factors of few pairs
    are drawn (None: weight squared). With machine=False the estimate of people alone, which predicts the same gain
    for every pair. Raises ValueError where a stratum with a weight has no sampled pair.
    """
    scale = sampled.scale
    if not np.isfinite(scale[sampled.stratum[weight != 0]]).all():
        raise ValueError("a stratum has pairs with a weight and no sampled pair.")
    columns = _predictions(sampled, machine)
    rows, stratum = sampled.rows, sampled.stratum[sampled.rows]
    counted = weight[rows] ** 2 * scale[stratum] * (scale[stratum] - 1)  # of the variance, by squared error
    factors = _factors(sampled, columns, counted, weight**2 if shared is None else shared)
    off = sampled.gain - np.einsum("nk,nk->n", columns[rows], factors[stratum])
    value = (
        np.einsum("pk,pk,p->", columns, factors[sampled.stratum], weight) + (scale[stratum] * weight[rows]) @ off
    )
    variance, freedom = _variance(sampled, weight, counted, off)
    reach = _quantile(freedom) * np.sqrt(variance)
    factor = factors[sampled.stratum, -1].mean() if machine else 0.0
    return Powered(float(value), float(value - reach), float(value + reach), float(variance), float(factor))


def _predictions(sampled: Sampled, machine: bool) -> np.ndarray:
    """float64[pairs, 1 or 2]: the same for every pair, and the machine's; where it gave none, its mean."""
    same = np.ones(len(sampled.predicted))
    if not machine:
        return same[:, np.newaxis]
    known = ~np.isnan(sampled.predicted)
    mean = sampled.predicted[known].mean() if known.any() else 0.0
    return np.column_stack([same, np.where(known, sampled.predicted, mean)])


def _factors(sampled: Sampled, columns: np.ndarray, counted: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """How much each prediction counts, float64[strata, predictions]: least squares without the stratum itself."""
    rows = sampled.rows
    stratum, seen = sampled.stratum[rows], columns[rows]
    strata, number = int(sampled.stratum.max()) + 1, columns.shape[1]
    scale = sampled.scale[stratum]
    others = shared[rows] * scale * (scale - 1)
    if others.sum() > 0 and (counted > 0).any():
        others = others * (SHARED * counted[counted > 0].mean() / others.sum())

    def left_out(each: np.ndarray) -> np.ndarray:
        """The sum of a moment over the other strata; float64[n, ...] to float64[strata, ...]."""
        weighed = (counted + others).reshape(-1, *[1] * (each.ndim - 1)) * each
        own = np.zeros((strata, *each.shape[1:]))
        np.add.at(own, stratum, weighed)
        return own.sum(axis=0) - own

    squares = left_out(seen[:, :, np.newaxis] * seen[:, np.newaxis, :])
    products = left_out(seen * sampled.gain[:, np.newaxis])
    # A ridge, far below what any factor feels, for predictions that are all the same.
    ridge = 1e-9 * np.trace(squares, axis1=1, axis2=2) / number + 1e-300
    squares = squares + ridge[:, np.newaxis, np.newaxis] * np.eye(number)
    return np.linalg.solve(squares, products[:, :, np.newaxis])[:, :, 0]


def _variance(sampled: Sampled, weight: np.ndarray, counted: np.ndarray, off: np.ndarray) -> tuple[float, float]:
    """The variance of the estimate, and its degrees of freedom: nan where it cannot be told.

    The weights of all pairs are known, so only the mean squared error of a prediction is estimated. That varies
    less than the sum over sampled pairs, whose weights vary, too.
    """
    weighs = weight != 0
    whole = float((sampled.scale[sampled.stratum[weighs]] - 1) @ weight[weighs] ** 2)
    if whole == 0:
        return 0.0, np.inf
    if (counted > 0).sum() < 2:
        return np.nan, np.nan
    return whole * float(counted @ off**2 / counted.sum()), float(counted.sum() ** 2 / (counted @ counted))


def _quantile(freedom: float) -> float:
    from scipy.special import stdtrit  # as in `significance.paired`

    return float(stdtrit(freedom, (1 + LEVEL) / 2)) if np.isfinite(freedom) else (0.0 if freedom > 0 else np.nan)
