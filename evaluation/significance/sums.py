"""Weighted sums of columns, equal to the last bit whichever other columns are summed with them. NumPy only."""

from collections.abc import Iterable, Iterator

import numpy as np

# Sums of whole numbers up to this one are exact: a float holds those up to 2**53, and rounding to whole numbers
# takes one bit.
LARGEST_EXACT_SUM = 2.0**52
LEAST_STEP_EXPONENT = -1000  # exponent of two: smaller steps would be subnormal
WEIGHTS_AT_ONCE = 1 << 15  # weights in one chunk, which fits into the processor's cache
MOST_MULTIPLICATIONS = 1 << 18  # larger matrix products use threads, which is slow on a busy machine
SIDE = 100  # most rows, and most columns, of one matrix product


def weighted_sums(weights: Iterable[np.ndarray], columns: np.ndarray, heaviest: int) -> Iterator[np.ndarray]:
    """The sums of `columns` under each row of weights: chunks of float64[rows, columns].

    columns: float64[queries, columns]; weights: chunks of whole numbers [rows, queries], each row of which adds up
    to at most `heaviest`.
    """
    numbers, step = whole_steps(columns, heaviest)
    queries, width = numbers.shape
    # A matrix product is of at most SIDE rows x `depth` queries x SIDE columns.
    depth = MOST_MULTIPLICATIONS // (SIDE * min(SIDE, max(1, width)))
    for rows in _together(weights):
        sums = np.zeros((len(rows), width))
        for first in range(0, queries, depth):
            part = rows[:, first : first + depth].astype(np.float64)
            for left in range(0, width, SIDE):
                sums[:, left : left + SIDE] += part @ numbers[first : first + depth, left : left + SIDE]
        yield sums * step


def _together(chunks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows of the chunks in chunks of SIDE rows."""
    held: list[np.ndarray] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= SIDE:
            rows = np.concatenate(held)
            yield from (rows[first : first + SIDE] for first in range(0, len(rows) - SIDE + 1, SIDE))
            held = [rows[len(rows) // SIDE * SIDE :]]
    if held:
        yield np.concatenate(held)


def whole_steps(columns: np.ndarray, heaviest: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns as whole multiples of a step, and the step of each column, a power of two.

    The step is so small that only the last bits are lost. Sums of whole numbers below 2**53 are exact, and so do
    not depend on the order of addition, which in a matrix product depends on its width.
    """
    largest = np.abs(columns).max(axis=0, initial=0)
    with np.errstate(divide="ignore"):
        power = np.ceil(np.log2(largest) + np.log2(heaviest / LARGEST_EXACT_SUM))
    step = 2.0 ** np.maximum(power, LEAST_STEP_EXPONENT)
    return np.rint(columns / step), step
