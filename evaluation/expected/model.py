"""The probability of each level of an unjudged document, learnt from the judged documents. NumPy only.

A continuation-ratio model with random effects of queries: for each step from a level to the next, the log odds
that a document of at least the lower level takes the step are linear in its features, plus a normal effect of the
query. The posterior is approximated at its mode (Laplace). The names with `odds` are about log odds.
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
LARGEST_ODDS = 35.0  # log odds are clipped at this size
LEAST_CHANCE = 1e-4  # chances are clipped to this distance from 0 and 1


@dataclass(frozen=True, eq=False)
class Step:
    """The posterior of one step. If the coefficients are b higher, the effect of query q is slope[q] @ b lower.

    The rest of the variance of an effect is independent of the coefficients: `conditional_variance`.
    """

    fixed: np.ndarray  # float64[features], coefficients at the mode
    effect: np.ndarray  # float64[queries], effects of queries at the mode
    variance: float  # of the effects, in their prior
    covariance: np.ndarray  # float64[features, features], of the coefficients
    slope: np.ndarray  # float64[queries, features]
    conditional_variance: np.ndarray  # float64[queries], of each effect given the coefficients

    @property
    def effect_variance(self) -> np.ndarray:
        """The posterior variance of each query's effect, float64[queries]."""
        return self.conditional_variance + np.einsum("qf,fg,qg->q", self.slope, self.covariance, self.slope)


@dataclass(frozen=True, eq=False)
class Model:
    """The posterior of all steps, given the levels of the judged pairs."""

    pool: Pool
    level: np.ndarray  # int64[pairs], -1 = unjudged
    steps: tuple[Step, ...]

    @property
    def effect_variance(self) -> np.ndarray:
        """The posterior variance of each query's effect in the last step, float64[queries]."""
        return self.steps[-1].effect_variance

    def chances(self, left_out: bool = False) -> np.ndarray:
        """The chance that each pair takes each step and all before it: float64[pairs, steps].

        left_out: predict each judged pair as if it were unjudged (leave-one-out, by one step of Newton's method).
        To take a step, a pair has to take all before it: chances are multiplied from step to step.
        """
        chances = np.empty((self.pool.pairs, self.pool.steps))
        so_far = np.ones(self.pool.pairs)
        for step, (odds, variance) in enumerate(self._predicted):
            if left_out:
                odds, variance = self._without_themselves(step, odds, variance)
            # Nearly the mean of the chance over normal log odds: the usual approximation of the logistic function
            # by that of the normal distribution.
            chance = logistic(odds / np.sqrt(1 + np.pi * variance / 8))
            so_far = so_far * np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
            chances[:, step] = so_far
        return chances

    def _without_themselves(
        self, step: int, odds: np.ndarray, variance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of a step's log odds, float64[pairs] each, without the judgment of the pair itself.

        By one step of Newton's method, the mean becomes mean - variance × residual / (1 - leverage), and the
        variance becomes variance / (1 - leverage). The residual is 1 if the pair took the step, else 0, less its
        chance. step: the number of the step, from 0; odds, variance: with all judgments.
        """
        odds, variance = odds.copy(), variance.copy()
        rows = np.flatnonzero(self.level >= step)  # judged pairs that could take the step; others stay as they are
        chance = logistic(odds[rows])
        leverage = chance * (1 - chance) * variance[rows]  # of the judgment, in its own prediction
        without_it = np.maximum(1 - leverage, 0.05)  # a leverage near 1 would give wild numbers
        residual = (self.level[rows] > step) - chance
        odds[rows] -= variance[rows] * residual / without_it
        variance[rows] /= without_it
        return odds, variance

    @cached_property
    def _predicted(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By step, the posterior mean and variance of the log odds of every pair, float64[pairs] each."""
        values = self.pool.features.values
        query = self.pool.query
        predicted = []
        for step in self.steps:
            odds = values @ step.fixed + step.effect[query]
            variance = step.conditional_variance[query]
            for part in pieces(self.pool.pairs):
                # Coefficients that are b higher change the log odds of a pair by gradient @ b: by values @ b, less
                # slope @ b for the effect of the query.
                gradient = values[part] - step.slope[query[part]]
                # For each pair gradient' covariance gradient, the variance by the coefficients.
                variance[part] += np.einsum("nf,nf->n", gradient @ step.covariance, gradient)
            predicted.append((odds, variance))
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
            deviation = root @ generator.standard_normal((len(root), draws))
            coefficients = step.fixed[:, np.newaxis] + deviation  # [features, draws]
            # Where the coefficients are higher than at the mode, the effect of a query is lower by slope @
            # deviation. The rest of its variance is independent of them.
            effect = step.effect[:, np.newaxis] - step.slope @ deviation  # [queries, draws]
            effect += np.sqrt(step.conditional_variance)[:, np.newaxis] * generator.standard_normal(effect.shape)
            for part in pieces(len(rows)):
                pairs = rows[part]
                log_odds = self.pool.features.values[pairs] @ coefficients + effect[self.pool.query[pairs]]
                chances = logistic(log_odds.astype(np.float32))  # of the step, [rows of the part, draws]
                took_all[part] &= generator.random(log_odds.shape, dtype=np.float32) < chances
            level += took_all
        return level


def fit(pool: Pool, level: np.ndarray, rounds: int = 2, start: Model | None = None) -> Model:
    """The model fitted to these judgments. level: int64[pairs], -1 = unjudged.

    Each of the `rounds` finds the posterior for a given variance of the effects of queries, and then renews this
    variance by EM (expectation maximisation). start: a model of fewer judgments as the starting point, from which
    fewer Newton steps lead to nearly the same numbers; None: the means of the prior, and no effects.
    """
    steps = []
    for place in range(pool.steps):
        task = _task(pool, level, place)
        fixed, effect, variance = task.mean, np.zeros(pool.queries), PRIOR_VARIANCE
        if start:
            earlier = start.steps[place]
            fixed, effect, variance = earlier.fixed, earlier.effect, earlier.variance
        for _ in range(rounds):
            step = newton(task, fixed, effect, variance)
            fixed, effect = step.fixed, step.effect
            # EM: the mean of the expected squared effects, of these and of PRIOR_QUERIES imagined queries.
            total = (effect**2 + step.effect_variance).sum() + PRIOR_QUERIES * PRIOR_VARIANCE
            variance = float(np.clip(total / (pool.queries + PRIOR_QUERIES), LEAST_VARIANCE, MOST_VARIANCE))
        steps.append(replace(step, variance=variance))
    return Model(pool, level, steps=tuple(steps))


@dataclass(frozen=True, eq=False)
class Task:
    """The data of one step: the judged pairs that could take it, and the prior of its coefficients."""

    values: np.ndarray  # float64[rows, features]
    query: np.ndarray  # int64[rows], ascending
    taken: np.ndarray  # float64[rows], 1 where the step was taken
    first: np.ndarray  # int64[queries + 1], the first row of each query
    mean: np.ndarray  # float64[features], of the prior
    precision: np.ndarray  # float64[features], of the prior

    def odds(self, fixed: np.ndarray, effect: np.ndarray) -> np.ndarray:
        return self.values @ fixed + effect[self.query]

    def log_posterior(self, fixed: np.ndarray, effect: np.ndarray, variance: float) -> float:
        """The log posterior of these coefficients and effects, up to a constant."""
        odds = self.odds(fixed, effect)
        log_likelihood = (self.taken * odds - np.logaddexp(0, odds)).sum()
        squares = (self.precision * (fixed - self.mean) ** 2).sum() + (effect**2).sum() / variance  # of the prior
        return float(log_likelihood - squares / 2)

    def by_query(self, values: np.ndarray) -> np.ndarray:
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
    first = np.searchsorted(query, np.arange(pool.queries + 1))
    taken = (level[rows] > place).astype(np.float64)
    return Task(prior.values[rows], query, taken, first, mean, prior.precision)


def newton(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> Step:
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


def _normal_approximation(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> Step:
    """The normal approximation of the posterior at this point, with the inverse curvature as covariance.

    The curvature is minus the second derivative of the log posterior. The effects of queries, which are many, are
    eliminated from it by a Schur complement: so only a matrix of the size of the features is inverted. fixed,
    effect: the point, coefficients and effects; variance: of the effects, in their prior.
    """
    chance = logistic(task.odds(fixed, effect))
    # Each row of features times the curvature of its log likelihood, which is kept above 0: [rows, features].
    weighted = np.maximum(chance * (1 - chance), 1e-6)[:, np.newaxis] * task.values
    # The intercept is 1, so that its column of `weighted` is the curvature itself. 1 / variance: of the prior.
    conditional_variance = 1 / (task.by_query(weighted[:, 0]) + 1 / variance)
    cross = task.by_query(weighted)  # [queries, features], the curvature between effects and coefficients
    slope = conditional_variance[:, np.newaxis] * cross
    curvature = task.values.T @ weighted + np.diag(task.precision) - cross.T @ slope
    return Step(fixed, effect, variance, np.linalg.inv(curvature), slope, conditional_variance)


def _newton_step(
    task: Task, fixed: np.ndarray, effect: np.ndarray, approximation: Step
) -> tuple[np.ndarray, np.ndarray]:
    """The changes by one Newton step: of the coefficients, float64[features], and effects, float64[queries]."""
    residual = task.taken - logistic(task.odds(fixed, effect))
    by_fixed = task.values.T @ residual - task.precision * (fixed - task.mean)
    by_effect = task.by_query(residual) - effect / approximation.variance
    change = approximation.covariance @ (by_fixed - approximation.slope.T @ by_effect)
    return change, approximation.conditional_variance * by_effect - approximation.slope @ change


def logistic(odds: np.ndarray) -> np.ndarray:
    """The logistic function: the chance with these log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS)))
