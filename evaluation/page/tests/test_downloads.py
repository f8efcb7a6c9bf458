"""The tables of pages as files: an Excel workbook has the rows of the CSV, with numbers as numbers."""

import csv
import io
from contextlib import nullcontext
from itertools import chain

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse
from openpyxl import load_workbook

from evaluation.charts import pictures
from evaluation.page import charts
from evaluation.tests.hills import analyst, make_hills
from ratings.formats import workbooks
from ratings.formats.source import BOM
from ratings.models import Collection, Role
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_member
from ratings.web import downloads

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
    assert book["Content-Type"] == workbooks.CONTENT_TYPE
    assert book["Content-Encoding"] == "identity"  # it is a ZIP, and is not compressed again
    assert book["Content-Disposition"] == table["Content-Disposition"].replace(".csv", ".xlsx")


@pytest.mark.parametrize("ending", ["csv", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_text_says_its_charset(client, name, ending):
    collection = make_hills()
    analyst(client, collection)
    address = reverse(f"{name}_{ending}", args=[collection.slug])
    assert client.get(address)["Content-Type"].endswith("; charset=utf-8")


def test_a_table_that_is_too_long_for_a_workbook_is_refused(client, monkeypatch):
    address = reverse("queries_xlsx", args=[make_hills().slug])
    analyst(client, Collection.objects.get())
    for most, status in ((3, 400), (4, 200)):
        monkeypatch.setattr(workbooks, "MOST_ROWS", most)
        assert client.get(address).status_code == status


@pytest.mark.parametrize(("turn", "refused"), [(downloads.turn, (503, "10")), (nullcontext, (200, None))])
def test_while_two_files_are_made_the_others_wait_and_pages_do_not(monkeypatch, turn, refused):
    """The twin without turns shows that the others would have theirs made, too."""
    monkeypatch.setattr(downloads, "turn", turn)
    collection, answers = make_hills(), {}
    ann, bob, cleo = (analyst(Client(), collection, name) for name in ("ann", "bob", "cleo"))
    book, export = reverse("queries_xlsx", args=["hills"]), reverse("export_judgments", args=["hills"])

    def while_first() -> None:
        answers.update(same=ann.get(export), second=bob.get(book))

    def while_second() -> None:
        answers.update(third=cleo.get(export), page=cleo.get("/"), live=cleo.get("/livez"))

    acts, written = [while_second, while_first], workbooks.written

    def slowly(*table) -> bytes:
        if acts:
            acts.pop()()
        return written(*table)

    monkeypatch.setattr(workbooks, "written", slowly)
    answers["first"] = ann.get(book)
    waits = [answers["same"], answers["third"]]
    assert [(answer.status_code, answer.get("Retry-After")) for answer in waits] == [refused, refused]
    assert {answers[name].status_code for name in ("first", "second", "page", "live")} == {200}
    assert ann.get(export).status_code == cleo.get(export).status_code == 200


@pytest.mark.parametrize("call", ["evaluation", "comparison?baseline=good", "machine-only"])
def test_a_program_waits_for_its_turn_like_a_person(call):
    collection = make_hills()
    user = make_member(collection, "ann", Role.ANALYST)
    caller = make_caller(user, collection, "read")
    with downloads.turn(user.pk):
        answer = caller.get(f"/collections/hills/{call}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert answer.json()["type"] == "urn:idealist:problem:busy"
    assert caller.get(f"/collections/hills/{call}").status_code == 200


def test_a_turn_that_ends_in_an_error_is_over():
    with pytest.raises(ZeroDivisionError), downloads.turn(1):
        raise ZeroDivisionError
    with downloads.turn(1), downloads.turn(2), pytest.raises(downloads.Busy), downloads.turn(3):
        pass


def test_charts_that_wait_to_be_drawn_leave_threads_to_pages(rf, monkeypatch):
    request, answers = rf.get("/", {"chart": "means"}), []
    request.user = AnonymousUser()

    def asked_once_more(*spec, **options) -> str:
        answers.append(charts.picture(request, [charts.Chart("means", {}, "")]))
        return "<svg/>"

    monkeypatch.setattr(pictures, "svg", asked_once_more)
    charts.picture(request, [charts.Chart("means", {}, "")])
    assert [answer.status_code for answer in answers] == [503] + [200] * (charts.PICTURES_AT_ONCE - 1)
