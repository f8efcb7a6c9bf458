"""The cache of data read from a collection and of numbers computed from it, updated query by query.

A rating changes the judgments of one query. The version of a collection holds the last act of each rater, so that
only the queries that changed since are read and computed again.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from ratings.models import Collection

from .. import record
from ..judgments.rules import RULES_OF_ALL, combine
from ..measures import Judgments
from . import Opinions, Record, Version

FEW = 500  # changed queries; where more changed, everything is read again


@dataclass(frozen=True)
class Source:
    """Which arrays of a collection are read, and how judgments are made."""

    systems: frozenset[str] | None = None  # None: all of them
    ties: str = "rank"
    rule: str = "mean"
    adjudications: str = "use"

    def judgments(self, data: Record) -> Judgments:
        return combine(data.ratings, self.rule, adjudications=self.adjudications)


@dataclass(frozen=True, eq=False)
class Columns:
    """Numbers of every query, by name: arrays of shape [queries] or [queries, ...]."""

    record: Record  # without ratings
    of: dict[Hashable, np.ndarray]
    _memory: dict = field(default_factory=dict)

    def remember(self, name: Hashable, make: Callable):
        """The value that `make` returns, cached under `name`."""
        if name not in self._memory:
            self._memory[name] = make()
        return self._memory[name]

    def renewed(self, part: Record, queries: list[int], changed: dict[Hashable, np.ndarray]) -> "Columns":
        """These columns with the numbers of `queries` replaced by `changed`."""
        places = self.record.places(queries)
        renewed = {name: column.copy() for name, column in self.of.items()}
        for name, column in renewed.items():
            column[places] = changed[name]
        return Columns(replace(self.record, values=part.values), renewed)


def read(collection: Collection, source: Source, version: Version | None = None) -> tuple[Record, Judgments]:
    """The record and judgments of the version (None: the present one). Do not change the arrays.

    All rules share the record: combining again is faster than finding changes.
    """
    version = version or record.version(collection)

    def renewed(old: Record, queries: list[int]) -> Record:
        part = record.part(collection, old, queries)
        return replace(old, ratings=old.ratings.renewed(old.places(queries), part.ratings), values=part.values)

    def whole() -> Record:
        return record.load(collection, source.systems, source.ties)

    data = _current(_records, collection, version, (source.systems, source.ties), whole, renewed)
    return data, _current(_judgments, collection, version, source, lambda: source.judgments(data))


def columns(
    collection: Collection,
    version: Version,
    source: Source,
    name: Hashable,
    compute: Callable[[Record, Judgments], dict[Hashable, np.ndarray]],
) -> Columns:
    """The columns that `compute` returns for this version.

    The numbers of a query may depend on its own rankings and judgments only. `name` is the cache key among
    everything computed from this source.
    """

    def whole() -> Columns:
        data, judgments = read(collection, source, version)
        return Columns(data.unrated, compute(data, judgments))

    def renewed(old: Columns, queries: list[int]) -> Columns:
        part = record.part(collection, old.record, queries)
        return old.renewed(part, queries, compute(part, source.judgments(part)))

    by_query = None if source.rule in RULES_OF_ALL else renewed
    return _current(_columns, collection, version, (source, name), whole, by_query)


def whole(collection: Collection, name: Hashable, make: Callable):
    """The value that `make` returns for the present version, computed once; `name` is the cache key."""
    return _current(_wholes, collection, record.version(collection), name, make)


def without_ratings(collection: Collection, name: Hashable, make: Callable):
    """The value that `make` returns from rankings and settings alone. Ratings do not invalidate it."""
    return _current(_wholes, collection, record.version(collection), name, make, lambda value, _: value)


def count(collection: Collection, version: Version, name: Hashable, make: Callable):
    """The small value that `make` returns for this version, such as a count; kept for a thousand keys."""
    return _current(_counts, collection, version, name, make)


def is_counted(collection: Collection, version: Version, name: Hashable) -> bool:
    """Whether `count` has the value of this version already."""
    former, _ = _counts.get((version.basis, name)) or (None, None)
    return former is not None and former.number == version.number


def by_query(
    collection: Collection, version: Version, name: Hashable, rows: Callable[[list[int] | None], np.ndarray]
) -> np.ndarray:
    """The rows of all queries, int64[columns, n]; the first column has the query.

    `rows` returns those of some queries, or of all (None).
    """
    return _current(_counts, collection, version, name, lambda: rows(None), _rows_renewed(rows))


def opinions(collection: Collection) -> Opinions:
    """All ratings of the present version. Only queries whose ratings changed are read again."""

    def rows(queries: list[int] | None) -> np.ndarray:
        return record.opinion_rows(collection, queries)

    version = record.version(collection)
    opinion_rows = _current(_wholes, collection, version, "opinions", lambda: rows(None), _rows_renewed(rows))
    queries = without_ratings(collection, "queries", lambda: record.queries_of(collection))
    return record.opinions_in(collection, queries, opinion_rows)


def _rows_renewed(rows: Callable[[list[int]], np.ndarray]) -> Callable[[np.ndarray, list[int]], np.ndarray]:
    def renewed(old: np.ndarray, queries: list[int]) -> np.ndarray:
        return np.hstack([old[:, ~np.isin(old[0], queries)], rows(queries)])

    return renewed


def _current(
    kept: "Recent",
    collection: Collection,
    version: Version,
    name: Hashable,
    whole: Callable[[], object],
    renewed: Callable[[object, list[int]], object] | None = None,
):
    """The value under `name`, brought up to date by `renewed` where few queries changed, else by `whole`."""
    former, value = kept.get((version.basis, name)) or (None, None)
    if former and former.number == version.number:
        return value
    changed = None
    if renewed and former and former.number < version.number:
        changed = record.changed_queries(collection, former, version)
    if changed is None or len(changed) > FEW:
        value = whole()
    elif changed:
        value = renewed(value, changed)
    kept.put((version.basis, name), (version, value))
    return value


class Recent:
    """An LRU cache of `limit` values by (basis, name), with only the latest basis of each collection."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = {}
        self._lock = Lock()

    def get(self, key: tuple[tuple, Hashable]):
        """The value, or None."""
        with self._lock:
            if key in self._kept:
                self._kept[key] = self._kept.pop(key)
            return self._kept.get(key)

    def put(self, key: tuple[tuple, Hashable], value) -> None:
        (collection, *_), _ = basis, _ = key
        with self._lock:
            # Values of a former basis are never asked for again, and rankings are large.
            for former in [other for other in self._kept if other[0][0] == collection and other[0] != basis]:
                del self._kept[former]
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]


_records = Recent(4)
_judgments = Recent(8)
_columns = Recent(64)
_wholes = Recent(32)
_counts = Recent(1_000)  # a list of collections asks for those of each
