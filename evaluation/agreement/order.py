"""Stability of the order of systems under other raters. NumPy only; the caller computes the means."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..judgments.rules import Ratings
from ..measures.arrays import groups
from ..significance.draws import RATER_DRAWS, SEED

LEVEL = 0.95
FEWEST_FOR_TAU = 5  # systems: with fewer, Kendall's tau takes only a handful of values


@dataclass(frozen=True, eq=False)
class Stability:
    """The order of systems under resampled ratings and without each rater."""

    means: np.ndarray  # float64[systems], with all ratings
    low: np.ndarray  # float64[systems], 95 % interval of the means over resamples; nan where one has no mean
    high: np.ndarray
    pairs: int  # pairs with two ratings or more: only these change in a resample
    draws: int
    seed: int
    holds: float  # share of resamples in which no two systems swap; nan where all means are equal
    leader_holds: float  # share of resamples in which no system overtakes the best
    kept: np.ndarray  # float64[systems, systems], share in which two systems keep their order; nan for ties
    # Mean of Kendall's tau-b with the order by all raters; nan for few systems, or where all means are tied.
    tau: float
    left_out: list[dict]  # by rater, as `_left_out` has them


def worlds(
    ratings: Ratings, keys: Iterable[str], raters: Iterable[int], draws: int = RATER_DRAWS, seed: int = SEED
) -> Iterator[Ratings]:
    """Sets of ratings to score the systems by: all, then `draws` resamples, then those without each of `raters`.

    A resample draws with replacement, for each pair, as many ratings as the pair has. Adjudicated grades stay, as
    `subset` keeps them all. The draws of a query depend on its key (of `keys`) and its own ratings alone, not on
    those of other queries.
    """
    yield ratings
    rows = np.lexsort((ratings.rater, ratings.document, ratings.query))  # the ratings of a pair are adjacent
    starts, counts = groups(ratings.query[rows], ratings.document[rows])
    # For each of `rows`: where in `rows` the ratings of its pair begin, and how many they are.
    first_of_pair, size_of_pair = np.repeat(starts, counts), np.repeat(counts, counts)
    sizes = np.bincount(ratings.query, minlength=ratings.queries).tolist()  # ratings of each query
    streams = [np.random.default_rng([seed, int.from_bytes(key.encode())]) for key in keys]
    for _ in range(draws):
        # A number from 0 to below 1 for each of `rows`, query by query.
        drawn = [stream.random(size) for stream, size in zip(streams, sizes, strict=True)]
        # Which rating of its pair it draws: 0 for the first, always below `size_of_pair`. Without a query, `drawn`
        # is empty, and an empty array is left.
        nth_of_pair = (np.concatenate([np.empty(0), *drawn]) * size_of_pair).astype(np.int64)
        yield ratings.subset(rows[first_of_pair + nth_of_pair])
    for rater in raters:
        yield ratings.subset(np.flatnonzero(ratings.rater != rater))


def stability(
    ratings: Ratings, means: np.ndarray, raters: Sequence[int], draws: int = RATER_DRAWS, seed: int = SEED
) -> Stability | None:
    """The stability of the order of systems; None where no pair has two ratings.

    means: float64[1 + draws + raters, systems], the means of the systems in each of `worlds`: by all ratings, by
    each resample, and without each of `raters`; nan where a system has no mean.
    """
    rows = np.lexsort((ratings.document, ratings.query))
    starts, counts = groups(ratings.query[rows], ratings.document[rows])
    if not (counts > 1).any():
        return None
    single = np.zeros(rows.size, bool)  # whether the rating is the only one of its pair
    single[rows[starts[counts == 1]]] = True
    by_all, by_resample, without_rater = means[0], means[1 : draws + 1], means[draws + 1 :]
    # [systems, systems] and [draws, systems, systems]: 1 where the first of two is better, -1 where it is worse.
    signs = _signs(by_all)
    resampled_signs = np.array([_signs(of_resample) for of_resample in by_resample])
    keeps = _keeps_order(signs, resampled_signs)
    low, high = np.quantile(by_resample, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    has_order = bool((signs > 0).any())
    # bool[systems]: those with the highest mean.
    best = by_all == np.nanmax(by_all) if has_order else np.zeros(by_all.size, bool)
    return Stability(
        means=by_all,
        low=low,
        high=high,
        pairs=int((counts > 1).sum()),
        draws=draws,
        seed=seed,
        # Shares of resamples (axis 0) in which every two systems (axes 1 and 2) keep their order, or the best and
        # every other one.
        holds=float(keeps.all(axis=(1, 2)).mean()) if has_order else float("nan"),
        leader_holds=float(keeps[:, best].all(axis=(1, 2)).mean()) if has_order else float("nan"),
        kept=np.where((signs == 0) | np.isnan(signs), np.nan, keeps.mean(axis=0)),
        tau=float(np.mean([_tau(signs, of_resample) for of_resample in resampled_signs])),
        left_out=[
            _left_out(rater, ratings.rater == rater, single, signs, means_without)
            for rater, means_without in zip(raters, without_rater, strict=True)
        ],
    )


def _left_out(rater: int, of_rater: np.ndarray, single: np.ndarray, signs: np.ndarray, means: np.ndarray) -> dict:
    """The order without one rater, as a dict for `Stability.left_out`.

    In it, ratings is how many the rater gave, and unjudged how many pairs nobody else graded. tau compares the
    order with that by all raters. reversed has the pairs of systems that swap, (better, worse) by all raters.
    means are those without the rater.

    of_rater: bool[ratings], those of the rater.
    single: bool[ratings], those that are the only one of their pair.
    signs: float64[systems, systems], the order by all raters: 1 where the first of two systems is better, -1 where
    it is worse.
    means: float64[systems], without the rater; nan where a system has no mean.
    """
    without = _signs(means)
    swapped = np.argwhere((signs > 0) & (without < 0)).tolist()
    return {
        "rater": rater,
        "ratings": int(of_rater.sum()),
        "unjudged": int((of_rater & single).sum()),
        "tau": _tau(signs, without),
        "reversed": list(map(tuple, swapped)),
        "means": means.tolist(),
    }


def _keeps_order(signs: np.ndarray, resampled_signs: np.ndarray) -> np.ndarray:
    """Whether two systems keep their order in each resample, bool[draws, systems, systems].

    Only opposite signs are a swap: a tie, before or after, keeps the order. A system without a mean in the
    resample does not keep its order. One without a mean by all ratings has no order to lose, so it keeps it.

    signs: float64[systems, systems], as from `_signs`, by all ratings; resampled_signs: the same by each resample.
    """
    return (signs * resampled_signs >= 0) | np.isnan(signs)  # nan >= 0 is False


def _signs(means: np.ndarray) -> np.ndarray:
    """The order as signs, float64[systems, systems]: 1 where the first system is better, -1 where the second is.

    nan where one of them has no mean.
    """
    return np.sign(means[:, np.newaxis] - means)


def _tau(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b of two orders as signs."""
    product = (first**2).sum() * (second**2).sum()  # of the numbers of pairs that are not tied
    if len(first) < FEWEST_FOR_TAU or not product > 0:
        return float("nan")
    return float((first * second).sum() / np.sqrt(product))
