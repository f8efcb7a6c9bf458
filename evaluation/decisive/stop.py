"""When to stop: how many more judgments would settle the order, if the differences are as large as they look."""

from dataclasses import dataclass

import numpy as np

from ratings.models import Collection
from ratings.progress.counts import pace

from ..expected import settled, shrinking, to_settle
from ..expected.order import WRONG
from .report import Expected
from .state import State

FEWEST, MOST = 1 / 3, 3.0  # of a forecast: what four in five needed in simulations; bench/README.md, `next`


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

    @property
    def fewest(self) -> int | None:
        return None if self.more is None else min(round(FEWEST * self.more), self.left)

    @property
    def most(self) -> int | None:
        return None if self.more is None else min(round(MOST * self.more), self.left)


def forecast(collection: Collection, state: State, expected: Expected) -> Forecast | None:
    """What would settle the order; None where there is no interval.

    See `expected.ahead` for how it is reckoned.
    """
    if expected.wrong is None:
        return None
    left = int((~state.judged).sum())
    more = None if expected.settled else to_settle(state.pool, state.level, state.askable, expected.estimate)
    speed = pace(collection)
    return Forecast(
        settled=expected.settled,
        wrong=expected.wrong,
        more=0 if expected.settled else more,
        left=left,
        hours=speed.hours(more if more is not None else left) if speed and not expected.settled else None,
        open=_open(expected),
    )


def remaining(state: State, more: int) -> float:
    """The share of the variance for missing judgments that remains after so many more."""
    return shrinking(state.pool, state.level, state.askable)(more)


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
