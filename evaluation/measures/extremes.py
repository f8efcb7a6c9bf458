"""The greatest and the least nDCG = (DCG + worst) / (ideal + worst) that missing judgments allow.

Here `ideal` is the IDCG, and `worst` is minus the DCG of the worst list. The gains are cut into layers at every
gain that occurs. A layer of thickness d adds d times a sum: to the DCG the sum of the weights of the documents
that reach it, and to `ideal` or `worst` the sum of the discounts of as many first ranks. The only unknown of a
layer is how many unjudged documents reach it. For a given ratio, DCG + worst - ratio * (ideal + worst) is thus a
sum over layers, and its extreme leads to the extreme ratio in a few steps (Dinkelbach, On Nonlinear Fractional
Programming, Management Science 13, 1967).

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
    """The layers on one side of 0, query after query, from 0 outwards. A layer is a range of gains.

    A document reaches a layer if its gain is at the end of the range that is farther from 0, or beyond.
    """

    query: np.ndarray  # int64[layers]
    thickness: np.ndarray  # float64[layers], the size of the range
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

    dcg_of_judged: np.ndarray  # float64[queries]: what the judged documents add to the DCG
    weights: np.ndarray  # float64[queries, n]: of the unjudged documents, heaviest first; 0 outside the cutoff
    unjudged: np.ndarray  # int64[queries]: the number of unjudged documents
    layers_above: Layers  # of gains above 0
    layers_below: Layers  # of gains below 0
    cumulative_discounts: np.ndarray  # float64[k + 1]: of the first 0, 1, 2, ... ranks, added up
    has_worst_list: bool  # whether `worst` is part of the ratio; else it is 0

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
            layers_above=self.layers_above.part(first, last),
            layers_below=self.layers_below.part(first, last),
        )


def extreme(case: Case, sign: int) -> np.ndarray:
    """The greatest (sign 1) or least (sign -1) ratio, float64[queries]; 0 or 1 where every ratio is 0 / 0.

    Queries are processed in chunks, because a layer takes a row as long as there are unjudged documents.
    """
    layers = np.bincount(np.append(case.layers_above.query, case.layers_below.query), minlength=case.queries)
    part = np.cumsum((layers + 1) * (case.weights.shape[1] + 1)) // CELLS_AT_A_TIME
    edges = [*np.flatnonzero(np.diff(part, prepend=-1)), case.queries]
    parts = [_Search(case.part(*edge), sign).ratio() for edge in zip(edges, edges[1:], strict=False)]
    return np.concatenate([np.empty(0), *parts])


class _Search:
    """The search of `extreme`. Tables [queries, n + 1] have a column for each number of unjudged documents.

    The numbers are 0 to n, where n is the largest number of unjudged documents of any query.
    """

    def __init__(self, case: Case, sign: int) -> None:
        """Prepares the sums for 0 to n unjudged documents whose gain is above 0, or is below 0.

        sign: 1 to search for the greatest nDCG, -1 for the least.
        """
        self.case, self.sign = case, sign
        self.numbers = np.arange(case.weights.shape[1] + 1)  # of unjudged documents: that of each column
        self.too_many = self.numbers > case.unjudged[:, np.newaxis]  # more than the query has
        self.remaining = np.maximum(case.unjudged[:, np.newaxis] - self.numbers, 0)  # how many more it has, or 0
        # The summed weights of so many unjudged documents, the heaviest or the lightest of the query. Case.weights
        # begin with the heaviest. The lightest have the weight of all less that of the heaviest `remaining`.
        heaviest = np.zeros((case.queries, len(self.numbers)))
        np.cumsum(case.weights, axis=1, out=heaviest[:, 1:])
        lightest = heaviest[:, -1:] - np.take_along_axis(heaviest, self.remaining, axis=1)
        # The greatest nDCG has good grades at heavy ranks and bad ones at light ranks, the least the reverse.
        self.weights_above, self.weights_below = (heaviest, lightest) if sign > 0 else (lightest, heaviest)
        # The documents that reach a layer (a range of gains: see `Layers`) are the first of the ideal list or of
        # the worst. The summed discounts of their ranks, where so many unjudged ones join the judged,
        # [layers, n + 1].
        above, below = case.layers_above, case.layers_below
        self.ideal_discounts = case.first_discounts(above.judged[:, np.newaxis] + self.numbers)
        self.worst_discounts = case.first_discounts(below.judged[:, np.newaxis] + self.numbers)
        if not case.has_worst_list:  # of no query: only negatives=minmax has worst lists
            self.worst_discounts[:] = 0

    def ratio(self) -> np.ndarray:
        """The extreme ratio of each query, float64[queries]."""
        ratio = np.full(self.case.queries, 0.0 if self.sign > 0 else 1.0)
        for step in range(MOST_STEPS):
            next_ratio = self._ratio_of(*self._best_numbers(ratio), ratio)
            # After the first step the ratio can only improve; without a worst list, the first can go either way.
            better = self.sign * (next_ratio - ratio) > NEGLIGIBLE_CHANGE if step else next_ratio != ratio
            if not better.any():
                break
            ratio = np.where(better, next_ratio, ratio)
        return ratio

    def _best_numbers(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many unjudged documents best reach each layer above 0, and each below 0: int64[layers] each.

        A layer is a range of gains. The best numbers make DCG + worst - ratio * (ideal + worst) greatest or, in
        the search for the least ratio, least. That is the same as DCG - ratio * ideal + (1 - ratio) * worst, in
        which `ideal` is a sum over the layers above 0, and `worst` over those below. ratio: float64[queries].
        """
        above, below = self.case.layers_above, self.case.layers_below
        # What each layer adds, by the number of unjudged documents. Below 0 their weights are taken from the DCG.
        # In the search for the least ratio, `_terms` turns the sign, so that the greatest total is best.
        terms_above = self._terms(above, self.weights_above, self.ideal_discounts, -ratio)
        terms_below = self._terms(below, -self.weights_below, self.worst_discounts, 1 - ratio)
        # No more documents can reach a layer than the one before it, nearer to 0. For the greatest ratio, the best
        # number of each layer by itself keeps to this above 0. Below 0 these would rise, and then one number for
        # all layers is best. For the least ratio it is the reverse: see the head of the module.
        sum_above, reaching_above = self._best_sum(above, terms_above, by_layer=self.sign > 0)
        sum_below, reaching_below = self._best_sum(below, terms_below, by_layer=self.sign < 0)
        # Column i: i unjudged documents have gains above 0, and the `remaining` ones of the query below.
        total = sum_above + np.take_along_axis(sum_below, self.remaining, axis=1)
        total[self.too_many] = -np.inf  # the query has fewer than i unjudged documents
        number_above = total.argmax(axis=1)
        number_below = self.case.unjudged - number_above
        return (
            _column(reaching_above, number_above[above.query]),
            _column(reaching_below, number_below[below.query]),
        )

    def _terms(self, layers: Layers, weights: np.ndarray, discounts: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """What each layer adds to DCG - ratio * ideal + (1 - ratio) * worst, times `sign`: float64[layers, n + 1].

        `worst` is added, as it is minus the DCG of the worst list. Column i is for i unjudged documents that reach
        the layer, a range of gains: `thickness`, the size of this range, times (weights + factor * discounts).

        weights: float64[queries, n + 1], the summed weights of these i documents in the DCG; negative for the
        layers below 0, which lower the DCG.
        discounts: float64[layers, n + 1], of all documents that reach the layer, in the ideal or the worst list.
        factor: float64[queries], -ratio for the ideal list, 1 - ratio for the worst.
        """
        at_thickness_1 = weights[layers.query] + factor[layers.query, np.newaxis] * discounts
        terms = at_thickness_1 * layers.thickness[:, np.newaxis]
        terms *= self.sign  # so that the greatest number is the best one also for the least ratio
        # The number is fixed where no unjudged document can reach a layer, or every one does: 0, or all of them.
        terms[layers.none_reach] = terms[layers.none_reach, :1]
        unjudged = self.case.unjudged[layers.query[layers.all_reach]]
        terms_of_all = terms[layers.all_reach, unjudged]  # of each layer that all reach: its only possible term
        terms[layers.all_reach] = terms_of_all[:, np.newaxis]
        return terms

    def _best_sum(self, layers: Layers, terms: np.ndarray, by_layer: bool) -> tuple[np.ndarray, np.ndarray]:
        """The best sum of a query's layers, and how many unjudged documents then reach each of them.

        float64[queries, n + 1] and int64[layers, n + 1]. A layer is a range of gains, here on one side of 0, above
        or below. A document reaches it if its gain is at its farther end from 0, or beyond. Column i is for i
        unjudged documents with gains on this side. terms: what each layer adds to the sum, from `_terms`.
        by_layer: each layer is reached by the number from 0 to i that is best for it; otherwise all i reach every
        layer.
        """
        best = terms
        reaching = np.tile(self.numbers, (len(terms), 1))  # i in column i
        if by_layer:
            best = np.maximum.accumulate(terms, axis=1)  # the best term of columns 0 to i
            # The last of these columns with that term. A column that falls below it takes over the one before.
            reaching = np.maximum.accumulate(np.where(terms == best, reaching, 0), axis=1)
        # Layers that none or all reach, whatever i is. Their rows of `terms` are constant, so `best` is right. If
        # all reach a layer, every grade of the scale is on this side, and i is how many can reach layers beyond.
        reaching[layers.none_reach] = 0
        reaching[layers.all_reach] = self.case.unjudged[layers.query[layers.all_reach], np.newaxis]
        total = np.zeros((self.case.queries, len(self.numbers)))
        first = np.flatnonzero(np.diff(layers.query, prepend=-1))  # the first layer of each query
        total[layers.query[first]] = np.add.reduceat(best, first, axis=0)
        return total, reaching

    def _ratio_of(
        self, reaching_above: np.ndarray, reaching_below: np.ndarray, otherwise: np.ndarray
    ) -> np.ndarray:
        """The ratio for these numbers of unjudged documents in each layer; `otherwise` where it is 0 / 0."""
        above, below = self.case.layers_above, self.case.layers_below
        dcg = self.case.dcg_of_judged + self._sum(above, self.weights_above[above.query, reaching_above])
        dcg -= self._sum(below, self.weights_below[below.query, reaching_below])
        ideal = self._sum(above, _column(self.ideal_discounts, reaching_above))
        worst = self._sum(below, _column(self.worst_discounts, reaching_below))
        return np.divide(dcg + worst, ideal + worst, out=otherwise.copy(), where=ideal + worst > 0)

    def _sum(self, layers: Layers, values: np.ndarray) -> np.ndarray:
        return np.bincount(layers.query, layers.thickness * values, self.case.queries)


def _column(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The number in the wanted column of each row."""
    return np.take_along_axis(table, column[:, np.newaxis], axis=1)[:, 0]
