"""Sums of many weightings that come out the same to the last bit, whatever else is summed beside. NumPy only."""

from collections.abc import Iterable, Iterator

import numpy as np

# A float holds every whole number up to 2**53; one bit is left for the rounding to whole numbers.
EXACT = 2.0**52
LEAST_STEP = -1000  # as a power of two: below it steps themselves would round
AT_ONCE = 1 << 15  # weights at a time: so few that they stay in the processor's own memory
ONE_THREAD = 1 << 18  # multiplications: larger products are shared out, and threads wait long on a busy machine


def weighted_sums(weights: Iterable[np.ndarray], columns: np.ndarray, heaviest: int) -> Iterator[np.ndarray]:
    """What float64[queries, columns] add up to under each row of weights: pieces float64[some, columns].

    `weights` are pieces of rows, whole numbers[some, queries], whose sizes add up to at most `heaviest` in a row.
    """
    whole, step = _whole_steps(columns, heaviest)
    width = max(1, ONE_THREAD // max(AT_ONCE, len(whole)))
    blocks = [whole[:, start : start + width].copy() for start in range(0, whole.shape[1], width)]
    for piece in weights:
        rows = piece.astype(np.float64)
        yield np.hstack([rows[:, :0], *(rows @ block for block in blocks)]) * step


def _whole_steps(columns: np.ndarray, heaviest: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns as whole numbers of a step, a power of two, and the step of each.

    So small a step loses nothing but the last bits; and sums of whole numbers below 2**53 have no rounding that
    could depend on the order of adding up, which in a product of matrices depends on its width.
    """
    largest = np.abs(columns).max(axis=0, initial=0)
    with np.errstate(divide="ignore"):
        power = np.ceil(np.log2(largest) + np.log2(heaviest / EXACT))
    step = 2.0 ** np.maximum(power, LEAST_STEP)
    return np.rint(columns / step), step
