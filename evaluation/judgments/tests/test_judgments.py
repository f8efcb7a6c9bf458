from collections import Counter
from dataclasses import replace
from fractions import Fraction
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.judgments import rules
from evaluation.judgments.dawid_skene import estimate
from evaluation.judgments.rules import RULES, Ratings, combine
from evaluation.measures import Judgments


def ratings(*rows: tuple[int, int, int, float], queries: int = 2, weights: dict | None = None) -> Ratings:
    """Of (query, document, rater, grade); `weights` by rater, 1 for who is not there."""
    query, document, rater, grade = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Ratings(
        queries,
        np.array(query, np.int64),
        np.array(document, np.int64),
        np.array(rater, np.int64),
        np.array(grade, np.float64),
        None if weights is None else np.array([weights.get(name, 1) for name in rater], np.float64),
    )


def by_pair(made: Judgments) -> dict[tuple[int, int], float]:
    pairs = zip(made.query.tolist(), made.document.tolist(), strict=True)
    return dict(zip(pairs, made.grade.tolist(), strict=True))


def combined(rule: str, *rows: tuple[int, int, int, float], weights: dict | None = None) -> dict:
    return by_pair(combine(ratings(*rows, weights=weights), rule))


def adjudicated(*rows: tuple[int, int, float], queries: int = 2) -> Judgments:
    query, document, grade = zip(*rows, strict=True) if rows else ((), (), ())
    return Judgments(queries, np.array(query, np.int64), np.array(document, np.int64), np.array(grade))


# Three raters on document 7 of query 1, one on document 7 of query 0, two that disagree on document 5.
ROWS = [(1, 7, 1, 3.0), (1, 7, 2, 1.0), (0, 7, 1, 2.0), (1, 7, 3, 1.0), (0, 5, 1, 0.5), (0, 5, 2, -1.0)]


@pytest.mark.parametrize(
    ("rule", "three", "two"),
    [
        ("mean", 5 / 3, -0.25),
        ("median", 1, -1),
        ("min", 1, -1),
        ("max", 3, 0.5),
        ("majority", 1, -1),
        ("weighted", 5 / 3, -0.25),
        ("dawid_skene", 1, -1),
    ],
)
def test_each_rule_makes_one_judgment_of_several_ratings(rule, three, two):
    assert combined(rule, *ROWS) == {(0, 5): two, (0, 7): 2.0, (1, 7): three}


def test_an_unknown_rule_or_way_with_adjudications_is_refused():
    for unknown in ({"rule": "medium"}, {"adjudications": "ignored"}):
        with pytest.raises(ValueError, match="unknown"):
            combine(ratings(*ROWS), **unknown)


# Weights


def test_a_heavier_rater_pulls_the_mean():
    rows = [(0, 1, 1, 3.0), (0, 1, 2, 0.0), (0, 1, 3, 1.0)]
    # (2 * 3 + 0.5 * 0 + 1 * 1) / 3.5
    assert combined("weighted", *rows, weights={1: 2, 2: 0.5}) == {(0, 1): 2.0}
    assert combined("mean", *rows, weights={1: 2, 2: 0.5}) == {(0, 1): 4 / 3}


def test_a_rater_of_weight_0_does_not_count_and_alone_leaves_the_pair_unjudged():
    rows = [(0, 1, 1, 3.0), (0, 1, 2, 0.0), (0, 2, 2, 3.0), (1, 1, 2, 3.0), (1, 1, 4, 1.0)]
    assert combined("weighted", *rows, weights={2: 0}) == {(0, 1): 3.0, (1, 1): 1.0}
    assert combined("weighted", *rows, weights={1: 0, 2: 0, 4: 0}) == {}


@pytest.mark.parametrize("weight", [0.001, 0.1, 0.333, 1, 9999.999])
def test_equal_weights_of_any_size_give_the_mean_to_the_last_bit(weight):
    rows = [(0, 1, rater, grade) for rater, grade in enumerate([0.7, 0.7, 0.7])]
    rows += [(0, 2, rater, grade) for rater, grade in enumerate([-0.1, 0.3, 999_999.999999999])]
    weighted = combined("weighted", *rows, weights=dict.fromkeys(range(3), weight))
    assert weighted == combined("mean", *rows)
    assert weighted[0, 1] == 0.7


# Adjudications


@pytest.mark.parametrize("rule", RULES)
def test_an_adjudicated_grade_stands_above_every_rule_with_or_without_ratings(rule):
    given = replace(ratings(*ROWS), adjudicated=adjudicated((0, 5, 3.0), (1, 2, -1.0)))
    plain = combined(rule, *ROWS)
    assert by_pair(combine(given, rule)) == plain | {(0, 5): 3.0, (1, 2): -1.0}
    assert by_pair(combine(given, rule, adjudications="ignore")) == plain


# A scale may reach a million, with nine decimals.
GRADES = st.integers(1 - 10**15, 10**15 - 1) | st.integers(-3, 3).map(lambda whole: whole * 10**9)


# How one rater errs is learnt from all pairs, so dawid_skene has its own oracle in test_dawid_skene.
LOCAL_RULES = [rule for rule in RULES if rule != "dawid_skene"]


@given(
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.lists(GRADES, min_size=1), max_size=8),
    st.lists(st.sampled_from([0, 1, 500, 1000]) | st.integers(0, 10**7 - 1), min_size=1),
)
def test_the_rules_agree_with_plain_python_on_any_decimals(given_billionths, thousandths):
    def weight(rater):
        return thousandths[rater % len(thousandths)]

    def plain(rule, billionths):
        if rule == "mean":
            return float(Fraction(sum(billionths), len(billionths) * 10**9))
        if rule == "weighted":
            total = sum(weight(rater) for rater in range(len(billionths)))
            weighed = sum(weight(rater) * grade for rater, grade in enumerate(billionths))
            return float(Fraction(weighed, total * 10**9)) if total else None
        if rule == "majority":
            votes = Counter(billionths)
            return min(grade for grade in votes if votes[grade] == max(votes.values())) / 10**9
        return {"median": median_low, "min": min, "max": max}[rule](billionths) / 10**9

    rows = [
        (query, document, rater, grade / 10**9)
        for (query, document), grades in given_billionths.items()
        for rater, grade in enumerate(grades)
    ]
    weights = {rater: weight(rater) / 1000 for _, _, rater, _ in rows}
    for rule in LOCAL_RULES:
        expected = {pair: plain(rule, grades) for pair, grades in given_billionths.items()}
        expected = {pair: grade for pair, grade in expected.items() if grade is not None}
        assert by_pair(combine(ratings(*rows, queries=4, weights=weights), rule)) == expected


def test_no_rule_depends_on_the_order_of_the_rows(monkeypatch):
    estimated = []
    monkeypatch.setattr(rules, "estimate", lambda *given: estimated.append(given) or estimate(*given))
    generator = np.random.default_rng(7)
    rows = [(0, d, r, float(generator.integers(4))) for d in range(60) for r in generator.permutation(5)[:3]]
    shuffled = [rows[i] for i in generator.permutation(len(rows))]
    weights = {0: 0.3, 1: 2}
    for rule in RULES:
        assert combined(rule, *rows, weights=weights) == combined(rule, *shuffled, weights=weights)
    # To the last bit: the rounding of sums depends on their order.
    for one, other in zip(*estimated, strict=True):
        assert np.array_equal(one, other)
