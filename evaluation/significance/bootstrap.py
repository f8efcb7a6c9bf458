"""Bootstrap confidence intervals of means over queries. NumPy only."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .draws import BOOTSTRAP_DRAWS, SEED
from .sums import ROWS_AT_ONCE, weighted_sums

MOST_CACHED_BYTES = 1 << 24  # resamples up to this size are cached
NUMBERS_AT_ONCE = 1 << 15  # that are drawn together: more of them take longer to count


def bootstrap_interval(
    values: np.ndarray, level: float = 0.95, draws: int = BOOTSTRAP_DRAWS, seed: int = SEED
) -> tuple[np.ndarray, np.ndarray] | tuple[float, float]:
    """The percentile bootstrap interval of the mean over queries: its low and high end.

    values: float64[queries] or float64[queries, columns]. For float64[queries] the ends are floats. For a table
    they are float64[columns], and all columns are resampled by the same queries. The ends are nan for fewer than
    two queries. The same seed gives the same interval.

    The variance of resampled means is that of n, not of n - 1, which makes the percentile interval too narrow
    (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015: "narrowness
    bias"). Its distances from the mean are therefore multiplied by sqrt(n / (n - 1)).
    """
    values = np.asarray(values, np.float64)
    if values.ndim not in (1, 2) or not np.isfinite(values).all():
        raise ValueError(f"values must be finite, by query or by query and column, not {values!r}.")
    n = len(values)
    if n < 2:
        undefined = np.full(values.shape[1:], np.nan)
        return (undefined, undefined) if values.ndim == 2 else (float("nan"), float("nan"))
    columns = values.reshape(n, -1)  # also of a single column
    # Column by column: NumPy adds up a table in another order than a single column, and the mean of a column must
    # not depend on the others, not even in its last bit.
    mean = np.array([np.ascontiguousarray(column).mean() for column in columns.T])
    # Chunks of resamples: how often each query is drawn, n times in all.
    counts = _cached_resamples(n, draws, seed) if n * draws <= MOST_CACHED_BYTES else resamples(n, draws, seed)
    # Sums of deviations from the mean, so that equal values give an interval of width 0 without rounding errors.
    sums = np.concatenate(list(weighted_sums(counts, columns - mean, total_weight=n)))  # [draws, columns]
    deviations = sums / n
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = mean + np.quantile(deviations, tails, axis=0) * np.sqrt(n / (n - 1))
    return (low, high) if values.ndim == 2 else (float(low[0]), float(high[0]))


# Cached: resamples do not depend on the values, and drawing them takes most of the time.
@lru_cache(maxsize=2)
def _cached_resamples(n: int, draws: int, seed: int) -> list[np.ndarray]:
    return list(resamples(n, draws, seed))


def resamples(n: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Bootstrap resamples: how often each of `n` values is drawn in n draws with replacement.

    Chunks of uint8[rows, n], with `draws` rows in all.
    """
    generator = np.random.default_rng(seed)
    drawn_at_once = max(1, NUMBERS_AT_ONCE // n)  # rows
    for start in range(0, draws, ROWS_AT_ONCE):
        # The chance that a count exceeds a byte is below 10**-500.
        counts = np.empty((min(ROWS_AT_ONCE, draws - start), n), np.uint8)
        for first in range(0, len(counts), drawn_at_once):
            rows = counts[first : first + drawn_at_once]
            drawn = generator.integers(0, n, rows.shape)
            # Row i gets the numbers from i * n on, so that one bincount counts all rows, one after the other.
            drawn += np.arange(len(rows))[:, np.newaxis] * n
            rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
        yield counts
