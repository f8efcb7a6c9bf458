"""The expected mean nDCG of systems while judgments are missing, and how sure it is. NumPy only.

The model alone is precise, but biased by what was chosen to be judged. Judgments that were drawn with known
chances tell that bias, but with much noise. The estimate believes them as far as they can be heard.
"""

from dataclasses import dataclass

import numpy as np

from ..draws import EXPECTED, SEED
from .influence import Expectation, expect
from .model import Model, fit
from .pool import UNJUDGED, Pool
from .weights import Design

NORMAL = 1.6448536269514722  # standard deviations to each side of an interval of 90 %
BELOW = 1.5  # how much more the bias can be where no system has a document above the cutoff
SHARED, OWN = (0.4, 0.8, 1.6), (0.2, 0.5, 1.0)  # shifts of log odds that the bias may be: of all systems, of one
SHARED_PRIOR, OWN_PRIOR = 1.2, 0.7  # the scales of their half-normal priors
RESIDUALS = 15  # judgments that "the model is calibrated" counts for
WITHOUT_CHANCES = "which documents were judged was not drawn by known chances"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Expected means, and their covariance for missing judgments alone: ratings and queries are taken as given."""

    mean: np.ndarray  # float64[systems]
    covariance: np.ndarray | None  # float64[systems, systems]; None: no interval can be given
    without: str = ""  # why there is no interval
    calibration: float = 1.0  # squared changes of the means by judgments, against those that were expected
    draws: int = EXPECTED
    seed: int = SEED

    def interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The 90 % interval of each mean, two of float64[systems]."""
        if self.covariance is None:
            return None
        reach = NORMAL * np.sqrt(np.diag(self.covariance))
        return self.mean - reach, self.mean + reach

    def difference(self, first: int, second: int) -> tuple[float, float, float] | None:
        """The mean of `second` less that of `first`, and its 90 % interval."""
        if self.covariance is None:
            return None
        contrast = np.zeros(len(self.mean))
        contrast[second] += 1
        contrast[first] -= 1
        middle = contrast @ self.mean
        reach = NORMAL * np.sqrt(max(contrast @ self.covariance @ contrast, 0.0))
        return float(middle), float(middle - reach), float(middle + reach)


def estimate(
    pool: Pool, level: np.ndarray, design: Design | None = None, draws: int = EXPECTED, seed: int = SEED
) -> Estimate:
    """The expected mean of every system, over the queries where something is found.

    level: int64[pairs], -1 = unjudged. Without a design that tells anything about documents that were not drawn,
    there is the model's mean and no interval. Where nothing is unjudged, the mean is plain nDCG, without doubt.
    """
    if (level != UNJUDGED).all():
        (mean,) = means(pool, level, np.zeros((0, 1), np.int8))
        return Estimate(mean, np.zeros((pool.systems, pool.systems)), draws=draws, seed=seed)
    model = fit(pool, level)
    unjudged = np.flatnonzero(level == UNJUDGED)
    drawn = means(pool, level, model.draw(unjudged, draws, np.random.default_rng(seed)))
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    mean = drawn.mean(axis=0) if len(drawn) else np.full(pool.systems, np.nan)
    if design is None or design.evidence <= 0 or len(drawn) < 2:
        return Estimate(mean, None, WITHOUT_CHANCES, draws=draws, seed=seed)
    covariance = np.cov(drawn.T).reshape(pool.systems, pool.systems)
    return corrected(model, mean, covariance, design, draws, seed)


def means(pool: Pool, level: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The mean nDCG of each system in each draw, over the queries where something is found.

    drawn: int8[unjudged, draws], the levels of the unjudged pairs, in the order of the pool. Returns
    float64[draws, systems], nan where nothing is found at all.
    """
    draws = drawn.shape[1]
    place = np.append(0, np.cumsum(level == UNJUDGED))[pool.first]  # in `drawn`, where each query begins
    count = np.empty((draws, pool.queries, pool.steps), np.int64)
    gained = np.empty((pool.queries, draws, pool.systems))
    for query in range(pool.queries):
        rows = slice(*pool.first[query : query + 2])
        whole = np.repeat(level[rows].astype(np.int8)[:, np.newaxis], draws, axis=1)
        whole[level[rows] == UNJUDGED] = drawn[slice(*place[query : query + 2])]
        for step in range(pool.steps):
            count[:, query, step] = np.count_nonzero(whole > step, axis=0)
        # In the top k of no system, a document has no discount.
        top = pool.top[rows]
        gained[query] = pool.gains[whole[top]].T @ pool.discount[rows][top]
    best, worst = (each.T[..., np.newaxis] for each in pool.extremes(count))  # [queries, draws, 1] each
    found = best > worst
    value = np.divide(gained - worst, best - worst, out=np.zeros(gained.shape), where=found)
    number = found.sum(axis=0).astype(np.float64)
    return np.divide(value.sum(axis=0), number, out=np.full(value.shape[1:], np.nan), where=number > 0)


def corrected(
    model: Model,
    mean: np.ndarray,
    covariance: np.ndarray,
    design: Design,
    draws: int = EXPECTED,
    seed: int = SEED,
) -> Estimate:
    """The model's mean and covariance, corrected by what the drawn judgments tell about the model's bias."""
    chances, left_out = model.chances(), model.chances(left_out=True)
    expectation = expect(model.pool, model.level, chances, model.spread)
    change = expectation.realised(design.rows, model.level, left_out)
    beyond = design.weight - 1
    levels, differences = _calibration(expectation, design, change, left_out)
    inflation = max(levels, differences, 1.0)
    noise = inflation * expectation.covariance(design.rows, left_out, beyond**2)
    bias, doubt = _shrunken(beyond @ change, noise, *_bias(expectation, model.level, chances))
    if design.equal:
        # The correction takes the ideal as linear in what is found. Where few relevant documents are found it is
        # off by up to its own size: found by simulation, bench/README.md, `next`.
        doubt = doubt + np.outer(bias, bias)
    return Estimate(mean + bias, inflation * covariance + doubt, "", levels, draws, seed)


def _calibration(
    expectation: Expectation, design: Design, change: np.ndarray, chances: np.ndarray
) -> tuple[float, float]:
    """Squared changes by judgments over those expected: of the means, and of their differences."""
    systems, weight = change.shape[1], np.abs(design.weight - 1)

    def ratio(factor: np.ndarray) -> float:
        expected = weight * expectation.size(design.rows, chances, factor)
        prior = RESIDUALS * expected.mean() if len(expected) else 0.0
        seen = (weight * ((change @ factor) ** 2).sum(axis=1)).sum()
        return float((seen + prior) / (expected.sum() + prior + 1e-30))

    return ratio(np.eye(systems)), ratio(np.eye(systems) - 1 / systems)


def _bias(expectation: Expectation, level: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of the means for unknown shifts of all log odds by 1: [systems, systems] each.

    The first for shifts that all systems share, by step and by whether a document is above a cutoff; the second
    for a shift of each system alone.
    """
    pool, unjudged = expectation.pool, level == UNJUDGED
    shared, own = np.zeros((pool.systems, pool.systems)), np.zeros(pool.systems)
    share = expectation.share[pool.query]
    for step in range(pool.steps):
        moved = chances[:, step] * (1 - chances[:, step]) * unjudged
        for part in (moved * pool.top, BELOW * moved * ~pool.top):
            along = part @ expectation.influence[step]
            shared += np.outer(along, along)
        own += pool.rise[step] * (moved * share) @ pool.discount
    return shared, np.diag(own**2)


def _shrunken(
    seen: np.ndarray, noise: np.ndarray, shared: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The expected bias given the noisy one that was seen, and its covariance, averaged over sizes of the bias."""
    systems = len(seen)
    noise = noise + (1e-9 * np.trace(noise) / systems + 1e-14) * np.eye(systems)
    logs, biases, doubts = [], [], []
    for by_shared, by_own in ((a, b) for a in SHARED for b in OWN):
        prior = by_shared**2 * shared + by_own**2 * own
        inverse = np.linalg.inv(prior + noise)
        share = prior @ inverse
        likelihood = -0.5 * (np.linalg.slogdet(prior + noise)[1] + seen @ inverse @ seen)
        logs.append(likelihood - 0.5 * (by_shared / SHARED_PRIOR) ** 2 - 0.5 * (by_own / OWN_PRIOR) ** 2)
        biases.append(share @ seen)
        doubts.append(prior - share @ prior)
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    bias = weight @ np.array(biases)
    apart = np.array(biases) - bias
    return bias, np.einsum("i,ijk->jk", weight, np.array(doubts)) + apart.T @ (apart * weight[:, np.newaxis])
