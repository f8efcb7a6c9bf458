"""How a rater's grades change over time: their distribution, and their distance from the others' grades.

NumPy; SciPy for an interval.
"""

from dataclasses import dataclass

import numpy as np

from ..significance.paired import ROUNDING
from .raters import LEVEL, described, distances, mean_of
from .table import Table

PERIODS = 8  # at most
FEWEST = 20  # the least number of grades in a period, and of shared grades in a half


@dataclass(frozen=True)
class Period:
    """Consecutive grades of one rater."""

    first: int  # which of their grades, from 1
    last: int
    given: list[int]  # count of each grade of the scale
    shared: int  # with pairs that others graded
    bias: float  # the mean of own grade less the mean of the others'; nan for none
    low: float  # its 95 % interval by t
    high: float


@dataclass(frozen=True)
class Course:
    """The grades of one rater over time, and the later half compared with the earlier."""

    rater: int
    ratings: int
    in_order: bool  # False: most grades have the same time, as from a file without times
    periods: list[Period]  # of equal length within one grade; empty without an order or with too few grades
    shared_early: int  # grades of each half on pairs that others graded
    shared_late: int
    early: float  # mean distance from the others; nan for none
    late: float
    moved: float  # late less early
    low: float  # its 95 % interval by Welch's t; nan where a half has fewer than two
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0 and both halves have enough shared grades."""
        return min(self.shared_early, self.shared_late) >= FEWEST and (self.low > 0 or self.high < 0)


def courses(table: Table) -> list[Course]:
    """A course for each rater with a grade. `table` must have moments."""
    distance = distances(table)
    order = np.lexsort((table.pair, table.moment, table.rater))
    ends = np.cumsum(np.bincount(table.rater, minlength=table.raters))
    rows = np.split(order, ends[:-1]) if ends.size else []
    return [_course(table, rater, mine, distance) for rater, mine in enumerate(rows) if mine.size]


def _course(table: Table, rater: int, rows: np.ndarray, distance: np.ndarray) -> Course:
    """The course of the rater whose `rows` these are, in the order of time."""
    in_order = bool(2 * np.unique(table.moment[rows]).size >= rows.size)
    early, late = (mine[~np.isnan(mine)] for mine in np.array_split(distance[rows] if in_order else rows[:0], 2))
    moved, low, high = _moved(early, late)
    return Course(
        rater=rater,
        ratings=rows.size,
        in_order=in_order,
        periods=_periods(table, rows, distance) if in_order else [],
        shared_early=early.size,
        shared_late=late.size,
        early=mean_of(early),
        late=mean_of(late),
        moved=moved,
        low=low,
        high=high,
    )


def _periods(table: Table, rows: np.ndarray, distance: np.ndarray) -> list[Period]:
    number = min(PERIODS, rows.size // FEWEST)
    periods, last = [], 0
    for mine in np.array_split(rows, number) if number > 1 else ():
        first, last = last + 1, last + mine.size
        given = np.bincount(table.level[mine], minlength=table.grades.size).tolist()
        apart = distance[mine][~np.isnan(distance[mine])]
        bias, low, high, _ = described(apart)
        periods.append(Period(first, last, given, apart.size, bias, low, high))
    return periods


def _moved(early: np.ndarray, late: np.ndarray) -> tuple[float, float, float]:
    """The difference of two means and its interval by Welch's t, which allows for unequal variances."""
    from scipy.special import stdtrit

    moved = mean_of(late) - mean_of(early)
    if min(early.size, late.size) < 2:
        return moved, float("nan"), float("nan")
    # A mean of equal distances has a rounding error, which is no difference.
    rounding = ROUNDING * max(np.abs(early).max(), np.abs(late).max())
    moved = 0.0 if abs(moved) <= rounding else moved
    parts = np.array([half.var(ddof=1) / half.size for half in (early, late)])
    error = np.sqrt(parts.sum())
    if error <= rounding:
        return moved, moved, moved
    freedom = parts.sum() ** 2 / (parts**2 / [early.size - 1, late.size - 1]).sum()
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2) * error)
    return moved, moved - reach, moved + reach
