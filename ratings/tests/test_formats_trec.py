"""TREC runs and qrels, as they are found."""

import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats.refusal import Refusal
from ratings.formats.rows import RatingLine, RunLine
from ratings.formats.source import Source
from ratings.formats.trec import read_qrels, read_run, write_run


def source(text: str | bytes) -> Source:
    return Source("a.txt", io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def run_of(text: str) -> list:
    return list(read_run(source(text)))


def qrels_of(text: str) -> list:
    return list(read_qrels(source(text)))


def test_a_run_has_six_columns_between_blanks_or_tabs():
    text = "301 Q0 FR94-1 1 2.5 bm25\n301\tQ0\tFR94-2\t2\t  1e-3\tbm25\n"
    assert run_of(text) == [
        RunLine(1, "301", "FR94-1", 1, 2.5, "bm25"),
        RunLine(2, "301", "FR94-2", 2, 0.001, "bm25"),
    ]


@pytest.mark.parametrize("further", [" more junk at\r", "\t\rjunk"])
def test_further_columns_of_a_run_are_tolerated_and_marked(further):
    (row,) = run_of(f"301\tQ0\tFBIS3-27619\t99\t  2.138276\tSTANDARD{further}\n")
    assert row == RunLine(1, "301", "FBIS3-27619", 99, 2.138276, "STANDARD", extra=True)


def test_a_rank_may_start_anywhere():
    assert [row.rank for row in run_of("1 Q0 a 0 3 s\n1 Q0 b -5 2 s\n1 Q0 c +7 1 s\n")] == [0, -5, 7]


def test_comments_and_blank_lines_are_passed_over_and_comments_counted():
    qrels = source("# a comment here\n301 0 a 1\n\n  # another one\n301 0 CR93E-3103#37 0\n")
    assert [row.document for row in read_qrels(qrels)] == ["a", "CR93E-3103#37"]
    assert qrels.comments == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1 Q0 a 1 0.5", "there are 5 columns, a run needs six"),
        ("1", "there is 1 column, a run needs six"),
        ("1 Q0 a one 0.5 s", "the rank 'one' is not an integer"),
        ("1 Q0 a 1.0 0.5 s", "the rank '1.0' is not an integer"),
        ("1 Q0 a 9999999999999999999 0.5 s", "the rank '9999999999999999999' is not an integer"),
        ("1 Q0 a 1 high s", "the score 'high' is not a finite number"),
        ("1 Q0 a 1 nan s", "the score 'nan' is not a finite number"),
        ("1 Q0 a 1 -inf s", "the score '-inf' is not a finite number"),
        ("1 Q0 a 1 1e400 s", "the score '1e400' is not a finite number"),
        ("1 Q0 a 1 1_000 s", "the score '1_000' is not a finite number"),
        ("1 Q0 a\x01b 1 1 s", r"the document 'a\x01b' has a blank or a control character"),
        ("1 Q0 a\u00a0b 1 1 s", r"the document 'a\xa0b' has a blank or a control character"),
        ("q" * 201 + " Q0 a 1 1 s", "is longer than 200 characters"),
        ("1 Q0 " + "d" * 501 + " 1 1 s", "is longer than 500 characters"),
        ("1 Q0 a 1 1 " + "s" * 201, "is longer than 200 characters"),
    ],
)
def test_a_line_that_is_no_result_is_refused_with_its_line(line, problem):
    good, refusal, last = run_of(f"1 Q0 z 1 9 s\n{line}\n1 Q0 y 2 8 s\n")
    assert (good.document, last.document) == ("z", "y")
    assert (refusal.file, refusal.line) == ("a.txt", 2)
    assert problem in refusal.problem
    assert refusal.cure == "A run has six columns: query, Q0, document, rank, score, system."


def test_qrels_have_four_columns_and_any_decimal_grade():
    text = "1 0.5  010vptx3 2\n151  0  clueweb09-en0000-00-03430   -2\n3\tQ0\tVOA#2578#3\t0.25 \n"
    assert qrels_of(text) == [
        RatingLine(1, "1", "010vptx3", "", Decimal(2)),
        RatingLine(2, "151", "clueweb09-en0000-00-03430", "", Decimal(-2)),
        RatingLine(3, "3", "VOA#2578#3", "", Decimal("0.25")),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "1 184 2",
            "there are 3 columns, qrels have four. Qrels have four columns: query, iteration, document, grade.",
        ),
        ("1 184 2", "Add the iteration, 0, as second column."),
        ("1.EC.AB F:Ret,C:Not Lst2 FR94-2 1", "there are 5 columns"),
        ("1.EC.AB F:Ret,C:Not Lst2 FR94-2 1", "Preference files have five, and hold no grades."),
        ("1 Q0 a 1 0.5 bm25", "there are 6 columns, qrels have four. This looks like a run: use import_run."),
        ("1 0 a good", "the grade 'good' is not a decimal number"),
        ("1 0 a 0.1234567891", "the grade '0.1234567891' has more than 9 digits after the point"),
        ("1 0 a 1234567", "the grade '1234567' has more than 6 digits before the point"),
        ("1 0 a\x7f 1", "has a blank or a control character"),
    ],
)
def test_a_line_that_is_no_grade_is_refused_with_a_hint(line, said):
    (refusal,) = qrels_of(line)
    assert isinstance(refusal, Refusal)
    assert str(refusal).startswith("a.txt, line 1: ")
    assert said in str(refusal)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 10**6))
def test_a_written_run_reads_as_the_same_floats(score, rank):
    row = RunLine(1, "q", "d#1", rank, score, "tag")
    assert run_of("".join(write_run([row]))) == [row]


@given(st.binary(max_size=300))
def test_no_bytes_at_all_break_a_reader(content):
    for item in [*read_run(source(content)), *read_qrels(source(content))]:
        assert item.line >= 1
