"""Systems of an evaluation against each other: which queries count, and what the files hold."""

import json
from collections.abc import Iterator
from itertools import product
from random import Random

import numpy as np
import pytest

from evaluation import files, scores
from evaluation.measures import Bounds, Judgments, Options, Rankings, bounds, parse_measure, unjudged
from evaluation.results import comparison
from evaluation.results.comparison import COULD_TURN, compared
from evaluation.scores import Asked

MEASURE = parse_measure("nDCG@10")


def arrays(lists: dict[str, list], grades: dict[str, dict[int, float]]) -> tuple[Judgments, dict[str, Rankings]]:
    """The judgments, and the rankings by name: a list of documents (or None) for every query."""
    rows = [(place, d, g) for place, query in enumerate(grades) for d, g in grades[query].items()]
    query, document, grade = (np.array(column) for column in zip(*rows, strict=True))
    rankings = {}
    for name, every in lists.items():
        offsets = np.cumsum([0, *(len(each or ()) for each in every)])
        documents = np.array([d for each in every for d in each or ()], np.int64)
        rankings[name] = Rankings(offsets, documents, present=np.array([each is not None for each in every]))
    return Judgments(len(grades), query, document, grade.astype(float)), rankings


def evaluated(lists: dict[str, list], grades: dict[str, dict[int, float]], missing: str = "empty", **options):
    """Systems by name, each with a list of documents (or None) for every query; grades by query and document."""
    asked = Options(missing=missing, **options)
    return scores.of_arrays("hills", list(grades), *arrays(lists, grades), Asked(MEASURE, asked))


def twelve(missing: str = "empty"):
    """Twelve queries of two documents; q12 has nothing to find, and system c has no ranking for q11."""
    grades = {f"q{n}": {1: 2, 2: 1} for n in range(1, 13)} | {"q12": {1: 0}}
    good, bad = [[1, 2]] * 12, [[2, 1]] * 12
    lists = {"a": good, "b": [*bad[:8], *good[8:]], "c": [*bad[:10], None, bad[0]]}
    return evaluated(lists, grades, missing)


def test_only_queries_where_all_systems_have_a_value_are_compared():
    (found,) = compared(twelve(missing="skip"), "a", ["b", "c"])
    assert found.tests.queries == 10
    assert found.dropped == {"q11": {"no ranking": ["c"]}, "q12": {"nothing to find": ["a", "b", "c"]}}
    assert found.why_dropped == {"no ranking": 1, "nothing to find": 1}
    row = found.rows()[0]
    assert (row["baseline"], row["system"], row["queries"], row["dropped"]) == ("a", "b", 10, 2)
    # Of ten queries b puts the worse document first in eight.
    swapped = (1 + 2 * MEASURE_SECOND) / (2 + MEASURE_SECOND)
    assert row["baseline_mean"] == 1
    assert row["system_mean"] == pytest.approx((8 * swapped + 2) / 10)
    assert row["difference"] == pytest.approx(row["system_mean"] - row["baseline_mean"])
    assert (row["wins"], row["ties"], row["losses"]) == (0, 2, 8)


def test_a_difference_of_rounding_is_none_in_the_file_as_in_the_tally(monkeypatch):
    (found,) = compared(twelve(), "a", ["b"])
    real = scores.Evaluation.values
    almost = {"a": 0.0, "b": 1e-16}

    def values(evaluation, systems, measure):
        return real(evaluation, systems, measure) * 0 + 0.3 + np.array([almost[name] for name in systems])

    monkeypatch.setattr(scores.Evaluation, "values", values)
    assert 0.3 + 1e-16 != 0.3
    assert set(comparison.differences(found, "a", "b").values()) == {0.0, None}


MEASURE_SECOND = 1 / np.log2(3)


def test_a_value_that_does_not_count_is_no_value():
    # DCG of a query without judgments is 0, and counts in no mean.
    evaluation = evaluated({"a": [[1], [1]], "b": [[2], [1]]}, {"q1": {1: 1}, "q2": {2: 0}})
    evaluation = scores.of_arrays(
        "hills",
        ["q1", "q2"],
        Judgments(2, np.array([0]), np.array([1]), np.array([1.0])),
        evaluation.table.record.rankings,
        Asked(parse_measure("DCG@5")),
    )
    (found,) = compared(evaluation, "a", ["b"])
    assert evaluation.per_query.loc["q2", ("DCG@5", "a")] == 0
    assert found.dropped == {"q2": {"not judged": ["a", "b"]}}


def test_systems_that_cannot_be_compared_are_refused():
    for baseline, others, says in (
        ("d", ["a"], "unknown system 'd'"),
        ("a", ["bb"], "unknown system 'bb'"),
        ("a", ["b", "a"], "a cannot be compared with itself"),
    ):
        with pytest.raises(ValueError, match=says):
            compared(twelve(), baseline, others)
    with pytest.raises(ValueError, match="hills has no other system"):
        compared(evaluated({"a": [[1]]}, {"q1": {1: 1}}), "a")


def with_bounds(low: float, high: float):
    """b is better by some 0.15 on each of 20 queries, and every value can still move that far."""
    values = np.random.default_rng(1).random(20) * 0.1
    evaluation = evaluated({"a": [[1]] * 20, "b": [[1]] * 20}, {f"q{n}": {1: 1} for n in range(20)})
    table = np.column_stack([0.3 + values, np.full(20, 0.5)])
    evaluation.table.of["values"][:] = table
    every = np.ones(20, bool)
    ends = {
        (MEASURE, name): Bounds(own + low, own + high, every, ~every)
        for name, own in zip("ab", table.T, strict=True)
    }
    object.__setattr__(evaluation, "bounds", ends)
    return compared(evaluation, "a", ["b"])[0]


def test_bounds_take_a_verdict_back_where_judgments_could_turn_it():
    settled, open_ = with_bounds(-0.05, 0.05).rows()[0], with_bounds(-0.1, 0.1).rows()[0]
    assert settled["lowest"] == pytest.approx(settled["difference"] - 0.1)
    assert settled["highest"] == pytest.approx(settled["difference"] + 0.1)
    assert (settled["verdict"], open_["verdict"]) == ("higher", "cannot tell")
    assert open_["why"]["verdict"] == COULD_TURN
    assert "verdict" not in settled["why"]
    assert open_["p"] == settled["p"]


def bounded(scale: tuple[float, float], lists: dict, grades: dict, **options):
    """The evaluation with the bounds of every system. The pool is what any of them returned."""
    evaluation = evaluated(lists, grades, **options)
    judgments, rankings = arrays(lists, grades)
    open_ = [unjudged(10, judgments, each, evaluation.asked.options) for each in rankings.values()]
    pool = tuple(np.concatenate(columns) for columns in zip(*open_, strict=True))
    ends = {
        (MEASURE, name): bounds(10, judgments, each, evaluation.asked.options, scale, pool)
        for name, each in rankings.items()
    }
    object.__setattr__(evaluation, "bounds", ends)
    return evaluation


WAYS = [
    {},
    {"missing": "skip"},
    {"ideal": "retrieved"},
    {"undefined": "zero"},
    {"negatives": "raw"},
    {"negatives": "raw", "ideal": "retrieved", "missing": "skip"},
    {"negatives": "clip", "unjudged": 1},
]


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("scale", [(0, 1), (-1, 1)], ids=str)
@pytest.mark.slow
def test_no_way_to_judge_what_is_open_leads_out_of_the_bounds(options, scale):
    random, known = Random(7), 0
    for _ in range(40):
        lists = {name: [ranked(random) for _ in range(2)] for name in "abc"}
        grades = {q: {d: random.choice((*scale, 0)) for d in random.sample(range(4), 2)} for q in ("q1", "q2")}
        found = compared(bounded(scale, lists, grades, **options), "a", ["b", "c"])[0]
        first, second = (every_value(lists, place, grades[q], scale, options) for place, q in enumerate(grades))
        for row, other in zip(found.rows(), (1, 2), strict=True):
            if row["lowest"] is None:
                continue
            known += 1
            means = list(every_difference(first, second, other))
            assert row["lowest"] - 1e-12 <= min(means, default=row["lowest"])
            assert row["highest"] + 1e-12 >= max(means, default=row["highest"])
    assert known > 5


def ranked(random: Random) -> list[int] | None:
    return None if random.random() < 0.1 else random.sample(range(4), random.randint(1, 3))


def every_value(lists: dict, place: int, grades: dict, scale: tuple, options: dict) -> np.ndarray:
    """The values of the systems on one query for every way to judge what they returned, float64[ways, systems]."""
    returned = {document for each in lists.values() for document in each[place] or ()}
    open_ = sorted(returned - grades.keys())
    steps = sorted({*scale, 0, 0.5})
    ways = [grades | dict(zip(open_, way, strict=True)) for way in product(steps, repeat=len(open_))]
    every = {name: [each[place]] * len(ways) for name, each in lists.items()}
    evaluation = evaluated(every, {f"way {n}": way for n, way in enumerate(ways)}, **options)
    return np.unique(evaluation.counting(evaluation.systems, MEASURE), axis=0)


def every_difference(first: np.ndarray, second: np.ndarray, other: int) -> Iterator[float]:
    """The mean of system `other` minus that of the first for every two ways, over the queries in common."""
    for ways in product(first, second):
        common = [way[other] - way[0] for way in ways if not np.isnan(way).any()]
        if common:
            yield np.mean(common)


def test_the_document_has_plain_numbers_and_a_reason_for_each_that_is_missing():
    every = compared(twelve(missing="skip"), "a", ["b", "c"], draws=100, seed=3)
    document = json.loads(json.dumps(comparison.document(every, per_query=True), allow_nan=False))
    assert (document["collection"], document["draws"], document["seed"], document["alpha"]) == (
        "hills",
        100,
        3,
        0.05,
    )
    assert document["dropped"]["nDCG@10"]["q11"] == {"no ranking": ["c"]}
    for row in document["results"]:
        assert {name for name, value in row.items() if value is None} == set(row["why"]) - {"verdict"}
        assert row["per_query"]["q11"] is None
        assert row["why_per_query"] == {"q11": "no ranking", "q12": "nothing to find"}
        shown = [value for value in row["per_query"].values() if value is not None]
        assert len(shown) == row["queries"]
        assert np.mean(shown) == pytest.approx(row["difference"])


def test_rows_say_what_made_them():
    every = compared(twelve(), "a", ["b", "c"], draws=100, seed=3)
    header, rows = comparison.table(every)
    first = dict(zip(header, rows[0], strict=True))
    assert [row[header.index("system")] for row in rows] == ["b", "c"]
    assert (first["draws"], first["seed"], first["correction"], first["exact"]) == (100, 3, "holm", True)
    assert first["options"].startswith("lin log2") and first["profile"] == "default"
    header, rows = comparison.every_query(every)
    assert len(rows) == 24
    last = dict(zip(header, rows[-1], strict=True))
    assert (last["query"], last["difference"], last["reason"]) == ("q12", None, "nothing to find")
    counted = dict(zip(header, rows[0], strict=True))
    assert counted["difference"] == counted["system_value"] - counted["baseline_value"]


# Real systems


@pytest.fixture(scope="module")
def cranfield(shared):
    folder = shared / "data" / "cranfield"
    runs = sorted((folder / "runs").glob("*.run.gz"))
    asked = Asked.of(None, measure="nDCG@10", profile="trec_eval -c")
    found = files.load(str(folder / "qrels.cran.graded.txt"), [str(run) for run in runs], "score", tiebreak=True)
    evaluation = scores.of_arrays("cranfield", found.queries, found.judgments, found.rankings, asked)
    return evaluation, json.loads((folder / "expected.graded.json").read_text())


def test_the_fifteen_paired_tests_of_cranfield(cranfield):
    evaluation, expected = cranfield
    tests = expected["paired_tests_ndcg_cut_10_all_topics"]
    names = sorted(expected["systems"])
    (found,) = compared(evaluation, names[0], names[1:], all_pairs=True, draws=5000)
    rows = {(row["baseline"], row["system"]): row for row in found.rows()}
    assert len(tests) == len(rows) == 15
    for test in tests:
        row = rows[test["a"], test["b"]]
        # The file subtracts b from a, and tells of a.
        assert (row["queries"], row["difference"]) == (225, pytest.approx(-test["mean_diff"], abs=1e-6))
        assert row["t"] == pytest.approx(-test["t"], abs=1e-4)
        assert row["p"] == pytest.approx(test["t_p"], abs=1e-4)
        assert row["p_wilcoxon"] == pytest.approx(test["wilcoxon_p"], abs=1e-4)
        assert (row["losses"], row["ties"], row["wins"]) == (test["wins"], test["ties"], test["losses"])
