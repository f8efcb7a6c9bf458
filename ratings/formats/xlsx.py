"""Excel workbooks (.xlsx), by openpyxl, a row at a time. Cells are the displayed text, with all digits."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import chain
from typing import Any, BinaryIO

from . import budget, spreadsheet, values
from .archives import LARGEST_LIST, ZIP, BoundedReads
from .budget import TooMuch
from .columns import listed
from .refusal import Option, Refusal
from .source import BLOCK_BYTES, LAST_HEADER_LINE, LONGEST_LINE, Source, Start, Unopened

CURE = "Save the workbook again in a spreadsheet program, or save the sheet as CSV."
SHEET_OPTION = Option("sheet")
LARGEST_PART = 1 << 28  # bytes that openpyxl keeps in memory: all but the rows
_IN_XLSX = re.compile(rb"xl/(workbook|worksheets|sharedStrings|styles|theme)")
_NUMBERS_BELOW = 10**15
_zeros = re.compile("0{2,20}")  # as many digits as an id has; more would only fill the memory
# A cell with a formula and without its result. No part goes back (*+): the time would grow with the square.
_uncomputed_cell = re.compile(
    rb"<(?:\w+:)?c\b([^<>]*+)>\s*+"
    rb"<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*+</(?:\w+:)?f>)\s*+"
    rb"(?:<(?:\w+:)?v\s*+/>|<(?:\w+:)?v>\s*+</(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
_has_text_result = re.compile(rb'\bt="str"')  # in the attributes of a cell, also where that text is empty
_place = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
_row_end = re.compile(rb"</(?:\w+:)?row\s*+>")
# What Excel writes for a character that XML changes or cannot hold, such as the carriage return of a Windows line.
_escaped = re.compile("_x([0-9A-Fa-f]{4})_")
EMPTY_CELL_BYTES = 8  # in memory; openpyxl fills a row with empty cells up to its last one


def is_xlsx(start: Start) -> bool:
    is_binary = b"xl/workbook.bin" in start.data
    return start.data.startswith(ZIP) and bool(_IN_XLSX.search(start.data)) and not is_binary


def sheets_of(source: Source) -> list[str]:
    """The names of the visible sheets; none where the workbook cannot be read."""
    try:
        return _visible(_opened(source).wb)
    except Exception:  # of any kind, from openpyxl: `records` refuses the workbook
        return []


def heads_of(source: Source) -> dict[str, list[str]]:
    """Name of each visible sheet -> the texts in the row of its header; {} where the workbook cannot be read."""
    try:
        book = _opened(source).wb
        header_row = source.reading.header_line
        heads = {}
        for name in _visible(book):
            book[name].reset_dimensions()  # those in the file may be wrong
            cells = next(book[name].iter_rows(min_row=header_row, max_row=header_row), ())
            heads[name] = [str(cell.value) for cell in cells]  # "None" for an empty one, no usual name
        return heads
    except Exception:  # of any kind, from openpyxl: `records` refuses the workbook
        return {}


def records(source: Source) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The number of each row that is not empty, and its cells. The first is the header; all have its width.

    Stops where the workbook is broken.
    """
    number = 0
    try:
        workbook = _opened(source)
        sheet = _chosen(workbook.wb, source.reading.sheet)
        with workbook.archive.open(sheet._worksheet_path) as stream:
            uncomputed = _first_uncomputed(stream)
        if uncomputed:
            column, line = uncomputed
            problem = f"the cell {column}{line} has a formula, and the file does not hold its result"
            yield source.stop(line, problem, CURE)
            return
        sheet.reset_dimensions()  # those in the file may be wrong
        width = 0
        has_wider_row = False
        for number, row in enumerate(sheet.iter_rows(), 1):
            if number < source.reading.header_line:
                continue
            source.budget.unpack(EMPTY_CELL_BYTES * len(row))
            try:
                cells = [_text(cell) for cell in row]
            except ValueError as error:
                yield source.refusal(number, str(error), "Correct the cell.")
                continue
            cells = spreadsheet.read_cells(cells, source)
            while cells and not cells[-1]:
                cells.pop()
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) > width:
                problem = f"the row has {len(cells)} cells, the header has {width}"
                may_be_header = number <= LAST_HEADER_LINE and not has_wider_row  # below a title
                names = [Option("header", str(number), f"row {number} names the columns")] if may_be_header else []
                has_wider_row = True
                yield source.refusal(number, problem, "Give each column a name.", *names)
                continue
            yield number, cells + [""] * (width - len(cells))
    except Unopened as error:
        yield source.stop(number, *error.args)
    except Exception as error:  # of any kind: openpyxl raises whatever a damaged file causes
        yield source.stop(number, *_wrong(error))


def _wrong(error: Exception) -> tuple[str, str]:
    """The problem and the cure. openpyxl hides the cause of some errors behind its own."""
    for cause in (error, error.__cause__):
        if isinstance(cause, TooMuch):
            return str(cause), budget.CURE
    detail = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return f"the workbook is broken or cannot be read ({detail})", CURE


def _visible(book: Any) -> list[str]:
    return [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]


def _chosen(book: Any, name: str | None) -> Any:
    """The sheet of that name, or the only one. Raises Unopened."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name in sheets:  # hidden or not
        return sheets[name]
    visible = _visible(book)
    if name:
        raise Unopened(f"there is no sheet {values.quoted(name)}; the sheets are {listed(visible)}", SHEET_OPTION)
    if not visible:
        raise Unopened("the workbook has no sheet", CURE)
    if len(visible) > 1:
        raise Unopened(f"the workbook has several sheets: {listed(visible)}", SHEET_OPTION)
    return sheets[visible[0]]


def _character(escaped: re.Match) -> str:
    """The character; an escape stays as it is where no text can hold its character."""
    character = chr(int(escaped[1], 16))
    return character if character in "\t\n\r" or character.isprintable() else escaped[0]


def _text(cell: Any) -> str:
    """The displayed text, with the digits that its number format hides. Raises ValueError."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        raise ValueError(f"the cell {cell.coordinate} holds the error {values.quoted(value)}")
    if isinstance(value, str):
        return _escaped.sub(_character, value)  # _x000D_ becomes a carriage return
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        # openpyxl gives a date without a time as its midnight.
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, date | time | timedelta):
        return str(value)  # of a date and of a time in ISO form
    is_whole = value == value // 1
    if is_whole and abs(value) >= _NUMBERS_BELOW:
        problem = f"the cell {cell.coordinate} is a number of more than 15 digits, of which a spreadsheet keeps 15"
        raise ValueError(f"{problem}: let it be text")
    text = str(int(value)) if is_whole else f"{value:.15g}"
    # The format 00000 displays 42 as 00042. A fraction keeps its digits, which a spreadsheet rounds away, and is
    # padded to the same width.
    return text.zfill(len(cell.number_format)) if _zeros.fullmatch(cell.number_format) else text


def _opened(source: Source) -> Any:
    """The reader of openpyxl, with the workbook as `wb` and its ZIP as `archive`. A second call returns the same.

    Raises TooMuch before anything is unpacked, by the sizes in the list of files in the ZIP. These sizes hold even
    in a file that lies, as zipfile reads no more of a file than the list says.
    """
    from openpyxl.reader.excel import ExcelReader  # takes a third of a second, and few files need it

    if source.workbook is None:
        file = BoundedReads(source.seekable_file(), largest_read=LARGEST_LIST)
        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        parts = reader.archive.infolist()
        source.budget.unpack(sum(part.file_size for part in parts))
        # openpyxl reads sheets row by row, but all other parts at once.
        if sum(part.file_size for part in parts if not part.filename.startswith("xl/worksheets/")) > LARGEST_PART:
            raise TooMuch(f"its texts and styles grow to more than {LARGEST_PART >> 20} MB")
        reader.read()
        source.workbook = reader
    return source.workbook


def _first_uncomputed(stream: BinaryIO) -> tuple[str, int] | None:
    """The column and the row, such as ("B", 7), of the first cell with a formula and no result; None without one.

    `stream`: the XML of a sheet. Raises TooMuch for a row that is too long, as openpyxl has a row in memory.
    """
    rest = b""  # the beginning of a row whose end was not yet read
    while data := stream.read(BLOCK_BYTES):
        *rows, rest = _row_end.split(rest + data)
        if max(map(len, [*rows, rest])) > LONGEST_LINE:
            raise TooMuch(f"a row is longer than {LONGEST_LINE // 1_000_000} MB")
        for cell in chain.from_iterable(map(_uncomputed_cell.finditer, rows)):
            attributes = cell[1]
            # t="str" says that the result is a text. Where no value follows, it is the empty text, a result, too.
            if not _has_text_result.search(attributes) and (place := _place.search(attributes)):
                return place[1].decode(), int(place[2])
    return None
