"""When to stop: how many more judgments would settle the order, if the differences are as estimated."""

from dataclasses import dataclass

from ratings.models import Collection
from ratings.pool.progress.counts import pace

from ..expected import judgments_to_settle
from ..scores.expected import Expected
from .state import State

# The ends of the range of a forecast, as factors of it. The range held in 80 % of simulations: see
# bench/simulations/README.md.
FEWEST_FACTOR, MOST_FACTOR = 1 / 3, 3.0


@dataclass(frozen=True)
class Forecast:
    settled: bool
    wrong: float  # chance that two systems .02 apart or more are in the wrong order
    more: int | None  # judgments that would settle the order; None: not settled before all are judged
    left: int  # unjudged pairs of the pool
    hours: float | None  # of rating `more` (or all) at the present pace; None: settled, or no rating was timed

    @property
    def fewest(self) -> int | None:
        return None if self.more is None else min(round(FEWEST_FACTOR * self.more), self.left)

    @property
    def most(self) -> int | None:
        return None if self.more is None else min(round(MOST_FACTOR * self.more), self.left)


def forecast(collection: Collection, state: State, expected: Expected) -> Forecast | None:
    """How many more judgments settle the order of the systems, and how long they take; None without intervals.

    The order is settled where the chance of a wrong order is at most 10 %. The forecast keeps the expected means
    and shrinks their variance with each further judgment: see `expected.ahead`. expected: the values of `state`.
    """
    if expected.wrong is None:
        return None
    left = int((~state.judged).sum())
    more, hours = 0, None  # where the order is settled already
    if not expected.settled:
        more = judgments_to_settle(state.pool, state.level, state.askable, expected.estimate)
        speed = pace(collection)  # None: no rating was timed
        needed = left if more is None else more  # None: the order is not settled before all are judged
        hours = speed.hours(needed) if speed else None
    return Forecast(expected.settled, expected.wrong, more=more, left=left, hours=hours)
