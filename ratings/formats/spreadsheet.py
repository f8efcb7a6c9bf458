"""CSV whose cells no spreadsheet takes for formulas, and the way back.

A cell that begins like a formula gets an apostrophe before it. At which character a spreadsheet splits a file
depends on its locale: the cell `Ann;=1+1` may become two cells, even in quotation marks. So the beginning of a
formula after a semicolon, a bar, a tab or a line end gets an apostrophe, too, and then so does the cell itself, to
mark that it was changed. A comma needs none, since spreadsheets that split at commas heed quotation marks. Numbers
such as -1 stay as they are. `unguarded` removes the apostrophes, so that every id is read as it was written. The
text that SQL clients write for NULL gets one, too, as it would be read as an empty cell.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from .source import BOM, Source
from .values import NUMBER

NULL = r"\N"  # as SQL clients write NULL
UNGUARDED = "apostrophes before signs that begin a formula were removed."
# The sign of a formula may stand behind blanks and quotation marks, and may be a wide one of East Asia.
# Apostrophes before it count, so that text with an apostrophe gets a second one, and removing one restores it.
_formula = r"'*(?:[^\S\t\r\n]|[\ufeff\u200b\"])*[=+\-@＝＋－＠]"
_begins = re.compile(rf"'*[\t\r\n]|{_formula}|'*{re.escape(NULL)}\Z")
_splits = r"(?<=[;|\t\r\n])"
_begins_within = re.compile(rf"{_splits}(?={_formula})")
_guard_within = re.compile(rf"{_splits}'(?={_formula})")
_number = re.compile(NUMBER)


def safe(text: str) -> str:
    """The text as a cell that no spreadsheet computes."""
    return text if _number.fullmatch(text) else _guarded(text)


def unguarded(cell: str) -> str:
    """The text of a cell that `safe` made."""
    if cell[:1] != "'":
        return cell
    text = _guard_within.sub("", cell[1:])
    return text if _guarded(text) == cell else cell


def read_cells(cells: list[str], source: Source) -> list[str]:
    """The texts of a record that `written` made, and "" for NULL; of a raw source as they are.

    A note of the source says that apostrophes were removed.
    """
    if source.reading.raw or not any(cell.startswith(("'", NULL)) for cell in cells):
        return cells
    texts = ["" if cell == NULL else unguarded(cell) for cell in cells]
    if any(text and text != cell for text, cell in zip(texts, cells, strict=True)):
        source.note_once(UNGUARDED)
    return texts


def _guarded(text: str) -> str:
    guarded = _begins_within.sub("'", text)
    return f"'{guarded}" if guarded != text or _begins.match(text) else text


def written(rows: Iterable[Iterable[Any]], *, raw: bool = False, end: str = "\r\n") -> Iterator[str]:
    """The rows as text, one record at a time. `raw`: every cell as it is. None and nan are empty cells."""
    # The csv module quotes a cell with a lone \r only if the line terminator has one.
    write = csv.writer(_Echo(), lineterminator="\r\n").writerow
    for row in rows:
        cells = [_cell(value, raw) for value in row]
        # A spreadsheet that splits at semicolons takes the line for one cell, such as -1,5+…
        if not raw and cells and isinstance(cells[0], str) and _number.fullmatch(cells[0]):
            cells[0] = _guarded(cells[0])
        yield write(cells).removesuffix("\r\n") + end


def download(rows: Iterable[Iterable[Any]], *, raw: bool = False) -> Iterable[str]:
    """The rows as text for a download by a person: as `written`, with a byte order mark first unless `raw`."""
    return with_mark(written(rows, raw=raw), raw=raw)


def with_mark(lines: Iterable[str], *, raw: bool = False) -> Iterable[str]:
    """The lines of a CSV, with a byte order mark first. `raw`: without it.

    Excel reads a file without the mark in the code page of the computer, and garbles every ö or 水.
    """
    return lines if raw else chain([BOM.decode()], lines)


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
