"""Ratings as comma-separated values."""

import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats.delimited import RatingLine, read_ratings, write_ratings
from ratings.formats.refusal import Refusal
from ratings.formats.source import Source

HEADER = "query,document,rater,grade,reason,comment,seconds,rated_at\r\n"


def rows_of(text: str) -> list:
    return list(read_ratings(Source("r.csv", io.BytesIO(text.encode()))))


def test_a_rating_is_a_grade_or_a_reason():
    text = HEADER + "q1,a,alice,0.5,,,12.5,2026-03-02T09:00:00+00:00\r\nq1,b,Bob B.,,broken,,,\r\n"
    assert rows_of(text) == [
        RatingLine(2, "q1", "a", "alice", Decimal("0.5"), "", "", 12.5, datetime(2026, 3, 2, 9, tzinfo=UTC)),
        RatingLine(3, "q1", "b", "Bob B.", None, "broken"),
    ]


def test_a_quoted_cell_may_hold_lines_commas_and_quotation_marks():
    text = HEADER + 'q1,a,alice,1,,"two ""words"",\r\nsecond line\nthird",,\r\nq1,b,alice,0,,,,\r\n'
    first, second = rows_of(text)
    assert first.comment == 'two "words",\r\nsecond line\nthird'
    assert (first.line, second.line) == (2, 5)


def test_columns_may_stand_in_any_order_and_the_last_four_may_be_absent():
    assert rows_of("grade,rater,document,query\n1,alice,a,q1\n") == [RatingLine(2, "q1", "a", "alice", Decimal(1))]


def test_a_time_without_offset_is_utc_and_another_offset_is_turned_into_it():
    text = HEADER + "q,a,r,1,,,,2026-03-02T09:00\nq,b,r,1,,,,2026-03-02T09:00+02:00\n"
    assert [row.rated_at.hour for row in rows_of(text)] == [9, 7]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("query,docid,rater,rating\n", "lacks document, grade"),
        ("query;document;rater;grade\n", "lacks query, document, rater, grade"),
        ("query,document,rater,grade,colour\n", "has the unknown column 'colour'"),
        ("query,document,rater,grade,grade\n", "names a column twice"),
    ],
)
def test_another_header_is_refused(header, problem):
    (refusal,) = rows_of(header + "q,a,alice,1\n")
    assert refusal.line == 1
    assert problem in refusal.problem
    assert "query,document,rater,grade,reason,comment,seconds,rated_at" in refusal.cure


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("q,a,alice,,,,,", "a rating needs a grade or a reason"),
        ("q,a,alice,1,broken,,,", "and not both"),
        ("q,a,alice,good,,,,", "the grade 'good' is not a decimal number"),
        ("q,a,alice,1", "there are 4 cells, the header has 8"),
        ("q q,a,alice,1,,,,", "the query 'q q' has a blank"),
        ("q,,alice,1,,,,", "the document is empty"),
        ("q,a, alice,1,,,,", "the rater ' alice' is empty, begins or ends with a blank"),
        ("q,a," + "r" * 151 + ",1,,,,", "is longer than 150 characters"),
        ("q,a,alice,1,,,-1,", "the number of seconds '-1' is negative"),
        ("q,a,alice,1,,,nan,", "the number of seconds 'nan' is not a finite number"),
        ("q,a,alice,1,,,,yesterday", "rated_at 'yesterday' is not a time"),
        ("q,a,alice,1,,,,9999-12-31T23:59:59-12:00", "is not a time"),
    ],
)
def test_a_record_that_is_no_rating_is_refused(record, problem):
    good, refusal = rows_of(f"{HEADER}q,z,alice,1,,,,\n{record}\n")
    assert good.document == "z"
    assert (refusal.file, refusal.line) == ("r.csv", 3)
    assert problem in refusal.problem


@pytest.mark.parametrize("rest", ['q,a,alice,1,,"never closed,,\nq,b,alice,1,,,,\n', 'q,a,alice,1,,"x"y,,\n'])
def test_broken_quotes_are_refused_where_their_record_begins(rest):
    *_, refusal = rows_of(f"{HEADER}q,z,alice,1,,,,\n{rest}")
    assert isinstance(refusal, Refusal)
    assert refusal.line == 3
    assert "the CSV is broken" in refusal.problem


def test_a_line_that_is_no_text_ends_the_reading_with_one_refusal():
    content = HEADER.encode() + b'q,a,alice,1,,"caf\xe9\nq,b,alice,1,,,,\n'
    (refusal,) = list(read_ratings(Source("r.csv", io.BytesIO(content))))
    assert (refusal.line, "is not UTF-8" in refusal.problem) == (2, True)


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(words, st.none() | st.floats(0, 1e9), st.decimals(-99, 99, places=3))
def test_what_is_written_reads_the_same_and_is_written_the_same_again(comment, seconds, grade):
    at = datetime(2026, 3, 2, 9, 0, 0, 123456, tzinfo=UTC)
    row = RatingLine(2, "q", "a", "alice", grade, "", comment, seconds, at)
    text = "".join(write_ratings([row]))
    assert rows_of(text) == [row]
    assert "".join(write_ratings(rows_of(text))) == text
