"""Krippendorff's alpha: agreement beyond chance for any number of raters, with missing ratings. NumPy only.

1 is perfect agreement, 0 is agreement by chance, and a negative value is systematic disagreement. The distance of
two grades depends on the kind of scale. Nominal: equal or not. Interval: the difference of the values. Ordinal:
the number of ratings between them. (Krippendorff, Content Analysis, on reliability.)
"""

import numpy as np

from ..significance.draws import ALPHA_DRAWS, SEED
from .table import Table

KINDS = ("nominal", "ordinal", "interval")
LEVEL = 0.95
COUNTS_AT_ONCE = 1 << 20  # resamples x patterns in memory together


def alpha(table: Table, kind: str) -> float:
    """Krippendorff's alpha; nan where no pair has two grades, and where all grades are the same."""
    if not table.graded_twice.pair.size:
        return float("nan")
    patterns, frequency = table.patterns
    return float(_alphas(patterns, frequency[np.newaxis].astype(np.float64), table.grades, kind)[0])


def alpha_interval(table: Table, kind: str, draws: int = ALPHA_DRAWS, seed: int = SEED) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of alpha over pairs: low and high end.

    A resample in which all grades are the same has no alpha. The ends are nan for fewer than two pairs, and where
    so many resamples have no alpha that an end would fall among them. The same seed gives the same interval.
    """
    pairs = int((table.ratings_of_pair > 1).sum())
    if pairs < 2:
        return float("nan"), float("nan")
    patterns, frequency = table.patterns  # of grades, and the number of pairs with each
    generator = np.random.default_rng(seed)
    at_once = max(1, COUNTS_AT_ONCE // len(patterns))  # resamples
    chunks = []
    for start in range(0, draws, at_once):
        frequencies = generator.multinomial(pairs, frequency / pairs, min(at_once, draws - start))
        chunks.append(_alphas(patterns, frequencies.astype(np.float64), table.grades, kind))
    drawn = np.concatenate(chunks)
    defined = drawn[~np.isnan(drawn)]
    low_share, high_share = (1 - LEVEL) / 2, (1 + LEVEL) / 2  # of the resamples, below each end
    # Resamples without alpha could stand at either end. If they are more than lie beyond an end, it is unknown.
    if defined.size < draws * high_share:
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [low_share, high_share])
    return float(low), float(high)


def _alphas(patterns: np.ndarray, times: np.ndarray, grades: np.ndarray, kind: str) -> np.ndarray:
    """Alpha of each resample, float64[draws]: 1 - (n - 1) observed / expected disagreement, n the ratings in all.

    expected: the squared distances of all ordered pairs of ratings of the resample, in sum; observed: those within
    each pair, divided by the number of its ratings less 1, in sum over the pairs.

    A pattern says how many ratings of each grade a pair has, two or more in all. patterns: float64[patterns,
    grades]; times: float64[draws, patterns], how many pairs of the resample have the pattern.
    """
    given = times @ patterns  # float64[draws, grades], the number of ratings with each grade
    ratings = patterns.sum(axis=1)  # of a pair with the pattern, float64[patterns]
    total = given.sum(axis=1)  # ratings of the resample, float64[draws]
    if kind == "nominal":
        # Ordered pairs of ratings with different grades: in a pair with the pattern, and in the whole resample.
        distance = ratings**2 - (patterns**2).sum(axis=1)  # float64[patterns]
        expected = total**2 - (given**2).sum(axis=1)
        observed = times @ (distance / (ratings - 1))
    else:
        if kind == "ordinal":
            # The mean rank of the ratings with each grade, less 1/2, which changes no distance.
            place = np.cumsum(given, axis=1) - given / 2
        else:
            place = np.broadcast_to(grades, given.shape)
        # Centred, since squares of large grades would lose the digits of small differences.
        place = place - np.average(place, axis=1, weights=given)[:, np.newaxis]
        # The sums of the places of all ratings, which is now 0 but for rounding, and of their squares.
        places, squares = (given * place).sum(axis=1), (given * place**2).sum(axis=1)
        expected = _squared_distances(total, places, squares)
        # The same for the ratings of a pair with the pattern, float64[draws, patterns].
        distance = _squared_distances(ratings, place @ patterns.T, place**2 @ patterns.T)
        observed = (times * distance / (ratings - 1)).sum(axis=1)
    disagreement = np.full(len(times), np.nan)  # observed over expected; nan where all grades are the same
    np.divide(observed * (total - 1), expected, out=disagreement, where=(given > 0).sum(axis=1) > 1)
    return 1 - disagreement


def _squared_distances(number: np.ndarray, total: np.ndarray, total_of_squares: np.ndarray) -> np.ndarray:
    """The sum of (a - b)² over all ordered pairs of values.

    It follows from their number, from their sum `total`, and from the sum of their squares.
    """
    return 2 * (number * total_of_squares - total**2)
