"""Weighted sums of columns, equal to the last bit whichever other columns are summed with them. NumPy only."""

from collections.abc import Iterable, Iterator

import numpy as np

# Sums of whole numbers up to this one are exact: a float holds those up to 2**53, and rounding to whole numbers
# takes one bit.
LARGEST_EXACT_SUM = 2.0**52
LEAST_STEP_EXPONENT = -1000  # exponent of two: smaller steps would be subnormal
ROWS_AT_ONCE = 100  # rows of weights in a chunk
COLUMNS_AT_ONCE = 100
# Larger matrix products use threads. That changes no sum, but is slow on a busy machine.
MOST_MULTIPLICATIONS = 1 << 18


def weighted_sums(weights: Iterable[np.ndarray], columns: np.ndarray, total_weight: int) -> Iterator[np.ndarray]:
    """The sums of `columns` under each row of weights: chunks of float64[rows, columns].

    columns: float64[queries, columns]; weights: chunks of whole numbers [rows, queries] with up to ROWS_AT_ONCE
    rows, each of which adds up to at most `total_weight`. The columns are rounded to whole multiples of a small
    step, since sums of whole numbers are exact in any order of addition.
    """
    numbers, step = whole_steps(columns, total_weight)  # the columns are numbers * step, and all numbers are whole
    queries, width = numbers.shape
    # A matrix product of more than MOST_MULTIPLICATIONS would use threads, which is slow on a busy machine. So it
    # has at most ROWS_AT_ONCE rows × `queries_at_once` × COLUMNS_AT_ONCE columns, or the width where that is less.
    # A width of 0 counts as 1, as it divides.
    queries_at_once = MOST_MULTIPLICATIONS // (ROWS_AT_ONCE * min(COLUMNS_AT_ONCE, max(1, width)))
    for rows in weights:
        sums = np.zeros((len(rows), width))
        for first in range(0, queries, queries_at_once):
            some_queries = slice(first, first + queries_at_once)
            part = rows[:, some_queries].astype(np.float64)
            for left in range(0, width, COLUMNS_AT_ONCE):
                some_columns = slice(left, left + COLUMNS_AT_ONCE)
                sums[:, some_columns] += part @ numbers[some_queries, some_columns]
        yield sums * step


def whole_steps(columns: np.ndarray, total_weight: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns as whole multiples of a step, and the step of each column, a power of two.

    The step is so small that only the last bits are lost. Sums of whole numbers below 2**53 are exact, and so do
    not depend on the order of addition, which in a matrix product depends on its width. total_weight: the largest
    sum of the weights with which a column is added up.
    """
    largest = np.abs(columns).max(axis=0, initial=0)
    with np.errstate(divide="ignore"):
        power = np.ceil(np.log2(largest) + np.log2(total_weight / LARGEST_EXACT_SUM))
    step = 2.0 ** np.maximum(power, LEAST_STEP_EXPONENT)
    return np.rint(columns / step), step
