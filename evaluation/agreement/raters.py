"""What tells one rater from the others, and which pairs they disagree about. NumPy; SciPy for an interval."""

from dataclasses import dataclass

import numpy as np

from ..significance.paired import t_interval
from .table import Table

LEVEL = 0.95


@dataclass(frozen=True)
class OneRater:
    """A rater beside the others, on the pairs that others graded, too. nan where there are too few of these."""

    rater: int
    ratings: int
    cannot: int  # how often it was "cannot judge", which is no grade
    mean: float  # of all grades given
    shared: int  # ratings of pairs that others graded
    bias: float  # the mean of own grade less the mean of the others' grades
    low: float  # its 95 % interval by t over pairs
    high: float
    spread: float  # the standard deviation of these distances
    agree: float  # how many of the others' grades are the same as the own one


@dataclass(frozen=True)
class Disputed:
    """A pair with different grades."""

    pair: int
    ratings: int
    lowest: float
    highest: float
    mean: float
    deviation: float  # standard deviation (n - 1) of the grades


def each_rater(found: Table) -> list[OneRater]:
    """Every rater, those without a grade among them."""
    distance = distances(found)
    there = ~np.isnan(distance)
    ratings = np.bincount(found.rater, minlength=found.raters)
    total = np.bincount(found.rater, found.grade, found.raters)
    same, met = _met(found)
    raters = []
    for rater in range(found.raters):
        mine = distance[there & (found.rater == rater)]
        bias, low, high, spread = described(mine)
        raters.append(
            OneRater(
                rater=rater,
                ratings=int(ratings[rater]),
                cannot=int(found.cannot[rater]),
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


def distances(found: Table) -> np.ndarray:
    """Each grade less the mean of the others' of the same pair, float64[n]; nan where nobody else graded it."""
    others, sums = found.ratings[found.pair] - 1, np.bincount(found.pair, found.grade, found.pairs)[found.pair]
    mean = np.full(others.size, np.nan)
    np.divide(sums - found.grade, others, out=mean, where=others > 0)
    return found.grade - mean


def mean_of(values: np.ndarray) -> float:
    """nan for none."""
    return float(values.mean()) if values.size else float("nan")


def described(distance: np.ndarray) -> tuple[float, float, float, float]:
    """Mean, its interval by t and the standard deviation; nan where there are too few."""
    if not distance.size:
        return (float("nan"),) * 4
    low, high = t_interval(distance[:, np.newaxis], LEVEL)
    spread = distance.std(ddof=1) if distance.size > 1 else float("nan")
    return float(distance.mean()), float(low[0]), float(high[0]), float(spread)


def _met(found: Table) -> tuple[np.ndarray, np.ndarray]:
    """How many grades of others on the same pairs are those of each rater, and how many there are."""
    twice = found.twice
    same = twice.count * (twice.one == twice.other)
    sums = [
        np.bincount(twice.first, counts, found.raters) + np.bincount(twice.second, counts, found.raters)
        for counts in (same, twice.count)
    ]
    return sums[0], sums[1]


def disputed(found: Table) -> list[Disputed]:
    """Pairs with different grades: those furthest apart on the scale first, then by deviation, then by number."""
    shared = found.shared
    if not shared.pair.size:
        return []
    starts = np.flatnonzero(np.diff(shared.pair, prepend=-1))
    pairs, n = shared.pair[starts], np.diff(np.append(starts, shared.pair.size))
    lowest, highest = (reduce.reduceat(shared.level, starts) for reduce in (np.minimum, np.maximum))
    mean = np.add.reduceat(shared.grade, starts) / n
    squares = np.add.reduceat((shared.grade - np.repeat(mean, n)) ** 2, starts)
    deviation = np.sqrt(squares / (n - 1))
    apart = np.flatnonzero(highest > lowest)
    order = apart[np.lexsort((pairs[apart], -deviation[apart], (lowest - highest)[apart]))]
    return [
        Disputed(
            int(pairs[at]),
            int(n[at]),
            float(found.grades[lowest[at]]),
            float(found.grades[highest[at]]),
            float(mean[at]),
            float(deviation[at]),
        )
        for at in order
    ]
