"""Odd ids and texts in every format that is written: they come back as they went out, or the writer refuses."""

import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings.formats import values, workbooks
from ratings.formats.refusal import Refusal
from ratings.formats.registry import BY_NAME, FORMATS, recognised
from ratings.formats.rows import RatingLine, RunLine, one_by_one
from ratings.formats.source import Reading, Source
from ratings.tests.thorough import examples

PIECES = [
    "a", "ü", "u\u0308", "水", "😀", " ", "  ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u2028", "\x85", "\ufeff",
    "\u200b", "\x01", "\x7f", '"', "'", "#", "=", "+", "-", "@", "＝", ";", ",", "|", ":", "\\", "\\N",
    "docno=", "docid=", "docid = ", "docno = ", "qid:", "Q0", "http://a.b/?docno=", "_x000D_", "_x005F_", "{", "<",
    "1", "1e5", "007", "0.10", "1,5", "2026-03-02", "12:30", "TRUE", "NULL", "NA", "nan", "#N/A", "%", "x" * 400,
]  # fmt: skip
COLUMNS = ["query", "Rank", "title", "brand", "Grade (0-3)", "Unnamed: 0"]  # no rater can have such a column

pieces = st.sampled_from(PIECES)
whole_cells = st.sampled_from(["\\N", "'\\N", "'=1", "#1", "\ufeff1", "docno=1", "=1;-1"])
texts = whole_cells | pieces | st.lists(pieces, min_size=2, max_size=3).map("".join)
ids = texts.map(lambda text: re.sub(r"[\s\x00-\x1f\x7f]", "", text)[:500]).filter(bool)
phrases = (texts | st.just("x" * values.QUERY_TEXT_LENGTH)).map(str.strip).filter(bool)
names = texts.map(lambda text: re.sub(r"[\x00-\x1f\x7f]", "", text).strip()[:150].strip()).filter(bool)
whole = st.integers(0, 5).map(Decimal)
grades = whole | st.sampled_from(["-1", "0.5", "-0.000000001", "999999.999999999", "1e2"]).map(values.grade)
seconds = st.sampled_from([None, 0.0, 0.1, 1e-300, 123456789.0])
moments = st.sampled_from([None, datetime(2026, 3, 2, tzinfo=UTC), datetime(1999, 12, 31, 23, 59, 59, 1, UTC)])
scores = st.sampled_from([0.0, -2.5, 0.1, 1 / 3, 1e16, -1e300, 5e-324])


def by_pair(queries: st.SearchStrategy, cells: st.SearchStrategy) -> st.SearchStrategy:
    """Rows (query, document, cell) of a few queries, each with a few documents; in each pair one cell."""
    of_query = st.dictionaries(ids, cells, min_size=1, max_size=2)
    return st.dictionaries(queries, of_query, min_size=1, max_size=2).map(
        lambda found: [(q, d, cell) for q, documents in found.items() for d, cell in documents.items()]
    )


def judgments(format: str) -> st.SearchStrategy:
    described = BY_NAME[format]
    pairs = by_pair(phrases if described.queries_by == "text" else ids, whole if described.whole else grades)
    return pairs.map(lambda rows: [RatingLine(0, q, d, "", grade) for q, d, grade in rows])


def ratings(format: str) -> st.SearchStrategy:
    said = st.tuples(grades, st.just("")) | st.tuples(st.none(), st.just("other"))
    if format == "quepid-book-csv":
        of_pair = st.dictionaries(names | st.sampled_from(COLUMNS), said, min_size=1, max_size=2)
        more = ("", None, None)
    else:
        rest = st.tuples(texts | st.just(""), seconds, moments)
        of_pair, more = st.dictionaries(names, st.tuples(said, rest), min_size=1, max_size=2), None
    pairs = by_pair(phrases if BY_NAME[format].queries_by == "text" else ids, of_pair)
    return pairs.map(
        lambda rows: [
            RatingLine(0, q, d, rater, *(cell + more if more else cell[0] + cell[1]))
            for q, d, raters in rows
            for rater, cell in sorted(raters.items())
        ]
    )


def results(format: str) -> st.SearchStrategy:
    return st.builds(
        lambda rows, system: [RunLine(0, q, d, rank, score, system) for rank, (q, d, score) in enumerate(rows, 1)],
        by_pair(ids, scores),
        ids.map(lambda text: text[: values.SYSTEM_NAME_LENGTH]),
    )


ROWS = {"judgments": judgments, "ratings": ratings, "results": results}
READ = {
    "judgments": ("ratings", lambda row: row[1:5]),
    "ratings": ("ratings", lambda row: row[1:]),
    "results": ("results", lambda row: row[1:6]),
}
WRITTEN = [(f.name, kind) for f in FORMATS for kind in f.writes] + [("xlsx", "judgments")]


def is_comment(row: RunLine | RatingLine) -> bool:
    return row.query.startswith(("#", "\ufeff"))


# Format → the rows that it has no way to hold, and the id that a refusal names.
REFUSED: dict[str, tuple[Callable, Callable]] = {
    "trec-run": (is_comment, lambda row: row.query),
    "trec-qrels": (is_comment, lambda row: row.query),
    "quepid-book-csv": (lambda row: row.rater in COLUMNS, lambda row: row.rater),
}


def written(format: str, kind: str, rows: list, *, raw: bool) -> bytes:
    if format == "xlsx":
        return workbooks.written(["query", "document", "grade"], (row[1:3] + row[4:5] for row in rows))
    parts = BY_NAME[format].written(kind, rows, raw=raw)
    return b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)


@pytest.mark.parametrize(("format", "kind"), WRITTEN)
@hypothesis_settings(max_examples=examples(25))
@given(data=st.data(), raw=st.booleans())
def test_odd_ids_and_texts_come_back_as_they_went_out_or_are_refused(format, kind, data, raw):
    rows = data.draw(ROWS[kind](format))
    cannot, named = REFUSED.get(format, (lambda row: False, None))
    if lost := [named(row) for row in rows if cannot(row)]:
        with pytest.raises(ValueError, match="choose") as refused:
            written(format, kind, rows, raw=raw)
        assert any(values.quoted(each) in str(refused.value) for each in lost)
        return
    content = written(format, kind, rows, raw=raw)
    kind_read, facts = READ[kind]
    known = frozenset(row.rater for row in rows) if kind == "ratings" else frozenset()
    reading = Reading(raw=raw and BY_NAME[format].spreadsheet, raters=known)
    source = Source("file", io.BytesIO(content), reading)
    found = recognised(source, kind_read, "csv")
    assert not isinstance(found, Refusal), found
    assert found.name == format or not BY_NAME[format].reads
    read = sorted(one_by_one(found.reads[kind_read](source)), key=lambda row: row.line)
    assert [row if isinstance(row, Refusal) else facts(row) for row in read] == [facts(row) for row in rows]
