"""Guesses about delimited text: its delimiter, and whether its first record names the columns.

A header that is taken for a row becomes a query. A row that is taken for a header is lost, and so are the keys of
all rows. The first records decide. Where they are not clear, people have to decide.
"""

import csv
import re
from itertools import islice

from . import values
from .columns import NAMES, NEEDED, usual_role
from .delimited import SEP
from .source import LAST_HEADER, MOST_COLUMNS, START, Start

SAMPLE = 20  # records below the first
DELIMITERS = "\t;|,"  # the rarest in texts and numbers first
NONE = "\x1f"  # the delimiter of text with one column: it stands in no text
_number = re.compile(rf"{values.NUMBER}|[+-]?[0-9]+(?:[., \u00a0\u202f'’][0-9]{{3}})*(?:[.,][0-9]+)?")
_digit = re.compile(r"[0-9]")


def _declared_delimiter(start: Start) -> str:
    """The delimiter that the first line names, as Excel writes it; "" where it names none."""
    found = SEP.fullmatch(start.text.partition("\n")[0])
    return found[1] if found else ""


def delimiter_of(start: Start) -> str:
    """The delimiter that gives the first record the most usual names, and then the most records of its width."""
    if declared := _declared_delimiter(start):
        return declared
    fits = {}
    for delimiter in DELIMITERS:
        first, *below = first_records(start, delimiter) or [[]]
        alike = sum(len(cells) == len(first) for cells in below)
        names = sum(any(usual_role(kind, cell) for kind in NAMES) for cell in first)
        if len(first) > 1 and (2 * alike >= len(below) or names > 1):
            fits[delimiter] = (names, alike)
    return max(fits, key=lambda delimiter: fits[delimiter]) if fits else NONE


def first_records(start: Start, delimiter: str) -> list[list[str]]:
    """The first record and up to 20 below it, as far as they can be read, without blank lines.

    Records are cut to one cell more than is allowed, so that a table that is too wide takes no longer.
    """
    text = start.text.partition("\n")[2] if _declared_delimiter(start) else start.text
    if len(start.data) >= START:
        text = text.rpartition("\n")[0] or text  # the last line may be cut off, but there must be one
    found = []
    try:
        rows = csv.reader(
            (f"{line}\n" for line in text.split("\n")),
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if start.unquoted else csv.QUOTE_MINIMAL,
        )
        cut = (cells[: MOST_COLUMNS + 1] for cells in rows)
        found.extend(islice((cells for cells in cut if any(cell.strip() for cell in cells)), SAMPLE + 1))
    except csv.Error:
        pass
    return found


def has_header(kind: str, start: Start, delimiter: str = "") -> bool | None:
    """Whether the first record names the columns of rows of `kind`. None: in doubt."""
    first, *below = first_records(start, delimiter or delimiter_of(start)) or [[]]
    return names_columns(kind, first, below)


def names_columns(kind: str, first: list[str], below: list[list[str]]) -> bool | None:
    """Whether the cells of `first` are names of columns and not a row like those `below`. None: in doubt.

    Other rows than queries cannot do without usual names or chosen columns, so that a wrong guess is refused.
    """
    cells = [cell.strip() for cell in first]
    if kind != "queries":
        roles = {usual_role(kind, cell) for cell in cells}
        return set(NEEDED[kind]) <= roles or not any(map(is_number, cells))
    unknown = [cell for cell in cells if cell and not any(usual_role(kind, cell) for kind in NAMES)]
    evidence = len([cell for cell in cells if cell not in ("", *unknown)]) + _stands_above_ids(cells, below)
    if evidence > 1 and len(cells) > 1 and not any(map(_digit.search, unknown)):
        return True
    return None if evidence else False


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
    return delimiter != NONE


def line_below_title(kind: str, start: Start, needed: list[str]) -> int:
    """The line, of the first ones, that seems to name the columns below a title; 0 where there is none."""
    if is_known(kind, start, needed):
        return 0
    text = start.text
    for number in range(2, LAST_HEADER + 1):
        text = text.partition("\n")[2]
        below, blank = start._replace(text=text), not text.partition("\n")[0].strip()
        if not blank and is_known(kind, below, needed) and delimiter_of(below) != NONE:
            return number
    return 0


def is_known(kind: str, start: Start, needed: list[str]) -> bool:
    """Whether the first record may name the columns that rows of `kind` need."""
    first = next(iter(first_records(start, delimiter_of(start))), [])
    roles = {usual_role(kind, cell) for cell in first}
    return set(needed) <= roles and has_header(kind, start) is not False
