"""The expected mean nDCG of systems while judgments are missing, with its covariance. NumPy only.

The estimate by the model alone is precise, but biased by the choice of what was judged. Judgments that were drawn
with known probabilities give an unbiased, but noisy estimate of that bias. The two are combined by shrinkage: the
noisier the correction, the less of it counts.
"""

from dataclasses import dataclass

import numpy as np

from ..significance.draws import EXPECTED, SEED
from .influence import Expectation, expect
from .model import Model, fit
from .pool import UNJUDGED, Pool
from .weights import Design

NORMAL = 1.6448536269514722  # standard normal quantile of a 90 % interval
BELOW = 1.5  # factor of the prior bias for documents that no system has above the cutoff
SHARED, OWN = (0.4, 0.8, 1.6), (0.2, 0.5, 1.0)  # sizes of the bias in log odds: of all systems, of one system
SHARED_PRIOR, OWN_PRIOR = 1.2, 0.7  # scales of the half-normal priors of these sizes
RESIDUALS = 15  # weight of the prior "the model is calibrated", in judgments
WITHOUT_CHANCES = "which documents were judged was not drawn by known chances"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Expected means, and their covariance for missing judgments alone: ratings and queries are fixed."""

    mean: np.ndarray  # float64[systems]
    covariance: np.ndarray | None  # float64[systems, systems]; None: there is no interval
    without: str = ""  # the reason why there is no interval
    calibration: float = 1.0  # observed over expected squared changes of the means by judgments
    draws: int = EXPECTED
    seed: int = SEED

    def interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The low and high ends of the 90 % intervals of the means, float64[systems] each; None: no interval."""
        if self.covariance is None:
            return None
        margin = NORMAL * np.sqrt(np.diag(self.covariance))
        return self.mean - margin, self.mean + margin

    def difference(self, first: int, second: int) -> tuple[float, float, float] | None:
        """The mean of `second` minus that of `first`, low and high end of its 90 % interval; None: no interval."""
        if self.covariance is None:
            return None
        contrast = np.zeros(len(self.mean))
        contrast[second] += 1
        contrast[first] -= 1
        difference = contrast @ self.mean
        margin = NORMAL * np.sqrt(max(contrast @ self.covariance @ contrast, 0.0))
        return float(difference), float(difference - margin), float(difference + margin)


def estimate(
    pool: Pool, level: np.ndarray, design: Design | None = None, draws: int = EXPECTED, seed: int = SEED
) -> Estimate:
    """The expected mean of every system over the queries with something to find.

    level: int64[pairs], -1 = unjudged. Without a design that has evidence on documents outside the sample, there
    is the mean by the model and no interval. Where all pairs are judged, the mean is exact and the covariance 0.
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
    """The mean nDCG of each system in each draw, over the queries with something to find: float64[draws, systems].

    drawn: int8[unjudged, draws], the levels of the unjudged pairs, in the order of the pool. nan in a draw in
    which no query has something to find.
    """
    value, defined = _values(pool, level, drawn)
    if pool.weight is None:
        total, number = value.sum(axis=0), defined.sum(axis=0).astype(np.float64)
    else:
        total, number = (np.tensordot(pool.weight, each, 1) for each in (value, defined))
    return np.divide(total, number, out=np.full(value.shape[1:], np.nan), where=number > 0)


def query_values(pool: Pool, level: np.ndarray, draws: int = EXPECTED, seed: int = SEED) -> np.ndarray:
    """The nDCG of each query and system with unjudged documents at their expected gain: float64[queries, systems].

    The mean over draws of the model, of those in which the query has something to find; nan where none has.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    drawn = np.zeros((0, 1), np.int8)
    if unjudged.size:
        drawn = fit(pool, level).draw(unjudged, draws, np.random.default_rng(seed))
    value, defined = _values(pool, level, drawn)
    number = defined.sum(axis=1).astype(np.float64)
    shape = (pool.queries, pool.systems)
    return np.divide(value.sum(axis=1), number, out=np.full(shape, np.nan), where=number > 0)


def _values(pool: Pool, level: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nDCG of each query in each draw, float64[queries, draws, systems], and where it is defined.

    A query with nothing to find has the value 0. The second array is bool[queries, draws, 1].
    """
    draws = drawn.shape[1]
    place = np.append(0, np.cumsum(level == UNJUDGED))[pool.first]  # the first row of each query in `drawn`
    count = np.empty((draws, pool.queries, pool.steps), np.int64)
    gained = np.empty((pool.queries, draws, pool.systems))
    for query in range(pool.queries):
        rows = slice(*pool.first[query : query + 2])
        whole = np.repeat(level[rows].astype(np.int8)[:, np.newaxis], draws, axis=1)
        whole[level[rows] == UNJUDGED] = drawn[slice(*place[query : query + 2])]
        for step in range(pool.steps):
            count[:, query, step] = np.count_nonzero(whole > step, axis=0)
        top = pool.top[rows]  # all other documents have discount 0 in every system
        gained[query] = pool.gains[whole[top]].T @ pool.discount[rows][top]
    best, worst = (each.T[..., np.newaxis] for each in pool.extremes(count))  # [queries, draws, 1] each
    defined = best > worst
    return np.divide(gained - worst, best - worst, out=np.zeros(gained.shape), where=defined), defined


def corrected(
    model: Model,
    mean: np.ndarray,
    covariance: np.ndarray,
    design: Design,
    draws: int = EXPECTED,
    seed: int = SEED,
) -> Estimate:
    """The estimate by the model, corrected for the bias that the judgments with known probabilities show.

    mean, covariance: those by the model alone.
    """
    chances, left_out = model.chances(), model.chances(left_out=True)
    expectation = expect(model.pool, model.level, chances, model.effect_variance)
    changes = expectation.realised_changes(design.rows, model.level, left_out)
    excess = design.weight - 1
    of_means, of_differences = _calibration(expectation, design, changes, left_out)
    inflation = max(of_means, of_differences, 1.0)
    noise = inflation * expectation.covariance(design.rows, left_out, excess**2)
    bias, bias_covariance = _shrunken_bias(
        excess @ changes, noise, *_prior_bias(expectation, model.level, chances)
    )
    if design.equal:
        # The correction treats the ideal as linear in the relevant documents found. Where few are found, its error
        # is up to its own size: shown by simulation, bench/simulations/README.md.
        bias_covariance = bias_covariance + np.outer(bias, bias)
    return Estimate(mean + bias, inflation * covariance + bias_covariance, "", of_means, draws, seed)


def _calibration(
    expectation: Expectation, design: Design, changes: np.ndarray, chances: np.ndarray
) -> tuple[float, float]:
    """Observed over expected squared changes by judgments: of the means, and of their differences."""
    systems, weight = changes.shape[1], np.abs(design.weight - 1)

    def ratio(factor: np.ndarray) -> float:
        expected = weight * expectation.squared_changes(design.rows, chances, factor)
        prior = RESIDUALS * expected.mean() if len(expected) else 0.0
        observed = (weight * ((changes @ factor) ** 2).sum(axis=1)).sum()
        return float((observed + prior) / (expected.sum() + prior + 1e-30))

    return ratio(np.eye(systems)), ratio(np.eye(systems) - 1 / systems)


def _prior_bias(expectation: Expectation, level: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of the means for a bias of 1 in the log odds, float64[systems, systems] each.

    First for a bias that all systems share, independent by step and by whether a document is above a cutoff. Then
    for a bias of each system by itself.
    """
    pool, unjudged = expectation.pool, level == UNJUDGED
    shared, own = np.zeros((pool.systems, pool.systems)), np.zeros(pool.systems)
    share = expectation.share[pool.query]
    for step in range(pool.steps):
        moved = chances[:, step] * (1 - chances[:, step]) * unjudged
        for part in (moved * pool.top, BELOW * moved * ~pool.top):
            along = part @ expectation.influence[step]
            shared += np.outer(along, along)
        own += pool.step_gain[step] * (moved * share) @ pool.discount
    return shared, np.diag(own**2)


def _shrunken_bias(
    observed: np.ndarray, noise: np.ndarray, shared: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The posterior mean and covariance of the bias, averaged over its sizes SHARED and OWN.

    observed: float64[systems], the bias with noise; noise, shared, own: covariances, float64[systems, systems].
    """
    systems = len(observed)
    noise = noise + (1e-9 * np.trace(noise) / systems + 1e-14) * np.eye(systems)
    logs, biases, covariances = [], [], []
    for shared_size, own_size in ((a, b) for a in SHARED for b in OWN):
        prior = shared_size**2 * shared + own_size**2 * own
        inverse = np.linalg.inv(prior + noise)
        shrinkage = prior @ inverse
        likelihood = -0.5 * (np.linalg.slogdet(prior + noise)[1] + observed @ inverse @ observed)
        logs.append(likelihood - 0.5 * (shared_size / SHARED_PRIOR) ** 2 - 0.5 * (own_size / OWN_PRIOR) ** 2)
        biases.append(shrinkage @ observed)
        covariances.append(prior - shrinkage @ prior)
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    bias = weight @ np.array(biases)
    apart = np.array(biases) - bias
    within = np.einsum("i,ijk->jk", weight, np.array(covariances))
    return bias, within + apart.T @ (apart * weight[:, np.newaxis])
