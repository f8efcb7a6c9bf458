"""The probability of each level of an unjudged document, learnt from the judged documents. NumPy only.

A continuation-ratio model with random effects of queries: for each step from a level to the next, the log odds
that a document of at least the lower level takes the step are linear in its features, plus a normal effect of the
query. The posterior is approximated at its mode (Laplace).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .pool import Pool, pieces

NEWTON = 12  # Newton steps, at most
ENOUGH = 1e-4  # convergence: a whole step that raises the log posterior by less is the last
PARTS = 0.5 ** np.arange(14)  # shares of a Newton step that backtracking tries in turn
ROUNDING = 1e-9  # a smaller fall of the log posterior is a rounding error
VARIANCE = 1.0  # prior variance of the effects of queries
QUERIES = 10.0  # weight of that prior, in queries
LEAST, MOST = 0.02, 9.0  # bounds of that variance
BOUND = 35.0  # log odds are clipped at this size
CERTAIN = 1e-4  # chances are clipped to this distance from 0 and 1


@dataclass(frozen=True, eq=False)
class Step:
    """The posterior of one step. If the coefficients are b higher, the effect of query q is slope[q] @ b lower."""

    fixed: np.ndarray  # float64[features], coefficients at the mode
    effect: np.ndarray  # float64[queries], effects of queries at the mode
    variance: float  # of the effects, in their prior
    covariance: np.ndarray  # float64[features, features], of the coefficients
    slope: np.ndarray  # float64[queries, features]
    conditional: np.ndarray  # float64[queries], variance of each effect given the coefficients

    @property
    def effect_variance(self) -> np.ndarray:
        """The posterior variance of each query's effect, float64[queries]."""
        return self.conditional + np.einsum("qf,fg,qg->q", self.slope, self.covariance, self.slope)


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
        """
        chances, so_far = np.empty((self.pool.pairs, self.pool.steps)), np.ones(self.pool.pairs)
        for place, (odds, variance) in enumerate(self._predicted):
            if left_out:
                odds, variance = odds.copy(), variance.copy()
                rows = np.flatnonzero(self.level >= place)
                p = logistic(odds[rows])
                left = np.maximum(1 - p * (1 - p) * variance[rows], 0.05)
                odds[rows] -= variance[rows] * ((self.level[rows] > place) - p) / left
                variance[rows] /= left
            p = logistic(odds / np.sqrt(1 + np.pi * variance / 8))
            so_far = so_far * np.clip(p, CERTAIN, 1 - CERTAIN)
            chances[:, place] = so_far
        return chances

    @cached_property
    def _predicted(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By step, the mean and the variance of the log odds of every pair, float64[pairs] each."""
        values, query, predicted = self.pool.features.values, self.pool.query, []
        for step in self.steps:
            odds, variance = values @ step.fixed + step.effect[query], step.conditional[query]
            for part in pieces(self.pool.pairs):
                moved = values[part] - step.slope[query[part]]
                variance[part] += np.einsum("nf,nf->n", moved @ step.covariance, moved)
            predicted.append((odds, variance))
        return predicted

    def draw(self, rows: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
        """Levels of the pairs `rows`, drawn from the posterior: int8[rows, draws]."""
        level = np.zeros((len(rows), draws), np.int8)
        took_all = np.ones((len(rows), draws), bool)  # steps so far
        for step in self.steps:
            # Rounding must not make the covariance indefinite.
            root = np.linalg.cholesky(step.covariance + 1e-12 * np.eye(len(step.covariance)))
            # Coefficients move, and the effects of queries with them: see `Step`.
            moved = root @ generator.standard_normal((len(root), draws))
            effect = step.effect[:, np.newaxis] - step.slope @ moved
            effect += np.sqrt(step.conditional)[:, np.newaxis] * generator.standard_normal(effect.shape)
            coefficients = step.fixed[:, np.newaxis] + moved
            for part in pieces(len(rows)):
                odds = self.pool.features.values[rows[part]] @ coefficients + effect[self.pool.query[rows[part]]]
                chances = logistic(odds.astype(np.float32))
                took_all[part] &= generator.random(odds.shape, dtype=np.float32) < chances
            level += took_all
        return level


def fit(pool: Pool, level: np.ndarray, rounds: int = 2, start: Model | None = None) -> Model:
    """The model fitted to these judgments. level: int64[pairs], -1 = unjudged.

    Each of the `rounds` ends with an EM step for the variance of the effects of queries. start: a model of fewer
    judgments as the starting point, from which fewer steps lead to nearly the same numbers.
    """
    steps = []
    for place in range(pool.steps):
        task = _task(pool, level, place)
        begin = start.steps[place] if start else None
        fixed = begin.fixed if begin else task.mean
        effect = begin.effect if begin else np.zeros(pool.queries)
        variance = begin.variance if begin else VARIANCE
        for _ in range(rounds):
            step = newton(task, fixed, effect, variance)
            fixed, effect = step.fixed, step.effect
            total = (effect**2 + step.effect_variance).sum() + QUERIES * VARIANCE
            variance = float(np.clip(total / (pool.queries + QUERIES), LEAST, MOST))
        steps.append(replace(step, variance=variance))
    return Model(pool, level, tuple(steps))


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
        likelihood = (self.taken * odds - np.logaddexp(0, odds)).sum()
        prior = (self.precision * (fixed - self.mean) ** 2).sum() + (effect**2).sum() / variance
        return float(likelihood - prior / 2)

    def by_query(self, values: np.ndarray) -> np.ndarray:
        """The sums over the rows of each query; 0 for a query without rows."""
        sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        return sums[self.first[1:]] - sums[self.first[:-1]]


def _task(pool: Pool, level: np.ndarray, place: int) -> Task:
    rows, prior = np.flatnonzero(level >= place), pool.features
    mean = prior.mean.copy()
    if place:  # about half of the documents that reach a higher step take it, and ranks predict it less well
        mean *= 0.5
        mean[0] = -0.3
    query = pool.query[rows]
    first = np.searchsorted(query, np.arange(pool.queries + 1))
    taken = (level[rows] > place).astype(np.float64)
    return Task(prior.values[rows], query, taken, first, mean, prior.precision)


def newton(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float, backtracking: bool = True) -> Step:
    """The mode of the log posterior by Newton's method, with the curvature at the start of the last step.

    Without `backtracking` the steps may overshoot further and further, and diverge.
    """
    height = task.log_posterior(fixed, effect, variance)
    for _ in range(NEWTON):
        here = _curvature(task, fixed, effect, variance)
        by_fixed, by_effect = _newton_step(task, fixed, effect, here)
        for part in PARTS if backtracking else PARTS[:1]:
            there = fixed + part * by_fixed, effect + part * by_effect
            reached = task.log_posterior(*there, variance)
            if reached >= height - ROUNDING or not backtracking:
                break
        else:
            break  # no part of the step leads upwards
        gained, height, (fixed, effect) = reached - height, reached, there
        if abs(gained) < ENOUGH and part == PARTS[0]:
            break
    return Step(fixed, effect, variance, here.covariance, here.slope, here.conditional)


def _curvature(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> Step:
    """The normal approximation with the curvature at this point. Effects are eliminated by a Schur complement."""
    p = logistic(task.odds(fixed, effect))
    weighted = np.maximum(p * (1 - p), 1e-6)[:, np.newaxis] * task.values
    # The intercept is 1, so that its column of `weighted` is the weight itself.
    conditional = 1 / (task.by_query(weighted[:, 0]) + 1 / variance)
    cross = task.by_query(weighted)
    slope = conditional[:, np.newaxis] * cross
    curvature = task.values.T @ weighted + np.diag(task.precision) - cross.T @ slope
    return Step(fixed, effect, variance, np.linalg.inv(curvature), slope, conditional)


def _newton_step(task: Task, fixed: np.ndarray, effect: np.ndarray, here: Step) -> tuple[np.ndarray, np.ndarray]:
    """The changes of the coefficients and of the effects by one Newton step."""
    residual = task.taken - logistic(task.odds(fixed, effect))
    by_fixed = task.values.T @ residual - task.precision * (fixed - task.mean)
    by_effect = task.by_query(residual) - effect / here.variance
    move = here.covariance @ (by_fixed - here.slope.T @ by_effect)
    return move, here.conditional * by_effect - here.slope @ move


def logistic(odds: np.ndarray) -> np.ndarray:
    """The logistic function: the chance with these log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -BOUND, BOUND)))
