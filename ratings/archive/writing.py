"""A collection -> its archive, in flat memory and as of one moment."""

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet

from .. import outlet
from ..formats.zipped import FixedZip
from ..models import (
    Adjudication,
    Assignment,
    Check,
    Collection,
    Grade,
    Guidelines,
    Job,
    Pair,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    System,
    plain_value,
)
from ..snapshot import snapshot
from .members import BY_NAME, FORMAT, MANIFEST, MEMBERS, PAIR, VERSION, snapshot_of

AT_ONCE = 2_000
LARGE_AT_ONCE = 200  # documents with their texts, rankings
PIECE = 1 << 18

Progress = Callable[[str, float | None, int], None]
Rows = Iterator[dict[str, Any]]


def write(collection: Collection, file: BinaryIO, *, progress: Progress = lambda *told: None) -> str:
    """Write the archive and return its snapshot id: the SHA-256 of what is in it, the same on every server.

    Several database queries for each 2,000 rows. The same record gives the same bytes.
    """
    archive, counts = FixedZip(), {}
    with snapshot():
        collection = Collection.objects.get(pk=collection.pk)
        for member in MEMBERS:
            lines = _lines(WRITERS[member.name](collection), member.name, counts, progress)
            for part in archive.add(member.file, lines, large=True):
                file.write(part)
    held = snapshot_of(archive.sums)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "snapshot": held,
        "members": [
            {"file": member.file, "lines": counts[member.name], "sha256": archive.sums[member.file]}
            for member in MEMBERS
        ],
    }
    for part in archive.add(MANIFEST, [(json.dumps(manifest, indent=2) + "\n").encode()]):
        file.write(part)
    file.write(archive.end())
    return held


def file_name(slug: str, snapshot: str) -> str:
    """What to save the archive as."""
    return f"{slug}-{snapshot[:12]}.zip"


def line_of(row: dict[str, Any]) -> str:
    """The one way to write a line."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain) + "\n"


def _plain(value: Any) -> str:
    """Grades and weights to their last digit, times in UTC to the microsecond, tokens."""
    if isinstance(value, Decimal):
        return plain_value(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _lines(rows: Rows, name: str, counts: dict[str, int], progress: Progress) -> Iterator[bytes]:
    lines, size, number = [], 0, 0
    for number, row in enumerate(rows, 1):
        lines.append(line_of(row))
        size += len(lines[-1])
        if size > PIECE:
            yield "".join(lines).encode()
            lines, size = [], 0
            progress(name, None, number)
    counts[name] = number
    yield "".join(lines).encode()


# The rows of each member, in the order in which they were made


def _rows(rows: QuerySet, *columns: str, at_once: int = AT_ONCE) -> Iterator[tuple]:
    """Of each row its id is in memory, 8 bytes, and `at_once` of them whole: no database sorts a million."""
    manager, ids = rows.model._default_manager, _ids(rows)
    for start in range(0, len(ids), at_once):
        some = manager.filter(pk__in=ids[start : start + at_once].tolist()).order_by("pk")
        yield from some.values_list(*columns)


def _ids(rows: QuerySet) -> np.ndarray:
    ids = np.fromiter(rows.order_by().values_list("pk", flat=True).iterator(chunk_size=AT_ONCE), np.int64)
    ids.sort()
    return ids


def _named(rows: QuerySet, fields: Iterable[str], **columns: str) -> Rows:
    """A dict for each row; `columns` says what a field is called in the database, where it is called otherwise."""
    fields = list(dict.fromkeys([*fields, *columns]))
    for row in _rows(rows, *(columns.get(name, name) for name in fields)):
        yield dict(zip(fields, row, strict=True))


def _of_pair(rows: QuerySet, member: str, **columns: str) -> Rows:
    fields = _fields(member)
    named = {"query": "pair__query__key", "document": "pair__document__key", "rater": "rater__name"}
    return _named(rows, fields, **{name: named[name] for name in named if name in fields}, **columns)


def _fields(name: str) -> list[str]:
    return list(BY_NAME[name].fields)


def _collection(collection: Collection) -> Rows:
    yield {name: getattr(collection, name) for name in _fields("collection")}


def _grades(collection: Collection) -> Rows:
    rows = Grade.objects.filter(collection=collection).order_by("value")
    return (dict(row) for row in rows.values(*_fields("grades")))


def _guidelines(collection: Collection) -> Rows:
    rows = Guidelines.objects.filter(collection=collection).order_by("version")
    return (dict(row) for row in rows.values(*_fields("guidelines")))


def _queries(collection: Collection) -> Rows:
    for row in _named(collection.queries.all(), _fields("queries")):
        yield row | {"tags": canonical(row["tags"]), "weight": row["weight"] + 0.0}


def _documents(collection: Collection) -> Rows:
    fields = _fields("documents")
    for row in _rows(collection.documents.all(), *fields, at_once=LARGE_AT_ONCE):
        found = dict(zip(fields, row, strict=True))
        yield found | {"fields": canonical(found["fields"])}


def canonical(value: Any) -> Any:
    """JSON as every database gives it back: PostgreSQL sorts names, and has neither exponents nor -0."""
    if isinstance(value, dict):
        return {name: canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [canonical(each) for each in value]
    if isinstance(value, float):
        exact = Decimal(repr(value))
        return int(exact) if "e" in repr(value) and exact == exact.to_integral_value() else value + 0.0
    return value


def _systems(collection: Collection) -> Rows:
    return _named(System.objects.filter(collection=collection), _fields("systems"))


def _rankings(collection: Collection) -> Rows:
    rows = Ranking.objects.filter(system__collection=collection)
    columns = ("system__name", "query__key", "documents", "scores")
    waiting: list[tuple] = []
    for row in _rows(rows, *columns, at_once=LARGE_AT_ONCE):
        waiting.append(row)
        if sum(len(each[2]) for each in waiting) > 50 * AT_ONCE:
            yield from _with_keys(waiting)
            waiting = []
    yield from _with_keys(waiting)


def _with_keys(rows: list[tuple]) -> Rows:
    if not rows:
        return
    keys = outlet.keys_of(np.unique(np.concatenate([documents for *_, documents, _ in rows])).tolist())
    for system, query, documents, scores in rows:
        yield {
            "system": system,
            "query": query,
            "documents": [keys[pk] for pk in documents.tolist()],
            "scores": None if scores is None else scores.tolist(),
        }


def _raters(collection: Collection) -> Rows:
    of_rater: dict[int, list[str]] = {}
    narrowed = Rater.queries.through.objects.filter(rater__collection=collection)
    for rater, query in narrowed.order_by("query").values_list("rater", "query__key"):
        of_rater.setdefault(rater, []).append(query)
    fields = [name for name in _fields("raters") if name != "queries"]
    for pk, *row in _rows(Rater.objects.filter(collection=collection), "pk", *fields):
        found = dict(zip(fields, row, strict=True)) | {"queries": of_rater.get(pk, [])}
        yield {name: found[name] for name in _fields("raters")}


def _pairs(collection: Collection) -> Rows:
    anchor = ("use", "grade__value", "explanation", "created_at")
    fields = [name for name in _fields("pairs") if name not in (*PAIR, "anchor")]
    columns = ["query__key", "document__key", *fields, *(f"anchor__{name}" for name in anchor)]
    names = [*PAIR, *fields]
    for row in _rows(Pair.objects.filter(query__collection=collection), *columns):
        known = dict(zip(("use", "grade", "explanation", "created_at"), row[len(names) :], strict=True))
        yield dict(zip(names, row, strict=False)) | {"anchor": known if known["use"] else None}


def _assignments(collection: Collection) -> Rows:
    """Who holds a pair here holds it nowhere else: it is open. What was mixed in for them alone is not told."""
    rows = Assignment.objects.filter(pair__query__collection=collection)
    rows = rows.exclude(state=Assignment.State.LEASED, extra=True)
    for row in _of_pair(rows, "assignments", state="state"):
        state = row.pop("state")
        yield row | {"rater": row["rater"] if state == Assignment.State.DONE else None}


def _ratings(collection: Collection) -> Rows:
    return _of_pair(Rating.objects.filter(query__collection=collection), "ratings", grade="grade__value")


def _adjudications(collection: Collection) -> Rows:
    rows = Adjudication.objects.filter(pair__query__collection=collection)
    return _of_pair(rows, "adjudications", grade="grade__value")


def _imports(collection: Collection) -> Rows:
    rows = _with_events(collection)
    ids = _ids(rows)
    for row in _named(rows, _fields("imports"), number="pk"):
        yield row | {"number": _place(ids, row["number"]), "files": [file["name"] for file in row["files"]]}


def _with_events(collection: Collection) -> QuerySet:
    return Job.objects.filter(Exists(RatingEvent.objects.filter(job=OuterRef("pk"))), collection=collection)


def _events(collection: Collection) -> Rows:
    """An event is named by its line."""
    rows = RatingEvent.objects.filter(pair__query__collection=collection)
    ids, imports = _ids(rows), _ids(_with_events(collection))
    for row in _of_pair(rows, "events", number="pk", **{"import": "job"}):
        seconds = row["seconds"]
        yield row | {
            "number": _place(ids, row["number"]),
            "undoes": _place(ids, row["undoes"]),
            "import": _place(imports, row["import"]),
            "seconds": None if seconds is None else seconds + 0.0,
        }


def _checks(collection: Collection) -> Rows:
    ids = _ids(RatingEvent.objects.filter(pair__query__collection=collection))
    for row in _of_pair(Check.objects.filter(rater__collection=collection), "checks"):
        yield row | {"event": _place(ids, row["event"])}


def _place(ids: np.ndarray, pk: int | None) -> int | None:
    return None if pk is None else int(np.searchsorted(ids, pk)) + 1


WRITERS: dict[str, Callable[[Collection], Rows]] = {
    "collection": _collection,
    "grades": _grades,
    "guidelines": _guidelines,
    "queries": _queries,
    "documents": _documents,
    "systems": _systems,
    "rankings": _rankings,
    "raters": _raters,
    "pairs": _pairs,
    "assignments": _assignments,
    "ratings": _ratings,
    "adjudications": _adjudications,
    "imports": _imports,
    "events": _events,
    "checks": _checks,
}
