"""Judgments of a collection and rankings of a system as packed arrays, the input of every measure."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

# A (query, document) pair is one number of 63 bits.
DOCUMENT_BITS = 40
QUERY_BITS = 63 - DOCUMENT_BITS

MOST_REMEMBERED = 16  # values: more than a page needs, and few enough for judgments that stay in the cache


def pair_key(query: np.ndarray, document: np.ndarray) -> np.ndarray:
    return (query.astype(np.int64) << DOCUMENT_BITS) | document.astype(np.int64)


def pair_of(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Query and document of each key, int64[n] both."""
    return key >> DOCUMENT_BITS, key & ((1 << DOCUMENT_BITS) - 1)


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct whole numbers, ascending. np.unique uses a hash table, which takes twenty times as long."""
    values = np.sort(values, axis=None)
    return values[np.append(True, values[1:] != values[:-1])] if values.size else values


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a collection: row i says that `document[i]` has `grade[i]` for query `query[i]`.

    `query` counts from 0 to queries - 1. Rows may come in any order; they are kept by query, then document.
    ValueError for a pair that occurs twice, a grade that is not finite, or a number out of range.
    """

    queries: int
    query: np.ndarray  # int64[n]
    document: np.ndarray  # int64[n], 0 <= document < 2**40
    grade: np.ndarray  # float64[n]
    key: np.ndarray = field(init=False, repr=False)  # int64[n], query and document in one, ascending
    _memory: dict = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self):
        query, document = np.asarray(self.query, np.int64), np.asarray(self.document, np.int64)
        grade = np.asarray(self.grade, np.float64)
        if self.queries >= 1 << QUERY_BITS or (query.size and not 0 <= query.min() <= query.max() < self.queries):
            raise ValueError(f"a query is not from 0 to {self.queries - 1}, or there are too many.")
        if document.size and not 0 <= document.min() <= document.max() < 1 << DOCUMENT_BITS:
            raise ValueError(f"a document is not from 0 to {(1 << DOCUMENT_BITS) - 1}.")
        if not np.isfinite(grade).all():
            raise ValueError("a grade is not finite.")
        key = pair_key(query, document)
        order = np.argsort(key)
        key = key[order]
        repeated = np.flatnonzero(key[1:] == key[:-1])
        if repeated.size:
            row = order[repeated[0]]
            raise ValueError(f"document {document[row]} is judged twice for query {query[row]}.")
        for name, array in (("query", query), ("document", document), ("grade", grade)):
            object.__setattr__(self, name, array[order])
        object.__setattr__(self, "key", key)

    @cached_property
    def count(self) -> np.ndarray:
        """How many documents are judged, int64[queries]."""
        return np.bincount(self.query, minlength=self.queries)

    def relevant(self, least: float) -> np.ndarray:
        """How many documents have at least the grade `least`, int64[queries]."""
        return np.bincount(self.query[self.grade >= least], minlength=self.queries)

    def remember(self, key: Hashable, make: Callable):
        """The value that `make` returns, such as ideal lists, cached under `key`."""
        value = self._memory.get(key)
        if value is None:
            value = make()
            # Threads share judgments: a value that another thread clears must not be read again from the dict.
            if len(self._memory) >= MOST_REMEMBERED:
                self._memory.clear()
            self._memory[key] = value
        return value

    def renewed(self, queries: np.ndarray, part: "Judgments") -> "Judgments":
        """These judgments with those of some queries replaced: query i of `part` is queries[i] here."""
        kept = ~np.isin(self.query, queries)
        return Judgments(
            self.queries,
            np.concatenate([self.query[kept], queries[part.query]]),
            np.concatenate([self.document[kept], part.document]),
            np.concatenate([self.grade[kept], part.grade]),
        )

    def only(self, query: int) -> "Judgments":
        """The judgments of one query, whose number becomes 0."""
        first, last = np.searchsorted(self.query, [query, query + 1])
        return Judgments(1, np.zeros(last - first, np.int64), self.document[first:last], self.grade[first:last])


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rankings of one system: query i got `documents[offsets[i]:offsets[i + 1]]`, best first.

    `scores` (nan where a ranking has none) and `tiebreak` (larger = earlier among equal scores) have a value
    for each document. `present[i]` is False where the system has no ranking for query i, which is not the
    same as an empty one; without `present`, queries with at least one document count as present. With `gaps`
    a query without a ranking was not answered: it has no value, whatever the option `missing` says.
    A ranking names a document once: the import refuses others.
    """

    offsets: np.ndarray  # int64[queries + 1]
    documents: np.ndarray  # any integers [n]
    scores: np.ndarray | None = None  # float64[n]
    present: np.ndarray | None = None  # bool[queries]
    tiebreak: np.ndarray | None = None  # int64[n]
    gaps: bool = False

    def __post_init__(self):
        offsets, documents = np.asarray(self.offsets, np.int64), np.asarray(self.documents)
        present = np.diff(offsets) > 0 if self.present is None else np.asarray(self.present, bool)
        columns = {"offsets": offsets, "documents": documents, "present": present}
        if self.scores is not None:
            columns["scores"] = np.asarray(self.scores, np.float64)
        if self.tiebreak is not None:
            columns["tiebreak"] = np.asarray(self.tiebreak, np.int64)
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    @property
    def queries(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def length(self) -> np.ndarray:
        """Documents in each ranking, int64[queries]."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> np.ndarray:
        """The query of each row, int64[n]."""
        return np.repeat(np.arange(self.queries), self.length)

    def top(self, cutoff: int) -> "Rankings":
        """The rankings down to the cutoff."""
        return self._first(np.minimum(self.length, cutoff), np.arange(self.queries))

    def of(self, queries: np.ndarray) -> "Rankings":
        """The rankings of these queries, numbered from 0 in this order."""
        return self._first(self.length[queries], queries)

    def _first(self, length: np.ndarray, queries: np.ndarray) -> "Rankings":
        """The first length[i] documents of the ranking of queries[i]."""
        offsets = np.append(0, np.cumsum(length))
        # Each ranking moves from its first row in these rankings to its first row in the new ones.
        shift = self.offsets[queries] - offsets[:-1]
        rows = np.arange(offsets[-1]) + np.repeat(shift, length)
        return Rankings(
            offsets=offsets,
            documents=self.documents[rows],
            scores=None if self.scores is None else self.scores[rows],
            present=self.present[queries],
            tiebreak=None if self.tiebreak is None else self.tiebreak[rows],
            gaps=self.gaps,
        )

    def only(self, query: int) -> "Rankings":
        """The ranking of one query, whose number becomes 0."""
        return self.of(np.array([query]))


def quotient(dividend: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """The quotient, float64; nan where the divisor is not above 0. Shapes are broadcast."""
    shape = np.broadcast_shapes(np.shape(dividend), divisor.shape)
    return np.divide(dividend, divisor, out=np.full(shape, np.nan), where=divisor > 0)


def groups(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row and the number of rows of each group of adjacent rows that are equal in all columns."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    starts = np.flatnonzero(new)
    return starts, np.diff(np.append(starts, len(new)))
