"""Measures are read and printed as the field writes them."""

import pytest

from evaluation.measures import MEASURES, Measure, parse_measure, with_gmax


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("nDCG", "nDCG"),
        ("nDCG@1000000000", "nDCG@1000000000"),  # the deepest
        (" ndcg@010 ", "nDCG@10"),
        ("NDCG@5", "nDCG@5"),
        ("map", "AP"),
        ("MRR@10", "RR@10"),
        ("judged@10", "Judged@10"),
        ("p(rel=2.0)@5", "P(rel=2)@5"),
        ("AP( rel = 0.5 )", "AP(rel=0.5)"),
        ("R(rel=-1)@100", "R(rel=-1)@100"),
        ("Precision@5", "P@5"),
        ("recall@100", "R@100"),
        ("HitRate@10", "Success@10"),
        ("rprec", "Rprec"),
        ("numrelret@10", "NumRelRet@10"),
        ("err(gmax=3)@10", "ERR(gmax=3)@10"),
        ("RBP@10", "RBP(p=0.8)@10"),  # ranks weigh differently for each p, so that it is always said
        ("RBP(rel=1, p=0.95)", "RBP(p=0.95,rel=1)"),
        ("rbpresidual(p=0.5)", "RBPResidual(p=0.5)"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10"),
        ('DCG(dcg="log2")', "DCG(dcg='log2')"),
        ("IDCG(dcg=exp-log2)@5", "IDCG(dcg='exp-log2')@5"),
        ("DCG( dcg = 'log2' )", "DCG(dcg='log2')"),
    ],
)
def test_a_measure_prints_in_one_notation(text, printed):
    assert str(parse_measure(text)) == printed
    assert parse_measure(printed) == parse_measure(text)


WITHOUT_CUTOFF = ["Rprec", "Bpref", "NumRel"]


@pytest.mark.parametrize("name", MEASURES)
def test_every_known_measure_reads_with_and_without_a_cutoff(name):
    assert parse_measure(name) == Measure(name)
    if name not in WITHOUT_CUTOFF:
        assert parse_measure(f"{name}@3") == Measure(name, 3)


@pytest.mark.parametrize("name", WITHOUT_CUTOFF)
def test_what_looks_at_the_whole_ranking_takes_no_cutoff(name):
    with pytest.raises(ValueError, match=f"{name} takes no cutoff, not @3"):
        parse_measure(f"{name}@3")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ERR@10", "ERR(gmax=3)@10"),
        ("RBP(p=0.5)", "RBP(gmax=3,p=0.5)"),
        ("ERR(gmax=4)@10", "ERR(gmax=4)@10"),
        ("RBP(rel=1)@10", "RBP(p=0.8,rel=1)@10"),
        ("RBPResidual@10", "RBPResidual(p=0.8)@10"),  # no grade in it
        ("nDCG@10", "nDCG@10"),
    ],
)
def test_the_highest_grade_is_stated_where_a_measure_needs_it(text, printed):
    assert str(with_gmax(parse_measure(text), 3)) == printed


def test_a_scale_without_a_grade_above_zero_has_no_highest_grade_to_state():
    with pytest.raises(ValueError, match=r"ERR@10 needs a scale with a grade above 0; its highest is 0\.$"):
        with_gmax(parse_measure("ERR@10"), 0.0)
    assert with_gmax(parse_measure("ERR@10"), 0.5) == Measure("ERR", 10, (("gmax", 0.5),))
    assert with_gmax(parse_measure("AP"), 0) == Measure("AP")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", r"unknown measure 'nDGC'; did you mean .*nDCG.*\?$"),
        ("Precison@5", r"unknown measure 'Precison'; did you mean Precision or Rprec\?$"),
        ("xyzzy", "unknown measure 'xyzzy'; known are CG, DCG"),
        ("nDCG@0", "whole number from 1 on, not 0"),
        ("nDCG@ten", "the cutoff of 'nDCG@ten' must be a whole number from 1 on, not 'ten'"),
        ("nDCG@1000000001", "the cutoff of nDCG must be a whole number from 1 on, not 1000000001"),
        ("ndcg_cut_10", "'ndcg_cut_10' is a name of trec_eval; write nDCG@10."),
        ("P.5", "is a name of trec_eval; write P@5."),
        ("nDCG 10", "cannot read the measure 'nDCG 10'; written like nDCG@10"),
        ("P((rel=1)@5", r"cannot read the measure 'P\(\(rel=1\)@5'"),
        ("P(rel=1)@5)", r"not '5\)'"),
        ("P(rel)@5", r"cannot read the parameters of 'P\(rel\)@5'; written like \(rel=2\)"),
        ("P(rel=x)@5", "finite number, not 'x'"),
        ("P(rel=2,rel=1.0)@5", "has a parameter twice: rel=2,rel=1"),
        ("P(p=1)@5", r"P takes rel, not 'p'\.$"),
        ("nDCG(rel=1)@5", "nDCG takes dcg, not 'rel'"),
        ("CG(dcg='log2')@5", "CG takes no parameter, not 'dcg'"),
        ("nDCG(dcg='exp')@5", "dcg must be one of 'log2', 'exp-log2', not 'exp'"),
        ("ERR(gmax=0)", r"gmax, the highest grade of the scale, must be above 0, not 0\.$"),
        ("ERR(rel=1)", "ERR takes gmax, not 'rel'"),
        ("RBP(k=5)", "RBP takes p, rel, gmax, not 'k'"),
        ("RBP(p=1)", r"must be from 0 to below 1, not 1\.$"),
        ("RBP(rel=1,gmax=3)", "RBP takes rel or gmax, not both"),
    ],
)
def test_what_is_not_a_measure_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError, match=message):
        parse_measure(text)
