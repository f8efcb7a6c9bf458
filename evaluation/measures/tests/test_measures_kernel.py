"""Which queries count in a mean, which do not, and why."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from evaluation.measures import (
    REASONS,
    Judgments,
    Options,
    Rankings,
    evaluate,
    parse_measure,
)
from evaluation.measures.arrays import distinct
from evaluation.measures.matching import ROWS_AT_A_TIME
from evaluation.tests.packing import pack

NAN = float("nan")


def tally(reasons) -> dict[str, int]:
    """The number of queries by reason."""
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return {reason: n for reason, n in zip(REASONS, counts, strict=True) if n or reason == "counted"}


def scored(measure: str, judgments: dict, rankings: dict, **options):
    scores = evaluate([measure], *pack(judgments, rankings), Options(**options))
    key = parse_measure(measure)
    return scores.values[key].tolist(), tally(scores.reasons[key]), scores.mean(key)


def same(expected: list):
    return pytest.approx(expected, nan_ok=True)


QUERIES = {"found": {"A": 1}, "missed": {"A": 1}, "nothing": {"A": 0}, "unjudged": {}, "absent": {"A": 1}}
RUN = {"found": ["A"], "missed": ["X"], "nothing": ["A"], "unjudged": ["A"]}


def test_by_default_undefined_queries_are_skipped_and_missing_rankings_are_empty():
    values, reasons, average = scored("nDCG@10", QUERIES, RUN)
    assert values == same([1, 0, NAN, NAN, 0])
    assert reasons == {"counted": 3, "not judged": 1, "nothing to find": 1}
    assert average == pytest.approx(1 / 3)


def test_undefined_as_zero_counts_what_has_nothing_to_find_but_not_what_nobody_judged():
    values, reasons, average = scored("nDCG@10", QUERIES, RUN, undefined="zero")
    assert values == same([1, 0, 0, NAN, 0])
    assert reasons == {"counted": 4, "not judged": 1}
    assert average == pytest.approx(1 / 4)


def test_missing_rankings_can_be_skipped():
    values, reasons, average = scored("nDCG@10", QUERIES, RUN, missing="skip")
    assert values == same([1, 0, NAN, NAN, NAN])
    assert reasons == {"counted": 2, "not judged": 1, "nothing to find": 1, "no ranking": 1}
    assert average == pytest.approx(1 / 2)


@pytest.mark.parametrize("measure", ["CG@5", "DCG@5", "IDCG@5", "Judged@5", "NumRel", "NumRelRet@5"])
def test_what_is_zero_for_a_query_without_judgments_still_counts_in_no_mean(measure):
    values, reasons, average = scored(measure, {"q": {}}, {"q": ["A"]})
    assert values == [0.0]
    assert reasons == {"counted": 0, "not judged": 1}
    assert np.isnan(average)


@pytest.mark.parametrize(
    "measure", ["nDCG@5", "P@5", "R@5", "AP", "RR", "Success@5", "Rprec", "Bpref", "ERR(gmax=1)", "RBP(rel=1)"]
)
def test_other_measures_have_no_value_for_a_query_without_judgments(measure):
    values, reasons, _ = scored(measure, {"q": {}}, {"q": ["A"]})
    assert values == same([NAN])
    assert reasons == {"counted": 0, "not judged": 1}


@pytest.mark.filterwarnings("error")
def test_the_judged_share_of_an_empty_ranking_has_no_value():
    values, reasons, _ = scored("Judged@5", {"q": {"A": 1}, "r": {"A": 1}}, {"q": []})
    assert values == same([NAN, NAN])
    assert reasons == {"counted": 0, "no ranking": 2}


def test_required_judgments_that_are_missing_are_the_reason():
    values, reasons, _ = scored("P@2", {"q": {"A": 1}}, {"q": ["A", "X"]}, unjudged="require")
    assert values == same([NAN])
    assert reasons == {"counted": 0, "unjudged above the cutoff": 1}
    # The ideal is that of the judgments, whatever the ranking holds.
    assert scored("IDCG@2", {"q": {"A": 1}}, {"q": ["A", "X"]}, unjudged="require")[0] == [1]


def test_required_judgments_of_the_precision_at_r_are_those_of_the_first_r():
    grades = {"A": 1, "B": 1, "C": 0}
    assert scored("Rprec", {"q": grades}, {"q": ["A", "C", "X"]}, unjudged="require")[0] == [1 / 2]
    assert scored("Rprec", {"q": grades}, {"q": ["A"]}, unjudged="require")[0] == [1 / 2]
    values, reasons, _ = scored("Rprec", {"q": grades}, {"q": ["A", "X", "B"]}, unjudged="require")
    assert values == same([NAN])
    assert reasons == {"counted": 0, "unjudged above the cutoff": 1}
    assert scored("Bpref", {"q": grades}, {"q": ["A", "B", "X"]}, unjudged="require")[0] == same([NAN])
    graded = {"q": {"A": 2, "B": 1}}
    assert scored("Rprec", graded, {"q": ["A", "X"]}, unjudged="require", relevant_from=2.0)[0] == [1]
    several = {"q": {"A": 1}, "r": grades, "s": grades}
    rankings = {"q": ["A", "X"], "r": ["A", "B", "C", "X"], "s": ["A", "X"]}
    assert scored("Rprec", several, rankings, unjudged="require")[0] == same([1, 1, NAN])


@pytest.mark.parametrize(
    "measure",
    [
        "nDCG@3",
        "CG@2",
        "P@2",
        "Rprec",
        "Rprec(rel=2)",
        "R@2",
        "RBP(gmax=3)",
        "RBP(rel=1)@2",
        "RBPResidual@2",
        "nDCG(dcg='exp-log2')@2",
    ]
    + ["NumRet@2", "NumRel", "NumRelRet@2", "Judged@2"],
)
def test_the_average_over_ties_is_the_mean_over_every_order_of_the_tied(measure):
    grades = {"q": {"T": 0, "A": 3, "B": 1, "Z": 2}}
    tied = {"q": {"T": 2.0, "A": 1.0, "B": 1.0, "X": 1.0, "Z": 0.5}}
    orders = [{"q": ["T", *middle, "Z"]} for middle in permutations("ABX")]
    expected = np.mean([scored(measure, grades, order)[0] for order in orders])
    assert scored(measure, grades, tied, ties="average")[0] == pytest.approx([expected], abs=1e-12)


@pytest.mark.parametrize("measure", ["AP", "RR@5", "Success@5", "Bpref", "ERR(gmax=1)"])
def test_what_is_no_sum_over_ranks_has_no_average_over_ties(measure):
    with pytest.raises(ValueError, match="ties=average cannot give .*, which is not a sum over ranks"):
        scored(measure, {"q": {"A": 1}}, {"q": {"A": 1.0}}, ties="average")


def test_an_all_negative_query_is_defined_under_minmax_and_undefined_under_raw():
    judgments, rankings = {"q": {"A": -1, "B": -2}}, {"q": ["X", "A"]}
    assert scored("nDCG@2", judgments, rankings)[0] == pytest.approx([0.760187533431869])
    assert scored("nDCG@2", judgments, rankings, negatives="raw")[1] == {"counted": 0, "nothing to find": 1}


@pytest.mark.filterwarnings("error")
def test_a_collection_without_queries_or_without_judgments_has_no_mean():
    assert np.isnan(scored("nDCG@10", {}, {})[2])
    assert scored("nDCG@10", {"q": {}}, {})[1] == {"counted": 0, "not judged": 1}


DCG_FORMS = {"log2": Options(), "exp-log2": Options(gain="exponential")}
EVERYTHING_ELSE = Options(gain="map", gain_map={-1: 0, 0: 0, 1: 5, 2: 6, 3: 9}, discount="jk2002", log_base=4)


@pytest.mark.parametrize("form", DCG_FORMS)
@pytest.mark.parametrize("name", ["DCG", "IDCG", "nDCG"])
def test_a_form_of_dcg_holds_for_its_measure_whatever_the_options_say(name, form):
    collection = pack({"q": {"A": 3, "B": 1, "C": -1, "D": 2}}, {"q": ["B", "X", "C", "A"]})
    plain, own = parse_measure(f"{name}@3"), parse_measure(f"{name}(dcg='{form}')@3")
    scores = evaluate([plain, own, "AP"], *collection, EVERYTHING_ELSE)
    assert scores.values[own] == evaluate([plain], *collection, DCG_FORMS[form]).values[plain]
    assert scores.values[plain] == evaluate([plain], *collection, EVERYTHING_ELSE).values[plain]
    assert scores.values[own] != scores.values[plain]


def test_judgments_and_rankings_must_have_the_same_queries():
    with pytest.raises(ValueError, match="judgments of 2 queries, rankings of 1"):
        evaluate(["nDCG"], Judgments(2, [0], [1], [1]), Rankings([0, 1], [1]), Options())


def test_a_judged_document_twice_in_a_ranking_is_refused():
    with pytest.raises(ValueError, match="ranking of query 1 names document 7 twice"):
        evaluate(["nDCG"], Judgments(2, [0, 1, 1], [6, 7, 8], [1, 1, 1]), Rankings([0, 0, 2], [7, 7]), Options())


def test_documents_beyond_the_range_of_judgments_are_only_unjudged():
    judgments = Judgments(2, [0, 1], [5, 5], [1, 1])
    huge = [(1 << 40) + 5, -1, (1 << 62) + 5, -(1 << 40) + 5]  # the first has the bits of query 1, document 5
    (values,) = evaluate(["CG"], judgments, Rankings([0, 3, 4], huge), Options()).values.values()
    assert values.tolist() == [0, 0]


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_every_judged_document_is_found_among_more_than_have_a_place_of_their_own(kind):
    # Each query is asked for what it has, for what the other has, and for what lies between and beyond.
    even = np.arange(0, 100_000, 2)
    judgments = Judgments(2, np.repeat([0, 1], 50_000), np.append(even, even + 100_000), np.ones(100_000))
    asked = np.arange(200_010, dtype=kind)
    rankings = Rankings([0, len(asked), 2 * len(asked)], np.append(asked, asked))
    (values,) = evaluate(["CG"], judgments, rankings, Options()).values.values()
    assert values.tolist() == [50_000, 50_000]


def test_rankings_longer_and_shorter_than_what_is_looked_up_at_a_time_are_found_whole():
    # Each query asks for 0 to length - 1, of which the first and the last are judged, and one more that it lacks.
    length = np.array([ROWS_AT_A_TIME + 5, 10, ROWS_AT_A_TIME + 5, 0, ROWS_AT_A_TIME, 3])
    judged = np.stack([np.zeros_like(length), np.maximum(length - 1, 1), length + 2], axis=1)
    judgments = Judgments(6, np.repeat(np.arange(6), 3), judged.ravel(), np.ones(18))
    rankings = Rankings(np.append(0, np.cumsum(length)), np.concatenate([np.arange(n) for n in length]))
    (values,) = evaluate(["CG"], judgments, rankings, Options()).values.values()
    assert values.tolist() == [2, 2, 2, 0, 2, 2]


@given(st.lists(st.integers(-5, 5)))
def test_distinct_numbers_are_those_of_numpy(values):
    numbers = np.array(values, np.int64)
    assert_array_equal(distinct(numbers), np.unique(numbers))
