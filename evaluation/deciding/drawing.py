"""Draw rounds of pairs, in the worker: no request of a rater waits for it."""

import logging
from dataclasses import replace
from math import ceil
from secrets import randbits
from typing import Any

import numpy as np

from ratings.desk import queue
from ratings.models import Collection, Drawn, JudgeUse, Round

from .. import record
from ..expected import Round as DrawnRound
from ..expected import (
    at_random,
    by_depth,
    draw_batches,
    expect,
    fit,
    mean_score,
    rate_factors,
    rates,
    scores,
)
from ..record import Machine
from ..scores import Asked
from .aims import aim_of, stored
from .report import expected_of_state
from .state import State

log = logging.getLogger(__name__)

BY_INFORMATION, FROM_THE_TOP, EQUAL = "rounds-1", "depth-1", "random-1"
ORDERS = (Collection.Order.DECISIVE, Collection.Order.RANDOM)  # the orders with rounds
BATCH_DOCUMENTS = 5  # documents of a query in one batch, for which a rater reads the query once
# The size of a round: at least so many pairs, and at least this share of the judged pairs.
FEWEST_PAIRS, SHARE_OF_JUDGED = 30, 0.05
PAIRS_A_RATER = 20  # drawn pairs for each rater at work: as many as a rater can hold

_nothing_to_draw: dict[int, record.Version] = {}  # by pk of a collection, the version with nothing to draw


def draw_due() -> int:
    """Draws a round in each collection where too few ratings of drawn pairs are left. Returns how many it drew.

    Too few are fewer than half of PAIRS_A_RATER for each rater at work, or fewer than FEWEST_PAIRS.
    """
    due = Collection.objects.filter(order__in=ORDERS, put_away_at__isnull=True)
    return sum(bool(_draw_if_due(collection)) for collection in due)


def _draw_if_due(collection: Collection) -> Round | None:
    """Draw a round if raters are short of pairs. Returns it; None where they have enough, or none can be drawn.

    A version of the record for which nothing could be drawn is not tried again: only a change, such as a rating or
    an import, makes a new version.
    """
    version = record.version(collection)
    if _nothing_to_draw.get(collection.pk) == version:
        return None
    at_work = queue.raters_at_work(collection)  # how many raters hold a pair
    # Waiting pairs below which a round is due: half of what the raters at work can hold.
    reserve = max(PAIRS_A_RATER * at_work // 2, FEWEST_PAIRS)
    if queue.waiting_in_rounds(collection, reserve) >= reserve:  # it counts no further than `reserve`
        return None
    try:
        # small: a small pool may get a round from the top of the lists, without random draws.
        drawn = draw_next(collection, least=PAIRS_A_RATER * at_work, small=True)
    except ValueError as error:
        # The scale, the systems or the pool do not fit: raters get pairs outside rounds, and pages say why.
        log.info("No round of %s: %s", collection.slug, error)
        drawn = None
    if drawn is None:
        _nothing_to_draw[collection.pk] = version
    return drawn


def draw_next(
    collection: Collection, *, least: int = FEWEST_PAIRS, seed: int | None = None, small: bool = False
) -> Round | None:
    """Draws and stores a round of at least `least` pairs. Returns it; None if no pair is left or it was overtaken.

    `desk.queue.store_round` says when a round is overtaken. In the random order all pairs that can be
    drawn have equal chances. In the decisive order with `small`, a small pool without random draws gets a round
    from the top of the lists. ValueError where expected values are not defined, and for a seed that is no
    number of 63 bits.
    """
    if seed is not None and not 0 <= seed < 2**63:
        raise ValueError(f"The seed {seed} is not from 0 to {2**63 - 1:,}.")
    equal = collection.order == Collection.Order.RANDOM
    aim = aim_of(collection)
    if equal:
        aim = replace(aim, systems=None)
    version = record.version(collection)
    state = State.of(collection, aim)
    seed = randbits(53) if seed is None else seed
    method = EQUAL if equal else FROM_THE_TOP if small and state.from_the_top else BY_INFORMATION
    triage_machines, factors = triage(collection, state) if method == BY_INFORMATION else ((), None)
    size = max(least, FEWEST_PAIRS, round(SHARE_OF_JUDGED * int(state.judged.sum())))
    drawn, chances = draw_from(state, size, seed, method, factors)
    if not len(drawn.rows):
        return None
    before = expected_before(state, aim)
    if triage_machines:
        before["triage"] = list(map(str, triage_machines))
    return queue.store_round(
        collection,
        Round(
            number=len(state.rounds) + 1,
            method=method,
            seed=seed,
            seen=before,
            aim=stored(aim) | {"systems": list(state.systems), "gains": state.pool.gains.tolist()},
            threshold=None if np.isinf(drawn.keys[-1]) else float(drawn.keys[-1]),
            precision=drawn.precision,
            frame=int(state.eligible.sum()),
            judged=int(state.judged.sum()),
            version=version.number,
        ),
        new_rows(state, drawn, chances),
        judged_outside=state.newly_known.tolist(),
        undrawable=sample_undrawable(state, drawn, seed) if equal else (),
        version=version.collection_version,
    )


def expected_before(state: State, aim: Asked) -> dict[str, Any]:
    """The expected values before a round is drawn, as JSON for `Round.seen`: for the chart over rounds.

    `wrong`: the chance of a wrong order. `mean`, `low`, `high` (the interval) and `best` (the chance to be the
    best): lists with an element for each system of `state`, None for no value. `machines`: the names of the
    machines whose grades helped to predict, if any. aim: the measure and options that `state` was made for.
    """
    expected = expected_of_state(state, aim)
    rows = [expected.of(name) for name in state.systems]
    values: dict[str, Any] = {"wrong": expected.wrong}
    values |= {name: [getattr(row, name) for row in rows] for name in ("mean", "low", "high", "best")}
    if expected.machines:
        values["machines"] = list(map(str, expected.machines))
    return values


def triage(collection: Collection, state: State) -> tuple[tuple[Machine, ...], np.ndarray | None]:
    """The machines of triage, and the factor of the sampling rate of each pair, float64[pairs].

    Triage draws more often what people are likely to grade otherwise than the machines. () and None where no
    machine that the collection uses for triage graded a pair of the pool. A machine is a version of an AI judge.
    """
    in_use = record.machines(collection, JudgeUse.Use.TRIAGE)
    grades = [record.judgments_of(use, state.record.queries) for use in in_use]
    pool = state.pool.with_machines(*grades)  # pool.machine: float64[pairs, machines], nan without a grade
    has_grades = ~np.isnan(pool.machine).all(axis=0)  # bool[machines]
    machines = tuple(use.machine for use, has_any in zip(in_use, has_grades, strict=True) if has_any)
    return machines, rate_factors(pool, state.level) if machines else None


def draw_from(
    state: State, size: int, seed: int, method: str = BY_INFORMATION, factors: np.ndarray | None = None
) -> tuple[DrawnRound, np.ndarray]:
    """Draw about `size` pairs for a round. Returns the round and the predicted chances, float64[pairs, steps].

    A step leads from one level of gain to the next. The chances are those that each pair of the pool takes each
    step and all before it. method: BY_INFORMATION, where a pair that tells more about the order of systems is
    drawn more often, FROM_THE_TOP of the lists, or EQUAL chances. factors: float64[pairs], by which BY_INFORMATION
    multiplies the sampling rates; None: 1 for each.
    """
    pool, level = state.pool, state.level
    model = fit(pool, level)  # predicts the missing judgments
    chances = model.chances()
    generator = np.random.default_rng(seed)
    rows = np.flatnonzero(state.eligible)  # those rows of the pool that can be drawn
    if method == FROM_THE_TOP:
        return by_depth(rows, pool.rank[rows], size, generator), chances
    if method == EQUAL:
        # All rows have one score, that before any judgment. So the precision of the round, its weight beside other
        # rounds, does not depend on what was judged.
        return at_random(rows, size, mean_score(pool), generator), chances
    unjudged = np.flatnonzero(~state.judged)
    expectation = expect(pool, level, chances, model.effect_variance)
    # A score says how much the judgment of a pair would tell. It depends on all unjudged pairs, because all of
    # them make the means uncertain. Only eligible ones, which are `rows`, are drawn: all of them are unjudged.
    score_of_unjudged = scores(expectation, chances, unjudged)
    score = score_of_unjudged[state.eligible[unjudged]]  # of each of `rows`, in their order
    rate = rates(score, pool.above_cutoff[rows])
    if factors is not None:
        rate = rate * factors[rows]
    query = pool.query[rows]
    batches, pairs_of_batch = batches_of(size, len(np.unique(query)))  # a batch: pairs of one query
    return draw_batches(query, rows, score, rate, batches, pairs_of_batch, generator), chances


def sample_undrawable(state: State, drawn: DrawnRound, seed: int) -> list[int]:
    """A random sample (pks) of the undrawable pairs, which raters get together with a round of equal chances.

    It has the same share of them as the round has of the pairs that can be drawn. So gold, and pairs with a first
    rating, are mixed with all others.
    """
    pairs = state.pair[state.undrawable]
    share = len(drawn.drawn) / max(int(state.eligible.sum()), 1)
    return pairs[np.random.default_rng([seed, 1]).random(len(pairs)) < share].tolist()


def batches_of(size: int, queries: int) -> tuple[int, int]:
    """The number of queries in a round of about `size` pairs, and the pairs of each: BATCH_DOCUMENTS or more."""
    batches = max(1, min(round(size / BATCH_DOCUMENTS), queries))
    if batches < queries:
        return batches, BATCH_DOCUMENTS
    # Every query is in the round: each has as many pairs as the size takes.
    return batches, max(BATCH_DOCUMENTS, ceil(size / batches))


def new_rows(state: State, drawn_round: DrawnRound, chances: np.ndarray) -> list[Drawn]:
    """The pairs of the round as they are stored: those taken for sure ("greedy"), then those drawn at random.

    A unit is a group of pairs that are drawn together, by its random key. chances: float64[pairs, steps], as
    predicted before the round: that each pair of the pool reaches each level of gain but the lowest.
    """
    greedy = [
        Drawn(pair_id=int(state.pair[row]), kind=Drawn.Kind.GREEDY, chances=chances[row].tolist())
        for row in drawn_round.greedy
    ]
    return greedy + [
        Drawn(
            pair_id=int(state.pair[row]),
            kind=Drawn.Kind.RANDOM,
            unit=int(unit) + 1,  # stored from 1
            key=float(drawn_round.keys[unit]),
            rate=float(drawn_round.rate[unit]),  # the chance of the unit is 1 - exp(-rate × threshold)
            within=float(within),  # the chance of the pair within its unit
            chances=chances[row].tolist(),
        )
        for row, unit, within in zip(drawn_round.drawn, drawn_round.unit, drawn_round.within, strict=True)
    ]
