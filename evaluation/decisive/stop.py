"""When to stop: how many more judgments would settle the order, if the differences are as large as they look."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratings.models import Collection
from ratings.progress.counts import pace

from ..expected import expect, fit, rates, scores, settled
from .report import WRONG, Expected
from .state import State

STEPS = 24  # numbers of judgments that are tried, each larger by the same factor


@dataclass(frozen=True)
class Open:
    """Two systems whose order is open: the chance that they are shown in the wrong one, .02 or more apart."""

    first: str
    second: str
    wrong: float


@dataclass(frozen=True)
class Forecast:
    settled: bool
    wrong: float
    more: int | None  # about so many more judgments settle the order; None: not before all of the pool is judged
    left: int  # unjudged pairs of the pool
    hours: float | None  # of rating at the present pace; None: nothing was timed yet
    open: tuple[Open, ...]  # the likeliest to be wrong first


def forecast(collection: Collection, state: State, expected: Expected) -> Forecast | None:
    """What would settle the order; None where there is no interval.

    The covariance of the means shrinks with the variance that the pairs which are still unjudged then have. The
    means stay as they are: a forecast for differences as large as they look.
    """
    if expected.wrong is None:
        return None
    left = int((~state.judged).sum())
    more = None if expected.settled else _judgments(state, expected)
    speed = pace(collection)
    return Forecast(
        settled=expected.settled,
        wrong=expected.wrong,
        more=0 if expected.settled else more,
        left=left,
        hours=speed.hours(more if more is not None else left) if speed and not expected.settled else None,
        open=_open(expected),
    )


def _judgments(state: State, expected: Expected) -> int | None:
    mean, covariance = expected.estimate.mean, expected.estimate.covariance
    share, left = _shrinking(state), int((~state.judged).sum())
    for more in np.unique(np.geomspace(5, max(left, 6), STEPS).round().astype(int)):
        wrong, _ = settled(mean, covariance * share(more))
        if wrong <= WRONG:
            return int(more)
    return None


def remaining(state: State, more: int) -> float:
    """The share of the variance for missing judgments that remains after so many more."""
    return _shrinking(state)(more)


def _shrinking(state: State) -> Callable[[int], float]:
    unjudged = np.flatnonzero(~state.judged)
    model = fit(state.pool, state.level)
    chances = model.chances()
    known = expect(state.pool, state.level, chances, model.spread)
    score = scores(known, chances, unjudged)
    rate = np.where(state.askable[unjudged], rates(score, state.pool.top[unjudged]), 0.0)
    whole = max(np.trace(known.covariance(unjudged, chances)), 1e-30)

    def share(more: int) -> float:
        return float(np.trace(known.covariance(unjudged, chances, _left(rate, more))) / whole)

    return share


def _left(rate: np.ndarray, more: int) -> np.ndarray:
    """The chance of each pair to be unjudged after so many more, float64[pairs], by its rate."""
    low, high = 0.0, 1e12
    for _ in range(80):
        middle = np.sqrt(max(low, 1e-9) * high)
        low, high = (middle, high) if -np.expm1(-rate * middle).sum() < more else (low, middle)
    return np.exp(-rate * high)


def _open(expected: Expected) -> tuple[Open, ...]:
    rows, mean, covariance = [], expected.estimate.mean, expected.estimate.covariance
    for first in range(len(mean)):
        for second in range(first):
            both = [first, second]
            wrong, _ = settled(mean[both], covariance[np.ix_(both, both)])
            if wrong > WRONG / 2:
                names = sorted(both, key=lambda place: -mean[place])
                rows.append(Open(*(expected.systems[place] for place in names), wrong))
    return tuple(sorted(rows, key=lambda row: -row.wrong))
