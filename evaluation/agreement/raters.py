"""How each rater differs from the others, and which pairs they disagree about. NumPy; SciPy for an interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..measures.arrays import groups
from ..significance.paired import t_interval
from .table import Table

LEVEL = 0.95


@dataclass(frozen=True)
class OneRater:
    """A rater compared with the others on the pairs that others graded, too. nan where there are too few."""

    rater: int
    ratings: int
    cannot: int  # answers "cannot judge"
    mean: float  # of all grades given
    shared: int  # ratings of pairs that others graded
    bias: float  # the mean of own grade less the mean of the others' grades
    low: float  # its 95 % interval by t over pairs
    high: float
    spread: float  # the standard deviation of these distances
    agree: float  # the share of the others' grades that equal the rater's


@dataclass(frozen=True)
class Disputed:
    """A pair with different grades."""

    pair: int
    ratings: int
    lowest: float
    highest: float
    mean: float
    deviation: float  # standard deviation (n - 1) of the grades


def each_rater(table: Table) -> list[OneRater]:
    """A row for each rater, also for those without a grade."""
    distance = distances(table)
    there = ~np.isnan(distance)
    ratings = np.bincount(table.rater, minlength=table.raters)
    total = np.bincount(table.rater, table.grade, table.raters)
    same, met = _met(table)
    raters = []
    for rater in range(table.raters):
        mine = distance[there & (table.rater == rater)]
        bias, low, high, spread = described(mine)
        raters.append(
            OneRater(
                rater=rater,
                ratings=int(ratings[rater]),
                cannot=int(table.cannot[rater]),
                mean=float(total[rater] / ratings[rater]) if ratings[rater] else float("nan"),
                shared=mine.size,
                bias=bias,
                low=low,
                high=high,
                spread=spread,
                agree=float(same[rater] / met[rater]) if met[rater] else float("nan"),
            )
        )
    return raters


def distances(table: Table) -> np.ndarray:
    """Each grade less the mean of the others' of the same pair, float64[n]; nan where nobody else graded it."""
    others, sums = table.ratings[table.pair] - 1, np.bincount(table.pair, table.grade, table.pairs)[table.pair]
    mean = np.full(others.size, np.nan)
    np.divide(sums - table.grade, others, out=mean, where=others > 0)
    return table.grade - mean


def mean_of(values: np.ndarray) -> float:
    """The mean; nan for no values."""
    return float(values.mean()) if values.size else float("nan")


def described(distance: np.ndarray) -> tuple[float, float, float, float]:
    """Mean, the low and high end of its t interval, and standard deviation; nan where there are too few values."""
    if not distance.size:
        return (float("nan"),) * 4
    low, high = t_interval(distance[:, np.newaxis], LEVEL)
    spread = distance.std(ddof=1) if distance.size > 1 else float("nan")
    return float(distance.mean()), float(low[0]), float(high[0]), float(spread)


def _met(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """For each rater, how many grades of others on the same pairs equal theirs, and how many there are."""
    twice = table.twice
    same = twice.count * (twice.one == twice.other)
    sums = [
        np.bincount(twice.first, counts, table.raters) + np.bincount(twice.second, counts, table.raters)
        for counts in (same, twice.count)
    ]
    return sums[0], sums[1]


class Disputes(Sequence):
    """Disputed pairs as rows, which are made when they are asked for: they can be half of all pairs."""

    def __init__(self, *columns: np.ndarray) -> None:
        self._columns = columns  # as in Disputed

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, at: int | slice) -> "Disputed | list[Disputed]":
        taken = [column[at].tolist() for column in self._columns]
        return list(map(Disputed, *taken)) if isinstance(at, slice) else Disputed(*taken)


def disputed(table: Table) -> Disputes:
    """The pairs with different grades: by distance on the scale, then by deviation, descending, then by number."""
    shared = table.shared
    if not shared.pair.size:
        return Disputes(np.empty(0, np.int64))
    starts, n = groups(shared.pair)
    pairs = shared.pair[starts]
    lowest, highest = (reduce.reduceat(shared.level, starts) for reduce in (np.minimum, np.maximum))
    mean = np.add.reduceat(shared.grade, starts) / n
    squares = np.add.reduceat((shared.grade - np.repeat(mean, n)) ** 2, starts)
    deviation = np.sqrt(squares / (n - 1))
    apart = np.flatnonzero(highest > lowest)
    order = apart[np.lexsort((pairs[apart], -deviation[apart], (lowest - highest)[apart]))]
    columns = (pairs, n, table.grades[lowest], table.grades[highest], mean, deviation)
    return Disputes(*(column[order] for column in columns))
