"""TREC runs and qrels, as they are found."""

import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats import source as sources
from ratings.formats import trec
from ratings.formats.refusal import Refusal
from ratings.formats.rows import RatingLine, RunLine, one_by_one
from ratings.formats.source import Source
from ratings.formats.trec import doubt, read_qrels, read_run, write_run


def source(text: str | bytes) -> Source:
    return Source("a.txt", io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def run_of(text: str) -> list:
    return list(one_by_one(read_run(source(text))))


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
    file = source(f"301 Q0 FBIS3-27619 99\t  2.138276 STANDARD{further}\n")
    assert list(one_by_one(read_run(file))) == [RunLine(1, "301", "FBIS3-27619", 99, 2.138276, "STANDARD")]
    assert file.notes == ["a.txt: 1 line with more than six columns; the rest was ignored."]


def test_an_id_with_a_blank_does_not_make_its_score_a_system_and_tabs_are_the_cure():
    (refusal,) = run_of("q1 Q0 doc 7 1 1.5 bm25\n")
    assert "as if an id had a blank" in refusal.problem and "tabs" in refusal.cure[0]
    (row,) = run_of("q1\tQ0\tdoc_7\t1\t1.5\tbm25\n")
    assert (row.rank, row.score, row.system) == (1, 1.5, "bm25")


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
        ("q" * 501 + " Q0 a 1 1 s", "is longer than 500 characters"),
        ("1 Q0 " + "d" * 501 + " 1 1 s", "is longer than 500 characters"),
        ("1 Q0 a 1 1 " + "s" * 201, "is longer than 200 characters"),
    ],
)
def test_a_line_that_is_no_result_is_refused_with_its_line(line, problem):
    refusal, good, last = run_of(f"1 Q0 z 1 9 s\n{line}\n1 Q0 y 2 8 s\n")
    assert (good.document, last.document) == ("z", "y")
    assert (refusal.file, refusal.line) == ("a.txt", 2)
    assert problem in refusal.problem and refusal.cure


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
        ("1 184 2", "there are 3 columns, qrels have four."),
        ("1.EC.AB F:Ret,C:Not Lst2 FR94-2 1", "there are 5 columns"),
        ("q1 0 d1 1 extra", "there are 5 columns, qrels have four."),
        ("1 Q0 a 1 0.5 bm25", "there are 6 columns, qrels have four."),
        ("1 0 a good", "the grade 'good' is not a decimal number"),
        ("1 0 a 0.1234567891", "the grade '0.1234567891' has more than 9 digits after the point"),
        ("1 0 a 1234567", "the grade '1234567' has more than 6 digits before the point"),
        ("1 0 a\x7f 1", "has a blank or a control character"),
    ],
)
def test_a_line_that_is_no_grade_is_refused_with_a_hint(line, said):
    (refusal,) = qrels_of(line)
    assert isinstance(refusal, Refusal)
    assert str(refusal).startswith("a.txt, line 1: ") and said in str(refusal)


# Blocks of regular lines


def test_lines_of_one_ranking_come_together():
    text = "".join(f"{query} Q0 d{n} {n} {9 - n / 8} s\r\n" for n in range(1, 6) for query in "ab")
    first, second = read_run(source(text))
    assert (first.query, first.system, first.lines.tolist()) == ("a", "s", [1, 3, 5, 7, 9])
    assert (second.query, second.documents.to_pylist()) == ("b", ["d1", "d2", "d3", "d4", "d5"])
    assert (second.ranks.tolist(), second.scores.tolist()) == ([1, 2, 3, 4, 5], [8.875, 8.75, 8.625, 8.5, 8.375])


def test_one_odd_line_is_told_and_the_others_of_its_block_are_read():
    text = "".join(f"a Q0 d{n} {n} {9 - n} s\n" for n in range(1, 6)) + "a Q0 d6 6 high s\na Q0 d7 7 1 s more\n"
    refusal, *rows = one_by_one(read_run(source(text)))
    assert [row.line for row in rows] == [1, 2, 3, 4, 5, 7] and refusal.line == 6


@pytest.mark.parametrize("number", ["9" * 200_000, "1." + "9" * 200_000, "0" * 200_000])
def test_a_number_of_many_digits_takes_no_time(number):
    (refusal,) = run_of(f"a Q0 d {number}x 1 s\n")
    (again,) = run_of(f"a Q0 d 1 {number}x s\n")
    (grade,) = qrels_of(f"a Q0 d {number}x\n")
    assert "is not an integer" in refusal.problem and "is not a finite number" in again.problem
    assert "is not a decimal number" in grade.problem


@pytest.mark.parametrize("name", ["%20", "%20%20"])
def test_a_name_of_blanks_alone_is_refused(name):
    (refusal,) = run_of(f"a Q0 d 1 9 {name}\n")
    assert "is empty" in refusal.problem


def test_names_of_systems_may_have_blanks_behind_the_last_tab_and_as_20_and_come_back():
    lines = ["q1\tQ0\td1\t1\t9\tSolr old", "q1 Q0 d1 1 8 Solr%20new", "q2 Q0 d1 1 9 s and more"]
    file = source("\n".join(lines))
    rows = list(one_by_one(read_run(file)))
    assert [row.system for row in rows] == ["Solr old", "Solr new", "s"] and file.lines_with_more_columns == 1
    written = "".join(write_run(rows))
    assert written.splitlines()[0] == "q1 Q0 d1 1 9.0 Solr%20old"
    assert list(one_by_one(read_run(source(written)))) == [row._replace(line=n) for n, row in enumerate(rows, 1)]


KEYS = st.sampled_from(
    ["a", "b", "301", "d-1", "d\\2", '"q"', "naïve", "文", "#1", "x" * 40, "x" * 501, "a\u00a0b", "\x7f"]
)
RANKS = st.one_of(st.integers(-2, 10**10).map(str), st.sampled_from(["+3", "007", "1.0", "x", "", "0x1f", "1e3"]))
SCORES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-100, 100, places=3).map(str),
    st.sampled_from(["1e400", "nan", "-inf", "+1", ".5", "5.", "1_0", "0x1", "-0.0", "9" * 30]),
    st.sampled_from(["1e0005", "0e9999", "1e-400", "5e-324"]),
)
ODD = st.sampled_from(
    ["", "# a comment", "  a Q0 b 1 2 s", "a Q0 b 1 2 s more", "a\tQ0\tb\t1\t2\ts\t", "\0", "\ud800"]
    + ["a Q0 b 1 2 s\ra Q0 c 2 1 s", "\ufeffa Q0 b 1 2 s"]
)


@st.composite
def runs(draw) -> bytes:
    """Some rankings, most of them plain, with an odd line here and there."""
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        query, system = draw(KEYS.filter(lambda key: len(key) < 99)), draw(st.sampled_from(["s", "t", "bm25"]))
        gap = draw(st.sampled_from([" ", "\t", "  "]))
        plain = draw(st.booleans())
        for rank in range(1, draw(st.integers(1, 12))):
            cells = (
                (f"d{rank}", str(rank), f"{20 - rank / 8:.3f}")
                if plain
                else (draw(KEYS), draw(RANKS), draw(SCORES))
            )
            lines.append(gap.join([query, "Q0", *cells, system]))
    if draw(st.integers(0, 3)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(ODD))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    return text.encode("utf-8", "surrogatepass")


def said(read, content: bytes, *, by_blocks: bool, block: int = sources.BLOCK_BYTES) -> tuple[list[str], int]:
    """What is read from the content, in the order of its lines, and the number of comments."""
    file = source(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "START_BYTES", block)
        patch.setattr(sources, "BLOCK_BYTES", block)
        if not by_blocks:
            patch.setattr(trec, "_columns_by_arrow", lambda block, names: {})
        rows = sorted(one_by_one(read(file)), key=lambda row: row.line)
    return [repr(row) for row in rows], file.comments


@pytest.mark.parametrize(
    "line",
    [
        "a Q0 b 0x1f 2 s",
        "a Q0 b 0X1F 2 s",
        "a  b 1 2 s",
        "a Q0 b 1 2 ",
        " Q0 b 1 2 s",
        f"a Q0 b 1{'0' * 18} 2 s",
        f"a Q0 b {-(2**63)} 2 s",  # whose absolute value int64 cannot hold
        "a Q0 b 1 2 s\ra Q0 c 2 1 s",
        "a  Q0 b 1 2 \rs",
        "a Q0 b\x7f 1 2 s",
        "a Q0 b 1 nan s",
        '"a Q0 b 1 2 s',
    ],
)
def test_a_line_that_arrow_would_take_otherwise_is_read_as_a_line(line):
    content = f"a Q0 d 1 3 s\n{line}\na Q0 e 3 1 s\n".encode()
    assert said(read_run, content, by_blocks=True) == said(read_run, content, by_blocks=False)


@given(runs(), st.sampled_from([48, 300, 1 << 16]))
def test_blocks_say_what_lines_say(content, block):
    assert said(read_run, content, by_blocks=True, block=block) == said(read_run, content, by_blocks=False)


@given(st.lists(st.tuples(KEYS, st.sampled_from([" ", "\t", "  "]), KEYS, SCORES)), st.sampled_from([48, 1 << 16]))
def test_blocks_of_qrels_say_what_lines_say(rows, block):
    lines = [gap.join([query, "0", document, grade]) for query, gap, document, grade in rows]
    content = "\n".join(lines).encode()
    assert said(read_qrels, content, by_blocks=True, block=block) == said(read_qrels, content, by_blocks=False)


@given(st.binary(max_size=300))
def test_no_bytes_at_all_part_the_two(content):
    for read in (read_run, read_qrels):
        assert said(read, content, by_blocks=True) == said(read, content, by_blocks=False)


def test_a_line_that_names_the_columns_is_to_be_removed():
    run, row = run_of("query Q0 document rank score tag\n1 Q0 a 1 2 s\n")
    qrels, grade = qrels_of("query iteration document grade\n1 0 a 1\n")
    assert (row.line, grade.line) == (2, 2)
    assert all("remove it." in refusal.cure_text() for refusal in (run, qrels))
    others = run_of("q1 Q0 a one two s\nrun\n") + qrels_of("q1 0 a good\n1 0\n")
    assert len(others) == 4 and not any("remove" in other.cure_text() for other in others)


def test_a_mark_between_files_that_were_put_together_is_called_what_it_is():
    run = "".join(f"1 Q0 d{rank} {rank} {9 - rank} s\n" for rank in range(1, 9))
    refusal, *rest = run_of(f"{run}\ufeff{run}")
    assert refusal.line == 9 and "byte order mark" in refusal.problem and len(rest) == 15
    refusal, first, last = qrels_of("1 0 a 1\n\ufeff1 0 b 1\n1 0 c 1\n")
    assert refusal.line == 2 and "byte order mark" in refusal.problem
    assert [row.document for row in qrels_of("\ufeff1 0 a 1\n")] == ["a"]


# Six columns

ASPECTS = "q1 0 d1 2 3 1\nq1 0 d2 0 -1 -1\nq1 0 d4 1 0 0\nq2 0 d3 1 2 1\nq2 0 d1 0 -1 -1\n"
WITH_RATER = "".join(f"q{n % 2} 0 d{n} {n % 3} {1393286400 + n} ann\n" for n in range(12))


@pytest.mark.parametrize(
    "text",
    [
        ASPECTS,
        ASPECTS.replace(" 0 d", " Q0 d"),
        ASPECTS.replace("\n", " 1 0\n"),
        "".join(f"q1 0 d{n} {n % 3} {n % 2} 1\n" for n in range(40)),
        "q1 0 d1 0.5 3 1\n",
        "# aspects\n\nq1 0 d1 1 1 1\nq1 0 d2 2 1 1\nq1 0 d3 0 1 1\n",
        "q1 ann d1 2 1 x\nq1 ben d2 1 2 x\n",
        WITH_RATER,
        "q1 0 d1 2 1393286400 ann\n",
        "".join(f"q1 0 d{n} 1 {n} ann\n" for n in range(40)),
    ],
)
def test_six_columns_may_be_grades(text):
    assert doubt(source(text).start)


def ranked(line: str, queries: int = 2) -> str:
    """A run of five results a query."""
    return "".join(line.format(q=q, n=n, score=9 - n) for q in range(queries) for n in range(1, 6))


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0 d1 1 2.5 bm25\n",
        "q1 Exp d1 7 2 bm25\nq1 Exp d2 7 2 bm25\n",  # wrong ranks are another matter
        ranked("q{q} 0 d{n} {n} {score} bm25\n"),
        ranked("q{q} 0 d{n} {n} {score} 1\n"),
        ranked("q{q} Q0 d{n} {n} {score} 1\n", 1),
        ranked("q{q} Q0 d{n} {n} {score} 1\n") + ranked("q{q} Q0 d{n} {n} {score} 2\n"),
        ranked("q{q} {q} d{n} {n} {score} bm25\n"),
        "".join(f"q1 0 d{n} {n} {n / 7} 1\n" for n in reversed(range(9_000))),  # cut off within the query
        "q1 0 d1 1\n",
        "",
    ],
)
def test_a_run_is_not_taken_for_grades_whatever_its_second_and_last_columns(text):
    assert doubt(source(text).start) is None
