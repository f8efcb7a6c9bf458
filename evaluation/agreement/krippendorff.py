"""Krippendorff's alpha: agreement beyond chance for any number of raters, with missing ratings. NumPy only.

1 is perfect agreement, 0 is agreement by chance, and a negative value is systematic disagreement. The distance of
two grades depends on the kind of scale. Nominal: equal or not. Interval: the difference of the values. Ordinal:
the number of ratings between them. (Krippendorff, Content Analysis, on reliability.)
"""

import numpy as np

from ..significance.draws import ALPHA, SEED
from .table import Table

KINDS = ("nominal", "ordinal", "interval")
AT_ONCE = 1 << 20  # counts in one chunk of resamples


def alpha(table: Table, kind: str) -> float:
    """Krippendorff's alpha; nan where no pair has two grades, and where all grades are the same."""
    if not table.shared.pair.size:
        return float("nan")
    patterns, frequency = table.patterns
    return float(_alphas(patterns, frequency[np.newaxis].astype(np.float64), table.grades, kind)[0])


def alpha_interval(
    table: Table, kind: str, level: float = 0.95, draws: int = ALPHA, seed: int = SEED
) -> tuple[float, float]:
    """The percentile bootstrap interval of alpha over pairs: low and high end.

    A resample in which all grades are the same has no alpha. The ends are nan for fewer than two pairs, and where
    so many resamples have no alpha that an end would fall among them. The same seed gives the same interval.
    """
    pairs = int((table.ratings > 1).sum())
    if pairs < 2:
        return float("nan"), float("nan")
    patterns, frequency = table.patterns
    generator = np.random.default_rng(seed)
    at_once = max(1, AT_ONCE // len(patterns))
    drawn = []
    for start in range(0, draws, at_once):
        times = generator.multinomial(pairs, frequency / pairs, min(at_once, draws - start))
        drawn.append(_alphas(patterns, times.astype(np.float64), table.grades, kind))
    drawn = np.concatenate(drawn)
    known = drawn[~np.isnan(drawn)]
    if known.size < draws * (1 + level) / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _alphas(patterns: np.ndarray, times: np.ndarray, grades: np.ndarray, kind: str) -> np.ndarray:
    """Alpha of each resample, float64[draws]. times: float64[draws, patterns], how often each pattern occurs."""
    given = times @ patterns  # count of each grade
    ratings = patterns.sum(axis=1)
    if kind == "nominal":
        apart = ratings**2 - (patterns**2).sum(axis=1)
        expected = given.sum(axis=1) ** 2 - (given**2).sum(axis=1)
        observed = times @ (apart / (ratings - 1))
    else:
        place = np.cumsum(given, axis=1) - given / 2 if kind == "ordinal" else np.broadcast_to(grades, given.shape)
        # Centred, since squares of large grades would lose the digits of small differences.
        place = place - np.average(place, axis=1, weights=given)[:, np.newaxis]
        expected = 2 * (given.sum(axis=1) * (given * place**2).sum(axis=1) - (given * place).sum(axis=1) ** 2)
        # The sum of squared distances over all ordered pairs of grades of a pattern.
        apart = 2 * (ratings * (place**2 @ patterns.T) - (place @ patterns.T) ** 2)
        observed = (times * apart / (ratings - 1)).sum(axis=1)
    result = np.full(len(times), np.nan)
    varied = (given > 0).sum(axis=1) > 1
    np.divide(observed * (given.sum(axis=1) - 1), expected, out=result, where=varied)
    return 1 - result
