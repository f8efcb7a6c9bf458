"""The cache of data read from a collection and of numbers computed from it, updated query by query.

A rating changes the judgments of one query. The version of a collection holds the last act of each rater, so that
only the queries that changed since are read and computed again.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from ratings.models import Collection

from .. import record
from ..judgments.rules import RULES_OF_ALL, combine
from ..measures import Judgments
from . import Opinions, Record, Version

MOST_CHANGED_QUERIES = 500  # where more changed, everything is read again


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
    of: Mapping[Any, np.ndarray]  # by hashable names
    _memory: dict = field(default_factory=dict)

    def remember(self, name: Hashable, make: Callable):
        """The value that `make` returns, cached under `name`."""
        if name not in self._memory:
            self._memory[name] = make()
        return self._memory[name]

    def renewed(self, part: Record, queries: list[int], changed: Mapping[Any, np.ndarray]) -> "Columns":
        """These columns with the numbers of `queries` replaced by `changed`."""
        places = self.record.places(queries)
        renewed = {name: column.copy() for name, column in self.of.items()}
        for name, column in renewed.items():
            column[places] = changed[name]
        return Columns(replace(self.record, values=part.values), renewed)


def read(collection: Collection, source: Source, version: Version | None = None) -> tuple[Record, Judgments]:
    """The record and judgments of the version (None: the present one). Do not change the arrays.

    What the cache lacks of the version is read as it is now, which can be newer, and cached under the version. The
    record is cached once for all rules of judgments, and the judgments for each source. After a rating, the record
    is updated, and judgments are combined again from all of its ratings, which is faster than finding those that
    changed.
    """
    version = version or record.version(collection)

    def load() -> Record:
        return record.load(collection, source.systems, source.ties)

    def update(old: Record, changed_queries: list[int]) -> Record:
        part = record.part(collection, old, changed_queries)  # the record of these queries alone
        ratings = old.ratings.renewed(old.places(changed_queries), part.ratings)
        # Even in `part`, `values` has all grades and raters of the collection, so it replaces the old one whole.
        return replace(old, ratings=ratings, values=part.values)

    data = _current(_records, collection, version, (source.systems, source.ties), load, update)
    judgments = _current(_judgments, collection, version, source, lambda: source.judgments(data))
    return data, judgments


def columns(
    collection: Collection,
    version: Version,
    source: Source,
    name: Hashable,
    compute: Callable[[Record, Judgments], Mapping[Any, np.ndarray]],
) -> Columns:
    """The numbers of every query that `compute` returns for this version, by name.

    Only queries that changed are computed again, so the numbers of a query may depend on its own rankings and
    judgments only. `name` is the cache key among everything computed from this source.
    """

    def compute_all() -> Columns:
        data, judgments = read(collection, source, version)
        # Kept without ratings, since `update` reads those of the changed queries again.
        return Columns(data.without_ratings, compute(data, judgments))

    def update(old: Columns, changed_queries: list[int]) -> Columns:
        part = record.part(collection, old.record, changed_queries)  # the record of these queries alone
        return old.renewed(part, changed_queries, compute(part, source.judgments(part)))

    # Under a rule in RULES_OF_ALL a rating can change the judgments of every query, so that the numbers of all are
    # computed again. Under the other rules it changes those of its own query only.
    can_update = source.rule not in RULES_OF_ALL
    return _current(_columns, collection, version, (source, name), compute_all, update if can_update else None)


def whole(collection: Collection, name: Hashable, make: Callable):
    """The value that `make` returns for the present version, computed once; `name` is the cache key."""
    return _current(_wholes, collection, record.version(collection), name, make)


def without_ratings(collection: Collection, name: Hashable, make: Callable):
    """The value that `make` returns from rankings and settings alone. Ratings do not invalidate it."""
    return _current(_wholes, collection, record.version(collection), name, make, lambda value, _: value)


def small_value(collection: Collection, version: Version, name: Hashable, make: Callable):
    """The small value that `make` returns for this version, such as a count; kept for a thousand keys."""
    return _current(_small_values, collection, version, name, make)


def has_small_value(collection: Collection, version: Version, name: Hashable) -> bool:
    """Whether `small_value` has the value of this version already."""
    former, _ = _small_values.get((version.basis, name)) or (None, None)
    return former is not None and former.number == version.number


def by_query(
    collection: Collection, version: Version, name: Hashable, rows: Callable[[list[int] | None], np.ndarray]
) -> np.ndarray:
    """The rows of all queries, int64[columns, n]; the first column has the query.

    `rows` returns those of some queries, or of all (None).
    """
    return _current(_small_values, collection, version, name, lambda: rows(None), _update_of_rows(rows))


def opinions(collection: Collection) -> Opinions:
    """All ratings of the present version. Only queries whose ratings changed are read again."""
    read_rows = partial(record.opinion_rows, collection)
    version = record.version(collection)
    rows = _current(_wholes, collection, version, "opinions", read_rows, _update_of_rows(read_rows))
    queries = without_ratings(collection, "queries", lambda: record.queries_of(collection))
    return record.opinions_in(collection, queries, rows)


def _update_of_rows(rows: Callable[[list[int]], np.ndarray]) -> Callable[[np.ndarray, list[int]], np.ndarray]:
    """The `update` of `_current` for rows that begin with their query; `rows` reads those of some queries."""

    def update(old: np.ndarray, changed_queries: list[int]) -> np.ndarray:
        unchanged = old[:, ~np.isin(old[0], changed_queries)]
        return np.hstack([unchanged, rows(changed_queries)])

    return update


def _current(
    cached: "Recent",
    collection: Collection,
    version: Version,
    name: Hashable,
    compute: Callable[[], object],
    update: Callable[[object, list[int]], object] | None = None,
):
    """The value under `name` for this version: from the cache, updated where few queries changed, or computed.

    update: makes the value from that of a former version and the pks of the queries that changed since.
    """
    key = (version.basis, name)  # the basis of a version stays while only judgments change
    former_version, value = cached.get(key) or (None, None)
    if former_version and former_version.number == version.number:
        return value
    changed_queries = None  # pks; None: not known, or too many to name
    # A cached value can also be of a newer version, which another request read. It is of no use for this one.
    if update and former_version and former_version.number < version.number:
        changed_queries = record.changed_queries(collection, former_version, version)
    if changed_queries is None or len(changed_queries) > MOST_CHANGED_QUERIES:
        value = compute()
    elif changed_queries:  # an empty list: no query changed, so the former value holds
        value = update(value, changed_queries)
    # This may replace the value of a newer version, which the next request makes again.
    cached.put(key, (version, value))
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
        basis, _ = key  # begins with the collection
        with self._lock:
            # Values of a former basis are never asked for again, and rankings are large.
            for former, name in list(self._kept):
                if former[0] == basis[0] and former != basis:
                    del self._kept[former, name]
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]


_records = Recent(4)
_judgments = Recent(8)
_columns = Recent(64)
_wholes = Recent(32)
_small_values = Recent(1_000)  # a list of collections asks for those of each
