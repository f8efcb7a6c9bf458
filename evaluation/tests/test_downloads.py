"""The tables of pages as files: an Excel workbook has the rows of the CSV, with numbers as numbers."""

import csv
import io
from itertools import chain

import pytest
from django.urls import reverse
from openpyxl import load_workbook

from evaluation.tests.hills import analyst, make_hills
from ratings.formats import workbooks
from ratings.formats.source import BOM

pytestmark = pytest.mark.django_db

NAMES = ["overview", "queries", "compare", "differences", "agreement", "drift"]


def rows_of(content: bytes) -> list[list]:
    return [list(row) for row in load_workbook(io.BytesIO(content)).active.iter_rows(values_only=True)]


@pytest.mark.parametrize("name", NAMES)
def test_a_workbook_has_the_cells_of_the_csv(client, name):
    collection = make_hills()
    analyst(client, collection)
    table, book = (client.get(reverse(f"{name}_{ending}", args=[collection.slug])) for ending in ("csv", "xlsx"))
    expected = list(csv.reader(io.StringIO(table.content.removeprefix(BOM).decode(), newline="")))
    found = rows_of(book.getvalue())
    assert len(expected) > 1 or name in ("agreement", "drift")
    assert [len(row) for row in found] == [len(row) for row in expected]
    for cell, text in zip(chain(*found), chain(*expected), strict=True):
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            assert cell == pytest.approx(float(text), rel=1e-15)  # openpyxl writes 16 digits
        else:
            assert ("" if cell is None else str(cell)) == text
    assert name in ("agreement", "drift") or any(isinstance(cell, float) for cell in chain(*found))
    assert book["Content-Type"] == workbooks.TYPE
    assert book["Content-Encoding"] == "identity"  # it is a ZIP, and is not compressed again
    assert book["Content-Disposition"] == table["Content-Disposition"].replace(".csv", ".xlsx")


def test_each_table_of_a_page_is_linked_as_csv_for_excel_and_as_json(client):
    collection = make_hills()
    html = analyst(client, collection).get(f"/collections/{collection.slug}/?measure=DCG@5").content.decode()
    links = "".join(
        f'<a href="/collections/hills/scores.{ending}?measure=DCG@5">{label}</a>'
        for ending, label in (("csv", "CSV"), ("xlsx", "Excel"), ("json", "JSON"))
    )
    assert links in html


def test_a_table_that_is_too_long_for_a_workbook_is_offered_as_csv(client, monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_ROWS", 3)
    collection = make_hills()
    response = analyst(client, collection).get(reverse("queries_xlsx", args=[collection.slug]))
    assert response.status_code == 400 and response["Content-Type"].startswith("text/plain")
    assert response.content.decode() == (
        "The table has more than the 3 rows that are written for Excel. Save it as CSV.\n"
    )
    monkeypatch.setattr(workbooks, "MOST_ROWS", 4)
    assert client.get(reverse("queries_xlsx", args=[collection.slug])).status_code == 200
