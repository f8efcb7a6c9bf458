"""Krippendorff's alpha: agreement beyond chance for any number of raters, with holes. NumPy only.

1 is perfect agreement, 0 what chance would give, below it raters disagree more than by chance. How far two grades
are apart depends on the kind of scale: on a nominal one they are equal or not, on an interval one their values
count, on an ordinal one the ratings that lie between them. (Krippendorff, Content Analysis, on reliability.)
"""

import numpy as np

from ..significance import SEED
from .table import Table

KINDS = ("nominal", "ordinal", "interval")
DRAWS = 1000
AT_ONCE = 1 << 20  # numbers of a piece of draws


def alpha(found: Table, kind: str) -> float:
    """nan where no pair has two grades, or where all grades are the same: nothing could have disagreed."""
    if not found.shared.pair.size:
        return float("nan")
    patterns, frequency = found.patterns
    return float(_alphas(patterns, frequency[np.newaxis].astype(np.float64), found.grades, kind)[0])


def alpha_interval(
    found: Table, kind: str, level: float = 0.95, draws: int = DRAWS, seed: int = SEED
) -> tuple[float, float]:
    """Percentile interval of alpha with the pairs resampled; the same seed gives the same interval.

    A resample in which all grades are the same has no alpha. nan where so many are like that that the ends of the
    interval would be theirs, and for fewer than two pairs.
    """
    pairs = int((found.ratings > 1).sum())
    if pairs < 2:
        return float("nan"), float("nan")
    patterns, frequency = found.patterns
    generator = np.random.default_rng(seed)
    at_once = max(1, AT_ONCE // len(patterns))
    drawn = []
    for start in range(0, draws, at_once):
        times = generator.multinomial(pairs, frequency / pairs, min(at_once, draws - start))
        drawn.append(_alphas(patterns, times.astype(np.float64), found.grades, kind))
    drawn = np.concatenate(drawn)
    known = drawn[~np.isnan(drawn)]
    if known.size < draws * (1 + level) / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _alphas(patterns: np.ndarray, times: np.ndarray, grades: np.ndarray, kind: str) -> np.ndarray:
    """Alpha for each row of `times`, float64[draws, patterns]: how often each pattern occurs."""
    given = times @ patterns  # how often each grade was given
    ratings = patterns.sum(axis=1)
    if kind == "nominal":
        apart = ratings**2 - (patterns**2).sum(axis=1)
        expected = given.sum(axis=1) ** 2 - (given**2).sum(axis=1)
        observed = times @ (apart / (ratings - 1))
    else:
        place = np.cumsum(given, axis=1) - given / 2 if kind == "ordinal" else np.broadcast_to(grades, given.shape)
        # From the middle, or the squares of large grades would take the digits of small differences.
        place = place - np.average(place, axis=1, weights=given)[:, np.newaxis]
        expected = 2 * (given.sum(axis=1) * (given * place**2).sum(axis=1) - (given * place).sum(axis=1) ** 2)
        # Of all ordered couples of a pattern, the squared distances in all.
        apart = 2 * (ratings * (place**2 @ patterns.T) - (place @ patterns.T) ** 2)
        observed = (times * apart / (ratings - 1)).sum(axis=1)
    result = np.full(len(times), np.nan)
    varied = (given > 0).sum(axis=1) > 1
    np.divide(observed * (given.sum(axis=1) - 1), expected, out=result, where=varied)
    return 1 - result
