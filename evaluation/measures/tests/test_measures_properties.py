"""What must hold of every collection."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.measures import (
    MEASURES,
    Judgments,
    Options,
    Rankings,
    evaluate,
    explain,
    parse_measure,
)
from evaluation.tests.packing import pack
from ratings.tests.thorough import examples

from ...tests.random_collections import collection as random_collection

DOCUMENTS = [f"d{number}" for number in range(14)]  # d10 sorts before d2
CUTOFFS = st.none() | st.integers(1, 12)

signed = st.decimals(-50, 50, places=2).map(float)
whole = st.integers(0, 4)
rankings_ = st.lists(st.sampled_from(DOCUMENTS), unique=True)
# Few different values, some alike only as 32-bit floats: ties in every other ranking.
scores_ = st.sampled_from([-1.0, 0.0, 0.5, 0.50000000001, 1.0, 16777216.0, 16777217.0])


def judged(grades):
    return st.dictionaries(st.sampled_from(DOCUMENTS), grades, max_size=12)


def collections(grades):
    """Some queries, each with its judgments and with a ranking, an empty one or none."""
    query = st.tuples(judged(grades), st.none() | rankings_)
    return st.lists(query, min_size=1, max_size=4).map(
        lambda drawn: (
            {f"q{place}": grades for place, (grades, _) in enumerate(drawn)},
            {f"q{place}": ranking for place, (_, ranking) in enumerate(drawn) if ranking is not None},
        )
    )


all_options = st.builds(
    lambda gain, discount, log_base, ideal, unjudged, negatives, undefined: Options(
        gain=gain,
        discount=discount,
        log_base=log_base,
        ideal="judged" if negatives == "minmax_closed" else ideal,
        unjudged=unjudged,
        negatives=negatives,
        undefined=undefined,
    ),
    gain=st.sampled_from(["linear", "exponential", "exponential_signed"]),
    discount=st.sampled_from(["log_shift", "jk2002"]),
    log_base=st.sampled_from([2.0, 1.5, math.e, 10.0]),
    ideal=st.sampled_from(["judged", "retrieved"]),
    unjudged=st.sampled_from(["zero", "condensed", "require", 1.0, -0.5]),
    negatives=st.sampled_from(["minmax", "minmax_closed", "raw", "clip"]),
    undefined=st.sampled_from(["skip", "zero"]),
)


def at(name: str, cutoff: int | None) -> str:
    return f"{name}@{cutoff}" if cutoff else name


ALL = ["CG", "DCG", "IDCG", "nDCG", "P", "R", "AP", "RR", "Success", "Judged", "NumRet", "NumRelRet"]
ALL += ["ERR(gmax=50)", "RBP(gmax=50)", "RBP(p=0.5,rel=1)", "RBPResidual", "nDCG(dcg='exp-log2')"]
WHOLE_RANKING = ["Rprec", "Bpref", "NumRel"]


def value_of(measure: str, judgments, rankings, options=None) -> np.ndarray:
    return evaluate([measure], judgments, rankings, options or Options()).values[parse_measure(measure)]


@pytest.mark.parametrize("measure", [*ALL, *WHOLE_RANKING])
def test_a_measure_reads_the_options_of_its_definition(measure):
    """Where its parameters leave them to the options."""
    judgments, rankings = pack(*random_collection(Random(4), 200, "labels"))
    asked = parse_measure(at(measure, None if measure in WHOLE_RANKING else 5))
    changes = [("gain", "exponential"), ("discount", "jk2002"), ("ideal", "retrieved"), ("relevant_from", 2.0)]
    changes += [("negatives", "clip"), ("negatives", "minmax_closed")]
    plain, read = value_of(str(asked), judgments, rankings), set()
    for name, value in changes:
        changed = value_of(str(asked), judgments, rankings, Options(**{name: value}))
        read |= set() if np.array_equal(plain, changed, equal_nan=True) else {name}
    stated = {"gain", "discount"} if "dcg" in dict(asked.params) else set()
    assert read == {*MEASURES[asked.name].reads} - stated


def same(values: np.ndarray, tolerance: float = 1e-12):
    return pytest.approx(values, rel=tolerance, abs=tolerance, nan_ok=True)


SEEDS, QUERIES = range(20), examples(5000)  # 100,000 queries in all


@pytest.mark.parametrize("seed", SEEDS)
def test_ndcg_is_within_zero_and_one_and_that_of_trec_eval_where_no_grade_is_negative(seed):
    random = Random(seed)
    grades, rankings = random_collection(random, QUERIES, grades="any", scored=False)
    assert (len(SEEDS) * len(grades)) >= 100_000
    cutoffs = [None, random.randint(1, 10), random.randint(11, 50)]
    measures = {cutoff: parse_measure(at("nDCG", cutoff)) for cutoff in cutoffs}
    scores = evaluate(measures.values(), *pack(grades, rankings), Options())
    anything = np.array([any(grade != 0 for grade in some.values()) for some in grades.values()])
    theirs = ndcg_of_trec_eval(grades, rankings, cutoffs)
    assert len(theirs) > QUERIES / 10
    for cutoff, measure in measures.items():
        values = scores.values[measure]
        assert ((values[anything] >= 0) & (values[anything] <= 1)).all()
        assert np.isnan(values[~anything]).all()
        ours = dict(zip(grades, values.tolist(), strict=True))
        name = f"ndcg_cut_{cutoff}" if cutoff else "ndcg"
        expected = [theirs[query][name] for query in theirs]
        assert [ours[query] for query in theirs] == same(expected, 1e-9), measure


def test_the_order_of_a_sum_never_leads_below_zero():
    # The worst list adds -0.3 - 0.2 - 0.1; the other way round the sum is lower by one rounding.
    assert -0.1 - 0.2 - 0.3 < -0.3 - 0.2 - 0.1
    undiscounted = Options(discount="jk2002", log_base=10)
    judgments, rankings = pack({"q": {"A": -0.1, "B": -0.2, "C": -0.3}}, {"q": ["A", "B", "C"]})
    assert value_of("nDCG", judgments, rankings, undiscounted)[0] == 0.0


def ndcg_of_trec_eval(grades: dict, rankings: dict, cutoffs: list[int | None]) -> dict[str, dict[str, float]]:
    """By query, for those with whole grades, none below 0 and one above."""
    whole = {
        query: {key: int(grade) for key, grade in some.items()}
        for query, some in grades.items()
        if rankings.get(query)
        and any(some.values())
        and all(grade >= 0 and grade == int(grade) for grade in some.values())
    }
    names = {f"ndcg_cut.{cutoff}" if cutoff else "ndcg" for cutoff in cutoffs}
    run = {query: {key: -float(rank) for rank, key in enumerate(rankings[query])} for query in whole}
    return pytrec_eval.RelevanceEvaluator(whole, names).evaluate(run)


@settings(max_examples=examples(80))
@given(collections(st.decimals(-4, 4, places=1).map(float)), CUTOFFS, all_options)
def test_the_rows_of_an_explanation_add_up_to_the_scores(collection, cutoff, options):
    judgments, rankings = pack(*collection)
    names = ("CG", "DCG", "IDCG", "nDCG")
    values = {name: value_of(at(name, cutoff), judgments, rankings, options) for name in names}
    for query in range(judgments.queries):
        seen = explain(cutoff, judgments, rankings, options, query)
        withheld = options.unjudged == "require" and math.isnan(seen.cg)
        for name in names:
            assert getattr(seen, name.lower()) == same(values[name][query])
        assert math.fsum(row.contribution for row in seen.ideal) == same(seen.idcg)
        if not withheld:
            assert math.fsum(row.gain for row in seen.ranking) == same(seen.cg)
            assert math.fsum(row.contribution for row in seen.ranking) == same(seen.dcg)
            assert (seen.ranking[-1].running if seen.ranking else 0.0) == same(seen.dcg)
        span = seen.idcg - seen.min_dcg
        if seen.reason == "counted" and span > 1e-12 * math.fsum(abs(row.contribution) for row in seen.ideal):
            assert seen.ndcg == same((seen.dcg - seen.min_dcg) / span)


@settings(max_examples=examples(80))
@given(judged(signed), rankings_, CUTOFFS)
def test_a_loop_over_the_definition_gives_the_same(grades, ranking, cutoff):
    def total(gains):
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], start=1))

    best = total(sorted((grade for grade in grades.values() if grade > 0), reverse=True))
    worst = total(sorted(grade for grade in grades.values() if grade < 0))
    dcg = total([grades.get(key, 0) for key in ranking])
    expected = (dcg - worst) / (best - worst) if best > worst else math.nan
    assert value_of(at("nDCG", cutoff), *pack({"q": grades}, {"q": ranking}))[0] == same(expected)


@given(collections(signed), CUTOFFS, st.data())
def test_the_order_of_queries_does_not_matter(collection, cutoff, data):
    grades, rankings = collection
    order = data.draw(st.permutations(range(len(grades))))
    queries = list(grades)
    turned = {queries[place]: grades[queries[place]] for place in order}
    for measure, values in every_value(*collection, cutoff).items():
        again = value_of(measure, *pack(turned, rankings))
        assert again == same(values[order]), measure


def every_measure(cutoff: int | None) -> list[str]:
    return [at(name, cutoff) for name in ALL] + WHOLE_RANKING


def every_value(grades: dict, rankings: dict, cutoff: int | None) -> dict[str, np.ndarray]:
    measures = every_measure(cutoff)
    values = evaluate(measures, *pack(grades, rankings), Options()).values.values()
    return dict(zip(measures, values, strict=True))


def test_every_measure_is_held_to_the_properties_of_all():
    assert {parse_measure(text).name for text in every_measure(None)} == set(MEASURES)


@given(collections(signed), st.integers(1, 6), st.sampled_from(ALL))
def test_a_document_below_the_cutoff_changes_nothing(collection, cutoff, name):
    grades, rankings = collection
    full = {query: ranking for query, ranking in rankings.items() if len(ranking) >= cutoff}
    longer = rankings | {query: [*ranking, "new"] for query, ranking in full.items()}
    measure = f"{name}@{cutoff}"
    assert value_of(measure, *pack(grades, longer)) == same(value_of(measure, *pack(grades, rankings)))


@given(collections(signed), CUTOFFS)
def test_an_unjudged_document_at_the_end_changes_no_ndcg(collection, cutoff):
    grades, rankings = collection
    longer = {query: [*ranking, "new"] for query, ranking in rankings.items()}
    measure = at("nDCG", cutoff)
    before = value_of(measure, *pack(grades, rankings)).tolist()
    assert value_of(measure, *pack(grades, longer)) == pytest.approx(before, rel=0, abs=0, nan_ok=True)


@given(collections(signed), st.decimals("0.01", 50, places=2).map(float), CUTOFFS)
def test_a_relevant_document_at_the_end_never_lowers_dcg(collection, grade, cutoff):
    grades, rankings = collection
    judged = {query: some | {"new": grade} for query, some in grades.items()}
    longer = {query: [*ranking, "new"] for query, ranking in rankings.items()}
    measure = at("DCG", cutoff)
    before, after = value_of(measure, *pack(judged, rankings)), value_of(measure, *pack(judged, longer))
    assert (after >= before - 1e-12 * np.abs(before)).all()
    if cutoff is None:
        assert all(after[place] > before[place] for place, query in enumerate(grades) if query in rankings)


@given(judged(signed), rankings_.filter(lambda ranking: len(ranking) > 1), CUTOFFS, st.data())
def test_the_better_of_two_neighbours_first_never_lowers_ndcg(grades, ranking, cutoff, data):
    place = data.draw(st.integers(0, len(ranking) - 2))
    pair = sorted(ranking[place : place + 2], key=lambda key: -grades.get(key, 0))
    swapped = [*ranking[:place], *pair, *ranking[place + 2 :]]
    measure = at("nDCG", cutoff)
    before = value_of(measure, *pack({"q": grades}, {"q": ranking}))[0]
    after = value_of(measure, *pack({"q": grades}, {"q": swapped}))[0]
    assert after >= before - 1e-12 or (math.isnan(after) and math.isnan(before))
    apart = grades.get(pair[0], 0) > grades.get(pair[1], 0) and (cutoff is None or place < cutoff)
    if swapped != ranking and apart:
        assert after > before


@given(collections(signed), CUTOFFS)
def test_rank_biased_precision_and_its_residual_never_exceed_one(collection, cutoff):
    judgments, rankings = pack(*collection)
    for options in (Options(), Options(unjudged="condensed"), Options(unjudged=7.5)):
        for params in ("p=0.8,gmax=50", "p=0.8,rel=1"):
            base = value_of(at(f"RBP({params})", cutoff), judgments, rankings, options)
            residual = value_of(at(f"RBPResidual({params})", cutoff), judgments, rankings, options)
            assert not (base + residual > 1 + 1e-12).any()
            assert (residual >= -1e-12).all()


@given(collections(signed), st.sampled_from([0.01, 0.5, 3.0, 1000.0]), CUTOFFS)
def test_scaling_every_grade_leaves_ndcg_with_linear_gain_alone(collection, factor, cutoff):
    grades, rankings = collection
    scaled = {query: {key: grade * factor for key, grade in some.items()} for query, some in grades.items()}
    measure = at("nDCG", cutoff)
    assert value_of(measure, *pack(scaled, rankings)) == same(value_of(measure, *pack(grades, rankings)))


@given(collections(signed), CUTOFFS)
def test_each_query_scores_as_it_would_alone(collection, cutoff):
    judgments, rankings = pack(*collection)
    for measure, together in every_value(*collection, cutoff).items():
        alone = [
            value_of(measure, judgments.only(query), rankings.only(query))[0] for query in range(judgments.queries)
        ]
        assert together == same(alone), measure


@given(judged(signed), st.dictionaries(st.sampled_from(DOCUMENTS), scores_, min_size=1), CUTOFFS)
def test_the_average_over_ties_does_not_depend_on_the_order_given(grades, scores, cutoff):
    judgments, rankings = pack({"q": grades}, {"q": scores})
    turned = replace(
        rankings,
        documents=rankings.documents[::-1],
        scores=rankings.scores[::-1],
        tiebreak=rankings.tiebreak[::-1],
    )
    measure, options = at("nDCG", cutoff), Options(ties="average")
    assert value_of(measure, judgments, turned, options) == same(value_of(measure, judgments, rankings, options))


@given(collections(whole))
def test_dense_and_sparse_rows_give_the_same(collection):
    # An assumed grade of 0 gains what unjudged gains, by way of every row instead of the judged rows alone.
    judgments, rankings = pack(*collection)
    for measure in ("nDCG@5", "DCG", "AP", "P@3", "Judged@4"):
        every_row = value_of(measure, judgments, rankings, Options(unjudged=0.0))
        assert every_row == same(value_of(measure, judgments, rankings))


def test_a_large_collection_finds_every_judged_row():
    # More rows than are looked up at a time, against plain set membership.
    random = np.random.default_rng(7)
    queries, depth = 300, 500
    documents = np.concatenate([random.permutation(5000)[:depth] for _ in range(queries)])
    query, document = np.unique(random.integers([0, 0], [queries, 5000], (20000, 2)), axis=0).T
    judgments = Judgments(queries, query, document, np.ones(len(query)))
    rankings = Rankings(np.arange(queries + 1) * depth, documents)
    pairs = set(zip(query.tolist(), document.tolist(), strict=True))
    rows = zip(np.repeat(np.arange(queries), depth).tolist(), documents.tolist(), strict=True)
    expected = np.zeros(queries)
    for pair in rows:
        expected[pair[0]] += pair in pairs
    assert expected.sum() > 1000
    assert value_of("CG", judgments, rankings).tolist() == expected.tolist()
