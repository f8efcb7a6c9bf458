"""How many judgments show a difference of a given size, by simulation of rounds under the model."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..expected import (
    Pool,
    Round,
    design,
    draw_batches,
    estimate,
    expect,
    fit,
    rates,
    scores,
)
from ..expected.estimate import NORMAL
from ..significance.draws import SEED
from .drawing import LEAST, batches_of
from .state import State

WORLDS = 5  # simulations
DRAWS = 60  # of missing judgments, for the covariance after each round
MOST = 2_000  # pairs that are simulated: of a larger pool, a sample of queries
GROWTH = 0.35  # size of a simulated round as a share of the judged pairs: fewer and larger rounds than real ones


@dataclass(frozen=True)
class Point:
    """Half-widths of the 90 % intervals of differences at one number of judgments, as medians over simulations."""

    judged: int  # in all
    middle: float  # median over pairs of systems
    widest: float  # maximum over pairs of systems


@dataclass(frozen=True)
class Plan:
    pairs: int  # of the pool
    judged: int  # now
    apart: float
    points: tuple[Point, ...]
    middle: int | None  # judgments until the half-width is at most `apart` for half the pairs of systems
    all: int | None  # judgments until it is for all pairs
    queries: int  # simulated
    of_queries: int  # of the pool
    worlds: int = WORLDS
    seed: int = SEED


def plan_of(state: State, apart: float = 0.02, seed: int = SEED) -> Plan:
    """The numbers of judgments after which differences of `apart` show; None: not before all are judged.

    Each simulation draws the missing levels from the model of the present judgments, and rounds as the decisive
    order draws them. Of a large pool a sample of queries is simulated. The standard error of a mean over n queries
    is proportional to 1/√n, so widths are divided by the root of the ratio of the numbers of queries.
    """
    generator = np.random.default_rng(seed)
    part, level = _some_queries(state.pool, state.level, generator)
    times = state.pool.queries / part.queries
    model = fit(part, level)
    unjudged = np.flatnonzero(level < 0)
    worlds = model.draw(unjudged, WORLDS, generator)
    runs = [list(_simulated(part, level, unjudged, world, generator)) for world in worlds.T]
    points = tuple(
        Point(
            judged=round(times * np.mean([judged for judged, _ in at])),
            middle=float(np.median([np.median(width) for _, width in at]) / np.sqrt(times)),
            widest=float(np.median([width.max() for _, width in at]) / np.sqrt(times)),
        )
        for at in zip(*_padded(runs), strict=True)
    )
    return Plan(
        pairs=state.pool.pairs,
        judged=int(state.judged.sum()),
        apart=apart,
        points=points,
        middle=_judgments_for([(point.judged, point.middle) for point in points], apart),
        all=_judgments_for([(point.judged, point.widest) for point in points], apart),
        queries=part.queries,
        of_queries=state.pool.queries,
        seed=seed,
    )


def _padded(runs: list[list]) -> list[list]:
    """The simulations, each padded with its last point to the length of the longest."""
    longest = max(map(len, runs))
    return [points + points[-1:] * (longest - len(points)) for points in runs]


def _some_queries(pool: Pool, level: np.ndarray, generator: np.random.Generator) -> tuple[Pool, np.ndarray]:
    """The pool and levels of a random sample of queries with at most MOST pairs together; at least one query."""
    order = generator.permutation(pool.queries)
    kept = np.sort(order[: max(1, int((np.cumsum(pool.size[order]) <= MOST).sum()))])
    rows = np.isin(pool.query, kept)
    query = np.searchsorted(kept, pool.query[rows])
    machine = None if pool.machine is None else pool.machine[rows]
    weight = None if pool.weight is None else pool.weight[kept]
    part = Pool(query, pool.rank[rows], pool.gains, pool.cutoff, pool.options, machine=machine, weight=weight)
    return part, level[rows]


def _simulated(
    pool: Pool, level: np.ndarray, unjudged: np.ndarray, world: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[int, np.ndarray]]:
    """One simulation: after each round the number of judgments, and the half-width of each difference of systems.

    It ends when all pairs are judged. A round after which there are no intervals yields nothing.
    world: int8[unjudged], the levels that the simulation takes for the true ones of the unjudged pairs.
    """
    truth, level = level.copy(), level.copy()
    truth[unjudged] = world
    rounds: list[Round] = []
    skipped = np.zeros(pool.pairs, bool)  # nobody skips a pair
    birth = np.zeros(pool.pairs, np.int64)  # all pairs are in the pool from the start
    first, second = np.triu_indices(pool.systems, 1)  # the pairs of systems
    while (level < 0).any():
        latest = _next_round(pool, level, generator)
        rounds.append(latest)
        rows = np.concatenate([latest.greedy, latest.drawn])
        level[rows] = truth[rows]
        so_far = design(rounds, level >= 0, skipped, birth)
        covariance = estimate(pool, level, so_far, draws=DRAWS).covariance
        if covariance is None:
            continue
        variance = np.diag(covariance)
        of_difference = variance[first] + variance[second] - 2 * covariance[first, second]
        # Rounding errors can make a variance of 0 negative.
        yield int((level >= 0).sum()), NORMAL * np.sqrt(np.maximum(of_difference, 0))


def _next_round(pool: Pool, level: np.ndarray, generator: np.random.Generator) -> Round:
    model, rows = fit(pool, level), np.flatnonzero(level < 0)
    chances = model.chances()
    score = scores(expect(pool, level, chances, model.effect_variance), chances, rows)
    size = max(LEAST, int(GROWTH * (level >= 0).sum()))
    batches, batch = batches_of(size, len(np.unique(pool.query[rows])))
    rate = rates(score, pool.top[rows])
    return draw_batches(pool.query[rows], rows, score, rate, batches, batch, generator)


def _judgments_for(points: list[tuple[int, float]], apart: float) -> int | None:
    """The number of judgments from which the half-width stays at most `apart`, interpolated; None: not reached."""
    below = [width <= apart for _, width in points]
    if not below or not below[-1]:
        return None
    place = len(below) - below[::-1].index(False) if False in below else 0
    if place == 0:
        return points[0][0]
    (before, wide), (after, narrow) = points[place - 1], points[place]
    return round(before + (after - before) * (wide - apart) / max(wide - narrow, 1e-12))
