"""The bias of each rater against the others, and the pairs with different grades. NumPy and SciPy."""

import numpy as np

from ..measures.arrays import groups, quotient
from ..significance.paired import t_interval
from .table import Table

LEVEL = 0.95
# A pair with different grades, as a row of an array and no dict: of a large table half of all pairs may be
# disputed. The deviation is the standard deviation (n - 1) of the grades.
DISPUTED = np.dtype(
    [("pair", int), ("ratings", int), ("lowest", float), ("highest", float), ("mean", float), ("deviation", float)]
)


def each_rater(table: Table) -> list[dict]:
    """A row for each rater, including raters without a grade; nan where there are too few pairs.

    rater: the number; ratings: how many grades the rater gave; cannot: how many answers "cannot judge"; mean: of
    the rater's grades; shared: how many grades are of pairs that others graded, too; bias: the mean distance of a
    grade from the mean of the others' grades; low, high: its 95 % interval by t over pairs; spread: the standard
    deviation of these distances; agree: the share of the others' grades that equal the rater's.
    """
    distance = distances(table)
    graded_by_others = ~np.isnan(distance)
    ratings = np.bincount(table.rater, minlength=table.raters)
    mean = quotient(np.bincount(table.rater, table.grade, table.raters), ratings)
    equal, compared = _agreement_counts(table)
    agree = quotient(equal, compared)
    rows = []
    for rater in range(table.raters):
        shared_distances = distance[graded_by_others & (table.rater == rater)]
        bias, low, high, spread = describe(shared_distances)
        rows.append(
            {
                "rater": rater,
                "ratings": int(ratings[rater]),
                "cannot": int(table.cannot[rater]),
                "mean": float(mean[rater]),
                "shared": shared_distances.size,
                "bias": bias,
                "low": low,
                "high": high,
                "spread": spread,
                "agree": float(agree[rater]),
            }
        )
    return rows


def distances(table: Table) -> np.ndarray:
    """Each grade minus the mean of the others' grades of its pair, float64[n]; nan where nobody else graded it."""
    others = table.ratings_of_pair[table.pair] - 1
    sums = np.bincount(table.pair, table.grade, table.pairs)[table.pair]
    return table.grade - quotient(sums - table.grade, others)


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

    Those whose grades are furthest apart on the scale come first, then those with the largest deviation, then
    those with the lowest number.
    """
    rows = table.graded_twice  # of each pair at least two, which are adjacent
    if not rows.pair.size:
        return np.empty(0, DISPUTED)
    starts, counts = groups(rows.pair)
    pairs = rows.pair[starts]
    lowest, highest = np.minimum.reduceat(rows.level, starts), np.maximum.reduceat(rows.level, starts)
    mean = np.add.reduceat(rows.grade, starts) / counts
    squares = np.add.reduceat((rows.grade - np.repeat(mean, counts)) ** 2, starts)
    deviation = np.sqrt(squares / (counts - 1))
    steps_apart = highest - lowest
    order = np.lexsort((pairs, -deviation, -steps_apart))
    order = order[steps_apart[order] > 0]  # pairs with equal grades are not disputed
    columns = (pairs, counts, table.grades[lowest], table.grades[highest], mean, deviation)
    return np.rec.fromarrays([column[order] for column in columns], DISPUTED)
