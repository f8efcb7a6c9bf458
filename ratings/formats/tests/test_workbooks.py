"""Workbooks for Excel: cells keep their kind and their text, and no text is computed."""

import io
from decimal import Decimal

import numpy as np
import pytest
from openpyxl import load_workbook

from ratings.formats import workbooks, xlsx
from ratings.formats.source import Reading, Source


def sheet_of(*rows, header=("a", "b")):
    return load_workbook(io.BytesIO(workbooks.written(header, rows))).active


def value(cell):
    return sheet_of([cell])["A2"].value


def test_the_header_is_bold_and_stays_in_sight():
    sheet = sheet_of([1, 2], header=["query", "=SUM(A1)"])
    assert [cell.value for cell in sheet[1]] == ["query", "=SUM(A1)"]
    assert [cell.data_type for cell in sheet[1]] == ["s", "s"] and sheet["A1"].font.bold
    assert sheet.freeze_panes == "A2"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3),
        (-0.1234567890123, -0.1234567890123),
        (np.float64(0.1), 0.1),
        (np.int32(7), 7),
        (Decimal("2"), 2),
        (Decimal("0.5"), 0.5),
        (True, True),
        (np.True_, True),
        (None, None),
        (float("nan"), None),
        (np.float64("nan"), None),
        (float("-inf"), "-inf"),
        ("007", "007"),
        ("2026-03-01", "2026-03-01"),
        ("  ключ 😀\n", "  ключ 😀\n"),
    ],
)
def test_cells_keep_their_kind(given, expected):
    found = value(given)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("text", ["=1+1", "=HYPERLINK(1)", "#N/A", "#REF!", "+1", "-1", "@SUM(A1)", "'quoted"])
def test_no_text_is_a_formula_or_an_error(text):
    cell = sheet_of([text])["A2"]
    assert (cell.value, cell.data_type) == (text, "s")


def test_what_xml_cannot_hold_is_replaced_and_what_looks_like_an_escape_stays():
    # openpyxl reads escapes as they are, Excel and our imports their characters.
    assert value("a\x00b\x1f\ufffe\ud800c") == "a\ufffdb\ufffd\ufffd\ufffdc"
    content = workbooks.written(["a"], [["_x0041_ _xyz_ _x005F_"]])
    (_, _), (_, cells) = xlsx.records(Source("r.xlsx", io.BytesIO(content), Reading()))
    assert cells == ["_x0041_ _xyz_ _x005F_"]


def test_fractions_are_shown_with_four_decimals_and_kept_with_all():
    sheet = sheet_of([0.123456789, 12])
    assert (sheet["A2"].number_format, sheet["B2"].number_format) == ("0.0000", "General")
    assert sheet["A2"].value == 0.123456789


def test_a_text_that_no_cell_can_hold_is_cut_and_says_so():
    longest = "x" * 32_767
    assert value(longest) == longest
    assert value(longest + "y") == "x" * 32_766 + "…"


def test_more_rows_than_allowed_are_refused(monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_ROWS", 2)
    assert sheet_of([1], [2]).max_row == 3
    with pytest.raises(workbooks.TooManyRows, match="more than the 2 rows"):
        workbooks.written(["a"], [[1], [2], [3]])
