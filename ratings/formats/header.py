"""Guesses about delimited text: its delimiter, and whether its first record names the columns.

A header that is taken for a row becomes a query. A row that is taken for a header is lost, and so are the keys of
all rows. The first records decide. Where they are not clear, people have to decide.
"""

import csv
import re
from itertools import islice

from . import values
from .columns import NAMES, layout_of, usual_role
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
    """Whether the cells of `first` are names of columns and not a row like those `below`. None: in doubt."""
    first = [cell.strip() for cell in first]
    columns = [[row[i].strip() for row in below if i < len(row) and row[i].strip()] for i in range(len(first))]
    roles = [usual_role(kind, cell) for cell in first]
    like_rows = [not role and _alike(*both) for role, *both in zip(roles, first, columns, strict=True)]
    if kind in ("results", "ratings"):
        return {"query", "document"} <= set(roles) or (bool(below) and not any(like_rows))
    if kind == "documents":
        return (None if "id" in roles else False) if any(like_rows) else True
    return _names_queries(first, columns, roles, like_rows)


def _names_queries(
    first: list[str], columns: list[list[str]], roles: list[str], like_rows: list[bool]
) -> bool | None:
    try:
        found = set(layout_of("queries", first, {}).column)
    except ValueError:
        found = set(filter(None, roles))
    every = any(roles) and all(role or not cell for role, cell in zip(roles, first, strict=True))
    unlike_rows = any(_unlike(*both) for both in zip(first, columns, strict=True))
    if len(first) == 1 and found:
        return None  # one word above other words
    if any(like_rows):
        return False if like_rows[0] and not {"key", "text"} <= found else None if found else False
    if {"key", "text"} <= found or ("text" in found and unlike_rows):
        return True
    if every and len(first) > 1 and any(" " in cell for cell in columns[0]):
        return True  # a cell with a blank is no key, so the rows are not key and text
    return None if found or unlike_rows else False


def _alike(first: str, below: list[str]) -> bool:
    """Whether a cell looks like those below it: all of them have digits, and all or none of them are numbers."""
    numbers = [is_number(cell) for cell in below]
    same = all(numbers) if is_number(first) else not any(numbers)
    return bool(below) and same and all(_digit.search(cell) for cell in [first, *below])


def _unlike(first: str, below: list[str]) -> bool:
    """Whether a cell is a word or blank and stands above numbers or above ids with digits."""
    if not below or _digit.search(first):
        return False
    ids = first and len(below) > 1 and all(_digit.search(cell) and " " not in cell for cell in below)
    return all(map(is_number, below)) or bool(ids)


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
