"""P, R, AP, RR, Success, Rprec, Bpref and Judged against numbers worked out by hand."""

import numpy as np
import pytest

from ...tests.one_query import GRADES, RANKING, value


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("P@5", 4 / 5),
        ("P(rel=2)@5", 3 / 5),
        ("P@10", 5 / 10),  # the ranking ends at 7, the divisor stays 10
        ("P", 5 / 7),
        ("R@5", 4 / 7),
        ("R", 5 / 7),
        ("R(rel=3)@1", 1 / 3),
        ("AP", (1 / 1 + 2 / 2 + 3 / 3 + 4 / 5 + 5 / 7) / 7),
        ("AP(rel=2)", (1 / 1 + 2 / 2 + 3 / 3 + 4 / 7) / 6),
        ("AP@2", (1 / 1 + 2 / 2) / 7),
        ("RR", 1.0),
        ("Success@1", 1.0),
        ("Success", 1.0),
        ("Rprec", 5 / 7),
        ("Rprec(rel=2)", 4 / 6 - 1 / 6),  # D1 D2 D3 above rank 6, D6 below it
        ("Bpref", 3 / 7),  # D4 stands above D5 and D6: 1 - min(1, 7) / min(1, 7) = 0 for both
        ("Bpref(rel=2)", (1 + 1 + 1 + (1 - 2 / 2)) / 6),  # D4 and D5 above D6
        ("Bpref(rel=3)", (1 + (1 - 1 / 3)) / 3),  # D2 above D3
        ("Judged@5", 1.0),
        ("Judged@6", 5 / 6),
        ("Judged@10", 6 / 7),  # of the documents present
        ("Judged", 6 / 7),
    ],
)
def test_a_worked_ranking_scores(measure, expected):
    assert value(measure, GRADES, RANKING) == pytest.approx(expected, abs=1e-12)


def test_the_reciprocal_rank_is_that_of_the_first_relevant_document_above_the_cutoff():
    assert value("RR", {"A": 0, "B": 1, "C": 1}, ["A", "X", "B", "C"]) == 1 / 3
    assert value("RR@3", {"A": 0, "B": 1}, ["A", "X", "B"]) == 1 / 3
    assert value("RR@2", {"A": 0, "B": 1}, ["A", "X", "B"]) == 0.0


def test_the_precision_at_r_counts_what_a_short_ranking_lacks():
    assert value("Rprec", {"A": 1, "B": 1, "C": 1}, ["A"]) == 1 / 3
    assert value("Rprec", {"A": 1, "B": 1}, ["X", "A", "B"]) == 1 / 2
    assert value("Rprec", {"A": 1, "B": 1}, ["X", "A", "B"], unjudged="condensed") == 1.0


def test_the_binary_preference_sees_only_judged_documents():
    grades = {"A": 1, "B": 1, "N": 0, "M": -1}
    # B has N and M above it: 1 - 2 / 2; a grade below 0 is a judgment like any other,
    assert value("Bpref", grades, ["A", "N", "M", "B"]) == (1 + 0) / 2
    # but under clip, as in trec_eval, none: N is 1 of 1.
    assert value("Bpref", grades, ["M", "A", "B", "N"], negatives="clip") == 1
    assert value("Bpref", grades, ["M", "A", "N", "B"], negatives="clip") == (1 + (1 - 1 / 1)) / 2
    assert value("Bpref", grades, ["X", "A", "Y", "M", "Z", "B"]) == (1 + (1 - 1 / 2)) / 2
    assert value("Bpref", grades, ["X", "A", "Y", "M", "Z", "B"], unjudged=1.0) == (1 + (1 - 1 / 2)) / 2


@pytest.mark.parametrize(
    "measure", ["P{}", "R{}", "AP{}", "RR{}", "Success{}@1", "Rprec{}", "Bpref{}", "NumRel{}", "NumRelRet{}"]
)
def test_relevance_begins_where_the_options_say(measure):
    ranking = ["D5", "D2", "D3", "D4"]
    found = value(measure.format(""), GRADES, ranking, relevant_from=2.0)
    assert found == value(measure.format("(rel=2)"), GRADES, ranking)
    assert found != value(measure.format(""), GRADES, ranking)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("measure", ["R@5", "AP", "RR", "Success@5", "Rprec", "Bpref"])
def test_what_needs_a_relevant_document_is_undefined_without_one(measure):
    assert np.isnan(value(measure, {"A": 0}, ["A"]))
    assert value(measure, {"A": 0}, ["A"], undefined="zero") == 0.0


def test_precision_is_zero_where_no_document_is_relevant():
    assert value("P@5", {"A": 0}, ["A"]) == 0.0
    assert value("P", {"A": 1}, []) == 0.0
    assert value("P", {"A": 1}, ["A"]) == 1.0


def test_the_judged_share_looks_at_the_condensed_ranking_under_condensed():
    assert value("Judged@2", {"A": 1}, ["X", "A"], unjudged="condensed") == 1.0
    assert value("Judged@2", {"A": 1}, ["X", "A"], unjudged=0.0) == 0.5
