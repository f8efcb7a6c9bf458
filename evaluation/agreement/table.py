"""Grades by rater and pair: the arrays from which agreement is computed. NumPy only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """The grades of raters, sorted by pair and then by rater. "Cannot judge" is counted and has no row."""

    pairs: int
    raters: int
    grades: np.ndarray  # float64[levels], the scale, ascending
    pair: np.ndarray  # int64[n], from 0 to pairs - 1
    rater: np.ndarray  # int64[n], from 0 to raters - 1
    level: np.ndarray  # int64[n], the place of the grade on the scale
    cannot: np.ndarray  # int64[raters], number of "cannot judge" answers
    moment: np.ndarray | None = None  # int64[n], time of the rating in seconds; None: unknown

    @property
    def grade(self) -> np.ndarray:
        """The grade of each row, float64[n]."""
        return self.grades[self.level]

    @cached_property
    def ratings_of_pair(self) -> np.ndarray:
        """How many grades each pair has, int64[pairs]."""
        return np.bincount(self.pair, minlength=self.pairs)

    @cached_property
    def graded_twice(self) -> "Table":
        """The rows of pairs with two grades or more."""
        rows = self.ratings_of_pair[self.pair] > 1
        return replace(self, pair=self.pair[rows], rater=self.rater[rows], level=self.level[rows], moment=None)

    @cached_property
    def patterns(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct patterns of pairs with two grades or more, and the number of pairs with each.

        A pattern says how often each grade was given to a pair. float64[patterns, levels] and int64[patterns].
        With few raters and grades there are few patterns.
        """
        graded_twice = self.graded_twice
        levels = max(self.grades.size, 1)  # 1 where there is no grade: an array of bytes needs a width
        # How often each pair (row) was given each grade (column).
        counts = np.bincount(graded_twice.pair * levels + graded_twice.level, minlength=self.pairs * levels)
        counts = counts.reshape(self.pairs, levels)[self.ratings_of_pair > 1]
        # One element for each pair, its counts as bytes: np.unique compares these at once, which is faster than
        # axis=0. The high byte of a count comes first (>), so that the patterns are in the order of their counts:
        # the order decides which draws of a seed a pattern gets.
        rows_as_bytes = np.ascontiguousarray(counts.astype(">i4")).view(f"V{4 * levels}").ravel()
        _, places, frequency = np.unique(rows_as_bytes, return_index=True, return_counts=True)
        return counts[places].astype(np.float64), frequency

    @cached_property
    def grade_pairs(self) -> "GradePairs":
        """How often each two raters gave each two levels to the same pair.

        Rows of one pair are sorted by rater, so that the first rater has the lower number.
        """
        # A cell is the index of (first rater, second rater, first level, second level) in an array of this shape.
        raters, levels = max(self.raters, 1), max(self.grades.size, 1)  # 1 for none: then there is no cell
        shape = (raters, raters, levels, levels)
        cells, counts = [], []  # for each offset an array
        # Rows of one pair are adjacent: compare each with the next, then with the one after it, and so on.
        for offset in range(1, int(self.ratings_of_pair.max(initial=0))):
            # Rows of the table: the first rater's, and the second rater's of the same pair.
            first = np.flatnonzero(self.pair[offset:] == self.pair[:-offset])
            second = first + offset
            columns = (self.rater[first], self.rater[second], self.level[first], self.level[second])
            cell, count = np.unique(np.ravel_multi_index(columns, shape), return_counts=True)
            cells.append(cell)
            counts.append(count)
        all_cells = np.concatenate([np.empty(0, np.int64), *cells])  # an empty array where there is no offset
        # A cell can occur at several offsets. It stays once, with the sum of its counts.
        cell, place = np.unique(all_cells, return_inverse=True)  # place: in `cell`, of each of `all_cells`
        count = np.bincount(place, np.concatenate([np.empty(0), *counts]), minlength=cell.size).astype(np.int64)
        first_rater, second_rater, first_level, second_level = np.unravel_index(cell, shape)
        return GradePairs(first_rater, second_rater, first_level, second_level, count)


@dataclass(frozen=True, eq=False)
class GradePairs:
    """How often two raters gave these two levels to the same pair. Each field: int64[cells]."""

    first_rater: np.ndarray
    second_rater: np.ndarray  # with a higher number than the first
    first_level: np.ndarray
    second_level: np.ndarray
    count: np.ndarray


def table(
    pair: np.ndarray,
    rater: np.ndarray,
    grade: np.ndarray,
    raters: int,
    scale: Sequence[float] | np.ndarray | None = None,
    moment: np.ndarray | None = None,
) -> Table:
    """The table of these ratings. `pair` and `rater` are numbers from 0; `grade` is nan for "cannot judge".

    Each rater must grade a pair at most once. raters: how many there are, also without a rating. scale: all
    possible grades (None: those that occur). moment: the time of each rating in seconds (None: unknown).
    """
    pair, rater, grade = np.asarray(pair, np.int64), np.asarray(rater, np.int64), np.asarray(grade, np.float64)
    cannot = np.bincount(rater[np.isnan(grade)], minlength=raters)
    graded = np.flatnonzero(~np.isnan(grade))
    order = graded[np.lexsort((rater[graded], pair[graded]))]  # the rows with a grade, by pair and then by rater
    grades = np.unique(grade[order]) if scale is None else np.unique(np.asarray(scale, np.float64))
    level = np.searchsorted(grades, grade[order])
    pairs = int(pair.max(initial=-1)) + 1  # 0 without a rating
    moment = None if moment is None else np.asarray(moment)[order]
    return Table(pairs, raters, grades, pair[order], rater[order], level, cannot, moment)
