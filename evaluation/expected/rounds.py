"""Rounds of documents to judge next: the most informative ones, and a random sample. NumPy only.

The sampling unit is one document, or several of one query, whose text raters then read only once. The random part
is a bottom-m sample: each unit gets an exponential key, and the units with the m least keys are drawn. Given the
next key, the threshold, the inclusion probability of each unit is known and independent of the other units (Cohen
and Kaplan, Summarizing data using bottom-k sketches, PODC 2007). The same holds for the first units of the sample
by themselves. Within a unit the documents of the query are drawn in the same way.
"""

from dataclasses import dataclass

import numpy as np

from .influence import Expectation, expect
from .model import fit
from .pool import UNJUDGED, Pool

# The greedy share of a round. A half is better where the model is right, and covers less where it is wrong.
GREEDY_SHARE = 1 / 3
FEWEST_RANDOM_BATCHES = 3  # in a round: with fewer the threshold is often tiny, and weights are huge
# The parts of all rates: by the root of the score; equal for pairs in a top k; equal for pairs in no top k.
SHARE_BY_SCORE, SHARE_IN_TOP, SHARE_ELSEWHERE = 0.6, 0.3, 0.1
LEAST_PAIR_WEIGHT = 0.02  # least weight of a pair of systems, however far apart
WEIGHT_OF_MEANS = 0.25  # weight of each system's mean, against that of the differences
LEAST_DEVIATION = 0.004  # least standard deviation of a difference in the weights of pairs of systems


@dataclass(frozen=True, eq=False)
class Round:
    """Pairs to judge: `greedy` ones, chosen with certainty, and `drawn` ones, a random sample by keys of units."""

    greedy: np.ndarray  # int64[g], rows of the pool
    drawn: np.ndarray  # int64[m], rows of the pool
    unit: np.ndarray  # int64[m], the unit of each drawn pair, ascending from 0 without gaps
    within: np.ndarray  # float64[m], the chance of each drawn pair within its unit
    rate: np.ndarray  # float64[units], the rate of each unit's exponential key
    keys: np.ndarray  # float64[units + 1], ascending; the last is the threshold, inf where all were drawn
    precision: float  # the weight of the round, known before any answer

    def chance(self, units: int | None = None) -> np.ndarray:
        """The inclusion probability of each pair in the sample of the first `units` (None: all), float64[m]."""
        last = len(self.rate) if units is None else units
        unit = self.unit[: np.searchsorted(self.unit, last)]
        return -np.expm1(-self.rate[unit] * self.keys[last]) * self.within[: len(unit)]

    @property
    def rows(self) -> np.ndarray:
        """All its pairs, rows of the pool: greedy ones first, int64[g + m]."""
        return np.concatenate([self.greedy, self.drawn])

    @property
    def equal_chances(self) -> bool:
        """Whether all pairs were drawn with equal chances: see `at_random`."""
        return bool(len(self.rate)) and bool((self.rate == 1).all() and (self.within == 1).all())


def by_depth(rows: np.ndarray, rank: np.ndarray, size: int, generator: np.random.Generator) -> Round:
    """A round of the `size` rows that rank highest: all certain, so that they say nothing about other documents.

    A row is a pair of the pool. rows: numbers of rows; rank: int64[rows, systems]. Rows are in the order of their
    best rank in any system. Of rows with the same best rank, the row that more systems have at that rank comes
    first; rows that are equal in this, too, are in random order.
    """
    best = rank.min(axis=1)
    systems_at_best = (rank == best[:, np.newaxis]).sum(axis=1)
    order = np.lexsort((generator.random(len(rows)), -systems_at_best, best))
    # No pair is drawn at random. So the arrays about drawn pairs are empty, and those about units (what one random
    # key draws: a pair, or several of a query).
    no_numbers, no_rows = np.zeros(0), np.zeros(0, int)
    return Round(
        greedy=rows[order[:size]],
        drawn=no_rows,
        unit=no_rows,
        within=no_numbers,
        rate=no_numbers,
        keys=np.array([np.inf]),  # of no unit; then the threshold, which is inf where no unit was left out
        precision=0.0,  # no evidence on other documents
    )


def at_random(rows: np.ndarray, size: int, score: float, generator: np.random.Generator) -> Round:
    """A simple random sample of `size` of these rows, or all if there are fewer, as a round of single documents.

    score: one number as the score of every row, the same in all rounds whatever was judged: see `mean_score`.
    Every judgment of such rounds then has the weight pairs of the pool / pairs drawn. Each document is a unit,
    which is what one random key draws, and none is greedy, which is to be taken for sure.
    """
    size = min(size, len(rows))
    # By `Round.chance`, the first i rows drawn have the chance 1 - exp(-rate × key i), where key i is the first
    # key behind theirs. Elsewhere keys are random. Here the rate is 1 and key i is -log(1 - i / rows), which makes
    # the chance exactly i / rows. The last key is the threshold, of all `size` rows: inf where these are all rows.
    with np.errstate(divide="ignore"):
        keys = -np.log1p(-np.arange(size + 1) / max(len(rows), 1))
    chance = np.full(len(rows), size / max(len(rows), 1))
    return Round(
        greedy=np.zeros(0, int),
        drawn=generator.permutation(rows)[:size],
        unit=np.arange(size),
        within=np.ones(size),
        rate=np.ones(size),
        keys=keys,
        precision=_precision(np.full(len(rows), score), chance),
    )


def mean_score(pool: Pool) -> float:
    """The mean score of the pairs of the pool before any is judged."""
    level = np.full(pool.pairs, UNJUDGED)
    model = fit(pool, level)
    chances = model.chances()
    expectation = expect(pool, level, chances, model.effect_variance)
    return float(scores(expectation, chances, np.arange(pool.pairs)).mean())


def objective(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The factor R of the loss E|R'error|² that judgments are to reduce: float64[systems, systems].

    error: float64[systems], of the means. The loss is a weighted sum of the squared errors of all means, and of
    the squared errors of the difference of each two systems. A difference weighs more, the less sure it is which
    of the two is better. mean: float64[systems]; spread: float64[systems, systems], standard deviations of the
    differences, above 0 even on the diagonal.
    """
    systems = len(mean)
    standardised = (mean[:, np.newaxis] - mean) / spread
    # Of each two systems. The square is cut at 18, so that all that are farther apart weigh the same. The cut
    # changes little, since exp(-9) is negligible beside the least weight.
    weight = np.exp(-0.5 * np.minimum(standardised**2, 18)) + LEAST_PAIR_WEIGHT
    np.fill_diagonal(weight, 0)
    if systems > 1:
        weight *= systems * (systems - 1) / weight.sum()  # 1 in the mean of all pairs of systems
    # error' laplacian error is the weighted sum of squared differences, over the number of systems.
    laplacian = (np.diag(weight.sum(axis=1)) - weight) / systems
    loss_matrix = laplacian + WEIGHT_OF_MEANS * np.eye(systems)  # the loss is error' loss_matrix error
    # R R' is loss_matrix where R has its eigenvectors as columns, each times the root of its eigenvalue.
    eigenvalues, eigenvectors = np.linalg.eigh(loss_matrix)
    return eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))  # rounding can make an eigenvalue fall below 0


def scores(expectation: Expectation, chances: np.ndarray, unjudged: np.ndarray) -> np.ndarray:
    """The score of each unjudged pair: the loss that its judgment is expected to remove, float64[unjudged].

    unjudged: rows of the pool. See `objective`.
    """
    covariance = expectation.covariance(unjudged, chances)
    variance = np.diag(covariance)
    of_differences = variance[:, np.newaxis] + variance - 2 * covariance
    spread = np.sqrt(np.maximum(of_differences, 0) + LEAST_DEVIATION**2)
    factor = objective(expectation.value.mean(axis=0), spread)
    return np.maximum(expectation.squared_changes(unjudged, chances, factor), 0)


def rates(score: np.ndarray, above_cutoff: np.ndarray) -> np.ndarray:
    """The sampling rate of each pair, float64[pairs], positive.

    Rates by the root of the score minimise the variance of the estimate. Two further parts, one shared equally by
    the pairs above the cutoff and one by all others, keep every chance from being tiny. above_cutoff: bool[pairs],
    whether any system has the pair above the cutoff.
    """
    root = np.sqrt(np.maximum(score, 1e-30))
    to_top = SHARE_IN_TOP / max(above_cutoff.sum(), 1)
    elsewhere = SHARE_ELSEWHERE / max((~above_cutoff).sum(), 1)
    return SHARE_BY_SCORE * root / root.sum() + np.where(above_cutoff, to_top, elsewhere) + 1e-12


def draw_round(
    rows: np.ndarray, score: np.ndarray, rate: np.ndarray, size: int, generator: np.random.Generator
) -> Round:
    """A round of `size` of these rows of the pool as single documents, or of all if there are fewer.

    A third of them, GREEDY_SHARE, are greedy: those with the highest scores, taken for sure. Where all rows are
    taken, none is greedy. score: float64[rows], how much each judgment would tell; rate: float64[rows], a row with
    a higher one is drawn more often.
    """
    size = min(size, len(rows))
    number_greedy = round(GREEDY_SHARE * size) if size < len(rows) else 0
    greedy = np.argsort(-score)[:number_greedy]  # places in `rows`, as are `rest` and `drawn`
    rest = np.delete(np.arange(len(rows)), greedy)
    number_drawn = size - number_greedy
    # Each of `rest` gets a random key; those with the least keys are drawn, and the next key is the threshold, inf
    # where all are drawn. chosen: places in `rest`; keys: theirs, then the threshold.
    chosen, keys = _sample_by_keys(rate[rest], number_drawn, generator)
    drawn = rest[chosen]
    # Nearly the chance of each to be drawn, 1 - exp(-rate × threshold), with about the expected threshold in place
    # of the random one: number_drawn / sum of rates.
    chance = -np.expm1(-rate[rest] * number_drawn / rate[rest].sum())
    return Round(
        greedy=rows[greedy],
        drawn=rows[drawn],
        unit=np.arange(len(drawn)),  # each document is a unit of its own
        within=np.ones(len(drawn)),
        rate=rate[drawn],
        keys=keys,
        precision=_precision(score[rest], chance),  # of the estimate by the drawn documents
    )


def draw_batches(
    query: np.ndarray,
    rows: np.ndarray,
    score: np.ndarray,
    rate: np.ndarray,
    batches: int,
    batch: int,
    generator: np.random.Generator,
) -> Round:
    """A round of `batches` queries with `batch` of their documents each, or fewer where a query has fewer.

    query: int64[rows], ascending; score, rate: float64[rows]. Up to a third of the batches are greedy: the queries
    whose best documents have the highest scores. Their other documents can be drawn like all others, since every
    document needs a chance above 0; a query may therefore have two batches. All rows are taken where there are no
    more than a round has.
    """
    if len(rows) <= batches * batch:
        return draw_round(rows, score, rate, len(rows), generator)
    place = np.unique(query, return_inverse=True)[1]
    batches = min(batches, int(place[-1]) + 1)
    greedy = max(min(round(GREEDY_SHARE * batches), batches - FEWEST_RANDOM_BATCHES), 0)
    certain = _best_batches(place, score, greedy, batch)
    rest = np.delete(np.arange(len(rows)), certain)
    left, place = np.unique(place[rest], return_inverse=True)
    score, rate = score[rest], rate[rest]
    rate_of_query = np.bincount(place, rate)
    chosen, keys = _sample_by_keys(rate_of_query, min(batches - greedy, len(left)), generator)
    units, within = [], []  # of each chosen query: the places of its drawn documents in `rest`, and their chances
    for number in chosen:
        low, high = np.searchsorted(place, [number, number + 1])
        documents, inner_keys = _sample_by_keys(rate[low:high], min(batch, high - low), generator)
        units.append(low + documents)
        within.append(-np.expm1(-rate[units[-1]] * inner_keys[-1]))
    return Round(
        greedy=rows[certain],
        drawn=rows[rest[np.concatenate(units)]],
        unit=np.repeat(np.arange(len(units)), [len(unit) for unit in units]),
        within=np.concatenate(within),
        rate=rate_of_query[chosen],
        keys=keys,
        precision=_precision(score, _approximate_chances(place, rate, rate_of_query, len(chosen), batch)),
    )


def _best_batches(place: np.ndarray, score: np.ndarray, batches: int, batch: int) -> np.ndarray:
    """The best documents of the `batches` queries whose best documents have the highest scores, int64[any].

    place: int64[documents], the query of each, ascending from 0 without gaps.
    """
    best_first = np.lexsort((-score, place))  # within each query
    position = np.arange(len(place)) - np.searchsorted(place, place)  # of each row within its query, from 0
    top = best_first[position < batch]
    score_of_query = np.bincount(place[top], score[top])
    best_queries = np.argsort(-score_of_query)[:batches]
    return top[np.isin(place[top], best_queries)]


def _approximate_chances(
    place: np.ndarray, rate: np.ndarray, rate_of_query: np.ndarray, batches: int, batch: int
) -> np.ndarray:
    """The approximate chance of each document to be drawn, before the keys are known: float64[rows].

    It is the chance of its query times that of the document within its query. place: int64[rows], the query of
    each.
    """
    chance_of_query = -np.expm1(-rate_of_query * batches / rate_of_query.sum())
    chance_within = -np.expm1(-rate * batch / rate_of_query[place])
    return np.maximum(chance_of_query[place] * chance_within, 1e-9)


def _sample_by_keys(rate: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The bottom-m sample of `size` units, int64[size], and the keys, float64[size + 1].

    Each unit gets an exponential key with its rate. The sample has the units with the least keys, which come first
    in both arrays, ascending. The last key is the threshold: the next one, or inf where all units are drawn.
    """
    keys = generator.exponential(size=len(rate)) / rate
    order = np.argsort(keys)[: size + 1]
    return order[:size], keys[order] if len(rate) > size else np.append(keys[order], np.inf)


def _precision(score: np.ndarray, chance: np.ndarray) -> float:
    """The precision of a round: one over the expected variance of its estimate."""
    return 1 / max(float((score * (1 - chance) / chance).sum()), 1e-14)
