"""The (query, document) pairs that systems retrieve or people judged, as arrays. NumPy only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..measures import Judgments, Measure, Options, Rankings, effective, parse_measure
from ..measures.arrays import DOCUMENT_BITS, distinct, pair_key
from ..measures.discounts import discount
from ..measures.gains import gain
from ..measures.ties import by_score
from .features import DEPTH, Features, features
from .scope import levels_of, refuse

UNJUDGED = -1  # instead of a level
PIECE = 2_048  # pairs at a time, so that what is between stays small, and in the processor's cache


def pieces(pairs: int) -> Iterator[slice]:
    """All of so many pairs, some at a time."""
    yield from (slice(low, low + PIECE) for low in range(0, pairs, PIECE))


@dataclass(frozen=True, eq=False)
class Pool:
    """All pairs, by query. What depends on judgments stands apart, as `level`: int64[pairs], -1 = unjudged.

    A level is the place of a gain in `gains`. "Steps" are those from one level to the next: step l is taken by a
    pair whose level is above l.
    """

    query: np.ndarray  # int64[pairs], ascending from 0 without gaps
    rank: np.ndarray  # int64[pairs, systems], from 1; beyond `depth`: not retrieved
    gains: np.ndarray  # float64[levels], ascending
    cutoff: int
    options: Options = Options()
    document: np.ndarray | None = None  # int64[pairs]
    number: np.ndarray | None = None  # int64[queries]: the number of each query where the pairs come from
    machine: np.ndarray | None = None  # float64[pairs, machines]: the grade of each machine, nan = none

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
        """The first pair of each query, and the number of pairs: int64[queries + 1]."""
        return np.searchsorted(self.query, np.arange(self.query[-1] + 2))

    @cached_property
    def size(self) -> np.ndarray:
        """Pairs of each query, int64[queries]."""
        return np.diff(self.first)

    @cached_property
    def features(self) -> Features:
        return features(self.rank, self.cutoff, self.depth, self.machine)

    def with_machines(self, *machines: Judgments) -> "Pool":
        """The pool with the grades of these machines as features of the model; they judge nothing.

        Each has the numbers of queries and documents that the pool was made with. Grades of pairs that are not in
        the pool count for nothing, and pairs without a grade have none.
        """
        key = pair_key(self.number[self.query], self.document)
        order, machine = np.argsort(key), np.full((self.pairs, len(machines)), np.nan)
        for column, said in enumerate(machines):
            place = np.minimum(np.searchsorted(key[order], said.key), self.pairs - 1)
            here = key[order][place] == said.key
            machine[order[place[here]], column] = said.grade[here]
        return replace(self, machine=machine)

    @cached_property
    def discount(self) -> np.ndarray:
        """The discount of each pair's rank in each system, 0 below the cutoff, float64[pairs, systems]."""
        return np.where(self.rank <= self.cutoff, discount(self.rank, self.options), 0.0)

    @cached_property
    def top(self) -> np.ndarray:
        """Whether any system has the pair above the cutoff, bool[pairs]."""
        return self.discount.any(axis=1)

    @cached_property
    def of_rank(self) -> np.ndarray:
        """The discount of the ranks 1 to the cutoff, then 0: float64[cutoff + 1]."""
        return np.append(discount(np.arange(1, self.cutoff + 1), self.options), 0.0)

    @cached_property
    def of_first(self) -> np.ndarray:
        """The discounts of the first n ranks together, for n from 0 to the cutoff: float64[cutoff + 1]."""
        return np.append(0.0, np.cumsum(self.of_rank[:-1]))

    @cached_property
    def rise(self) -> np.ndarray:
        """What each step adds to the gain, float64[steps]."""
        return np.diff(self.gains)

    @cached_property
    def rise_above(self) -> np.ndarray:
        """The part of each rise above gain 0, which the best list has."""
        return np.diff(np.maximum(self.gains, 0))

    @cached_property
    def rise_below(self) -> np.ndarray:
        """The part of each rise below gain 0, which the worst list lacks."""
        return np.diff(np.minimum(self.gains, 0))

    def by_query(self, values: np.ndarray) -> np.ndarray:
        """The sums over the pairs of each query: [pairs, ...] to [queries, ...]."""
        return np.add.reduceat(values, self.first[:-1], axis=0)

    def steps_taken(self, level: np.ndarray) -> np.ndarray:
        """Which steps a pair of this level has taken, bool[..., steps]."""
        return level[..., np.newaxis] > np.arange(self.steps)

    def extremes(self, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The DCG of the best and of the worst list, two of float64[..., queries].

        count: int[..., queries, steps], how many documents have taken each step. Nothing else decides either.
        """
        best = (self._of(count) * self.rise_above).sum(axis=-1)
        worst = -(self._of(self.size[:, np.newaxis] - count) * self.rise_below).sum(axis=-1)
        return best + self.least_best, worst + self.greatest_worst

    @cached_property
    def least_best(self) -> np.ndarray:
        """The best list where no document has taken a step, float64[queries]; 0 if the least gain is."""
        return max(self.gains[0], 0.0) * self._of(self.size)

    @cached_property
    def greatest_worst(self) -> np.ndarray:
        """The worst list where all have taken all steps, float64[queries]; 0 if the greatest gain is not below."""
        return min(self.gains[-1], 0.0) * self._of(self.size)

    def _of(self, count: np.ndarray) -> np.ndarray:
        return self.of_first[np.minimum(count, self.cutoff)]


def pool_of(
    judgments: Judgments,
    rankings: Sequence[Rankings],
    measure: Measure | str,
    options: Options,
    grades: Sequence[float] = (),
    unjudged: np.ndarray | None = None,
) -> tuple[Pool, np.ndarray]:
    """The pool of some systems, and the level of each pair: int64[pairs], -1 = unjudged.

    A document has the same number in all rankings and in the judgments. `grades` are those of the scale. Judged
    documents that no system retrieves are pairs as well, since the ideal is made of them too. `unjudged`: the keys
    of the other pairs that can be judged (pair_key); documents beyond have no gain, as in plain nDCG. None: all
    that are retrieved. Raises ValueError where there is nothing to expect: another measure or option, one level of
    gain, no pair at all.
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    options = effective(measure, options)
    refuse(measure, options)
    if not rankings:
        raise ValueError("there is no system to expect a value of.")
    gains = levels_of(measure, options, grades, judgments.grade)
    depth = max(DEPTH, measure.cutoff)
    lists = [(by_score(each) if options.ties == "score" else each).top(depth) for each in rankings]
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
    # By rank, so that the numbers that documents happen to have decide no draw.
    order = np.lexsort((*rank.T[::-1], key >> DOCUMENT_BITS))
    level = np.full(len(key), UNJUDGED)
    # The nearest, because the same power may differ in its last bit from one array to another.
    nearest = np.abs(gain(judgments.grade, options)[:, np.newaxis] - gains).argmin(axis=1)
    level[np.searchsorted(key, judgments.key)] = nearest
    number, query = np.unique(key[order] >> DOCUMENT_BITS, return_inverse=True)
    document = key[order] & ((1 << DOCUMENT_BITS) - 1)
    return Pool(query, rank[order], gains, measure.cutoff, options, document, number), level[order]
