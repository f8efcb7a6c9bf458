"""Import of documents."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from ...formats.columns import listed
from ...formats.refusal import KEEP_ONE, Option
from ...formats.registry import Format
from ...formats.source import Source
from ...formats.strict_json import as_stored
from ...models import Collection, Document, FormerText, Job
from ...words import EXAMPLES, counted, first_keys
from .report import Report
from .stage import Import, batched_by_length, put, staged

TABLE = "document (key TEXT, title TEXT, body TEXT, url TEXT, fields TEXT, file INTEGER, line INTEGER)"
CONTENT = ["title", "body", "url", "fields"]
READ = 1_000  # rows at a time
HEAVY = 4_000_000  # characters at a time
Content = dict[str, Any]


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
            for file, source in enumerate(self.sources):
                if source.of_pairs:
                    self._leave_out_varying(file, source)
            if report.refused:
                return report
            self.drop_repeats("document", CONTENT)
            self.refuse_repeats("document")
            if report.refused:
                return report
            (self.total,) = self.stage.execute("SELECT COUNT(*) FROM document").fetchone()
            return self.concluded()

    def _leave_out_varying(self, file: int, source: Source) -> None:
        """Leave out, and tell, the fields that differ between rows of a document: they belong to the pairs.

        Another title, body or url is refused.
        """
        varying: set[str] = set()
        columns = "SELECT key, title, body, url, fields, line FROM document WHERE file = ? ORDER BY key, rowid"
        for key, group in groupby(self.stage.execute(columns, [file]), key=lambda row: row[0]):
            (_, *first_texts, first_fields, first_line), *repeats = group
            fields = json.loads(first_fields or "{}")
            for _, *texts, row_fields, line in repeats:
                changed = json.loads(row_fields or "{}")
                names = fields.keys() | changed.keys()
                varying |= {name for name in names if fields.get(name) != changed.get(name)}
                for role, before, text in zip(CONTENT[:3], first_texts, texts, strict=True):
                    if text != before:
                        problem = f"document {key} has another {role}"
                        of_pair = Option("columns", {role: ""}, "the column belongs to the pair")
                        place = source.at(first_line)
                        self.report.refuse(source.refusal(line, problem, KEEP_ONE, of_pair, other=place))
        if varying:
            kept = partial(_without, names=varying)
            self.stage.create_function("kept", 1, kept, deterministic=True)
            self.stage.execute("UPDATE document SET fields = kept(fields) WHERE file = ?", [file])
            told = "left out, as they differ between the rows of a document and belong to the pair"
            self.report.facts.append(f"{source.name}: {told}: {listed(sorted(varying))}.")

    def _foresee(self) -> None:
        for _ in self._batches():
            pass

    def _tell(self) -> None:
        report = self.report
        report.tell_of_changes(counted(self.total, "document"))
        if count := self.textless:
            lacking = f"{counted(count, 'document has', 'documents have')} neither a title nor a body"
            report.warnings.append(f"{lacking}: {first_keys(self.first_textless, count=count)}.")
        if not self.checking:
            self.warn_of_shown()

    def _rows(self, source: Source, file: int, format: Format) -> Iterator[tuple]:
        for d in self.rows_of(source, format.reads["documents"]):
            fields = None if d.fields is None else json.dumps(d.fields)
            yield d.key, d.title, d.body, d.url, fields, file, d.line

    def _batches(self) -> Iterator[tuple[list[Document], list[tuple[Document, Content]]]]:
        """The new documents, and stored ones with their new content, in batches. Counts these and the others."""
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
                    self.textless += 1
                    if self.textless <= EXAMPLES:
                        self.first_textless.append(key)
                if key not in stored:
                    new.append(Document(collection=self.collection, key=key, **content))
                elif content != before:
                    changed.append((stored[key], content))
            unchanged = len(batch) - len(new) - len(changed)
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
            done += len(batch)
            self.progress("writing", done / self.total, done)

    def _write(self, job: Job) -> None:
        for new, changed in self._batches():
            for document in new:
                document.job = job
            Document.objects.bulk_create(new)
            former = (FormerText(job=job, document=document, **_content(document)) for document, _ in changed)
            FormerText.objects.bulk_create(former)
            write_texts(changed)


def _without(fields: str | None, names: set[str]) -> str | None:
    """The JSON of fields without these; None without any."""
    left = {name: value for name, value in json.loads(fields or "{}").items() if name not in names}
    return json.dumps(left) if left else None


def write_texts(texts: Iterable[tuple[Document, Content]]) -> None:
    """Give stored documents another title, body, url and fields."""
    documents = []
    for document, content in texts:
        for name in CONTENT:
            setattr(document, name, content[name])
        documents.append(document)
    # As an upsert one statement writes many rows; bulk_update would send a CASE with every value.
    upsert = {"update_conflicts": True, "unique_fields": ["id"], "update_fields": CONTENT}
    Document.objects.bulk_create(documents, **upsert)


def _content(document: Document) -> Content:
    return {name: getattr(document, name) for name in CONTENT}
