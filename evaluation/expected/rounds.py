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

GREEDY = 1 / 3  # share of a round; a half is better where the model is right, and covers less where it is wrong
AT_RANDOM = 3  # random batches, at least: with fewer the threshold is often tiny, and weights are huge
BY_SCORE, IN_TOP, ELSEWHERE = 0.6, 0.3, 0.1  # shares of the rates: by root of the score, in a top k, in no top k
OPEN = 0.02  # least weight of a pair of systems, however far apart
LEVELS = 0.25  # weight of each system's mean, against that of the differences
FLOOR = 0.004  # least standard deviation of a difference in the weights of pairs of systems


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
        here = self.unit[: np.searchsorted(self.unit, last)]
        return -np.expm1(-self.rate[here] * self.keys[last]) * self.within[: len(here)]

    @property
    def equal(self) -> bool:
        """Whether all pairs were drawn with equal chances: see `at_random`."""
        return bool(len(self.rate)) and bool((self.rate == 1).all() and (self.within == 1).all())


def judged_outside(row: int) -> Round:
    """A judgment outside all rounds, as a round: certain, without evidence on other documents."""
    none = np.zeros(0)
    return Round(np.array([row]), none.astype(int), none.astype(int), none, none, np.zeros(1), 0.0)


def by_depth(rows: np.ndarray, rank: np.ndarray, size: int, generator: np.random.Generator) -> Round:
    """A round of `size` of these rows from the top of the lists: certain, without evidence on other documents.

    rank: int64[rows, systems]. Rows are in the order of their best rank; of equal ones, the row that more systems
    have at that rank comes first, and equal rows are in random order.
    """
    best = rank.min(axis=1)
    order = np.lexsort((generator.random(len(rows)), -(rank == best[:, np.newaxis]).sum(axis=1), best))
    none = np.zeros(0)
    return Round(rows[order[:size]], none.astype(int), none.astype(int), none, none, np.array([np.inf]), 0.0)


def at_random(rows: np.ndarray, size: int, score: float, generator: np.random.Generator) -> Round:
    """A simple random sample of `size` of these rows, or all if there are fewer, as a round of single documents.

    score: the score of every row, the same in all rounds whatever was judged. Every judgment of such rounds then
    has the weight pairs of the pool / pairs drawn.
    """
    size, none = min(size, len(rows)), np.zeros(0, int)
    # These keys give exactly the chance of a sample without replacement, n / rows.
    with np.errstate(divide="ignore"):
        keys = -np.log1p(-np.arange(size + 1) / max(len(rows), 1))
    chance = np.full(len(rows), size / max(len(rows), 1))
    drawn, unit, ones = generator.permutation(rows)[:size], np.arange(size), np.ones(size)
    precision = _precision(np.full(len(rows), score), chance)
    return Round(none, drawn, unit, within=ones, rate=ones, keys=keys, precision=precision)


def mean_score(pool: Pool) -> float:
    """The mean score of the pairs of the pool before any is judged."""
    level = np.full(pool.pairs, UNJUDGED)
    model = fit(pool, level)
    chances = model.chances()
    return float(
        scores(expect(pool, level, chances, model.effect_variance), chances, np.arange(pool.pairs)).mean()
    )


def objective(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The factor R of the loss E|R'error|² of the means that judgments are to reduce: float64[systems, systems].

    mean: float64[systems]; spread: float64[systems, systems], standard deviations of the differences. A pair of
    systems weighs more, the less sure it is which of them is better.
    """
    systems = len(mean)
    apart = (mean[:, np.newaxis] - mean) / spread
    weight = np.exp(-0.5 * np.minimum(apart**2, 18)) + OPEN
    np.fill_diagonal(weight, 0)
    if systems > 1:
        weight *= systems * (systems - 1) / weight.sum()
    laplacian = (np.diag(weight.sum(axis=1)) - weight) / systems
    values, vectors = np.linalg.eigh(laplacian + LEVELS * np.eye(systems))
    return vectors * np.sqrt(np.maximum(values, 0))


def scores(
    expectation: Expectation, chances: np.ndarray, unjudged: np.ndarray, calibration: float = 1.0
) -> np.ndarray:
    """The score of each unjudged pair: the loss that its judgment is expected to remove, float64[unjudged].

    unjudged: rows of the pool; calibration: observed over expected squared changes so far. See `objective`.
    """
    covariance = calibration * expectation.covariance(unjudged, chances)
    variance = np.diag(covariance)
    spread = variance[:, np.newaxis] + variance - 2 * covariance
    factor = objective(expectation.value.mean(axis=0), np.sqrt(np.maximum(spread, 0) + FLOOR**2))
    return np.maximum(expectation.squared_changes(unjudged, chances, factor), 0)


def rates(score: np.ndarray, top: np.ndarray) -> np.ndarray:
    """The sampling rate of each pair, float64[pairs], positive.

    Rates by the root of the score minimise the variance of the estimate. Two further parts, one shared equally by
    the pairs in `top` and one by all others, keep every chance from being tiny. top: bool[pairs], whether any
    system has the pair above the cutoff.
    """
    root = np.sqrt(np.maximum(score, 1e-30))
    to_top, elsewhere = IN_TOP / max(top.sum(), 1), ELSEWHERE / max((~top).sum(), 1)
    return BY_SCORE * root / root.sum() + np.where(top, to_top, elsewhere) + 1e-12


def draw_round(
    rows: np.ndarray, score: np.ndarray, rate: np.ndarray, size: int, generator: np.random.Generator
) -> Round:
    """A round of `size` of these rows of the pool as single documents, or of all if there are fewer.

    score, rate: float64[rows].
    """
    size = min(size, len(rows))
    number_greedy = round(GREEDY * size) if size < len(rows) else 0
    greedy = np.argsort(-score)[:number_greedy]
    rest = np.delete(np.arange(len(rows)), greedy)
    size -= number_greedy
    chosen, keys = _bottom(rate[rest], size, generator)
    drawn = rest[chosen]
    chance = -np.expm1(-rate[rest] * size / rate[rest].sum())
    unit, within = np.arange(len(drawn)), np.ones(len(drawn))  # each document is a unit of its own
    return Round(rows[greedy], rows[drawn], unit, within, rate[drawn], keys, _precision(score[rest], chance))


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
    greedy = max(min(round(GREEDY * batches), batches - AT_RANDOM), 0)
    certain = _best_batches(place, score, greedy, batch)
    rest = np.delete(np.arange(len(rows)), certain)
    left, place = np.unique(place[rest], return_inverse=True)
    score, rate = score[rest], rate[rest]
    of_query = np.bincount(place, rate)
    chosen, keys = _bottom(of_query, min(batches - greedy, len(left)), generator)
    parts, within = [], []
    for each in chosen:
        low, high = np.searchsorted(place, [each, each + 1])
        among, inner = _bottom(rate[low:high], min(batch, high - low), generator)
        parts.append(low + among)
        within.append(-np.expm1(-rate[low + among] * inner[-1]))
    drawn = np.concatenate(parts)
    return Round(
        rows[certain],
        rows[rest[drawn]],
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        np.concatenate(within),
        of_query[chosen],
        keys,
        _precision(score, _approximate_chances(place, rate, of_query, len(chosen), batch)),
    )


def _best_batches(place: np.ndarray, score: np.ndarray, batches: int, batch: int) -> np.ndarray:
    """The best documents of the `batches` queries whose best documents have the highest scores, int64[any].

    place: int64[documents], the query of each, ascending from 0 without gaps.
    """
    best_first = np.lexsort((-score, place))
    nth = np.arange(len(place)) - np.searchsorted(place, place)
    top = best_first[nth < batch]
    worth = np.bincount(place[top], score[top])
    return top[np.isin(place[top], np.argsort(-worth)[:batches])]


def _approximate_chances(
    place: np.ndarray, rate: np.ndarray, of_query: np.ndarray, batches: int, batch: int
) -> np.ndarray:
    """The approximate chance of each document to be drawn, before the keys are known: float64[rows]."""
    of_unit = -np.expm1(-of_query * batches / of_query.sum())
    return np.maximum(of_unit[place] * -np.expm1(-rate * batch / of_query[place]), 1e-9)


def _bottom(rate: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The bottom-m sample, int64[size], and the keys, float64[size + 1].

    It has the units with the least exponential keys. The last key is the threshold, inf where all are drawn.
    """
    keys = generator.exponential(size=len(rate)) / rate
    order = np.argsort(keys)[: size + 1]
    return order[:size], keys[order] if len(rate) > size else np.append(keys[order], np.inf)


def _precision(score: np.ndarray, chance: np.ndarray) -> float:
    """The precision of a round: one over the expected variance of its estimate."""
    return 1 / max(float((score * (1 - chance) / chance).sum()), 1e-14)
