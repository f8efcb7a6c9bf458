"""What is expected of nDCG before anything is drawn, and what each document can change about it. NumPy only.

The ideal depends on few counts: how many documents have taken each step. So expectations over missing judgments
are expectations over counts, which are nearly normal. Influences are of first order: all other unknowns stay at
their expectations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from .pool import Pool, pieces

# Seven values of a standard normal that stand for it, each with the same chance.
NODES = np.array([-1.4652, -0.7916, -0.3661, 0.0, 0.3661, 0.7916, 1.4652])


@dataclass(frozen=True, eq=False)
class Expectation:
    """The expected nDCG of each query, and the influence of each pair on each system's mean."""

    pool: Pool
    value: np.ndarray  # float64[queries, systems], within 0 and 1
    share: np.ndarray  # float64[queries]: what one of DCG is worth in the mean
    influence: np.ndarray  # float64[steps, pairs, systems]: by how much a step that is taken raises the mean

    def realised(self, rows: np.ndarray, level: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """What judgments change about the means, against these chances: float64[rows, systems]."""
        surprise = self.pool.steps_taken(level[rows]) - chances[rows]
        return np.einsum("lrs,rl->rs", self.influence[:, rows], surprise)

    def covariance(self, rows: np.ndarray, chances: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """The covariance that these pairs, each times its weight, add to the means: float64[systems, systems]."""
        total = np.zeros((self.pool.systems, self.pool.systems))
        for part in pieces(len(rows)):
            influence = self.influence[:, rows[part]]
            for low, high, both in _together(chances[rows[part]]):
                weighted = both if weight is None else both * weight[part]
                product = (influence[low] * weighted[:, np.newaxis]).T @ influence[high]
                total += product if low == high else product + product.T
        return total

    def size(self, rows: np.ndarray, chances: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """E|factor' h|² of each pair, h its change of the means, float64[rows]; factor: float64[systems, any]."""
        total = np.zeros(len(rows))
        for part in pieces(len(rows)):
            along = self.influence[:, rows[part]] @ factor
            for low, high, both in _together(chances[rows[part]]):
                square = both * np.einsum("nr,nr->n", along[low], along[high])
                total[part] += square if low == high else 2 * square
        return total


def _together(chances: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each two steps, and the covariance of whether a pair takes them; chances: float64[pairs, steps]."""
    for low, high in combinations_with_replacement(range(chances.shape[1]), 2):
        yield low, high, chances[:, high] * (1 - chances[:, low])


def expect(pool: Pool, level: np.ndarray, chances: np.ndarray, spread: np.ndarray) -> Expectation:
    """What judgments and chances say together.

    level: int64[pairs], -1 = unjudged; chances: float64[pairs, steps], of the unjudged ones; spread:
    float64[queries], the variance of the effect that the pairs of a query share.
    """
    judged = (level >= 0)[:, np.newaxis]
    taken = np.where(judged, pool.steps_taken(level), chances)
    least = pool.by_query(np.where(judged, taken, 0.0))
    variance = pool.by_query(np.where(judged, 0.0, chances * (1 - chances)))
    variance = variance + variance**2 * spread[:, np.newaxis]
    counts = pool.by_query(taken)[..., np.newaxis] + np.sqrt(variance)[..., np.newaxis] * NODES
    counts = np.maximum(counts, least[..., np.newaxis])

    best, one_more = _sum_of_first(pool, counts)
    worst, one_less = _sum_of_first(pool, np.maximum(pool.size[:, np.newaxis, np.newaxis] - counts, 0))
    ideal = (best * pool.rise_above).sum(axis=1) + pool.least_best
    worst = pool.greatest_worst - (worst * pool.rise_below).sum(axis=1)
    # Where hardly anything is known to be found, the span is kept at half of what one best document gives.
    span = np.maximum(ideal - worst, 0.5 * (pool.gains[-1] - min(pool.gains[0], 0.0)))
    gained = pool.by_query((pool.gains[0] + taken @ pool.rise)[:, np.newaxis] * pool.discount)
    value = np.clip((gained - worst[:, np.newaxis]) / span[:, np.newaxis], 0, 1)

    # A query that is judged throughout and has nothing to find counts in no mean.
    counting = (ideal > worst) | (pool.by_query((level < 0).astype(int)) > 0)
    share = 1 / (max(counting.sum(), 1) * span)
    influence = np.empty((pool.steps, pool.pairs, pool.systems))
    for step in range(pool.steps):
        lost = value * (pool.rise_above[step] * one_more[:, step])[:, np.newaxis]
        lost += (1 - value) * (pool.rise_below[step] * one_less[:, step])[:, np.newaxis]
        for part in pieces(pool.pairs):
            query = pool.query[part]
            influence[step, part] = pool.rise[step] * pool.discount[part] - lost[query]
            influence[step, part] *= share[query, np.newaxis]
    return Expectation(pool, value, share, influence)


def _sum_of_first(pool: Pool, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the last axis of the sum of the first `count` discounts, linear between whole counts.

    Also that of the next discount: what one more document adds.
    """
    whole = np.minimum(np.floor(count), pool.cutoff).astype(int)
    more = pool.of_rank[whole]
    return (pool.of_first[whole] + np.clip(count - whole, 0, 1) * more).mean(axis=-1), more.mean(axis=-1)
