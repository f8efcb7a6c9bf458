"""Rows as delimited text that a spreadsheet shows and never computes, and the way back.

A cell that would be taken for a formula gets an apostrophe before it. Numbers such as -1 stay as they are, and
what is read here loses the apostrophe again, so that every id comes back as it was.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .values import NUMBER

# Alone or behind blanks and marks; the wide signs count in East Asian spreadsheets. An apostrophe before it is
# counted in, so that what had one itself gets a second, and taking one off gives it back.
_computed = re.compile("'*(?:[\t\r\n]|[\\s\ufeff\u200b]*[=+\\-@＝＋－＠])")
_number = re.compile(NUMBER)


def safe(text: str) -> str:
    """The text as a cell that nothing computes."""
    return f"'{text}" if _computed.match(text) and not _number.fullmatch(text) else text


def plain(cell: str) -> str:
    """What `safe` was given."""
    return cell[1:] if cell[:1] == "'" and _computed.match(cell) else cell


def written(
    rows: Iterable[Iterable[Any]], *, delimiter: str = ",", raw: bool = False, end: str = "\r\n"
) -> Iterator[str]:
    """The rows as text, one record at a time. `raw`: every cell as it is. None and nan are empty cells."""
    write = csv.writer(_Echo(), delimiter=delimiter, lineterminator=end).writerow
    for row in rows:
        yield write([_cell(value, raw) for value in row])


def _cell(value: Any, raw: bool) -> Any:
    if isinstance(value, str):
        return value if raw else safe(value)
    if value is None or value != value:
        return ""
    # A NumPy number prints as a plain one.
    return value.item() if hasattr(value, "item") else value


class _Echo:
    def write(self, text: str) -> str:
        return text
