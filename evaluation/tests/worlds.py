"""Small simulated worlds for expected values: systems, true levels, and rounds of judgments in them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.expected import (
    Pool,
    Round,
    at_random,
    by_depth,
    draw_batches,
    draw_round,
    expect,
    fit,
    rates,
    scores,
)

SCALES = ([0, 1], [0, 1, 2], [0, 1, 3, 7], [-1, 0, 1, 2], [-2, -0.5, 0, 1.5], [0, 0.25, 0.5, 0.75, 1])


@dataclass(frozen=True)
class World:
    pool: Pool
    truth: np.ndarray  # int64[pairs], the level of every pair

    def judged(self, rows: np.ndarray) -> np.ndarray:
        level = np.full(self.pool.pairs, -1)
        level[rows] = self.truth[rows]
        return level


def world(
    generator: np.random.Generator, queries: int = 0, systems: int = 0, gains=None, cutoff: int = 0
) -> World:
    """Systems that differ in how well they see what is relevant, with lists of their own length in each query."""
    queries = queries or int(generator.integers(3, 7))
    systems = systems or int(generator.integers(2, 6))
    gains = np.array(SCALES[generator.integers(len(SCALES))] if gains is None else gains, float)
    cutoff = cutoff or int(generator.choice([3, 5, 10]))
    sight = generator.uniform(0.3, 2.0, systems)
    rank, query, truth = [], [], []
    for number in range(queries):
        documents = int(generator.integers(12, 40))
        appeal = generator.normal(generator.normal(0, 0.7), 1.2, documents)
        length = generator.integers(5, documents + 1, systems)
        order = np.argsort(-(appeal[:, np.newaxis] * sight + generator.normal(0, 1, (documents, systems))), axis=0)
        place = np.argsort(order, axis=0) + 1
        place[place > length] = 101
        level = np.clip(np.floor(appeal + 0.3 * len(gains)), 0, len(gains) - 1).astype(int)
        level[np.argmax(appeal)] = len(gains) - 1  # something to find
        kept = (place <= 100).any(axis=1) | (level == len(gains) - 1)
        rank.append(place[kept])
        truth.append(level[kept])
        query.append(np.full(kept.sum(), number))
    return World(Pool(np.concatenate(query), np.concatenate(rank), gains, cutoff), np.concatenate(truth))


Ready = Callable[[Pool, np.ndarray], np.ndarray]  # the factors of the rates, by what is judged


def next_round(
    pool: Pool,
    level: np.ndarray,
    size: int,
    generator: np.random.Generator,
    batch: int = 1,
    ready: Ready | None = None,
) -> Round:
    """A round drawn as the product does, from what is judged so far: one by one, or in batches of one query.

    A batch of 0: one by one by equal chances.
    """
    if not batch:
        return at_random(np.flatnonzero(level < 0), size, 1e-6, generator)
    model = fit(pool, level)
    chances, unjudged = model.chances(), np.flatnonzero(level < 0)
    score = scores(expect(pool, level, chances, model.effect_variance), chances, unjudged)
    rate = rates(score, pool.above_cutoff[unjudged]) * (ready(pool, level)[unjudged] if ready else 1.0)
    if batch == 1:
        return draw_round(unjudged, score, rate, size, generator)
    return draw_batches(pool.query[unjudged], unjudged, score, rate, size // batch, batch, generator)


def play(
    found: World,
    sizes: list[int],
    generator: np.random.Generator,
    batch: int = 1,
    ready: Ready | None = None,
) -> tuple[np.ndarray, list[Round]]:
    """The levels that are known after rounds of these sizes, and the rounds."""
    level, rounds = np.full(found.pool.pairs, -1), []
    for size in sizes:
        rounds.append(next_round(found.pool, level, size, generator, batch, ready))
        rows = np.concatenate([rounds[-1].greedy, rounds[-1].drawn])
        level[rows] = found.truth[rows]
    return level, rounds


def certain(row: int) -> Round:
    """A round of one pair that was judged for certain, without evidence on other pairs."""
    return by_depth(np.array([row]), np.array([[1]]), 1, np.random.default_rng(0))
