"""Delimited values with a header (RFC 4180: a quoted cell may hold lines), and anchors in that form."""

import csv
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from . import spreadsheet, values
from .refusal import Refusal, counted
from .source import LONGEST_LINE, Line, Source

ANCHORS = ["query", "document", "grade", "kind", "explanation"]
NEEDED = 4  # the first four of ANCHORS are needed; a file may have them in any order
KINDS = {"warm-up": "warm_up", "gold": "gold"}  # in files and on pages -> in the database
LONGEST_EXPLANATION = 5_000

QUOTE_CURE = "Write each quotation mark in a cell twice, and one more before and after the cell."
LINES_CURE = "Let all lines end alike, with LF or CR LF."
TAB_CURE = (
    "If it is one cell, put blanks in place of its tabs. If not, write each quotation mark in it twice, and one "
    "more before and after the cell."
)
SEP = re.compile(r'\s*"?sep=(\t|[;|,])"?\r?\n?', re.IGNORECASE)  # a first line that Excel writes and reads

csv.field_size_limit(LONGEST_LINE)  # for the whole process; the default of 131 kB is too small for some documents


class AnchorLine(NamedTuple):
    """An anchor: a pair whose grade is known."""

    line: int
    query: str
    document: str
    grade: Decimal
    use: str  # a value of KINDS
    explanation: str


def read_anchors(source: Source) -> Iterator[AnchorLine | Refusal]:
    """Anchors in the order of the file, each with the line on which it begins. Stops where the CSV is broken."""
    cure = f"The header is {','.join(ANCHORS)}; the first four are needed."
    header = None
    for item in records(source, ",", cure):
        if isinstance(item, Refusal):
            yield item
        elif header is None:
            header = item[1]
            if problem := _wrong_in_header(header, ANCHORS):
                yield source.refusal(1, problem, cure)
                return
        else:
            line, cells = item
            try:
                yield _anchor(line, dict(zip(header, cells, strict=True)))
            except ValueError as error:
                yield source.refusal(line, str(error), "Correct the cell.")


def records(source: Source, delimiter: str, cure: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The header, then each record with as many cells; and the lines on which they begin.

    Stops where the text is broken. Records whose cells are all blank are skipped. In a record with one cell the
    others are empty. The apostrophe that keeps a spreadsheet from computing a cell is removed, unless the source
    is raw.
    """
    broken: list[Refusal] = []
    begun, width, guarded, size, last = 1, 0, 0, 0, None

    def text_lines() -> Iterator[str]:
        nonlocal size, last
        for item in source.lines():
            if not isinstance(item, Refusal):
                last = item
                size += len(item.text)
                if size > LONGEST_LINE:
                    problem = f"the record that begins here is longer than {LONGEST_LINE // 1_000_000} MB"
                    item = source.refusal(begun, problem, cure)
            if isinstance(item, Refusal):
                broken.append(item)  # a cell may run over lines: what follows cannot be trusted
                source.stopped = True
                return
            yield _line(item)
        last = None

    reader = csv.reader(text_lines(), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            size = 0
            is_blank = not any(cell.strip() for cell in cells)
            if not is_blank:
                width = width or len(cells)
            if not source.reading.raw and any(cell[:1] == "'" for cell in cells):
                cells, marked = [spreadsheet.unguarded(cell) for cell in cells], cells
                guarded += cells != marked
            if len(cells) == 1 and not broken:
                cells += [""] * (width - 1)
            if broken or is_blank:
                pass
            elif len(cells) != width:
                yield source.refusal(begun, f"there are {len(cells)} cells, the header has {width}", cure)
            elif delimiter == "\t" and any("\n" in cell and "\t" in cell for cell in cells):
                problem = "a cell in quotation marks holds a line end and a tab, as if two rows were one"
                yield source.refusal(begun, problem, TAB_CURE)
            else:
                yield begun, cells
            begun = reader.line_num + 1
    except csv.Error:
        if not broken:
            yield source.stop(begun, *_broken(last))
    if guarded:
        lines = counted(guarded, "record has a cell", "records have cells")
        source.notes.append(
            f"{source.name}: {lines} with an apostrophe before a sign that begins a formula; it was removed."
        )
    yield from broken


def _broken(line: Line | None) -> tuple[str, str]:
    """The problem and the cure of a record that is broken on this line; `line` is None at the end of the file."""
    if line is None:
        return "a cell of the record that begins here has a quotation mark that is never closed", QUOTE_CURE
    if "\r" in line.text.rstrip("\r"):
        return "a line of the record that begins here ends with CR alone, unlike the others", LINES_CURE
    return "a cell of the record that begins here continues after its closing quotation mark", QUOTE_CURE


def _line(line: Line) -> str:
    """The line with its end. A first line that only names the delimiter becomes blank."""
    return "\n" if line.number == 1 and SEP.fullmatch(line.text) else line.text + "\n"


def texts(source: Source, delimiter: str) -> Iterator[tuple[int, bytes]]:
    """The first line and the bytes of the header and each record. Stops where the text is broken."""
    taken: list[str] = []

    def text_lines() -> Iterator[str]:
        for item in source.lines():
            if isinstance(item, Refusal):
                return
            taken.append(_line(item))
            yield taken[-1]

    reader, begun = csv.reader(text_lines(), delimiter=delimiter, strict=True), 1
    try:
        for cells in reader:
            if cells:
                yield begun, "".join(taken).encode()
            taken.clear()
            begun = reader.line_num + 1
    except csv.Error:
        return


def _wrong_in_header(header: list[str], columns: list[str]) -> str:
    unknown = [name for name in header if name not in columns]
    missing = [name for name in columns[:NEEDED] if name not in header]
    if missing:
        return f"the header {values.quoted(','.join(header))} lacks {', '.join(missing)}"
    if unknown:
        return f"the header has the unknown column {values.quoted(unknown[0])}"
    if len(set(header)) < len(header):
        return f"the header {values.quoted(','.join(header))} names a column twice"
    return ""


def _anchor(line: int, row: dict[str, str]) -> AnchorLine:
    explanation = row.get("explanation", "").strip()
    if row["kind"] not in KINDS:
        raise ValueError(f"the kind {values.quoted(row['kind'])} is neither {' nor '.join(KINDS)}")
    if len(explanation) > LONGEST_EXPLANATION:
        raise ValueError(f"the explanation is longer than {LONGEST_EXPLANATION:,} characters")
    if row["kind"] == "warm-up" and not explanation:
        raise ValueError("a warm-up needs an explanation: raters read it after their answer")
    return AnchorLine(line, *_pair(row), values.grade(row["grade"]), KINDS[row["kind"]], explanation)


def _pair(row: dict[str, str]) -> tuple[str, str]:
    return (
        values.checked_key(row["query"], "query", values.QUERY_KEY_LENGTH),
        values.checked_key(row["document"], "document", values.DOCUMENT_KEY_LENGTH),
    )
