from collections import Counter
from fractions import Fraction
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.judgments import RULES, Ratings, combine


def ratings(*rows: tuple[int, int, int, float], queries: int = 2) -> Ratings:
    query, document, rater, grade = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Ratings(
        queries,
        np.array(query, np.int64),
        np.array(document, np.int64),
        np.array(rater, np.int64),
        np.array(grade, np.float64),
    )


def combined(rule: str, *rows: tuple[int, int, int, float]) -> dict[tuple[int, int], float]:
    judgments = combine(ratings(*rows), rule)
    pairs = zip(judgments.query.tolist(), judgments.document.tolist(), strict=True)
    return dict(zip(pairs, judgments.grade.tolist(), strict=True))


# Three raters on document 7 of query 1, one on document 7 of query 0, two that disagree on document 5.
ROWS = [(1, 7, 1, 3.0), (1, 7, 2, 1.0), (0, 7, 1, 2.0), (1, 7, 3, 1.0), (0, 5, 1, 0.5), (0, 5, 2, -1.0)]


@pytest.mark.parametrize(
    ("rule", "three", "two"),
    [("mean", 5 / 3, -0.25), ("median", 1, -1), ("min", 1, -1), ("max", 3, 0.5), ("majority", 1, -1)],
)
def test_each_rule_makes_one_judgment_of_several_ratings(rule, three, two):
    assert combined(rule, *ROWS) == {(0, 5): two, (0, 7): 2.0, (1, 7): three}


def test_a_majority_outvotes_a_lower_grade():
    assert combined("majority", (0, 1, 1, 0.0), (0, 1, 2, 2.0), (0, 1, 3, 2.0)) == {(0, 1): 2.0}


def test_three_times_the_same_decimal_is_that_decimal():
    # As floats 0.7 + 0.7 + 0.7 is 2.0999999999999996, and its third is less than 0.7.
    assert combined("mean", (0, 1, 1, 0.7), (0, 1, 2, 0.7), (0, 1, 3, 0.7)) == {(0, 1): 0.7}


def test_no_ratings_are_no_judgments():
    for rule in RULES:
        judgments = combine(ratings(queries=3), rule)
        assert (judgments.queries, judgments.grade.size) == (3, 0)


def test_an_unknown_rule_is_named_with_the_nearest():
    with pytest.raises(ValueError, match="unknown rule 'medium'; did you mean median"):
        combine(ratings(*ROWS), "medium")
    with pytest.raises(ValueError, match="known are mean, median, min, max, majority"):
        combine(ratings(*ROWS), "zzz")


# A scale may reach a million, with nine decimals.
GRADES = st.integers(1 - 10**15, 10**15 - 1) | st.integers(-3, 3).map(lambda whole: whole * 10**9)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.lists(GRADES, min_size=1), max_size=8))
def test_the_rules_agree_with_plain_python_on_any_decimals(given_billionths):
    def plain(rule, billionths):
        if rule == "mean":
            return float(Fraction(sum(billionths), len(billionths) * 10**9))
        if rule == "majority":
            votes = Counter(billionths)
            return min(grade for grade in votes if votes[grade] == max(votes.values())) / 10**9
        return {"median": median_low, "min": min, "max": max}[rule](billionths) / 10**9

    rows = [
        (query, document, rater, grade / 10**9)
        for (query, document), grades in given_billionths.items()
        for rater, grade in enumerate(grades)
    ]
    for rule in RULES:
        judgments = combine(ratings(*rows, queries=4), rule)
        pairs = zip(judgments.query.tolist(), judgments.document.tolist(), strict=True)
        expected = {pair: plain(rule, grades) for pair, grades in given_billionths.items()}
        assert dict(zip(pairs, judgments.grade.tolist(), strict=True)) == expected
