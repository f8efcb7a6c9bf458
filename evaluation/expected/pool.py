"""The (query, document) pairs that systems retrieve or people judged, as arrays. NumPy only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..measures import (
    Judgments,
    Measure,
    Options,
    Rankings,
    effective,
    parse_measure,
)
from ..measures.arrays import DOCUMENT_BITS, distinct, pair_key, pair_of
from ..measures.discounts import discount
from ..measures.gains import gain
from ..measures.options import BY_SCORE
from ..measures.ties import by_score
from .features import DEPTH, Features, features
from .scope import levels_of, refuse

UNJUDGED = -1  # instead of a level
PAIRS_AT_ONCE = 2_048  # so few that intermediate arrays stay in the processor's cache


def pieces(pairs: int) -> Iterator[slice]:
    """Slices of PAIRS_AT_ONCE pairs that cover `pairs` pairs."""
    yield from (slice(low, low + PAIRS_AT_ONCE) for low in range(0, pairs, PAIRS_AT_ONCE))


@dataclass(frozen=True, eq=False)
class Pool:
    """All pairs, by query. Judgments are kept apart from it, as `level`: int64[pairs], -1 = unjudged.

    A level is an index of `gains`. A step leads from one level to the next: a pair takes step l where its level is
    above l.
    """

    query: np.ndarray  # int64[pairs], ascending from 0 without gaps
    rank: np.ndarray  # int64[pairs, systems], from 1; beyond `depth`: not retrieved
    gains: np.ndarray  # float64[levels], ascending
    cutoff: int
    options: Options = Options()
    document: np.ndarray | None = None  # int64[pairs]
    number: np.ndarray | None = None  # int64[queries], the number of each query in the judgments and rankings
    machine: np.ndarray | None = None  # float64[pairs, machines], grades of machines, nan = none
    weight: np.ndarray | None = None  # float64[queries], of each query in the mean; None: all the same

    @property
    def pairs(self) -> int:
        return self.rank.shape[0]

    @property
    def systems(self) -> int:
        return self.rank.shape[1]

    @property
    def queries(self) -> int:
        return len(self.size)

    @property
    def steps(self) -> int:
        return len(self.gains) - 1

    @property
    def depth(self) -> int:
        return max(DEPTH, self.cutoff)

    @cached_property
    def first(self) -> np.ndarray:
        """The first pair of each query, then the number of pairs: int64[queries + 1]."""
        return np.searchsorted(self.query, np.arange(self.query[-1] + 2))

    @cached_property
    def size(self) -> np.ndarray:
        """The number of pairs of each query, int64[queries]."""
        return np.diff(self.first)

    @cached_property
    def features(self) -> Features:
        return features(self.rank, self.cutoff, self.depth, self.machine)

    def with_machines(self, *machines: Judgments) -> "Pool":
        """The pool with the grades of these machines as features of the model, which do not count as judgments.

        Queries and documents of `machines` are numbered as those of the judgments and rankings of which the pool
        was made: see `number`. Grades of pairs outside the pool are ignored.
        """
        key = pair_key(self.number[self.query], self.document)  # of each pair of the pool
        machine = np.full((self.pairs, len(machines)), np.nan)
        for column, graded in enumerate(machines):
            # pair, row: the rows of the pool and of the grades that are about the same query and document.
            _, pair, row = np.intersect1d(key, graded.key, assume_unique=True, return_indices=True)
            machine[pair, column] = graded.grade[row]
        return replace(self, machine=machine)

    @cached_property
    def discount(self) -> np.ndarray:
        """The discount of each pair in each system, 0 below the cutoff: float64[pairs, systems]."""
        return np.where(self.rank <= self.cutoff, discount(self.rank, self.options), 0.0)

    @cached_property
    def above_cutoff(self) -> np.ndarray:
        """Whether any system has the pair above the cutoff, bool[pairs]."""
        return self.discount.any(axis=1)

    @cached_property
    def deepest(self) -> int:
        """The last rank of the ideal lists that can count: the cutoff, or one below all pairs of a query."""
        return min(self.cutoff, int(self.size.max(initial=0)) + 1)

    @cached_property
    def rank_discounts(self) -> np.ndarray:
        """The discounts of the ranks from 1 to `deepest`, then 0: float64[deepest + 1]."""
        return np.append(discount(np.arange(1, self.deepest + 1), self.options), 0.0)

    @cached_property
    def cumulative_discounts(self) -> np.ndarray:
        """The sums of the first n discounts, for n from 0 to `deepest`: float64[deepest + 1]."""
        return np.append(0.0, np.cumsum(self.rank_discounts[:-1]))

    @cached_property
    def step_gain(self) -> np.ndarray:
        """The gain that each step adds, float64[steps]."""
        return np.diff(self.gains)

    @cached_property
    def ideal_step_gain(self) -> np.ndarray:
        """The part of `step_gain` above gain 0, which counts in the ideal list: float64[steps]."""
        return np.diff(np.maximum(self.gains, 0))

    @cached_property
    def worst_step_gain(self) -> np.ndarray:
        """The part of `step_gain` below gain 0, which counts in the worst list: float64[steps]."""
        return np.diff(np.minimum(self.gains, 0))

    def sum_by_query(self, values: np.ndarray) -> np.ndarray:
        """The sums over the pairs of each query, [queries, ...]. values: [pairs, ...]."""
        return np.add.reduceat(values, self.first[:-1], axis=0)

    def steps_taken(self, level: np.ndarray) -> np.ndarray:
        """Whether a pair of each level has taken each step, bool[..., steps]. level: int[...]."""
        return level[..., np.newaxis] > np.arange(self.steps)

    def extremes(self, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The DCG of the best list and of the worst list, float64[..., queries] each.

        count: int[..., queries, steps], how many documents have taken each step, which determines both.
        """
        best = (self._sum_of_first(count) * self.ideal_step_gain).sum(axis=-1)
        worst = -(self._sum_of_first(self.size[:, np.newaxis] - count) * self.worst_step_gain).sum(axis=-1)
        return best + self.least_best, worst + self.greatest_worst

    @cached_property
    def least_best(self) -> np.ndarray:
        """The DCG of the best list where no document has taken a step, float64[queries]."""
        return max(self.gains[0], 0.0) * self._sum_of_first(self.size)

    @cached_property
    def greatest_worst(self) -> np.ndarray:
        """The DCG of the worst list where all documents have taken all steps, float64[queries]."""
        return min(self.gains[-1], 0.0) * self._sum_of_first(self.size)

    def _sum_of_first(self, count: np.ndarray) -> np.ndarray:
        """The sum of the first `count` discounts, down to the cutoff."""
        return self.cumulative_discounts[np.minimum(count, self.cutoff)]


def pool_of(
    judgments: Judgments,
    rankings: Sequence[Rankings],
    measure: Measure | str,
    options: Options,
    grades: Sequence[float],
    unjudged: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> tuple[Pool, np.ndarray]:
    """The pool of some systems, and the level of each pair: int64[pairs], -1 = unjudged.

    A document has the same number in all rankings and in the judgments. Judged documents that no system retrieves
    are pairs, too, since the ideal is made of them as well. grades: those of the scale; unjudged: keys of the
    other pairs that can be judged (pair_key; None: all retrieved ones). All other documents have gain 0, as in
    nDCG. weight: of each query of the judgments in the mean, float64[queries]; None: all the same.

    ValueError where expected values are not defined: for another measure or option, fewer than two levels of
    gain, no system, no pair.
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    options = effective(measure, options)
    refuse(measure, options)
    if not rankings:
        raise ValueError("there is no system to expect a value of.")
    gains = levels_of(measure, options, grades, judgments.grade)
    depth = max(DEPTH, measure.cutoff)
    if options.ties in BY_SCORE:
        rankings = [by_score(each, options.ties) for each in rankings]
    lists = [each.top(depth) for each in rankings]
    listed = [pair_key(each.query, each.documents) for each in lists]
    key = distinct(np.concatenate([judgments.key, *(listed if unjudged is None else [unjudged])]))
    if not len(key):
        raise ValueError("there is no document, neither judged nor in a ranking.")

    rank = np.full((len(key), len(lists)), depth + 1)
    for system, (ranking, pairs) in enumerate(zip(lists, listed, strict=True)):
        within = np.arange(len(pairs)) - ranking.offsets[ranking.query]
        place = np.minimum(np.searchsorted(key, pairs), len(key) - 1)
        known = key[place] == pairs
        rank[place[known], system] = within[known] + 1
    # By rank, so that draws do not depend on the numbers of documents.
    order = np.lexsort((*rank.T[::-1], key >> DOCUMENT_BITS))
    level = np.full(len(key), UNJUDGED)
    # The nearest level, since a power may differ in its last bit between two arrays.
    nearest = np.abs(gain(judgments.grade, options)[:, np.newaxis] - gains).argmin(axis=1)
    level[np.searchsorted(key, judgments.key)] = nearest
    query, document = pair_of(key[order])
    number, query = np.unique(query, return_inverse=True)
    pool = Pool(query, rank[order], gains, measure.cutoff, options, document, number)
    return pool if weight is None else replace(pool, weight=weight[number]), level[order]
