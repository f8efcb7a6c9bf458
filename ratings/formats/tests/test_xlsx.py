"""Excel workbooks: cells as people see them, one sheet, and what is no workbook."""

import datetime
import io
import re
import zipfile
from decimal import Decimal

import openpyxl
import pytest

from ratings.formats import budget, xlsx
from ratings.formats.refusal import Refusal
from ratings.formats.registry import certain_kind, recognised
from ratings.formats.rows import RatingLine
from ratings.formats.source import Reading, Source
from ratings.formats.tables import read
from ratings.tests.refusals import offered


def made(*rows, formats=(), **sheets) -> bytes:
    """A workbook with these rows on its first sheet; others by their titles."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for place, number_format in formats:
        book.active[place].number_format = number_format
    for title, state in sheets.items():
        book.create_sheet(title).sheet_state = state
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def source(content: bytes, **said) -> Source:
    return Source("r.xlsx", io.BytesIO(content), Reading(**said))


def rows_of(content: bytes, **said) -> list:
    return list(xlsx.records(source(content, **said)))


def changed(content: bytes, part: str, change) -> bytes:
    """The workbook with one part of it as `change` makes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == part else data)
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
HEAD = ("query", "document", "rater", "grade")


def test_cells_are_read_as_people_see_them():
    day, moment = datetime.date(2026, 3, 2), datetime.datetime(2026, 3, 2, 9, 30)
    content = made(
        ("a", "b", "c", "d"),
        (12345, 12345.0, 0.1 + 0.2, 7),
        (day, moment, True, "0012"),
        (-0.5, 1e-7, None, " x "),
        formats=[("D2", "00000"), ("A4", "0.00")],
    )
    assert rows_of(content)[1:] == [
        (2, ["12345", "12345", "0.3", "00007"]),
        (3, ["2026-03-02", "2026-03-02T09:30:00", "TRUE", "0012"]),
        (4, ["-0.5", "1e-07", "", " x "]),
    ]


def test_a_sheet_of_ratings_is_known_and_read_with_the_numbers_of_its_rows():
    content = made(HEAD, (1, "d1", "ann", 0.5), (None,), (1, "d2", "ann", "bad"), ("q", "d3", "ann", -1))
    assert recognised(source(content), "ratings", "csv").name == "xlsx"
    assert certain_kind(source(content)) == "ratings"
    first, refusal, last = read("xlsx", "ratings", source(content))
    assert first == RatingLine(2, "1", "d1", "ann", Decimal("0.5"))
    assert (refusal.line, "the grade 'bad'" in refusal.problem) == (4, True)
    assert last.line == 5


def test_what_a_formula_came_to_is_read():
    content = made(("a", "b"), ("x", "=1+1"))
    computed = changed(content, SHEET, lambda xml: re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>2</v>", xml))
    assert rows_of(computed)[1] == (2, ["x", "2"])
    (refusal,) = rows_of(content)
    assert (refusal.line, "the cell B2 has a formula" in refusal.problem) == (2, True)
    empty = changed(content, SHEET, lambda xml: re.sub(rb'<c r="B2"', b'<c r="B2" t="str"', xml))
    assert rows_of(empty)[1] == (2, ["x", ""])


def test_an_apostrophe_that_keeps_a_cell_from_being_computed_goes():
    content = made(("a",), ("'=1+1",))
    file = source(content)
    assert list(xlsx.records(file))[1] == (2, ["=1+1"]) and "apostrophe" in file.notes[0]
    assert rows_of(content, raw=True)[1] == (2, ["'=1+1"])


def test_of_several_sheets_one_must_be_said():
    content = made(("a",), ("x",), Other="visible", Notes="hidden")
    (refusal,) = rows_of(content)
    assert refusal.problem == "the workbook has several sheets: 'Sheet', 'Other'"
    assert offered(refusal) == [("sheet", None)]
    assert rows_of(content, sheet="Sheet")[1] == (2, ["x"])
    (refusal,) = rows_of(content, sheet="sheet")
    assert "there is no sheet 'sheet'; the sheets are 'Sheet', 'Other'" in refusal.problem
    assert rows_of(made(("a",), Notes="hidden")) == [(1, ["a"])]
    assert xlsx.sheets_of(source(content)) == ["Sheet", "Other"]


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        ([("a", "b"), ("x", "#N/A")], 2, "the cell B2 holds the error '#N/A'"),
        ([("a",), ("x", "y")], 2, "the row has 2 cells, the header has 1"),
        ([("a",), (12345678901234567890,)], 2, "more than 15 digits"),
    ],
)
def test_a_cell_that_says_nothing_sure_is_refused(rows, line, said):
    *_, refusal = rows_of(made(*rows))
    assert (refusal.line, said in refusal.problem) == (line, True)


def test_a_wrong_dimension_hides_nothing():
    content = made(("a", "b"), ("x", "y"), ("z", "w"))
    wrong = changed(content, SHEET, lambda xml: xml.replace(b'ref="A1:B3"', b'ref="A1:A2"'))
    assert b'ref="A1:A2"' in zipfile.ZipFile(io.BytesIO(wrong)).read(SHEET)
    assert rows_of(wrong) == rows_of(content)


@pytest.mark.slow
def test_a_sheet_with_one_cell_far_away_takes_no_room():
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", "z"
    file = io.BytesIO()
    book.save(file)
    _, refusal = rows_of(file.getvalue())
    assert (refusal.line, "16384 cells" in refusal.problem) == (1048576, True)


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        (SHEET, lambda xml: xml[: len(xml) // 2], "broken or cannot be read"),
        ("xl/workbook.xml", lambda xml: b"", "broken or cannot be read"),
        (SHEET, lambda xml: xml.replace(b"</row>", b"<c/>" * 400_000 + b"</row>"), "a row is longer than"),
        ("xl/styles.xml", lambda xml: xml + b" " * 110_000_000, "it unpacks to more than 200 times"),
        (SHEET, lambda xml: b'<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "' + b"&x;" * 99 + b'">]>' + xml, ""),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_would_fill_the_memory_and_what_is_broken_is_refused(part, change, said, monkeypatch):
    monkeypatch.setattr(xlsx, "LONGEST_LINE", 1_000_000)
    rows = rows_of(changed(made(("a",), ("x",)), part, change))
    assert not said or (isinstance(rows[-1], Refusal) and said in rows[-1].problem and rows[-1].cure)


def with_shared_text(count: int, text: bytes) -> bytes:
    """A workbook of documents that all have the same text, which stands in it once."""
    shared = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>%b</t></si></sst>'
    row = b'<row><c t="inlineStr"><is><t>d%d</t></is></c><c t="s"><v>0</v></c></row>'
    rows = b"".join(row % number for number in range(count)) + b"</sheetData>"
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%b"/></Types>' % kind
    content = changed(made(("id", "text")), SHEET, lambda xml: xml.replace(b"</sheetData>", rows))
    content = changed(content, "[Content_Types].xml", lambda xml: xml.replace(b"</Types>", part))
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/sharedStrings.xml", shared % text)
    return out.getvalue()


def test_a_text_that_stands_once_for_many_cells_is_read_in_each():
    assert rows_of(with_shared_text(3, b"fog"))[1:] == [(2 + i, [f"d{i}", "fog"]) for i in range(3)]


def test_empty_cells_up_to_the_last_column_count_as_unpacked(monkeypatch):
    """openpyxl fills a row up to its last cell."""
    monkeypatch.setattr(budget, "HARMLESS_BYTES", 1_000_000)
    wide = b"".join(b'<row><c r="XFD%d"/></row>' % number for number in range(2, 50))
    content = changed(made(("a",)), SHEET, lambda xml: xml.replace(b"</sheetData>", wide + b"</sheetData>"))
    *_, refusal = rows_of(content)
    assert isinstance(refusal, Refusal) and "it unpacks to more than" in refusal.problem


def test_a_number_format_of_many_zeros_adds_none():
    zeros = {20: 19 * "0" + "7", 21: "7"}
    for count, text in zeros.items():
        assert rows_of(made(("a",), (7,), formats=[("A2", "0" * count)])) == [(1, ["a"]), (2, [text])]


@pytest.mark.parametrize("filler", [b'r="A1" ', b" ", b"x:", b"x", b'<c r="A1"><f/>', b"<f>"])
@pytest.mark.parametrize("head", [b"<c ", b'<c r="A1"><f/>', b'<c r="A1"><f>1</f><v></v>', b"<"])
def test_searches_of_a_sheet_take_no_step_back(head, filler):
    """A search that goes back would take hours here."""
    text = head + filler * 400_000 + b"</row>"
    assert xlsx._first_uncomputed(io.BytesIO(text)) is None


@pytest.mark.parametrize("cut", [1, 100, 2_000])
def test_a_workbook_that_is_cut_off_is_refused(cut):
    (refusal,) = rows_of(made(("a",), ("x",))[:-cut])
    assert "broken or cannot be read" in refusal.problem


def test_a_formula_on_another_sheet_does_not_matter():
    book = openpyxl.Workbook()
    book.active.append(HEAD)
    book.active.append(("q", "a", "ann", 1))
    book.create_sheet("other").append(("=1+1",))
    file = io.BytesIO()
    book.save(file)
    assert [row.document for row in read("xlsx", "ratings", source(file.getvalue(), sheet="Sheet"))] == ["a"]


def test_escapes_of_excel_are_read_as_their_characters():
    text = "first_x000D_\nsecond _x0041_ _x005F_x0042_ _x00E9_ _x0001_ _xD800_ _x12_ _xyz_"
    expected = "first\r\nsecond A _x0042_ é _x0001_ _xD800_ _x12_ _xyz_"
    assert rows_of(made((text,))) == [(1, [expected])]
