"""What people open in a spreadsheet is shown and never computed; what is read again is what it was."""

import csv
import io
from itertools import combinations

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings.desk import queue
from ratings.formats import spreadsheet
from ratings.models import Rating
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater

SIGNS = "=+-@\t\r\n＝＋－＠' \ufeff1e.ab,;\""
# 100 lists of 100 cells, most of which begin as formulas do.
cells = st.text(st.sampled_from(SIGNS), max_size=6) | st.text(max_size=6).filter(lambda text: "\0" not in text)
many = st.lists(cells, min_size=100, max_size=100)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def computes(cell: str) -> bool:
    """Whether some spreadsheet may take the cell for a formula, by the list of the ASVS and its reasons."""
    return cell.startswith(("\t", "\r", "\n")) or (
        cell.lstrip(" \t\r\n\v\f\ufeff\u200b\u00a0\u3000")[:1] in set("=+-@＝＋－＠") and not is_number(cell)
    )


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-Xy_Kq", "'-Xy_Kq"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\r'=1"),
        ("Ann;=1+1", "'Ann;'=1+1"),
        ("Ann\t=1+1", "'Ann\t'=1+1"),
        ('a| "＝1;-1', "'a|' \"＝1;'-1"),
        ("a\n\n- b", "'a\n\n'- b"),
        ("'a;'=1", "''a;''=1"),
        ("'a;=1", "''a;'=1"),
        ("'a, '-b", "'a, '-b"),
        ("a;b\nc", "a;b\nc"),
        ("  =1", "'  =1"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("'-1", "''-1"),
        ("-1", "-1"),
        ("+0.5", "+0.5"),
        ("-1e-7", "-1e-7"),
        ("'tis", "'tis"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_a_formula_gets_an_apostrophe_and_a_number_does_not(text, cell):
    assert spreadsheet.safe(text) == cell
    assert spreadsheet.unguarded(cell) == text


@hypothesis_settings(max_examples=100)
@given(many)
@pytest.mark.slow
def test_of_10_000_cells_none_computes_and_all_come_back(texts):
    for raw in (False, True):
        text = "".join(spreadsheet.written([["x", *texts]], raw=raw))
        (read,) = csv.reader(io.StringIO(text, newline=""))
        if raw:
            assert read[1:] == texts
        else:
            assert not any(map(computes, read))
            assert [spreadsheet.unguarded(cell) for cell in read[1:]] == texts


def seen(text: str, separators: str) -> list[str]:
    """The cells of a spreadsheet that splits at these: a quotation mark counts at the beginning of a cell."""
    found, cell, quoted, at = [], "", False, 0
    begins = True
    while at < len(text):
        sign, at = text[at], at + 1
        if quoted:
            if sign != '"':
                cell += sign
            elif text[at : at + 1] == '"':
                cell, at = cell + sign, at + 1
            else:
                quoted = False
        elif begins and sign == '"':
            quoted = True
        elif sign in separators + "\r\n":
            found, cell = [*found, cell], ""
            begins = True
            continue
        else:
            cell += sign
        begins = False
    return [*found, cell]


EVERYWHERE = [set_ for n in range(1, 5) for set_ in map("".join, combinations(",;\t|", n))]
split = st.text(st.sampled_from(';;\t|,\r\n""\'=+-@＝1 \u3000\ufeffa'), max_size=8)


@hypothesis_settings(max_examples=100)
@given(
    st.lists(st.lists(split, min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from(["\r\n", "\n"]),
)
@pytest.mark.slow
def test_wherever_it_is_split_no_cell_computes_and_all_come_back(rows, end):
    text = "".join(spreadsheet.written(rows, end=end))
    for separators in EVERYWHERE:
        for cell in seen(text, separators):
            begun = cell.lstrip(" \t\v\f\ufeff\u200b\u00a0\u3000")
            assert begun[:1] not in set("=+-@＝＋－＠") or is_number(cell), separators
    read = csv.reader(io.StringIO(text, newline=""))
    assert [[spreadsheet.unguarded(cell) for cell in row] for row in read] == rows
    (raw,) = csv.reader(io.StringIO("".join(spreadsheet.written(rows[:1], raw=True, end=end)), newline=""))
    assert raw == rows[0]


@hypothesis_settings(max_examples=100)
@given(split)
def test_what_was_never_marked_loses_nothing_but_the_marks(cell):
    """A cell of another program is taken for marked only where marking gives the same cell."""
    text = spreadsheet.unguarded(cell)
    assert text == cell or f"'{text}" == cell or spreadsheet.safe(text) == cell


def test_a_number_that_begins_a_line_takes_what_follows_along_where_commas_do_not_split():
    (line,) = spreadsheet.written([["-1", "5+1"]])
    assert line == "'-1,5+1\r\n" and spreadsheet.unguarded("'-1") == "-1"
    assert "".join(spreadsheet.written([["-1", "5+1"]], raw=True)) == "-1,5+1\r\n"


def test_numbers_nothing_and_nan_are_no_text():
    assert "".join(spreadsheet.written([[-1, -0.5, None, float("nan"), True]])) == "-1,-0.5,,,True\r\n"


@pytest.mark.django_db
def test_ratings_are_safe_by_command_unless_they_are_asked_for_raw_and_both_come_back(tmp_path):
    collection = make_collection(documents=["=cmd", "'=cmd"])
    alice = make_rater(collection)
    for document in ("=cmd", "'=cmd"):
        pair = make_pair(collection, "q1", document)
        queue.save(
            alice, pair, queue.Submission(grade=grade(collection, "-1"), comment="@SUM(A1)", seconds=2), now=NOW
        )
    path = tmp_path / "ratings.csv"
    for number, (option, first) in enumerate(
        {(): "q1,''=cmd,alice,-1,,'@SUM(A1)", ("--raw",): "q1,'=cmd,"}.items()
    ):
        call_command("export_ratings", "hills", *option, output=str(path))
        assert path.read_text().splitlines()[1].startswith(first)
        there = make_collection(f"there-{number}", documents="")
        out = io.StringIO()
        call_command("import_ratings", there.slug, str(path), *option, stdout=out)
        assert ("apostrophes before signs" in out.getvalue()) == (not option)
        ratings = Rating.objects.filter(pair__query__collection=there)
        assert sorted(ratings.values_list("pair__document__key", "comment")) == [
            ("'=cmd", "@SUM(A1)"),
            ("=cmd", "@SUM(A1)"),
        ]
