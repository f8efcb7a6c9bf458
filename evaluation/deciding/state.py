"""The state of a collection's pool: its pairs, their levels, and how each was chosen to be judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ratings.models import Collection

from .. import record, scores
from ..expected import (
    UNJUDGED,
    Design,
    Pool,
    Round,
    design,
    pool_of,
)
from ..measures import Judgments
from ..measures.arrays import pair_key
from ..record import InUse, Machine, Record
from ..record.drawn import (
    NOT_KNOWN,
    PoolRows,
    RoundRows,
    pool_rows,
    round_rows,
)
from ..record.sql import index_of
from ..scores import Asked

# In pools of fewer pairs, rounds from the top of the lists do better: see bench/simulations/README.md.
SMALL_POOL_PAIRS = 600
NO_PAIR = 0  # in place of the pk of a pair, for a document that was judged outside the pool


@dataclass(frozen=True, eq=False)
class State:
    """The pool in the form of `expected`, with the facts of the record on each pair."""

    record: Record
    judgments: Judgments
    scale: np.ndarray  # float64[grades], ascending
    systems: tuple[str, ...]
    pool: Pool
    level: np.ndarray  # int64[pairs], -1 = unjudged
    pair: np.ndarray  # int64[pairs], pks
    born: np.ndarray  # int64[pairs], number of rounds before the pair came to the pool
    known: np.ndarray  # int64[pairs], number of rounds before a judgment in no round; 0 for all other pairs
    askable: np.ndarray  # bool[pairs], unjudged, and raters will get it
    eligible: np.ndarray  # bool[pairs], askable and in no round: can be drawn
    undrawable: np.ndarray  # bool[pairs], in no round and not eligible, such as gold, but raters will get it
    skipped: np.ndarray  # bool[pairs], drawn, and nobody will judge it
    rounds: tuple[Round, ...]
    numbers: tuple[int, ...]  # of the rounds
    machines: tuple[Machine, ...] = ()  # the columns of pool.machine
    triage: tuple[tuple[str, ...], ...] = ()  # by round, the machines whose grades changed sampling rates

    @classmethod
    def of(cls, collection: Collection, aim: Asked, used: Sequence[InUse] | None = None) -> "State":
        """The present state of the collection. About nine database queries.

        aim: the measure, options and systems that expected values are for. used: the machines whose grades are
        features of the model; None: those in use. ValueError where expected values are not defined: see
        `expected.pool_of`.
        """
        used = record.machines(collection) if used is None else used
        data, judgments = scores.read(collection, aim)
        # Read after the judgments, so that the rows and rounds of all judged pairs are among them. `rows` are the
        # pairs of the collection. Each of `rounds` has rows of its own, with the pks of its pairs.
        rows, rounds = pool_rows(collection), round_rows(collection)
        place = index_of(rows.query, data.queries["pk"])  # of the query of each pair, -1 for a missing one
        has_query = place >= 0  # a query may have come between the two reads
        rows = PoolRows(*(column[has_query] for column in rows))
        key = pair_key(place[has_query], rows.document)  # one number for query and document of each row
        scale = np.array(record.scale(collection))
        graded = {in_use.machine: record.judgments_of(in_use, data.queries) for in_use in used}
        return cls.joined(data, judgments, scale, aim, rows=rows, key=key, rounds=rounds, graded=graded)

    @classmethod
    def joined(
        cls,
        data: Record,
        judgments: Judgments,
        scale: np.ndarray,
        aim: Asked,
        rows: PoolRows,
        key: np.ndarray,
        rounds: list[RoundRows],
        graded: Mapping[Machine, Judgments],
    ) -> "State":
        """The state of these rows of the record. ValueError where expected values are not defined.

        key: int64[rows], the pair_key of each row; graded: the grades of machines.
        """
        sampled = scores.sampled_of(data.queries, data.left_out_queries)
        pool, level = pool_of(
            judgments,
            [*data.rankings.values()],
            aim.measure,
            aim.options,
            scale.tolist(),
            unjudged=key,
            weight=sampled and sampled.answered(np.ones(len(data.queries), bool)).searches,
        )
        if graded:
            pool = pool.with_machines(*graded.values())
        # A pair of the pool may have no row: one that was judged outside of what raters are to judge.
        order = np.argsort(key)
        of_pool = pair_key(pool.number[pool.query], pool.document)
        at = np.minimum(np.searchsorted(key[order], of_pool), max(len(key) - 1, 0))
        has_row = key[order][at] == of_pool if len(key) else np.zeros(len(of_pool), bool)
        row = order[at] if len(key) else at

        def by_pool(column: np.ndarray, missing):
            """The column of the record in the order of the pool, with `missing` for a pair without a row."""
            return np.where(has_row, column[row], missing) if len(column) else np.full(len(of_pool), missing)

        judged = level != UNJUDGED
        pair = by_pool(rows.pair, NO_PAIR)
        by_pair = np.argsort(pair)
        in_rows = tuple(_round(stored, pair, by_pair) for stored in rounds)
        drawn = np.zeros(len(pair), bool)
        born = by_pool(rows.born, 0)
        for stored in rounds:
            of_round = _rows_of(stored.rows.pair, pair, by_pair)
            drawn[of_round] = True
            born[of_round] = stored.rows.born
        waiting = by_pool(rows.waiting, False)
        retired = by_pool(rows.retired, True)
        known = by_pool(rows.known, 0)
        left = waiting & ~retired & (by_pool(rows.wanted, 0) > 0)
        askable = left & ~by_pool(rows.anchored, False) & ~judged
        return cls(
            record=data,
            judgments=judgments,
            scale=scale,
            systems=tuple(data.rankings),
            pool=pool,
            level=level,
            pair=pair,
            born=born,
            known=np.where(judged & ~drawn, np.where(known == NOT_KNOWN, len(rounds), known), 0),
            askable=askable,
            eligible=askable & ~drawn,
            undrawable=left & ~drawn & ~askable,
            skipped=drawn & ~judged & (retired | ~waiting),
            rounds=in_rows,
            numbers=tuple(each.number for each in rounds),
            machines=tuple(graded),
            triage=tuple(each.triage for each in rounds),
        )

    @property
    def judged(self) -> np.ndarray:
        """Whether each pair is judged, bool[pairs]."""
        return self.level != UNJUDGED

    @cached_property
    def newly_known(self) -> np.ndarray:
        """Pairs (pks) that were judged in no round and are not yet stored as known."""
        drawn = np.zeros(len(self.pair), bool)
        for drawn_round in self.rounds:
            drawn[drawn_round.rows] = True
        late = self.judged & ~drawn & (self.known == len(self.rounds))
        return self.pair[late & (self.pair != NO_PAIR)]

    @property
    def predicted_with(self) -> tuple[Machine, ...]:
        """The machines whose grades are features of the prediction; none where all pairs are judged."""
        if not self.machines or self.judged.all():
            return ()
        graded = ~np.isnan(self.pool.machine).all(axis=0)
        return tuple(machine for machine, has_any in zip(self.machines, graded, strict=True) if has_any)

    @property
    def triaged_by(self) -> tuple[str, ...]:
        """The machines whose grades changed sampling rates of judged pairs; none where all pairs are judged."""
        if self.judged.all():
            return ()
        names: list[str] = []
        for drawn_round, machines in zip(self.rounds, self.triage, strict=True):
            if self.judged[drawn_round.drawn].any():
                names += machines
        return tuple(dict.fromkeys(names))  # each once

    @property
    def from_the_top(self) -> bool:
        """Whether rounds come from the top of the lists: the pool is small, and no round drew at random."""
        return self.pool.pairs < SMALL_POOL_PAIRS and not self.has_random_draws

    @property
    def has_random_draws(self) -> bool:
        """Whether any round drew documents at random."""
        return any(len(each.drawn) for each in self.rounds)

    def design(self) -> Design:
        return design(self.rounds, self.judged, self.skipped, self.born, self.known)

    @cached_property
    def not_in_pool(self) -> dict[str, int]:
        """By system, the number of documents above the cutoff that are not in the pool, and so have gain 0."""
        key = pair_key(self.pool.number[self.pool.query], self.pool.document)
        counts = {}
        for name, ranking in self.record.rankings.items():
            top = ranking.top(self.pool.cutoff)
            counted = np.isin(top.query, self.pool.number)
            counts[name] = int((~np.isin(pair_key(top.query, top.documents)[counted], key)).sum())
        return counts


def _rows_of(pairs: np.ndarray, pair: np.ndarray, by_pair: np.ndarray) -> np.ndarray:
    """The rows of the pool with these pks. pair: int64[pool], pks; by_pair: its argsort."""
    return by_pair[np.searchsorted(pair[by_pair], pairs)]


def _round(stored: RoundRows, pair: np.ndarray, by_pair: np.ndarray) -> Round:
    """The stored round in the form of `expected`, with rows of the pool in place of pks.

    A unit is one pair or several pairs of one query, drawn together by one random key. The units with the least
    keys were drawn. The threshold is the next key. It gives each unit its chance, 1 - exp(-rate × threshold). None
    is stored where all units were drawn, so that there is no next key. `within` is the chance of a pair within its
    unit. Greedy pairs were taken for sure and are in no unit. `precision` is the weight of the round beside other
    rounds.

    pair, by_pair: the pks of the pool's pairs by row, and the rows sorted by pk. In the result units are numbered
    from 0. `rate` has an element for each unit; `keys` has one for each, and then the threshold, as the next key.
    """
    rows = stored.rows
    in_pool = _rows_of(rows.pair, pair, by_pair)
    is_drawn = rows.unit > 0  # units are stored from 1; 0 stands for a greedy pair
    # first: the first row of each unit, since all its rows have the same rate and key. unit: from 0, of each row.
    _, first, unit = np.unique(rows.unit[is_drawn], return_index=True, return_inverse=True)
    threshold = np.inf if stored.threshold is None else stored.threshold
    return Round(
        greedy=in_pool[~is_drawn],
        drawn=in_pool[is_drawn],
        unit=unit,
        within=rows.within[is_drawn],
        rate=rows.rate[is_drawn][first],
        keys=np.append(rows.key[is_drawn][first], threshold),
        precision=stored.precision,
    )
