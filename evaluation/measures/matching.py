"""The join of rankings and judgments: which rows of the rankings are judged."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Judgments, Rankings, pair_key

HASH_MULTIPLIER = np.uint32(0x9E3779B1)  # odd, with well mixed bits
ROWS_AT_A_TIME = 1 << 16  # rows whose arrays fit into the processor's cache
PLACES_FOR_EACH = 32  # places of the hash table for each judged document
MOST_BITS = 13  # of the number of places of one query


def match(judgments: Judgments, rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """The judged rows of the rankings, ascending, and the row of the judgments for each.

    ValueError for a judged document that a ranking names twice.
    """
    if judgments.queries != rankings.queries:
        raise ValueError(f"judgments of {judgments.queries} queries, rankings of {rankings.queries}.")
    table = judgments.remember("table", lambda: Table.of(judgments.queries, judgments.query, judgments.document))
    row, judgment = table.meet(rankings.offsets, rankings.documents)
    uses = np.bincount(judgment, minlength=1)  # of each judgment; one number at least, for `max`
    if uses.max() > 1:
        query, document = judgments.query[uses.argmax()], judgments.document[uses.argmax()]
        raise ValueError(f"the ranking of query {query} names document {document} twice.")
    return row, judgment


@dataclass(frozen=True, eq=False)
class Table:
    """A hash table of numbers by query: the judged documents, in which the documents of rankings are looked up.

    Each query has 2**bits places, about 32 for each of its numbers, so that most other numbers hit an empty
    place. Rows come query by query, so that lookups are local in memory.
    """

    query: np.ndarray  # int64[n], ascending
    number: np.ndarray  # int64[n], within a query ascending, each once
    bits: int
    # unsigned[queries << bits], for each place: 0 empty, i the i-th number of the query, the maximum: a collision
    ordinals: np.ndarray
    first: np.ndarray  # int64[queries]: where a query's numbers begin

    @cached_property
    def key(self) -> np.ndarray:
        """Query and number in one, ascending, int64[n]."""
        return pair_key(self.query, self.number)

    @cached_property
    def base(self) -> np.ndarray:
        """The first place of each query, in the smallest numbers that hold all places."""
        first = np.arange(len(self.first)) << self.bits
        return first.astype(np.uint32) if len(self.ordinals) <= 1 << 32 else first

    @classmethod
    def of(cls, queries: int, query: np.ndarray, number: np.ndarray) -> "Table":
        """The table of these numbers, int64[n], of queries 0 to queries - 1. query: int64[n], ascending."""
        wanted_places = max(query.size, 1) / max(queries, 1) * PLACES_FOR_EACH  # of each query
        # At least 2**4 places, at most 2**MOST_BITS.
        bits = int(np.clip(np.ceil(np.log2(wanted_places)), 4, MOST_BITS))
        first = np.searchsorted(query, np.arange(queries))
        place = _spread(number, bits) + (query << bits)
        ordinal = np.arange(len(place)) - first[query] + 1
        # A type that holds one more than the largest ordinal, so that its maximum can mark a collision.
        ordinals = np.zeros(queries << bits, np.min_scalar_type(int(ordinal.max(initial=0)) + 1))
        ordinals[place] = ordinal
        places, uses = np.unique(place, return_counts=True)
        ordinals[places[uses > 1]] = np.iinfo(ordinals.dtype).max
        return cls(query, number, bits, ordinals, first)

    def meet(self, offsets: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of `numbers` whose number is in the table, ascending, and the index of each in `self.number`.

        Query i has the rows offsets[i] to offsets[i + 1] - 1 of `numbers`.
        """
        if not numbers.size:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        edges = _edges(offsets)  # of chunks of queries
        # The same buffers for every chunk: fresh memory pages for each would take a fifth of the time.
        rows = max(int(offsets[last] - offsets[first]) for first, last in edges)
        buffers = tuple(np.empty(rows, dtype) for dtype in (self.base.dtype, np.intp, self.ordinals.dtype))
        hits = [self._hits(offsets, numbers, *edge, buffers) for edge in edges]
        row, index, query = (np.concatenate(columns) for columns in zip(*hits, strict=True))
        # Several numbers of the query share these places: only a search by number tells whether one is meant.
        collided = np.flatnonzero(index < 0)
        if not collided.size:
            return row, index
        index[collided] = self._search(query[collided], numbers[row[collided]])
        is_found = index >= 0
        return row[is_found], index[is_found]

    def _hits(
        self, offsets: np.ndarray, numbers: np.ndarray, first: int, last: int, buffers: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of queries first to last - 1 that hit a number, its index (-1: a collision), and their queries.

        buffers: those of `meet`, for a place in as few bits as it takes, a place as an index, and an ordinal, of
        each row. They are overwritten.
        """
        start, end = offsets[first], offsets[last]
        narrow_place, place, ordinal = (buffer[: end - start] for buffer in buffers)
        _spread(numbers[start:end], self.bits, out=narrow_place)
        narrow_place += np.repeat(self.base[first:last], np.diff(offsets[first : last + 1]))
        place[:] = narrow_place
        self.ordinals.take(place, out=ordinal, mode="clip")  # with "raise" it would make a copy first
        hit = _places_of_true(ordinal != 0)  # where the place is not empty
        ordinal, query = ordinal[hit], (place[hit] >> self.bits).astype(np.int64)
        index = self.first[query] + ordinal - 1
        index[ordinal == np.iinfo(ordinal.dtype).max] = -1  # a collision
        row = hit + start
        # A number that is not in the table may have the place of one that is.
        is_hit = (self.number[index] == numbers[row]) | (index < 0)
        return row[is_hit], index[is_hit], query[is_hit]

    def _search(self, query: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The index of each (query, number), -1 where it is missing."""
        index = np.minimum(np.searchsorted(self.key, pair_key(query, number)), len(self.key) - 1)
        return np.where((self.number[index] == number) & (self.query[index] == query), index, -1)


def _spread(number: np.ndarray, bits: int, out: np.ndarray | None = None) -> np.ndarray:
    """The hash of each number, from 0 to 2**bits - 1."""
    mixed = np.multiply(number.astype(np.uint32, copy=False), HASH_MULTIPLIER, out=out)
    mixed >>= mixed.dtype.type(32 - bits)
    return mixed


def _places_of_true(mask: np.ndarray) -> np.ndarray:
    """np.flatnonzero of the mask, in half the time where one in twenty is true.

    np.flatnonzero mispredicts a branch at each true value. Here groups of four are tested first.
    """
    whole = len(mask) // 4 * 4
    fours = mask[:whole].view(np.uint32)
    some = np.flatnonzero(fours != 0)  # groups with a true value
    within = np.flatnonzero(fours[some].view(bool))
    in_fours = (some[within >> 2] << 2) + (within & 3)
    return np.append(in_fours, np.flatnonzero(mask[whole:]) + whole)


def _edges(offsets: np.ndarray) -> list[tuple[int, int]]:
    """(first, last) of each chunk, which has the queries first to last - 1."""
    part = offsets[1:] // ROWS_AT_A_TIME
    edges = [*np.flatnonzero(np.diff(part, prepend=-1)).tolist(), len(part)]
    return list(zip(edges, edges[1:], strict=False))
