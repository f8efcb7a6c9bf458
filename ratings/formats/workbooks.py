"""Excel workbooks for download, by openpyxl: numbers are numbers in every locale, and no text is a formula."""

import io
import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice
from typing import Any

from . import spreadsheet

CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MOST_ROWS = 50_000  # below the header: these take five to nine seconds
LONGEST_TEXT = 32_767  # characters of a cell
WIDEST_COLUMN = 40  # characters of a column; a longer text is in the cell all the same
FRACTION_FORMAT = "0.0000"  # of a fraction; the cell holds 16 digits
_not_in_xml = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_like_an_escape = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


class TooManyRows(ValueError):
    """The table has more than MOST_ROWS rows. The message is for the reader."""


def written(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """A workbook with the table in its only sheet, the header fixed above it. None and nan are empty cells.

    Raises TooManyRows.
    """
    if len(rows := list(islice(rows, MOST_ROWS + 1))) > MOST_ROWS:
        raise TooManyRows(f"The table has more than the {MOST_ROWS:,} rows that are written for Excel.")

    from openpyxl import Workbook  # takes a third of a second
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Table")

    def cell(value: Any) -> Any:
        value = _plain(value)
        if isinstance(value, float):
            made = WriteOnlyCell(sheet, value)
            made.number_format = FRACTION_FORMAT
        elif isinstance(value, str) and value[:1] in ("=", "#"):
            made = WriteOnlyCell(sheet, value)
            made.data_type = "s"  # neither a formula nor an error
        else:
            made = value
        return made

    titles = []
    for place, title in enumerate(header, 1):
        titles.append(WriteOnlyCell(sheet, _text(str(title))))
        titles[-1].font = Font(bold=True)
        titles[-1].data_type = "s"
        sheet.column_dimensions[get_column_letter(place)].width = min(WIDEST_COLUMN, max(10, len(str(title)) + 2))
    sheet.freeze_panes = "A2"
    sheet.append(titles)
    for row in rows:
        sheet.append([cell(value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _plain(value: Any) -> Any:
    """The value as a number, a truth value, or text that a workbook can hold; None for an empty cell."""
    value = value.item() if hasattr(value, "item") else value  # of NumPy
    if value is None or value != value:
        return None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool | int | float) and abs(value) != float("inf"):
        return value
    return _text(str(value))


def _text(text: str) -> str:
    """The text without what XML cannot hold, and cut to the longest text of a cell.

    An apostrophe keeps one that would be read as a mark, and a text that would be read as NULL.
    """
    text = spreadsheet.safe(text) if text.startswith(("'", "\\")) else text
    text = _like_an_escape.sub("_x005F_", _not_in_xml.sub("\ufffd", text))  # a reader takes _x0041_ for A
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
