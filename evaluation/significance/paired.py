"""Paired tests of mean differences over queries. NumPy and SciPy only.

The functions take differences, float64[queries, pairs]: a column for each pair of systems, on the same queries. A
result is nan for fewer than two queries, and where the systems of the pair are equal on every query.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from .sums import ROWS_AT_ONCE, weighted_sums

EXACT_BELOW = 15  # queries: with fewer, all assignments of signs are enumerated
EXACT_RANKS = 50  # queries: up to this many, the distribution of the signed-rank sum is exact
ROUNDING = 1e-12  # relative to the largest value: smaller differences are rounding errors
TOLERANCE = 1e-9  # relative to the sum of absolute values: sums closer than this count as equal


def differences(values: np.ndarray, first: np.ndarray | int, second: np.ndarray | int) -> np.ndarray:
    """The columns `second` minus the columns `first` of float64[queries, systems]; rounding errors become 0."""
    difference = values[:, second] - values[:, first]
    difference[np.abs(difference) <= ROUNDING * np.abs(values).max(initial=0)] = 0.0
    return difference


def difference_on(counted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The first column of float64[queries, 2] minus the second; nan for a query not in `counted`."""
    difference = np.full(len(values), np.nan)
    difference[counted] = differences(values[counted], first=1, second=0)
    return difference


def mean(difference: np.ndarray) -> np.ndarray:
    """The mean of each column; 0 where it is only a rounding error."""
    if not len(difference):
        return np.full(difference.shape[1], np.nan)
    center = difference.mean(axis=0)
    return np.where(np.abs(center) <= ROUNDING * np.abs(difference).max(axis=0), 0.0, center)


def deviation(difference: np.ndarray) -> np.ndarray:
    """The sample standard deviation (n - 1) of each column; 0 where all its differences are equal."""
    if len(difference) < 2:
        return np.full(difference.shape[1], np.nan)
    spread = difference.std(axis=0, ddof=1)
    # Of equal differences NumPy may return a rounding error.
    return np.where(spread <= ROUNDING * np.abs(difference).max(axis=0), 0.0, spread)


def t_test(difference: np.ndarray, degrees: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The t statistic and two-sided p value of the paired t test; nan where all differences are equal.

    degrees: of freedom; None for queries less 1.
    """
    from scipy.special import stdtr  # imported late: it takes a fifth of a second, and only comparisons need it

    n, spread = len(difference), deviation(difference)
    t = np.full(len(spread), np.nan)
    np.divide(mean(difference) * np.sqrt(n), spread, out=t, where=spread > 0)
    return t, 2 * stdtr(max(n - 1 if degrees is None else degrees, 1), -np.abs(t))


def t_margin(difference: np.ndarray, level: float, degrees: int | None = None) -> np.ndarray:
    """Half the width of the t interval of the mean."""
    from scipy.special import stdtrit

    n = len(difference)
    quantile = stdtrit(max(n - 1 if degrees is None else degrees, 1), (1 + level) / 2)
    return quantile * deviation(difference) / np.sqrt(max(n, 1))


def t_interval(difference: np.ndarray, level: float, degrees: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The low and high end of the t interval of the mean: it contains 0 where `t_test` gives p > 1 - level."""
    center, margin = mean(difference), t_margin(difference, level, degrees)
    return center - margin, center + margin


def randomisation(difference: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The two-sided p value of each column by Fisher's randomisation test: float64[pairs].

    An assignment of signs gives each difference its own or the other sign. p is the share of the assignments whose
    sum of differences is at least as far from 0 as the observed sum.

    With fewer than EXACT_BELOW queries all assignments of signs are enumerated. Otherwise `draws` are drawn, and
    the observed signs count as one draw more, which makes p at least 1 / (draws + 1). nan where nothing differs.
    """
    n = len(difference)
    if n < EXACT_BELOW:
        p = _count_as_extreme(difference, _all_flips(n)) / 2**n
    else:
        p = (_count_as_extreme(difference, _random_flips(n, draws, seed)) + 1) / (draws + 1)
    return np.where(difference.any(axis=0), p, np.nan)


def _count_as_extreme(difference: np.ndarray, flips: Iterator[np.ndarray]) -> np.ndarray:
    """How many of the sign flips put the sum of a column at least as far from 0 as observed, int64[pairs]."""
    total = difference.sum(axis=0)
    least = np.abs(total) - TOLERANCE * np.abs(difference).sum(axis=0)
    count = np.zeros(len(total), np.int64)
    for flipped in weighted_sums(flips, difference, len(difference)):
        # A flipped difference is subtracted instead of added: the sum loses twice its value.
        count += (np.abs(total - 2 * flipped) >= least).sum(axis=0)
    return count


def wilcoxon(difference: np.ndarray) -> np.ndarray:
    """The two-sided p value of Wilcoxon's signed-rank test, without zero differences; nan where nothing differs.

    Exact with fewer than EXACT_BELOW queries, and with up to EXACT_RANKS where all absolute differences are
    distinct and none is 0. Otherwise by the normal approximation, with its variance corrected for ties and without
    a correction for continuity.
    (Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, third edition, 2014, section 3.1.)
    """
    if len(difference) < EXACT_BELOW:  # the randomisation test of signed ranks in place of differences
        ranks = np.empty(difference.shape)
        for pair, column in enumerate(difference.T):
            ranks[:, pair], _ = _signed_ranks(column)
        # Of so few queries all assignments of signs are counted, whatever `draws` is.
        return randomisation(ranks, draws=1, seed=0)
    return np.array([_signed_rank_p(column) for column in difference.T], np.float64)


def _signed_ranks(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The signed rank of each difference by absolute value among those other than 0, and the sizes of the ties.

    Equal absolute values share their mean rank. A difference of 0 has rank 0. A tie is the differences with one
    absolute value other than 0; its size is 1 for a value that no other difference has.
    """
    ranks = np.zeros(len(column))
    is_ranked = column != 0
    _, place, tie_sizes = np.unique(np.abs(column[is_ranked]), return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(tie_sizes) - (tie_sizes - 1) / 2  # of each distinct value
    ranks[is_ranked] = mean_ranks[place]
    return np.sign(column) * ranks, tie_sizes


def _signed_rank_p(column: np.ndarray) -> float:
    """The p value of `wilcoxon` for one pair of systems; nan where nothing differs. column: float64[queries]."""
    from scipy.special import ndtr

    ranks, tie_sizes = _signed_ranks(column)  # sizes: how many differences have each absolute value other than 0
    n = int(tie_sizes.sum())  # of differences that are not 0
    if not n:
        return np.nan
    positive_sum = ranks[ranks > 0].sum()
    expected = n * (n + 1) / 4  # of positive_sum, where both signs are as likely
    no_ties_or_zeros = len(tie_sizes) == len(column)  # as many distinct absolute values other than 0 as queries
    if no_ties_or_zeros and n <= EXACT_RANKS:
        # All ranks add up to 2 * expected, of which the negative ones have what the positive ones have not.
        smaller_sum = int(min(positive_sum, 2 * expected - positive_sum))
        return min(1.0, 2 * _ways_of_rank_sums(n)[: smaller_sum + 1].sum() / 2**n)
    variance = (n * (n + 1) * (2 * n + 1) - (tie_sizes**3 - tie_sizes).sum() / 2) / 24
    return 2 * float(ndtr(-abs(positive_sum - expected) / np.sqrt(variance)))


@cache
def _ways_of_rank_sums(n: int) -> np.ndarray:
    """In how many ways some of the ranks 1 to n add up to 0, 1, 2, …: float64[sums], exact up to n = 50."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        with_rank = np.append(np.zeros(rank), ways)  # each sum is higher by the rank
        with_rank[: len(ways)] += ways  # the ways without the rank
        ways = with_rank
    return ways


def tally(difference: np.ndarray) -> np.ndarray:
    """The numbers of queries on which the second system is better, equal and worse, int64[3, pairs]."""
    return np.array([(difference > 0).sum(axis=0), (difference == 0).sum(axis=0), (difference < 0).sum(axis=0)])


def _all_flips(n: int) -> Iterator[np.ndarray]:
    """All 2**n assignments of signs, in chunks of uint8[rows, n]: 1 where a difference is flipped."""
    for start in range(0, 2**n, ROWS_AT_ONCE):
        numbers = np.arange(start, min(start + ROWS_AT_ONCE, 2**n))  # whose bits are the flips
        yield (numbers[:, np.newaxis] >> np.arange(n) & 1).astype(np.uint8)


def _random_flips(n: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Random assignments of signs: chunks of uint8[rows, n], with `draws` rows in all."""
    # Random bytes come in units of four: rows of whole units are the same for every chunk size.
    generator = np.random.default_rng(seed)
    size = (n + 31) // 32 * 4
    for start in range(0, draws, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, draws - start)
        drawn = np.frombuffer(generator.bytes(rows * size), np.uint8).reshape(rows, size)
        yield np.unpackbits(drawn, axis=1, count=n)
