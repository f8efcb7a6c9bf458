"""NumRet, NumRel and NumRelRet."""

import numpy as np
import pytest

from evaluation.measures import Options, evaluate, parse_measure
from evaluation.tests.packing import pack

GRADES = {"D1": 3, "D2": 2, "D3": 3, "D4": 0, "D5": 1, "D6": 2, "D7": 3, "D8": 2}
RANKING = ["D1", "D2", "D3", "D4", "D5", "U", "D6"]


def counted(measure: str, grades: dict, rankings: dict, **options) -> tuple[list[float], float]:
    scores = evaluate([measure], *pack(grades, rankings), Options(**options))
    key = parse_measure(measure)
    return scores.values[key].tolist(), scores.mean(key)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("NumRet", 7),
        ("NumRet@5", 5),
        ("NumRet@10", 7),
        ("NumRel", 7),
        ("NumRel(rel=3)", 3),
        ("NumRelRet", 5),
        ("NumRelRet@3", 3),
        ("NumRelRet(rel=2)", 4),
    ],
)
def test_a_worked_ranking_counts(measure, expected):
    assert counted(measure, {"q": GRADES}, {"q": RANKING})[0] == [expected]


def test_a_count_has_a_mean_over_the_queries_that_count():
    grades, rankings = {"q": GRADES, "nothing": {"A": 0}, "unjudged": {}}, {"q": RANKING, "unjudged": ["A"]}
    assert counted("NumRet", grades, rankings) == ([7, 0, 1], 7 / 2)
    assert counted("NumRel", grades, rankings) == ([7, 0, 0], 7 / 2)


@pytest.mark.parametrize(("measure", "expected"), [("NumRet", [7, 1]), ("NumRel", [7, 0]), ("NumRelRet", [5, 0])])
def test_a_ranking_that_is_missing_and_skipped_has_no_count(measure, expected):
    grades = {"q": GRADES, "unjudged": {}, "nothing": {"A": 0}}
    values, mean = counted(measure, grades, {"q": RANKING, "unjudged": ["A"]}, missing="skip")
    assert values == pytest.approx([*expected, np.nan], nan_ok=True)
    assert mean == expected[0]


def test_condensing_leaves_judged_documents_to_count():
    assert counted("NumRet", {"q": GRADES}, {"q": RANKING}, unjudged="condensed")[0] == [6]


def test_required_judgments_are_those_that_a_count_reads():
    rankings = {"q": RANKING}
    assert counted("NumRelRet@5", {"q": GRADES}, rankings, unjudged="require")[0] == [4]
    assert np.isnan(counted("NumRelRet", {"q": GRADES}, rankings, unjudged="require")[0])
    assert counted("NumRet", {"q": GRADES}, rankings, unjudged="require")[0] == [7]
    assert counted("NumRel", {"q": GRADES}, rankings, unjudged="require")[0] == [7]
