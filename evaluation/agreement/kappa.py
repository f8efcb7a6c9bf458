"""Percent agreement, Cohen's kappa, and Fleiss' kappa. NumPy only."""

from collections.abc import Iterator

import numpy as np

from ..measures.arrays import groups
from .table import Table


def percent(table: Table) -> dict:
    """Percent agreement over all pairs of grades of one pair, by the name of the number.

    pairs: of grades; agree: the share with the same grade, nan where there is no pair of grades; within_one: the
    share with grades at most one step of the scale apart.
    """
    grade_pairs = table.grade_pairs
    return _percent(grade_pairs.count, np.abs(grade_pairs.first_level - grade_pairs.second_level))


def confusion(table: Table) -> np.ndarray:
    """The counts of each two grades that two raters gave to the same pair: int64[levels, levels], symmetric."""
    counts = np.zeros((table.grades.size, table.grades.size), np.int64)
    grade_pairs = table.grade_pairs
    np.add.at(counts, (grade_pairs.first_level, grade_pairs.second_level), grade_pairs.count)
    return counts + counts.T - np.diag(np.diag(counts))


def cohen(table: Table) -> Iterator[dict]:
    """The agreement of each two raters with a pair in common, in the order of their numbers.

    first, second: the raters; pairs, agree and within_one: as from `percent`. kappa: Cohen's, unweighted; linear,
    quadratic: the same weighted by the distance of the grades and by its square. The three are nan where all
    grades are the same.
    """
    grade_pairs = table.grade_pairs
    levels = table.grades.size
    distance = np.abs(table.grades[:, np.newaxis] - table.grades)  # of each two grades of the scale
    for start, count in zip(*groups(grade_pairs.first_rater, grade_pairs.second_rater), strict=True):
        rows = slice(start, start + count)
        first, second = grade_pairs.first_level[rows], grade_pairs.second_level[rows]
        frequency = grade_pairs.count[rows]
        counts = np.zeros((levels, levels))  # how often the first gave one grade and the second the other
        counts[first, second] = frequency
        yield {
            "first": int(grade_pairs.first_rater[start]),
            "second": int(grade_pairs.second_rater[start]),
            **_percent(frequency, np.abs(first - second)),
            "kappa": _kappa(counts, distance > 0),
            "linear": _kappa(counts, distance),
            "quadratic": _kappa(counts, distance**2),
        }


def _percent(count: np.ndarray, steps: np.ndarray) -> dict:
    pairs = int(count.sum())
    agree, within_one = (float(count[steps <= most].sum() / pairs) if pairs else float("nan") for most in (0, 1))
    return {"pairs": pairs, "agree": agree, "within_one": within_one}


def _kappa(counts: np.ndarray, weights: np.ndarray) -> float:
    """1 - observed / expected disagreement, each weighted; nan where no disagreement is expected."""
    expected = (weights * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum() / counts.sum()
    return float(1 - (weights * counts).sum() / expected) if expected > 0 else float("nan")


def fleiss(table: Table) -> dict:
    """Fleiss' kappa of the pairs with the most frequent number of ratings, since all need the same number.

    Where several numbers are equally frequent, the largest counts. kappa: nan where there are no such pairs, or
    all their grades are the same; pairs: how many there are; ratings: the number of ratings of each.
    """
    ratings = table.ratings_of_pair[table.ratings_of_pair > 1]
    if not ratings.size:
        return {"kappa": float("nan"), "pairs": 0, "ratings": 0}
    pairs_by_number = np.bincount(ratings)  # how many pairs have each number of ratings
    number = int(np.flatnonzero(pairs_by_number == pairs_by_number.max())[-1])
    rows = table.ratings_of_pair[table.pair] == number
    pairs, place = np.unique(table.pair[rows], return_inverse=True)
    counts = np.zeros((pairs.size, table.grades.size))  # of each grade in each pair
    np.add.at(counts, (place, table.level[rows]), 1)
    # Of all ordered pairs of ratings of the same pair, the share that are equal: n equal ratings make n (n - 1).
    observed = ((counts**2).sum() - counts.sum()) / (pairs.size * number * (number - 1))
    # The share that would be equal by chance: two ratings drawn by the shares of the grades.
    chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    grades_differ = (counts.sum(axis=0) > 0).sum() > 1
    kappa = float((observed - chance) / (1 - chance)) if grades_differ else float("nan")
    return {"kappa": kappa, "pairs": int(pairs.size), "ratings": number}
