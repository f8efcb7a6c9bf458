"""Searches in a log, in every form that people have them."""

import gzip
import io
import json
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ratings.formats.refusal import Refusal
from ratings.formats.searches import Search, columns_of, read
from ratings.formats.source import Reading, Source

SHOES = [("red shoes", 40), ("rain jacket", 2)]


def source(content: str | bytes, name: str = "log", **reading) -> Source:
    data = content if isinstance(content, bytes) else content.encode()
    return Source(name, io.BytesIO(data), Reading(**reading))


def found(content: str | bytes, **reading) -> list[tuple[str, int]]:
    rows = list(read(source(content, **reading)))
    assert not any(isinstance(row, Refusal) for row in rows), rows
    return [(row.text, row.searches) for row in rows]


def refused(content: str | bytes, **reading) -> list[Refusal]:
    return [row for row in read(source(content, **reading)) if isinstance(row, Refusal)]


def parquet_of(**columns) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), out)
    return out.getvalue()


OBJECTS = [json.dumps({"query": text, "count": count}) for text, count in SHOES]


@pytest.mark.parametrize(
    "content",
    [
        "query,count\nred shoes,40\nrain jacket,2\n",
        "Search term;Searches\r\nred shoes;40\r\nrain jacket;2.0\r\n",
        "frequency\tkeyword\n40\tred shoes\n2\train jacket\n",
        "red shoes\t40\nrain jacket\t2\n",
        "40,red shoes\n2,rain jacket\n",
        "     40 red shoes\n      2 rain jacket\n",
        "query,count,market\nred shoes,40,de\n,7,de\nnobody,0,de\nrain jacket,2,fr\n",
        "\n".join(OBJECTS),
        f"[{','.join(OBJECTS)}]",
        parquet_of(query=["red shoes", "rain jacket", None], count=[40, 2, 3]),
        gzip.compress(b"query,count\nred shoes,40\nrain jacket,2\n", mtime=0),
        "query,count\nred shoes,40\nrain jacket,2\n".encode("utf-16"),
    ],
)
def test_queries_with_their_counts(content):
    assert found(content) == SHOES


@pytest.mark.parametrize(
    "content", ["red shoes\n\nrain, jacket\nred shoes\n", "Query\nred shoes\r\nrain, jacket\r\nred shoes"]
)
def test_a_line_is_a_search(content):
    assert found(content) == [("red shoes", 1), ("rain, jacket", 1), ("red shoes", 1)]


def test_lines_without_a_text_say_nothing_of_counts():
    log = source("\n" * 300 + "red shoes\n")
    assert [(search.text, search.searches) for search in read(log)] == [("red shoes", 1)]
    assert not any("searched for" in note for note in log.notes)


CONSOLE = "Top queries,Clicks,Impressions,CTR,Position\nred shoes,4,40,10%,1.5\nrain jacket,0,2,0%,8\n"


def test_the_export_of_a_search_console_is_read_by_what_people_choose_to_count():
    (asked,) = refused(CONSOLE)
    assert asked.problem == (
        "each of the columns 'Clicks', 'Impressions' may say how often a query was searched for"
    )
    assert [option.value for option in asked.options] == [{"count": "Clicks"}, {"count": "Impressions"}]
    assert found(CONSOLE, columns={"count": "Impressions"}) == SHOES
    assert found(CONSOLE, columns={"count": "Clicks"}) == [("red shoes", 4)]


UBI = [
    {"application": "shop", "query_id": "1", "user_query": "red shoes", "timestamp": "2026-01-02T10:00:00Z"},
    {"query_id": "1", "user_query": "red shoes", "action_name": "click", "timestamp": "2026-01-03T10:00:00Z"},
    {"query_id": "2", "action_name": "page_view"},
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_queries_and_events_of_user_behavior_insights_name_the_search_to_which_they_belong(wrapped):
    lines = "\n".join(json.dumps({"_id": "a", "_source": row} if wrapped else row) for row in UBI)
    assert list(read(source(lines))) == [
        Search(1, "red shoes", 1, "", "1", "2026-01-02"),
        Search(2, "red shoes", 1, "", "1", "2026-01-03"),
    ]


def test_the_day_of_a_search_is_read_from_times_in_words_and_numbers():
    times = ["2026-01-02T23:59:59Z", 1767398399, 1767398399.5, 1767398399999, "1767398399", "1767398399999"]
    without = [None, "", "yesterday", 7, 17673983990]
    lines = [json.dumps({"user_query": "tent", "timestamp": time}) for time in [*times, *without]]
    days = [row.day for row in read(source("\n".join(lines)))]
    assert days == ["2026-01-02"] * len(times) + [""] * len(without)
    stamps = parquet_of(query=["tent"], timestamp=pa.array([1767398399999], pa.timestamp("ms")))
    assert [row.day for row in read(source(stamps))] == ["2026-01-02"]


def test_a_column_of_strata_and_other_columns_are_chosen():
    content = "was,wie oft,markt\nred shoes,40,de\n"
    assert "no column holds the query" in refused(content)[0].problem
    columns = {"text": "was", "count": "wie oft", "stratum": "markt"}
    assert list(read(source(content, columns=columns))) == [Search(2, "red shoes", 40, "de")]
    assert columns_of(source(content, columns=columns)) == {"was": "text", "wie oft": "count", "markt": "stratum"}
    assert [*columns_of(source(CONSOLE)).values()] == ["text", "", "", "", ""]
    assert columns_of(source("red shoes\n")) == {}


def workbook(**sheets: list[list]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, sheet_rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in sheet_rows:
            sheet.append(row)
    book.save(out)
    return out.getvalue()


def test_of_several_sheets_the_one_with_queries_is_read_and_the_others_are_named():
    queries, pages = [["Top queries", "Clicks"], ["red shoes", 40]], [["Top pages", "Clicks"], ["/", 40]]
    log = source(workbook(Pages=pages, Queries=queries, Filters=[["Filter", "Value"], ["Search type", "Web"]]))
    assert list(read(log)) == [Search(2, "red shoes", 40)]
    assert "the sheet 'Queries'; passed over: 'Pages', 'Filters'." in "".join(log.notes)
    content = workbook(Pages=pages, Devices=[["Device"]])
    assert "several sheets" in refused(content)[0].problem
    chosen = {"text": "Top pages", "count": "Clicks"}
    assert found(content, columns=chosen) == [("/", 40)]
    assert columns_of(source(content, columns=chosen)) == {"Top pages": "text", "Clicks": "count"}


def test_a_workbook_is_unpacked_once_for_its_sheets_and_its_rows():
    content = workbook(Queries=[["Top queries"], ["red shoes"]], Filters=[["Filter"]])
    log = source(content)
    assert list(read(log)) == [Search(2, "red shoes")]
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        unpacked = sum(part.file_size for part in parts.infolist())
    assert unpacked <= log.budget.unpacked < 2 * unpacked


@pytest.mark.parametrize(
    ("content", "reading", "problem"),
    [
        ("query,total\nred shoes,40\n", {}, "the column 'total' may say how often a query was searched for"),
        ("red,shoes\nrain,jacket\n", {}, "neither of the two columns has a name, and it is not clear which one"),
        (
            "query,count\na,1\n",
            {"columns": {"text": "q"}},
            "there is no column 'q'; the columns are 'query', 'count'",
        ),
        ("query,count\na,1\n", {"columns": {"rank": "count"}}, "no column of a log holds the 'rank'"),
        ("query,count\na,many\n", {}, "the count 'many' is not a finite number"),
        ("query,count\na,-1\n", {}, "the count '-1' is not a whole number"),
        ("query,count\na,1.5\n", {}, "the count '1.5' is not a whole number"),
        ('{"query": ["a"], "count": 1}\n', {}, "['a'] is given where a text or a number is expected"),
        ('{"query": "a", "count": [1]}\n', {}, "the count [1] is not a whole number"),
        (f"{'a' * 20_001}\nb\n", {}, "is longer than 20,000 characters"),
        ("    40 red shoes\n" * 30 + "rain\n", {}, "the line has no number before its query"),
        (b"%PDF-1.7", {}, "it is a PDF"),
        (b"red\xff\nshoes\n", {}, "byte 4 of the line, 0xff, is not UTF-8"),
    ],
)
def test_what_is_refused(content, reading, problem):
    (refusal,) = refused(content, **reading)
    assert problem in refusal.problem
    assert refusal.cure


def test_whatever_column_was_not_meant_each_line_may_be_one_search():
    assert found("query,session\nred shoes,40\n", columns={"count": ""}) == [("red shoes", 1)]


def test_of_two_columns_of_numbers_the_second_may_be_the_counts():
    (refusal,) = refused("2024,40\n2025,30\n")
    (option,) = refusal.options
    assert found("2024,40\n2025,30\n", columns=option.value) == [("2024", 40), ("2025", 30)]


@pytest.mark.parametrize("content", ["7;8\n9;4\n", "7,red shoes\n8,tent\n"])
def test_a_column_of_counts_is_not_the_text_too(content):
    (refusal,) = refused(content, columns={"count": "1"}, header=False)
    assert "no column holds the query" in refusal.problem
