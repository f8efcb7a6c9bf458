"""When to stop: how many more judgments would settle the order, if the differences are as estimated."""

from dataclasses import dataclass

from ratings.models import Collection
from ratings.pool.progress.counts import pace

from ..expected import judgments_to_settle
from ..scores.expected import Expected
from .state import State

FEWEST, MOST = 1 / 3, 3.0  # range of a forecast, which held in 80 % of simulations: bench/simulations/README.md


@dataclass(frozen=True)
class Forecast:
    settled: bool
    wrong: float  # chance that two systems .02 apart or more are in the wrong order
    more: int | None  # judgments that would settle the order; None: not settled before all are judged
    left: int  # unjudged pairs of the pool
    hours: float | None  # of rating at the present pace; None: no rating was timed

    @property
    def fewest(self) -> int | None:
        return None if self.more is None else min(round(FEWEST * self.more), self.left)

    @property
    def most(self) -> int | None:
        return None if self.more is None else min(round(MOST * self.more), self.left)


def forecast(collection: Collection, state: State, expected: Expected) -> Forecast | None:
    """The forecast of the judgments that settle the order; None where there is no interval.

    `expected.ahead` has the method.
    """
    if expected.wrong is None:
        return None
    left = int((~state.judged).sum())
    more = 0
    if not expected.settled:
        more = judgments_to_settle(state.pool, state.level, state.askable, expected.estimate)
    speed = pace(collection)
    return Forecast(
        settled=expected.settled,
        wrong=expected.wrong,
        more=more,
        left=left,
        hours=speed.hours(more if more is not None else left) if speed and not expected.settled else None,
    )
