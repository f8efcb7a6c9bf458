"""Prediction-powered estimates from a random sample of people's gains and a machine's grades of all pairs.

An estimate is a sum over all pairs of weight times gain, such as a mean DCG. The machine predicts the gain of each
pair. The residuals of the sampled pairs correct the prediction, each weighted by the inverse of its inclusion
probability. The predictions are scaled by the factors that minimise the variance of the correction (power tuning:
PPI++ of Angelopoulos, Duchi and Zrnic, 2023). The factors of a stratum are computed from the other strata. The
estimate is therefore unbiased, whatever the machine predicts. NumPy, and SciPy for the quantiles of Student's t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LEVEL = 0.90
SHARED = 4  # weight of the documents of all systems in the factors of one system, in pairs


@dataclass(frozen=True, eq=False)
class Sampled:
    """A stratified sample of pairs with a gain by people, drawn without replacement within each stratum."""

    stratum: np.ndarray  # int64[pairs], from 0 without gaps
    predicted: np.ndarray  # float64[pairs], the gain of the machine's grade; nan where it gave none
    rows: np.ndarray  # int64[n], the sampled pairs
    gain: np.ndarray  # float64[n], by people

    @cached_property
    def expansion(self) -> np.ndarray:
        """The expansion factor of each stratum, float64[strata]: pairs for each sampled one, inf without any."""
        every = np.bincount(self.stratum).astype(np.float64)
        drawn = np.bincount(self.stratum[self.rows], minlength=len(every))
        return np.divide(every, drawn, out=np.full(len(every), np.inf), where=drawn > 0)


@dataclass(frozen=True)
class Powered:
    """An estimate with its interval at LEVEL for the pairs that were not sampled; the queries are fixed."""

    value: float
    low: float  # nan, like `high`, where fewer than two sampled pairs have a weight
    high: float
    variance: float
    factor: float  # the mean factor of the machine's predictions; 0 without them

    @property
    def width(self) -> float:
        return self.high - self.low


def powered(
    sampled: Sampled, weight: np.ndarray, shared: np.ndarray | None = None, machine: bool = True
) -> Powered:
    """The estimated sum of weight times gain over all pairs. weight: float64[pairs].

    shared: float64[pairs], the weight of a pair over all systems, towards which the factors of few pairs are
    shrunk (None: weight squared). machine=False gives the estimate from people alone, which predicts the same gain
    for every pair. ValueError where a stratum has pairs with a weight and no sampled pair.
    """
    expansion = sampled.expansion
    if not np.isfinite(expansion[sampled.stratum[weight != 0]]).all():
        raise ValueError("a stratum has pairs with a weight and no sampled pair.")
    columns = _predictions(sampled, machine)
    rows, stratum = sampled.rows, sampled.stratum[sampled.rows]
    # What the squared residual of each sampled pair weighs in the variance.
    counted = weight[rows] ** 2 * expansion[stratum] * (expansion[stratum] - 1)
    factors = _factors(sampled, columns, counted, weight**2 if shared is None else shared)
    residual = sampled.gain - np.einsum("nk,nk->n", columns[rows], factors[stratum])
    predicted = np.einsum("pk,pk,p->", columns, factors[sampled.stratum], weight)
    value = predicted + (expansion[stratum] * weight[rows]) @ residual
    variance, freedom = _variance(sampled, weight, counted, residual)
    margin = _quantile(freedom) * np.sqrt(variance)
    factor = factors[sampled.stratum, -1].mean() if machine else 0.0
    return Powered(float(value), float(value - margin), float(value + margin), float(variance), float(factor))


def _predictions(sampled: Sampled, machine: bool) -> np.ndarray:
    """A constant, and with `machine` the machine's prediction: float64[pairs, 1 or 2].

    Where the machine gave no grade, its mean takes the place of the prediction.
    """
    constant = np.ones(len(sampled.predicted))
    if not machine:
        return constant[:, np.newaxis]
    known = ~np.isnan(sampled.predicted)
    mean = sampled.predicted[known].mean() if known.any() else 0.0
    return np.column_stack([constant, np.where(known, sampled.predicted, mean)])


def _factors(sampled: Sampled, columns: np.ndarray, counted: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """The factor of each prediction, float64[strata, predictions], by least squares over the other strata."""
    rows = sampled.rows
    stratum, predicted = sampled.stratum[rows], columns[rows]
    strata, number = int(sampled.stratum.max()) + 1, columns.shape[1]
    expansion = sampled.expansion[stratum]
    others = shared[rows] * expansion * (expansion - 1)
    if others.sum() > 0 and (counted > 0).any():
        others = others * (SHARED * counted[counted > 0].mean() / others.sum())

    def over_other_strata(moment: np.ndarray) -> np.ndarray:
        """The weighted sum of a moment over all strata but each; float64[n, ...] to float64[strata, ...]."""
        weighted = (counted + others).reshape(-1, *[1] * (moment.ndim - 1)) * moment
        own = np.zeros((strata, *moment.shape[1:]))
        np.add.at(own, stratum, weighted)
        return own.sum(axis=0) - own

    squares = over_other_strata(predicted[:, :, np.newaxis] * predicted[:, np.newaxis, :])
    products = over_other_strata(predicted * sampled.gain[:, np.newaxis])
    # A ridge keeps the matrix regular where all predictions are the same, and is too small to change a factor.
    ridge = 1e-9 * np.trace(squares, axis1=1, axis2=2) / number + 1e-300
    squares = squares + ridge[:, np.newaxis, np.newaxis] * np.eye(number)
    return np.linalg.solve(squares, products[:, :, np.newaxis])[:, :, 0]


def _variance(
    sampled: Sampled, weight: np.ndarray, counted: np.ndarray, residual: np.ndarray
) -> tuple[float, float]:
    """The variance of the estimate and its degrees of freedom; nan for fewer than two sampled pairs with a weight.

    Only the mean squared residual is estimated, since the weights of all pairs are known. It varies less than the
    sum over sampled pairs, in which the weights vary as well.
    """
    rows = weight != 0
    total = float((sampled.expansion[sampled.stratum[rows]] - 1) @ weight[rows] ** 2)
    if total == 0:
        return 0.0, np.inf
    if (counted > 0).sum() < 2:
        return np.nan, np.nan
    return total * float(counted @ residual**2 / counted.sum()), float(counted.sum() ** 2 / (counted @ counted))


def _quantile(freedom: float) -> float:
    """The quantile of Student's t for an interval at LEVEL; 0 for infinite degrees of freedom, nan for nan."""
    from scipy.special import stdtrit  # imported late, as in `significance.paired`

    return float(stdtrit(freedom, (1 + LEVEL) / 2)) if np.isfinite(freedom) else (0.0 if freedom > 0 else np.nan)
