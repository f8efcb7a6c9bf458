"""Drift of raters: how the distribution and the bias of their grades change over time. NumPy and SciPy."""

from dataclasses import dataclass

import numpy as np

from ..significance.paired import ROUNDING
from .raters import LEVEL, describe, distances, mean_of
from .table import Table

MOST_PERIODS = 8  # of a rater, at most
FEWEST_GRADES = 20  # grades of a period, and shared grades of a half, at least


@dataclass(frozen=True)
class Period:
    """Consecutive grades of one rater."""

    first: int  # number of its first grade among those of the rater, from 1
    last: int
    given: list[int]  # count of each grade of the scale
    shared: int  # grades of pairs that others graded, too
    bias: float  # mean distance of a grade from the mean of the others' grades; nan for none
    low: float  # 95 % interval of the bias by t
    high: float


@dataclass(frozen=True)
class Course:
    """The grades of one rater over time, and the later half compared with the earlier half."""

    rater: int
    ratings: int
    in_order: bool  # False: most grades have the same time, as from a file without times
    periods: list[Period]  # equally long up to one grade; empty without an order, or with too few grades
    shared_early: int  # grades of the earlier half on pairs that others graded, too
    shared_late: int
    early: float  # bias in the earlier half; nan for none
    late: float
    moved: float  # late minus early
    low: float  # 95 % interval of `moved` by Welch's t; nan where a half has fewer than two shared grades
    high: float
    shared: int  # all grades on pairs that others graded, too, in time or not
    # Whether there are FEWEST_GRADES of these, not significantly closer to the others' grades than grades by lot.
    by_chance: bool

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0 and both halves have enough shared grades."""
        return min(self.shared_early, self.shared_late) >= FEWEST_GRADES and (self.low > 0 or self.high < 0)


def courses(table: Table) -> list[Course]:
    """The course of each rater with a grade. `table` must have moments."""
    distance = distances(table)
    chance = _squared_by_chance(table, distance)
    order = np.lexsort((table.pair, table.moment, table.rater))
    ends = np.cumsum(np.bincount(table.rater, minlength=table.raters))
    rows = np.split(order, ends[:-1]) if ends.size else []
    return [_course(table, rater, own, distance, chance) for rater, own in enumerate(rows) if own.size]


def _squared_by_chance(table: Table, distance: np.ndarray) -> float:
    """The mean squared distance from the others of a grade drawn from all shared ones; nan without any."""
    graded_by_others = ~np.isnan(distance)
    if not graded_by_others.any():
        return float("nan")
    grades = table.grade[graded_by_others]
    others = grades - distance[graded_by_others]
    return float(grades.var() + others.var() + (grades.mean() - others.mean()) ** 2)


def _course(table: Table, rater: int, rows: np.ndarray, distance: np.ndarray, chance: float) -> Course:
    """The course of one rater. rows: the rater's rows of the table, in the order of time.

    distance: float64[n], of each grade of the table from the mean of the others' grades of its pair, nan without
    others; chance: the mean squared distance of grades given by lot, 0 where all shared grades are the same.
    """
    shared_distances = distance[rows][~np.isnan(distance[rows])]
    # Without times most grades have the same one: then there is no earlier and later half, and both are empty.
    in_order = bool(2 * np.unique(table.moment[rows]).size >= rows.size)
    halves = np.array_split(distance[rows] if in_order else np.empty(0), 2)
    early, late = (half[~np.isnan(half)] for half in halves)
    moved, low, high = _welch(early, late)
    _, _, high_of_squares, _ = describe(shared_distances**2)  # the high end of the interval of their mean
    significantly_closer = high_of_squares < chance  # to the others' grades than grades by lot
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
        shared=shared_distances.size,
        # Where `chance` is 0 all shared grades are the same, so that nobody can be closer than by lot.
        by_chance=bool(shared_distances.size >= FEWEST_GRADES and chance > 0 and not significantly_closer),
    )


def _periods(table: Table, rows: np.ndarray, distance: np.ndarray) -> list[Period]:
    """The periods of one rater, at least FEWEST_GRADES grades each; none where there are too few for two periods.

    rows: the rater's rows of the table, in the order of time; distance: float64[n], of each grade of the table
    from the mean of the others' grades of its pair, nan where nobody else graded it.
    """
    period_count = min(MOST_PERIODS, rows.size // FEWEST_GRADES)
    if period_count < 2:
        return []
    periods = []
    last = 0  # number of the last grade of the period before
    for of_period in np.array_split(rows, period_count):
        first, last = last + 1, last + of_period.size
        counts = np.bincount(table.level[of_period], minlength=table.grades.size).tolist()
        shared_distances = distance[of_period][~np.isnan(distance[of_period])]
        bias, low, high, _ = describe(shared_distances)
        periods.append(Period(first, last, counts, shared_distances.size, bias, low, high))
    return periods


def _welch(early: np.ndarray, late: np.ndarray) -> tuple[float, float, float]:
    """The mean of `late` minus that of `early`, and its interval by Welch's t: low and high end.

    The interval is nan where one of the samples has fewer than two values.
    """
    from scipy.special import stdtrit

    moved = mean_of(late) - mean_of(early)
    if min(early.size, late.size) < 2:
        return moved, float("nan"), float("nan")
    # Means of equal distances can differ by a rounding error, which is no move.
    rounding = ROUNDING * max(np.abs(early).max(), np.abs(late).max())
    moved = 0.0 if abs(moved) <= rounding else moved
    variances = np.array([half.var(ddof=1) / half.size for half in (early, late)])  # of the two means
    error = np.sqrt(variances.sum())
    if error <= rounding:  # within each half all values are equal, up to rounding: the interval has no width
        return moved, moved, moved
    # The degrees of freedom by Welch and Satterthwaite.
    degrees = variances.sum() ** 2 / (variances**2 / [early.size - 1, late.size - 1]).sum()
    margin = float(stdtrit(degrees, (1 + LEVEL) / 2) * error)
    return moved, moved - margin, moved + margin
