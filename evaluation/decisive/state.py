"""What is known of a collection's pool now: its pairs, their levels, and how each came to be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratings.models import Collection

from .. import record, scores
from ..expected import UNJUDGED, Design, Pool, Round, design, pool_of
from ..measures import Judgments
from ..measures.arrays import pair_key
from ..record import InUse, Machine, Record
from ..record.drawn import NOT_KNOWN, DrawnRows, PoolRows, RoundRows, pool_rows, round_rows
from ..record.sql import index_of
from .aims import Aim

SMALL = 600  # pairs of a pool: of fewer the top of the lists tells more than draws do; bench/README.md, `next`
NO_PAIR = 0  # the pk of a document that was judged without being in the pool


@dataclass(frozen=True, eq=False)
class State:
    """The pool as `expected` has it, and beside each of its pairs what the record knows of it."""

    record: Record
    judgments: Judgments
    scale: np.ndarray  # float64[grades], ascending
    systems: tuple[str, ...]
    pool: Pool
    level: np.ndarray  # int64[pairs], -1 = unjudged
    pair: np.ndarray  # int64[pairs], pks
    born: np.ndarray  # int64[pairs]
    known: np.ndarray  # int64[pairs], how many rounds there were when it was judged in no round; else 0
    askable: np.ndarray  # bool[pairs]: unjudged, and raters will get it
    eligible: np.ndarray  # bool[pairs]: of them, those that are in no round and can be drawn
    beside: np.ndarray  # bool[pairs]: of no round and not to be drawn, as gold or judged; raters will get them
    skipped: np.ndarray  # bool[pairs]: was drawn, and nobody will judge it
    rounds: tuple[Round, ...]
    numbers: tuple[int, ...]  # of the rounds
    machines: tuple[Machine, ...] = ()  # those of pool.machine, by column
    triage: tuple[tuple[str, ...], ...] = ()  # of each round, the machines by which pairs came earlier

    @classmethod
    def of(cls, collection: Collection, aim: Aim, used: Sequence[InUse] | None = None) -> "State":
        """The collection's state now. Raises ValueError where nothing can be expected: see `expected.pool_of`.

        About nine database queries.

        `used`: the machines whose grades are features of the model; None: those that are in use now.
        """
        used = record.machines(collection) if used is None else used
        found, judgments = scores.read(collection, aim.options, aim.systems, aim.rule, aim.adjudications)
        # Read after the judgments: a pair that is judged in between then counts as unjudged in both.
        rows, rounds = pool_rows(collection), round_rows(collection)
        place = index_of(rows.query, found.queries["pk"])
        rows = PoolRows(*(column[place >= 0] for column in rows))
        key = pair_key(place[place >= 0], rows.document)
        scale = np.array(record.scale(collection))
        pool, level = pool_of(judgments, [*found.rankings.values()], aim.measure, aim.options, scale, unjudged=key)
        if used:
            pool = pool.with_machines(*(record.judgments_of(each, found.queries) for each in used))
        state = cls._joined(found, judgments, scale, pool, level, rows, key, rounds)
        return replace(state, machines=tuple(each.machine for each in used))

    @classmethod
    def _joined(
        cls,
        found: Record,
        judgments: Judgments,
        scale: np.ndarray,
        pool: Pool,
        level: np.ndarray,
        rows: PoolRows,
        key: np.ndarray,
        rounds: list[RoundRows],
    ) -> "State":
        order = np.argsort(key)
        of_pool = pair_key(pool.number[pool.query], pool.document)
        at = np.minimum(np.searchsorted(key[order], of_pool), max(len(key) - 1, 0))
        there = key[order][at] == of_pool if len(key) else np.zeros(len(of_pool), bool)
        row = order[at] if len(key) else at

        def beside(column: np.ndarray, missing):
            return np.where(there, column[row], missing) if len(column) else np.full(len(of_pool), missing)

        pair, judged = beside(rows.pair, NO_PAIR), level != UNJUDGED
        by_pair = np.argsort(pair)
        in_rows = tuple(_round(each, pair, by_pair) for each in rounds)
        drawn, born = np.zeros(len(pair), bool), beside(rows.born, 0)
        for each, stored in zip(in_rows, rounds, strict=True):
            of_round = np.concatenate([each.greedy, each.drawn])
            drawn[of_round] = True
            born[_rows_of(stored.rows.pair, pair, by_pair)] = stored.rows.born
        waiting, retired = beside(rows.waiting, False), beside(rows.retired, True)
        known = beside(rows.known, 0)
        left = waiting & ~retired & (beside(rows.wanted, 0) > 0)
        can = left & ~beside(rows.anchored, False)
        return cls(
            record=found,
            judgments=judgments,
            scale=scale,
            systems=tuple(found.rankings),
            pool=pool,
            level=level,
            pair=pair,
            born=born,
            known=np.where(judged & ~drawn, np.where(known == NOT_KNOWN, len(rounds), known), 0),
            askable=can & ~judged,
            eligible=can & ~judged & ~drawn,
            beside=left & ~drawn & ~(can & ~judged),
            skipped=drawn & ~judged & (retired | ~waiting),
            rounds=in_rows,
            numbers=tuple(each.number for each in rounds),
            triage=tuple(each.triage for each in rounds),
        )

    @property
    def judged(self) -> np.ndarray:
        return self.level != UNJUDGED

    @cached_property
    def newly_known(self) -> np.ndarray:
        """Pairs (pks) that were judged in no round and are not stored as known yet."""
        drawn = np.zeros(len(self.pair), bool)
        for each in self.rounds:
            drawn[np.concatenate([each.greedy, each.drawn])] = True
        late = self.judged & ~drawn & (self.known == len(self.rounds))
        return self.pair[late & (self.pair != NO_PAIR)]

    @property
    def touched_by(self) -> tuple[Machine, ...]:
        """The machines whose grades had a part in what is expected: none where nothing is left to predict."""
        if not self.machines or self.judged.all():
            return ()
        graded = ~np.isnan(self.pool.machine).all(axis=0)
        return tuple(machine for machine, has_any in zip(self.machines, graded, strict=True) if has_any)

    @property
    def triaged_by(self) -> tuple[str, ...]:
        """The machines that had a part in which judgments exist: none where nothing is left to predict."""
        if self.judged.all():
            return ()
        both = zip(self.rounds, self.triage, strict=True)
        begun = [named for each, named in both if self.judged[each.drawn].any()]
        return tuple(dict.fromkeys(name for named in begun for name in named))

    @property
    def from_the_top(self) -> bool:
        """Whether rounds come from the top of the lists: of a small pool of which none drew at random yet."""
        return self.pool.pairs < SMALL and not self.at_random

    @property
    def at_random(self) -> bool:
        """Whether any round drew documents at random."""
        return any(len(each.drawn) for each in self.rounds)

    def design(self) -> Design:
        return design(self.rounds, self.judged, self.skipped, self.born, self.known)

    def outside(self) -> dict[str, int]:
        """How many documents each system has above the cutoff that are not in the pool: they gain nothing."""
        key = pair_key(self.pool.number[self.pool.query], self.pool.document)
        counts = {}
        for name, ranking in self.record.rankings.items():
            top = ranking.top(self.pool.cutoff)
            counted = np.isin(top.query, self.pool.number)
            counts[name] = int((~np.isin(pair_key(top.query, top.documents)[counted], key)).sum())
        return counts


def _rows_of(pairs: np.ndarray, pair: np.ndarray, by_pair: np.ndarray) -> np.ndarray:
    return by_pair[np.searchsorted(pair[by_pair], pairs)]


def _round(stored: RoundRows, pair: np.ndarray, by_pair: np.ndarray) -> Round:
    """The stored round with rows of the pool in place of pks."""
    rows: DrawnRows = stored.rows
    at = _rows_of(rows.pair, pair, by_pair)
    drawn = rows.unit > 0
    _, first, unit = np.unique(rows.unit[drawn], return_index=True, return_inverse=True)
    threshold = np.inf if stored.threshold is None else stored.threshold
    return Round(
        greedy=at[~drawn],
        drawn=at[drawn],
        unit=unit,
        within=rows.within[drawn],
        rate=rows.rate[drawn][first],
        keys=np.append(rows.key[drawn][first], threshold),
        precision=stored.precision,
    )
