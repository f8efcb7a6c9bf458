"""The preview of a file: its first rows, as they are and as the import would read them, and no more of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain, islice
from threading import Lock

from django.conf import settings

from ..formats import beir, columns, header, parquet, registry, tables, xlsx
from ..formats.refusal import Refusal
from ..formats.registry import BY_NAME, Format, recognised
from ..formats.rows import one_by_one
from ..formats.source import Reading, Source
from ..models import Job, plain_value
from . import uploads
from .intake import opening
from .proposing import lacking, proposed

ROWS_SHOWN = 8
LONGEST_CELL = 120  # characters
# By kind of rows, for a file whose format is not recognised.
USUAL_FORMATS = {"queries": "topics", "documents": "jsonl", "results": "trec-run", "ratings": "csv"}
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
    proposed: dict[str, str] = field(default_factory=dict)  # name -> role that people have to confirm
    cells: list[list[str]] = field(default_factory=list)  # of a table: its first rows, a cell for each column
    lacking: list[str] = field(default_factory=list)  # the roles that need a column and have none
    heads: list[str] = field(default_factory=list)  # of the columns of `rows`
    rows: list[tuple[int, list[str]]] = field(default_factory=list)  # as they would be read, with their lines
    sheets: list[str] = field(default_factory=list)  # of a workbook


def certain_kind(files: Sequence[dict], encoding: str | None = None) -> str | None:
    """The kind of rows in stored files, by the first; None where that is not certain. Raises OSError, Refused."""
    with stored_sources(files[:1], Reading(encoding=encoding)) as sources:
        first = next(sources)
        others_in_archive = [source.name for source in sources]
        other_files = [file["name"] for file in files[1:]]
        is_whole = beir.is_whole([first.name, *others_in_archive, *other_files])
        return Job.Kind.BEIR.value if is_whole else registry.certain_kind(first)


_turn = Lock()


def preview(job: Job) -> Preview:
    """The preview of the first file of a job. Raises OSError where it is no longer stored.

    One at a time in a process: the first rows of a table can take hundreds of megabytes. Raises ConnectionError
    where previews of other jobs take too long.
    """
    if not _turn.acquire(timeout=settings.PATIENCE):
        raise ConnectionError("another preview is being made")
    try:
        return _preview(job)
    finally:
        _turn.release()


def _preview(job: Job) -> Preview:
    """The preview of the first file of a job: its rows as they would be read, and the columns of a table."""
    if job.kind == Job.Kind.BEIR:
        return Preview()
    if not job.kind:
        return _raw_preview(job)
    with sources_of(job) as sources:
        source = next(sources)
        format = format_of(job, source)
        if isinstance(format, Refusal):
            return Preview()
        result = Preview(format, heads=HEADS[job.kind], name=source.name)
        if format.name == "xlsx":
            result.sheets = xlsx.sheets_of(source)
        for row in islice(one_by_one(format.reads[job.kind](source)), ROWS_SHOWN):
            if not isinstance(row, Refusal):
                result.rows.append((row.line, [_cell_text(getattr(row, name)) for name in result.heads]))
    # Documents in JSON lines are read by the names of their members, without columns, unless people chose some.
    is_without_columns = (job.kind, format.name) == ("documents", "jsonl") and not job.options.get("columns")
    # Where nothing could be read people may have to choose columns, so they are shown then, too.
    if not (is_without_columns and result.rows):
        _add_columns(result, job, format)
    if not (result.rows or result.columns):
        result.rows, result.heads = _raw_rows(job)
    return result


def _raw_preview(job: Job) -> Preview:
    """The preview of a file whose kind of rows is not known yet."""
    with sources_of(job) as sources:
        source = next(sources)
        sheets = xlsx.sheets_of(source) if xlsx.is_xlsx(source.start) else []
        result = Preview(name=source.name, sheets=sheets)
    result.rows, result.heads = _raw_rows(job)
    return result


def _raw_rows(job: Job) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """The first ROWS_SHOWN records as they are in the file, with their numbers, and the numbers of the columns."""
    with sources_of(job) as sources:
        records = _raw_records(next(sources))[:ROWS_SHOWN]
    width = max(map(len, records), default=0)
    rows = []
    for number, record in enumerate(records, 1):
        missing_cells = [""] * (width - len(record))
        rows.append((number, [*map(_cell_text, record), *missing_cells]))
    return rows, [str(number) for number in range(1, width + 1)]


def _raw_records(source: Source) -> list[list]:
    """The cells of the first records and of the header. At least ROWS_SHOWN records where the file has them."""
    start = source.start
    if xlsx.is_xlsx(start):
        # An item is a line with its cells, or a refusal.
        return [item[1] for item in islice(xlsx.records(source), ROWS_SHOWN) if not isinstance(item, Refusal)]
    if parquet.is_parquet(start):
        records = tables.sample("parquet", "", source)
        names = [list(cells) for cells in records[:1]]
        return names + [list(cells.values()) for cells in records]
    return header.first_records(start, header.delimiter_of(start))


def header_of(file: dict, encoding: str | None = None) -> list[str]:
    """The names of the columns of a stored table; none if it has none or is no table. Raises OSError, Refused."""
    with stored_sources([file], Reading(encoding=encoding)) as sources:
        source = next(sources)
        # As ratings, since only a header of queries can be in doubt. What the columns hold does not matter here.
        format = recognised(source, "ratings", USUAL_FORMATS["ratings"])
        names = [] if isinstance(format, Refusal) else tables.columns_of(format.name, "ratings", source)
    return [] if all(map(str.isdecimal, names)) else names  # without a header, numbers are the names


def begins_otherwise(files: Sequence[dict]) -> bool:
    """Whether the file begins as text in another encoding than UTF-8. Raises OSError, Refused.

    Of several files, or of an archive, each can have an encoding of its own, so that the answer is no.
    """
    if len(files) > 1:
        return False
    with stored_sources(files) as sources:
        source = next(sources)
        return source.name == files[0]["name"] and source.begins_in_other_encoding


def _add_columns(result: Preview, job: Job, format: Format) -> None:
    """Add to `result` the columns of a table with their roles, the first cells, and the roles that lack a column.

    Where people have chosen no columns yet, roles are also proposed for columns. Nothing is added for no table.
    """
    with sources_of(job) as sources:
        source = next(sources)
        records = tables.sample(format.name, job.kind, source)  # {name of a column: its cell} of each row
        names = list(dict.fromkeys(chain.from_iterable(records)))  # each once, in the order of the columns
        if not names:  # it is no table
            return
        result.columns = _roles(job, names, source)
    result.cells = [[_cell_text(record.get(name)) for name in names] for record in records[:ROWS_SHOWN]]
    result.lacking = lacking(job.kind, result.columns)
    # The roles that columns have, and those for which people chose a column or, with "", none (role -> column).
    known_roles = {*result.columns.values(), *source.reading.columns}
    if job.kind == Job.Kind.QUERIES and "key" not in known_roles:
        # A file of queries needs no column of keys. It lacks one only if a column without a role looks like keys.
        without_role = [name for name, role in result.columns.items() if role in ("", columns.FIELDS)]
        if tables.likely_key(without_role, records):
            result.lacking.append("key")
    if "columns" not in job.options:
        result.proposed = _proposals(job, result, records)


def _proposals(job: Job, result: Preview, records: list[dict]) -> dict[str, str]:
    """Column -> the role that people may want for it, where it has another one.

    If every necessary role has its column, only the web address of documents is proposed: values show it surely.
    """
    of_documents = job.kind == Job.Kind.DOCUMENTS
    has_text = "title" in result.columns.values() or "body" in result.columns.values()
    is_incomplete = bool(result.lacking) or (of_documents and not has_text)
    if not (is_incomplete or of_documents):
        return {}
    texts = {}  # of the cells of each column
    for name in result.columns:
        cell_texts = (_plain_text(record.get(name)) for record in records)
        texts[name] = [text for text in cell_texts if text]
    roles = proposed(job.kind, texts, result.columns, job.destination)
    changes = {name: role for name, role in roles.items() if role != result.columns[name]}
    return changes if is_incomplete else {name: role for name, role in changes.items() if role == "url"}


def _roles(job: Job, names: list[str], source: Source) -> dict[str, str]:
    """Column -> role, "" for none, of the table with the columns `names`.

    Columns that people chose and that the table lacks are no longer chosen: also not in `source.reading`.
    """
    chosen = {}  # role -> column, or the columns of a role of several
    for role, column in source.reading.columns.items():
        if set(columns.names_in(role, column)) <= set(names):
            chosen[role] = column
    source.reading = replace(source.reading, columns=chosen)
    try:
        layout = tables.layout(job.kind, names, source)
    except ValueError:
        # The table cannot be read with this choice. Each column has the role that people chose for it, or else the
        # usual role of its name. Two may have the same role: the form shows both, and people correct it.
        roles = {name: columns.usual_role(job.kind, name) for name in names}
        for role, column in chosen.items():
            roles |= dict.fromkeys(columns.names_in(role, column), role)
        return roles
    roles = dict.fromkeys(names, "")
    roles |= {name: role for role, name in layout.column.items()}
    roles |= dict.fromkeys(layout.raters, columns.RATERS)
    roles |= dict.fromkeys(layout.fields, columns.FIELDS)
    return roles


def sources_of(job: Job) -> AbstractContextManager[Iterator[Source]]:
    """The sources of the files of a job, one by one, by the options of the job. Raises OSError."""
    return stored_sources(job.files, opening.with_raters(opening.reading(job.options), job.collection))


@contextmanager
def stored_sources(files: Iterable[dict], reading: Reading | None = None) -> Iterator[Iterator[Source]]:
    """The sources of stored files, one by one. Raises OSError."""
    with ExitStack() as stack:
        streams = ((file["name"], stack.enter_context(uploads.streamed(file))) for file in files)
        yield stack.enter_context(opening.one_by_one(streams, reading))


def format_of(job: Job, source: Source) -> Format | Refusal:
    if name := job.options.get("format"):
        return BY_NAME[name]
    return recognised(source, job.kind, USUAL_FORMATS[job.kind])


def _plain_text(value: object) -> str:
    """The text of a cell that is no list or object; "" for these."""
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return plain_value(value)
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "…"
