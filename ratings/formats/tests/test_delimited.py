"""Tables with named columns, as delimited text."""

import io
import json
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import strategies as st

from ratings.formats.refusal import Refusal
from ratings.formats.rows import DocumentLine, RatingLine, RunLine, Topic
from ratings.formats.source import Reading, Source
from ratings.formats.tables import read
from ratings.tests.refusals import offered

HEADER = "query,document,rater,grade,reason,comment,seconds,rated_at\r\n"


def source(text: str | bytes, **said) -> Source:
    return Source("r.csv", io.BytesIO(text if isinstance(text, bytes) else text.encode()), Reading(**said))


def rows_of(text: str | bytes, kind: str = "ratings", **said) -> list:
    return list(read("csv", kind, source(text, **said)))


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


def test_a_time_without_offset_is_utc_and_another_offset_is_turned_into_it():
    text = HEADER + "q,a,r,1,,,,2026-03-02T09:00\nq,b,r,1,,,,2026-03-02T09:00+02:00\n"
    assert [row.rated_at.hour for row in rows_of(text)] == [9, 7]


def test_a_header_without_what_is_needed_is_refused_with_what_there_is():
    for header in ("colour,size,weight,age", "query,rater,grade,colour", "query,document,rater,colour"):
        (refusal,) = rows_of(f"{header}\nq,a,alice,1\n")
        assert refusal.line == 1 and header.split(",")[0] in refusal.problem
        assert offered(refusal) == [("columns", {"query": None, "document": None, "grade": None})]


def test_a_column_that_stands_twice_is_refused():
    (refusal,) = rows_of("query,document,rater,grade,grade\nq,a,alice,1,2\n")
    assert (refusal.line, refusal.problem) == (1, "the header has the column 'grade' twice")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("q,a,alice,,,,,", "a rating needs either a grade or a reason"),
        ("q,a,alice,1,broken,,,", "either a grade or a reason"),
        ("q,a,alice,good,,,,", "the grade 'good' is not a decimal number"),
        ("q,a,alice,1", "there are 4 cells, the header has 8"),
        (",a,alice,1,,,,", "the query is empty"),
        ("q,a\x01a,alice,1,,,,", "has a blank or a control character"),
        ("q,,alice,1,,,,", "the document is empty"),
        ("q,a, alice,1,,,,", "the rater ' alice' is empty, begins or ends with a blank"),
        ("q,a," + "r" * 151 + ",1,,,,", "is longer than 150 characters"),
        ("q,a,alice,1,,,-1,", "the number of seconds '-1' is less than 0"),
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


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ('q,a,alice,1,,"never closed,,\nq,b,alice,1,,,,\n', "is never closed"),
        ('q,a,alice,1,,"x"y,,\n', "continues after its closing quotation mark"),
        ("q,a,alice,1,,,,\rq,b,alice,1,,,,\n", "ends with CR alone, unlike the others"),
    ],
)
def test_a_broken_record_is_refused_where_it_begins(rest, problem):
    *_, refusal = rows_of(f"{HEADER}q,z,alice,1,,,,\n{rest}")
    assert isinstance(refusal, Refusal)
    assert refusal.line == 3
    assert problem in refusal.problem and refusal.cure


def test_a_line_that_is_no_text_ends_the_reading_with_one_refusal():
    content = HEADER.encode() + b'q,a,alice,1,,"caf\xe9\nq,b,alice,1,,,,\n'
    (refusal,) = rows_of(content)
    assert (refusal.line, "is not UTF-8" in refusal.problem) == (2, True)


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def test_columns_are_known_by_their_usual_names_and_what_was_guessed_is_told():
    table = source("Query Text,Doc ID,Doc Position,Rating\nred shoes,d1,1,2.5\n")
    assert list(read("csv", "ratings", table)) == [RatingLine(2, "red shoes", "d1", "", Decimal("2.5"))]
    assert table.notes == [
        "r.csv: query from 'Query Text', document from 'Doc ID', grade from 'Rating'.",
        "r.csv: nothing is read from the columns 'Doc Position'.",
    ]


def test_a_column_for_each_rater_becomes_ratings_of_named_raters():
    """Blank is no rating, and what cannot be judged stays that."""
    text = "query,docid, =Ann,Bob B.,Cy\nred shoes,d1,-1,,unrateable\nred shoes,d2,,0.25,\nred shoes,d3,,,\n"
    assert rows_of(text, columns={"raters": "=Ann|Bob B.|Cy"}) == [
        RatingLine(2, "red shoes", "d1", "=Ann", Decimal(-1)),
        RatingLine(2, "red shoes", "d1", "Cy", None, "other"),
        RatingLine(3, "red shoes", "d2", "Bob B.", Decimal("0.25")),
    ]


def test_a_cell_of_a_rater_that_is_no_grade_is_refused_with_its_line():
    *_, refusal = rows_of("query,docid,rater1\nq,d1,1\nq,d2,great\n")
    assert (refusal.line, "the grade 'great' is not a decimal number" in refusal.problem) == (3, True)


def test_words_get_the_grades_that_were_said():
    text = "query,document,grade\nq,a,highly relevant\nq,b,none\n"
    rows = rows_of(text, grades={"highly relevant": Decimal(2), "none": Decimal(0)})
    assert [row.grade for row in rows] == [2, 0]


def test_a_column_may_say_that_a_pair_is_unrateable_and_a_blank_grade_is_no_rating():
    text = "query,docid,rater,rating,unrateable\nq,a,ann,,1\nq,b,ann,,0\nq,c,ann,3,0\n"
    assert [(row.document, row.grade, row.reason) for row in rows_of(text)] == [("a", None, "other"), ("c", 3, "")]


@pytest.mark.parametrize("word", ["x", "yes", "1.0", " TRUE "])
@pytest.mark.parametrize("other", ["FALSE", "no", "0.0", ""])
def test_a_cell_says_whether_a_pair_is_unrateable(word, other):
    rows = rows_of(f"query,docid,rater,rating,unrateable\nq,a,ann,,{word}\nq,b,ann,2,{other}\n")
    assert [(row.grade, row.reason) for row in rows] == [(None, "other"), (2, "")]


@pytest.mark.parametrize("grade", ["", "2"])
def test_a_word_that_is_neither_yes_nor_no_is_refused_with_its_line(grade):
    (refusal,) = rows_of(f"query,docid,rater,rating,unrateable\nq,a,ann,{grade},perhaps\n")
    assert refusal.line == 2 and "'perhaps'" in refusal.problem
    assert offered(refusal) == [("columns", {"unrateable": ""})]


def test_a_query_that_nobody_rated_may_stand_alone():
    text = "query,docid,rating\nred shoes,,\nhats\nred shoes,a,1\n"
    assert rows_of(text) == [RatingLine(4, "red shoes", "a", "", Decimal(1))]


def test_utf_16_is_known_by_its_mark_and_another_encoding_is_told():
    text = "query;document;grade\ncafé;a;1\n"
    assert rows_of(text.encode("utf-16"))[0].query == "café"
    assert rows_of(text.encode("windows-1252"), encoding="windows-1252")[0].query == "café"
    (refusal,) = rows_of(text.encode("windows-1252"))
    assert refusal.line == 2
    assert "is not UTF-8" in refusal.problem
    assert offered(refusal) == [("encoding", "windows-1252"), ("encoding", None)]


def test_what_is_not_in_the_encoding_that_was_told_is_refused():
    *_, refusal = rows_of(b"query;document;grade\n\xe9;a;1\n", encoding="utf-16")
    assert "cannot be read as utf-16" in refusal.problem


def test_queries_documents_and_results_come_from_tables_too():
    need = "query,information_need\nred shoes,to buy\nred shoes,to buy\n"
    assert rows_of(need, "queries") == [Topic(2, None, "red shoes", "to buy")]
    assert rows_of("query,text\n7,red shoes\n", "queries") == [Topic(2, "7", "red shoes")]
    tags = Topic(2, "7", "red shoes", None, ("a", "b"))
    assert rows_of("qid,query,tags\n7,red shoes,a; b\n", "queries") == [tags]
    document = DocumentLine(2, "d1", "T", "B", None, {"price": "9"})
    assert rows_of("docid,title,text,price\nd1,T,B,9\n", "documents") == [document]
    by_rank = [RunLine(2, "q", "a", 1, 1.0, "s"), RunLine(3, "q", "b", 2, 0.5, "s")]
    assert rows_of("query,docid,position,system\nq,a,1,s\nq,b,2,s\n", "results") == by_rank
    by_score = [RunLine(2, "q", "a", 1, 9.5, ""), RunLine(3, "q", "b", 2, 1.0, "")]
    assert rows_of("query,docid,score\nq,a,9.5\nq,b,1\n", "results") == by_score


def test_a_cell_may_be_as_long_as_a_document():
    body = "x" * 400_000
    assert rows_of(f"docid,body\nd1,{body}\n", "documents")[0].body == body


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query,document," + ",".join(f"c{i}" for i in range(999)) + "\n", "there are 1,001 columns"),
        ("query,document," + "c" * 1_001 + "\n", "is longer than 1,000 characters"),
        # A cell may run over lines, and so may a record, but not for ever.
        ("query,document,grade\n" + '"a\n",' * 6_000_000, "the record that begins here is longer than 10 MB"),
    ],
)
@pytest.mark.slow
def test_a_table_that_is_too_wide_is_refused(text, said):
    begun = time.process_time()  # which other work on the machine does not lengthen
    (refusal,) = read("csv", "ratings", source(text))
    assert said in refusal.problem and refusal.cure
    assert time.process_time() - begun < 20


def test_lines_of_json_whose_names_all_differ_are_forgotten():
    pair = {"query": "q", "document": "d", "grade": 1}
    lines = "".join(json.dumps(pair | {f"n{i}": 0}) + "\n" for i in range(3_000))
    assert sum(1 for _ in read("jsonl", "ratings", source(lines))) == 3_000
    wide = json.dumps({f"n{i}": 0 for i in range(1_001)})
    (refusal,) = read("jsonl", "ratings", source(wide))
    assert "there are 1,001 columns" in refusal.problem


def test_records_whose_cells_are_all_blank_are_passed_over():
    text = ",,\nid,title,\n,,\nd1,red,\n , ,\n,,\n"
    assert [(row.line, row.key) for row in rows_of(text, "documents")] == [(4, "d1")]
    assert [row.key for row in rows_of("id,query\n1,red\n,\n2,blue\n,,,\n", "queries")] == ["1", "2"]


def test_a_quotation_mark_that_makes_one_row_of_two_is_refused():
    refusal, third = rows_of('id\tquery\nq1\t"red\nq2\tblue"\nq3\tgreen\n', "queries")
    assert third.key == "q3" and (refusal.line, "as if two rows were one" in refusal.problem) == (2, True)
    assert rows_of('id\tquery\nq1\t"red\nhat"\n', "queries")[0].text == "red\nhat"


def test_docno_stands_before_docid_which_beside_it_is_a_number_in_an_index():
    text = "qid,docid,docno,rank,score\nq,5,d1,0,9.5\n"
    assert rows_of(text, "results")[0].document == "d1"
    assert rows_of("docid,docno,text\n5,d1,red\n", "documents")[0].key == "d1"
