"""Import of documents, and documents that are known by their key alone."""

import json
from collections.abc import Iterable, Iterator, Sequence

from django.db import connection

from .. import bulk
from ..formats.source import Source
from ..models import Collection, Document, Job, OtherText
from .publishing import CONTENT, PIECE, TEXTS, Landing, exchange, land
from .report import EXAMPLES, Report, counted, some
from .stage import Progress, batched, format_of, put, refuse_repeats, rows_of, silent, staged

TABLE = "document (key TEXT, title TEXT, body TEXT, url TEXT, fields TEXT, file INTEGER, line INTEGER)"
READ = 1_000  # rows at a time
LARGE_PIECE = 10_000  # bare documents, on PostgreSQL: nobody waits for a piece to end there


def import_documents(
    collection: Collection,
    sources: Sequence[Source],
    *,
    format: str | None = None,
    progress: Progress = silent,
    job: Job | None = None,
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
        found = _Found(stage, collection, report, progress)
        if job and job.checking:
            for _ in found.batches():
                pass
        else:
            land(
                collection, sources, report, Job.Kind.DOCUMENTS, job, lambda place: _publish(found, place, report)
            )
        if report.refused:
            return report
        textless = stage.execute(
            "SELECT key FROM document WHERE TRIM(title || body) = '' ORDER BY rowid"
        ).fetchall()
    counts = report.counts
    report.facts.append(
        f"{counted(found.total, 'document')}: {counts['new']:,} new, {counts['changed']:,} changed,"
        f" {counts['unchanged']:,} unchanged."
    )
    if textless:
        keys = some([key for (key,) in textless[:EXAMPLES]], count=len(textless))
        report.warnings.append(
            f"{counted(len(textless), 'document has', 'documents have')} neither a title nor a body: {keys}."
        )
    return report


class _Found:
    """The documents of the files, held against those of the collection."""

    def __init__(self, stage, collection: Collection, report: Report, progress: Progress) -> None:
        self.stage, self.collection, self.report, self.progress = stage, collection, report, progress
        (self.total,) = stage.execute("SELECT COUNT(*) FROM document").fetchone()

    def batches(self) -> Iterator[tuple[list[Document], list[OtherText]]]:
        """Some at a time: the new ones, and other texts for those that are there. Counts them."""
        rows = self.stage.execute("SELECT key, title, body, url, fields FROM document ORDER BY rowid")
        done = 0
        for batch in batched(rows, READ):
            stored = {d.key: d for d in self.collection.documents.filter(key__in=[key for key, *_ in batch])}
            new, changed = [], []
            for key, *texts, fields in batch:
                content = dict(zip(CONTENT, (*texts, json.loads(fields)), strict=True))
                document = stored.get(key)
                if document is None:
                    new.append(Document(collection=self.collection, key=key, **content))
                elif any(getattr(document, name) != value for name, value in content.items()):
                    changed.append(OtherText(document=document, **content))
            unchanged = len(batch) - len(new) - len(changed)
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
            done += len(batch)
            self.progress("writing", done / self.total, done)


def _publish(found: _Found, place: Landing, report: Report) -> None:
    """Texts of documents that are seen already are exchanged last, as many as possible with the rest."""
    for new, changed in found.batches():
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
    with place.published(report):
        exchange(place.job)


# Hardly ever is a job staging.
_SEEN = "(job_id IS NULL OR job_id NOT IN (SELECT id FROM ratings_job WHERE staging AND id <> %(job)s))"
# Keys come by the million with a run. They travel as one text: ten times as fast as a model instance and a
# placeholder for each, and no database limits its length.
_GIVEN = {
    "sqlite": "json_each(%(keys)s) AS given ORDER BY given.key",
    "postgresql": "json_array_elements_text(%(keys)s) WITH ORDINALITY AS given (value, place) ORDER BY place",
}
# One by one: PostgreSQL would rather read the whole table for some thousand keys, and again for the next.
_FIND = f"""SELECT (SELECT id FROM ratings_document
    WHERE collection_id = %(collection)s AND {_SEEN} AND key = given.value) FROM """


def known_ids(collection: Collection, keys: Iterable[str], job: Job | None = None) -> dict[str, int]:
    """Key -> id of the documents that all see, and of those that `job` wrote. One query for 5,000 keys."""
    found = {}
    with connection.cursor() as cursor:
        for batch in batched(sorted(keys)):
            given = {"collection": collection.pk, "job": job.pk if job else 0, "keys": json.dumps(batch)}
            cursor.execute(_FIND + _GIVEN[connection.vendor], given)
            found.update((key, pk) for key, (pk,) in zip(batch, cursor.fetchall(), strict=True) if pk)
    return found


def ids_of(place: Landing, keys: set[str], report: Report) -> dict[str, int]:
    """Key -> id; documents that are missing are made in pieces, with their key alone, and counted."""
    job = place.job
    ids = known_ids(job.collection, keys, job)
    missing = sorted(keys - ids.keys())
    for piece in batched(missing, PIECE if connection.vendor == "sqlite" else LARGE_PIECE):
        with place.piece(len(piece)):
            ids.update(_made_bare(job, piece))
    report.counts["documents"] += len(missing)
    return ids


def _made_bare(job: Job, keys: list[str]) -> Iterable[tuple[str, int]]:
    """Key and id of each: in the way that is the fastest on each database."""
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
            # A key has no blank in it, but may have what COPY escapes with.
            escaped = (key.replace("\\", "\\\\") for key in keys)
            copy.write(
                "".join(f"{pk}\t{of_all}\t{key}\t\t\t\t{{}}\n" for pk, key in zip(ids, escaped, strict=True))
            )
        return zip(keys, ids, strict=True)


class Strangers:
    """How many documents of an import nobody knows yet. Kept on disk, for they come by the million."""

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
            f" {'is' if made == 1 else 'are'} kept by key alone until documents are imported that bring the text."
        )
