"""Weighted sums of columns, equal to the last bit whichever other columns are summed with them. NumPy only."""

from collections.abc import Iterable, Iterator

import numpy as np

# A float holds every whole number up to 2**53; one bit is left for the rounding to whole numbers.
EXACT = 2.0**52
LEAST_STEP = -1000  # exponent of two: smaller steps would be subnormal
AT_ONCE = 1 << 15  # weights in one chunk, which fits into the processor's cache
ONE_THREAD = 1 << 18  # multiplications: larger matrix products use threads, which is slow on a busy machine
SIDE = 100  # rows and columns of a matrix product, at most


def weighted_sums(weights: Iterable[np.ndarray], columns: np.ndarray, heaviest: int) -> Iterator[np.ndarray]:
    """The sums of `columns` under each row of weights: chunks of float64[rows, columns].

    columns: float64[queries, columns]; weights: chunks of whole numbers [rows, queries], each row of which adds up
    to at most `heaviest`.
    """
    whole, step = whole_steps(columns, heaviest)
    deep = ONE_THREAD // (SIDE * min(SIDE, max(1, whole.shape[1])))
    for rows in _together(weights):
        sums = np.zeros((len(rows), whole.shape[1]))
        for first in range(0, len(whole), deep):
            part, values = rows[:, first : first + deep].astype(np.float64), whole[first : first + deep]
            for left in range(0, whole.shape[1], SIDE):
                sums[:, left : left + SIDE] += part @ values[:, left : left + SIDE]
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
        power = np.ceil(np.log2(largest) + np.log2(heaviest / EXACT))
    step = 2.0 ** np.maximum(power, LEAST_STEP)
    return np.rint(columns / step), step
