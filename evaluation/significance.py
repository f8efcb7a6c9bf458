"""How far a mean over queries could lie from the mean over all queries like them. NumPy only."""

import numpy as np

SEED = 225
AT_ONCE = 1 << 22  # drawn queries held in memory at a time


def bootstrap_interval(
    values: np.ndarray, level: float = 0.95, draws: int = 2000, seed: int = SEED
) -> tuple[np.ndarray, np.ndarray] | tuple[float, float]:
    """Percentile bootstrap interval of the mean of `values` over queries.

    values: float64[queries] gives two floats; float64[queries, columns] gives two float64[columns], every
    column resampled by the same queries. nan for fewer than two queries. The same seed gives the same interval.

    Means of resamples vary as if the variance were divided by n and not by n - 1, so that the plain percentile
    interval is too narrow (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician
    69, 2015: "narrowness bias"); its distances from the mean are widened by sqrt(n / (n - 1)).
    """
    values = np.asarray(values, np.float64)
    if values.ndim not in (1, 2) or not np.isfinite(values).all():
        raise ValueError(f"values must be finite, by query or by query and column, not {values!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws!r}")
    n = len(values)
    if n < 2:
        nothing = np.full(values.shape[1:], np.nan)
        return (nothing, nothing) if values.ndim == 2 else (float("nan"), float("nan"))
    columns = np.ascontiguousarray(values.reshape(n, -1).T)
    mean = np.array([column.mean() for column in columns])
    # Distances from the mean, so that equal values give an interval of no width instead of one of rounding.
    means = _resampled_means(columns - mean[:, np.newaxis], draws, np.random.default_rng(seed))
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = mean + np.quantile(means, tails, axis=1) * np.sqrt(n / (n - 1))
    return (low, high) if values.ndim == 2 else (float(low[0]), float(high[0]))


def _resampled_means(columns: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    """Means of `draws` resamples of float64[columns, queries], float64[columns, draws].

    How often each query was drawn, times the values.
    """
    n = columns.shape[1]
    at_once = max(1, AT_ONCE // n)
    means = np.empty((len(columns), draws))
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        drawn = generator.integers(0, n, (rows, n)) + np.arange(rows)[:, np.newaxis] * n
        times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        # A product of matrices adds up in an order that depends on its width; one column has one order.
        for place, column in enumerate(columns):
            means[place, start : start + rows] = times @ column / n
    return means
