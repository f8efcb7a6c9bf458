"""The worked cases that every part of the product must reproduce."""

import json

import numpy as np
import pytest

from evaluation.measures import Options, bounds, evaluate, explain
from evaluation.tests.packing import pack

MEASURES = {"cg": "CG", "dcg": "DCG", "idcg": "IDCG", "ndcg": "nDCG", "judged_at_k": "Judged"}


@pytest.fixture(scope="module")
def cases(shared) -> list[dict]:
    return json.loads((shared / "conformance" / "cases.json").read_text())["cases"]


def options_of(case: dict) -> Options:
    """The file writes some options in other words, and the cutoff among them."""
    given = {name: value for name, value in case["options"].items() if name not in ("k", "ties", "grade_range")}
    return Options(**given, ties="score" if "scores" in case else "rank")


def at(name: str, case: dict) -> str:
    cutoff = case["options"].get("k")
    return f"{name}@{cutoff}" if cutoff else name


def close(expected: float | None):
    return pytest.approx(np.nan if expected is None else expected, abs=1e-12, rel=1e-11, nan_ok=True)


def ranking_of(case: dict) -> list[str] | dict[str, float]:
    # Ranks close up behind a repeated document; that is the import's work, before there are arrays.
    return case.get("scores") or list(dict.fromkeys(case["ranking"]))


def test_every_case_is_of_a_known_kind(cases):
    assert {case["kind"] for case in cases} == {"query", "mean", "bounds"}


def test_every_worked_query_gives_its_numbers(cases):
    queries = [case for case in cases if case["kind"] == "query"]
    assert len(queries) > 40
    for case in queries:
        judgments, rankings = pack({"q": case["judgements"]}, {"q": ranking_of(case)})
        measures = {key: at(name, case) for key, name in MEASURES.items()}
        scores = evaluate(measures.values(), judgments, rankings, options_of(case))
        values = {str(measure): values[0] for measure, values in scores.values.items()}
        for key, measure in measures.items():
            assert values[measure] == close(case["expected"][key]), (case["id"], measure)
        opened = explain(case["options"].get("k"), judgments, rankings, options_of(case), 0)
        if "min_dcg" in case["expected"]:
            assert opened.min_dcg == close(case["expected"]["min_dcg"]), case["id"]


def test_every_worked_mean_gives_its_number_and_its_count(cases):
    means = [case for case in cases if case["kind"] == "mean"]
    assert len(means) == 2
    for case in means:
        queries = case["queries"]
        judgments, rankings = pack(
            {name: query["judgements"] for name, query in queries.items()},
            {name: query["ranking"] for name, query in queries.items() if "ranking" in query},
        )
        scores = evaluate([at("nDCG", case)], judgments, rankings, options_of(case))
        (measure,) = scores.values
        expected = case["expected"]
        assert scores.values[measure].tolist() == [close(value) for value in expected["per_query"].values()]
        assert scores.mean(measure) == close(expected["mean"])
        assert scores.counted(measure).sum() == expected["queries_counted"]


def test_every_worked_bound_is_exact(cases):
    of_bounds = [case for case in cases if case["kind"] == "bounds"]
    assert of_bounds
    for case in of_bounds:
        # The documents that only the pool has get their numbers from a second query.
        pool = dict.fromkeys(case["pool_unjudged"], 0)
        judgments, rankings = pack({"q": case["judgements"], "pool": pool}, {"q": ranking_of(case)})
        documents = judgments.document[judgments.query == 1]
        found = bounds(
            case["options"].get("k"),
            judgments.only(0),
            rankings.only(0),
            options_of(case),
            case["options"]["grade_range"],
            (np.zeros(len(documents), int), documents),
        )
        assert found.low[0] == close(case["expected"]["ndcg_min"]), case["id"]
        assert found.high[0] == close(case["expected"]["ndcg_max"]), case["id"]
