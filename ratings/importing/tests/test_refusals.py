"""Refusals are made of parts, which commands and the page of an import word each in their way."""

import json

import pytest

from ratings.formats.refusal import Option, Place, Refusal
from ratings.importing.refusals import fields_for, with_page_cure
from ratings.management.refusals import line_of
from ratings.models import Job


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
