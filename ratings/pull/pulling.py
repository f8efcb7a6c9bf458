"""Ask an engine every query, and import what it returns as the rankings of a system."""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO

from .. import intake
from ..formats import tables, values
from ..formats.rows import RunLine
from ..formats.source import Source
from ..intake import Report
from ..intake.publishing import remove
from ..intake.stage import batched
from ..intake.undoing import undone
from ..models import Collection, Job, Query, Ranking
from .fetching import Limits, Refused, fetched
from .places import Place
from .shapes import Hit, Shape

Progress = Callable[[str, float | None, int], None]


def pull(
    collection: Collection,
    *,
    system: str,
    place: Place,
    shape: Shape,
    depth: int,
    queries: Iterable[str] = (),
    headers: Mapping[str, str],
    limits: Limits,
    keep_first: bool = False,
    progress: Progress = lambda *told: None,
) -> Report:
    """Import the first `depth` results for each query, or for those named. Nothing is written before all came.

    Documents that have a text already keep it. Raises ValueError for a query or a name that cannot be, and Refused
    where an answer cannot be used, with the query.
    """
    values.checked_key(system, "name of the system", values.SYSTEM_NAME_LENGTH)
    asked = _asked(collection, system, list(queries))
    with tempfile.TemporaryFile() as run, tempfile.TemporaryFile() as documents:
        seen: set[str] = set()
        for done, query in enumerate(asked, 1):
            hits = _hits(query, place, shape, depth, headers, limits)
            run.writelines(line.encode() for line in tables.write_run_as_json(_lines(query, hits, system)))
            _keep(documents, hits, seen)
            progress("asking", done / len(asked), done)
        return _imported(collection, system, run, documents, keep_first, progress)


def _asked(collection: Collection, system: str, keys: list[str]) -> list[Query]:
    """The queries to ask, in their order. A ranking is never overwritten: none is asked for that is there."""
    rows = collection.queries.order_by("pk")
    if keys:
        rows = rows.filter(key__in=keys)
    found = list(rows)
    if missing := [key for key in keys if key not in {query.key for query in found}]:
        raise ValueError(f"{collection.slug} has no query {values.shown(missing[0])}")
    if not found:
        raise ValueError(f"{collection.slug} has no queries: use import_queries first")
    ranked = Ranking.objects.filter(system__collection=collection, system__name=system)
    if before := ranked.filter(query__in=found).select_related("query").first():
        raise ValueError(
            f"{system} has a ranking for query {before.query.key} already, and a ranking is never overwritten."
            " Give the new version its own name with --system, or name other queries with --query"
        )
    return found


def _hits(
    query: Query, place: Place, shape: Shape, depth: int, headers: Mapping[str, str], limits: Limits
) -> list[Hit]:
    asked = {"query": query.text, "need": query.need, "key": query.key, "depth": depth}
    body = shape.content(asked)
    sent = {"Accept": "application/json", **headers}
    if body is not None:
        sent["Content-Type"] = "application/json"
    target = shape.target(place.path, place.query, asked)
    try:
        return shape.read(fetched(place, shape.method, target, body, sent, limits), depth)
    except ValueError as error:
        raise Refused(f"Query {query.key}: {error}") from error


def _lines(query: Query, hits: list[Hit], system: str) -> Iterator[RunLine]:
    """Results without scores get falling ones. Where only some lack one, nothing says what theirs would be."""
    lacking = [rank for rank, hit in enumerate(hits, 1) if hit.score is None]
    if lacking and len(lacking) < len(hits):
        raise Refused(f"Query {query.key}: hit {lacking[0]} has no score, and others have one")
    for rank, hit in enumerate(hits, 1):
        yield RunLine(0, query.key, hit.document, rank, 1 / rank if hit.score is None else hit.score, system)


def _keep(file: BinaryIO, hits: list[Hit], seen: set[str]) -> None:
    """The texts of documents that were not seen before, as import_documents reads them."""
    for hit in hits:
        if hit.document not in seen and (hit.title or hit.body or hit.url):
            row = {"id": hit.document, "title": hit.title, "body": hit.body, "url": hit.url}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        seen.add(hit.document)


def _imported(
    collection: Collection, system: str, run: BinaryIO, documents: BinaryIO, keep_first: bool, progress: Progress
) -> Report:
    """The order in which the engine returned them is the ranking, whatever the scores say.

    Two imports, texts first: should the process die between them, the next pull finds the texts and goes on.
    """
    report = Report()
    if not run.tell():
        report.warnings.append("The engine returned nothing for any of the queries, and nothing was written.")
        return report
    texts = _texts(collection, documents, progress)
    if texts.refused:
        return texts
    run.seek(0)
    given = {"system": system, "order": "rank", "keep_first": keep_first, "format": "jsonl", "queries_by": "key"}
    try:
        report = intake.import_run(collection, [Source("the answers", run)], **given, progress=progress)
    finally:
        written = report.changed and not report.refused
        stay = [] if written else _taken_back(texts)
    report.warnings += texts.warnings + [f"The texts that came with it stay. {sentence}" for sentence in stay]
    report.facts += [f"Texts: {fact}" for fact in texts.facts if written]
    return report


def _texts(collection: Collection, documents: BinaryIO, progress: Progress) -> Report:
    with tempfile.TemporaryFile() as new:
        _put_new(collection, documents, new)
        if not new.tell():
            return Report()
        new.seek(0)
        return intake.import_documents(collection, [Source("the texts", new)], format="jsonl", progress=progress)


def _taken_back(texts: Report) -> list[str]:
    """Without the results nobody asked for their texts. Returns what stands against it; they stay then."""
    job = Job.objects.filter(pk=texts.job, state=Job.State.PUBLISHED).first()
    against = undone(job) if job else []
    if job and not against:
        remove(job)
        job.delete()
    return against


def _put_new(collection: Collection, documents: BinaryIO, new: BinaryIO) -> None:
    """Leave out the documents that have a text in the record."""
    documents.seek(0)
    for lines in batched(documents, 1_000):
        keys = [json.loads(line)["id"] for line in lines]
        told = collection.documents.filter(key__in=keys).exclude(title="", body="")
        known = set(told.values_list("key", flat=True))
        new.writelines(line for line, key in zip(lines, keys, strict=True) if key not in known)
