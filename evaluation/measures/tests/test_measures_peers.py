"""Each profile gives what the program or paper it is named for gives, wherever both mean the same."""

import math
from random import Random

import numpy as np
import pytest
import pytrec_eval
from sklearn.metrics import ndcg_score

from evaluation.measures import PROFILES, Scores, evaluate, parse_measure
from evaluation.tests.packing import pack

from ...tests.random_collections import collection

CASES = 1000
CUTOFFS = [None, 1, 3, 10]


def at(name: str, cutoff: int | None) -> str:
    return f"{name}@{cutoff}" if cutoff else name


def same(values):
    return pytest.approx(values, rel=1e-9, abs=1e-9, nan_ok=True)


# trec_eval: names here, names there. {} stands for what sets the least relevant grade.
TREC = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "AP{}": "map",
    "AP{}@5": "map_cut_5",
    "P{}@5": "P_5",
    "P{}@100": "P_100",
    "R{}@5": "recall_5",
    "R{}@10": "recall_10",
    "RR{}": "recip_rank",
    "Success{}@1": "success_1",
    "Success{}@5": "success_5",
    "Rprec{}": "Rprec",
    "Bpref{}": "bpref",
    "NumRet": "num_ret",
    "NumRel{}": "num_rel",
    "NumRelRet{}": "num_rel_ret",
}
THEIRS = {"ndcg", "ndcg_cut.5,10", "map", "map_cut.5", "P.5,100", "recall.5,10", "recip_rank", "success.1,5"}
THEIRS |= {"Rprec", "bpref", "num_ret", "num_rel", "num_rel_ret"}


def trec_collection(kind: str) -> tuple[dict, dict]:
    """Queries that trec_eval reads: judged, and not with a negative grade alone, on which it can hang."""
    judgments, run = collection(Random(kind), queries=CASES + CASES // 4, grades=kind)
    judged = {query: grades for query, grades in judgments.items() if max(grades.values(), default=-1) >= 0}
    assert len(judged) >= CASES
    # A file of runs cannot hold an empty ranking.
    return judged, {query: run[query] for query in judged if run.get(query)}


def by_trec_eval(judgments: dict, run: dict, level: int) -> dict[str, dict[str, float]]:
    labels = {query: {key: int(grade) for key, grade in grades.items()} for query, grades in judgments.items()}
    return pytrec_eval.RelevanceEvaluator(labels, THEIRS, relevance_level=level).evaluate(run)


def by_trec_eval_10(judgments: dict, run: dict, level: int) -> dict[str, dict[str, float]]:
    """The same by scores that are not rounded: pytrec_eval rounds, so it gets their order as small integers."""
    in_order = {query: sorted(some, key=lambda key: (some[key], key)) for query, some in run.items()}
    whole = {query: {key: float(place) for place, key in enumerate(keys)} for query, keys in in_order.items()}
    return by_trec_eval(judgments, whole, level)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("kind", ["whole", "labels"])
@pytest.mark.parametrize(
    ("profile", "ties"), [("trec_eval", "score"), ("trec_eval -c", "score"), ("trec_eval -c", "trec_eval_9")]
)
def test_trec_eval(profile, ties, kind, level):
    judgments, run = trec_collection(kind)
    lacking = judgments.keys() - run.keys()
    assert lacking
    complete = profile == "trec_eval -c"
    # An unjudged document, because an empty ranking crashes it; it is not a document returned.
    completed = run | {query: {"unjudged": 1.0} for query in lacking} if complete else run
    of_9, of_10 = (by(judgments, completed, level) for by in (by_trec_eval, by_trec_eval_10))
    assert of_9 != of_10
    theirs = of_10 if ties == "score" else of_9
    for query in lacking if complete else ():
        theirs[query]["num_ret"] = 0.0

    names = {ours.format(f"(rel={level})"): name for ours, name in TREC.items()}
    assert PROFILES[profile].ties == "score"
    scores = evaluate(names, *pack(judgments, run), PROFILES[profile].revised(ties=ties))
    for ours, name in names.items():
        measure = parse_measure(ours)
        expected = [theirs[query][name] if query in theirs else math.nan for query in judgments]
        assert scores.values[measure] == same(expected), ours
        assert scores.mean(measure) == same(np.nanmean(expected)), ours


@pytest.mark.parametrize("kind", ["whole", "labels"])
def test_trec_eval_over_judged_documents_alone(kind):
    """Its -J: condensed, where no grade is negative. It takes negative ones for unjudged and removes them, too."""
    judgments, run = trec_collection(kind)
    labels = {query: {key: int(grade) for key, grade in some.items()} for query, some in judgments.items()}
    theirs = pytrec_eval.RelevanceEvaluator(labels, THEIRS, judged_docs_only_flag=True).evaluate(run)
    known = {query: {key: grade for key, grade in some.items() if grade >= 0} for query, some in judgments.items()}
    options = PROFILES["trec_eval"].revised(unjudged="condensed", ties="trec_eval_9")
    of_known = evaluate(["AP", "nDCG"], *pack(known, run), options)
    of_all = evaluate(["AP", "nDCG"], *pack(judgments, run), options)
    for ours, name in {"AP": "map", "nDCG": "ndcg"}.items():
        expected = [theirs[query][name] if query in theirs else math.nan for query in judgments]
        assert of_known.values[parse_measure(ours)] == same(expected), ours
        agree = of_all.values[parse_measure(ours)] == same(expected)
        assert agree == (kind == "whole"), ours


def test_trec_eval_of_the_first_documents_alone():
    """Its -M: a cutoff for AP and RR, while the ideal list of its ndcg is not cut."""
    judgments, run = trec_collection("whole")
    first = {
        query: {key: some[key] for key in sorted(some, key=lambda key: (some[key], key), reverse=True)[:3]}
        for query, some in run.items()
    }
    theirs = by_trec_eval_10(judgments, first, 1)
    scores = evaluate(["AP@3", "RR@3", "nDCG@3"], *pack(judgments, run), PROFILES["trec_eval"])
    for ours, name, equal in (("AP@3", "map", True), ("RR@3", "recip_rank", True), ("nDCG@3", "ndcg", False)):
        expected = [theirs[query][name] if query in theirs else math.nan for query in judgments]
        assert (scores.values[parse_measure(ours)] == same(expected)) == equal, ours


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_negative_grades_under_every_profile(profile, level):
    """A grade below 0 is never relevant. Only those that clip take it for none at all, as trec_eval does."""
    judgments, run = trec_collection("labels")
    clips = PROFILES[profile].negatives == "clip"
    # What a profile has of its own beside the grades: trec_eval knows one way alone.
    options = PROFILES[profile].revised(ties="score", undefined="zero", missing="skip", unjudged="zero")
    theirs = by_trec_eval_10(judgments, run, level)
    raised = {query: {key: max(grade, 0) for key, grade in some.items()} for query, some in judgments.items()}
    of_raised = by_trec_eval_10(raised, run, level)
    assert any(theirs[query]["bpref"] != of_raised[query]["bpref"] for query in theirs)
    names = {ours.format(f"(rel={level})"): name for ours, name in TREC.items() if clips or "nDCG" not in ours}
    scores = evaluate(names, *pack(judgments, run), options)
    for ours, name in names.items():
        source = of_raised if name == "bpref" and not clips else theirs
        expected = [source[query][name] if query in source else math.nan for query in judgments]
        assert scores.values[parse_measure(ours)] == same(expected), ours


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_scikit_learn(cutoff):
    judgments, run = collection(Random("sklearn"), queries=2 * CASES, grades="decimal")
    # It takes two documents or more, and knows none that are not passed.
    judgments = {query: some for query, some in judgments.items() if some and len(run.get(query, ())) > 1}
    run = {query: run[query] for query in judgments}
    assert len(judgments) >= CASES
    expected = [
        ndcg_score([[judgments[query].get(key, 0.0) for key in scores]], [list(scores.values())], k=cutoff)
        for query, scores in run.items()
    ]
    assert ndcg(evaluate([at("nDCG", cutoff)], *pack(judgments, run), PROFILES["sklearn"])) == same(expected)


# Papers, as loops over their formulas.


def burges(listed: list[float | None], judged: list[float], cutoff: int | None) -> float:
    """Burges et al. 2005: 2^grade - 1 over the logarithm of rank + 1, as a share of the best order."""

    def total(grades):
        return sum((2**grade - 1) / math.log2(1 + rank) for rank, grade in enumerate(grades[:cutoff], start=1))

    best = total(sorted(judged, reverse=True))
    return total([grade or 0.0 for grade in listed]) / best if best else math.nan


def discounted(grades: list[float], cutoff: int | None) -> float:
    """Järvelin & Kekäläinen 2002 with base 2: no discount above rank 2, the logarithm of the rank from there."""
    return sum(
        grade if rank < 2 else grade / math.log2(rank) for rank, grade in enumerate(grades[:cutoff], start=1)
    )


def jk2002(listed: list[float | None], judged: list[float], cutoff: int | None) -> float:
    best = discounted(sorted(judged, reverse=True), cutoff)
    return discounted([grade or 0.0 for grade in listed], cutoff) / best if best else math.nan


def gienapp2020(listed: list[float | None], judged: list[float], cutoff: int | None) -> float:
    """Gienapp et al. 2020: between the worst and the best order of the judged, unjudged documents left out."""
    best = discounted(sorted(judged, reverse=True), cutoff)
    worst = discounted(sorted(judged), cutoff)
    dcg = discounted([grade for grade in listed if grade is not None], cutoff)
    return (dcg - worst) / (best - worst) if best > worst else math.nan


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(
    ("paper", "kind"), [(burges, "whole"), (burges, "decimal"), (jk2002, "decimal"), (gienapp2020, "signed")]
)
def test_papers(paper, kind, cutoff):
    judgments, rankings = collection(Random(paper.__name__), queries=2 * CASES, grades=kind, scored=False)
    expected = [
        paper([grades.get(key) for key in rankings.get(query, [])], list(grades.values()), cutoff)
        for query, grades in judgments.items()
    ]
    assert np.isfinite(expected).sum() >= CASES
    scores = evaluate([at("nDCG", cutoff)], *pack(judgments, rankings), PROFILES[paper.__name__])
    assert ndcg(scores) == same(expected)


def ndcg(scores: Scores) -> np.ndarray:
    (values,) = scores.values.values()
    return values
