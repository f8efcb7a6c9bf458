"""Sums of columns whose values are shuffled within each row. NumPy only.

The values are rounded to whole steps, so that sums have no rounding error. Then a sum is the same to the last bit
whether all rows were added, or the changed ones taken out and added again.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .sums import AT_ONCE, whole_steps

KEPT = 1 << 25  # bytes: shuffles up to this size are kept
FEW = 0.1  # share of rows; where more changed, all are added again


def shuffled_sums(values: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The sum of each column with the values of every row shuffled, float64[columns, draws].

    values: float64[rows, columns]. The same seed gives the same shuffles.
    """
    whole, step = whole_steps(values.reshape(-1, 1), len(values))
    whole = whole.reshape(values.shape)
    if values.size * draws * _type(values.shape[1]).itemsize <= KEPT:
        return _kept(*values.shape, draws, seed).sums(whole) * step
    return _all(whole, shuffles(*values.shape, draws, seed)) * step


def shuffles(rows: int, columns: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """The column whose value comes to each place: chunks unsigned[columns, some, rows], `draws` in all."""
    generator = np.random.default_rng(seed)
    at_once = max(1, AT_ONCE // rows)
    for start in range(0, draws, at_once):
        some = min(at_once, draws - start)
        cells = np.arange(some * rows)
        left = np.repeat(np.arange(columns, dtype=_type(columns)), cells.size).reshape(columns, -1)
        order = np.empty_like(left)
        # Fisher-Yates for all rows and draws at once: the last place gets a random one of the columns left.
        for last in range(columns - 1, -1, -1):
            which = generator.integers(0, last + 1, cells.size, np.min_scalar_type(last))
            order[last] = left[which, cells]
            left[which, cells] = left[last]
        yield order.reshape(columns, some, rows)


class Shuffles:
    """All shuffles of a table of one shape, and the sums that they gave last."""

    def __init__(self, rows: int, columns: int, draws: int, seed: int) -> None:
        self.orders = list(shuffles(rows, columns, draws, seed))
        # Replaced in one piece: threads that read it meanwhile have values with their own sums.
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    def sums(self, whole: np.ndarray) -> np.ndarray:
        """The sums of whole numbers; where few rows differ from those before, only these are added again."""
        former, sums = self.last or (None, None)
        changed = np.arange(len(whole)) if former is None else np.flatnonzero((former != whole).any(axis=1))
        if former is None or changed.size > FEW * len(whole):
            sums = _all(whole, self.orders)
        elif changed.size:
            orders = [order[..., changed] for order in self.orders]
            sums = sums + _all(whole[changed], orders) - _all(former[changed], orders)
        self.last = whole, sums
        return sums


# Cached: shuffles do not depend on the values, and drawing them takes most of the time.
_kept = lru_cache(maxsize=2)(Shuffles)


def _all(whole: np.ndarray, orders: Iterator[np.ndarray] | list[np.ndarray]) -> np.ndarray:
    """The sums of the rows in these orders, float64[columns, draws]."""
    values, start = whole.ravel(), np.arange(len(whole)) * whole.shape[1]
    return np.concatenate(
        [np.stack([values[place + start].sum(axis=1) for place in order]) for order in orders], axis=1
    )


def _type(columns: int) -> np.dtype:
    return np.min_scalar_type(columns - 1)
