"""Exact bounds of nDCG: the least and the greatest value that it can have once all of the pool is judged."""

from dataclasses import dataclass, replace

import numpy as np

from .arrays import DOCUMENT_BITS, Judgments, Rankings, distinct, groups, pair_key
from .cumulative import ndcg
from .discounts import discount
from .extremes import Case, Layers, extreme
from .gains import gain
from .grading import GradedRankings, grade_rankings
from .options import BY_SCORE, Options
from .ties import by_score


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the greatest nDCG of each query once all is judged; nan where no value is possible."""

    low: np.ndarray  # float64[queries]
    high: np.ndarray  # float64[queries]
    certain: np.ndarray  # bool[queries]: whether the query has a value whatever the missing judgments are
    unknown: np.ndarray  # bool[queries]: whether a value may be possible without known bounds, so both are nan

    @property
    def possible(self) -> np.ndarray:
        """Whether the query can have a value, bool[queries]."""
        return ~np.isnan(self.low) | self.unknown


def bounds_of_mean(
    low: np.ndarray, high: np.ndarray, certain: np.ndarray, possible: np.ndarray
) -> tuple[float, float]:
    """The least and the greatest mean over the certain queries and any of those that are only possible.

    low, high: float64[queries]; certain, possible: bool[queries]. (nan, nan) if no query is possible, and if the
    bounds of a possible query are nan.
    """
    may = possible & ~certain
    return _least_mean(low[certain], low[may]), -_least_mean(-high[certain], -high[may])


def _least_mean(must: np.ndarray, may: np.ndarray) -> float:
    """The least mean of all values of `must` and any subset of `may`; nan if both are empty."""
    sums = must.sum() + np.append(0.0, np.cumsum(np.sort(may)))
    sizes = len(must) + np.arange(len(sums))
    means = sums[sizes > 0] / sizes[sizes > 0]
    return float(means.min()) if means.size else float("nan")


def bounds(
    cutoff: int | None,
    judgments: Judgments,
    rankings: Rankings,
    options: Options,
    grades: tuple[float, float],
    pool: tuple[np.ndarray, np.ndarray],
) -> Bounds:
    """Exact bounds of one system's nDCG at `cutoff` for any grades that the unjudged documents can get.

    `grades` is the (lowest, highest) of the scale. Every grade between them counts as possible, since a judgment
    can be a mean of ratings. Where 0 is between them and in truth no judgment can be 0, the bounds may be somewhat
    too wide. `pool` is the (query, document) of the pairs to be judged. Pairs that are judged already do not
    matter; the unjudged documents of the ranking down to the cutoff always belong to the pool.

    nan where the search does not apply: under negatives=minmax_closed, whose ideal and worst list have all judged
    documents, whatever their gain; and under ideal=retrieved with an assumed grade, since documents that stay
    unjudged are then in the ideal. Also nan, by `_valid_bounds`, where nDCG is unbounded: under negatives=raw, if
    gains below 0 are possible and none above 0 is certain.
    """
    assumed_in_ideal = options.assumed_grade is not None and options.ideal == "retrieved"
    if assumed_in_ideal or options.negatives == "minmax_closed":
        undefined, unknown = np.full(judgments.queries, np.nan), np.ones(judgments.queries, bool)
        return Bounds(undefined, undefined, certain=~unknown, unknown=unknown)
    # Once all is judged, no document above the cutoff is unjudged, so the option does not matter.
    graded = _graded(judgments, rankings, replace(options, unjudged="zero"), cutoff)
    lowest, highest = gain(np.array(grades, np.float64), options)
    case = _case(graded, cutoff, pool, lowest, highest)  # what the search for the extreme values needs
    # Whether a query has a judgment, of whatever gain, once all is judged: if it has one now, or a pair to judge.
    pairs_in_pool = np.bincount(pool[0], minlength=judgments.queries)
    has_judgment = (judgments.count > 0) | (case.unjudged > 0) | (pairs_in_pool > 0)
    least, greatest = extreme(case, sign=-1), extreme(case, sign=1)
    return _valid_bounds(least, greatest, case, graded, cutoff, (lowest, highest), has_judgment)


def unjudged(
    cutoff: int | None, judgments: Judgments, rankings: Rankings, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """The unjudged documents of one system's rankings down to the cutoff: (query, document), int64[n] each."""
    graded = _graded(judgments, rankings, replace(options, unjudged="zero"), cutoff)
    mine = ~graded.judged & (_weight(graded, cutoff) > 0)
    return graded.query[mine], graded.document[mine].astype(np.int64)


def _weight(graded: GradedRankings, cutoff: int | None) -> np.ndarray:
    """How much a gain of 1 at each row adds to the DCG, float64[rows]."""
    counts = True if cutoff is None else graded.rank <= cutoff
    return graded.expected(graded.discount * counts)


def _graded(judgments: Judgments, rankings: Rankings, options: Options, cutoff: int | None) -> GradedRankings:
    """The graded rankings with all rows that can affect nDCG, judged or not."""
    if options.ties in BY_SCORE:
        rankings, options = by_score(rankings, options.ties), replace(options, ties="rank")
    if cutoff is not None and options.ties == "rank" and options.ideal == "judged":
        rankings = rankings.top(cutoff)
    return grade_rankings(judgments, rankings, options, every_row=True)


def _case(
    graded: GradedRankings, cutoff: int | None, pool: tuple[np.ndarray, np.ndarray], lowest: float, highest: float
) -> Case:
    """The input of `extremes.extreme` for these rankings.

    pool: the (query, document) of the pairs to be judged, int64[n] each; lowest, highest: the gains of the ends of
    the scale.
    """
    queries, options = graded.queries, graded.options
    weight = _weight(graded, cutoff)
    # Unjudged documents with a weight in the DCG. Those with weight 0 can only enter the ideal or the worst list,
    # like those of the pool that are not in the ranking: all of these are "outside".
    inside = ~graded.judged & (weight > 0)
    query = graded.query[inside]  # ascending, as are all rows
    number_inside = np.bincount(query, minlength=queries)
    number_outside = _outside(pool, graded, inside)
    # No ideal or worst list is longer. The judged documents of the ranking are in this sum twice: it only has to
    # be large enough.
    longest = (graded.judgments.count + graded.length + number_outside).max(initial=0)
    depth = longest if cutoff is None else min(cutoff, longest)  # ranks of these lists that can matter
    # Outside documents act only by their ranks in these lists, so more of them than such ranks change nothing.
    number_unjudged = number_inside + np.minimum(number_outside, depth)

    # The rows of `query` become columns of their query, from 0. They are by rank, so the heaviest is first. The
    # weights of documents outside stay 0.
    weights = np.zeros((queries, number_unjudged.max(initial=0)))
    first = np.cumsum(number_inside) - number_inside  # the first row of each query in `query`
    column = np.arange(len(query)) - first[query]
    weights[query, column] = weight[inside]
    # Ranges of gains, above 0 and below 0, from each gain of a judged document or end of the scale to the next.
    layers_above, layers_below = _both_layers(graded, lowest, highest)
    return Case(
        dcg_of_judged=graded.total(graded.contribution, cutoff),
        weights=weights,
        unjudged=number_unjudged,
        layers_above=layers_above,
        layers_below=layers_below,
        cumulative_discounts=np.append(0.0, np.cumsum(discount(np.arange(1, depth + 1), options))),
        has_worst_list=options.negatives == "minmax",
    )


def _outside(pool: tuple[np.ndarray, np.ndarray], graded: GradedRankings, inside: np.ndarray) -> np.ndarray:
    """The number of unjudged documents outside the top ranks that could enter the ideal, int64[queries].

    The top ranks are those that add to the DCG. pool: the (query, document) of its pairs; inside: bool[rows], the
    unjudged documents at the top ranks, which the caller counts.
    """
    keys = distinct(pair_key(*map(np.asarray, pool)))
    unjudged_keys = keys[~_among(keys, graded.judgments.key)]
    if not unjudged_keys.size:  # all of the pool is judged, so the search among all rows is spared
        return np.zeros(graded.queries, np.int64)

    def number_in_pool(rows: np.ndarray) -> np.ndarray:
        """How many of these rows (bool[rows]) are unjudged pairs of the pool, int64[queries]."""
        query = graded.query[rows]
        pooled = _among(pair_key(query, graded.document[rows]), unjudged_keys)
        return np.bincount(query[pooled], minlength=graded.queries)

    if graded.options.ideal == "retrieved":  # only documents of the ranking can enter the ideal
        return number_in_pool(~graded.judged & ~inside)
    # Any document of the pool can. So: all unjudged pairs of the pool, less those at the top ranks. The query of a
    # pair is the part of its key above the bits of the document.
    return np.bincount(unjudged_keys >> DOCUMENT_BITS, minlength=graded.queries) - number_in_pool(inside)


def _among(keys: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Whether each key is one of the `ascending` ones, bool[keys]."""
    return np.append(ascending, -1)[np.searchsorted(ascending, keys)] == keys


def _both_layers(graded: GradedRankings, lowest: float, highest: float) -> tuple[Layers, Layers]:
    """The layers above 0 and those below 0 of the judged documents that can be in the ideal or the worst list.

    A layer is the range between two gains that follow each other: see `_layers`. With ideal=judged the layers are
    the same for every system, and cached. lowest, highest: the gains of the ends of the scale, which are limits of
    layers, too, since unjudged documents can get any gain between them.
    """
    judgments, options = graded.judgments, graded.options

    def layers_of(query: np.ndarray, grade: np.ndarray) -> tuple[Layers, Layers]:
        """The layers above and below 0 of these judged documents: int64[n] and float64[n]."""
        gains = gain(grade, options)
        return (
            _layers(graded.queries, query, gains, lowest, highest),
            # `_layers` makes layers above 0. With every sign turned, the gains below 0 are above it, and the ends
            # of the scale are -highest and -lowest.
            _layers(graded.queries, query, -gains, -highest, -lowest),
        )

    if options.ideal == "retrieved":
        return layers_of(graded.query[graded.judged], graded.grade[graded.judged])
    # All that the layers depend on besides the judgments. `gain` reads negatives: under "clip" no gain is below 0.
    cache_key = ("layers", options.gain, options.gain_map, options.negatives, lowest, highest)
    return judgments.remember(cache_key, lambda: layers_of(judgments.query, judgments.grade))


def _layers(queries: int, query: np.ndarray, gains: np.ndarray, lowest: float, highest: float) -> Layers:
    """The layers above 0 of each query, so that sums of gains are sums of layers: see `extremes`.

    A layer lies between two cuts that follow each other: 0, the gains of judged documents, and those of the ends
    of the scale. A document reaches it if its gain is at least the upper cut. Judged gains 3, 1, 1 and the ends 0
    and 2 make three layers: 0 to 1, which three judged documents reach, 1 to 2, which one reaches, and 2 to 3,
    which one reaches, and which no unjudged document can reach.

    queries: their number.
    query, gains: int64[n] and float64[n], of the judged documents.
    lowest, highest: the least and the greatest gain of an unjudged document.
    """
    # A row for each judged document above 0, then one for each query and end above 0.
    gaining = np.flatnonzero(gains > 0)
    ends = [end for end in {lowest, highest} if end > 0]
    row_gain = np.concatenate([gains[gaining], *[np.full(queries, end) for end in ends]])
    row_query = np.concatenate([query[gaining], *[np.arange(queries) for _ in ends]])
    order = np.lexsort((row_gain, row_query))  # query after query, the lowest gain first
    row_query, row_gain = row_query[order], row_gain[order]
    is_judged = order < len(gaining)  # before they were sorted, the rows of judged documents came first

    # Rows of a query with the same gain make one layer, from the next lower gain of the query, or 0, to theirs.
    first, _ = groups(row_query, row_gain)
    layer_query, upper = row_query[first], row_gain[first]
    is_lowest = np.diff(layer_query, prepend=-1) > 0  # whether a layer is the first of its query
    lower = np.where(is_lowest, 0.0, np.append(0.0, upper)[:-1])  # 0, or the upper end of the layer before
    # The judged documents from the first row of a layer to the end of its query reach it.
    judged_before = np.append(0, np.cumsum(is_judged))  # how many are in the rows before each row, and in all
    end_of_query = np.searchsorted(row_query, layer_query, side="right")
    judged = judged_before[end_of_query] - judged_before[first]
    return Layers(layer_query, upper - lower, judged, all_reach=upper <= lowest, none_reach=upper > highest)


def _valid_bounds(
    low: np.ndarray,
    high: np.ndarray,
    case: Case,
    graded: GradedRankings,
    cutoff: int | None,
    gains: tuple[float, float],
    has_judgment: np.ndarray,
) -> Bounds:
    """The bounds: nan where no value is possible, the present value where no judgment is missing.

    low, high: float64[queries], the results of `extreme`; gains: of the ends of the scale; has_judgment:
    bool[queries], whether a query has a judgment once all of the pool is judged.
    """
    # Whether nDCG is defined whatever the missing judgments are, and whether it is for some of them.
    surely_defined, maybe_defined = _defined(case, *gains)
    # With negatives=raw nDCG is DCG / IDCG. If no gain above 0 is certain, the IDCG can be arbitrarily small, and
    # with a loss in the DCG the ratio has no lower limit. Under minmax the worst list limits it, under clip there
    # is no loss.
    has_loss = (gains[0] < 0) | (case.dcg_of_judged < 0)
    unbounded = maybe_defined & ~surely_defined & has_loss & (graded.options.negatives == "raw")
    present = ndcg(graded, cutoff)  # nan where it is undefined
    low = np.where(case.unjudged > 0, low, present)
    high = np.where(case.unjudged > 0, high, present)
    if graded.options.undefined == "zero":
        # What may be undefined may count as 0. fmin and fmax return 0 for a nan.
        low = np.where(surely_defined, low, np.fmin(low, 0.0))
        high = np.where(surely_defined, high, np.fmax(high, 0.0))
        certain = possible = has_judgment  # every query with a judgment has a value, if only 0
    else:
        certain, possible = surely_defined, maybe_defined
    possible = possible & graded.answered  # without a ranking there is no value, unless it counts as an empty one
    has_bounds = possible & ~unbounded
    low, high = np.where(has_bounds, low, np.nan), np.where(has_bounds, high, np.nan)
    return Bounds(low, high, certain & has_bounds, unknown=possible & unbounded)


def _defined(case: Case, lowest: float, highest: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether nDCG is defined for each query whatever the missing judgments are, and whether it can be.

    bool[queries] each. It is defined if a document gains above 0 or, with a worst list, below 0.
    """
    has_unjudged, has_worst_list = case.unjudged > 0, case.has_worst_list
    surely = _any(case.layers_above, case.queries) | (has_worst_list & _any(case.layers_below, case.queries))
    surely |= has_unjudged & (lowest > 0 or (has_worst_list and highest < 0))
    return surely, surely | (has_unjudged & (highest > 0 or (has_worst_list and lowest < 0)))


def _any(layers: Layers, queries: int) -> np.ndarray:
    """Whether a judged document reaches a layer, bool[queries]."""
    return np.bincount(layers.query, layers.judged, queries) > 0
