"""What was read of a collection and computed from it, kept, and brought up to date query by query.

A rating changes the judgments of one query. The collection counts its changes, and each query remembers the last
that was its own, so that only the queries that changed since are read and computed again.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from ratings.models import Collection

from . import record
from .judgments import combine
from .measures import Judgments
from .record import Record, Version

# More changed queries than these are not read one by one.
FEW = 500

# These look at all ratings to make one judgment, so that any rating can change every judgment.
RULES_OF_ALL = {"dawid_skene"}


@dataclass(frozen=True)
class Source:
    """Which arrays of a collection are wanted."""

    systems: frozenset[str] | None = None  # None: all of them
    ties: str = "rank"
    rule: str = "mean"
    adjudications: str = "use"

    def judgments(self, found: Record) -> Judgments:
        return combine(found.ratings, self.rule, adjudications=self.adjudications)


@dataclass(frozen=True, eq=False)
class Columns:
    """Numbers of every query, by whatever names them: arrays of shape [queries] or [queries, ...]."""

    record: Record  # without ratings
    of: dict[Hashable, np.ndarray]
    _memory: dict = field(default_factory=dict)

    def remember(self, name: Hashable, make: Callable):
        """What `make` gives, made once."""
        if name not in self._memory:
            self._memory[name] = make()
        return self._memory[name]

    def renewed(self, queries: list[int], changed: dict[Hashable, np.ndarray]) -> "Columns":
        """The same with the numbers of some queries changed."""
        places = self.record.places(queries)
        renewed = {name: column.copy() for name, column in self.of.items()}
        for name, column in renewed.items():
            column[places] = changed[name]
        return Columns(self.record, renewed)


def read(collection: Collection, source: Source) -> tuple[Record, Judgments]:
    """The arrays of the present state. Do not change them."""
    return _read(collection, source, record.version(collection))


def columns(
    collection: Collection,
    source: Source,
    name: Hashable,
    compute: Callable[[Record, Judgments], dict[Hashable, np.ndarray]],
) -> Columns:
    """What `compute` makes of the present state; for each query from its own rankings and judgments alone.

    `name` tells it from everything else that is computed from this source.
    """
    version = record.version(collection)

    def whole() -> Columns:
        found, judgments = _read(collection, source, version)
        return Columns(found.unrated, compute(found, judgments))

    def renewed(old: Columns, queries: list[int]) -> Columns:
        part = record.part(collection, old.record, queries)
        return old.renewed(queries, compute(part, source.judgments(part)))

    return _current(_columns, collection, source, version, (source, name), whole, renewed)


def _read(collection: Collection, source: Source, version: Version) -> tuple[Record, Judgments]:
    def whole() -> tuple[Record, Judgments]:
        found = record.load(collection, source.systems, source.ties)
        return found, source.judgments(found)

    def renewed(old: tuple[Record, Judgments], queries: list[int]) -> tuple[Record, Judgments]:
        (found, judgments), places = old, old[0].places(queries)
        part = record.part(collection, found, queries)
        ratings = found.ratings.renewed(places, part.ratings)
        return replace(found, ratings=ratings), judgments.renewed(places, source.judgments(part))

    return _current(_arrays, collection, source, version, source, whole, renewed)


def _current(
    kept: "Recent",
    collection: Collection,
    source: Source,
    version: Version,
    key: Hashable,
    whole: Callable[[], object],
    renewed: Callable[[object, list[int]], object],
):
    """What is kept under the key; if it is older, made anew for the queries that changed since, or whole."""
    number, value = kept.get((version.basis, key)) or (None, None)
    if number == version.number:
        return value
    changed = None
    if number is not None and number < version.number and source.rule not in RULES_OF_ALL:
        changed = record.changed_queries(collection, number)
    if changed is None or len(changed) > FEW:
        value = whole()
    elif changed:
        value = renewed(value, changed)
    kept.put((version.basis, key), (version.number, value))
    return value


class Recent:
    """The last `limit` things put, by (basis, name); of a collection only those of its last basis."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = {}
        self._lock = Lock()

    def get(self, key: tuple[tuple, Hashable]):
        """None if it is not there."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: tuple[tuple, Hashable], value) -> None:
        (collection, *_), _ = basis, _ = key
        with self._lock:
            # What belongs to a former basis is never asked for again, and rankings are large.
            for former in [other for other in self._kept if other[0][0] == collection and other[0] != basis]:
                del self._kept[former]
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]


_arrays = Recent(6)
_columns = Recent(64)
