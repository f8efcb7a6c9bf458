"""The bias of each rater against the others, and the pairs with different grades. NumPy and SciPy."""

import numpy as np

from ..measures.arrays import groups
from ..significance.paired import t_interval
from .table import Table

LEVEL = 0.95
# A pair with different grades. The deviation is the standard deviation (n - 1) of the grades.
DISPUTED = np.dtype(
    [("pair", int), ("ratings", int), ("lowest", float), ("highest", float), ("mean", float), ("deviation", float)]
)


def each_rater(table: Table) -> list[dict]:
    """A row for each rater, including raters without a grade; nan where there are too few pairs.

    rater; ratings; cannot: answers that one cannot judge; mean: of the rater's grades; shared: grades of pairs
    that others graded, too; bias: the mean distance of a grade from the mean of the others' grades; low, high: its
    95 % interval by t over pairs; spread: the standard deviation of these distances; agree: the share of the
    others' grades that equal the rater's.
    """
    distance = distances(table)
    shared = ~np.isnan(distance)
    ratings = np.bincount(table.rater, minlength=table.raters)
    total = np.bincount(table.rater, table.grade, table.raters)
    equal, compared = _agreement_counts(table)
    rows = []
    for rater in range(table.raters):
        mine = distance[shared & (table.rater == rater)]
        bias, low, high, spread = describe(mine)
        rows.append(
            {
                "rater": rater,
                "ratings": int(ratings[rater]),
                "cannot": int(table.cannot[rater]),
                "mean": float(total[rater] / ratings[rater]) if ratings[rater] else float("nan"),
                "shared": mine.size,
                "bias": bias,
                "low": low,
                "high": high,
                "spread": spread,
                "agree": float(equal[rater] / compared[rater]) if compared[rater] else float("nan"),
            }
        )
    return rows


def distances(table: Table) -> np.ndarray:
    """Each grade minus the mean of the others' grades of its pair, float64[n]; nan where nobody else graded it."""
    others, sums = table.ratings[table.pair] - 1, np.bincount(table.pair, table.grade, table.pairs)[table.pair]
    mean = np.full(others.size, np.nan)
    np.divide(sums - table.grade, others, out=mean, where=others > 0)
    return table.grade - mean


def mean_of(values: np.ndarray) -> float:
    """The mean of the values; nan for none."""
    return float(values.mean()) if values.size else float("nan")


def describe(distance: np.ndarray) -> tuple[float, float, float, float]:
    """The mean, the low and high end of its t interval, and the standard deviation; nan for too few values."""
    if not distance.size:
        return (float("nan"),) * 4
    low, high = t_interval(distance[:, np.newaxis], LEVEL)
    spread = distance.std(ddof=1) if distance.size > 1 else float("nan")
    return float(distance.mean()), float(low[0]), float(high[0]), float(spread)


def _agreement_counts(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """By rater, how many of the others' grades of the same pairs equal the rater's, and how many there are."""
    grade_pairs = table.grade_pairs
    equal = grade_pairs.count * (grade_pairs.first_level == grade_pairs.second_level)

    def by_rater(counts: np.ndarray) -> np.ndarray:
        first = np.bincount(grade_pairs.first_rater, counts, table.raters)
        return first + np.bincount(grade_pairs.second_rater, counts, table.raters)

    return by_rater(equal), by_rater(grade_pairs.count)


def disputed(table: Table) -> np.ndarray:
    """The pairs with different grades, as a structured array with the fields of DISPUTED.

    By distance on the scale, then by deviation, descending, then by number. Half of all pairs may be disputed.
    """
    shared = table.shared
    if not shared.pair.size:
        return np.empty(0, DISPUTED)
    starts, n = groups(shared.pair)
    pairs = shared.pair[starts]
    lowest, highest = np.minimum.reduceat(shared.level, starts), np.maximum.reduceat(shared.level, starts)
    mean = np.add.reduceat(shared.grade, starts) / n
    squares = np.add.reduceat((shared.grade - np.repeat(mean, n)) ** 2, starts)
    deviation = np.sqrt(squares / (n - 1))
    apart = np.flatnonzero(highest > lowest)
    order = apart[np.lexsort((pairs[apart], -deviation[apart], (lowest - highest)[apart]))]
    columns = (pairs, n, table.grades[lowest], table.grades[highest], mean, deviation)
    return np.rec.fromarrays([column[order] for column in columns], DISPUTED)
