"""Measures are read and printed as the field writes them."""

import pytest

from evaluation.measures import MEASURES, Measure, parse_measure


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("nDCG", "nDCG"),
        (" ndcg@010 ", "nDCG@10"),
        ("NDCG@5", "nDCG@5"),
        ("map", "AP"),
        ("MRR@10", "RR@10"),
        ("judged@10", "Judged@10"),
        ("p(rel=2.0)@5", "P(rel=2)@5"),
        ("AP( rel = 0.5 )", "AP(rel=0.5)"),
        ("R(rel=-1)@100", "R(rel=-1)@100"),
    ],
)
def test_a_measure_prints_in_one_notation(text, printed):
    assert str(parse_measure(text)) == printed
    assert parse_measure(printed) == parse_measure(text)


def test_a_measure_is_its_name_cutoff_and_parameters():
    assert parse_measure("P(rel=2)@5") == Measure("P", 5, (("rel", 2.0),))
    assert len({parse_measure("nDCG@10"), parse_measure("ndcg@10"), parse_measure("nDCG")}) == 2


@pytest.mark.parametrize("name", MEASURES)
def test_every_known_measure_reads_with_and_without_a_cutoff(name):
    assert parse_measure(name) == Measure(name)
    assert parse_measure(f"{name}@3") == Measure(name, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "unknown measure 'nDGC'; did you mean .*nDCG"),
        ("Juged", "unknown measure 'Juged'; did you mean Judged"),
        ("xyzzy", "unknown measure 'xyzzy'; known are CG, DCG"),
        ("nDCG@0", "whole number from 1 on, not 0"),
        ("nDCG@-1", "whole number from 1 on, not '-1'"),
        ("nDCG@1.5", "not '1.5'"),
        ("nDCG@", "not ''"),
        ("nDCG@ten", "not 'ten'"),
        ("nDCG@99999999999", "not '99999999999'"),
        ("nDCG 10", "cannot read the measure 'nDCG 10'"),
        ("", "cannot read the measure ''"),
        ("P(rel)@5", "cannot read the parameters"),
        ("P()@5", "cannot read the parameters"),
        ("P(rel=x)@5", "finite number, not 'x'"),
        ("P(rel=nan)@5", "finite number"),
        ("P(rel=1,rel=2)@5", "has a parameter twice"),
        ("P(p=1)@5", "P takes rel, not 'p'"),
        ("nDCG(rel=1)@5", "nDCG takes no parameter, not 'rel'"),
    ],
)
def test_what_is_not_a_measure_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError, match=message):
        parse_measure(text)


@pytest.mark.parametrize("cutoff", [0, -1, True, 2.0, "10"])
def test_a_cutoff_of_another_kind_is_refused(cutoff):
    with pytest.raises(ValueError, match="whole number from 1 on"):
        Measure("nDCG", cutoff)
