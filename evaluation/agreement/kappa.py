"""How two raters agree, and several who rate equally often: percent, Cohen's and Fleiss' kappa. NumPy only."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .table import Table


@dataclass(frozen=True)
class PairOfRaters:
    """Two raters on the pairs that both graded. nan: both gave one and the same grade to all of them."""

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
    """Fleiss' kappa, which needs pairs with equally many ratings: those with the number that most pairs have."""

    kappa: float  # nan: there are no such pairs, or they all got one and the same grade
    pairs: int
    ratings: int  # of each pair


@dataclass(frozen=True)
class Percent:
    """Every two grades of one pair."""

    couples: int  # how many twos there are
    agree: float  # the share that is the same; nan for no couple
    within_one: float  # the same or the next on the scale


def percent(found: Table) -> Percent:
    """How many of all two grades of one pair are the same, or next to each other."""
    twice = found.twice
    return _percent(twice.count, np.abs(twice.one - twice.other))


def confusion(found: Table) -> np.ndarray:
    """int64[levels, levels]: how often one rater gave the one and another the other grade to the same pair.

    Symmetric, since two raters have no order; on the diagonal, how often both gave the same.
    """
    counts = np.zeros((found.grades.size, found.grades.size), np.int64)
    np.add.at(counts, (found.twice.one, found.twice.other), found.twice.count)
    return counts + counts.T - np.diag(np.diag(counts))


def cohen(found: Table) -> Iterator[PairOfRaters]:
    """Every two raters with a pair in common, in the order of their numbers."""
    twice, levels = found.twice, found.grades.size
    distance = np.abs(found.grades[:, np.newaxis] - found.grades)
    starts = np.flatnonzero((np.diff(twice.first, prepend=-1) != 0) | (np.diff(twice.second, prepend=-1) != 0))
    for rows in np.split(np.arange(twice.count.size), starts[1:]) if starts.size else ():
        counts = np.zeros((levels, levels))
        counts[twice.one[rows], twice.other[rows]] = twice.count[rows]
        said = _percent(twice.count[rows], np.abs(twice.one[rows] - twice.other[rows]))
        yield PairOfRaters(
            first=int(twice.first[rows[0]]),
            second=int(twice.second[rows[0]]),
            pairs=said.couples,
            agree=said.agree,
            within_one=said.within_one,
            kappa=_kappa(counts, distance > 0),
            linear=_kappa(counts, distance),
            quadratic=_kappa(counts, distance**2),
        )


def _percent(count: np.ndarray, steps: np.ndarray) -> Percent:
    couples = int(count.sum())
    share = (lambda where: float(count[where].sum() / couples)) if couples else (lambda where: float("nan"))
    return Percent(couples, share(steps == 0), share(steps <= 1))


def _kappa(counts: np.ndarray, weights: np.ndarray) -> float:
    """1 less the disagreement that is there by the one that chance would give: nan where chance gives none."""
    expected = (weights * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum() / counts.sum()
    return float(1 - (weights * counts).sum() / expected) if expected > 0 else float("nan")


def fleiss(found: Table) -> Fleiss:
    """Of several numbers of ratings that equally many pairs have, the largest."""
    ratings = found.ratings[found.ratings > 1]
    if not ratings.size:
        return Fleiss(float("nan"), 0, 0)
    how_many = np.bincount(ratings)
    each = int(np.flatnonzero(how_many == how_many.max())[-1])
    rows = found.ratings[found.pair] == each
    pairs, place = np.unique(found.pair[rows], return_inverse=True)
    counts = np.zeros((pairs.size, found.grades.size))
    np.add.at(counts, (place, found.level[rows]), 1)
    observed = ((counts**2).sum() - counts.sum()) / (pairs.size * each * (each - 1))
    chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    varied = (counts.sum(axis=0) > 0).sum() > 1
    return Fleiss(float((observed - chance) / (1 - chance)) if varied else float("nan"), int(pairs.size), each)
