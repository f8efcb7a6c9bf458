"""Exact bounds against brute force: every way in which the open judgments can turn out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.measures import Options, bounds, evaluate, pack

RANKED = ["a", "b", "c", "d", "e", "f"]
OTHERS = ["x", "y", "z"]
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


@st.composite
def cases(draw):
    """A scale, a ranking with scores, its judgments, at most four open documents, and a cutoff."""
    grades = draw(st.sampled_from(RANGES))
    ranking = draw(st.lists(st.sampled_from(RANKED), unique=True))
    scores = {document: draw(st.integers(0, 3)) for document in ranking}
    ranking.sort(key=lambda document: -scores[document])
    open_ = draw(st.lists(st.sampled_from(ranking + OTHERS), unique=True, max_size=4))
    judged = [document for document in ranking + OTHERS if document not in open_]
    judged = judged if draw(st.booleans()) else [document for document in judged if document in ranking]
    judgments = {document: float(draw(st.integers(*grades))) for document in judged}
    return grades, {document: scores[document] for document in ranking}, judgments, open_, draw(cutoffs)


cutoffs = st.none() | st.integers(1, 7)


def found(grades, scores, judgments, open_, cutoff, options):
    """Our bounds, (low, high, certain)."""
    # The pool needs numbers for its documents: they stand in a second query, which has no ranking.
    packed, rankings = pack({"q": judgments, "pool": dict.fromkeys(open_, 0)}, {"q": scores})
    pool = packed.document[packed.query == 1]
    one, ranking = packed.only(0), rankings.only(0)
    said = bounds(cutoff, one, ranking, options, grades, (np.zeros(len(pool), int), pool))
    return said.low[0], said.high[0], bool(said.certain[0])


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


@settings(max_examples=1500)
@given(cases(), options_)
def test_the_bounds_are_those_of_brute_force(case, options):
    grades, scores, judgments, open_, cutoff = case
    low, high, certain = found(*case, options)
    ends = every_end(*case, options, steps_of(grades, judgments))
    judged_ever = bool(judgments) or bool(open_)
    if math.isnan(low) and options.negatives == "raw":
        # Either there is never a value, or the loss has no end.
        known = [grade for key, grade in judgments.items() if options.ideal == "judged" or key in scores]
        assert np.isnan(ends).all() or max(known, default=0) <= 0
        return
    if np.isnan(ends).all():
        assert math.isnan(low) and math.isnan(high) and not certain
        return
    assert low == pytest.approx(np.nanmin(ends), abs=1e-12)
    assert high == pytest.approx(np.nanmax(ends), abs=1e-12)
    assert certain == (judged_ever and not np.isnan(ends).any())


@settings(max_examples=300)
@given(cases(), options_, st.lists(st.floats(0, 1), min_size=4, max_size=4))
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
    nothing = (np.empty(0, int), np.empty(0, int))
    said = bounds(10, packed, rankings, Options(), (0, 3), nothing)
    # With U = 3 the ideal is U A: (1 + 3 / log2(11)) / (3 + 1 / log2(3)).
    assert said.low[0] == pytest.approx(0.514246930037, abs=1e-12)
    assert said.low[0] == pytest.approx((1 + 3 / math.log2(11)) / (3 + 1 / math.log2(3)), abs=1e-15)
    assert said.high[0] == 1.0


def test_where_nothing_is_open_the_bounds_are_the_value_to_the_last_bit():
    packed, rankings = pack({"q": {"a": 0.1, "b": 0.7, "c": -0.3}}, {"q": ["c", "a", "b"]})
    pool = (packed.query, packed.document)
    said = bounds(2, packed, rankings, Options(), (-1, 1), pool)
    (value,) = evaluate(["nDCG@2"], packed, rankings, Options()).values.values()
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
    nothing = (np.empty(0, int), np.empty(0, int))
    said = bounds(2, packed, rankings, Options(), (0, 1), nothing)
    first, second = 1 / (1 + 1 / math.log2(3)), 1 / math.log2(3)
    assert said.certain.tolist() == [True, False, False]
    assert np.isnan(said.low).tolist() == [False, False, True]
    assert said.low[:2] == pytest.approx([first, second]) and said.high[:2] == pytest.approx([first, second])
    # Without q2 the mean is `first`; with it, more.
    assert said.of_mean() == pytest.approx((first, (first + second) / 2))


def test_a_mean_of_nothing_has_no_bounds():
    packed, rankings = pack({"q": {"a": 0}}, {"q": ["a"]})
    said = bounds(1, packed, rankings, Options(), (0, 1), (np.empty(0, int), np.empty(0, int)))
    assert np.isnan(said.of_mean()).all()


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
