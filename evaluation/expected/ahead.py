"""How many more judgments would settle the order of systems, if their differences are as estimated. NumPy only."""

from collections.abc import Callable

import numpy as np

from .estimate import Estimate
from .influence import expect
from .model import fit
from .order import MOST_CHANCE_OF_WRONG, order_chances
from .pool import UNJUDGED, Pool
from .rounds import rates, scores

NUMBERS_TRIED = 24  # how many numbers of judgments are tried, in geometric progression


def judgments_to_settle(pool: Pool, level: np.ndarray, askable: np.ndarray, estimate: Estimate) -> int | None:
    """About how many more judgments settle the order; None: the order is not settled before all are judged.

    level: int64[pairs], -1 = unjudged; askable: bool[pairs], what can still be judged; estimate: one with an
    interval. The forecast shrinks the covariance of the means and keeps the means.
    """
    remaining_share = remaining_variance(pool, level, askable)
    unjudged = int((level == UNJUDGED).sum())
    # About NUMBERS_TRIED whole numbers from 5 up to all unjudged pairs, each larger by about the same factor.
    for more in np.unique(np.geomspace(5, max(unjudged, 6), NUMBERS_TRIED).round().astype(int)):
        chance_of_wrong, _ = order_chances(estimate.mean, estimate.covariance * remaining_share(more))
        if chance_of_wrong <= MOST_CHANCE_OF_WRONG:
            return int(more)
    return None


def remaining_variance(pool: Pool, level: np.ndarray, askable: np.ndarray) -> Callable[[int], float]:
    """A function of the number of further judgments: the share of the variance of the means that then remains.

    Like the variance of a sample mean, it is proportional to the variance of the unjudged pairs and to one over
    the number of judged pairs: the share is variance then / variance now × judged now / judged then. Without a
    judged pair now, the second factor is left out.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    judged = pool.pairs - len(unjudged)
    model = fit(pool, level)
    chances = model.chances()
    expectation = expect(pool, level, chances, model.effect_variance)
    score = scores(expectation, chances, unjudged)
    # Of the unjudged pairs, the sampling rate at which rounds would draw them; 0 for those that nobody can judge.
    rate = np.where(askable[unjudged], rates(score, pool.top[unjudged]), 0.0)
    variance_now = max(np.trace(expectation.covariance(unjudged, chances)), 1e-30)  # no division by 0

    def share(more: int) -> float:
        still_unjudged = _chance_unjudged(rate, more)
        ratio_of_variances = np.trace(expectation.covariance(unjudged, chances, still_unjudged)) / variance_now
        return float(ratio_of_variances * judged / (judged + more)) if judged else float(ratio_of_variances)

    return share


def _chance_unjudged(rate: np.ndarray, more: int) -> np.ndarray:
    """The chance of each pair to be still unjudged after `more` judgments, float64[pairs], by its rate.

    Pairs are taken to be judged one by one over time: a pair is unjudged at time t with chance exp(-rate t).
    Bisection finds the time at which `more` pairs are expected to be judged.
    """
    earliest, latest = 0.0, 1e12
    for _ in range(80):
        time = np.sqrt(max(earliest, 1e-9) * latest)  # halfway by orders of magnitude
        judged = -np.expm1(-rate * time).sum()
        if judged < more:
            earliest = time
        else:
            latest = time
    return np.exp(-rate * latest)
