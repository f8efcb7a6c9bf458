"""Equal scores: by key as trec_eval orders them, or by the expected value over all orders."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from evaluation.measures import Options, Rankings, evaluate
from evaluation.measures.options import BY_SCORE
from evaluation.tests.packing import pack

from ...tests.one_query import value

GRADES = {"A": 3, "B": 1, "C": 0}


def test_equal_scores_go_by_key_descending():
    # C B A: 0 + 1/log2(3) + 3/2 = 2.130930 of 3 + 1/log2(3) = 3.630930
    tied = {"A": 1.0, "B": 1.0, "C": 1.0}
    assert value("nDCG@3", GRADES, tied, ties="score") == pytest.approx(0.586882671436)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("higher", "lower"),
    [(123456790, 123456789), (1.00000001, 1), (-1e-60, -2e-60), (2e300, 1e300), (2.0**53, 2.0**53 - 1)],
)
def test_only_trec_eval_9_ties_scores_that_are_equal_in_32_bits(higher, lower):
    # Where they are equal, Z comes before A.
    assert value("RR", {"A": 1}, {"A": higher, "Z": lower}, ties="score") == 1
    assert value("RR", {"A": 1}, {"A": higher, "Z": lower}, ties="trec_eval_9") == 1 / 2


@pytest.mark.parametrize("ties", BY_SCORE)
def test_zero_and_minus_zero_are_equal_and_what_is_next_to_them_is_not(ties):
    # B comes first, 1 + 3/log2(3), where they are equal.
    assert value("DCG@2", GRADES, {"A": 0.0, "B": -0.0}, ties=ties) == pytest.approx(2.892789)
    assert value("DCG@2", GRADES, {"A": 2e-30, "B": 1e-30}, ties=ties) == pytest.approx(3.630930)
    assert value("DCG@2", GRADES, {"A": -1e-30, "B": -2e-30}, ties=ties) == pytest.approx(3.630930)


# Equal in 32 bits are 0.5 and the next, and the integers in pairs. Tied scores are found by their bits folded to
# 32, which are the same for the last two.
SOME = (-2.5, -1.0, -0.0, 0.0, 0.5, 0.50000000001, 16777216.0, 16777217.0, 123456789.0, 123456790.0)
SOME += tuple(np.array([0x3FF0000040000000, 0x400000003FF00000]).view(np.float64).tolist())


@pytest.mark.parametrize(("ties", "kind"), [("score", float), ("trec_eval_9", np.float32)])
def test_every_ranking_is_that_sorted_by_score_and_key(ties, kind):
    random = Random(32)
    scored = {
        f"q{number}": {key: random.choice(SOME) for key in random.sample("ABCDEFGHIJ", random.randint(0, 10))}
        for number in range(100)
    }
    in_order = {
        query: sorted(scores, key=lambda key: (kind(scores[key]), key), reverse=True)
        for query, scores in scored.items()
    }
    grades = {query: {key: random.randint(0, 9) for key in "ACEGIX"} for query in scored}
    (values,) = evaluate(["DCG"], *pack(grades, scored), Options(ties=ties)).values.values()
    (expected,) = evaluate(["DCG"], *pack(grades, in_order), Options()).values.values()
    assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", ["score", "average"])
def test_rows_come_in_any_order(ties):
    random = Random(33)
    keys, queries = "ABCDEFGHIJ", [f"q{number}" for number in range(60)]
    grades = {query: {key: random.randint(-1, 3) for key in random.sample(keys, 6)} for query in queries}
    scored = {
        query: {key: random.choice((-2.5, -0.0, 0.25, 3.0)) for key in random.sample(keys, random.randint(0, 10))}
        for query in queries
    }
    judgments, rankings = pack(grades, scored)
    rows = np.arange(len(rankings.documents))
    for first, last in zip(rankings.offsets[::2], rankings.offsets[1::2], strict=False):  # every other query
        rows[first:last] = random.sample(range(first, last), last - first)
    turned = replace(
        rankings,
        documents=rankings.documents[rows],
        scores=rankings.scores[rows],
        tiebreak=rankings.tiebreak[rows],
    )
    measures, options = ["DCG", "CG@2", "nDCG@3"], Options(ties=ties)
    expected = evaluate(measures, judgments, rankings, options).values
    for measure, values in evaluate(measures, judgments, turned, options).values.items():
        assert values == pytest.approx(expected[measure], abs=1e-12, nan_ok=True)


def test_scores_overrule_the_given_order_and_ranks_ignore_scores():
    judgments, _ = pack({"q": GRADES}, {})
    rankings = Rankings([0, 2], [1, 0], scores=[1.0, 2.0], tiebreak=[1, 0])  # B, A as listed
    (by_score,) = evaluate(["DCG@2"], judgments, rankings, Options(ties="score")).values.values()
    (averaged,) = evaluate(["DCG@2"], judgments, rankings, Options(ties="average")).values.values()
    (by_rank,) = evaluate(["DCG@2"], judgments, rankings, Options()).values.values()
    assert by_score[0] == averaged[0] == pytest.approx(3 + 1 / np.log2(3))
    assert by_rank[0] == pytest.approx(1 + 3 / np.log2(3))


def test_keys_beyond_ascii_break_ties_in_the_order_of_their_bytes():
    # In UTF-8 EF BD A1 and F0 9F 98 80; in UTF-16 the second, D83D DE00, would be less than the first.
    tied = {"z": 1.0, "\uff61": 1.0, "\U0001f600": 1.0}
    for first, rank in (("\U0001f600", 1), ("\uff61", 2), ("z", 3)):
        assert value("RR", {first: 1}, tied, ties="score") == 1 / rank


def test_the_average_takes_unjudged_documents_of_the_group_in():
    # A at rank 1 or 2 with the same chance: 3 x (1 + 0.630930) / 2
    assert value("DCG", {"A": 3}, {"A": 1.0, "X": 1.0}, ties="average") == pytest.approx(2.446395)
    assert value("DCG", {"A": 3}, {"A": 1.0, "X": 1.0}, ties="average", unjudged="condensed") == 3


@pytest.mark.filterwarnings("error")
def test_a_tie_group_that_condensing_empties_leaves_no_trace():
    scores = {"X": 3.0, "Y": 3.0, "A": 2.0, "B": 2.0}
    # A and B share ranks 1 and 2: (3 + 1) / 2 x (1 + 0.630930)
    found = value("DCG", {"A": 3, "B": 1}, scores, ties="average", unjudged="condensed")
    assert found == pytest.approx(3.261860, abs=1e-6)
