"""Import of documents. Their rows are checked in the stage, the temporary database of an import."""

import json
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, starmap
from typing import Any

from django.db.models import Q

from ...formats.columns import FIELDS, listed
from ...formats.refusal import KEEP_ONE, Option
from ...formats.registry import Format
from ...formats.source import Source
from ...formats.strict_json import as_stored
from ...formats.values import quoted
from ...models import Collection, Document, FormerText, Job
from ...words import EXAMPLES, counted, first_keys
from .report import Report
from .stage import Import, batched_by_length, put

TABLE = "document (key TEXT, title TEXT, body TEXT, url TEXT, fields TEXT, file INTEGER, line INTEGER)"
CONTENT = ["title", "body", "url", "fields"]
DOCUMENTS_AT_ONCE = 1_000
CHARACTERS_AT_ONCE = 4_000_000
VALUES_PER_FIELD = 20  # that are compared with the queries of the collection
REPEATED = """SELECT key, title, body, url, fields, line FROM document WHERE file = ? AND key IN
    (SELECT key FROM document WHERE file = ? GROUP BY key HAVING COUNT(*) > 1) ORDER BY key, rowid"""
Content = dict[str, Any]
Row = namedtuple("Row", "key title body url fields line")  # fields as JSON


def import_documents(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of adding documents and replacing the text of stored ones. `choices` are fields of Import."""
    return DocumentsImport(collection, sources, **choices).run()


class DocumentsImport(Import):
    """An import of documents. A part that the file does not have stays as it is stored, and is empty at first."""

    kind, table, usual_format = "documents", TABLE, "jsonl"

    def _read(self) -> None:
        self.textless, self.first_textless = 0, []  # how many documents stay without a text; keys
        tables = []  # files whose columns people can choose, with their numbers
        for file, source in enumerate(self.sources):
            if format := self.format_of(source):
                put(self.stage, "document", self._rows(source, file, format))
                # Whether it is of pairs is known once its rows are read.
                if format.name in ("csv", "xlsx", "parquet") or source.of_pairs:
                    tables.append((file, source))
        for file, source in tables:
            self._leave_out_fields_of_pairs(file, source)

    def _check(self) -> None:
        if not self.report.refused:
            self.drop_repeats("document", CONTENT)
            self.refuse_repeats("document")
            (self.total,) = self.stage.execute("SELECT COUNT(*) FROM document").fetchone()

    def _leave_out_fields_of_pairs(self, file: int, source: Source) -> None:
        """Leave out, and tell, the fields that differ between the rows of one document.

        In a table with a row for each pair of a query and a document, they belong to the pair. It surely is such a
        table if its other columns show it (`source.of_pairs`), or if a value of such a field is a query of the
        collection. Otherwise the first difference is refused, and nothing is left out. Another title, body or url
        is refused in any table, by `_compare_repeated_rows`. `file`: the number of `source` among the files.
        """
        names, varying, first_difference = self._compare_repeated_rows(file, source)
        if first_difference is None:
            return
        is_of_pairs = source.of_pairs or any(self._are_queries(examples) for examples in varying.values())
        if not is_of_pairs:
            first, row, name = first_difference
            equal_fields = "|".join(sorted(names - varying.keys()))
            condition = "each row is a query with a document, and the column belongs to both"
            keep_these = Option("columns", {FIELDS: equal_fields}, condition)
            self._refuse_difference(source, first, row, quoted(name), keep_these)
            return
        without_varying = partial(_without, names=set(varying))
        self.stage.create_function("without_varying", 1, without_varying, deterministic=True)
        self.stage.execute("UPDATE document SET fields = without_varying(fields) WHERE file = ?", [file])
        left_out = "of these left out, as they differ between the rows of a document and belong to the pair"
        self.report.facts.append(f"{source.name}: {left_out}: {listed(sorted(varying))}.")

    def _compare_repeated_rows(
        self, file: int, source: Source
    ) -> tuple[set[str], dict[str, set[str]], tuple[Row, Row, str] | None]:
        """The fields in first rows of repeated documents, those that differ, and the first difference.

        Fields that differ: name -> some of the values. First difference: two rows of a document, and the name of a
        field; None for none. Rows with another title, body or url than the first one are refused.
        """
        names: set[str] = set()
        varying: dict[str, set[str]] = {}
        first_difference = None
        for first, row in self._repeated_rows(file):
            self._refuse_other_text(source, first, row)
            first_fields, fields = json.loads(first.fields or "{}"), json.loads(row.fields or "{}")
            names |= first_fields.keys()
            for name in sorted(first_fields.keys() | fields.keys()):
                first_value, value = first_fields.get(name), fields.get(name)
                if value != first_value:
                    first_difference = first_difference or (first, row, name)
                    examples = varying.setdefault(name, set())
                    if len(examples) < VALUES_PER_FIELD:
                        examples |= {str(first_value), str(value)}
        return names, varying, first_difference

    def _repeated_rows(self, file: int) -> Iterator[tuple[Row, Row]]:
        """Each row of the file whose document an earlier row has, behind the first row of that document."""
        rows = starmap(Row, self.stage.execute(REPEATED, [file, file]))
        for _, (first, *repeats) in groupby(rows, key=lambda row: row.key):
            for row in repeats:
                yield first, row

    def _refuse_other_text(self, source: Source, first: Row, row: Row) -> None:
        """Refuse a row that has another title, body or url than the first one of its document."""
        for role in ("title", "body", "url"):
            if getattr(row, role) != getattr(first, role):
                of_pair = Option("columns", {role: ""}, "the column belongs to the pair")
                self._refuse_difference(source, first, row, role, of_pair)

    def _refuse_difference(self, source: Source, first: Row, row: Row, what: str, option: Option) -> None:
        problem = f"document {row.key} has another {what}"
        self.report.refuse(source.refusal(row.line, problem, KEEP_ONE, option, other=source.at(first.line)))

    def _are_queries(self, texts: set[str]) -> bool:
        """Whether one of the texts is that of a query of the collection, or its key."""
        return self.collection.queries.filter(Q(text__in=texts) | Q(key__in=texts)).exists()

    def _foresee(self) -> None:
        for _ in self._batches():
            pass

    def _tell(self) -> None:
        report = self.report
        report.tell_of_changes(counted(self.total, "document"))
        if self.textless:
            textless = f"{counted(self.textless, 'document has', 'documents have')} neither a title nor a body"
            report.warnings.append(f"{textless}: {first_keys(self.first_textless, count=self.textless)}.")
        if not self.checking:
            self.warn_of_revealing_presentation()

    def _rows(self, source: Source, file: int, format: Format) -> Iterator[tuple]:
        for row in self.rows_of(source, format.reads["documents"]):
            fields = None if row.fields is None else json.dumps(row.fields)
            yield row.key, row.title, row.body, row.url, fields, file, row.line

    def _batches(self) -> Iterator[tuple[list[Document], list[tuple[Document, Content]]]]:
        """The new documents, and changed ones with their new content, in batches.

        Counts new, changed and unchanged documents in the report, and those without a text in `textless`.
        """
        rows = self.stage.execute("SELECT key, title, body, url, fields FROM document ORDER BY rowid")
        done = 0
        for batch in batched_by_length(rows, _characters, size=DOCUMENTS_AT_ONCE, length=CHARACTERS_AT_ONCE):
            documents = self.collection.documents.filter(key__in=[key for key, *_ in batch])
            stored = {document.key: document for document in documents}
            new, changed = [], []
            for key, title, body, url, fields in batch:
                # `as_stored`: as the database returns the fields, so that equal ones do not count as a change.
                row = {"title": title, "body": body, "url": url, "fields": fields and as_stored(fields)}
                former_content = content_of(stored.get(key) or Document())
                # What the file does not have is None in the row, and stays as it is.
                content = former_content | {name: value for name, value in row.items() if value is not None}
                if not (content["title"] + content["body"]).strip():
                    self.textless += 1
                    if self.textless <= EXAMPLES:
                        self.first_textless.append(key)
                if key not in stored:
                    new.append(Document(collection=self.collection, key=key, **content))
                elif content != former_content:
                    changed.append((stored[key], content))
            unchanged = len(batch) - len(new) - len(changed)
            # `counts` is a Counter: this adds to the batches before.
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
            done += len(batch)
            self.progress("writing", done / self.total, done)

    def _write(self, job: Job) -> None:
        for new, changed in self._batches():
            for document in new:
                document.job = job
            Document.objects.bulk_create(new)
            former = (FormerText(job=job, document=document, **content_of(document)) for document, _ in changed)
            FormerText.objects.bulk_create(former)
            write_texts(changed)


def _characters(row: Sequence[str | None]) -> int:
    return sum(len(text) for text in row if text)


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


def content_of(document: Document) -> Content:
    """Its title, body, url and fields."""
    return {name: getattr(document, name) for name in CONTENT}
