"""The join of rankings and judgments: which rows of the rankings are judged."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Judgments, Rankings, pair_key

HASH_MULTIPLIER = np.uint32(0x9E3779B1)  # odd, with well mixed bits
ROWS_AT_A_TIME = 1 << 16  # rows whose arrays fit into the processor's cache
SLOTS_FOR_EACH = 32  # slots of the hash table for each judged document
MOST_BITS = 13  # of the number of a slot of one query


def match(judgments: Judgments, rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """The judged rows of the rankings, ascending, and the row of the judgments for each.

    ValueError for a judged document that a ranking names twice.
    """
    if judgments.queries != rankings.queries:
        raise ValueError(f"judgments of {judgments.queries} queries, rankings of {rankings.queries}.")
    table = judgments.remember(
        "table", lambda: HashTable.of(judgments.queries, judgments.query, judgments.document)
    )
    row, judgment = table.rows_with(rankings.offsets, rankings.documents)
    uses = np.bincount(judgment, minlength=1)  # of each judgment; one number at least, for `max`
    if uses.max() > 1:
        query, document = judgments.query[uses.argmax()], judgments.document[uses.argmax()]
        raise ValueError(f"the ranking of query {query} names document {document} twice.")
    return row, judgment


@dataclass(frozen=True, eq=False)
class HashTable:
    """A hash table of numbers by query: the judged documents, in which the documents of rankings are looked up.

    Each query has 2**bits slots, from query << bits on, about 32 for each of its numbers, so that most other
    numbers hit an empty slot. Rows come query by query, so that lookups are local in memory.
    """

    query: np.ndarray  # int64[n], ascending
    number: np.ndarray  # int64[n], within a query ascending, each once
    bits: int
    # unsigned[queries << bits], for each slot: 0 empty, i the i-th number of the query, the maximum: a collision
    entries: np.ndarray
    first_index: np.ndarray  # int64[queries]: where in `number` a query's numbers begin

    @cached_property
    def key(self) -> np.ndarray:
        """Query and number in one, ascending, int64[n]."""
        return pair_key(self.query, self.number)

    @cached_property
    def first_slot(self) -> np.ndarray:
        """The first slot of each query, query << bits; in 32 bits where these hold all slots, for speed."""
        first = np.arange(len(self.first_index)) << self.bits
        return first.astype(np.uint32) if len(self.entries) <= 1 << 32 else first

    @classmethod
    def of(cls, queries: int, query: np.ndarray, number: np.ndarray) -> "HashTable":
        """The hash table in which `rows_with` looks numbers up, each within its query.

        query, number: as the fields, sorted like them; queries: how many there are, also without a number.
        """
        mean_numbers = max(query.size, 1) / max(queries, 1)  # of a query
        # The slots of each query, a power of 2: at least 2**4, at most 2**MOST_BITS.
        bits = int(np.clip(np.ceil(np.log2(mean_numbers * SLOTS_FOR_EACH)), 4, MOST_BITS))
        slot = (query << bits) + _hashed(number, bits)
        first_index = np.searchsorted(query, np.arange(queries))
        entry = np.arange(len(query)) - first_index[query] + 1  # within the query from 1, since 0 is an empty slot
        # The smallest unsigned type that holds one more than the largest entry: its maximum marks a collision.
        entries = np.zeros(queries << bits, np.min_scalar_type(int(entry.max(initial=0)) + 1))
        entries[slot] = entry
        # Several numbers in one slot are a collision: `rows_with` finds them by a binary search instead.
        slots, uses = np.unique(slot, return_counts=True)
        entries[slots[uses > 1]] = np.iinfo(entries.dtype).max
        return cls(query, number, bits, entries, first_index)

    def rows_with(self, offsets: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of `numbers` whose number is in the table, ascending, and the index of each in `self.number`.

        Query i has the rows offsets[i] to offsets[i + 1] - 1 of `numbers`.
        """
        if not numbers.size:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        edges = _edges(offsets)  # of chunks of queries
        # The buffers that `_hits` computes in, shared: fresh memory for each chunk would take a fifth of the time.
        # They hold of each row of the chunk its slot as `first_slot` has it, its slot as an index, and the entry.
        rows = max(int(offsets[last] - offsets[first]) for first, last in edges)
        buffers = tuple(np.empty(rows, dtype) for dtype in (self.first_slot.dtype, np.intp, self.entries.dtype))
        hits = [self._hits(offsets, numbers, *edge, buffers) for edge in edges]
        row, index, query = (np.concatenate(columns) for columns in zip(*hits, strict=True))
        # The index is -1 where several numbers of the query share the slot: `_search` finds the one, or none.
        collided = np.flatnonzero(index < 0)
        if not collided.size:
            return row, index
        index[collided] = self._search(query[collided], numbers[row[collided]])
        is_found = index >= 0
        return row[is_found], index[is_found]

    def _hits(
        self, offsets: np.ndarray, numbers: np.ndarray, first: int, last: int, buffers: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of queries first to last - 1 whose slot has their number, or a collision that may hide it.

        Returns these rows, the index of each in `self.number`, -1 for a collision, and the query of each.
        offsets, numbers: as in `rows_with`. buffers: overwritten with the slot of each row in the type of
        `first_slot`, the slot as an index, and the entry of the slot.
        """
        start, end = offsets[first], offsets[last]
        narrow_slot, slot, entry = (buffer[: end - start] for buffer in buffers)
        # A slot is the first one of the query plus the hash of the number, which has `bits` bits.
        _hashed(numbers[start:end], self.bits, out=narrow_slot)
        narrow_slot += np.repeat(self.first_slot[first:last], np.diff(offsets[first : last + 1]))
        slot[:] = narrow_slot  # as indices: `take` would convert others into new memory
        self.entries.take(slot, out=entry, mode="clip")  # with "raise" it would make a copy first
        in_use = _places_of_true(entry != 0)
        entry, row = entry[in_use], in_use + start
        query = (slot[in_use] >> self.bits).astype(np.int64)  # the first slot of a query is query << bits
        index = self.first_index[query] + entry - 1  # entry i is the i-th number of the query
        is_collision = entry == np.iinfo(entry.dtype).max
        index[is_collision] = -1
        # A number that is not in the table may have the slot of one that is.
        is_hit = is_collision | (self.number[index] == numbers[row])
        return row[is_hit], index[is_hit], query[is_hit]

    def _search(self, query: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The index of each (query, number), -1 where it is missing."""
        index = np.minimum(np.searchsorted(self.key, pair_key(query, number)), len(self.key) - 1)
        return np.where((self.number[index] == number) & (self.query[index] == query), index, -1)


def _hashed(number: np.ndarray, bits: int, out: np.ndarray | None = None) -> np.ndarray:
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
