"""One query laid open: rows worked by hand, and rows that add up."""

import math

import pytest

from evaluation.measures import Options, explain
from evaluation.tests.packing import pack


def opened(cutoff, grades: dict, ranking, **options):
    return explain(cutoff, *pack({"q": grades}, {"q": ranking}), Options(**options), 0)


def test_the_rows_of_a_worked_query():
    # A C X B: 2 + 1/log2(3), X unjudged, B = -1; documents are numbered A 0, B 1, C 2, X 3
    seen = opened(3, {"A": 2, "B": -1, "C": 1}, ["A", "C", "X", "B"])
    assert [(row.rank, row.document, row.grade, row.gain) for row in seen.ranking[:2]] == [
        (1, 0, 2, 2),
        (2, 2, 1, 1),
    ]
    unjudged = seen.ranking[2]
    assert math.isnan(unjudged.grade)
    assert (unjudged.gain, unjudged.discount, unjudged.contribution) == (0, 0.5, 0)
    assert [row.running for row in seen.ranking] == pytest.approx([2, 2.630930, 2.630930], abs=1e-6)
    assert [(row.document, row.gain) for row in seen.ideal] == [(0, 2), (2, 1)]
    assert (seen.cg, seen.min_dcg, seen.ndcg, seen.reason) == (3, -1, 1, "counted")
    assert seen.dcg == seen.idcg == pytest.approx(2.630930, abs=1e-6)
    numbers = (seen.cg, seen.dcg, seen.idcg, seen.min_dcg, seen.ndcg, unjudged.running, unjudged.gain)
    assert {type(number) for number in numbers} == {float}  # and no scalars of NumPy, which print as such


def test_documents_that_gain_nothing_stand_in_the_closed_lists_only():
    grades = {"A": 1, "B": 0, "C": -1}
    seen = opened(None, grades, ["B"])
    assert ([row.gain for row in seen.ideal], seen.min_dcg) == ([1], -1)
    seen = opened(None, grades, ["B"], negatives="minmax_closed")
    assert [row.gain for row in seen.ideal] == [1, 0, -1]


def test_the_cutoff_ends_every_list_and_none_ends_nothing():
    grades = {"A": 1, "B": 1, "C": -1, "D": -1}
    for cutoff, lengths in ((1, [1, 1]), (None, [4, 2])):
        seen = opened(cutoff, grades, list("ABCD"))
        assert [len(seen.ranking), len(seen.ideal)] == lengths


def test_the_query_asked_for_is_the_one_explained():
    judgments, rankings = pack({"q": {"A": 1}, "r": {"A": 2, "B": 1}, "s": {}}, {"q": ["A"], "r": ["B", "A"]})
    assert [row.grade for row in explain(2, judgments, rankings, Options(), 1).ranking] == [1, 2]


def test_a_query_that_does_not_count_says_why():
    assert opened(3, {"A": 0}, ["A"]).reason == "nothing to find"
    assert opened(3, {}, ["A"]).reason == "not judged"
    judgments, rankings = pack({"q": {"A": 1}}, {})
    assert explain(3, judgments, rankings, Options(missing="skip"), 0).reason == "no ranking"
    assert explain(3, judgments, rankings, Options(), 0).ranking == []


def test_condensed_rankings_show_the_ranks_that_closed_up():
    seen = opened(2, {"A": 2, "B": 1}, ["X", "A", "B"], unjudged="condensed")
    assert [(row.rank, row.document) for row in seen.ranking] == [(1, 0), (2, 1)]


def test_tied_documents_show_the_gain_expected_of_their_rank_and_their_own_grade():
    seen = opened(None, {"A": 3}, {"A": 1.0, "X": 1.0}, ties="average")
    assert [row.gain for row in seen.ranking] == [1.5, 1.5]
    assert seen.ranking[0].grade == 3
    assert seen.dcg == pytest.approx(1.5 * 1.630930, abs=1e-6)
