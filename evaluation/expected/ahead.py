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

    The order is settled where the chance that it is wrong is at most MOST_CHANCE_OF_WRONG. The forecast shrinks
    the covariance of the means and keeps the means. The number is at most that of all unjudged pairs, and may
    exceed that of the askable ones. level: int64[pairs], -1 = unjudged; askable: bool[pairs], what can still be
    judged; estimate: one with a covariance, so that some pairs are unjudged.
    """
    remaining_share = forecast_of_variance(pool, level, askable)
    unjudged = int((level == UNJUDGED).sum())
    # About NUMBERS_TRIED whole numbers from 5 to `unjudged`, each larger by about the same factor.
    for more in np.unique(np.geomspace(min(5, unjudged), unjudged, NUMBERS_TRIED).round().astype(int)):
        chance_of_wrong, _ = order_chances(estimate.mean, estimate.covariance * remaining_share(more))
        if chance_of_wrong <= MOST_CHANCE_OF_WRONG:
            return int(more)
    return None


def forecast_of_variance(pool: Pool, level: np.ndarray, askable: np.ndarray) -> Callable[[int], float]:
    """A function of the number of further judgments: the share of the variance of the means that then remains.

    The share is the product of two ratios of then to now. The first is that of the variance that unjudged pairs
    add to the means: fewer of them have to be predicted. The second is that of 1 / the number of judged pairs:
    each is taken to be predicted better, with a variance that falls as that of a sample mean. Without a judged
    pair now, the second ratio is left out. level: int64[pairs], -1 = unjudged; askable: bool[pairs], what can
    still be judged.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    judged_now = pool.pairs - len(unjudged)
    model = fit(pool, level)
    chances = model.chances()
    expectation = expect(pool, level, chances, model.effect_variance)
    score = scores(expectation, chances, unjudged)
    # Rounds draw a pair with a higher rate more often. The rate grows with the score; 0: nobody can judge it.
    rate = np.where(askable[unjudged], rates(score, pool.above_cutoff[unjudged]), 0.0)
    # The sum over systems; above 0, as it divides.
    variance_now = max(np.trace(expectation.covariance(unjudged, chances)), 1e-30)

    def remaining_share(more: int) -> float:
        still_unjudged = _chance_unjudged(rate, more)  # of each unjudged pair: its weight in the covariance
        ratio_of_variances = np.trace(expectation.covariance(unjudged, chances, still_unjudged)) / variance_now
        if not judged_now:
            return float(ratio_of_variances)
        return float(ratio_of_variances * judged_now / (judged_now + more))

    return remaining_share


def _chance_unjudged(rate: np.ndarray, more: int) -> np.ndarray:
    """The chance of each pair to be still unjudged after `more` judgments, float64[pairs], by its rate.

    Pairs are taken to be judged one by one over an imagined time without a unit: a pair is unjudged at time t with
    chance exp(-rate t). Bisection finds the time at which `more` pairs are expected to be judged. Where that many
    cannot be, it ends at the latest time, when all pairs with a rate are as good as judged.
    """
    earliest, latest = 0.0, 1e12
    for _ in range(80):
        time = np.sqrt(max(earliest, 1e-9) * latest)  # halfway by orders of magnitude; the root of 0 would stay 0
        judged = -np.expm1(-rate * time).sum()  # the expected number: the sum of 1 - exp(-rate time)
        if judged < more:
            earliest = time
        else:
            latest = time
    return np.exp(-rate * latest)
