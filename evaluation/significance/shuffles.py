"""Sums of columns whose values are permuted within each row. NumPy only.

The values are rounded to whole multiples of a small step, which makes their sums exact. A sum is then the same to
the last bit whether all rows are added, or only the changed rows are subtracted and added again.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .sums import whole_steps

ROWS_AT_ONCE = 1 << 15  # rows in one chunk, which fits into the processor's cache
MOST_CACHED_BYTES = 1 << 25  # shuffles up to this size are cached
FEW_CHANGED = 0.1  # as a share of rows: where more have changed, all are added again


def shuffled_sums(values: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The sums of the columns in each draw, with the values of every row permuted: float64[columns, draws].

    values: float64[rows, columns]. The same seed gives the same permutations.
    """
    whole, step = whole_steps(values.reshape(-1, 1), len(values))
    whole = whole.reshape(values.shape)
    if values.size * draws * _index_type(values.shape[1]).itemsize <= MOST_CACHED_BYTES:
        return _cached_shuffles(*values.shape, draws, seed).sums(whole) * step
    return _sums(whole, shuffles(*values.shape, draws, seed)) * step


def shuffles(rows: int, columns: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Random permutations of the columns of each row: for each place, the column whose value comes there.

    Chunks of unsigned[columns, draws of the chunk, rows], with `draws` in all.
    """
    generator = np.random.default_rng(seed)
    index_type = _index_type(columns)
    at_once = max(1, ROWS_AT_ONCE // rows)  # draws
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start) * rows
        # The permutations begin with each column at its own place. `order` is flat, place after place, with `size`
        # cells each, one for each draw and row: looking up one index takes half the time of two.
        order = np.repeat(np.arange(columns, dtype=index_type), size)
        cells = np.arange(size)
        places = order.reshape(columns, size)  # the same memory, by place
        # Fisher-Yates for all rows and draws at once: the last place swaps with a random one up to itself.
        for last in range(columns - 1, 0, -1):
            random_places = generator.integers(0, last + 1, size, np.min_scalar_type(last))  # one for each cell
            # As indices in `order`. The small type of the places becomes int64 times an intp, and cannot overflow.
            to_swap = random_places * np.intp(size) + cells
            columns_there = order[to_swap]
            order[to_swap] = places[last]
            places[last] = columns_there
        yield places.reshape(columns, -1, rows)


class Shuffles:
    """The permutations for a table of one shape, and the sums of the last table."""

    def __init__(self, rows: int, columns: int, draws: int, seed: int) -> None:
        self.orders = list(shuffles(rows, columns, draws, seed))
        # Replaced as one tuple: a thread that reads it meanwhile gets a table with its own sums.
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    def sums(self, whole: np.ndarray) -> np.ndarray:
        """The sums of a table of whole numbers. Where few of its rows changed, only these are added again."""
        former, sums = self.last or (None, None)
        changed = np.arange(len(whole)) if former is None else np.flatnonzero((former != whole).any(axis=1))
        if former is None or changed.size > FEW_CHANGED * len(whole):
            sums = _sums(whole, self.orders)
        elif changed.size:
            orders = [order[..., changed] for order in self.orders]
            sums = sums + _sums(whole[changed], orders) - _sums(former[changed], orders)
        self.last = whole, sums
        return sums


# Cached: shuffles do not depend on the values, and drawing them takes most of the time.
_cached_shuffles = lru_cache(maxsize=2)(Shuffles)


def _sums(whole: np.ndarray, orders: Iterator[np.ndarray] | list[np.ndarray]) -> np.ndarray:
    """The sums of the columns of `whole` under these permutations, float64[columns, draws]."""
    values = whole.ravel()  # flat, so that one index finds a value: the start of its row plus its column
    start = np.arange(len(whole)) * whole.shape[1]
    return np.concatenate(
        [np.stack([values[place + start].sum(axis=1) for place in order]) for order in orders], axis=1
    )


def _index_type(columns: int) -> np.dtype:
    return np.min_scalar_type(columns - 1)
