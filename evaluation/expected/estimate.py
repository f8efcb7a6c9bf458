"""The expected mean nDCG of systems while judgments are missing, with its covariance. NumPy only.

The estimate by the model alone is precise, but biased by the choice of what was judged. Judgments that were drawn
with known probabilities give an unbiased, but noisy estimate of that bias. The two are combined by shrinkage: the
noisier the correction, the less of it counts.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..measures.arrays import quotient
from ..significance.draws import EXPECTED_DRAWS, SEED
from .influence import Expectation, expect
from .model import Model, fit
from .pool import UNJUDGED, Pool
from .weights import Design

NORMAL_QUANTILE = 1.6448536269514722  # standard normal quantile of a 90 % interval
FACTOR_BELOW_CUTOFF = 1.5  # factor of the prior bias for documents that no system has above the cutoff
# The model may be biased in a way that all systems share, and in another way for each system. These are the sizes
# of both biases that are tried, in log odds, and the scales of the half-normal priors of the sizes.
SHARED_BIASES, OWN_BIASES = (0.4, 0.8, 1.6), (0.2, 0.5, 1.0)
SHARED_BIAS_SCALE, OWN_BIAS_SCALE = 1.2, 0.7
PRIOR_JUDGMENTS = 15  # weight of the prior "the model is calibrated", in judgments
WITHOUT_CHANCES = "which documents were judged was not drawn by known chances"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Expected means, and their covariance for missing judgments alone: ratings and queries are fixed."""

    mean: np.ndarray  # float64[systems]
    covariance: np.ndarray | None  # float64[systems, systems]; None: there is no interval
    without: str = ""  # the reason why there is no interval
    calibration: float = 1.0  # observed over expected squared changes of the means by judgments
    draws: int = EXPECTED_DRAWS
    seed: int = SEED

    def interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The low and high ends of the 90 % intervals of the means, float64[systems] each; None: no interval."""
        if self.covariance is None:
            return None
        margin = NORMAL_QUANTILE * np.sqrt(np.diag(self.covariance))
        return self.mean - margin, self.mean + margin

    def difference(self, first: int, second: int) -> tuple[float, float, float] | None:
        """The mean of `second` minus that of `first`, low and high end of its 90 % interval; None: no interval."""
        if self.covariance is None:
            return None
        contrast = np.zeros(len(self.mean))
        contrast[second] += 1
        contrast[first] -= 1
        difference = contrast @ self.mean
        margin = NORMAL_QUANTILE * np.sqrt(max(contrast @ self.covariance @ contrast, 0.0))
        return float(difference), float(difference - margin), float(difference + margin)


def estimate(
    pool: Pool, level: np.ndarray, design: Design | None = None, draws: int = EXPECTED_DRAWS, seed: int = SEED
) -> Estimate:
    """The expected mean of every system over the queries with something to find.

    A draw is one level for each unjudged pair, drawn from the model; it gives one mean for each system. level:
    int64[pairs], -1 = unjudged; design: how judged pairs were drawn; draws: how many. Without a design that has
    evidence on documents outside the sample, there is the mean by the model and no interval. Where all pairs are
    judged, the mean is exact and the covariance 0.
    """
    if (level != UNJUDGED).all():
        (mean,) = means(pool, level, drawn=np.zeros((0, 1), np.int8))  # one draw, of no levels: none is missing
        return Estimate(mean, np.zeros((pool.systems, pool.systems)), draws=draws, seed=seed)
    model = fit(pool, level)
    unjudged = np.flatnonzero(level == UNJUDGED)
    drawn_means = means(pool, level, model.draw(unjudged, draws, np.random.default_rng(seed)))
    drawn_means = drawn_means[~np.isnan(drawn_means).any(axis=1)]  # nan: no query has something to find
    mean = drawn_means.mean(axis=0) if len(drawn_means) else np.full(pool.systems, np.nan)
    # Evidence 0: no random draw has come far enough to tell of other documents. Two means at least have a
    # covariance.
    if design is None or design.evidence <= 0 or len(drawn_means) < 2:
        return Estimate(mean, None, WITHOUT_CHANCES, draws=draws, seed=seed)
    covariance = np.cov(drawn_means.T).reshape(pool.systems, pool.systems)  # of one system, cov has no dimensions
    return corrected(model, mean, covariance, design, draws, seed)


def means(pool: Pool, level: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The mean nDCG of each system in each draw, over the queries with something to find: float64[draws, systems].

    drawn: int8[unjudged, draws], the levels of the unjudged pairs, in the order of the pool. nan in a draw in
    which no query has something to find.
    """
    value, defined = _values(pool, level, drawn)
    if pool.weight is None:
        return quotient(value.sum(axis=0), defined.sum(axis=0).astype(np.float64))
    return quotient(np.tensordot(pool.weight, value, 1), np.tensordot(pool.weight, defined, 1))


def query_values(pool: Pool, level: np.ndarray) -> np.ndarray:
    """The nDCG of each query and system with unjudged documents at their expected gain: float64[queries, systems].

    The mean over draws of the model, of those in which the query has something to find; nan where none has.
    """
    unjudged = np.flatnonzero(level == UNJUDGED)
    drawn = np.zeros((0, 1), np.int8)
    if unjudged.size:
        drawn = fit(pool, level).draw(unjudged, EXPECTED_DRAWS, np.random.default_rng(SEED))
    value, defined = _values(pool, level, drawn)
    return quotient(value.sum(axis=1), defined.sum(axis=1).astype(np.float64))


def _values(pool: Pool, level: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nDCG of each query in each draw, float64[queries, draws, systems], and where it is defined.

    nDCG = (DCG - worst) / (best - worst), where worst and best are the DCG of the worst and of the ideal list. A
    query with nothing to find has worst = best and gets the value 0: it is not defined. The second array is
    bool[queries, draws, 1]. level: int64[pairs], -1 = unjudged; drawn: int8[unjudged, draws], the levels of the
    unjudged pairs, in the order of the pool.
    """
    draws = drawn.shape[1]
    # The first row of each query in `drawn`, then the number of rows: int64[queries + 1]. It is the number of
    # unjudged pairs before the first pair of the query.
    first_row_in_drawn = np.append(0, np.cumsum(level == UNJUDGED))[pool.first]
    # How many documents take each step, from one level of gain to the next. That gives how many have each gain,
    # and so the lists sorted by gain: the best and the worst one.
    count = np.empty((draws, pool.queries, pool.steps), np.int64)
    dcg = np.empty((pool.queries, draws, pool.systems))
    for query in range(pool.queries):
        rows = slice(*pool.first[query : query + 2])
        # int8[pairs of the query, draws]: in each draw, the judged levels and those drawn for unjudged pairs.
        levels = np.repeat(level[rows].astype(np.int8)[:, np.newaxis], draws, axis=1)
        rows_in_drawn = slice(*first_row_in_drawn[query : query + 2])
        levels[level[rows] == UNJUDGED] = drawn[rows_in_drawn]
        for step in range(pool.steps):
            count[:, query, step] = np.count_nonzero(levels > step, axis=0)
        in_top = pool.above_cutoff[rows]  # all other documents have discount 0 in every system
        gain = pool.gains[levels[in_top]]  # float64[pairs in a top, draws]
        dcg[query] = gain.T @ pool.discount[rows][in_top]  # [draws, systems]
    # `extremes` returns [draws, queries] each: turned into [queries, draws, 1], to fit `dcg`.
    best, worst = (dcgs.T[..., np.newaxis] for dcgs in pool.extremes(count))
    defined = best > worst
    return np.divide(dcg - worst, best - worst, out=np.zeros(dcg.shape), where=defined), defined


def corrected(
    model: Model, mean: np.ndarray, covariance: np.ndarray, design: Design, draws: int, seed: int
) -> Estimate:
    """The estimate by the model, corrected for the bias that the judgments with known probabilities show.

    Each judgment changes the means against what the model predicts without it. The weight of a judgment has the
    expectation 1 over all draws of rounds, so that the weighted changes estimate without bias what judging all of
    the pool would change, which is the bias. It is taken to be the sum of a bias that all systems share and of one
    of each system by itself. Its noisy estimate is shrunken towards 0, and added. mean, covariance: those by the
    model alone; draws, seed: those that made them.
    """
    # Of all pairs, and as if the pair itself were unjudged: float64[pairs, steps] each.
    chances, chances_without_itself = model.chances(), model.chances(left_out=True)
    expectation = expect(model.pool, model.level, chances, model.effect_variance)
    # judged: the pairs of the design. float64[judged, systems].
    changes = expectation.realised_changes(design.rows, model.level, chances_without_itself)
    excess = design.weight - 1  # the estimate by the model has counted each judgment once
    observed_bias = excess @ changes
    # Judgments count in the calibration by the size of their excess.
    calibration, calibration_of_differences = _calibration(
        expectation, design.rows, np.abs(excess), changes, chances_without_itself
    )
    inflation = max(calibration, calibration_of_differences, 1.0)  # above 1 where the model is too sure
    # The bias is a sum of excess × change, so that its variance is a sum of excess² × the variance of a change.
    noise = inflation * expectation.covariance(design.rows, chances_without_itself, excess**2)
    by_shared_bias, by_own_bias = _bias_covariances(expectation, model.level, chances)
    bias, bias_covariance = _shrunken_bias(observed_bias, noise, by_shared_bias, by_own_bias)
    if design.equal_chances:
        # Draws with equal chances for all pairs find few relevant documents. The correction treats the ideal as
        # linear in those found, so that its error is up to its own size then: see bench/simulations/README.md.
        bias_covariance = bias_covariance + np.outer(bias, bias)
    covariance = inflation * covariance + bias_covariance
    return Estimate(mean + bias, covariance, calibration=calibration, draws=draws, seed=seed)


def _calibration(
    expectation: Expectation, rows: np.ndarray, weight: np.ndarray, changes: np.ndarray, chances: np.ndarray
) -> tuple[float, float]:
    """Observed over expected squared changes by judgments: of the means, and of their differences.

    Above 1 the model is too sure. rows: int64[judged], the judged pairs in the pool; weight: float64[judged], of
    each judgment in both sums; changes: float64[judged, systems], of the means by each judgment; chances:
    float64[pairs, steps], predicted without the judgment of the pair itself.
    """
    systems = changes.shape[1]

    def ratio(factor: np.ndarray) -> float:
        """The ratio for the changes of means @ factor. The prior counts as PRIOR_JUDGMENTS with the ratio 1."""
        expected = weight * expectation.squared_changes(rows, chances, factor)
        prior = PRIOR_JUDGMENTS * expected.mean() if len(expected) else 0.0
        observed = (weight * ((changes @ factor) ** 2).sum(axis=1)).sum()
        # 1e-30 prevents 0 / 0. The ratio is then 0: without judgments, or for differences of a single system. The
        # caller takes ratios below 1 as 1 where it widens intervals.
        return float((observed + prior) / (expected.sum() + prior + 1e-30))

    of_differences = np.eye(systems) - 1 / systems  # of each mean from the mean of all systems
    return ratio(np.eye(systems)), ratio(of_differences)


def _bias_covariances(
    expectation: Expectation, level: np.ndarray, chances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The covariances of the means for biases of size 1 in the log odds, float64[systems, systems] each.

    A bias shifts the log odds that unjudged pairs take a step from one level of gain to the next. The first
    covariance is for biases that all systems share. For each step there are two such biases: one of documents
    above the cutoff of any system, and one of all other documents, which is FACTOR_BELOW_CUTOFF times as large.
    The second covariance is for one bias of each system by itself. By assumption all shared biases are
    independent, and the bias of a system is the same in all steps. level: int64[pairs], -1 = unjudged; chances:
    float64[pairs, steps].
    """
    pool = expectation.pool
    unjudged = level == UNJUDGED
    covariance_by_shared, change_by_own = np.zeros((pool.systems, pool.systems)), np.zeros(pool.systems)
    # How much each mean changes if the DCG of the pair's query changes by 1, float64[pairs].
    mean_per_dcg = expectation.mean_per_dcg[pool.query]
    for step in range(pool.steps):
        # The derivative of each chance by its log odds, float64[pairs]; 0 for judged pairs, which have no bias.
        slope = chances[:, step] * (1 - chances[:, step]) * unjudged
        # Shared biases change the ideal and the worst list, too. `influence` includes that: float64[steps, pairs,
        # systems], how much each mean changes if a pair takes a step. The biases are independent, so that
        # covariances add up.
        for slope_of_bias in (slope * pool.above_cutoff, FACTOR_BELOW_CUTOFF * slope * ~pool.above_cutoff):
            change = slope_of_bias @ expectation.influence[step]  # float64[systems], of the means
            covariance_by_shared += np.outer(change, change)
        # A bias of one system counts in its DCG alone, the sum of gain × discount (float64[pairs, systems]). It is
        # the same in all steps, so that the changes add up.
        weighted_gain_change = pool.step_gain[step] * (slope * mean_per_dcg)  # float64[pairs]
        change_by_own += weighted_gain_change @ pool.discount
    return covariance_by_shared, np.diag(change_by_own**2)


def _shrunken_bias(
    observed: np.ndarray, noise: np.ndarray, by_shared_bias: np.ndarray, by_own_bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The posterior mean, float64[systems], and covariance, float64[systems, systems], of the bias of the means.

    What is observed is bias + noise, both normal with mean 0. Both results are averaged over the sizes
    SHARED_BIASES and OWN_BIASES, weighted by the posterior probability of each combination. observed:
    float64[systems]. Covariances, float64[systems, systems]: noise, of the noise; by_shared_bias, by_own_bias, of
    biases of size 1, as `_bias_covariances` returns them.
    """
    systems = len(observed)
    # A little more noise on the diagonal, so that the matrix can be inverted.
    noise = noise + (1e-9 * np.trace(noise) / systems + 1e-14) * np.eye(systems)
    log_weights, biases, covariances = [], [], []
    for shared_size, own_size in product(SHARED_BIASES, OWN_BIASES):
        prior = shared_size**2 * by_shared_bias + own_size**2 * by_own_bias
        covariance_of_observed = prior + noise
        inverse = np.linalg.inv(covariance_of_observed)
        shrinkage = prior @ inverse  # a matrix: the part of what is observed that counts as bias
        log_likelihood = -0.5 * (np.linalg.slogdet(covariance_of_observed)[1] + observed @ inverse @ observed)
        # The logarithms of the half-normal priors of both sizes, up to constants.
        log_prior_of_shared = -0.5 * (shared_size / SHARED_BIAS_SCALE) ** 2
        log_prior_of_own = -0.5 * (own_size / OWN_BIAS_SCALE) ** 2
        log_weights.append(log_likelihood + log_prior_of_shared + log_prior_of_own)
        biases.append(shrinkage @ observed)  # the posterior mean, given both sizes
        covariances.append(prior - shrinkage @ prior)  # the posterior covariance
    weight = np.exp(np.array(log_weights) - max(log_weights))  # the largest is 1, so that not all round to 0
    weight /= weight.sum()
    bias = weight @ np.array(biases)
    # By the law of total variance: the mean of the covariances of all sizes, plus the covariance of their biases.
    deviations = np.array(biases) - bias
    within = np.einsum("i,ijk->jk", weight, np.array(covariances))
    between = deviations.T @ (deviations * weight[:, np.newaxis])
    return bias, within + between
