"""Collections with known judgments, draws of systems from them, and raters who answer by these. No Django.

Lists are cut at 100 and, but for collections that are judged completely, condensed to judged documents: so every
pair of a draw has its true grade, and the true means are known.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evaluation.expected import (
    Design,
    Estimate,
    Model,
    Pool,
    Round,
    at_random,
    design,
    draw_batches,
    draw_round,
    estimate,
    expect,
    fit,
    judgments_to_settle,
    mean_score,
    order_chances,
    pool_of,
    rates,
    scores,
)
from evaluation.expected.estimate import means
from evaluation.expected.order import MOST_CHANCE_OF_WRONG
from evaluation.files import load
from evaluation.measures import Judgments, Options, Rankings
from evaluation.measures.arrays import distinct, pair_key

DEPTH = 100
RUNS = 10
QUERIES = 50
FEWEST = 5  # documents of a query
MEASURE = "nDCG@10"
BUDGETS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.12, 0.15, 0.20, 0.25, 0.30, 0.40)
ONE_BY_ONE, BATCHES, SHARE = 10, 6, 0.05  # the least round: documents, batches; and its share of what is judged
NO_LEVEL = np.zeros((0, 1), np.int8)


@dataclass(frozen=True)
class Size:
    """How much of a collection a draw takes at most."""

    systems: int = RUNS
    queries: int = QUERIES
    depth: int = DEPTH  # of each list


WHOLE = Size()


@dataclass(frozen=True, eq=False)
class Truth:
    """A collection: what each system returns, and what each pair is worth."""

    name: str
    judgments: Judgments
    systems: list[Rankings]
    scale: list[float]

    def draw(self, seed: int, size: Size = WHOLE) -> tuple[Pool, np.ndarray]:
        """The pool of some random systems, and the true level of every pair: int64[pairs].

        Each query has something to find. The ideal is made of what these systems return.
        """
        generator = np.random.default_rng([seed, sum(map(ord, self.name))])
        number = len(self.systems)
        most = number - 2 if number <= size.systems + 2 else size.systems
        chosen = generator.choice(number, min(size.systems, most), replace=False)
        lists = [self.systems[place].top(size.depth) for place in chosen]
        key = distinct(np.concatenate([pair_key(each.query, each.documents) for each in lists]))
        kept = np.isin(self.judgments.key, key)
        found = np.bincount(self.judgments.query[kept & (self.judgments.grade > 0)], minlength=lists[0].queries)
        pairs = np.bincount(self.judgments.query[kept], minlength=lists[0].queries)
        good = np.flatnonzero((found > 0) & (pairs >= FEWEST))
        if len(good) > size.queries:
            good = np.sort(generator.choice(good, size.queries, replace=False))
        kept &= np.isin(self.judgments.query, good)
        judged = Judgments(
            len(good),
            np.searchsorted(good, self.judgments.query[kept]),
            self.judgments.document[kept],
            self.judgments.grade[kept],
        )
        return pool_of(judged, [each.of(good) for each in lists], MEASURE, Options(), self.scale)


def collections(folder: Path, complete: Sequence[str]) -> dict[str, Callable[[], Truth]]:
    """What reads each collection below a folder: where a file of qrels stands beside a folder `runs`."""
    found = {}
    for runs in sorted(folder.rglob("runs")):
        qrels = sorted(runs.parent.glob("*qrels*"))
        if runs.is_dir() and qrels:
            name = str(runs.parent.relative_to(folder))
            files = [str(path) for path in sorted(runs.iterdir())]
            found[name] = lambda name=name, qrels=qrels, files=files: read(
                name, str(qrels[-1]), files, name in complete
            )
    return found


def read(name: str, qrels: str, runs: Sequence[str], complete: bool) -> Truth:
    """One collection. In one that is judged completely, what has no judgment has grade 0."""
    found = load(qrels, runs, order="score", tiebreak=True, system_from="file", same_numbers=complete)
    grade = np.maximum(found.judgments.grade, 0)
    judged = Judgments(len(found.queries), found.judgments.query, found.judgments.document, grade)
    lists = [each.top(DEPTH) for each in found.rankings.values()]
    if complete:
        judged = with_zeros(judged, lists)
    else:
        lists = [condensed(each, judged) for each in lists]
    return Truth(name, judged, lists, np.unique(np.append(grade, 0.0)).tolist())


def condensed(rankings: Rankings, judged: Judgments) -> Rankings:
    """Only the judged documents of each list."""
    kept = np.isin(pair_key(rankings.query, rankings.documents), judged.key)
    offsets = np.append(0, np.cumsum(np.bincount(rankings.query[kept], minlength=rankings.queries)))
    return Rankings(offsets, rankings.documents[kept])


def with_zeros(judged: Judgments, lists: Sequence[Rankings]) -> Judgments:
    query = np.concatenate([judged.query, *(each.query for each in lists)])
    document = np.concatenate([judged.document, *(each.documents for each in lists)])
    key, first = np.unique(pair_key(query, document), return_index=True)
    grade = np.append(judged.grade, np.zeros(len(query) - len(judged.grade)))
    return Judgments(judged.queries, query[first], document[first], grade[first])


# Players: each yields, at every budget, the levels that are known and what is estimated of them.

Seen = Iterator[tuple[float, np.ndarray, Estimate]]


def in_rounds(batch: int, machine: bool = False) -> Callable[[Pool, np.ndarray, int], Seen]:
    """Rounds of the core alone, one by one or in batches of one query, answered in their order.

    A batch of 0: one by one by equal chances, as in the random order.
    With `machine` a machine graded all pairs before, as a feature of the model.
    """

    def play(pool: Pool, truth: np.ndarray, seed: int) -> Seen:
        generator, model = np.random.default_rng([7, seed]), None
        if machine:
            pool = replace(pool, machine=machine_grades(pool, truth, seed)[:, np.newaxis])
        level, rounds, waiting = np.full(pool.pairs, -1), [], np.zeros(0, int)
        for budget in BUDGETS:
            left = round(budget * pool.pairs) - int((level >= 0).sum())
            while left > 0:
                if not len(waiting):
                    model = fit(pool, level, start=model) if batch else None
                    rounds.append(next_round(pool, level, model, batch, generator))
                    waiting = np.concatenate([rounds[-1].greedy, rounds[-1].drawn])
                answered, waiting = waiting[:left], waiting[left:]
                level[answered] = truth[answered]
                left -= len(answered)
            yield budget, level, estimate(pool, level, design_of(rounds, level), seed=seed)

    return play


def forecasts(pool: Pool, truth: np.ndarray, seed: int, batch: int = 5) -> list[tuple[int, int, int]]:
    """After each round until the order is settled: how many are judged, how many more were forecast, and needed.

    Where none is forecast before all is judged, all that are left count.
    """
    generator, model, rounds, seen = np.random.default_rng([7, seed]), None, [], []
    level = np.full(pool.pairs, -1)
    while (level < 0).any():
        model = fit(pool, level, start=model)
        rounds.append(next_round(pool, level, model, batch, generator))
        rows = np.concatenate([rounds[-1].greedy, rounds[-1].drawn])
        level[rows] = truth[rows]
        found, judged = estimate(pool, level, design_of(rounds, level), seed=seed), int((level >= 0).sum())
        if found.covariance is None:
            continue
        if order_chances(found.mean, found.covariance)[0] <= MOST_CHANCE_OF_WRONG:
            break
        more = judgments_to_settle(pool, level, level < 0, found)
        seen.append((judged, pool.pairs - judged if more is None else more))
    return [(judged, more, int((level >= 0).sum()) - judged) for judged, more in seen]


def machine_grades(pool: Pool, truth: np.ndarray, seed: int) -> np.ndarray:
    """A simulated machine's levels, float64[pairs]: a quarter too high, by its own scale in each query, and noisy.

    Its errors do not go with the systems.
    """
    generator = np.random.default_rng([11, seed])
    own = generator.normal(0, 0.3, pool.queries)[pool.query]
    seen = truth + 0.25 + own + generator.normal(0, 0.75, pool.pairs)
    return np.clip(np.round(seen), 0, pool.steps)


def next_round(
    pool: Pool, level: np.ndarray, model: Model | None, batch: int, generator: np.random.Generator
) -> Round:
    """A round of about a twentieth of what is judged; without a model by equal chances."""
    if model is None:
        unjudged = np.flatnonzero(level < 0)
        size = max(BATCHES * 5, round(SHARE * (pool.pairs - len(unjudged))))
        return at_random(unjudged, size, mean_score(pool), generator)
    chances, unjudged = model.chances(), np.flatnonzero(level < 0)
    score = scores(expect(pool, level, chances, model.effect_variance), chances, unjudged)
    rate = rates(score, pool.above_cutoff[unjudged])
    size = SHARE * (pool.pairs - len(unjudged))
    if batch == 1:
        return draw_round(unjudged, score, rate, max(ONE_BY_ONE, round(size)), generator)
    batches = max(BATCHES, round(size / batch))
    return draw_batches(pool.query[unjudged], unjudged, score, rate, batches, batch, generator)


def design_of(rounds: Sequence[Round], level: np.ndarray) -> Design:
    nobody = np.zeros(len(level), bool)
    return design(rounds, level >= 0, nobody, nobody.astype(int))


def by_depth(zeros: bool) -> Callable[[Pool, np.ndarray, int], Seen]:
    """The best ranks of every query first, and what is unjudged is worth nothing, or what the model expects."""

    def play(pool: Pool, truth: np.ndarray, seed: int) -> Seen:
        order, nothing = depth_order(pool, seed), int(np.searchsorted(pool.gains, 0.0))
        for budget in BUDGETS:
            level, rows = np.full(pool.pairs, -1), order[: round(budget * pool.pairs)]
            level[rows] = truth[rows]
            if zeros:
                yield budget, level, Estimate(exact(pool, np.where(level < 0, nothing, level)), None)
            else:
                yield budget, level, estimate(pool, level, seed=seed)

    return play


def depth_order(pool: Pool, seed: int) -> np.ndarray:
    """All pairs: by their best rank, then by how many systems return them, the same share of every query."""
    chance = np.random.default_rng([9, seed]).random(pool.pairs)
    by_rank = np.lexsort((chance, -(pool.rank <= DEPTH).sum(axis=1), pool.rank.min(axis=1), pool.query))
    share = (np.arange(pool.pairs) - pool.first[pool.query] + 0.5) / pool.size[pool.query]
    return by_rank[np.argsort(share, kind="stable")]


def exact(pool: Pool, level: np.ndarray) -> np.ndarray:
    """The means where every level is known, 0 where nothing is found in any query."""
    (mean,) = means(pool, level, NO_LEVEL)
    return np.nan_to_num(mean)
