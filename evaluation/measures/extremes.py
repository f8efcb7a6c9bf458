"""The greatest and the least ratio (N + W) / (I + W) that missing judgments allow.

N is the DCG, I is the IDCG, and W is minus the DCG of the worst list. The gains are cut into layers at every gain
that occurs. A layer of thickness d adds d times a sum: to N the sum of the weights of the documents that reach it,
and to I or W the sum of the discounts of as many first ranks. The only unknown of a layer is how many unjudged
documents reach it. For a given ratio z, N + W - z (I + W) is thus a sum over layers, and its extreme leads to the
extreme ratio in a few steps (Dinkelbach, On Nonlinear Fractional Programming, Management Science 13, 1967).

The number of documents that reach a layer cannot rise with the distance from 0. On one side of 0, the best number
of each layer by itself falls with that distance. On the other side it would rise, and there one number for all
layers is best: where the numbers of two layers would rise, an equal number is at least as good for both.
"""

from dataclasses import dataclass, replace

import numpy as np

CELLS_AT_A_TIME = 1 << 20  # layers x numbers of unjudged documents in memory together
MOST_STEPS = 50  # of the search for a ratio; three to six are usual
NEGLIGIBLE_CHANGE = 1e-15  # of the ratio: a smaller one is a rounding error


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers of gains on one side of 0, query after query, from 0 outwards."""

    query: np.ndarray  # int64[layers]
    thickness: np.ndarray  # float64[layers]
    judged: np.ndarray  # int64[layers]: how many judged documents reach it
    all_reach: np.ndarray  # bool[layers]: every unjudged document reaches it
    none_reach: np.ndarray  # bool[layers]: no unjudged document can reach it

    def part(self, first: int, last: int) -> "Layers":
        """The layers of the queries from first to last - 1, which then count from 0."""
        rows = slice(*np.searchsorted(self.query, [first, last]))
        other_columns = (self.thickness, self.judged, self.all_reach, self.none_reach)
        return Layers(self.query[rows] - first, *(column[rows] for column in other_columns))


@dataclass(frozen=True, eq=False)
class Case:
    """The input of `extreme`: all that the extremes of some queries depend on."""

    dcg_of_judged: np.ndarray  # float64[queries]: what the judged documents add to N
    weights: np.ndarray  # float64[queries, n]: of the unjudged documents, heaviest first; 0 outside the cutoff
    unjudged: np.ndarray  # int64[queries]: the number of unjudged documents
    above: Layers
    below: Layers
    cumulative_discounts: np.ndarray  # float64[k + 1]: of the first 0, 1, 2, ... ranks, added up
    worst_counts: bool  # whether W is part of the ratio

    @property
    def queries(self) -> int:
        return len(self.dcg_of_judged)

    def first_discounts(self, ranks: np.ndarray) -> np.ndarray:
        """The discounts of the first `ranks` ranks, added up."""
        return self.cumulative_discounts[np.minimum(ranks, len(self.cumulative_discounts) - 1)]

    def part(self, first: int, last: int) -> "Case":
        """The case of queries first to last - 1, with no more columns than they need."""
        rows, unjudged = slice(first, last), self.unjudged[first:last]
        return replace(
            self,
            dcg_of_judged=self.dcg_of_judged[rows],
            weights=self.weights[rows, : unjudged.max()],
            unjudged=unjudged,
            above=self.above.part(first, last),
            below=self.below.part(first, last),
        )


def extreme(case: Case, sign: int) -> np.ndarray:
    """The greatest (sign 1) or least (sign -1) ratio, float64[queries]; 0 or 1 where every ratio is 0 / 0.

    Queries are processed in chunks, because a layer takes a row as long as there are unjudged documents.
    """
    layers = np.bincount(case.above.query, minlength=case.queries)
    layers += np.bincount(case.below.query, minlength=case.queries)
    part = np.cumsum((layers + 1) * (case.weights.shape[1] + 1)) // CELLS_AT_A_TIME
    edges = [*np.flatnonzero(np.diff(part, prepend=-1)), case.queries]
    parts = [_Search(case.part(*edge), sign).ratio() for edge in zip(edges, edges[1:], strict=False)]
    return np.concatenate([np.empty(0), *parts])


class _Search:
    """The search of `extreme`. Tables [queries, n + 1] have a column for each number of unjudged documents.

    The numbers are 0 to n, where n is the largest number of unjudged documents of any query.
    """

    def __init__(self, case: Case, sign: int) -> None:
        self.case, self.sign = case, sign
        self.count = np.arange(case.weights.shape[1] + 1)  # the number of each column
        self.too_many = self.count > case.unjudged[:, np.newaxis]  # whether the query has fewer unjudged documents
        self.others = np.maximum(case.unjudged[:, np.newaxis] - self.count, 0)  # how many more it has, or 0
        # Sums of the weights of the `count` heaviest unjudged documents, and of the `count` lightest. The latter
        # is the sum of all less that of the heaviest `others`.
        heaviest = np.zeros((case.queries, len(self.count)))
        np.cumsum(case.weights, axis=1, out=heaviest[:, 1:])
        lightest = heaviest[:, -1:] - np.take_along_axis(heaviest, self.others, axis=1)
        # The greatest N gives good grades to heavy ranks and bad ones to light ranks, the least the reverse.
        self.gaining, self.losing = (heaviest, lightest) if sign > 0 else (lightest, heaviest)
        # The sums of discounts for each layer, [layers, n + 1]: its judged documents take first ranks, too. Those
        # of the worst list are 0 where W is not part of the ratio.
        self.ideal = case.first_discounts(case.above.judged[:, np.newaxis] + self.count)
        self.worst = case.first_discounts(case.below.judged[:, np.newaxis] + self.count) * case.worst_counts

    def ratio(self) -> np.ndarray:
        """The extreme ratio of each query, float64[queries]."""
        ratio = np.full(self.case.queries, 0.0 if self.sign > 0 else 1.0)
        for step in range(MOST_STEPS):
            next_ratio = self._ratio_of(*self._best(ratio), ratio)
            # After the first step the ratio can only improve; without W, the first can go either way.
            better = self.sign * (next_ratio - ratio) > NEGLIGIBLE_CHANGE if step else next_ratio != ratio
            if not better.any():
                break
            ratio = np.where(better, next_ratio, ratio)
        return ratio

    def _best(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best number of unjudged documents that reach each layer above 0, and below 0: int64[layers] each.

        The best numbers make N + W - z (I + W) greatest or, in the search for the least ratio, least. That sum is
        the same as N - z I + (1 - z) W. z is `ratio`, float64[queries].
        """
        case = self.case
        # Each layer has its own best number above 0 for the greatest ratio, and below 0 for the least one. On the
        # other side one number is best for all layers: see the module docstring.
        own_above = self.sign > 0
        # Documents below 0 take their weights away from N, hence the sign.
        above = self._table(case.above, self.gaining, self.ideal, -ratio)
        below = self._table(case.below, -self.losing, self.worst, 1 - ratio)
        sum_above, reach_above = self._summed(above, case.above, own_above)
        sum_below, reach_below = self._summed(below, case.below, not own_above)
        # Both sides share the unjudged documents: `split` of them are above 0, the rest below. So column i of
        # `total` is the sum of i documents above 0 and of the `others` below.
        total = sum_above + np.take_along_axis(sum_below, self.others, axis=1)
        total[self.too_many] = -np.inf  # a query cannot have more above 0 than it has unjudged documents
        split = total.argmax(axis=1)
        return (
            _column(reach_above, split[case.above.query]),
            _column(reach_below, (case.unjudged - split)[case.below.query]),
        )

    def _table(self, layers: Layers, weights: np.ndarray, of_ranks: np.ndarray, times: np.ndarray) -> np.ndarray:
        """What each layer adds when 0 to n unjudged documents reach it, times `sign`, float64[layers, n + 1].

        It adds thickness × (weights + times × of_ranks) to N + W - z (I + W). weights: float64[queries, n + 1],
        those of the documents, in N; of_ranks: float64[layers, n + 1], the discounts of the first ranks, in I or
        W; times: float64[queries], -z for I, 1 - z for W.
        """
        of_gain_1 = weights[layers.query] + times[layers.query, np.newaxis] * of_ranks
        table = of_gain_1 * layers.thickness[:, np.newaxis]
        table *= self.sign  # so that the greatest number is the best one also for the least ratio
        # The number is fixed where no unjudged document can reach a layer, or every one does: 0, or all of them.
        table[layers.none_reach] = table[layers.none_reach, :1]
        unjudged = self.case.unjudged[layers.query[layers.all_reach]]
        table[layers.all_reach] = table[layers.all_reach, unjudged][:, np.newaxis]
        return table

    def _summed(self, table: np.ndarray, layers: Layers, own_numbers: bool) -> tuple[np.ndarray, np.ndarray]:
        """The best sum of a query's layers, and how many unjudged documents then reach each of them.

        float64[queries, n + 1] and int64[layers, n + 1], with a column for 0 to n unjudged documents on this side
        of 0. table: as from `_table`. own_numbers: each layer is reached by as many of the documents of the column
        as are best for it; otherwise by all documents of the column.
        """
        best = table
        reaching = np.tile(self.count, (len(table), 1))
        if own_numbers:
            # The greatest value so far from column 0 on, and the last column so far that has it.
            best = np.maximum.accumulate(table, axis=1)
            reaching = np.maximum.accumulate(np.where(table == best, reaching, 0), axis=1)
        # Layers that none or all reach in any case. Their rows of `table` are constant, so `best` is right.
        reaching[layers.none_reach] = 0
        reaching[layers.all_reach] = self.case.unjudged[layers.query[layers.all_reach], np.newaxis]
        total = np.zeros((self.case.queries, len(self.count)))
        first = np.flatnonzero(np.diff(layers.query, prepend=-1))  # the first layer of each query
        total[layers.query[first]] = np.add.reduceat(best, first, axis=0)
        return total, reaching

    def _ratio_of(self, above: np.ndarray, below: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """The ratio for these numbers of unjudged documents in each layer; `otherwise` where it is 0 / 0."""
        case = self.case
        dcg = case.dcg_of_judged + self._sum(case.above, self.gaining[case.above.query, above])
        dcg -= self._sum(case.below, self.losing[case.below.query, below])
        ideal = self._sum(case.above, _column(self.ideal, above))
        worst = self._sum(case.below, _column(self.worst, below))
        return np.divide(dcg + worst, ideal + worst, out=otherwise.copy(), where=ideal + worst > 0)

    def _sum(self, layers: Layers, values: np.ndarray) -> np.ndarray:
        return np.bincount(layers.query, layers.thickness * values, self.case.queries)


def _column(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The number in the wanted column of each row."""
    return np.take_along_axis(table, column[:, np.newaxis], axis=1)[:, 0]
