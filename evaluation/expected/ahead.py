"""How many more judgments would settle the order of systems, if their differences are as estimated. NumPy only."""

from collections.abc import Callable

import numpy as np

from .estimate import Estimate
from .influence import expect
from .model import fit
from .order import WRONG, settled
from .pool import UNJUDGED, Pool
from .rounds import rates, scores

STEPS = 24  # numbers of judgments that are tried, in geometric progression


def judgments_to_settle(pool: Pool, level: np.ndarray, askable: np.ndarray, estimate: Estimate) -> int | None:
    """About how many more judgments settle the order; None: the order is not settled before all are judged.

    level: int64[pairs], -1 = unjudged; askable: bool[pairs], what can still be judged; estimate: one with an
    interval. The forecast shrinks the covariance of the means and keeps the means.
    """
    share, left = remaining_variance(pool, level, askable), int((level == UNJUDGED).sum())
    for more in np.unique(np.geomspace(5, max(left, 6), STEPS).round().astype(int)):
        wrong, _ = settled(estimate.mean, estimate.covariance * share(more))
        if wrong <= WRONG:
            return int(more)
    return None


def remaining_variance(pool: Pool, level: np.ndarray, askable: np.ndarray) -> Callable[[int], float]:
    """A function of a number of further judgments: the share of the variance for missing judgments that remains.

    Like the variance of a sample mean, it is proportional to the variance of the unjudged pairs and to one over
    the number of judged pairs.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    judged = pool.pairs - len(unjudged)
    model = fit(pool, level)
    chances = model.chances()
    expectation = expect(pool, level, chances, model.effect_variance)
    score = scores(expectation, chances, unjudged)
    rate = np.where(askable[unjudged], rates(score, pool.top[unjudged]), 0.0)
    now = max(np.trace(expectation.covariance(unjudged, chances)), 1e-30)

    def share(more: int) -> float:
        left = np.trace(expectation.covariance(unjudged, chances, _chance_unjudged(rate, more))) / now
        return float(left * judged / (judged + more)) if judged else float(left)

    return share


def _chance_unjudged(rate: np.ndarray, more: int) -> np.ndarray:
    """The chance of each pair to be still unjudged after `more` judgments, float64[pairs], by its rate."""
    low, high = 0.0, 1e12
    for _ in range(80):
        middle = np.sqrt(max(low, 1e-9) * high)
        low, high = (middle, high) if -np.expm1(-rate * middle).sum() < more else (low, middle)
    return np.exp(-rate * high)
