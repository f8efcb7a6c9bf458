"""Parquet: tables of other makers, our own, and what is none."""

import gzip
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from ratings.formats import budget, parquet
from ratings.formats.refusal import Refusal
from ratings.formats.rows import RatingLine, Topic
from ratings.formats.source import Reading, Source
from ratings.formats.tables import read


def made(columns: dict, **options) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def rows_of(content: bytes, kind: str = "ratings", **said) -> list:
    return list(read("parquet", kind, Source("t.parquet", io.BytesIO(content), Reading(**said))))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_columns_of_any_type_are_read_by_their_names(pack):
    table = {
        "query_id": [1, 2, 3],
        "docid": ["a", "b", "c"],
        "judge": pa.array(["ann", "ann", "bob"]).dictionary_encode(),
        "rating": pa.array([0.5, None, -1.0]),
    }
    assert rows_of(pack(made(table))) == [
        RatingLine(1, "1", "a", "ann", Decimal("0.5")),
        RatingLine(3, "3", "c", "bob", Decimal(-1)),
    ]


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("ratings", {"query": "q", "docid": ["a", "b", "c", "d"], "Ann": [1, 1, 0, 1]}),
        ("documents", {"id": ["a", "b", "c", "d"], "title": "T", "Ann": [1, 1, 0, 1]}),
        ("queries", {"text": ["a", "b", "c", "d"], "Ann": [1, 1, 0, 1]}),
    ],
)
def test_the_row_numbers_of_pandas_are_neither_a_rater_nor_a_field(kind, columns):
    frame, file = pd.DataFrame(columns), io.BytesIO()
    frame[frame["Ann"] == 1].to_parquet(file)
    assert pq.read_schema(file).names[-1] == "__index_level_0__"
    rows = rows_of(file.getvalue(), kind, raters={"Ann"})
    assert len(rows) == 3
    assert "__index_level_0__" not in repr(rows)


def test_an_index_of_pandas_can_be_chosen_to_hold_the_documents():
    frame = pd.DataFrame({"query": ["q", "q"], "grade": [1, 2]}, index=["a", "b"])
    file = io.BytesIO()
    frame.to_parquet(file)
    rows = rows_of(file.getvalue(), columns={"document": "__index_level_0__"})
    assert [(row.document, row.grade) for row in rows] == [("a", Decimal(1)), ("b", Decimal(2))]


def test_cells_of_documents_become_what_json_has_without_a_loss():
    large, fine = Decimal("12345678901234567890"), Decimal("0.12345678901234567")
    table = {
        "docid": pa.array([b"d1"]),
        "price": pa.array([Decimal("9.95")]),
        "large": pa.array([large], pa.decimal128(38, 2)),
        "fine": pa.array([fine]),
        "day": pa.array([date(2026, 3, 2)]),
        "moment": pa.array([datetime(2026, 3, 2, 9, tzinfo=UTC)], pa.timestamp("us", tz="UTC")),
        "time": pa.array([time(9, 30)]),
        "missing": pa.array([float("nan")]),
        "year": pa.array([1958.0]),
        "inner": pa.array([{"sizes": [1.5, float("nan")], "code": b"x"}]),
    }
    (row,) = rows_of(made(table), "documents")
    assert row.key == "d1"
    assert json.loads(json.dumps(row.fields)) == {
        "price": 9.95,
        "large": int(large),
        "fine": "0.12345678901234567",
        "day": "2026-03-02",
        "moment": "2026-03-02T09:00:00+00:00",
        "time": "09:30:00",
        "missing": None,
        "year": 1958,
        "inner": {"sizes": [1.5, None], "code": "x"},
    }


def test_fields_of_queries_become_what_json_has_and_ids_that_are_floats_have_no_point():
    table = {"qid": [7.0], "query": ["shoes"], "asked": pa.array([date(2026, 3, 2)])}
    assert rows_of(made(table), "queries") == [Topic(1, "7", "shoes", fields={"asked": "2026-03-02"})]
    table = {"query": ["q", "q"], "docid": [1.0, 2.0], "grade": [1, 2]}
    assert [row.document for row in rows_of(made(table))] == ["1", "2"]


STRANGE = [["a", None, "b\0"], [["a"], None, ["b\0"]], [b"a", None, b"\xff"], [1.5, None, float("inf")]]


@pytest.mark.parametrize("cells", STRANGE)
def test_a_cell_that_json_does_not_have_is_refused_by_the_name_of_its_column(cells):
    *good, refusal = rows_of(made({"docid": ["a", "b", "c"], "picture": pa.array(cells)}), "documents")
    assert [row.key for row in good] == ["a", "b"]
    assert refusal.line == 3 and "the column 'picture' holds" in refusal.problem


def test_a_row_that_is_no_rating_is_refused_with_its_number():
    good, refusal = rows_of(made({"query": ["q", "q"], "docid": ["a", "b"], "grade": ["1", "good"]}))
    assert good.document == "a"
    assert (refusal.line, "the grade 'good'" in refusal.problem) == (2, True)
    (refusal,) = rows_of(made({"query": ["q"], "docid": [["a"]], "grade": [1]}))
    assert "['a'] is given where a text or a number is expected" in refusal.problem


def test_a_column_of_lists_or_objects_is_no_rater():
    table = {"query": ["q"], "docid": ["a"], "Ann": [1], "colours": [["red"]], "size": [{"eu": 40}]}
    (refusal,) = rows_of(made(table), raters={"Ann"})
    assert (refusal.file, refusal.line) == ("t.parquet", 1)
    assert "the columns 'colours', 'size' may be" in refusal.problem


def test_a_file_that_is_cut_off_is_refused():
    content = made({"query": ["q"] * 50, "docid": ["a"] * 50, "grade": [1] * 50})
    for cut in (5, 100, 300):
        (refusal,) = rows_of(content[:-cut])
        assert isinstance(refusal, Refusal) and refusal.cure
        assert "the Parquet file is broken or cannot be read" in refusal.problem


def test_a_column_that_stands_twice_is_refused():
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["q"])] * 2, names=["query", "query"]), file)
    (refusal,) = rows_of(file.getvalue())
    assert refusal.problem == "the column 'query' appears twice"


def test_rows_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(parquet, "LARGEST_ROW_GROUP", 1_000)
    (refusal,) = rows_of(made({"docid": [str(i) for i in range(2_000)]}, compression="none"), "documents")
    assert "a row group holds more than" in refusal.problem
    monkeypatch.setattr(parquet, "LARGEST_ROWS_AT_ONCE", 1_000)
    (refusal,) = rows_of(made({"docid": ["x" * 100] * 256}), "documents")
    assert "the next rows are too large" in refusal.problem


def test_a_cell_is_as_long_as_a_line_at_most(monkeypatch):
    monkeypatch.setattr(parquet, "LONGEST_LINE", 10)
    good, refusal = rows_of(made({"docid": ["a", "b"], "picture": ["x" * 10, "x" * 11]}), "documents")
    assert good.key == "a" and refusal.line == 2 and "the column 'picture' holds a text" in refusal.problem


def test_a_row_group_beyond_the_budget_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(parquet, "_size", lambda batch: pytest.fail("it was decoded"))
    monkeypatch.setattr(budget, "HARMLESS_BYTES", 1_000_000)
    sent = made({"docid": ["x" * 2_000_000]}, compression="zstd", use_dictionary=False, write_statistics=False)
    (refusal,) = rows_of(sent, "documents")
    assert "it unpacks to more than 200 times its size" in refusal.problem


def test_a_table_with_too_many_columns_is_refused():
    (refusal,) = rows_of(made({f"c{i}": [1] for i in range(1_001)}))
    assert "there are 1,001 columns, at most 1,000 are read" in refusal.problem
    (refusal,) = rows_of(made({"query": ["q"], "c" * 1_001: [1]}))
    assert "is longer than 1,000 characters" in refusal.problem


@pytest.mark.parametrize("is_member", [False, True])
def test_a_text_in_many_rows_is_counted_as_often_as_it_stands_there(monkeypatch, is_member):
    """In the file it stands once, and each row is a bit of a run; also where it is a member of an object."""
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_000_000)
    text = pa.array(["x" * 10_000] * 20_000).dictionary_encode()
    member = pa.StructArray.from_arrays([text], ["of"]) if is_member else text
    content = made({"docid": pa.array(map(str, range(20_000))) if is_member else text, "text": member})
    assert len(content) < 200_000
    *rows, refusal = rows_of(content, "documents")
    assert len(rows) < 5_000
    assert refusal.problem == "it unpacks to more than 200 times its size"


def test_lists_that_are_longer_than_any_text_are_refused(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_VALUES", 100)
    (refusal,) = rows_of(made({"docid": ["a"], "tags": [[1] * 1_000]}), "documents")
    assert "lists of more than 100 values" in refusal.problem
