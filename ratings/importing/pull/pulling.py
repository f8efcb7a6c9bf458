"""Send the queries of a collection to a search engine, and import its results as the rankings of a system."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from django.db import transaction

from ...formats import tables, values
from ...formats.rows import RunLine
from ...formats.source import Source
from ...models import Collection, Query, Ranking
from .. import intake
from ..intake import Report
from ..intake.stage import Progress, silent
from .dialects import Dialect, Hit
from .fetching import RETRIED, Limits, OverLimit, Refused, WrongStatus, fetched
from .places import Place

# The cure of an answer beyond each of the Limits, by options of the command.
CURES = {
    "seconds": "Raise --seconds",
    "total_seconds": "Raise --total-seconds",
    "bytes": "Ask for less of each, or raise --size",
}


@dataclass(frozen=True)
class Engine:
    """A search engine: its place, the dialect of requests and answers, and limits."""

    place: Place
    dialect: Dialect
    headers: Mapping[str, str]
    limits: Limits

    def hits(self, query: Query, depth: int) -> list[Hit]:
        """The first results for a query. Raises Refused, with the query in the message."""
        parameters = {"query": query.text, "need": query.need, "key": query.key, "depth": depth}
        body = self.dialect.content(parameters)
        headers = {"Accept": "application/json", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        target = self.dialect.target(self.place.path, self.place.query, parameters)
        try:
            answer = fetched(self.place, self.dialect.method, target, body, headers, self.limits)
            return self.dialect.read(answer, depth)
        except ValueError as error:
            raise Refused(f"Query {query.key}: {_with_cure(error)}") from error


def _with_cure(error: ValueError) -> str:
    """The problem, and its cure where the error has none of its own."""
    if isinstance(error, OverLimit):
        return f"{error}. {CURES[error.limit]}"
    if isinstance(error, WrongStatus):
        busy = error.status in RETRIED
        return f"{error}. {'Try later, or with fewer queries' if busy else 'Check URL, body and authorization'}"
    return str(error)


def pull(
    collection: Collection,
    *,
    system: str,
    engine: Engine,
    depth: int,
    queries: Iterable[str] = (),
    keep_first: bool = False,
    progress: Progress = silent,
) -> Report:
    """Import the first `depth` results of each query, or of the given ones, and return the report.

    The import begins when all answers are there. Documents that already have a text keep it. Raises ValueError for
    an unknown query or an invalid name, and Refused for an unusable answer.
    """
    values.checked_key(system, "name of the system", values.SYSTEM_NAME_LENGTH)
    to_send = _queries(collection, system, list(queries))
    with tempfile.TemporaryFile() as run, tempfile.TemporaryFile() as documents:
        seen: set[str] = set()
        for done, query in enumerate(to_send, 1):
            hits = engine.hits(query, depth)
            run.writelines(line.encode() for line in tables.write_as_json("results", _lines(query, hits, system)))
            _write_texts(collection, documents, hits, seen)
            progress("asking the engine", done / len(to_send), done)
        with transaction.atomic():
            report = _import(collection, system, run, documents, keep_first, progress)
            transaction.set_rollback(report.refused > 0)  # texts that no result needs
        return report


def _queries(collection: Collection, system: str, keys: list[str]) -> list[Query]:
    """The queries to send, in order. Raises ValueError for an unknown query and one that already has a ranking."""
    rows = collection.queries.order_by("pk")
    if keys:
        rows = rows.filter(key__in=keys)
    queries = list(rows)
    if missing := [key for key in keys if key not in {query.key for query in queries}]:
        raise ValueError(f"{collection.slug} has no query {values.quoted(missing[0])}")
    if not queries:
        raise ValueError(f"{collection.slug} has no queries: use import_queries first")
    ranked = Ranking.objects.filter(system__collection=collection, system__name=system)
    if before := ranked.filter(query__in=queries).select_related("query").first():
        raise ValueError(
            f"{system} already has a ranking for query {before.query.key}, and a ranking is never overwritten."
            " Give the new version its own name with --system, or name other queries with --query"
        )
    return queries


def _lines(query: Query, hits: list[Hit], system: str) -> Iterator[RunLine]:
    """The results as rows; without scores, each gets 1 / rank. Raises Refused if only some have a score."""
    lacking = [rank for rank, hit in enumerate(hits, 1) if hit.score is None]
    if lacking and len(lacking) < len(hits):
        raise Refused(f"Query {query.key}: hit {lacking[0]} has no score, though others have one")
    for rank, hit in enumerate(hits, 1):
        yield RunLine(0, query.key, hit.document, rank, 1 / rank if hit.score is None else hit.score, system)


def _write_texts(collection: Collection, file: BinaryIO, hits: list[Hit], seen: set[str]) -> None:
    """Write the texts of documents that have none in the database and are not in `seen`, for import_documents."""
    new = {hit.document: hit for hit in reversed(hits) if hit.document not in seen}  # of two hits the first one
    seen |= new.keys()
    with_text = collection.documents.filter(key__in=new).exclude(title="", body="")
    for key in with_text.values_list("key", flat=True):
        del new[key]
    for key, hit in new.items():
        if hit.title or hit.body or hit.url:
            row = {"id": key, "title": hit.title, "body": hit.body, "url": hit.url}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _import(
    collection: Collection, system: str, run: BinaryIO, documents: BinaryIO, keep_first: bool, progress: Progress
) -> Report:
    """Import texts and rankings, and return the report. The rank of a result is its place, whatever its score."""
    if not run.tell():
        nothing = "The engine returned nothing for any of the queries, and nothing was written."
        return Report(warnings=[nothing])
    texts = Report()
    if documents.tell():
        documents.seek(0)
        source = Source("the texts", documents)
        texts = intake.import_documents(collection, [source], format="jsonl", progress=progress)
    if texts.refused:
        return texts
    run.seek(0)
    choices = {"system": system, "order": "rank", "keep_first": keep_first, "format": "jsonl", "queries_by": "key"}
    report = intake.import_run(collection, [Source("the answers", run)], **choices, progress=progress)
    report.warnings += texts.warnings
    report.facts += [f"Texts: {fact}" for fact in texts.facts]
    return report
