"""ERR, RBP and its residual against numbers worked out by hand and against loops over their definitions."""

import random

import numpy as np
import pytest

from evaluation.measures import Options, evaluate, parse_measure, with_gmax
from evaluation.tests.packing import pack

from ...tests.one_query import GRADES, RANKING, value
from ...tests.random_collections import collection

# With gmax 3 the chances are 7/8 3/8 7/8 0 1/8 - 3/8, with gmax 4 half of that.
ERR_3 = 7 / 8 + (1 / 8) * (3 / 8) / 2 + (1 / 8) * (5 / 8) * (7 / 8) / 3
ERR_3 += (1 / 8) * (5 / 8) * (1 / 8) * ((1 / 8) / 5 + (7 / 8) * (3 / 8) / 7)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("ERR(gmax=3)@1", 7 / 8),
        ("ERR(gmax=3)@2", 7 / 8 + (1 / 8) * (3 / 8) / 2),
        ("ERR(gmax=3)", ERR_3),
        ("RBP(p=0.5,rel=1)@3", 0.5 * (1 + 0.5 + 0.25)),
        ("RBP(p=0.5,rel=3)@3", 0.5 * (1 + 0.25)),
        ("RBP(p=0.5,gmax=3)@3", 0.5 * (1 + 0.5 * 2 / 3 + 0.25)),
        ("RBP(p=0.5,gmax=4)@3", 0.5 * (3 / 4 + 0.5 * 2 / 4 + 0.25 * 3 / 4)),
        ("RBP(rel=1)", 0.2 * (1 + 0.8 + 0.8**2 + 0.8**4 + 0.8**6)),
        ("RBP(p=0,rel=1)", 1.0),  # a reader of the first document alone
        ("RBPResidual(p=0.5)@3", 0.5**3),
        ("RBPResidual(p=0.5)@6", 0.5 * 0.5**5 + 0.5**6),  # U stands at rank 6
        ("RBPResidual(p=0.5)", 0.5 * 0.5**5 + 0.5**7),
        ("RBPResidual(p=0.5,rel=1)", 0.5 * 0.5**5 + 0.5**7),
        ("RBPResidual(p=0.5,gmax=3)", 0.5 * 0.5**5 + 0.5**7),
    ],
)
def test_a_worked_ranking_scores(measure, expected):
    assert value(measure, GRADES, RANKING) == pytest.approx(expected, abs=1e-12)


def test_a_grade_below_zero_gives_nothing_and_hides_nothing():
    grades = {"A": -2, "B": 1}
    assert value("ERR(gmax=1)", grades, ["A", "B"]) == (1 / 2) / 2
    assert value("RBP(p=0.5,gmax=1)", grades, ["A", "B"]) == 0.5 * 0.5
    assert value("ERR(gmax=1)", grades, ["A", "B"], gain="exponential_signed") == (1 / 2) / 2


def test_a_decimal_grade_and_a_high_gmax_are_computed_as_they_are():
    assert value("ERR(gmax=1.5)", {"A": 0.5}, ["A"]) == pytest.approx((2**0.5 - 1) / 2**1.5, abs=1e-15)
    assert value("ERR(gmax=0.5)", {"A": 0.5}, ["A"]) == pytest.approx(1 - 2**-0.5, abs=1e-15)
    assert value("ERR(gmax=3000)", {"A": 3000}, ["A"]) == 1.0


@pytest.mark.parametrize("measure", ["ERR(gmax=2)", "RBP(gmax=2)@1"])
def test_a_grade_above_gmax_is_refused_wherever_it_stands(measure):
    with pytest.raises(ValueError, match="grade 3 is above gmax=2, the highest grade of the scale"):
        value(measure, {"A": 1, "B": 3}, ["A"])
    with pytest.raises(ValueError, match="grade 2.5 is above gmax=2"):
        value(measure, {"A": 1}, ["A", "X"], unjudged=2.5)
    assert value(measure, {"A": 2}, ["A"], unjudged=2.0) > 0


@pytest.mark.parametrize(
    ("measure", "example"), [("ERR@10", r"ERR\(gmax=3\)@10"), ("RBP", r"RBP\(gmax=3,p=0.8\)")]
)
def test_gmax_must_be_stated(measure, example):
    with pytest.raises(ValueError, match=f"needs gmax, the highest grade of the scale, for example {example}"):
        value(measure, {"A": 1}, ["A"])


def test_nothing_to_find_leaves_err_undefined_and_rbp_at_zero():
    assert np.isnan(value("ERR(gmax=1)", {"A": 0, "B": -1}, ["A"]))
    assert value("ERR(gmax=1)", {"A": 0}, ["A"], undefined="zero") == 0.0
    assert value("RBP(gmax=1)", {"A": 0}, ["A"]) == value("RBP(rel=1)", {"A": 0}, ["A"]) == 0.0


def test_condensing_and_assuming_leave_only_the_tail_in_the_residual():
    grades, ranking = {"A": 1, "B": 0}, ["X", "A", "Y", "B"]
    assert value("RBPResidual(p=0.5)", grades, ranking) == 0.5 * (1 + 0.25) + 0.5**4
    assert value("RBPResidual(p=0.5)", grades, ranking, unjudged="condensed") == 0.5**2
    assert value("RBPResidual(p=0.5)", grades, ranking, unjudged=1.0) == 0.5**4
    assert value("RBP(p=0.5,gmax=1)", grades, ranking, unjudged=1.0) == 0.5 * (1 + 0.5 + 0.25)


# Loops over the definitions. `listed` is what a reader meets: a grade at each rank, None where unjudged.


def err_by_loop(listed: list[float | None], gmax: float) -> float:
    total, still_reading = 0.0, 1.0
    for rank, grade in enumerate(listed, start=1):
        satisfied = max(0.0, 2 ** (grade or 0) - 1) / 2**gmax
        total += still_reading * satisfied / rank
        still_reading *= 1 - satisfied
    return total


def rbp_by_loop(listed: list[float | None], p: float, worth) -> float:
    return sum((1 - p) * p**step * worth(grade) for step, grade in enumerate(listed) if grade is not None)


def residual_by_loop(listed: list[float | None], p: float) -> float:
    unjudged = sum((1 - p) * p**step for step, grade in enumerate(listed) if grade is None)
    return unjudged + p ** len(listed)


@pytest.mark.parametrize("cutoff", [None, 1, 4, 10])
@pytest.mark.parametrize("unjudged", ["zero", "condensed", 0.5])
def test_a_loop_over_the_definition_gives_the_same(cutoff, unjudged):
    grades, rankings = collection(random.Random(2009), queries=300, grades="signed", scored=False)
    gmax, p = max(grade for some in grades.values() for grade in some.values()), 0.7
    depth = f"@{cutoff}" if cutoff else ""
    texts = [f"{name}{depth}" for name in ("ERR", "RBP(p=0.7)", "RBP(p=0.7,rel=2)", "RBPResidual(p=0.7)")]
    measures = [with_gmax(parse_measure(text), gmax) for text in texts]
    scores = evaluate(measures, *pack(grades, rankings), Options(unjudged=unjudged))
    for place, (query, some) in enumerate(grades.items()):
        listed = [some.get(key) for key in rankings.get(query, [])]
        if unjudged == "condensed":
            listed = [grade for grade in listed if grade is not None]
        elif unjudged != "zero":
            listed = [unjudged if grade is None else grade for grade in listed]
        listed = listed[:cutoff]
        expected = [
            err_by_loop(listed, gmax) if any(grade > 0 for grade in some.values()) else np.nan,
            rbp_by_loop(listed, p, lambda grade: max(grade, 0) / gmax),
            rbp_by_loop(listed, p, lambda grade: grade >= 2),
            residual_by_loop(listed, p),
        ]
        found = [scores.values[measure][place] for measure in measures]
        if not some:
            expected[:3] = [np.nan] * 3
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), query
        assert not found[1] + found[3] > 1 + 1e-12
