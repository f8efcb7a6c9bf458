"""How many more judgments would settle the order of systems, if they differ as much as it looks. NumPy only."""

from collections.abc import Callable

import numpy as np

from .estimate import Estimate
from .influence import expect
from .model import fit
from .order import WRONG, settled
from .pool import UNJUDGED, Pool
from .rounds import rates, scores

STEPS = 24  # numbers of judgments that are tried, each larger by the same factor


def to_settle(pool: Pool, level: np.ndarray, askable: np.ndarray, found: Estimate) -> int | None:
    """About so many more judgments; None: not before all of the pool is judged.

    level: int64[pairs], -1 = unjudged; askable: bool[pairs], what can still be judged; found: an estimate with an
    interval. The covariance of the means shrinks, and the means stay as they are.
    """
    share, left = shrinking(pool, level, askable), int((level == UNJUDGED).sum())
    for more in np.unique(np.geomspace(5, max(left, 6), STEPS).round().astype(int)):
        wrong, _ = settled(found.mean, found.covariance * share(more))
        if wrong <= WRONG:
            return int(more)
    return None


def shrinking(pool: Pool, level: np.ndarray, askable: np.ndarray) -> Callable[[int], float]:
    """The share of the variance for missing judgments that remains after so many more.

    As that of a sample it goes with the variance of what is still unjudged, and with one over what is judged.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    judged = pool.pairs - len(unjudged)
    model = fit(pool, level)
    chances = model.chances()
    known = expect(pool, level, chances, model.spread)
    score = scores(known, chances, unjudged)
    rate = np.where(askable[unjudged], rates(score, pool.top[unjudged]), 0.0)
    whole = max(np.trace(known.covariance(unjudged, chances)), 1e-30)

    def share(more: int) -> float:
        left = np.trace(known.covariance(unjudged, chances, _left(rate, more))) / whole
        return float(left * judged / (judged + more)) if judged else float(left)

    return share


def _left(rate: np.ndarray, more: int) -> np.ndarray:
    """The chance of each pair to be unjudged after so many more, float64[pairs], by its rate."""
    low, high = 0.0, 1e12
    for _ in range(80):
        middle = np.sqrt(max(low, 1e-9) * high)
        low, high = (middle, high) if -np.expm1(-rate * middle).sum() < more else (low, middle)
    return np.exp(-rate * high)
