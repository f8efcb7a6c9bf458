"""Rounds of documents to judge next: some that tell most, and some at random with known chances. NumPy only.

What is drawn at once is a unit: one document, or several of one query, because raters read its query only once.
The random part is a bottom-m sample of units: each gets an exponential key, and the m least keys are drawn. Given
the next key, the threshold, each unit was drawn with a chance that is known, and independently of the others
(Cohen and Kaplan, Summarizing data using bottom-k sketches, PODC 2007). So is every beginning of the sample.
Within a query the documents are drawn in the same way.
"""

from dataclasses import dataclass

import numpy as np

from .influence import Expectation, expect
from .model import fit
from .pool import UNJUDGED, Pool

GREEDY = 1 / 3  # of a round; half tells more where the model is right, and covers less where it is wrong
AT_RANDOM = 3  # batches at least: with fewer the threshold is often tiny, and weights are huge
BY_SCORE, IN_TOP, ELSEWHERE = 0.6, 0.3, 0.1  # of the rates: by the root of the score, in the top k, in no top k
OPEN = 0.02  # the least weight of a pair of systems, however far apart
LEVELS = 0.25  # the weight of each system's own mean, against that of the differences
FLOOR = 0.004  # least standard deviation of a difference that the weights of pairs are computed from


@dataclass(frozen=True, eq=False)
class Round:
    """Pairs to judge. `greedy` were chosen with certainty, `drawn` at random, by the keys of their units."""

    greedy: np.ndarray  # int64[g]: rows of the pool
    drawn: np.ndarray  # int64[m]
    unit: np.ndarray  # int64[m], the unit of each, ascending from 0 without gaps
    within: np.ndarray  # float64[m]: the chance of each within its unit
    rate: np.ndarray  # float64[units]: how readily each was drawn
    keys: np.ndarray  # float64[units + 1], ascending; the last is the threshold, inf where all were drawn
    precision: float  # what the round weighs, known before any answer

    def chance(self, units: int | None = None) -> np.ndarray:
        """The chance that each drawn pair had, float64[m]; of the first `units`, as a sample of their own."""
        last = len(self.rate) if units is None else units
        here = self.unit[: np.searchsorted(self.unit, last)]
        return -np.expm1(-self.rate[here] * self.keys[last]) * self.within[: len(here)]

    @property
    def equal(self) -> bool:
        """Whether all were drawn by equal chances: see `at_random`."""
        return bool(len(self.rate)) and bool((self.rate == 1).all() and (self.within == 1).all())


def outside(row: int) -> Round:
    """The round that a judgment outside all rounds makes: certain, and no evidence about other documents."""
    none = np.zeros(0)
    return Round(np.array([row]), none.astype(int), none.astype(int), none, none, np.zeros(1), 0.0)


def by_depth(rows: np.ndarray, rank: np.ndarray, size: int, generator: np.random.Generator) -> Round:
    """A round of `size` of these rows from the top of the lists: certain, and no evidence about other documents.

    rank: int64[rows, systems]. The best rank comes first, then what more systems have that high, then chance.
    """
    best = rank.min(axis=1)
    order = np.lexsort((generator.random(len(rows)), -(rank == best[:, np.newaxis]).sum(axis=1), best))
    none = np.zeros(0)
    return Round(rows[order[:size]], none.astype(int), none.astype(int), none, none, np.array([np.inf]), 0.0)


def at_random(rows: np.ndarray, size: int, score: float, generator: np.random.Generator) -> Round:
    """A round of `size` of these rows, one by one and with equal chances, or of all if there are fewer.

    score: what a row is expected to tell, the same in all rounds whatever was judged. Then every judgment of such
    rounds weighs as much as the pool has pairs over those drawn.
    """
    size, none = min(size, len(rows)), np.zeros(0, int)
    # Of these keys the n least have the chance n / rows, as in a sample without replacement, and not about that.
    with np.errstate(divide="ignore"):
        keys = -np.log1p(-np.arange(size + 1) / max(len(rows), 1))
    chance = np.full(len(rows), size / max(len(rows), 1))
    alone, ones = np.arange(size), np.ones(size)
    precision = _precision(np.full(len(rows), score), chance)
    return Round(none, generator.permutation(rows)[:size], alone, ones, ones, keys, precision)


def typical(pool: Pool) -> float:
    """What a pair of the pool is expected to tell before any is judged, on average."""
    level = np.full(pool.pairs, UNJUDGED)
    model = fit(pool, level)
    chances = model.chances()
    return float(scores(expect(pool, level, chances, model.spread), chances, np.arange(pool.pairs)).mean())


def objective(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """What is wanted of the means, as a factor R: less of E|R'error|². float64[systems, systems].

    mean: float64[systems]; spread: float64[systems, systems], standard deviations of the differences. Two systems
    weigh more the less is known about which of them is better.
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
    """How much each unjudged pair is expected to tell, float64[unjudged]; `unjudged` are rows of the pool.

    calibration: how much larger than expected the squared changes have been so far.
    """
    covariance = calibration * expectation.covariance(unjudged, chances)
    variance = np.diag(covariance)
    spread = variance[:, np.newaxis] + variance - 2 * covariance
    factor = objective(expectation.value.mean(axis=0), np.sqrt(np.maximum(spread, 0) + FLOOR**2))
    return np.maximum(expectation.size(unjudged, chances, factor), 0)


def rates(score: np.ndarray, top: np.ndarray) -> np.ndarray:
    """How readily each pair is to be drawn, float64[pairs], positive.

    The root of the score is the best choice for the estimate; the rest goes to all, so that every chance is known
    and none is tiny. top: bool[pairs], whether any system has the pair above the cutoff.
    """
    root = np.sqrt(np.maximum(score, 1e-30))
    to_top, elsewhere = IN_TOP / max(top.sum(), 1), ELSEWHERE / max((~top).sum(), 1)
    return BY_SCORE * root / root.sum() + np.where(top, to_top, elsewhere) + 1e-12


def draw_round(
    rows: np.ndarray, score: np.ndarray, rate: np.ndarray, size: int, generator: np.random.Generator
) -> Round:
    """A round of `size` of these rows of the pool, one by one, or of all if there are fewer.

    Scores and rates stand beside the rows.
    """
    size = min(size, len(rows))
    certain = np.argsort(-score)[: round(GREEDY * size) if size < len(rows) else 0]
    rest = np.delete(np.arange(len(rows)), certain)
    size -= len(certain)
    chosen, keys = _bottom(rate[rest], size, generator)
    drawn = rest[chosen]
    chance = -np.expm1(-rate[rest] * size / rate[rest].sum())
    alone = np.arange(len(drawn))
    return Round(
        rows[certain], rows[drawn], alone, np.ones(len(drawn)), rate[drawn], keys, _precision(score[rest], chance)
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

    query: int64[rows], ascending. Up to a third of the batches is of the queries whose best documents tell most.
    What they leave of their queries can be drawn like all others, for a document that could not be would be told
    nothing about: so a query may have two batches. Of at most as many rows as that all are taken.
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
        _precision(score, _likely(place, rate, of_query, len(chosen), batch)),
    )


def _best_batches(place: np.ndarray, score: np.ndarray, batches: int, batch: int) -> np.ndarray:
    """The best documents of the queries whose best tell most: int64[any], places of documents.

    place: int64[documents], ascending: the query of each, from 0 without gaps.
    """
    best_first = np.lexsort((-score, place))
    nth = np.arange(len(place)) - np.searchsorted(place, place)
    top = best_first[nth < batch]
    worth = np.bincount(place[top], score[top])
    return top[np.isin(place[top], np.argsort(-worth)[:batches])]


def _likely(place: np.ndarray, rate: np.ndarray, of_query: np.ndarray, batches: int, batch: int) -> np.ndarray:
    """About the chance of each document to be drawn, before anything is, float64[rows]."""
    of_unit = -np.expm1(-of_query * batches / of_query.sum())
    return np.maximum(of_unit[place] * -np.expm1(-rate * batch / of_query[place]), 1e-9)


def _bottom(rate: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The `size` least of exponential keys: int64[size], and the keys with the next, inf if there is none."""
    keys = generator.exponential(size=len(rate)) / rate
    order = np.argsort(keys)[: size + 1]
    found = keys[order] if len(rate) > size else np.append(keys[order], np.inf)
    return order[:size], found


def _precision(score: np.ndarray, chance: np.ndarray) -> float:
    """One over the variance that is expected of the round's estimate."""
    return 1 / max(float((score * (1 - chance) / chance).sum()), 1e-14)
