"""Documents by their keys: the ids of those that are stored, and rows for new ones of which only the key is known.

Hundreds of thousands of keys are looked up at once, as Arrow arrays: Python objects take three times as long.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from django.db import connection

from ...database import bulk
from ...models import Collection, Document, Job
from ...words import counted
from .report import Report
from .stage import ROWS_AT_ONCE, Progress, silent

DOCUMENTS_PER_INSERT = 10_000  # new documents that are written at a time
ROWS_READ_PER_LOOKUP = 3  # a row is read in about a third of the time that it takes to find one by its key
ROWS_PER_READ = 50_000  # rows that are read at a time
MOST_KEYS_KEPT = 2_000_000  # documents whose keys are held in memory: 60 MB with keys of 16 letters

_STORED = "ratings_document WHERE collection_id = %(collection)s"
# Joined by the database, as a Python object for each key and id would take twice as long. A key has no blank.
_PART = f"""SELECT {{joined}}(key, ' '), {{joined}}(CAST(id AS text), ' '), MAX(key)
    FROM (SELECT key, id FROM {_STORED} AND key > %(last)s ORDER BY key LIMIT %(part)s) AS part"""
_JOINED = {"sqlite": "group_concat", "postgresql": "string_agg"}
# A subquery for each key: for a join with some thousand keys PostgreSQL would read the whole table each time.
_FIND = f"SELECT (SELECT id FROM {_STORED} AND key = given.value) FROM "
# The keys are sent as one JSON text: ten times as fast as a placeholder for each, and of any length.
_KEYS = {
    "sqlite": "json_each(%(keys)s) AS given ORDER BY given.key",
    "postgresql": "json_array_elements_text(%(keys)s) WITH ORDINALITY AS given (value, place) ORDER BY place",
}


class DocumentIds:
    """The ids of the documents of a collection, by their keys.

    All documents are read at once and kept. Where that is slower than `sought` look-ups, or they are more than
    MOST_KEYS_KEPT, keys are looked up as they come. Documents that others import later are not seen. While an
    import writes, no other one does.
    """

    def __init__(self, collection: Collection, sought: int) -> None:
        self._parameters = {"collection": collection.pk}
        # Whether there are at most so many documents, without counting all of them.
        most = min(ROWS_READ_PER_LOOKUP * sought, MOST_KEYS_KEPT)
        reads_all = sought and not collection.documents.order_by()[most : most + 1].exists()
        self._kept = list(self._stored_parts()) if reads_all else None  # keys with ids

    def find(self, keys: Sequence[str]) -> np.ndarray:
        """The id of the document with each of the keys; int64[keys], 0 where there is none."""
        distinct, places = _distinct(keys)
        return self._find_distinct(distinct)[places]

    def find_or_make(
        self, job: Job, keys: Sequence[str], report: Report, progress: Progress = silent
    ) -> np.ndarray:
        """The id of the document with each of the keys; int64[keys].

        Missing documents are made, with only their key, and are counted in the report.
        """
        distinct, places = _distinct(keys)  # places: of each key among the distinct ones
        ids = self._find_distinct(distinct)  # int64[distinct]
        new_places = np.flatnonzero(ids == 0)  # where the document is missing, among the distinct keys
        # Sorted by their keys, so that the index of keys is written in its order.
        new_places = new_places[_sorted_places(distinct.take(new_places))]
        new_keys = distinct.take(new_places)
        for start in range(0, len(new_keys), DOCUMENTS_PER_INSERT):
            batch = new_keys.slice(start, DOCUMENTS_PER_INSERT)
            ids[new_places[start : start + DOCUMENTS_PER_INSERT]] = _insert_bare(job, batch.to_pylist())
            done = start + len(batch)
            progress("writing new documents", done / len(new_keys), done)
        self._keep(new_keys, ids[new_places])
        report.counts["documents"] += len(new_keys)
        return ids[places]

    def _stored_parts(self) -> Iterator[tuple[Any, np.ndarray]]:
        """The keys of all documents, an Arrow array for each ROWS_PER_READ, and their ids. In the order of keys.

        Raises ValueError for a key with a blank, as the database joins the keys with blanks.
        """
        import pyarrow as pa  # takes a sixth of a second

        parameters = self._parameters | {"part": ROWS_PER_READ, "last": ""}
        statement = _PART.format(joined=_JOINED[connection.vendor])
        with connection.cursor() as cursor:
            while True:
                cursor.execute(statement, parameters)
                joined_keys, joined_ids, last = cursor.fetchone()  # `last`: the greatest of these keys
                if last is None:  # no document is left
                    return
                keys = pa.array(joined_keys.split(" "), pa.string(), memory_pool=_memory())
                ids = np.fromstring(joined_ids, np.int64, sep=" ")
                if len(keys) != len(ids):
                    raise ValueError(f"The key of a document up to {last!r} has a blank")
                yield keys, ids
                parameters["last"] = last

    def _keep(self, keys, ids: np.ndarray) -> None:
        """Keep new documents, too; none at all if they are more than MOST_KEYS_KEPT."""
        if self._kept is not None:
            self._kept.append((keys, ids))
            if sum(len(part) for part, _ in self._kept) > MOST_KEYS_KEPT:
                self._kept = None

    def _find_distinct(self, keys) -> np.ndarray:
        """The ids for an Arrow array of distinct keys; 0 where there is no document."""
        return self._find_by_index(keys) if self._kept is None else _find_in(self._kept, keys)

    def _find_by_index(self, keys) -> np.ndarray:
        """The ids, with one database query for 5,000 keys."""
        in_order, ids = _sorted_places(keys), np.zeros(len(keys), np.int64)
        with connection.cursor() as cursor:
            for start in range(0, len(keys), ROWS_AT_ONCE):
                batch = in_order[start : start + ROWS_AT_ONCE]
                given = json.dumps(keys.take(batch).to_pylist())
                cursor.execute(_FIND + _KEYS[connection.vendor], self._parameters | {"keys": given})
                ids[batch] = [pk or 0 for (pk,) in cursor.fetchall()]
        return ids


def known_ids(collection: Collection, keys: Sequence[str]) -> np.ndarray:
    """The id of the document with each of the keys; int64, 0 where there is none."""
    return DocumentIds(collection, len(keys)).find(keys)


def _find_in(parts: list[tuple[Any, np.ndarray]], keys) -> np.ndarray:
    """The id of each of the distinct `keys`: int64[keys], 0 for a key that is not stored.

    `parts`: the stored documents in pieces, each of them keys as an Arrow array and their ids.
    """
    import pyarrow as pa
    from pyarrow import compute

    ids = np.zeros(len(keys), np.int64)
    if parts:
        stored_keys, stored_ids = zip(*parts, strict=True)
        places = compute.index_in(pa.chunked_array(stored_keys), value_set=keys, memory_pool=_memory())
        places = places.fill_null(-1).to_numpy()  # of each stored key in `keys`; -1 if it is none of them
        is_sought = places >= 0
        ids[places[is_sought]] = np.concatenate(stored_ids)[is_sought]
    return ids


def _memory():
    """Arrow's memory pool; its usual one would keep some 70 MB more."""
    import pyarrow as pa

    return pa.system_memory_pool()


def _distinct(keys: Sequence[str]) -> tuple[Any, np.ndarray]:
    """The keys without repeats, as an Arrow array, and the place of each key in it."""
    import pyarrow as pa
    from pyarrow import compute

    encoded = compute.dictionary_encode(pa.array(keys, pa.string(), memory_pool=_memory()), memory_pool=_memory())
    return encoded.dictionary, encoded.indices.to_numpy()


def _sorted_places(keys) -> np.ndarray:
    """The indices that sort the keys of an Arrow array."""
    from pyarrow import compute

    return compute.sort_indices(keys).to_numpy()


def _insert_bare(job: Job, keys: list[str]) -> Sequence[int]:
    """Insert documents that have only a key, and return their ids. Each database is written in its fastest way."""
    ids = bulk.new_ids(Document, len(keys))
    columns = "id, collection_id, job_id, key, title, body, url, fields"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                # `given.key` is the index of a key in the list, from 0. SQLite's new ids follow each other.
                f"INSERT INTO ratings_document ({columns})"
                " SELECT %(first)s + given.key, %(collection)s, %(job)s, given.value, '', '', '', '{}'"
                " FROM json_each(%(keys)s) AS given",
                {"first": ids[0], "collection": job.collection_id, "job": job.pk, "keys": json.dumps(keys)},
            )
            return ids
        with cursor.copy(f"COPY ratings_document ({columns}) FROM STDIN") as copy:
            of_all = f"{job.collection_id}\t{job.pk}"
            # Title, body and url are empty, and the JSON of the fields is {}.
            rows = "".join(f"{pk}\t{of_all}\t{key}\t\t\t\t{{}}\n" for pk, key in zip(ids, keys, strict=True))
            # A key has no blank, but it may have a backslash, with which COPY escapes.
            copy.write(rows.replace("\\", "\\\\"))
        return ids


class MissingDocuments:
    """The documents of an import that the collection lacks, counted on disk, as there may be millions."""

    def __init__(self, stage: sqlite3.Connection) -> None:
        self.stage = stage
        stage.execute("CREATE TABLE missing (key TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, keys: Sequence[str], ids: np.ndarray) -> None:
        """Count the keys without an id."""
        missing = ((key,) for key, pk in zip(keys, ids.tolist(), strict=True) if not pk)
        self.stage.executemany("INSERT OR IGNORE INTO missing VALUES (?)", missing)

    @property
    def count(self) -> int:
        return self.stage.execute("SELECT COUNT(*) FROM missing").fetchone()[0]


def tell_of_documents_by_key_alone(report: Report) -> None:
    """Tell how many documents the import makes with their key alone."""
    if made := report.counts["documents"]:
        report.facts.append(
            f"{counted(made, 'document was', 'documents were')} not known and"
            f" {'is' if made == 1 else 'are'} kept by key alone until an import of documents brings the text."
        )
