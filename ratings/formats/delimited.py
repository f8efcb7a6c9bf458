"""Delimited values with a header (RFC 4180: a quoted cell may hold lines), and anchors in that form."""

import csv
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from . import spreadsheet, values
from .refusal import Refusal, counted
from .source import LONGEST_LINE, Source

ANCHORS = ["query", "document", "grade", "kind", "explanation"]
NEEDED = 4  # the first; they may stand in any order
KINDS = {"warm-up": "warm_up", "gold": "gold"}  # as a file and the page have them -> as the record has them
LONGEST_EXPLANATION = 5_000

csv.field_size_limit(LONGEST_LINE)  # of the whole process; the 131 kB it has are less than some documents


class AnchorLine(NamedTuple):
    """A pair whose grade is known, and what for."""

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

    Stops where the text is broken. Of a record with its first cell alone the others are empty. What keeps a
    spreadsheet from computing a cell is no part of it, unless the source is raw.
    """
    broken: list[Refusal] = []

    def text_lines() -> Iterator[str]:
        for item in source.lines():
            if isinstance(item, Refusal):
                broken.append(item)  # a cell may run over lines: what follows cannot be trusted
                source.stopped = True
                return
            yield item.text + "\n"

    reader = csv.reader(text_lines(), delimiter=delimiter, strict=True)
    begun, width, kept_off = 1, 0, 0
    try:
        for cells in reader:
            width = width or len(cells)
            if not source.raw and any(cell[:1] == "'" for cell in cells):
                cells, marked = [spreadsheet.plain(cell) for cell in cells], cells
                kept_off += cells != marked
            if len(cells) == 1 and not broken:
                cells += [""] * (width - 1)
            if cells and not broken and len(cells) != width:
                yield source.refusal(begun, f"there are {len(cells)} cells, the header has {width}", cure)
            elif cells and not broken:
                yield begun, cells
            begun = reader.line_num + 1
    except csv.Error as error:
        if not broken:
            yield source.stop(begun, f"the CSV is broken in the record that begins here ({error})", cure)
    if kept_off:
        lines = counted(kept_off, "record has a cell", "records have cells")
        source.told.append(
            f"{source.name}: {lines} with an apostrophe before a sign that begins a formula; taken off."
        )
    yield from broken


def texts(source: Source, delimiter: str) -> Iterator[tuple[int, bytes]]:
    """The lines on which the header and each record begin, and their bytes. Stops where the text is broken."""
    taken: list[str] = []

    def text_lines() -> Iterator[str]:
        for item in source.lines():
            if isinstance(item, Refusal):
                return
            taken.append(item.text + "\n")
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
        return f"the header {values.shown(','.join(header))} lacks {', '.join(missing)}"
    if unknown:
        return f"the header has the unknown column {values.shown(unknown[0])}"
    if len(set(header)) < len(header):
        return f"the header {values.shown(','.join(header))} names a column twice"
    return ""


def _anchor(line: int, row: dict[str, str]) -> AnchorLine:
    explanation = row.get("explanation", "").strip()
    if row["kind"] not in KINDS:
        raise ValueError(f"the kind {values.shown(row['kind'])} is neither {' nor '.join(KINDS)}")
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
