"""CG, DCG, IDCG and nDCG against numbers worked out by hand. log2(3) = 1.584963, log2(5) = 2.321928."""

import numpy as np
import pytest

from evaluation.measures import Options, evaluate
from evaluation.measures.discounts import discount
from evaluation.tests.packing import pack

from ...tests.one_query import value

SIGNED = {"A": 2, "B": -1, "C": 1, "D": 0}


def close(expected: float):
    return pytest.approx(expected, abs=1e-6)


def test_cumulative_gain_adds_grades_and_keeps_their_signs():
    assert value("CG@3", SIGNED, ["A", "B", "C"]) == 2 - 1 + 1
    assert value("CG@2", SIGNED, ["A", "B", "C"]) == 2 - 1


def test_discounted_gain_divides_by_the_logarithm_of_rank_plus_one():
    # 2/log2(2) - 1/log2(3) + 1/log2(4) = 2 - 0.630930 + 0.5
    assert value("DCG@4", SIGNED, ["A", "B", "C", "D"]) == close(1.869070)


def test_the_ideal_holds_the_best_judged_documents_retrieved_or_not():
    # 3/log2(2) + 3/log2(3) + 2/log2(4) = 3 + 1.892789 + 1; the ranking has only the first of them
    grades = {"A": 3, "B": 3, "C": 2, "D": 1}
    assert value("IDCG@3", grades, ["A"]) == close(5.892789)
    assert value("nDCG@3", grades, ["A"]) == close(3 / 5.892789)


def test_the_ideal_of_the_retrieved_sees_only_the_ranking():
    # Own order 1 + 3/log2(3) = 2.892789 against 3 + 1/log2(3) = 3.630930; the 2 that is missing does not count.
    grades = {"A": 3, "B": 1, "C": 2}
    assert value("nDCG", grades, ["B", "A"], ideal="retrieved") == close(2.892789 / 3.630930)


@pytest.mark.parametrize(
    ("negatives", "ranking", "expected"),
    [
        # IDCG 2 + 1/log2(3) = 2.630930, W = -1; DCG of A C D B = 2.630930 - 1/log2(5) = 2.200253
        ("raw", "ACDB", 0.836303),
        ("clip", "ACDB", 1.0),
        ("minmax", "ACDB", 3.200253 / 3.630930),
        ("minmax_closed", "ACDB", 1.0),
        # closed: best 2, 1, 0, -1 = 2.200253; worst -1, 0, 1, 2 = -1 + 0.5 + 2/log2(5) = 0.361353
        ("minmax_closed", "ABCD", (1.869070 - 0.361353) / (2.200253 - 0.361353)),
        ("minmax_closed", "AC", 1.234203),
        ("minmax_closed", "", -0.361353 / 1.838900),
        # DCG of B A C D = -1 + 2/log2(3) + 0.5 = 0.761860
        ("raw", "BACD", 0.289578),
        ("clip", "BACD", (2 * 0.630930 + 0.5) / 2.630930),
        ("minmax", "BACD", 1.761860 / 3.630930),
        ("minmax", "AC", 1.0),
        ("minmax", "", 1 / 3.630930),
    ],
)
def test_negative_grades_count_as_the_option_says(negatives, ranking, expected):
    assert value("nDCG@4", SIGNED, list(ranking), negatives=negatives) == close(expected)


@pytest.mark.parametrize(
    ("negatives", "ranking", "expected"),
    [
        # A = -1, B = -2. W = -2 - 1/log2(3) = -2.630930; closed best -1 - 2/log2(3) = -2.261860
        ("minmax", "AB", 0.369070 / 2.630930),
        ("minmax", "UA", 2 / 2.630930),
        ("minmax_closed", "AB", 1.0),
        ("minmax_closed", "UA", 2 / 0.369070),
        ("raw", "AB", np.nan),
        ("clip", "AB", np.nan),
    ],
)
def test_a_query_with_negative_grades_only_can_be_avoided_well(negatives, ranking, expected):
    found = value("nDCG@2", {"A": -1, "B": -2}, list(ranking), negatives=negatives)
    assert found == pytest.approx(expected, abs=2e-5, nan_ok=True)


def test_the_closed_form_moves_queries_without_negatives_and_the_open_one_does_not():
    # best 3 + 3/log2(3) + 2/2 = 5.892789, worst 0 + 2/log2(3) + 3/2 + 3/log2(5) = 4.053889, DCG 5.761860
    grades, ranking = {"A": 3, "B": 2, "C": 3, "D": 0}, ["A", "B", "C", "D"]
    assert value("nDCG@4", grades, ranking, negatives="minmax_closed") == close(1.707970 / 1.838900)
    assert value("nDCG@4", grades, ranking) == value("nDCG@4", grades, ranking, negatives="raw")


@pytest.mark.parametrize(
    ("gain", "grade", "expected"),
    [
        ("linear", -2, -2),
        ("exponential", 3, 7),
        ("exponential", -1, -0.5),
        ("exponential", 0.5, 0.414214),
        ("exponential_signed", -2, -3),
        ("exponential_signed", 2, 3),
        ("map:-2=-10,0=0,3=5", -2, -10),
        ("map:-2=-10,0=1,3=5", 0, 1),
    ],
)
def test_a_grade_gains_what_the_gain_says(gain, grade, expected):
    judgments, rankings = pack({"q": {"A": grade}}, {"q": ["A"]})
    (values,) = evaluate(["CG"], judgments, rankings, Options.parse(gain=gain)).values.values()
    assert values[0] == close(expected)


def test_a_grade_outside_the_map_is_refused_and_never_interpolated():
    for grade in (0.5, 1.5, 2.5):  # below, between and above those of the map
        with pytest.raises(ValueError, match=f"does not list the grade {grade}"):
            value("nDCG", {"A": 1, "B": grade, "C": 9}, ["A"], gain="map", gain_map={1: 1, 2: 3})


def test_a_gain_beyond_all_numbers_is_refused():
    with pytest.raises(ValueError, match="gain of grade 2000 is too large"):
        value("nDCG", {"A": 1, "B": 2000, "C": 3000}, ["A"], gain="exponential")


def test_unjudged_documents_keep_their_rank_leave_or_have_the_assumed_grade():
    grades, ranking = {"A": 2, "B": 1}, ["X", "A", "B"]
    assert value("DCG@2", grades, ranking) == close(2 * 0.630930)  # 0 at rank 1, A at rank 2
    assert value("DCG@2", grades, ranking, unjudged="condensed") == close(2 + 0.630930)  # A, B
    assert value("DCG@2", grades, ranking, unjudged=-1.0) == close(-1 + 2 * 0.630930)


def test_requiring_judgments_withholds_the_value_while_one_above_the_cutoff_is_missing():
    grades, ranking = {"A": 2, "B": 1}, ["A", "B", "X"]
    assert value("nDCG@2", grades, ranking, unjudged="require") == 1.0
    assert np.isnan(value("nDCG@3", grades, ranking, unjudged="require"))
    assert value("Judged@3", grades, ranking, unjudged="require") == close(2 / 3)


def test_the_logarithm_s_base_scales_dcg_and_cancels_in_ndcg():
    grades, ranking = {"A": 3, "B": 2, "C": 3}, ["A", "B", "C"]
    assert value("DCG@3", grades, ranking, log_base=8.0) == close(3 * value("DCG@3", grades, ranking))
    assert value("nDCG@3", grades, ranking, log_base=8.0) == close(value("nDCG@3", grades, ranking))


def test_the_discount_of_2002_leaves_ranks_up_to_its_base_alone():
    # base 2: 1 + 1 + 1/log2(3) = 2.630930; base 3: 1 + 1 + 1 + log2(3)/log2(4) = 3.792481
    grades = dict.fromkeys("ABCD", 1)
    assert value("DCG@3", grades, list("ABCD"), discount="jk2002") == close(2.630930)
    assert value("DCG@4", grades, list("ABCD"), discount="jk2002", log_base=3.0) == close(3.792481)


def test_a_perfect_ranking_is_exactly_one():
    assert value("nDCG", {"A": 0.1, "B": 0.2, "C": 0.3}, ["C", "B", "A"]) == 1.0
    # Here the first nine ranks weigh the same, and 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point.
    tens = {"discount": "jk2002", "log_base": 10.0}
    assert value("nDCG", {"A": 0.1, "B": 0.2, "C": 0.3}, ["A", "B", "C"], **tens) == 1.0


def test_closed_lists_that_only_rounding_tells_apart_leave_ndcg_undefined():
    # All three ranks weigh the same: best 0.9 + 0.8 - 0.7, worst -0.7 + 0.8 + 0.9, less by one rounding.
    assert 0.9 + 0.8 - 0.7 > -0.7 + 0.8 + 0.9
    closed = {"negatives": "minmax_closed", "discount": "jk2002", "log_base": 10.0}
    grades = {"A": -0.7, "B": 0.9, "C": 0.8}
    assert np.isnan(value("nDCG", grades, ["A", "B"], **closed))
    assert value("nDCG@2", grades, ["A", "B"], **closed) == close((0.2 - 0.1) / (1.7 - 0.1))


@pytest.mark.parametrize("ranks", [np.arange(1, 250_001), np.tile(np.arange(1, 501), 300)])
@pytest.mark.parametrize("options", [Options(), Options(discount="jk2002", log_base=3.0)])
def test_many_ranks_weigh_what_few_weigh(ranks, options):
    weights = discount(ranks, options)
    some = slice(None, None, 997)
    assert weights[some].tolist() == discount(ranks[some], options).tolist()
