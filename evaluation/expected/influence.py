"""The expected nDCG under missing judgments, and the influence of each document on it. NumPy only.

A step leads from one level of gain to the next; a document takes each step below its level. The ideal depends on
few counts: how many documents have taken each step. Expectations over missing judgments are therefore expectations
over counts, which are nearly normal. Influences are first-order: all other unknowns stay at their expectations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from .pool import Pool, pieces

# Seven equally likely values that stand for the standard normal distribution.
NORMAL_NODES = np.array([-1.4652, -0.7916, -0.3661, 0.0, 0.3661, 0.7916, 1.4652])


@dataclass(frozen=True, eq=False)
class Expectation:
    """The expected nDCG of each query, and the influence of each pair on each system's mean."""

    pool: Pool
    value: np.ndarray  # float64[queries, systems], from 0 to 1
    mean_per_dcg: np.ndarray  # float64[queries], change of the mean for a change of the query's DCG by 1
    influence: np.ndarray  # float64[steps, pairs, systems], change of the mean if the pair takes the step

    def realised_changes(self, rows: np.ndarray, level: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """How much each judgment changed the means of systems, against these chances: float64[rows, systems]."""
        surprise = self.pool.steps_taken(level[rows]) - chances[rows]
        return np.einsum("lrs,rl->rs", self.influence[:, rows], surprise)

    def covariance(self, rows: np.ndarray, chances: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """The covariance of the means for these pairs, each times its weight: float64[systems, systems]."""
        total = np.zeros((self.pool.systems, self.pool.systems))
        for part in pieces(len(rows)):
            influence = self.influence[:, rows[part]]
            for low, high, joint in _step_covariances(chances[rows[part]]):
                weighted = joint if weight is None else joint * weight[part]
                product = (influence[low] * weighted[:, np.newaxis]).T @ influence[high]
                total += product if low == high else product + product.T
        return total

    def squared_changes(self, rows: np.ndarray, chances: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """The expected squared change of the means by the judgment of each pair: float64[rows].

        It is E|change of the means @ factor|². A step leads from one level of gain to the next, and a pair takes
        each step below its level. The surprise of a step is whether the pair takes it, 1 or 0, less its chance.
        The judgment changes the means by the sum over steps of influence × surprise. The expected square of this
        sum has a term for each two steps: the covariance of their surprises × the product of their influences.
        rows: of the pool; chances: float64[pairs, steps]; factor: float64[systems, contrasts], each column a
        weighted sum of the means, such as the difference of two. The squares of all columns are added up.
        """
        total = np.zeros(len(rows))
        for part in pieces(len(rows)):
            influence = self.influence[:, rows[part]] @ factor  # [steps, rows of the part, contrasts]
            for low, high, covariance in _step_covariances(chances[rows[part]]):
                # Two different steps come once, as (low, high), and stand for (high, low), too.
                square = covariance * np.einsum("rc,rc->r", influence[low], influence[high])
                total[part] += square if low == high else 2 * square
        return total


def _step_covariances(chances: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each two steps, and the covariance of whether a pair takes them. chances: float64[pairs, steps].

    Whoever takes the higher step has taken the lower one: E(both) is the chance of the higher one.
    """
    for low, high in combinations_with_replacement(range(chances.shape[1]), 2):
        yield low, high, chances[:, high] * (1 - chances[:, low])


def expect(pool: Pool, level: np.ndarray, chances: np.ndarray, effect_variance: np.ndarray) -> Expectation:
    """The expected nDCG and its influences: by the judgments, and by the chances of pairs without one.

    nDCG = (DCG - worst) / (ideal - worst), where `worst` and `ideal` are the DCG of the worst and the ideal list.
    level: int64[pairs], -1 = unjudged; chances: float64[pairs, steps], read for unjudged pairs alone;
    effect_variance: float64[queries], the variance of the effect on log odds that the pairs of a query share.

    Gains above 0 make the ideal list, and gains below 0 the worst list.
    """
    is_judged = (level >= 0)[:, np.newaxis]
    taken = np.where(is_judged, pool.steps_taken(level), chances)  # float64[pairs, steps], expected
    least = pool.sum_by_query(np.where(is_judged, taken, 0.0))  # by the judged pairs alone
    variance = pool.sum_by_query(np.where(is_judged, 0.0, chances * (1 - chances)))
    # The sum of chance * (1 - chance) is also the slope of a count by the effect that its pairs share. So the
    # effect adds its own variance times the square of this sum.
    variance = variance + variance**2 * effect_variance[:, np.newaxis]
    # How many documents of each query take each step, a number for each of NORMAL_NODES: [queries, steps, nodes].
    counts = pool.sum_by_query(taken)[..., np.newaxis] + np.sqrt(variance)[..., np.newaxis] * NORMAL_NODES
    counts = np.maximum(counts, least[..., np.newaxis])  # low nodes can fall below what is judged already

    # The best documents have the first ranks of the ideal list, the worst ones those of the worst list. So each
    # list has the sum of the first discounts, and by one document more the next discount: [queries, steps] each.
    ideal_discounts, next_in_ideal = _sum_of_first(pool, counts)
    counts_below = np.maximum(pool.size[:, np.newaxis, np.newaxis] - counts, 0)  # of documents not taking the step
    worst_discounts, next_in_worst = _sum_of_first(pool, counts_below)
    ideal = (ideal_discounts * pool.ideal_step_gain).sum(axis=1) + pool.least_best
    worst = pool.greatest_worst - (worst_discounts * pool.worst_step_gain).sum(axis=1)
    # Where hardly anything relevant is known, the span is at least half the gain of one document of the top level:
    # values and influences are divided by it.
    span = np.maximum(ideal - worst, 0.5 * (pool.gains[-1] - min(pool.gains[0], 0.0)))
    expected_gain = pool.gains[0] + taken @ pool.step_gain
    dcg = pool.sum_by_query(expected_gain[:, np.newaxis] * pool.discount)
    value = np.clip((dcg - worst[:, np.newaxis]) / span[:, np.newaxis], 0, 1)

    # A query that is fully judged and has nothing to find counts in no mean.
    has_unjudged = pool.sum_by_query((level < 0).astype(int)) > 0
    counts_in_mean = (ideal > worst) | has_unjudged
    weight = np.ones(pool.queries) if pool.weight is None else pool.weight
    total_weight = weight[counts_in_mean].sum() or 1
    mean_per_dcg = weight / (total_weight * span)
    influence = _influence(pool, value, mean_per_dcg, next_in_ideal, next_in_worst)
    return Expectation(pool, value, mean_per_dcg, influence)


def _influence(
    pool: Pool, value: np.ndarray, mean_per_dcg: np.ndarray, next_in_ideal: np.ndarray, next_in_worst: np.ndarray
) -> np.ndarray:
    """The influence of `Expectation`: how much each mean changes if a pair takes a step.

    A step raises the DCG, and also the DCG of the ideal list and of the worst list. By the derivatives of
    value = (DCG - worst) / (ideal - worst), to first order

        change of value = (rise of DCG - value * rise of ideal - (1 - value) * rise of worst) / (ideal - worst)

    Each rise is a gain of the step × a discount, and is 0 or more. The DCG rises by the whole gain of the step.
    The ideal list gets one document more with gain above 0: it rises by the part of the gain above 0. The worst
    list gets one document less with gain below 0: it rises by the part of the gain below 0. next_in_ideal,
    next_in_worst: float64[queries, steps], the discounts of the ranks where these lists change; value,
    mean_per_dcg: as in `Expectation`. mean_per_dcg divides by ideal - worst, and weights the query.
    """
    influence = np.empty((pool.steps, pool.pairs, pool.systems))
    for step in range(pool.steps):
        rise_of_ideal = pool.ideal_step_gain[step] * next_in_ideal[:, step]
        rise_of_worst = pool.worst_step_gain[step] * next_in_worst[:, step]
        # float64[queries, systems]: what is subtracted from the rise of the DCG, for both lists.
        subtracted = value * rise_of_ideal[:, np.newaxis]
        subtracted += (1 - value) * rise_of_worst[:, np.newaxis]
        for part in pieces(pool.pairs):
            query = pool.query[part]
            # discount: float64[pairs, systems], that of the pair in each system.
            influence[step, part] = pool.step_gain[step] * pool.discount[part] - subtracted[query]
            influence[step, part] *= mean_per_dcg[query, np.newaxis]
    return influence


def _sum_of_first(pool: Pool, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the first `count` discounts, and the next discount, both as means over the last axis.

    The sum is interpolated linearly between whole counts. The next discount is what one more document adds.
    """
    whole = np.minimum(np.floor(count), pool.cutoff).astype(int)
    more = pool.rank_discounts[whole]
    first = pool.cumulative_discounts[whole] + np.clip(count - whole, 0, 1) * more
    return first.mean(axis=-1), more.mean(axis=-1)
