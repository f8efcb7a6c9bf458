"""The probability of each level of an unjudged document, learnt from the judged documents. NumPy only.

A continuation-ratio model with random effects of queries: for each step from a level to the next, the log odds
that a document of at least the lower level takes the step are linear in its features, plus a normal effect of the
query. The posterior is approximated at its mode (Laplace).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .pool import Pool, pieces

MOST_NEWTON_STEPS = 12
SMALLEST_CHANGE = 1e-4  # a whole step that changes the log posterior by less is the last: it has converged
STEP_SHARES = 0.5 ** np.arange(14)  # backtracking takes the whole Newton step, else a half of it, a quarter, ...
LARGEST_ROUNDING_ERROR = 1e-9  # of the log posterior: a fall by no more counts as level
PRIOR_VARIANCE = 1.0  # of the effects of queries
PRIOR_QUERIES = 10.0  # the weight of PRIOR_VARIANCE, in queries
LEAST_VARIANCE, MOST_VARIANCE = 0.02, 9.0  # of the effects of queries
LARGEST_LOG_ODDS = 35.0  # log odds are clipped at this size
LEAST_CHANCE = 1e-4  # chances are clipped to this distance from 0 and 1


@dataclass(frozen=True, eq=False)
class StepPosterior:
    """The posterior of one step, a normal distribution of the coefficients and the effects of queries.

    Both are correlated: where the coefficients are b above the mode, the effect of query q is expected to be
    effect_drop[q] @ b below it. The rest of the variance of an effect is independent of the coefficients:
    `conditional_variance`.
    """

    fixed: np.ndarray  # float64[features], coefficients at the mode
    effect: np.ndarray  # float64[queries], effects of queries at the mode
    variance: float  # of the effects, in their prior
    covariance: np.ndarray  # float64[features, features], of the coefficients
    effect_drop: np.ndarray  # float64[queries, features], of each effect if a coefficient is 1 higher
    conditional_variance: np.ndarray  # float64[queries], of each effect given the coefficients

    @property
    def effect_variance(self) -> np.ndarray:
        """The posterior variance of each query's effect, float64[queries]."""
        by_coefficients = np.einsum("qf,fg,qg->q", self.effect_drop, self.covariance, self.effect_drop)
        return self.conditional_variance + by_coefficients


@dataclass(frozen=True, eq=False)
class Model:
    """The posterior of all steps, given the levels of the judged pairs."""

    pool: Pool
    level: np.ndarray  # int64[pairs], -1 = unjudged
    steps: tuple[StepPosterior, ...]

    @property
    def effect_variance(self) -> np.ndarray:
        """The posterior variance of each query's effect in the last step, float64[queries]."""
        return self.steps[-1].effect_variance

    def chances(self, left_out: bool = False) -> np.ndarray:
        """The chance that each pair takes each step and all before it: float64[pairs, steps].

        A step leads from one level of gain to the next: a pair takes each step below its level. To take a step, it
        has to take all before it, so that chances are multiplied from step to step. left_out: predict each judged
        pair as if it were unjudged (leave-one-out, by one step of Newton's method).
        """
        chances = np.empty((self.pool.pairs, self.pool.steps))
        so_far = np.ones(self.pool.pairs)  # the chance to take all steps so far
        for step, (log_odds, variance) in enumerate(self._predicted):
            if left_out:
                log_odds, variance = self._without_themselves(step, log_odds, variance)
            # Nearly the mean of the chance over log odds that are normal with this variance: the usual
            # approximation of the logistic function by that of the normal distribution.
            chance = logistic(log_odds / np.sqrt(1 + np.pi * variance / 8))
            so_far = so_far * np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
            chances[:, step] = so_far
        return chances

    def _without_themselves(
        self, step: int, log_odds: np.ndarray, variance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of a step's log odds, float64[pairs] each, without the judgment of the pair itself.

        By one step of Newton's method, the mean becomes mean - variance × residual / (1 - leverage), and the
        variance becomes variance / (1 - leverage). The residual is 1 if the pair took the step, else 0, less its
        chance. step: the number of the step, from 0; log_odds, variance: with all judgments.
        """
        log_odds, variance = log_odds.copy(), variance.copy()
        rows = np.flatnonzero(self.level >= step)  # judged pairs that could take the step; others stay as they are
        chance = logistic(log_odds[rows])
        leverage = chance * (1 - chance) * variance[rows]  # of the judgment, in its own prediction
        without_it = np.maximum(1 - leverage, 0.05)  # a leverage near 1 would give wild numbers
        residual = (self.level[rows] > step) - chance
        log_odds[rows] -= variance[rows] * residual / without_it
        variance[rows] /= without_it
        return log_odds, variance

    @cached_property
    def _predicted(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By step, the posterior mean and variance of the log odds of every pair, float64[pairs] each."""
        values = self.pool.features.values
        query = self.pool.query
        predicted = []
        for step in self.steps:
            log_odds = values @ step.fixed + step.effect[query]
            # The variance given the coefficients, that of the effect. The variance by coefficients is added below.
            variance = step.conditional_variance[query]
            for part in pieces(self.pool.pairs):
                # The change of a pair's log odds if a coefficient is 1 higher. The coefficient adds the feature.
                # But the effect of the query is then expected to be lower: both explain the same judgments.
                gradient = values[part] - step.effect_drop[query[part]]
                # For each pair gradient' covariance gradient.
                variance[part] += np.einsum("nf,nf->n", gradient @ step.covariance, gradient)
            predicted.append((log_odds, variance))
        return predicted

    def draw(self, rows: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
        """Levels of the pairs `rows`, drawn from the posterior: int8[rows, draws]. A level counts steps taken.

        Each draw has coefficients and effects of queries of its own, and then decides each step of each pair.
        """
        level = np.zeros((len(rows), draws), np.int8)
        took_all = np.ones((len(rows), draws), bool)  # whether the pair took all steps so far
        for step in self.steps:
            # root @ root.T is the covariance. Rounding must not make it indefinite, which cholesky refuses.
            root = np.linalg.cholesky(step.covariance + 1e-12 * np.eye(len(step.covariance)))
            deviation = root @ generator.standard_normal((len(root), draws))  # from the mode of the posterior
            coefficients = step.fixed[:, np.newaxis] + deviation  # [features, draws]
            # Effects are drawn given the coefficients, whose deviation lowers their means by effect_drop @
            # deviation. The rest of the variance of an effect is independent of the coefficients.
            effect = step.effect[:, np.newaxis] - step.effect_drop @ deviation  # [queries, draws]
            effect += np.sqrt(step.conditional_variance)[:, np.newaxis] * generator.standard_normal(effect.shape)
            for part in pieces(len(rows)):
                pairs = rows[part]
                log_odds = self.pool.features.values[pairs] @ coefficients + effect[self.pool.query[pairs]]
                chances = logistic(log_odds.astype(np.float32))  # of the step, [rows of the part, draws]
                took_all[part] &= generator.random(log_odds.shape, dtype=np.float32) < chances
            level += took_all
        return level


def fit(pool: Pool, level: np.ndarray, iterations: int = 2, start: Model | None = None) -> Model:
    """The model fitted to these judgments: for each step from a level to the next, a posterior by itself.

    Each of the `iterations` of EM (expectation maximisation) finds the posterior for a given variance of the
    effects of queries, and then renews this variance. level: int64[pairs], -1 = unjudged; start: a model of fewer
    judgments as the starting point, from which Newton's method reaches nearly the same numbers sooner; None: the
    means of the prior, and no effects.
    """
    posteriors = []
    for place in range(pool.steps):
        task = _task(pool, level, place)
        fixed, effect, variance = task.mean, np.zeros(pool.queries), PRIOR_VARIANCE
        if start:
            earlier = start.steps[place]
            fixed, effect, variance = earlier.fixed, earlier.effect, earlier.variance
        for _ in range(iterations):
            posterior = newton(task, fixed, effect, variance)
            fixed, effect = posterior.fixed, posterior.effect
            # The mean of the expected squared effects, of these and of PRIOR_QUERIES imagined queries.
            total = (effect**2 + posterior.effect_variance).sum() + PRIOR_QUERIES * PRIOR_VARIANCE
            variance = float(np.clip(total / (pool.queries + PRIOR_QUERIES), LEAST_VARIANCE, MOST_VARIANCE))
        posteriors.append(replace(posterior, variance=variance))
    return Model(pool, level, steps=tuple(posteriors))


@dataclass(frozen=True, eq=False)
class Task:
    """The data of one step: the judged pairs that could take it, and the prior of its coefficients."""

    values: np.ndarray  # float64[rows, features]
    query: np.ndarray  # int64[rows], ascending
    taken: np.ndarray  # float64[rows], 1 where the step was taken
    first: np.ndarray  # int64[queries + 1], the first row of each query
    mean: np.ndarray  # float64[features], of the prior
    precision: np.ndarray  # float64[features], of the prior

    def log_odds(self, fixed: np.ndarray, effect: np.ndarray) -> np.ndarray:
        return self.values @ fixed + effect[self.query]

    def log_posterior(self, fixed: np.ndarray, effect: np.ndarray, variance: float) -> float:
        """The log posterior of these coefficients and effects, up to a constant."""
        log_odds = self.log_odds(fixed, effect)
        log_likelihood = (self.taken * log_odds - np.logaddexp(0, log_odds)).sum()
        squares = (self.precision * (fixed - self.mean) ** 2).sum() + (effect**2).sum() / variance  # of the prior
        return float(log_likelihood - squares / 2)

    def sum_by_query(self, values: np.ndarray) -> np.ndarray:
        """The sums over the rows of each query; 0 for a query without rows."""
        sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        return sums[self.first[1:]] - sums[self.first[:-1]]


def _task(pool: Pool, level: np.ndarray, place: int) -> Task:
    """The data of the step from level `place` to the next. level: int64[pairs], -1 = unjudged.

    The prior of the first step is that of the features. The first feature is the intercept: the log odds of a
    document with average features.
    """
    rows = np.flatnonzero(level >= place)  # the judged pairs that could take the step
    prior = pool.features
    mean = prior.mean.copy()
    if place:  # of the documents that reach a higher step nearly half take it, and ranks predict it less well
        mean *= 0.5
        mean[0] = -0.3  # log odds: a chance of 43 %
    query = pool.query[rows]
    # The first row of each query, then the number of rows. The pairs of a pool are sorted by query, and so are
    # `rows`.
    first = np.searchsorted(query, np.arange(pool.queries + 1))
    taken = (level[rows] > place).astype(np.float64)
    return Task(prior.values[rows], query, taken, first, mean, prior.precision)


def newton(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> StepPosterior:
    """The posterior of one step of levels: the mode of the log posterior by Newton's method, and the covariances.

    fixed, effect: the coefficients, float64[features], and the effects of queries, float64[queries], at the start.
    variance: of the effects, in their prior. A whole Newton step may lead too far, so that the next ones diverge:
    the largest share of it, of STEP_SHARES, that does not lower the log posterior is taken. The covariances are
    those at the start of the last Newton step.
    """
    log_posterior = task.log_posterior(fixed, effect, variance)
    for _ in range(MOST_NEWTON_STEPS):
        approximation = _normal_approximation(task, fixed, effect, variance)
        fixed_change, effect_change = _newton_step(task, fixed, effect, approximation)
        for share in STEP_SHARES:
            next_fixed = fixed + share * fixed_change
            next_effect = effect + share * effect_change
            next_log_posterior = task.log_posterior(next_fixed, next_effect, variance)
            if next_log_posterior >= log_posterior - LARGEST_ROUNDING_ERROR:
                break
        else:
            break  # every share of the Newton step lowers it: what was reached stays
        change = next_log_posterior - log_posterior
        log_posterior = next_log_posterior
        fixed, effect = next_fixed, next_effect
        # A small share gains little even far from the mode, so only a whole Newton step shows convergence.
        if abs(change) < SMALLEST_CHANGE and share == STEP_SHARES[0]:
            break
    return replace(approximation, fixed=fixed, effect=effect)


def _normal_approximation(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> StepPosterior:
    """The normal approximation of the posterior at this point, with the inverse curvature as covariance.

    The curvature is minus the second derivative of the log posterior. The effects of queries, which are many, are
    eliminated from it by a Schur complement: so only a matrix of the size of the features is inverted. Its inverse
    is the covariance of the coefficients. Of the effects, the result has what depends on the coefficients,
    `effect_drop`, and the variance of the rest. fixed, effect: the point, coefficients and effects; variance: of
    the effects, in their prior; task.precision: of the coefficients in their prior, 1 / variance.
    """
    chance = logistic(task.log_odds(fixed, effect))
    row_curvature = np.maximum(chance * (1 - chance), 1e-6)  # of the log likelihood of each row, kept above 0
    weighted = row_curvature[:, np.newaxis] * task.values
    # The blocks of the curvature: of the coefficients; of the effects, a diagonal matrix; and between both.
    of_coefficients = task.values.T @ weighted + np.diag(task.precision)
    of_effects = task.sum_by_query(row_curvature) + 1 / variance  # float64[queries]
    between = task.sum_by_query(weighted)  # float64[queries, features]
    conditional_variance = 1 / of_effects
    # Higher coefficients explain a part of what the effects explain. If they are b higher, the most probable
    # effects are effect_drop @ b lower.
    effect_drop = conditional_variance[:, np.newaxis] * between
    covariance = np.linalg.inv(of_coefficients - between.T @ effect_drop)
    return StepPosterior(fixed, effect, variance, covariance, effect_drop, conditional_variance)


def _newton_step(
    task: Task, fixed: np.ndarray, effect: np.ndarray, approximation: StepPosterior
) -> tuple[np.ndarray, np.ndarray]:
    """The changes by one Newton step: of the coefficients, float64[features], and effects, float64[queries]."""
    residual = task.taken - logistic(task.log_odds(fixed, effect))
    by_fixed = task.values.T @ residual - task.precision * (fixed - task.mean)
    by_effect = task.sum_by_query(residual) - effect / approximation.variance
    change = approximation.covariance @ (by_fixed - approximation.effect_drop.T @ by_effect)
    return change, approximation.conditional_variance * by_effect - approximation.effect_drop @ change


def logistic(log_odds: np.ndarray) -> np.ndarray:
    """The logistic function: the chance with these log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))
