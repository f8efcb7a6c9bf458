"""A log counted: spellings that are one query, searches that stand on several lines, and lines left out."""

import io
import json
from contextlib import contextmanager

import pytest

from ratings.formats import budget
from ratings.formats.source import Reading, Source
from ratings.importing.intake.report import Report
from ratings.importing.sampling import counting
from ratings.importing.sampling.counting import Log, counted_log


@contextmanager
def log_of(*contents: str | bytes, report: Report | None = None, **reading):
    sources = [
        Source(f"{number}.log", io.BytesIO(each if isinstance(each, bytes) else each.encode()), Reading(**reading))
        for number, each in enumerate(contents, 1)
    ]
    with counted_log(sources, report or Report()) as log:
        yield log


def rows(log: Log) -> list[tuple[str, int]]:
    return [(row.text, row.count) for row in log.rows(range(1, log.queries + 1))]


SPELLINGS = [
    "Red Shoes,3",
    "red shoes,5",
    " red  shoes ,1",
    "caf\u00e9,1",
    "cafe\u0301,2",
    "CAF\u00c9,1",
    "tent,2",
]


@pytest.mark.parametrize("at_once", [1, 2, 200_000])
def test_spellings_by_case_blanks_and_form_are_one_query_with_the_commonest_text(monkeypatch, at_once):
    """Whether they are counted in memory or on disk."""
    monkeypatch.setattr(counting, "QUERIES_AT_ONCE", at_once)
    with log_of("\n".join(["query,count", *SPELLINGS])) as log:
        assert rows(log) == [("red shoes", 9), ("cafe\u0301", 4), ("tent", 2)]
        assert (log.queries, log.searches, log.lines, log.joined) == (3, 15, 7, 2)
        assert log.examples == [
            ("red shoes", 9, ["Red Shoes", "red  shoes"]),
            ("cafe\u0301", 4, ["CAF\u00c9", "caf\u00e9"]),
        ]
        assert [(s.search_counts.tolist(), s.queries_per_count.tolist()) for s in log.strata] == [
            ([9, 4, 2], [1, 1, 1])
        ]


@pytest.mark.parametrize("at_once", [1, 200_000])
def test_of_lines_of_one_search_the_greatest_count_stands_wherever_they_are_flushed(monkeypatch, at_once):
    monkeypatch.setattr(counting, "QUERIES_AT_ONCE", at_once)
    lines = ["query,count,query_id", "tent,5,s1", "tent,2,s1", "tent,1,s2"]
    with log_of("\n".join(lines), columns={"text": "query", "count": "count", "id": "query_id"}) as log:
        assert rows(log) == [("tent", 6)]


def test_letters_that_only_fold_alike_are_different_words():
    with log_of("Masse\nMa\u00dfe\nmasse\n") as log:
        assert rows(log) == [("Masse", 2), ("Ma\u00dfe", 1)] or rows(log) == [("masse", 2), ("Ma\u00dfe", 1)]


def test_the_same_queries_and_counts_have_the_same_digest_in_any_order_and_form():
    with log_of("a\nb\nA\n") as one, log_of("query,count\nb,1\na,2\n") as other, log_of("a\nb\n") as less:
        assert one.digest == other.digest != less.digest


def test_a_search_that_stands_on_several_lines_and_in_several_files_counts_once():
    def line(id: str, text: str, **more) -> str:
        return json.dumps({"query_id": id, "user_query": text, **more})

    queries = "\n".join([line("1", "red shoes"), line("2", "Red Shoes"), line("3", "tent")])
    events = "\n".join([line("1", "red shoes", action_name="click"), line("1", "red shoes", action_name="buy")])
    with log_of(queries, events) as log:
        assert sorted(rows(log)) in ([("Red Shoes", 2), ("tent", 1)], [("red shoes", 2), ("tent", 1)])


def test_days_are_those_that_the_log_names():
    with log_of("query,day\na,2026-01-31\nb,2026-01-02\n", columns={"count": ""}) as log:
        assert log.days == "2026-01-02 to 2026-01-31"


def test_a_stratum_is_where_most_of_the_searches_for_a_query_are():
    content = "query,count,market\na,5,de\na,2,fr\nb,3,fr\nc,9,fr\n"
    with log_of(content, columns={"stratum": "market"}) as log:
        found = [(row.text, row.stratum, row.count) for row in log.rows([1, 2, 3])]
        assert found == [("a", "de", 7), ("c", "fr", 9), ("b", "fr", 3)]
        assert [stratum.name for stratum in log.strata] == ["de", "fr"]


def test_a_few_broken_lines_are_left_out_with_a_warning_and_many_refuse_the_log():
    report = Report()
    with log_of(b"red shoes\n" * 300 + b"\xff\n" * 3, report=report) as log:
        assert (log.searches, report.refused) == (300, 0)
    (warning,) = report.warnings
    assert warning.startswith("1.log, line 301: byte 1 of the line, 0xff, is not UTF-8.")
    assert warning.endswith("This line and 2 more lines left out.")
    report = Report()
    with log_of(b"red shoes\n" * 300 + b"\xff\n" * 4, report=report) as log:
        assert report.refused == 4


@pytest.mark.parametrize(("content", "problem"), [("", "it holds no search"), ("query,count\na,0\n", "no search")])
def test_a_log_without_searches_is_refused(content, problem):
    report = Report()
    with log_of(content, report=report):
        assert problem in report.refusals[0].problem


def test_files_without_queries_are_passed_over_unless_there_is_no_other():
    report = Report()
    with log_of("country,city\nde,Bonn\n", "query,count\ntent,3\n", "", report=report) as log:
        assert (rows(log), report.refused) == ([("tent", 3)], 0)
        assert report.warnings == ["Passed over, since they hold no queries: 1.log, 3.log."]
    with log_of("country,city\nde,Bonn\n", "", report=report) as log:
        assert [refusal.file for refusal in report.refusals] == ["1.log", "2.log"]


def test_a_column_with_too_many_strata_is_refused():
    report = Report()
    lines = [f"q{n},s{n}" for n in range(25)]
    with log_of("\n".join(["query,session", *lines]), report=report, columns={"stratum": "session"}):
        assert "more than 20 different values" in report.refusals[0].problem


def test_a_log_beyond_its_budget_is_refused_once(monkeypatch):
    monkeypatch.setattr(counting, "QUERIES_AT_ONCE", 2)
    monkeypatch.setattr(budget, "HARMLESS_BYTES", 10)
    report, content = Report(), io.BytesIO("\n".join("abcdefghij").encode())
    with counted_log([Source("1.log", content, Reading(), whole=budget.Budget(ratio=1))], report):
        pass
    assert report.refused == 1
    assert "its rows grow to more than 1 times" in report.refusals[0].problem
