"""The chance that an unjudged document has a grade, learnt from those that are judged. NumPy only.

For each step from a level to the next, the log odds that a document which came so far takes it are linear in its
features, plus an effect of the query that is normal around 0. Means and curvatures at the mode (Laplace) stand for
the posterior.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .pool import Pool, pieces

NEWTON = 12  # steps at most
ENOUGH = 1e-4  # of log posterior: a whole step that gains less is the last
PARTS = 0.5 ** np.arange(14)  # of a Newton step, tried in turn until one does not fall
ROUNDING = 1e-9  # a fall of log posterior below this is none
VARIANCE = 1.0  # of the effects of queries, before anything is known
QUERIES = 10.0  # what the prior of that variance counts for
LEAST, MOST = 0.02, 9.0  # of that variance
BOUND = 35.0  # log odds beyond are certainty
CERTAIN = 1e-4  # no chance is nearer to 0 or 1


@dataclass(frozen=True, eq=False)
class Step:
    """The posterior of one step. Coefficients that are b higher make the effect of query q slope[q]b lower."""

    fixed: np.ndarray  # float64[features]: coefficients at the mode
    effect: np.ndarray  # float64[queries]
    variance: float  # of the effects
    inverse: np.ndarray  # float64[features, features]: covariance of the coefficients
    slope: np.ndarray  # float64[queries, features]
    own: np.ndarray  # float64[queries]: variance of each effect, given the coefficients

    @property
    def spread(self) -> np.ndarray:
        """The variance of each query's effect, float64[queries]."""
        return self.own + np.einsum("qf,fg,qg->q", self.slope, self.inverse, self.slope)


@dataclass(frozen=True, eq=False)
class Model:
    """The posterior of all steps, given the levels of the judged pairs."""

    pool: Pool
    level: np.ndarray  # int64[pairs], -1 = unjudged
    steps: tuple[Step, ...]

    @property
    def spread(self) -> np.ndarray:
        """The variance of each query's effect in the last step, float64[queries]."""
        return self.steps[-1].spread

    def chances(self, left_out: bool = False) -> np.ndarray:
        """The chance of each pair to take each step, from the first level on: float64[pairs, steps].

        With `left_out` each judged pair is predicted as if it were not, by one step of Newton's method.
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
        """Mean and variance of the log odds of every pair in each step, float64[pairs] each."""
        values, query, found = self.pool.features.values, self.pool.query, []
        for step in self.steps:
            odds, variance = values @ step.fixed + step.effect[query], step.own[query]
            for part in pieces(self.pool.pairs):
                moved = values[part] - step.slope[query[part]]
                variance[part] += np.einsum("nf,nf->n", moved @ step.inverse, moved)
            found.append((odds, variance))
        return found

    def draw(self, rows: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
        """Levels of some pairs from the posterior, int8[rows, draws]."""
        level, alive = np.zeros((len(rows), draws), np.int8), np.ones((len(rows), draws), bool)
        for step in self.steps:
            root = np.linalg.cholesky(step.inverse + 1e-12 * np.eye(len(step.inverse)))
            moved = root @ generator.standard_normal((len(root), draws))
            effect = step.effect[:, np.newaxis] - step.slope @ moved
            effect += np.sqrt(step.own)[:, np.newaxis] * generator.standard_normal(effect.shape)
            coefficients = step.fixed[:, np.newaxis] + moved
            for part in pieces(len(rows)):
                odds = self.pool.features.values[rows[part]] @ coefficients + effect[self.pool.query[rows[part]]]
                alive[part] &= generator.random(odds.shape, dtype=np.float32) < logistic(odds.astype(np.float32))
            level += alive
        return level


def fit(pool: Pool, level: np.ndarray, rounds: int = 2, start: Model | None = None) -> Model:
    """The model of these judgments; level: int64[pairs], -1 = unjudged.

    Each of the `rounds` ends with an EM step for the variance of the effects of queries. `start` is a model of
    fewer judgments to begin from, which takes fewer steps to nearly the same numbers.
    """
    steps = []
    for place in range(pool.steps):
        task = _task(pool, level, place)
        begin = start.steps[place] if start else None
        fixed = begin.fixed if begin else task.mean
        effect = begin.effect if begin else np.zeros(pool.queries)
        variance = begin.variance if begin else VARIANCE
        for _ in range(rounds):
            found = newton(task, fixed, effect, variance)
            fixed, effect = found.fixed, found.effect
            total = (effect**2 + found.spread).sum() + QUERIES * VARIANCE
            variance = float(np.clip(total / (pool.queries + QUERIES), LEAST, MOST))
        steps.append(Step(fixed, effect, variance, found.inverse, found.slope, found.own))
    return Model(pool, level, tuple(steps))


@dataclass(frozen=True, eq=False)
class Task:
    """The judged pairs that could take one step, and the prior of its coefficients."""

    values: np.ndarray  # float64[rows, features]
    query: np.ndarray  # int64[rows], ascending
    taken: np.ndarray  # float64[rows], 1 where the step was taken
    ends: np.ndarray  # int64[queries + 1]: the first row of each query
    mean: np.ndarray  # float64[features]
    precision: np.ndarray  # float64[features]

    def odds(self, fixed: np.ndarray, effect: np.ndarray) -> np.ndarray:
        return self.values @ fixed + effect[self.query]

    def log_posterior(self, fixed: np.ndarray, effect: np.ndarray, variance: float) -> float:
        """The log posterior of these effects, up to a constant."""
        odds = self.odds(fixed, effect)
        likelihood = (self.taken * odds - np.logaddexp(0, odds)).sum()
        prior = (self.precision * (fixed - self.mean) ** 2).sum() + (effect**2).sum() / variance
        return float(likelihood - prior / 2)

    def by_query(self, values: np.ndarray) -> np.ndarray:
        """Sums over the rows of each query, of which some have none."""
        sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        return sums[self.ends[1:]] - sums[self.ends[:-1]]


def _task(pool: Pool, level: np.ndarray, place: int) -> Task:
    rows, prior = np.flatnonzero(level >= place), pool.features
    mean = prior.mean.copy()
    if place:  # higher steps are taken by about half of those who come so far, and ranks tell less about them
        mean *= 0.5
        mean[0] = -0.3
    query = pool.query[rows]
    ends = np.searchsorted(query, np.arange(pool.queries + 1))
    taken = (level[rows] > place).astype(np.float64)
    return Task(prior.values[rows], query, taken, ends, mean, prior.precision)


def newton(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float, backtracking: bool = True) -> Step:
    """The mode of the log posterior by Newton's method, and the curvature where its last step began.

    Without `backtracking` a step may overshoot, and the next one still more, until nothing fits.
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
            break
        gained, height, (fixed, effect) = reached - height, reached, there
        if abs(gained) < ENOUGH and part == PARTS[0]:
            break
    return Step(fixed, effect, variance, here.inverse, here.slope, here.own)


def _curvature(task: Task, fixed: np.ndarray, effect: np.ndarray, variance: float) -> Step:
    """The posterior if its curvature were everywhere that of this point: the effects are eliminated (Schur)."""
    p = logistic(task.odds(fixed, effect))
    weighted = np.maximum(p * (1 - p), 1e-6)[:, np.newaxis] * task.values
    # The intercept is 1, so that its column is the weight itself.
    own = 1 / (task.by_query(weighted[:, 0]) + 1 / variance)
    shared = task.by_query(weighted)
    slope = own[:, np.newaxis] * shared
    curvature = task.values.T @ weighted + np.diag(task.precision) - shared.T @ slope
    return Step(fixed, effect, variance, np.linalg.inv(curvature), slope, own)


def _newton_step(task: Task, fixed: np.ndarray, effect: np.ndarray, here: Step) -> tuple[np.ndarray, np.ndarray]:
    residual = task.taken - logistic(task.odds(fixed, effect))
    by_fixed = task.values.T @ residual - task.precision * (fixed - task.mean)
    by_effect = task.by_query(residual) - effect / here.variance
    move = here.inverse @ (by_fixed - here.slope.T @ by_effect)
    return move, here.own * by_effect - here.slope @ move


def logistic(odds: np.ndarray) -> np.ndarray:
    """The chance that has these log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -BOUND, BOUND)))
