"""The preview of a file: its first rows, as the import would read them. The rest of the file is not read."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from threading import Lock

from django.conf import settings

from ..formats import columns, header, parquet, registry, tables, xlsx
from ..formats.refusal import Refusal
from ..formats.registry import BY_NAME, Format, recognised
from ..formats.rows import one_by_one
from ..formats.source import Source
from ..models import Job, plain_value
from . import uploads
from .intake import opening

ROWS = 8
TEXT = 120  # characters of a long cell
USUAL = {"queries": "topics", "documents": "jsonl", "results": "trec-run", "ratings": "csv"}  # if not recognised
HEADS = {
    "queries": ["key", "text", "need"],
    "documents": ["key", "title", "body", "url"],
    "results": ["query", "document", "rank", "score", "system"],
    "ratings": ["query", "document", "rater", "grade", "reason", "comment"],
}


@dataclass
class Preview:
    format: Format | None = None
    name: str = ""  # of the file: the first one, or the first of an archive
    columns: dict[str, str] = field(default_factory=dict)  # of a table: name -> role, "" for none
    heads: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)  # with their lines
    refusals: list[Refusal] = field(default_factory=list)
    sheets: list[str] = field(default_factory=list)  # of a workbook


def certain_kind(file: dict) -> str | None:
    """The kind of rows in a stored file; None where that is not certain. Raises OSError, Refused."""
    with uploads.streamed(file) as stream, opening.one_by_one([(file["name"], stream)]) as sources:
        return registry.certain_kind(next(sources))


class Busy(ConnectionError):
    """The previews of others take too long."""


_turn = Lock()


def preview(job: Job) -> Preview:
    """The preview of the first file of a job. Raises OSError where it is no longer stored, and Busy.

    One at a time in a process: the first rows of a table can take hundreds of megabytes.
    """
    if not _turn.acquire(timeout=settings.PATIENCE):
        raise Busy("another preview is being made")
    try:
        return _preview(job)
    finally:
        _turn.release()


def _preview(job: Job) -> Preview:
    if not job.kind:
        return _raw_preview(job)
    with sources_of(job) as sources:
        source = next(sources)
        format = format_of(job, source)
        if isinstance(format, Refusal):
            return Preview(refusals=[format])
        result = Preview(format, heads=HEADS[job.kind], name=source.name)
        if format.name == "xlsx":
            result.sheets = xlsx.sheets_of(source)
        for row in islice(one_by_one(format.reads[job.kind](source)), ROWS):
            if isinstance(row, Refusal):
                result.refusals.append(row)
            else:
                result.rows.append((row.line, [_cell_text(getattr(row, name)) for name in result.heads]))
    # The reader of documents in JSON lines has no layout of columns, unless people choose them.
    if (job.kind, format.name) != ("documents", "jsonl") or job.options.get("columns") or not result.rows:
        result.columns = _columns(job, format)
    return result


def _raw_preview(job: Job) -> Preview:
    """The first records of a file whose kind of rows is not known yet, as they are in the file."""
    with sources_of(job) as sources:
        source = next(sources)
        start = source.start
        sheets = xlsx.sheets_of(source) if xlsx.is_xlsx(start) else []
        if sheets:
            rows = [item[1] for item in islice(xlsx.records(source), ROWS) if not isinstance(item, Refusal)]
        elif parquet.is_parquet(start):
            records = tables.sample("parquet", "", source)
            rows = [list(cells) for cells in [*records[:1], *(cells.values() for cells in records)]]
        else:
            rows = header.first_records(start, header.delimiter_of(start))
    width = max(map(len, rows[:ROWS]), default=0)
    cells = [[_cell_text(cell) for cell in row] + [""] * (width - len(row)) for row in rows[:ROWS]]
    heads = [str(number) for number in range(1, width + 1)]
    return Preview(name=source.name, heads=heads, rows=list(enumerate(cells, 1)), sheets=sheets)


def _columns(job: Job, format: Format) -> dict[str, str]:
    """The columns of a table: name -> role, "" for none."""
    with sources_of(job) as sources:
        source = next(sources)
        names = tables.columns_of(format.name, job.kind, source)
        chosen = {
            role: held
            for role, held in source.reading.columns.items()
            if set(columns.names_in(role, held)) <= set(names)
        }
        source.reading = replace(source.reading, columns=chosen)
        try:
            layout = tables.layout(job.kind, names, source) if names else None
        except ValueError:
            layout = None
    if layout is None:
        roles = {name: columns.usual_role(job.kind, name) for name in names}
        return roles | {name: role for role, held in chosen.items() for name in columns.names_in(role, held)}
    roles = {name: role for role, name in layout.column.items()} | dict.fromkeys(layout.raters, columns.RATERS)
    roles |= dict.fromkeys(layout.fields, columns.FIELDS)
    return {name: roles.get(name, "") for name in names}


@contextmanager
def sources_of(job: Job) -> Iterator[Iterator[Source]]:
    """The sources of the files of a job, one by one, by the options of the job. Raises OSError."""
    with ExitStack() as stack:
        files = ((file["name"], stack.enter_context(uploads.streamed(file))) for file in job.files)
        reading = opening.with_raters(opening.reading(job.options), job.collection)
        yield stack.enter_context(opening.one_by_one(files, reading))


def format_of(job: Job, source: Source) -> Format | Refusal:
    if name := job.options.get("format"):
        return BY_NAME[name]
    return recognised(source, job.kind, USUAL[job.kind])


def _cell_text(value: object) -> str:
    if isinstance(value, Decimal):
        return plain_value(value)
    text = "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT else text[:TEXT] + "…"
