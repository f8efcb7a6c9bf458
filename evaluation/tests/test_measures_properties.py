"""What must hold of every collection, and agreement with trec_eval where both say the same."""

import math
from dataclasses import replace

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.measures import PROFILES, Judgments, Options, Rankings, evaluate, explain, pack, parse_measure

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


def value_of(measure: str, judgments, rankings, options=None) -> np.ndarray:
    return evaluate([measure], judgments, rankings, options or Options()).values[parse_measure(measure)]


def same(values: np.ndarray, tolerance: float = 1e-12):
    return pytest.approx(values, rel=tolerance, abs=tolerance, nan_ok=True)


@settings(max_examples=200)
@given(collections(signed), CUTOFFS)
def test_ndcg_is_within_zero_and_one_whatever_the_signs(collection, cutoff):
    values = value_of(at("nDCG", cutoff), *pack(*collection))
    defined = ~np.isnan(values)
    assert ((values[defined] >= 0) & (values[defined] <= 1)).all()
    for place, grades in enumerate(collection[0].values()):
        assert defined[place] == any(grade != 0 for grade in grades.values())


@settings(max_examples=200)
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
        assert math.fsum(row.contribution for row in seen.worst) == same(seen.min_dcg)
        if not withheld:
            assert math.fsum(row.gain for row in seen.ranking) == same(seen.cg)
            assert math.fsum(row.contribution for row in seen.ranking) == same(seen.dcg)
            assert (seen.ranking[-1].running if seen.ranking else 0.0) == same(seen.dcg)
        if seen.reason == "counted" and seen.idcg != seen.min_dcg:
            ratio = (seen.dcg - seen.min_dcg) / (seen.idcg - seen.min_dcg)
            assert seen.ndcg == same(ratio)


@settings(max_examples=200)
@given(judged(signed), rankings_, CUTOFFS)
def test_a_loop_over_the_definition_gives_the_same(grades, ranking, cutoff):
    def total(gains):
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], start=1))

    best = total(sorted((grade for grade in grades.values() if grade > 0), reverse=True))
    worst = total(sorted(grade for grade in grades.values() if grade < 0))
    dcg = total([grades.get(key, 0) for key in ranking])
    expected = (dcg - worst) / (best - worst) if best > worst else math.nan
    assert value_of(at("nDCG", cutoff), *pack({"q": grades}, {"q": ranking}))[0] == same(expected)


@given(collections(signed), st.permutations(range(len(DOCUMENTS))), CUTOFFS)
def test_the_numbers_of_documents_do_not_matter(collection, permutation, cutoff):
    renamed = {key: f"x{permutation[place]}" for place, key in enumerate(DOCUMENTS)}
    again = (
        {query: {renamed[key]: grade for key, grade in grades.items()} for query, grades in collection[0].items()},
        {query: [renamed[key] for key in ranking] for query, ranking in collection[1].items()},
    )
    measure = at("nDCG", cutoff)
    assert value_of(measure, *pack(*again)) == same(value_of(measure, *pack(*collection)))


@given(collections(signed), st.integers(1, 6), st.sampled_from(["nDCG", "P", "R", "AP", "RR", "Judged"]))
def test_a_document_below_the_cutoff_changes_nothing(collection, cutoff, name):
    grades, rankings = collection
    full = {query: ranking for query, ranking in rankings.items() if len(ranking) >= cutoff}
    longer = rankings | {query: [*ranking, "new"] for query, ranking in full.items()}
    measure = f"{name}@{cutoff}"
    assert value_of(measure, *pack(grades, longer)) == same(value_of(measure, *pack(grades, rankings)))


@given(collections(signed), st.sampled_from([0.01, 0.5, 3.0, 1000.0]), CUTOFFS)
def test_scaling_every_grade_leaves_ndcg_with_linear_gain_alone(collection, factor, cutoff):
    grades, rankings = collection
    scaled = {query: {key: grade * factor for key, grade in some.items()} for query, some in grades.items()}
    measure = at("nDCG", cutoff)
    assert value_of(measure, *pack(scaled, rankings)) == same(value_of(measure, *pack(grades, rankings)))


@given(collections(signed), CUTOFFS)
def test_each_query_scores_as_it_would_alone(collection, cutoff):
    judgments, rankings = pack(*collection)
    for measure in (at("nDCG", cutoff), at("AP", cutoff), at("RR", cutoff), at("Judged", cutoff)):
        together = value_of(measure, judgments, rankings)
        alone = [
            value_of(measure, judgments.only(query), rankings.only(query))[0] for query in range(judgments.queries)
        ]
        assert together == same(alone)


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


# trec_eval can hang where a query has no positive grade: every query here has one.
positive = judged(whole).filter(lambda grades: any(grades.values()))
runs = st.dictionaries(st.sampled_from(DOCUMENTS), scores_, min_size=1)
TREC = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "AP": "map",
    "AP@5": "map_cut_5",
    "P@5": "P_5",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "RR": "recip_rank",
}


@settings(max_examples=200)
@given(st.lists(st.tuples(positive, st.none() | runs), min_size=1, max_size=4))
def test_whole_grades_score_as_in_trec_eval(drawn):
    grades = {f"q{place}": some for place, (some, _) in enumerate(drawn)}
    run = {f"q{place}": scores for place, (_, scores) in enumerate(drawn) if scores is not None}
    oracle = pytrec_eval.RelevanceEvaluator(
        grades, {"ndcg_cut.5,10", "ndcg", "map", "map_cut.5", "P.5", "recall.5,10", "recip_rank"}
    )
    theirs = oracle.evaluate(run)
    ours = evaluate(TREC, *pack(grades, run), PROFILES["trec_eval -c"])
    for ours_name, theirs_name in TREC.items():
        expected = [theirs[query][theirs_name] if query in theirs else 0.0 for query in grades]
        assert ours.values[parse_measure(ours_name)] == same(expected, 1e-9), ours_name


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
