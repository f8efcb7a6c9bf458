"""Paired tests of mean differences over queries. NumPy and SciPy only.

Every function takes differences, float64[queries, pairs]: each column one pair of systems on the same queries. The
result is nan for fewer than two queries, or where nothing differs.
"""

from collections.abc import Iterator

import numpy as np

from .sums import AT_ONCE, weighted_sums

EXACT_BELOW = 15  # queries: below, all sign flips are tried
EXACT_RANKS = 50  # queries: up to here the distribution of the signed-rank sum is computed
ROUNDING = 1e-12  # relative to the largest value: smaller differences are rounding errors
NEAR = 1e-9  # relative to the sum of absolute values: two sums closer than this are equal


def differences(values: np.ndarray, first: np.ndarray | int, second: np.ndarray | int) -> np.ndarray:
    """`second` minus `first`, columns of float64[queries, systems]; rounding errors become 0."""
    difference = values[:, second] - values[:, first]
    difference[np.abs(difference) <= ROUNDING * np.abs(values).max(initial=0)] = 0.0
    return difference


def mean(difference: np.ndarray) -> np.ndarray:
    """The mean of each column; 0 where it is only a rounding error."""
    if not len(difference):
        return np.full(difference.shape[1], np.nan)
    middle = difference.mean(axis=0)
    return np.where(np.abs(middle) <= ROUNDING * np.abs(difference).max(axis=0), 0.0, middle)


def deviation(difference: np.ndarray) -> np.ndarray:
    """The standard deviation (n - 1) of each column, 0 where all its differences are the same."""
    if len(difference) < 2:
        return np.full(difference.shape[1], np.nan)
    spread = difference.std(axis=0, ddof=1)
    # The deviation of equal differences can be a rounding error.
    return np.where(spread <= ROUNDING * np.abs(difference).max(axis=0), 0.0, spread)


def t_test(difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """t and the two-sided p of the paired t test; nan where all differences are the same."""
    from scipy.special import stdtr  # a fifth of a second that only who compares systems waits for

    n, spread = len(difference), deviation(difference)
    t = np.full(len(spread), np.nan)
    np.divide(mean(difference) * np.sqrt(n), spread, out=t, where=spread > 0)
    return t, 2 * stdtr(max(n - 1, 1), -np.abs(t))


def t_interval(difference: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval that holds 0 where the t test gives p > 1 - level."""
    from scipy.special import stdtrit

    n = len(difference)
    reach = stdtrit(max(n - 1, 1), (1 + level) / 2) * deviation(difference) / np.sqrt(max(n, 1))
    middle = mean(difference)
    return middle - reach, middle + reach


def randomisation(difference: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The two-sided p of Fisher's randomisation test: how often random signs give a sum as far from 0.

    Below EXACT_BELOW queries all signs are tried. Otherwise `draws` are drawn and the observed signs are counted
    with them, so that p is at least 1 / (draws + 1). nan where nothing differs.
    """
    n = len(difference)
    if n < EXACT_BELOW:
        p = _as_far(difference, _every_flip(n)) / 2**n
    else:
        p = (_as_far(difference, _flips(n, draws, seed)) + 1) / (draws + 1)
    return np.where(difference.any(axis=0), p, np.nan)


def _as_far(difference: np.ndarray, flips: Iterator[np.ndarray]) -> np.ndarray:
    """In how many of the sign flips the sum of each column is at least as far from 0 as observed, int64[pairs]."""
    whole = difference.sum(axis=0)
    enough, count = np.abs(whole) - NEAR * np.abs(difference).sum(axis=0), np.zeros(len(whole), np.int64)
    for flipped in weighted_sums(flips, difference, len(difference)):
        # A flipped difference is subtracted instead of added: the sum loses twice its value.
        count += (np.abs(whole - 2 * flipped) >= enough).sum(axis=0)
    return count


def wilcoxon(difference: np.ndarray) -> np.ndarray:
    """The two-sided p of Wilcoxon's signed-rank test, zero differences left out; nan where nothing differs.

    Exact below EXACT_BELOW queries, and up to EXACT_RANKS where no two sizes are equal and none is 0; otherwise by
    the normal approximation.
    """
    if len(difference) < EXACT_BELOW:
        return randomisation(_signed_ranks(difference), draws=1, seed=0)
    from scipy.stats import wilcoxon as signed_rank

    p = np.full(difference.shape[1], np.nan)
    for place, column in enumerate(difference.T):
        if column.any():
            sizes = np.unique(np.abs(column))
            is_exact = sizes.size == column.size <= EXACT_RANKS and sizes[0] > 0
            p[place] = signed_rank(column, method="exact" if is_exact else "asymptotic").pvalue
    return p


def _signed_ranks(difference: np.ndarray) -> np.ndarray:
    """The rank of each difference among those of its column that are not 0, by size, with its sign."""
    from scipy.stats import rankdata

    zeros = (difference == 0).sum(axis=0)
    # Zeros have the least sizes, so that they push the ranks of all others up by how many they are.
    return np.sign(difference) * (rankdata(np.abs(difference), axis=0) - zeros)


def tally(difference: np.ndarray) -> np.ndarray:
    """On how many queries the second system is better, equal and worse, int64[3, pairs]."""
    return np.array([(difference > 0).sum(axis=0), (difference == 0).sum(axis=0), (difference < 0).sum(axis=0)])


def _every_flip(n: int) -> Iterator[np.ndarray]:
    """All 2**n choices of the differences to flip."""
    yield (np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1).astype(np.uint8)


def _flips(n: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    # Random bytes come in units of four: rows of whole units are the same for every chunk size.
    generator, size = np.random.default_rng(seed), (n + 31) // 32 * 4
    at_once = max(1, AT_ONCE // n)
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        drawn = np.frombuffer(generator.bytes(rows * size), np.uint8).reshape(rows, size)
        yield np.unpackbits(drawn, axis=1, count=n)
