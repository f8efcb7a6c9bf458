"""How many judgments a difference takes: rounds are played in worlds that the model can imagine."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..draws import SEED
from ..expected import Pool, Round, design, draw_batches, estimate, expect, fit, rates, scores
from ..expected.estimate import NORMAL
from .drawing import LEAST, batches_of
from .state import State

WORLDS = 5
DRAWS = 60  # of missing judgments, behind the covariance after each round
MOST = 2_000  # pairs that are simulated: of a larger pool some queries stand for all
GROWTH = 0.35  # a simulated round is this share of what is judged: fewer and larger ones than in the queue


@dataclass(frozen=True)
class Point:
    """After so many judgments in all, half the width of the 90 % interval of a difference, over the worlds."""

    judged: int
    middle: float  # of the pair of systems in the middle
    widest: float


@dataclass(frozen=True)
class Plan:
    pairs: int  # of the pool
    judged: int  # now
    apart: float
    points: tuple[Point, ...]
    middle: int | None  # judgments in all until half the pairs of systems are known to `apart`
    all: int | None  # until all are
    queries: int  # that were simulated
    of_queries: int
    worlds: int = WORLDS
    seed: int = SEED


def planned(state: State, apart: float = 0.02, seed: int = SEED) -> Plan:
    """The numbers of judgments after which differences of `apart` show; None: not before all is judged.

    Each world has levels that the model of the present judgments draws for all others, and rounds as the decisive
    order would draw them. Of a large pool some queries are played. A mean over n queries is 1/√n as uncertain, so
    that their widths are divided by the root of how many times more queries there are.
    """
    generator = np.random.default_rng(seed)
    part, level = _some_queries(state.pool, state.level, generator)
    times = state.pool.queries / part.queries
    model = fit(part, level)
    unjudged = np.flatnonzero(level < 0)
    worlds = model.draw(unjudged, WORLDS, generator)
    played = [list(_played(part, level, unjudged, world, generator)) for world in worlds.T]
    points = tuple(
        Point(
            judged=round(times * np.mean([judged for judged, _ in at])),
            middle=float(np.median([np.median(width) for _, width in at]) / np.sqrt(times)),
            widest=float(np.median([width.max() for _, width in at]) / np.sqrt(times)),
        )
        for at in zip(*_as_long(played), strict=True)
    )
    return Plan(
        pairs=state.pool.pairs,
        judged=int(state.judged.sum()),
        apart=apart,
        points=points,
        middle=_reached([(point.judged, point.middle) for point in points], apart),
        all=_reached([(point.judged, point.widest) for point in points], apart),
        queries=part.queries,
        of_queries=state.pool.queries,
        seed=seed,
    )


def _as_long(played: list[list]) -> list[list]:
    """The points with the last of each world again, where another world took more rounds."""
    longest = max(map(len, played))
    return [points + points[-1:] * (longest - len(points)) for points in played]


def _some_queries(pool: Pool, level: np.ndarray, generator: np.random.Generator) -> tuple[Pool, np.ndarray]:
    """As many queries, drawn at random, as have MOST pairs together, and at least one."""
    order = generator.permutation(pool.queries)
    kept = np.sort(order[: max(1, int((np.cumsum(pool.size[order]) <= MOST).sum()))])
    rows = np.isin(pool.query, kept)
    query = np.searchsorted(kept, pool.query[rows])
    machine = None if pool.machine is None else pool.machine[rows]
    return Pool(query, pool.rank[rows], pool.gains, pool.cutoff, pool.options, machine=machine), level[rows]


def _played(
    pool: Pool, level: np.ndarray, unjudged: np.ndarray, world: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[int, np.ndarray]]:
    """After each round, the number of judgments and half the widths of all differences, until all is judged."""
    truth, level = level.copy(), level.copy()
    truth[unjudged] = world
    rounds: list[Round] = []
    none = np.zeros(pool.pairs, np.int64)
    first, second = np.triu_indices(pool.systems, 1)
    while (level < 0).any():
        rounds.append(_next(pool, level, generator))
        rows = np.concatenate([rounds[-1].greedy, rounds[-1].drawn])
        level[rows] = truth[rows]
        known = design(rounds, level >= 0, none > 0, none)
        covariance = estimate(pool, level, known, draws=DRAWS).covariance
        if covariance is not None:
            variance = np.diag(covariance)
            spread = variance[first] + variance[second] - 2 * covariance[first, second]
            yield int((level >= 0).sum()), NORMAL * np.sqrt(np.maximum(spread, 0))


def _next(pool: Pool, level: np.ndarray, generator: np.random.Generator) -> Round:
    model, rows = fit(pool, level), np.flatnonzero(level < 0)
    chances = model.chances()
    score = scores(expect(pool, level, chances, model.spread), chances, rows)
    size = max(LEAST, int(GROWTH * (level >= 0).sum()))
    batches, batch = batches_of(size, len(np.unique(pool.query[rows])))
    rate = rates(score, pool.top[rows])
    return draw_batches(pool.query[rows], rows, score, rate, batches, batch, generator)


def _reached(points: list[tuple[int, float]], apart: float) -> int | None:
    """The first number of judgments after which the width stays at most `apart`, interpolated."""
    below = [width <= apart for _, width in points]
    if not below or not below[-1]:
        return None
    place = len(below) - below[::-1].index(False) if False in below else 0
    if place == 0:
        return points[0][0]
    (before, wide), (after, narrow) = points[place - 1], points[place]
    return round(before + (after - before) * (wide - apart) / max(wide - narrow, 1e-12))
