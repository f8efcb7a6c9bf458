"""Who gave what to which pair: the arrays that every figure of agreement is made from. NumPy only."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """The grades that raters gave, row by row; "cannot judge" is no grade, and is only counted.

    Rows are sorted by pair, then by rater. Pairs are numbered in the order of what `table` was given.
    """

    pairs: int
    raters: int
    grades: np.ndarray  # float64[levels], the scale, ascending
    pair: np.ndarray  # int64[n], from 0 to pairs - 1
    rater: np.ndarray  # int64[n], from 0 to raters - 1
    level: np.ndarray  # int64[n], the place of the grade on the scale
    cannot: np.ndarray  # int64[raters], how often each could not judge
    moment: np.ndarray | None = None  # int64[n], when it was said, in seconds; None where that is not known

    @property
    def grade(self) -> np.ndarray:
        """float64[n]"""
        return self.grades[self.level]

    @cached_property
    def ratings(self) -> np.ndarray:
        """How many grades each pair has, int64[pairs]."""
        return np.bincount(self.pair, minlength=self.pairs)

    @cached_property
    def shared(self) -> "Table":
        """The rows of pairs with two grades or more: all that can agree."""
        rows = self.ratings[self.pair] > 1
        return Table(
            self.pairs, self.raters, self.grades, self.pair[rows], self.rater[rows], self.level[rows], self.cannot
        )

    @cached_property
    def patterns(self) -> tuple[np.ndarray, np.ndarray]:
        """Which grades a pair with two or more got, how often each: float64[patterns, levels], and how many pairs
        got the same, int64[patterns].

        Pairs with the same grades say the same, and with few raters and grades there are few kinds of pairs.
        """
        shared, levels = self.shared, max(self.grades.size, 1)
        counts = np.bincount(shared.pair * levels + shared.level, minlength=self.pairs * levels)
        counts = counts.reshape(self.pairs, levels)[self.ratings > 1]
        # As one run of bytes a row is compared at once, and not number by number.
        rows = np.ascontiguousarray(counts.astype(">i4")).view(f"V{4 * levels}").ravel()
        _, places, frequency = np.unique(rows, return_index=True, return_counts=True)
        return counts[places].astype(np.float64), frequency

    @cached_property
    def twice(self) -> "Twice":
        """Every two grades of one pair, counted by raters and grades."""
        return _twice(self)


@dataclass(frozen=True, eq=False)
class Twice:
    """How often the rater `first` gave the level `one` where the rater `second` (a higher number) gave `other`."""

    first: np.ndarray  # int64[cells], each
    second: np.ndarray
    one: np.ndarray
    other: np.ndarray
    count: np.ndarray


def table(
    pair: np.ndarray,
    rater: np.ndarray,
    grade: np.ndarray,
    raters: int,
    scale: np.ndarray | None = None,
    moment: np.ndarray | None = None,
) -> Table:
    """A table of rows: `pair` (int64[n]) and `rater` (int64[n]) count from 0, `grade` is nan for "cannot judge".

    `scale` are all grades that could be given (None: those that were), so that a grade nobody gave has its place.
    ValueError for a rater who graded a pair twice, and for a grade that is not on the scale.
    """
    pair, rater, grade = np.asarray(pair, np.int64), np.asarray(rater, np.int64), np.asarray(grade, np.float64)
    graded = ~np.isnan(grade)
    cannot = np.bincount(rater[~graded], minlength=raters)
    order = np.flatnonzero(graded)
    order = order[np.lexsort((rater[order], pair[order]))]
    again = (np.diff(pair[order]) == 0) & (np.diff(rater[order]) == 0)
    if again.any():
        at = order[np.argmax(again)]
        raise ValueError(f"rater {rater[at]} graded pair {pair[at]} twice")
    grades = np.unique(grade[order]) if scale is None else np.unique(np.asarray(scale, np.float64))
    level = np.searchsorted(grades, grade[order])
    outside = order[grades[np.minimum(level, grades.size - 1)] != grade[order]] if order.size else order
    if outside.size:
        raise ValueError(f"grade {grade[outside[0]]} is not on the scale")
    pairs, moment = int(pair.max(initial=-1)) + 1, None if moment is None else np.asarray(moment)[order]
    return Table(pairs, raters, grades, pair[order], rater[order], level, cannot, moment)


def _twice(found: Table) -> Twice:
    levels, cells, counts = max(found.grades.size, 1), [], []
    # Rows of one pair stand together: each meets the next, then the one after it, and so on.
    for apart in range(1, int(found.ratings.max(initial=0))):
        first = np.flatnonzero(found.pair[apart:] == found.pair[:-apart])
        second = first + apart
        cell = found.rater[first] * found.raters + found.rater[second]
        cell = (cell * levels + found.level[first]) * levels + found.level[second]
        cell, count = np.unique(cell, return_counts=True)
        cells.append(cell)
        counts.append(count)
    cell, place = np.unique(np.concatenate([np.empty(0, np.int64), *cells]), return_inverse=True)
    count = np.bincount(place, np.concatenate([np.empty(0), *counts]), cell.size).astype(np.int64)
    (raters, grades) = np.divmod(cell, levels * levels)
    return Twice(*np.divmod(raters, max(found.raters, 1)), *np.divmod(grades, levels), count)
