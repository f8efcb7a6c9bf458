"""Refusals are made of parts, which commands and the page of an import word each in their way."""

import json

import pytest

from ratings.formats.refusal import Option, Place, Refusal
from ratings.importing.refusals import fields_for, with_page_cure
from ratings.importing.refusals import words as words_on_page
from ratings.management.refusals import line_of
from ratings.management.refusals import words as on_command
from ratings.models import Job

WORDED = [
    ("results", Option("order", "score"), "give --order score", "choose “the score” under “What orders"),
    ("results", Option("keep_first", True), "give --keep-first", "tick “Where a document appears twice"),
    ("results", Option("system"), "give --system NAME", "fill in “Name of the system”"),
    ("results", Option("system", ""), "leave --system out", "leave “Name of the system” empty"),
    ("results", Option("system_from", ""), "leave --system-from out", "choose “its lines, and"),
    ("results", Option("queries_by", "key"), "give --queries-by key", "choose “their id” under “It names"),
    ("ratings", Option("rater"), "give --rater NAME", "fill in “Rater of grades without a name”"),
    ("ratings", Option("map"), "give --map WORD=GRADE", "fill in “Words that stand"),
    ("ratings", Option("map", {"so so": None}), "give --map 'so so=GRADE'", "write so so=… under “Words"),
    ("ratings", Option("columns", {"raters": None}), "give --columns 'raters=NAME|NAME'", "say below which are"),
    (
        "ratings",
        Option("columns", {"query": None, "document": None}),
        "give --columns query=NAME,document=NAME",
        "say below which column holds what",
    ),
    (
        "ratings",
        Option("columns", {"raters": "A|B"}),
        "give --columns 'raters=A|B'",
        "say below that “A”, “B” hold",
    ),
    ("queries", Option("columns", {"key": "nr"}), "give --columns key=nr", "say below that “nr” holds the id"),
    (
        "queries",
        Option("columns", {"key": "nr, old"}),
        "give --columns '\"key=nr, old\"'",
        "say below that “nr, old” holds the id",
    ),
    (
        "queries",
        Option("columns", {"need": ""}),
        "give --columns need=",
        "say below that no column holds the information need",
    ),
    ("queries", Option("header", "no"), "give --header no", "choose “it is a row like all"),
    ("queries", Option("sheet"), "give --sheet NAME", "choose it under “Sheet”"),
    ("queries", Option("encoding"), "give --encoding NAME", "fill in “Encoding”"),
    ("queries", Option("format"), "give --format NAME", "choose it under “Format”"),
    ("queries", Option("kind", "results"), "use import_run", "choose “runs: what systems returned” under"),
    ("results", Option("kind", "qrels"), "use import_qrels", "choose “ratings: grades, or qrels” under"),
    ("results", Option("before", "queries"), "import queries first, with import_queries", "import queries"),
]


@pytest.mark.parametrize(("kind", "option", "command", "page"), WORDED)
def test_each_option_has_words_for_commands_and_for_the_page(kind, option, command, page):
    assert on_command(option) == command
    assert words_on_page(option, fields_for(Job(kind=kind))).startswith(page)


def test_what_helps_is_said_in_sentences_and_only_what_a_command_knows():
    rank, qrels = Option("order", "rank", "the rank counts"), Option("kind", "qrels", "these are qrels")
    sheet = Option("sheet")
    refusal = Refusal("a", 3, "rank 2 already appears", ("Look.", rank, qrels, sheet), Place("a", 1))
    assert line_of(refusal, {"order"}) == (
        "a, line 3: rank 2 already appears on line 1. Look. If the rank counts, give --order rank."
    )
    assert line_of(refusal, {"files", "sheet"}).endswith(
        "Look. If these are qrels, use import_qrels. Give --sheet NAME."
    )
    assert line_of(refusal, ()).endswith("on line 1. Look.")
    said = with_page_cure(refusal, fields_for(Job(kind="results")))
    assert said.sentence == "Rank 2 already appears on line 1."
    assert said.cure_text().startswith("Look. If the rank counts, choose “the rank” under “What orders")


def test_another_file_is_named():
    assert (
        Refusal("a", 3, "it already appears", (), Place("b", 1)).sentence == "It already appears on line 1 of b."
    )


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal("a", 0, "it is a PDF", ("Give the data behind it.",)),
        Refusal("a", 3, "it already appears", ("Look.", Option("columns", {"key": None}, "so")), Place("b", 1)),
    ],
)
def test_the_parts_are_kept_in_the_report_of_a_job(refusal):
    assert Refusal.of_parts(json.loads(json.dumps(refusal.as_parts()))) == refusal
