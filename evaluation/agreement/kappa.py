"""Percent agreement, Cohen's kappa of two raters, and Fleiss' kappa. NumPy only."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from ..measures.arrays import groups
from .table import Table


@dataclass(frozen=True)
class PairOfRaters:
    """The agreement of two raters on the pairs that both graded. nan: both gave the same grade to all of them."""

    first: int
    second: int
    pairs: int
    agree: float  # the share with the same grade
    within_one: float  # with the same grade or the next on the scale
    kappa: float  # Cohen's, all disagreements equal
    linear: float  # weighted by the distance of the grades
    quadratic: float  # by its square


@dataclass(frozen=True)
class Fleiss:
    """Fleiss' kappa of the pairs with the most frequent number of ratings: it needs equally many for each."""

    kappa: float  # nan: there are no such pairs, or all their grades are the same
    pairs: int
    ratings: int  # of each pair


@dataclass(frozen=True)
class Percent:
    """How often two grades of one pair agree, over every pair of grades."""

    pairs: int  # of grades
    agree: float  # the share with the same grade; nan where there is no pair of grades
    within_one: float  # with the same grade or the next on the scale


def percent(table: Table) -> Percent:
    """Percent agreement over all raters."""
    twice = table.twice
    return _percent(twice.count, np.abs(twice.one - twice.other))


def confusion(table: Table) -> np.ndarray:
    """int64[levels, levels]: how often two raters gave these two grades to the same pair. Symmetric."""
    counts = np.zeros((table.grades.size, table.grades.size), np.int64)
    np.add.at(counts, (table.twice.one, table.twice.other), table.twice.count)
    return counts + counts.T - np.diag(np.diag(counts))


def cohen(table: Table) -> Iterator[PairOfRaters]:
    """The agreement of every two raters with a pair in common, in the order of their numbers."""
    twice, levels = table.twice, table.grades.size
    distance = np.abs(table.grades[:, np.newaxis] - table.grades)
    for start, count in zip(*groups(twice.first, twice.second), strict=True):
        rows = slice(start, start + count)
        counts = np.zeros((levels, levels))
        counts[twice.one[rows], twice.other[rows]] = twice.count[rows]
        percent = _percent(twice.count[rows], np.abs(twice.one[rows] - twice.other[rows]))
        yield PairOfRaters(
            first=int(twice.first[start]),
            second=int(twice.second[start]),
            **asdict(percent),
            kappa=_kappa(counts, distance > 0),
            linear=_kappa(counts, distance),
            quadratic=_kappa(counts, distance**2),
        )


def _percent(count: np.ndarray, steps: np.ndarray) -> Percent:
    pairs = int(count.sum())
    agree, within_one = (float(count[steps <= most].sum() / pairs) if pairs else float("nan") for most in (0, 1))
    return Percent(pairs, agree, within_one)


def _kappa(counts: np.ndarray, weights: np.ndarray) -> float:
    """1 - observed / expected disagreement; nan where none is expected."""
    expected = (weights * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum() / counts.sum()
    return float(1 - (weights * counts).sum() / expected) if expected > 0 else float("nan")


def fleiss(table: Table) -> Fleiss:
    """Fleiss' kappa. Of several equally frequent numbers of ratings, the largest is taken."""
    ratings = table.ratings[table.ratings > 1]
    if not ratings.size:
        return Fleiss(float("nan"), 0, 0)
    how_many = np.bincount(ratings)
    each = int(np.flatnonzero(how_many == how_many.max())[-1])
    rows = table.ratings[table.pair] == each
    pairs, place = np.unique(table.pair[rows], return_inverse=True)
    counts = np.zeros((pairs.size, table.grades.size))
    np.add.at(counts, (place, table.level[rows]), 1)
    observed = ((counts**2).sum() - counts.sum()) / (pairs.size * each * (each - 1))
    chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    varied = (counts.sum(axis=0) > 0).sum() > 1
    return Fleiss(float((observed - chance) / (1 - chance)) if varied else float("nan"), int(pairs.size), each)
