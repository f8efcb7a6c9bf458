"""Exact bounds against brute force: every way in which the open judgments can turn out."""

import itertools
import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.measures import (
    Bounds,
    Options,
    bounds,
    bounds_of_mean,
    evaluate,
    unjudged,
)
from evaluation.tests.packing import pack
from ratings.tests.thorough import examples

RANKED = ["a", "b", "c", "d", "e", "f"]
OTHERS = ["x", "y", "z"]
NOTHING = (np.empty(0, int), np.empty(0, int))  # no pair of the pool is open
RANGES = [(0, 3), (0, 1), (-2, 2), (-1, 3), (1, 4), (-3, -1), (-1, 0)]

options_ = st.builds(
    Options,
    gain=st.sampled_from(["linear", "exponential", "exponential_signed"]),
    discount=st.sampled_from(["log_shift", "jk2002"]),
    log_base=st.sampled_from([2.0, 3.0]),
    ideal=st.sampled_from(["judged", "retrieved"]),
    negatives=st.sampled_from(["minmax", "minmax", "raw", "clip"]),
    undefined=st.sampled_from(["skip", "zero"]),
    ties=st.sampled_from(["rank", "score", "average"]),
)


def of_mean(said: Bounds) -> tuple[float, float]:
    return bounds_of_mean(said.low, said.high, said.certain, said.possible)


@st.composite
def cases(draw):
    """A scale, a ranking with scores, its judgments, at most four open documents, and a cutoff.

    Some judgments lie beyond the grades that the open documents can get; of the documents that are surely
    below the cutoff, some are neither judged nor open.
    """
    grades = draw(st.sampled_from(RANGES))
    beyond = draw(st.sampled_from([0, 0, 1]))
    ranking = draw(st.lists(st.sampled_from(RANKED), unique=True))
    scores = {document: draw(st.integers(0, 3)) for document in ranking}
    ranking.sort(key=lambda document: -scores[document])
    cutoff = draw(cutoffs)
    least = scores[ranking[cutoff - 1]] if cutoff and cutoff <= len(ranking) and draw(st.booleans()) else 0
    known = [document for document in ranking + OTHERS if scores.get(document, least) >= least]
    open_ = draw(st.lists(st.sampled_from(known), unique=True, max_size=4))
    judged = [document for document in known if document not in open_]
    judged = judged if draw(st.booleans()) else [document for document in judged if document in ranking]
    given_grade = st.integers(grades[0] - beyond, grades[1] + beyond)
    judgments = {document: float(draw(given_grade)) for document in judged}
    return grades, {document: scores[document] for document in ranking}, judgments, open_, cutoff


cutoffs = st.none() | st.integers(1, 7)


def found(grades, scores, judgments, open_, cutoff, options):
    """Our bounds, (low, high, certain)."""
    said = said_of(grades, scores, judgments, open_, cutoff, options)
    return said.low[0], said.high[0], bool(said.certain[0])


def said_of(grades, scores, judgments, open_, cutoff, options):
    """Our bounds of the one query."""
    # The pool needs numbers for its documents: they stand in a second query, which has no ranking.
    packed, rankings = pack({"q": judgments, "pool": dict.fromkeys(open_, 0)}, {"q": scores})
    pool = np.repeat(packed.document[packed.query == 1], 2)  # a pair that is named twice is one
    one, ranking = packed.only(0), rankings.only(0)
    return bounds(cutoff, one, ranking, options, grades, (np.zeros(len(pool), int), pool))


def every_end(grades, scores, judgments, open_, cutoff, options, steps):
    """nDCG of every way to judge what is open with the grades of `steps`; nan where there is no value."""
    ways = list(itertools.product(steps, repeat=len(open_)))
    collection = {f"q{place}": judgments | dict(zip(open_, way, strict=True)) for place, way in enumerate(ways)}
    packed, rankings = pack(collection, dict.fromkeys(collection, scores))
    scored = evaluate([f"nDCG@{cutoff}" if cutoff else "nDCG"], packed, rankings, options)
    return next(iter(scored.values.values()))


def steps_of(grades, judgments):
    lowest, highest = grades
    inner = {0.0, *judgments.values(), (lowest + highest) / 2, lowest / 3}
    return sorted({float(lowest), float(highest), *(grade for grade in inner if lowest <= grade <= highest)})


@settings(max_examples=examples(100))
@given(cases(), options_)
@pytest.mark.slow
def test_the_bounds_are_those_of_brute_force(case, options):
    grades, scores, judgments, open_, cutoff = case
    low, high, certain = found(*case, options)
    ends = every_end(*case, options, steps_of(grades, judgments))
    judged_ever = bool(judgments) or bool(open_)
    if math.isnan(low) and options.negatives == "raw":
        # Either there is never a value, or the loss has no end.
        assert np.isnan(ends).all() or can_be_endless(case, options)
        return
    if np.isnan(ends).all():
        assert math.isnan(low) and math.isnan(high) and not certain
        return
    assert low == pytest.approx(np.nanmin(ends), abs=1e-12)
    assert high == pytest.approx(np.nanmax(ends), abs=1e-12)
    assert certain == (judged_ever and not np.isnan(ends).any())


def can_be_endless(case, options):
    """Whether nothing relevant is known and there can be a loss, so that the ratio has no lower end under raw."""
    grades, scores, judgments, *_ = case
    known = [grade for key, grade in judgments.items() if options.ideal == "judged" or key in scores]
    return max(known, default=0) <= 0 and (grades[0] < 0 or min(known, default=0) < 0)


@settings(max_examples=examples(100))
@given(cases(), cases(), options_)
@pytest.mark.slow
def test_the_bounds_of_a_mean_hold_every_mean_of_brute_force(one, other, options):
    said = [said_of(*case, options) for case in (one, other)]
    together = (np.concatenate([getattr(each, name.name) for each in said]) for name in fields(Bounds))
    low, high = of_mean(Bounds(*together))
    ends = [every_end(*case, options, steps_of(case[0], case[2])) for case in (one, other)]
    first, second = np.meshgrid(*map(np.unique, ends))
    means = np.where(np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2))
    means = means[~np.isnan(means)]
    if math.isnan(low):
        assert math.isnan(high)
        endless = (
            can_be_endless(case, options) and not np.isnan(end).all()
            for case, end in zip((one, other), ends, strict=True)
        )
        assert not means.size or (options.negatives == "raw" and any(endless))
    else:
        assert low == pytest.approx(means.min(), abs=1e-12)
        assert high == pytest.approx(means.max(), abs=1e-12)


def test_a_mean_with_a_query_that_has_no_end_has_no_bounds():
    """The smaller the gain g of c, the lower the value of q2: (-1 + g / log2(3)) / g."""
    packed, rankings = pack({"q1": {"a": 1}, "q2": {"b": -1}}, {"q1": ["a"], "q2": ["b", "c"]})
    said = bounds(3, packed, rankings, Options(negatives="raw"), (-1, 1), NOTHING)
    assert said.low == pytest.approx([1, np.nan], nan_ok=True)
    assert np.isnan(of_mean(said)).all()
    # A query without a ranking that is left out does not matter.
    packed, rankings = pack({"q1": {"a": 1}, "q2": {"b": -1}}, {"q1": ["a"]})
    pool = (np.array([1]), np.array([9]))
    said = bounds(3, packed, rankings, Options(negatives="raw", missing="skip"), (-1, 1), pool)
    assert of_mean(said) == (1, 1)


# What random cases seldom are: in each, another part of the search decides.
SELDOM = {
    "judged beyond the best grade": (
        ((1, 4), "dacbe", {"a": 5.0, "c": 4.0, "f": 4.0, "g": 3.0, "h": 2.0}, "dbe", None),
        Options(gain="exponential_signed", discount="jk2002", negatives="clip"),
    ),
    "layers of different thickness": (
        ((0, 3), "dabce", {"a": 2.0, "f": 0.0}, "db", 3),
        Options(negatives="raw"),
    ),
    "every ratio is below 0": (
        ((-1, 3), "abcde", {"a": -1.0, "b": 0.0, "c": 0.0, "e": 2.0, "f": 1.0}, "x", 2),
        Options(gain="exponential", discount="jk2002", negatives="raw"),
    ),
    "the search begins where it ends": (
        ((-3, -1), "abcde", {"a": -2.0, "d": -1.0, "e": -2.0, "f": -1.0}, "bcx", 5),
        Options(discount="jk2002"),
    ),
    "every open document loses": (
        ((-3, -1), "abcde", {"b": -2.0, "c": -2.0, "e": -3.0, "f": -1.0, "g": -1.0}, "ad", 5),
        Options(discount="jk2002", log_base=3.0),
    ),
    "more columns than open documents": (
        ((-1, 3), "abc", {"a": 3.0, "b": -1.0, "f": -1.0, "g": 2.0, "h": 0.0}, "c", 3),
        Options(gain="exponential_signed", log_base=3.0, negatives="clip"),
    ),
}


@pytest.mark.parametrize(("case", "options"), SELDOM.values(), ids=SELDOM)
def test_the_bounds_of_seldom_cases_are_those_of_brute_force(case, options):
    grades, ranking, judgments, open_, cutoff = case
    case = grades, list(ranking), judgments, list(open_), cutoff
    low, high, certain = found(*case, options)
    ends = every_end(*case, options, steps_of(grades, judgments))
    assert (low, high) == pytest.approx((ends.min(), ends.max()), abs=1e-12)
    assert certain


@settings(max_examples=examples(100))
@given(cases(), options_, st.lists(st.floats(0, 1), min_size=4, max_size=4))
@pytest.mark.slow
def test_no_grade_between_those_of_the_scale_leads_out_of_the_bounds(case, options, shares):
    (lowest, highest), scores, judgments, open_, cutoff = case
    low, high, _ = found(*case, options)
    drawn = {key: lowest + share * (highest - lowest) for key, share in zip(open_, shares, strict=False)}
    packed, rankings = pack({"q": judgments | drawn}, {"q": scores})
    (value,) = evaluate([f"nDCG@{cutoff}" if cutoff else "nDCG"], packed, rankings, options).values.values()
    if not (np.isnan(value[0]) or math.isnan(low)):
        assert low - 1e-9 <= value[0] <= high + 1e-9


def test_an_unjudged_document_at_rank_ten_can_cost_half():
    ranking = ["A", *(f"z{place}" for place in range(8)), "U"]
    judgments = {"A": 1} | {f"z{place}": 0 for place in range(8)}
    packed, rankings = pack({"q": judgments}, {"q": ranking})
    said = bounds(10, packed, rankings, Options(), (0, 3), NOTHING)
    # With U = 3 the ideal is U A: (1 + 3 / log2(11)) / (3 + 1 / log2(3)).
    assert said.low[0] == pytest.approx(0.514246930037, abs=1e-12)
    assert said.low[0] == pytest.approx((1 + 3 / math.log2(11)) / (3 + 1 / math.log2(3)), abs=1e-15)
    assert said.high[0] == 1.0


def test_the_unjudged_documents_down_to_the_cutoff_are_named():
    # Numbered a 0, b 1, x 2, y 3, z 4.
    packed, rankings = pack({"q": {"a": 1}, "r": {"b": 0}}, {"q": ["x", "a", "y", "z"], "r": ["b", "x"]})
    for options in (Options(), Options(ideal="retrieved"), Options(unjudged="condensed")):
        assert pairs(unjudged(3, packed, rankings, options)) == [(0, 2), (0, 3), (1, 2)]
        assert pairs(unjudged(None, packed, rankings, options)) == [(0, 2), (0, 3), (0, 4), (1, 2)]


def test_what_can_stand_above_the_cutoff_under_the_ties_is_named():
    scored = {"a": 3.0, "x": 2.0, "y": 2.0, "z": 1.0}
    packed, rankings = pack({"q": {"a": 1}, "r": {"a": 0}}, {"q": scored, "r": scored})
    assert pairs(unjudged(2, packed, rankings, Options(ties="average"))) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert pairs(unjudged(2, packed, rankings, Options(ties="score"))) == [(0, 2), (1, 2)]  # y before x
    assert pairs(unjudged(2, packed, rankings, Options())) == [(0, 1), (1, 1)]
    # Without a tiebreak, where no scores are equal or their order does not matter.
    bare = replace(rankings, tiebreak=None)
    assert len(pairs(unjudged(2, packed, bare, Options(ties="average")))) == 4
    untied = replace(bare, scores=np.arange(8.0))
    assert pairs(unjudged(1, packed, untied, Options(ties="score"))) == [(0, 3), (1, 3)]


def pairs(columns):
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_where_nothing_is_open_the_bounds_are_the_value_to_the_last_bit():
    packed, rankings = pack({"q": {"a": 0.1, "b": 0.7, "c": -0.3}}, {"q": ["c", "a", "b"]})
    settled(2, packed, rankings)
    # Here the search for the extremes ends one rounding below the value.
    packed, rankings = pack({"q": {"a": -0.8, "b": 0.3, "c": -0.4, "d": 0.8, "e": 2.2}}, {"q": list("bedac")})
    settled(3, packed, rankings)


def settled(cutoff, packed, rankings):
    said = bounds(cutoff, packed, rankings, Options(), (-1, 3), (packed.query, packed.document))
    (value,) = evaluate([f"nDCG@{cutoff}"], packed, rankings, Options()).values.values()
    assert said.low[0] == said.high[0] == value[0]


def collection_of(seed: int, queries: int = 40):
    generator = np.random.default_rng(seed)
    judgments, rankings, pool = {}, {}, ([], [])
    for place in range(queries):
        keys = [f"d{number}" for number in generator.permutation(30)]
        ranked = keys[: generator.integers(0, 15)]
        graded = generator.permutation(keys[:20])[: generator.integers(0, 12)]
        judgments[f"q{place}"] = {key: float(generator.integers(-1, 4)) for key in graded}
        rankings[f"q{place}"] = ranked
    packed, ranked = pack(judgments | {"all": {f"d{number}": 0 for number in range(30)}}, rankings)
    for place in range(queries):
        chosen = generator.integers(0, 30, 5).tolist()
        pool[0].extend([place] * len(chosen))
        pool[1].extend(chosen)
    return packed, ranked, tuple(map(np.array, pool))


@pytest.mark.parametrize("at_a_time", [1, 500])
def test_queries_do_not_depend_on_each_other_nor_on_how_many_are_taken_at_a_time(monkeypatch, at_a_time):
    packed, rankings, pool = collection_of(seed=4)
    together = bounds(5, packed, rankings, Options(), (-1, 3), pool)
    monkeypatch.setattr("evaluation.measures.extremes.CELLS_AT_A_TIME", at_a_time)
    in_parts = bounds(5, packed, rankings, Options(), (-1, 3), pool)
    assert np.array_equal(in_parts.low, together.low, equal_nan=True)
    assert np.array_equal(in_parts.high, together.high, equal_nan=True)
    for query in range(packed.queries):
        here = pool[0] == query
        alone = bounds(
            5, packed.only(query), rankings.only(query), Options(), (-1, 3), (pool[0][here] * 0, pool[1][here])
        )
        assert alone.low[0] == together.low[query] or math.isnan(together.low[query])
        assert alone.high[0] == together.high[query] or math.isnan(together.high[query])
        assert alone.certain[0] == together.certain[query]


def test_a_query_that_may_end_without_a_value_counts_only_where_it_moves_the_mean():
    # q1 is certain; q2 has nothing relevant yet and one open document; q3 is settled without a value.
    packed, rankings = pack(
        {"q1": {"a": 1, "b": 1}, "q2": {"a": 0}, "q3": {"a": 0}}, {"q1": ["b"], "q2": ["a", "c"], "q3": ["a"]}
    )
    said = bounds(2, packed, rankings, Options(), (0, 1), NOTHING)
    first, second = 1 / (1 + 1 / math.log2(3)), 1 / math.log2(3)
    assert said.certain.tolist() == [True, False, False]
    assert np.isnan(said.low).tolist() == [False, False, True]
    assert said.low[:2] == pytest.approx([first, second]) and said.high[:2] == pytest.approx([first, second])
    # Without q2 the mean is `first`; with it, more.
    assert of_mean(said) == pytest.approx((first, (first + second) / 2))


def test_the_mean_is_least_and_greatest_over_all_choices_of_the_uncertain():
    generator = np.random.default_rng(12)
    for certain in ([True, True, True], [True, False, False, False], [False, True, True, False], [False] * 3):
        ends = np.sort(generator.random((2, len(certain))), axis=0)
        settled = np.zeros(len(certain) + 1, bool)
        said = Bounds(np.append(ends[0], np.nan), np.append(ends[1], np.nan), np.array([*certain, False]), settled)
        choices = [
            np.array(choice)
            for choice in itertools.product([True, False], repeat=len(certain))
            if any(choice) and all(np.array(choice)[certain])
        ]
        assert of_mean(said) == pytest.approx(
            (min(ends[0][choice].mean() for choice in choices), max(ends[1][choice].mean() for choice in choices))
        )


def test_a_query_that_nobody_judged_counts_as_zero_only_where_something_will_be_judged():
    zero = Options(undefined="zero")
    packed, rankings = pack({"q": {}, "r": {}, "s": {"b": 0}}, {"q": ["a"]})
    said = bounds(3, packed, rankings, zero, (0, 1), NOTHING)
    assert said.low == pytest.approx([0, np.nan, 0], nan_ok=True)
    assert said.high == pytest.approx([1, np.nan, 0], nan_ok=True)
    assert said.certain.tolist() == [True, False, True]
    in_pool = bounds(3, packed, rankings, zero, (0, 1), (np.array([1]), np.array([1])))
    assert (in_pool.low[1], in_pool.high[1], in_pool.certain[1]) == (0, 0, True)


def test_a_collection_without_queries_has_no_bounds():
    packed, rankings = pack({}, {})
    for cutoff in (3, None):
        said = bounds(cutoff, packed, rankings, Options(), (0, 1), NOTHING)
        assert said.low.shape == said.high.shape == said.certain.shape == (0,)
        assert np.isnan(of_mean(said)).all()


def test_closed_min_max_has_no_bounds_and_a_missing_ranking_may_be_left_out():
    packed, rankings = pack({"q": {"a": 1}}, {})
    pool = (np.array([0]), np.array([99]))
    closed = bounds(3, packed, rankings, Options(negatives="minmax_closed"), (0, 1), pool)
    left_out = bounds(3, packed, rankings, Options(missing="skip"), (0, 1), pool)
    counted = bounds(3, packed, rankings, Options(), (0, 1), pool)
    assert np.isnan([*closed.low, *closed.high, *left_out.low, *left_out.high]).all()
    assert not closed.certain.any() and not left_out.certain.any()
    assert (counted.low[0], counted.high[0]) == (0, 0)


def test_under_raw_a_loss_without_anything_relevant_has_no_end():
    packed, rankings = pack({"q": {"a": -1}}, {"q": ["a"]})
    pool = (np.array([0]), np.array([99]))
    assert np.isnan(bounds(3, packed, rankings, Options(negatives="raw"), (-1, 1), pool).low[0])
    # The smaller the ideal, the larger the loss: 99 at 0.001 gives -1 / 0.001.
    packed, rankings = pack({"q": {"a": -1, "b": 0.001}}, {"q": ["a"]})
    assert next(iter(evaluate(["nDCG@3"], packed, rankings, Options(negatives="raw")).values.values()))[0] == -1000


def test_where_assumed_documents_stand_in_the_ideal_there_are_no_bounds():
    # Below the cutoff x stays unjudged, and with ideal=retrieved its assumed grade is in the ideal all the same.
    packed, rankings = pack({"q": {"a": 1}}, {"q": ["a", "x"]})
    assumed = Options(unjudged=2.0, ideal="retrieved")
    (value,) = evaluate(["nDCG@1"], packed, rankings, assumed).values.values()
    assert value[0] == 0.5
    assert np.isnan(bounds(1, packed, rankings, assumed, (0, 2), NOTHING).low[0])
    assert bounds(1, packed, rankings, Options(unjudged=2.0), (0, 2), NOTHING).low[0] == 1
