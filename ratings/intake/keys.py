"""Documents by their keys: the ids of those that are stored, and rows for new ones of which only the key is known.

Hundreds of thousands of keys are looked up at once, as Arrow arrays: Python objects take three times as long.
"""

import json
from collections.abc import Sequence

import numpy as np
from django.db import connection

from ..database import bulk
from ..models import Collection, Document, Job
from .publishing import PIECE, Landing
from .report import Report, counted
from .stage import BATCH, Progress, silent

LARGE_PIECE = 10_000  # new documents, on PostgreSQL: nobody waits for a piece to end there
READ_ALL = 3  # a row is read in about a third of the time that it takes to find one by its key
PART = 50_000  # rows that are read at a time

# The inner subquery is nearly always empty: few jobs are staging.
_VISIBLE = """ratings_document WHERE collection_id = %(collection)s
    AND (job_id IS NULL OR job_id NOT IN (SELECT id FROM ratings_job WHERE staging AND id <> %(job)s))"""
_MORE = "SELECT 1 FROM ratings_document WHERE collection_id = %(collection)s LIMIT 1 OFFSET %(most)s"
# Joined by the database, as a Python object for each key and id would take twice as long. A key has no blank.
_PART = f"""SELECT {{joined}}(key, ' '), {{joined}}(CAST(id AS text), ' '), MAX(key)
    FROM (SELECT key, id FROM {_VISIBLE} AND key > %(last)s ORDER BY key LIMIT {PART}) AS part"""
_JOINED = {"sqlite": "group_concat", "postgresql": "string_agg"}
# A subquery for each key: for a join with some thousand keys PostgreSQL would read the whole table each time.
_FIND = f"SELECT (SELECT id FROM {_VISIBLE} AND key = given.value) FROM "
# The keys are sent as one JSON text: ten times as fast as a placeholder for each, and of any length.
_KEYS = {
    "sqlite": "json_each(%(keys)s) AS given ORDER BY given.key",
    "postgresql": "json_array_elements_text(%(keys)s) WITH ORDINALITY AS given (value, place) ORDER BY place",
}


def known_ids(collection: Collection, keys: Sequence[str]) -> np.ndarray:
    """The id of the published document with each of the keys; int64, 0 where there is none."""
    distinct, places = _distinct(keys)
    return _stored_ids(collection, distinct, None)[places]


def ids_of(place: Landing, keys: Sequence[str], report: Report, progress: Progress = silent) -> np.ndarray:
    """The id of the document with each of the keys; int64.

    Missing documents are made in pieces, with only their key, and are counted.
    """
    distinct, places = _distinct(keys)
    ids = _stored_ids(place.job.collection, distinct, place.job)
    missing = np.flatnonzero(ids == 0)
    in_order = missing[_order(distinct.take(missing))]  # the index is written in its order
    size = PIECE if connection.vendor == "sqlite" else LARGE_PIECE
    for start in range(0, len(in_order), size):
        piece = in_order[start : start + size]
        with place.piece(len(piece)):
            ids[piece] = _made_bare(place.job, distinct.take(piece).to_pylist())
        made = start + len(piece)
        progress("writing new documents", made / len(in_order), made)
    report.counts["documents"] += len(missing)
    return ids[places]


def _distinct(keys: Sequence[str]) -> tuple:
    """The keys without repeats, as an Arrow array, and the place of each key in it."""
    import pyarrow as pa  # takes a sixth of a second
    from pyarrow import compute

    # Arrow's own allocator would keep some 70 MB more.
    pool = pa.system_memory_pool()
    encoded = compute.dictionary_encode(pa.array(keys, pa.string(), memory_pool=pool), memory_pool=pool)
    return encoded.dictionary, encoded.indices.to_numpy()


def _order(keys) -> np.ndarray:
    """The places of the keys of an Arrow array, in the order of the keys."""
    from pyarrow import compute

    return compute.sort_indices(keys).to_numpy()


def _stored_ids(collection: Collection, keys, job: Job | None) -> np.ndarray:
    """The ids of published documents and of those that `job` wrote, for an Arrow array of distinct keys."""
    if not len(keys):
        return np.zeros(0, np.int64)
    of = {"collection": collection.pk, "job": job.pk if job else 0, "most": READ_ALL * len(keys)}
    with connection.cursor() as cursor:
        cursor.execute(_MORE, of)
        return _found(cursor, of, keys) if cursor.fetchone() else _read(cursor, of, keys)


def _found(cursor, of: dict[str, int], keys) -> np.ndarray:
    """The ids by the index, with one database query for 5,000 keys."""
    in_order, ids = _order(keys), np.zeros(len(keys), np.int64)
    for start in range(0, len(keys), BATCH):
        batch = in_order[start : start + BATCH]
        given = json.dumps(keys.take(batch).to_pylist())
        cursor.execute(_FIND + _KEYS[connection.vendor], of | {"keys": given})
        ids[batch] = [pk or 0 for (pk,) in cursor.fetchall()]
    return ids


def _read(cursor, of: dict[str, int], keys) -> np.ndarray:
    """The ids by reading all documents, PART at a time."""
    import pyarrow as pa
    from pyarrow import compute

    parts, stored, last, pool = [], [], "", pa.system_memory_pool()
    while last is not None:
        cursor.execute(_PART.format(joined=_JOINED[connection.vendor]), of | {"last": last})
        some, pks, last = cursor.fetchone()
        if last is not None:
            parts.append(pa.array(some.split(" "), pa.string(), memory_pool=pool))
            stored.append(np.fromstring(pks, np.int64, sep=" "))
            if len(parts[-1]) != len(stored[-1]):
                raise ValueError(f"The key of a document up to {last!r} has a blank")
    ids = np.zeros(len(keys), np.int64)
    if parts:
        places = compute.index_in(pa.chunked_array(parts), value_set=keys, memory_pool=pool)
        places = places.fill_null(-1).to_numpy()
        ids[places[places >= 0]] = np.concatenate(stored)[places >= 0]
    return ids


def _made_bare(job: Job, keys: list[str]) -> Sequence[int]:
    """The ids of new documents that have only a key. Each database is written in its fastest way."""
    ids = bulk.new_ids(Document, len(keys))
    columns = "id, collection_id, job_id, key, title, body, url, fields"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                f"INSERT INTO ratings_document ({columns})"
                " SELECT %(first)s + given.key, %(collection)s, %(job)s, given.value, '', '', '', '{}'"
                " FROM json_each(%(keys)s) AS given",
                {"first": ids[0], "collection": job.collection_id, "job": job.pk, "keys": json.dumps(keys)},
            )
            return ids
        with cursor.copy(f"COPY ratings_document ({columns}) FROM STDIN") as copy:
            of_all = f"{job.collection_id}\t{job.pk}"
            rows = "".join(f"{pk}\t{of_all}\t{key}\t\t\t\t{{}}\n" for pk, key in zip(ids, keys, strict=True))
            # A key has no blank, but it may have a backslash, with which COPY escapes.
            copy.write(rows.replace("\\", "\\\\"))
        return ids


class Strangers:
    """The documents of an import that the collection lacks, counted on disk, as there may be millions."""

    def __init__(self, stage, collection: Collection) -> None:
        self.stage, self.collection = stage, collection
        stage.execute("CREATE TABLE stranger (key TEXT PRIMARY KEY) WITHOUT ROWID")

    def look_at(self, keys: Sequence[str]) -> None:
        ids = known_ids(self.collection, keys).tolist()
        strange = ((key,) for key, pk in zip(keys, ids, strict=True) if not pk)
        self.stage.executemany("INSERT OR IGNORE INTO stranger VALUES (?)", strange)

    @property
    def count(self) -> int:
        return self.stage.execute("SELECT COUNT(*) FROM stranger").fetchone()[0]


def tell_of_bare_documents(report: Report) -> None:
    if made := report.counts["documents"]:
        report.facts.append(
            f"{counted(made, 'document was', 'documents were')} not known and"
            f" {'is' if made == 1 else 'are'} kept by key alone until an import of documents brings the text."
        )
