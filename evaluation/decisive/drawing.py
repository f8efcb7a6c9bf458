"""Draw rounds: the worker's part of the orders that have them. No request of a rater waits for it."""

import logging
from dataclasses import replace
from secrets import randbits
from typing import Any

import numpy as np

from ratings import queue
from ratings.models import Collection, Drawn, JudgeUse, Round

from .. import record
from ..expected import Round as DrawnRound
from ..expected import at_random, by_depth, draw_batches, expect, fit, rates, readiness, scores, typical
from ..record import Machine
from .aims import Aim
from .report import reported
from .state import State

log = logging.getLogger(__name__)

METHOD, FROM_THE_TOP, EQUAL = "rounds-1", "depth-1", "random-1"
ORDERS = (Collection.Order.DECISIVE, Collection.Order.RANDOM)  # that have rounds
BATCH = 5  # documents of a query: raters read it once for them
LEAST, SHARE = 30, 0.05  # pairs of a round: at least so many, and this share of what is judged
A_RATER = 20  # drawn pairs that each rater at work should find: as many as one can hold

_nothing_to_draw: dict[int, record.Version] = {}  # collection -> the version at which there was nothing to draw


def draw_due() -> int:
    """Draw a round in each collection whose raters have done half of what is drawn; how many were drawn."""
    due = Collection.objects.filter(order__in=ORDERS, put_away_at__isnull=True)
    return sum(bool(_drawn_if_due(collection)) for collection in due)


def _drawn_if_due(collection: Collection) -> Round | None:
    now = record.version(collection)
    if _nothing_to_draw.get(collection.pk) == now:
        return None
    at_work = queue.raters_at_work(collection)
    reserve = max(A_RATER * at_work // 2, LEAST)
    if queue.waiting_in_rounds(collection, reserve) >= reserve:
        return None
    try:
        made = draw_next(collection, least=A_RATER * at_work, small=True)
    except ValueError as error:
        # The scale, the systems or the pool do not fit: raters get pairs of no round, and pages say why.
        log.info("No round of %s: %s", collection.slug, error)
        made = None
    if made is None:
        _nothing_to_draw[collection.pk] = now
    return made


def draw_next(
    collection: Collection, *, least: int = LEAST, seed: int | None = None, small: bool = False
) -> Round | None:
    """Draw and store a round of at least so many pairs; None where nothing is left, or another worker was faster.

    In the order at random all pairs that can be drawn have equal chances. In the decisive order, with `small`, a
    small pool of which nothing was drawn yet gets a round from the top of the lists instead. ValueError where
    there is nothing to expect of the measure.
    """
    aim, equal = Aim.of(collection), collection.order == Collection.Order.RANDOM
    aim = replace(aim, systems=None) if equal else aim
    version = record.version(collection)
    state = State.of(collection, aim)
    seed = randbits(53) if seed is None else seed
    method = EQUAL if equal else FROM_THE_TOP if small and state.from_the_top else METHOD
    sorting, ready = triage(collection, state) if method == METHOD else ((), None)
    drawn, chances = drawn_from(state, max(least, round_size(state)), seed, method, ready)
    if not len(drawn.greedy) + len(drawn.drawn):
        return None
    return queue.store_round(
        collection,
        queue.NewRound(
            number=len(state.rounds) + 1,
            method=method,
            seed=seed,
            seen=seen(state, aim) | ({"triage": list(map(str, sorting))} if sorting else {}),
            aim=aim.stored() | {"systems": list(state.systems), "gains": state.pool.gains.tolist()},
            threshold=None if np.isinf(drawn.keys[-1]) else float(drawn.keys[-1]),
            precision=drawn.precision,
            frame=int(state.eligible.sum()),
            judged=int(state.judged.sum()),
            version=version.number,
        ),
        rows_of(state, drawn, chances),
        known=state.newly_known.tolist(),
        beside=beside(state, drawn, seed) if equal else (),
        version=version.whole,
    )


def seen(state: State, aim: Aim) -> dict[str, Any]:
    """How the systems stand before the round: for the line of how they developed."""
    found = reported(state, aim)
    rows = [found.of(name) for name in state.systems]
    columns = {name: [getattr(row, name) for row in rows] for name in ("mean", "low", "high", "best")}
    named = {"machines": [str(machine) for machine in found.machines]} if found.machines else {}
    return columns | {"wrong": found.wrong} | named


def round_size(state: State) -> int:
    return max(LEAST, round(SHARE * int(state.judged.sum())))


def triage(collection: Collection, state: State) -> tuple[tuple[Machine, ...], np.ndarray | None]:
    """The machines by whose grades pairs come earlier, and the factors of all pairs. See `expected.triage`."""
    used = record.machines(collection, JudgeUse.Use.TRIAGE)
    if not used:
        return (), None
    pool = state.pool.with_machines(*(record.judgments_of(each, state.record.queries) for each in used))
    graded = ~np.isnan(pool.machine).all(axis=0)
    if not graded.any():
        return (), None
    named = tuple(each.machine for each, has_any in zip(used, graded, strict=True) if has_any)
    return named, readiness(pool, state.level)


def drawn_from(
    state: State, size: int, seed: int, method: str = METHOD, ready: np.ndarray | None = None
) -> tuple[DrawnRound, np.ndarray]:
    """A round of about `size` pairs, and the chances that were predicted of all pairs: float64[pairs, steps].

    ready: float64[pairs], factors of the rates.
    """
    pool, level = state.pool, state.level
    model = fit(pool, level)
    chances = model.chances()
    generator = np.random.default_rng(seed)
    rows = np.flatnonzero(state.eligible)
    if method == FROM_THE_TOP:
        return by_depth(rows, pool.rank[rows], size, generator), chances
    if method == EQUAL:
        return at_random(rows, size, typical(pool), generator), chances
    unjudged = np.flatnonzero(~state.judged)
    score = scores(expect(pool, level, chances, model.spread), chances, unjudged)
    frame = state.eligible[unjudged]
    rows, score = unjudged[frame], score[frame]
    rate = rates(score, pool.top[rows]) * (1.0 if ready is None else ready[rows])
    batches, batch = batches_of(size, len(np.unique(pool.query[rows])))
    return draw_batches(pool.query[rows], rows, score, rate, batches, batch, generator), chances


def beside(state: State, drawn: DrawnRound, seed: int) -> list[int]:
    """Pairs (pks) that come with a round by equal chances: as large a share of what cannot be drawn as is drawn.

    So gold, and pairs of which a first rating is there, come mixed with all others as well.
    """
    rows = np.flatnonzero(state.beside)
    chance = len(drawn.drawn) / max(int(state.eligible.sum()), 1)
    return state.pair[rows[np.random.default_rng([seed, 1]).random(len(rows)) < chance]].tolist()


def batches_of(size: int, queries: int) -> tuple[int, int]:
    """How many queries a round of about `size` pairs has, and how many pairs of each: BATCH, or more."""
    batches = max(1, min(round(size / BATCH), queries))
    return batches, max(BATCH, -(-size // batches) if batches == queries else 0)


def rows_of(state: State, drawn: DrawnRound, chances: np.ndarray) -> list[queue.NewDrawn]:
    """The pairs to be stored, in their places: greedy ones first, then by the keys of their units."""
    kind = Drawn.Kind
    greedy = [
        queue.NewDrawn(int(state.pair[row]), kind.GREEDY, None, None, None, None, chances[row].tolist())
        for row in drawn.greedy
    ]
    return greedy + [
        queue.NewDrawn(
            pair=int(state.pair[row]),
            kind=kind.RANDOM,
            unit=int(unit) + 1,
            key=float(drawn.keys[unit]),
            rate=float(drawn.rate[unit]),
            within=float(within),
            chances=chances[row].tolist(),
        )
        for row, unit, within in zip(drawn.drawn, drawn.unit, drawn.within, strict=True)
    ]
