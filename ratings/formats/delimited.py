"""Delimited values with a header (RFC 4180: a quoted cell may hold lines)."""

import csv
import re
from collections.abc import Iterator
from typing import Literal

from . import spreadsheet
from .refusal import Cure, Option, Refusal, Refused
from .source import LONGEST_LINE, Line, Source

MARKS_ARE_TEXT = Option("quoting", "none", "quotation marks are a part of the texts")
QUOTE_CURE = "Write each quotation mark in a cell twice, and one more before and after the cell.", MARKS_ARE_TEXT
WIDTH_CURE = "Each record has as many cells as the header."
LINES_CURE = "Let all lines end alike, with LF or CR LF."
TAB_CURE = (
    "If it is one cell, put blanks in place of its tabs. If not, write each quotation mark in it twice, and one "
    "more before and after the cell."
)
# The first line, as Excel writes and reads it, that names the delimiter.
DELIMITER_LINE = re.compile(r'\s*"?sep=(\t|[;|,])"?\r?\n?', re.IGNORECASE)

csv.field_size_limit(LONGEST_LINE)  # for the whole process; the default of 131 kB is too small for some documents


def records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The header, then each record with as many cells; and the lines on which they begin.

    Stops where the text is broken. Records whose cells are all blank are skipped. In a record with one cell the
    others are empty, and so are the last ones of lines with tabs and without a header. The apostrophe that keeps a
    spreadsheet from computing a cell is removed, unless the source is raw.
    """
    record_line = source.reading.header_line  # the line on which the next record begins
    record_size = 0  # characters of that record so far
    width = 0
    last_line: Line | None = None  # the line that was read last; None at the end of the file

    def text_lines() -> Iterator[str]:
        """The lines for csv.reader, each with its end. Sets `last_line`, and adds each line to `record_size`.

        The loop over the records, below, sets `record_size` back to 0 after each record.
        Raises Refused for the first line that is refused: a quoted cell may run over lines, so nobody knows where
        the next record would begin. Also for a record that is too long.
        """
        nonlocal record_size, last_line
        for item in source.lines():
            if isinstance(item, Refusal):
                raise Refused([item])
            last_line = item
            record_size += len(item.text)
            if record_size > LONGEST_LINE:
                problem = f"the record that begins here is longer than {LONGEST_LINE // 1_000_000} MB"
                raise Refused([source.refusal(record_line, problem, WIDTH_CURE)])
            yield _line(item)
        last_line = None  # so that `_broken` knows that a record which breaks now is cut off by the end

    may_be_shorter = delimiter == "\t" and source.reading.header is False
    quoting: Literal[0, 3] = csv.QUOTE_NONE if source.reading.quoting else csv.QUOTE_MINIMAL
    reader = csv.reader(text_lines(), delimiter=delimiter, strict=True, quoting=quoting)
    try:
        for cells in reader:
            line = record_line
            record_line = reader.line_num + source.reading.header_line
            record_size = 0
            if not any(cell.strip() for cell in cells):
                continue
            width = width or len(cells)
            cells = spreadsheet.read_cells(cells, source)
            if len(cells) == 1 or may_be_shorter:
                cells += [""] * (width - len(cells))
            if len(cells) != width:
                problem = f"there are {len(cells)} cells, the header has {width}"
                yield source.refusal(line, problem, WIDTH_CURE)
            elif delimiter == "\t" and any("\n" in cell and "\t" in cell for cell in cells):
                problem = "a cell in quotation marks holds a line end and a tab, as if two rows were one"
                yield source.refusal(line, problem, TAB_CURE, MARKS_ARE_TEXT)
            else:
                yield line, cells
    except Refused as error:
        source.stopped = True
        yield from error.refusals
    except csv.Error:
        problem, cure = _broken(last_line)
        yield source.stop(record_line, problem, *cure)


def _broken(line: Line | None) -> tuple[str, tuple[Cure, ...]]:
    """The problem and the cure of a record that is broken on this line; `line` is None at the end of the file."""
    if line is None:
        return "a cell of the record that begins here has a quotation mark that is never closed", QUOTE_CURE
    if "\r" in line.text.rstrip("\r"):
        return "a line of the record that begins here ends with CR alone, unlike the others", (LINES_CURE,)
    return "a cell of the record that begins here continues after its closing quotation mark", QUOTE_CURE


def _line(line: Line) -> str:
    """The line with its end. A first line that only names the delimiter becomes blank."""
    return "\n" if line.number == 1 and DELIMITER_LINE.fullmatch(line.text) else line.text + "\n"
