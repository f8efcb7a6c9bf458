"""Import of documents, and documents that are known by their key alone."""

import json
from collections.abc import Iterable, Sequence

from django.db import connection

from ..formats.source import Source
from ..models import Collection, Document
from .publishing import publishing
from .report import EXAMPLES, Report, counted, some
from .stage import Progress, batched, format_of, put, refuse_repeats, rows_of, silent, staged

TABLE = "document (key TEXT, title TEXT, body TEXT, url TEXT, fields TEXT, file INTEGER, line INTEGER)"
CONTENT = ["title", "body", "url", "fields"]


def import_documents(
    collection: Collection, sources: Sequence[Source], *, format: str | None = None, progress: Progress = silent
) -> Report:
    """Add documents and replace the text of those that are there. Without a `format` each file shows its own."""
    report = Report()
    with staged(TABLE) as stage:
        for file, source in enumerate(sources):
            found = format_of(source, "documents", format, "jsonl", report)
            documents = rows_of(source, found.reads["documents"], report, progress) if found else ()
            put(
                stage,
                "document",
                ((d.key, d.title, d.body, d.url, json.dumps(d.fields), file, d.line) for d in documents),
            )
        refuse_repeats(stage, "document", "document", sources, report)
        if report.refused:
            return report
        (total,) = stage.execute("SELECT COUNT(*) FROM document").fetchone()
        rows = stage.execute("SELECT key, title, body, url, fields FROM document ORDER BY rowid")
        with publishing(collection, sources, report):
            _publish(collection, rows, total, report, progress)
        if report.refused:
            return report
        textless = stage.execute(
            "SELECT key FROM document WHERE TRIM(title || body) = '' ORDER BY rowid"
        ).fetchall()
    counts = report.counts
    report.facts.append(
        f"{counted(total, 'document')}: {counts['new']:,} new, {counts['changed']:,} changed,"
        f" {counts['unchanged']:,} unchanged."
    )
    if textless:
        keys = some([key for (key,) in textless[:EXAMPLES]], count=len(textless))
        report.warnings.append(
            f"{counted(len(textless), 'document has', 'documents have')} neither a title nor a body: {keys}."
        )
    return report


def _publish(
    collection: Collection, rows: Iterable[tuple], total: int, report: Report, progress: Progress
) -> None:
    done = 0
    for batch in batched(rows, 1_000):
        keys = [key for key, *_ in batch]
        stored = {d.key: d for d in collection.documents.filter(key__in=keys)}
        new, changed = [], []
        for key, title, body, url, fields in batch:
            content = (title, body, url, json.loads(fields))
            document = stored.get(key) or Document(collection=collection, key=key)
            if document.pk is None:
                new.append(document)
            elif tuple(getattr(document, name) for name in CONTENT) != content:
                changed.append(document)
            document.title, document.body, document.url, document.fields = content
        Document.objects.bulk_create(new)
        # One statement writes many rows, which bulk_update does only with a CASE of every value.
        Document.objects.bulk_create(changed, update_conflicts=True, update_fields=CONTENT, unique_fields=["id"])
        report.counts.update(new=len(new), changed=len(changed), unchanged=len(batch) - len(new) - len(changed))
        done += len(batch)
        progress("writing", done / total, done)


# Keys come by the million with a run. They travel as one array: ten times as fast as a model instance and a
# placeholder for each, and no database limits its length.
_ROWS_OF_KEYS = {"sqlite": "json_each(%s)", "postgresql": "unnest(%s::text[]) AS value"}
_AMONG_KEYS = {
    "sqlite": "key IN (SELECT value FROM json_each(%s))",
    # Not a sub-select: PostgreSQL takes one for a hundred rows and may then read the table for each.
    "postgresql": "key = ANY(%s::text[])",
}


def _array(keys: list[str]) -> str | list[str]:
    return json.dumps(keys) if connection.vendor == "sqlite" else keys


def known_ids(collection: Collection, keys: Iterable[str]) -> dict[str, int]:
    """Key -> id of the documents that are there. One query for 5,000 keys."""
    found = {}
    with connection.cursor() as cursor:
        for batch in batched(keys):
            cursor.execute(
                "SELECT key, id FROM ratings_document WHERE collection_id = %s"
                f" AND {_AMONG_KEYS[connection.vendor]}",
                [collection.pk, _array(batch)],
            )
            found.update(cursor.fetchall())
    return found


def ids_of(collection: Collection, keys: set[str], report: Report) -> dict[str, int]:
    """Key -> id; documents that are missing are made with their key alone, and counted in the report."""
    ids = known_ids(collection, keys)
    missing = sorted(keys - ids.keys())
    if missing:
        _make_bare(collection, missing)
        ids |= known_ids(collection, missing)
        report.counts["documents"] += len(missing)
    return ids


def _make_bare(collection: Collection, keys: list[str]) -> None:
    with connection.cursor() as cursor:
        for batch in batched(keys):
            cursor.execute(
                "INSERT INTO ratings_document (collection_id, key, title, body, url, fields)"
                f" SELECT %s, value, '', '', '', '{{}}' FROM {_ROWS_OF_KEYS[connection.vendor]} WHERE true"
                " ON CONFLICT DO NOTHING",
                [collection.pk, _array(batch)],
            )


def tell_of_bare_documents(report: Report) -> None:
    if made := report.counts["documents"]:
        report.facts.append(
            f"{counted(made, 'document was', 'documents were')} not known and"
            f" {'is' if made == 1 else 'are'} kept by key alone until import_documents brings the text."
        )
