"""Would other raters have put the systems in another order? NumPy only; a function given to it scores."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..judgments import Ratings
from ..significance import SEED

DRAWS = 200
LEVEL = 0.95
FEWEST_FOR_TAU = 5  # systems: of fewer, Kendall's tau takes only a handful of values


@dataclass(frozen=True)
class LeftOut:
    """The systems without one rater."""

    rater: int
    ratings: int  # that are gone
    unjudged: int  # pairs that nobody else graded
    means: list[float]  # of the systems; nan: no query counts
    reversed: list[tuple[int, int]]  # systems that change places: first the one that is better with all raters
    tau: float  # Kendall's tau-b with the order of all; nan for few systems, or where an order is all ties


@dataclass(frozen=True, eq=False)
class Stability:
    """What becomes of the means of systems with other raters."""

    means: np.ndarray  # float64[systems], with all ratings
    low: np.ndarray  # float64[systems], the 95 % interval of the means over resamples; nan where one has no mean
    high: np.ndarray
    pairs: int  # with two ratings or more, which alone change
    draws: int
    seed: int
    holds: float  # the share of resamples in which no two systems change places; nan where no two have an order
    leader_holds: float  # in which no system passes the best
    kept: np.ndarray  # float64[systems, systems], in which two systems keep their order; nan where they have none
    tau: float  # the mean of Kendall's tau-b with the order of all; nan as in LeftOut
    left_out: list[LeftOut]  # by rater


def stability(
    ratings: Ratings, score: Callable[[Ratings], np.ndarray], draws: int = DRAWS, seed: int = SEED
) -> Stability | None:
    """Score systems again with resampled raters, and without each of them; None where no pair has two ratings.

    `score` gives the mean of each system, float64[systems], nan for none. A resample draws from the ratings of
    each pair as many as it has, with replacement: who else could have rated it. Adjudicated grades stay.
    """
    means = score(ratings)  # first of all, since it may refuse
    rows, starts, counts = _by_pair(ratings)
    if not (counts > 1).any():
        return None
    generator = np.random.default_rng(seed)
    drawn = np.array([score(_only(ratings, rows[_drawn(starts, counts, generator)])) for _ in range(draws)])
    signs, others = _signs(means), np.array([_signs(each) for each in drawn])
    # A system that loses its mean keeps no order; one that never had one has none to keep.
    keeps = (signs * others >= 0) | np.isnan(signs)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    has_order = bool((signs > 0).any())
    best = means == np.nanmax(means) if has_order else np.zeros(means.size, bool)
    return Stability(
        means=means,
        low=low,
        high=high,
        pairs=int((counts > 1).sum()),
        draws=draws,
        seed=seed,
        holds=float(keeps.all(axis=(1, 2)).mean()) if has_order else float("nan"),
        leader_holds=float(keeps[:, best].all(axis=(1, 2)).mean()) if has_order else float("nan"),
        kept=np.where((signs == 0) | np.isnan(signs), np.nan, keeps.mean(axis=0)),
        tau=float(np.mean([_tau(signs, each) for each in others])),
        left_out=list(_each_left_out(ratings, rows, starts, counts, signs, score)),
    )


def _by_pair(ratings: Ratings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows by pair, where each pair begins among them, and how many rows it has."""
    rows = np.lexsort((ratings.rater, ratings.document, ratings.query))
    query, document = ratings.query[rows], ratings.document[rows]
    new = np.ones(rows.size, bool)
    new[1:] = (np.diff(query) != 0) | (np.diff(document) != 0)
    starts = np.flatnonzero(new)
    return rows, starts, np.diff(np.append(starts, rows.size))


def _drawn(starts: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each row, one of the rows of its pair."""
    return np.repeat(starts, counts) + generator.integers(0, np.repeat(counts, counts))


def _only(ratings: Ratings, rows: np.ndarray) -> Ratings:
    return replace(
        ratings,
        query=ratings.query[rows],
        document=ratings.document[rows],
        rater=ratings.rater[rows],
        grade=ratings.grade[rows],
        weight=None if ratings.weight is None else ratings.weight[rows],
    )


def _each_left_out(
    ratings: Ratings,
    rows: np.ndarray,
    starts: np.ndarray,
    counts: np.ndarray,
    signs: np.ndarray,
    score: Callable[[Ratings], np.ndarray],
) -> Iterator[LeftOut]:
    alone = np.zeros(rows.size, bool)
    alone[rows[starts[counts == 1]]] = True
    for rater in np.unique(ratings.rater).tolist():
        mine = ratings.rater == rater
        means = score(_only(ratings, np.flatnonzero(~mine)))
        without = _signs(means)
        swapped = np.argwhere((signs > 0) & (without < 0)).tolist()
        yield LeftOut(
            rater=rater,
            ratings=int(mine.sum()),
            unjudged=int((mine & alone).sum()),
            means=means.tolist(),
            reversed=[(first, second) for first, second in swapped],
            tau=_tau(signs, without),
        )


def _signs(means: np.ndarray) -> np.ndarray:
    """float64[systems, systems]: 1 where the first of two systems is better, -1 the second, nan for no mean."""
    return np.sign(means[:, np.newaxis] - means)


def _tau(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b of two orders, given as signs."""
    both = (first**2).sum() * (second**2).sum()
    if len(first) < FEWEST_FOR_TAU or not both > 0:
        return float("nan")
    return float((first * second).sum() / np.sqrt(both))
