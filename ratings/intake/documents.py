"""Import of documents, and rows for documents of which only the key is known."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

from ..database import bulk
from ..formats.registry import Format
from ..formats.source import Source
from ..formats.strict_json import as_stored
from ..models import Collection, Document, Job, OtherText
from .publishing import CONTENT, PIECE, TEXTS, Landing, exchange
from .report import EXAMPLES, Report, counted, first_keys, tell_of_repeats
from .stage import Import, batched, batched_by_length, drop_repeats, put, refuse_repeats, staged

TABLE = "document (key TEXT, title TEXT, body TEXT, url TEXT, fields TEXT, file INTEGER, line INTEGER)"
READ = 1_000  # rows at a time
# Characters at a time. On SQLite raters wait for a piece, and its job has no heartbeat meanwhile.
HEAVY = 4_000_000
LARGE_PIECE = 10_000  # bare documents, on PostgreSQL: nobody waits for a piece to end there


def import_documents(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of adding documents and replacing the text of stored ones. `choices` are fields of Import."""
    return DocumentsImport(collection, sources, **choices).run()


class DocumentsImport(Import):
    """An import of documents. A part that the file does not have stays as it is stored, and is empty at first."""

    kind, usual_format = "documents", "jsonl"

    def run(self) -> Report:
        report = self.report
        self.textless, self.first_textless = 0, []  # how many documents stay without a text; keys
        with staged(TABLE) as self.stage:
            for file, source in enumerate(self.sources):
                if format := self.format_of(source):
                    put(self.stage, "document", self._rows(source, file, format))
            drop_repeats(self.stage, "document", CONTENT, report)
            refuse_repeats(self.stage, "document", "document", self.sources, report)
            if report.refused:
                return report
            (self.total,) = self.stage.execute("SELECT COUNT(*) FROM document").fetchone()
            return self.concluded(Job.Kind.DOCUMENTS, self._publish)

    def _foresee(self) -> None:
        for _ in self._batches():
            pass

    def _tell(self) -> None:
        report = self.report
        counts = report.counts
        report.facts.append(
            f"{counted(self.total, 'document')}: {counts['new']:,} new, {counts['changed']:,} changed,"
            f" {counts['unchanged']:,} unchanged."
        )
        tell_of_repeats(report)
        if count := self.textless:
            keys = first_keys(self.first_textless, count=count)
            report.warnings.append(
                f"{counted(count, 'document has', 'documents have')} neither a title nor a body: {keys}."
            )
        if not self.checking:
            self.warn_of_shown()

    def _rows(self, source: Source, file: int, format: Format) -> Iterator[tuple]:
        for d in self.rows_of(source, format.reads["documents"]):
            fields = None if d.fields is None else json.dumps(d.fields)
            yield d.key, d.title, d.body, d.url, fields, file, d.line

    def _batches(self) -> Iterator[tuple[list[Document], list[OtherText]]]:
        """The new documents, and the new texts of stored ones, in batches. Counts them and the unchanged ones."""
        rows = self.stage.execute("SELECT key, title, body, url, fields FROM document ORDER BY rowid")
        done = 0
        for batch in batched_by_length(rows, READ, HEAVY):
            stored = {d.key: d for d in self.collection.documents.filter(key__in=[key for key, *_ in batch])}
            new, changed = [], []
            for key, *texts, fields in batch:
                brought = zip(CONTENT, (*texts, fields and as_stored(fields)), strict=True)
                before = _content(stored.get(key) or Document())
                content = before | {name: part for name, part in brought if part is not None}
                if not (content["title"] + content["body"]).strip():
                    self._count_textless(key)
                if key not in stored:
                    new.append(Document(collection=self.collection, key=key, **content))
                elif content != before:
                    changed.append(OtherText(document=stored[key], **content))
            unchanged = len(batch) - len(new) - len(changed)
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
            done += len(batch)
            self.progress("writing", done / self.total, done)

    def _count_textless(self, key: str) -> None:
        self.textless += 1
        if self.textless <= EXAMPLES:
            self.first_textless.append(key)

    def _publish(self, place: Landing) -> None:
        """Write the documents. The texts of stored ones are exchanged last, TEXTS of them while publishing."""
        for new, changed in self._batches():
            for row in (*new, *changed):
                row.job = place.job
            if new or changed:
                with place.piece(len(new) + len(changed)):
                    Document.objects.bulk_create(new)
                    OtherText.objects.bulk_create(changed)
        waiting = place.job.other_texts.filter(exchanged=False)
        while waiting[TEXTS:].exists():
            with place.piece(TEXTS):
                exchange(place.job)
        with place.published(self.report):
            exchange(place.job)


def _content(document: Document) -> dict[str, Any]:
    return {name: getattr(document, name) for name in CONTENT}


# Visible to this import. The subquery is nearly always empty: few jobs are staging.
_VISIBLE = "(job_id IS NULL OR job_id NOT IN (SELECT id FROM ratings_job WHERE staging AND id <> %(job)s))"
# A run may bring a million keys. They are sent as one JSON text: ten times as fast as a model instance and a
# placeholder for each key, and no database limits its length.
_KEYS = {
    "sqlite": "json_each(%(keys)s) AS given ORDER BY given.key",
    "postgresql": "json_array_elements_text(%(keys)s) WITH ORDINALITY AS given (value, place) ORDER BY place",
}
# A subquery for each key: for a join with some thousand keys PostgreSQL would read the whole table each time.
_FIND = f"""SELECT (SELECT id FROM ratings_document
    WHERE collection_id = %(collection)s AND {_VISIBLE} AND key = given.value) FROM """


def known_ids(collection: Collection, keys: Iterable[str], job: Job | None = None) -> dict[str, int]:
    """Key -> id of the published documents and of those that `job` wrote. One database query for 5,000 keys."""
    ids = {}
    with connection.cursor() as cursor:
        for batch in batched(sorted(keys)):
            parameters = {"collection": collection.pk, "job": job.pk if job else 0, "keys": json.dumps(batch)}
            cursor.execute(_FIND + _KEYS[connection.vendor], parameters)
            ids.update((key, pk) for key, (pk,) in zip(batch, cursor.fetchall(), strict=True) if pk)
    return ids


def ids_of(place: Landing, keys: set[str], report: Report) -> dict[str, int]:
    """Key -> id. Missing documents are made in pieces, with only their key, and are counted."""
    job = place.job
    in_order = sorted(keys)
    ids = known_ids(job.collection, in_order, job)
    missing = [key for key in in_order if key not in ids]
    for piece in batched(missing, PIECE if connection.vendor == "sqlite" else LARGE_PIECE):
        with place.piece(len(piece)):
            ids.update(_made_bare(job, piece))
    report.counts["documents"] += len(missing)
    return ids


def _made_bare(job: Job, keys: list[str]) -> Iterable[tuple[str, int]]:
    """Key and id of each new document that has only a key. Each database is written in its fastest way."""
    columns = "collection_id, job_id, key, title, body, url, fields"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                f"INSERT INTO ratings_document ({columns})"
                " SELECT %(collection)s, %(job)s, value, '', '', '', '{}'"
                " FROM json_each(%(keys)s) RETURNING key, id",
                {"collection": job.collection_id, "job": job.pk, "keys": json.dumps(keys)},
            )
            return cursor.fetchall()
        ids = bulk.new_ids(Document, len(keys))
        with cursor.copy(f"COPY ratings_document (id, {columns}) FROM STDIN") as copy:
            of_all = f"{job.collection_id}\t{job.pk}"
            rows = "".join(f"{pk}\t{of_all}\t{key}\t\t\t\t{{}}\n" for pk, key in zip(ids, keys, strict=True))
            # A key has no blank, but it may have a backslash, with which COPY escapes.
            copy.write(rows.replace("\\", "\\\\"))
        return zip(keys, ids, strict=True)


class Strangers:
    """The documents of an import that the collection lacks, counted on disk, as there may be millions."""

    def __init__(self, stage, collection: Collection) -> None:
        self.stage, self.collection = stage, collection
        stage.execute("CREATE TABLE stranger (key TEXT PRIMARY KEY) WITHOUT ROWID")

    def look_at(self, keys: set[str]) -> None:
        strange = keys - known_ids(self.collection, keys).keys()
        self.stage.executemany("INSERT OR IGNORE INTO stranger VALUES (?)", ((key,) for key in strange))

    @property
    def count(self) -> int:
        return self.stage.execute("SELECT COUNT(*) FROM stranger").fetchone()[0]


def tell_of_bare_documents(report: Report) -> None:
    if made := report.counts["documents"]:
        report.facts.append(
            f"{counted(made, 'document was', 'documents were')} not known and"
            f" {'is' if made == 1 else 'are'} kept by key alone until an import of documents brings the text."
        )
