"""The first rows of a file as they would be understood. Reads no more of it, however long it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

from . import uploads
from .formats import delimited, tables, values
from .formats.known import BY_NAME, Format, kind_of, recognised
from .formats.refusal import Refusal
from .formats.source import Source
from .models import Job, plain_value

ROWS = 8
TEXT = 120  # characters of a long cell
USUAL = {"queries": "topics", "documents": "jsonl", "results": "trec-run", "ratings": "csv"}  # where none is seen
HEADS = {
    "queries": ["key", "text", "need"],
    "documents": ["key", "title", "body", "url"],
    "results": ["query", "document", "rank", "score", "system"],
    "ratings": ["query", "document", "rater", "grade", "reason", "comment"],
}


@dataclass
class Preview:
    format: Format | None = None
    columns: dict[str, str] = field(default_factory=dict)  # of a table, with what each holds, "" for nothing
    heads: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)  # with their lines
    refusals: list[Refusal] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def kind_seen(file: dict, *, has_queries: bool) -> str | None:
    """The kind of row that a file shows, among those that were sent. Raises OSError."""
    with uploads.path_of(file).open("rb") as stream:
        return kind_of(Source(file["name"], stream), has_queries=has_queries)


def preview(job: Job) -> Preview:
    """Of the first file of a job. Raises OSError where it is no longer kept."""
    with source_of(job) as source:
        found = format_of(job, source)
        if isinstance(found, Refusal):
            return Preview(refusals=[found])
        seen = Preview(found, heads=HEADS[job.kind])
        for row in islice(found.reads[job.kind](source), ROWS):
            if isinstance(row, Refusal):
                seen.refusals.append(row)
            else:
                seen.rows.append((row.line, [_shown(getattr(row, name)) for name in seen.heads]))
        seen.told = source.told
    # The reader of documents in JSON lines knows their names by itself.
    if (job.kind, found.name) != ("documents", "jsonl"):
        seen.columns = _columns(job, found)
    return seen


def _columns(job: Job, found: Format) -> dict[str, str]:
    with source_of(job) as source:
        names = tables.columns_of(found.name, source)
        told = {role: name for role, name in source.columns.items() if set(name.split("|")) <= set(names)}
    try:
        layout = tables.layout_of(job.kind, names, told) if names else None
    except ValueError:
        layout = None
    if layout is None:
        roles = {name: tables.usual_role(job.kind, name) for name in names}
        return roles | {name: role for role, name in told.items() if name in roles}
    roles = {name: role for role, name in layout.column.items()} | dict.fromkeys(layout.raters, tables.RATERS)
    return {name: roles.get(name, "") for name in names}


@contextmanager
def source_of(job: Job, number: int = 0) -> Iterator[Source]:
    """One file of a job, to be read as was said. Raises OSError."""
    file, given = job.files[number], job.options
    grades = {word: values.grade(value) for word, value in given.get("grades", {}).items()}
    said = {"encoding": given.get("encoding"), "columns": given.get("columns"), "grades": grades}
    with uploads.path_of(file).open("rb") as stream:
        yield Source(file["name"], stream, **said)


def format_of(job: Job, source: Source) -> Format | Refusal:
    if name := job.options.get("format"):
        return BY_NAME[name]
    return recognised(source, job.kind, USUAL[job.kind])


def refused_files(job: Job) -> list[int]:
    """The numbers of those files of ratings whose refused lines can be given, to mend and send again.

    Of nothing else: a ranking is written once and whole, and of texts nothing is taken while a line is refused.
    """
    report = job.report
    # Of somebody who rates here every rating is refused, and one line is told.
    told = report.get("refused", 0) + report.get("left_out", 0)
    more = report.get("counts", {}).get("refused", 0) > told
    if job.kind != Job.Kind.RATINGS or report.get("cut_off") or more:
        return []
    named = {refusal["file"] for refusal in report.get("refusals", []) if refusal["line"]}
    try:
        return [
            number
            for number, file in enumerate(job.files)
            if file["name"] in named and "stored" in file and _has_lines(job, number)
        ]
    except (OSError, ValueError):
        return []


def _has_lines(job: Job, number: int) -> bool:
    with source_of(job, number) as source:
        found = format_of(job, source)
        return isinstance(found, Format) and found.by_rows and not found.binary


def refused_lines(job: Job, number: int) -> Iterator[bytes]:
    """The refused lines of one of `refused_files`, in UTF-8 where they are text. Raises OSError.

    A table has its header before them, and a record of it comes whole.
    """
    name = job.files[number]["name"]
    wanted = {refusal["line"] for refusal in job.report["refusals"] if refusal["file"] == name}
    with source_of(job, number) as source:
        table = format_of(job, source) is BY_NAME["csv"]
        records = delimited.texts(source, tables.delimiter_of(source.start)) if table else _numbered(source)
        if table:
            yield from (_ended(record) for _, record in islice(records, 1))
        yield from (_ended(record) for line, record in records if line in wanted)


def _numbered(source: Source) -> Iterator[tuple[int, bytes]]:
    for block in source.blocks():
        if not isinstance(block, Refusal):
            yield from enumerate(block.lines.split(b"\n"), block.first)


def _ended(line: bytes) -> bytes:
    return line.rstrip(b"\r\n") + b"\n"


def _shown(value: object) -> str:
    if isinstance(value, Decimal):
        return plain_value(value)
    text = "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT else text[:TEXT] + "…"
