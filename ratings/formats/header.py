"""Guesses about delimited text: its delimiter, and whether its first record names the columns.

A header that is taken for a row becomes a query. A row that is taken for a header is lost, and so are the keys of
all rows. The first records decide. Where they are not clear, people have to decide.
"""

import csv
import re
from contextlib import suppress

from . import values
from .columns import NEEDED, is_usual, usual_role
from .delimited import DELIMITER_LINE
from .source import LAST_HEADER_LINE, MOST_COLUMNS, START_BYTES, Start

SAMPLED_RECORDS = 20  # below the first
DELIMITERS = "\t;|,"  # the rarest in texts and numbers first
NO_DELIMITER = "\x1f"  # the delimiter of text with one column: it stands in no text
_number = re.compile(rf"{values.NUMBER}|[+-]?[0-9]+(?:[., \u00a0\u202f'’][0-9]{{3}})*(?:[.,][0-9]+)?")
_digit = re.compile(r"[0-9]")


def _declared_delimiter(start: Start) -> str:
    """The delimiter that the first line names, as Excel writes it; "" where it names none."""
    found = DELIMITER_LINE.fullmatch(start.text.partition("\n")[0])
    return found[1] if found else ""


def delimiter_of(start: Start) -> str:
    """The delimiter of the text; NO_DELIMITER for text of one column.

    It is the one that the first line declares, or else the one that gives the first record the most usual names of
    columns; among equals, the one that gives the most records as many cells as the first; among those, the first
    of DELIMITERS.
    """
    if declared := _declared_delimiter(start):
        return declared
    scores = {}  # delimiter that can be it -> (number of usual names, number of records as wide as the first)
    for delimiter in DELIMITERS:
        first, *below = first_records(start, delimiter) or [[]]
        as_wide_count = sum(len(cells) == len(first) for cells in below)
        usual_name_count = sum(map(is_usual, first))
        # Half of the records must be as wide as the first, unless two usual names show that it is a header.
        if len(first) > 1 and (2 * as_wide_count >= len(below) or usual_name_count > 1):
            scores[delimiter] = (usual_name_count, as_wide_count)
    return max(scores, key=lambda delimiter: scores[delimiter]) if scores else NO_DELIMITER


def first_records(start: Start, delimiter: str) -> list[list[str]]:
    """The cells of the first record and of up to SAMPLED_RECORDS below it, without records that are blank.

    They end before the first record that csv cannot read. Each has at most one cell more than is allowed, which is
    enough to show that a table is too wide.
    """
    text = start.text.partition("\n")[2] if _declared_delimiter(start) else start.text
    if len(start.data) >= START_BYTES:
        text = text.rpartition("\n")[0] or text  # the last line may be cut off, but there must be one
    records: list[list[str]] = []
    with suppress(csv.Error):
        rows = csv.reader(
            (f"{line}\n" for line in text.split("\n")),  # with their ends, as a quoted cell may run over lines
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if start.unquoted else csv.QUOTE_MINIMAL,
        )
        for row in rows:
            cells = row[: MOST_COLUMNS + 1]
            if any(cell.strip() for cell in cells):
                records.append(cells)
            if len(records) > SAMPLED_RECORDS:  # the first record and so many below it
                break
    return records


def has_header(kind: str, start: Start, delimiter: str = "") -> bool | None:
    """Whether the first record names the columns of rows of `kind`. None: in doubt."""
    first, *below = first_records(start, delimiter or delimiter_of(start)) or [[]]
    return names_columns(kind, first, below)


def names_columns(kind: str, first: list[str], below: list[list[str]]) -> bool | None:
    """Whether the cells of `first` are names of columns and not a row like those `below`. None: in doubt.

    Only queries may be in doubt. Rows of other kinds need columns with usual names or chosen ones, so that a wrong
    guess is refused later.
    """
    cells = [cell.strip() for cell in first]
    if kind != "queries":
        roles = {usual_role(kind, cell) for cell in cells}
        # Cells without the usual names are taken for a header, too, unless one is a number.
        return set(NEEDED[kind]) <= roles or not any(map(is_number, cells))
    sign_count = sum(map(is_usual, cells)) + _stands_above_ids(cells, below)  # what speaks for a header
    if not sign_count:
        return False
    if sign_count == 1 or len(cells) == 1:  # one sign or one column shows too little
        return None
    # A digit speaks against a header.
    return None if any(_digit.search(cell) for cell in cells if not is_usual(cell)) else True


def _stands_above_ids(cells: list[str], below: list[list[str]]) -> bool:
    """Whether a cell is a word, and all cells below it are ids or numbers."""
    columns = zip(*below, strict=False) if len(below) > 1 else ()
    return any(
        not _digit.search(cell) and all(_digit.search(text) and " " not in text.strip() for text in column)
        for cell, column in zip(cells, columns, strict=False)
    )


def is_number(text: str) -> bool:
    """Whether the text is a number, with a decimal point or comma."""
    return _number.fullmatch(text) is not None


def is_table(start: Start) -> bool:
    """Whether the text has several columns, whatever their names. Tabs also separate other formats."""
    delimiter = delimiter_of(start)
    if delimiter == "\t":
        first = next(iter(first_records(start, delimiter)), [])
        return not any(_digit.search(cell) for cell in first)
    return delimiter != NO_DELIMITER


def line_below_title(kind: str, start: Start) -> int:
    """The number of the line that names the columns, where a title of one or more lines stands above it.

    0 where the first line may name them itself, and where no line does.
    """
    if begins_with_header(kind, start):
        return 0
    text = start.text
    for number in range(2, LAST_HEADER_LINE + 1):
        text = text.partition("\n")[2]  # from line `number` on, as the loop drops one line each time
        below = start._replace(text=text)
        is_blank = not text.partition("\n")[0].strip()
        if not is_blank and begins_with_header(kind, below) and delimiter_of(below) != NO_DELIMITER:
            return number
    return 0


def begins_with_header(kind: str, start: Start) -> bool:
    """Whether the first record may name the columns that rows of `kind` need."""
    first = next(iter(first_records(start, delimiter_of(start))), [])
    roles = {usual_role(kind, cell) for cell in first}
    return set(NEEDED[kind]) <= roles and has_header(kind, start) is not False
