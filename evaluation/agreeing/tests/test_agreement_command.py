import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from evaluation.agreeing import consistency
from evaluation.measures import Options
from ratings.tests.cast import make_collection, make_ranking

from ...tests.worked import rate

pytestmark = pytest.mark.django_db


def three_raters(slug: str = "hills"):
    """Ann and Bob rate all of q1, Bob could not judge one; Cid rates one document of q2."""
    collection = make_collection(slug)
    rate(collection, "q1", rater="ann", a="3", b="1", c="0", d="1")
    rate(collection, "q1", rater="bob", a="3", b="2", c="0", d="unclear")
    rate(collection, "q2", rater="cid", a="2")
    make_ranking(collection, "first", "q1", "abc")
    make_ranking(collection, "second", "q1", "cba")
    return collection


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("agreement", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def as_json(*arguments: str) -> dict:
    return json.loads(run(*arguments, "--format", "json")[0])


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert refused.value.returncode == 1
    return str(refused.value)


def test_json_has_every_coefficient_with_what_it_rests_on():
    three_raters()
    document = as_json("hills")
    by_name = {row["name"]: row for row in document["coefficients"]}
    assert list(by_name) == [
        "agree",
        "within_one",
        "alpha_nominal",
        "alpha_ordinal",
        "alpha_interval",
        "fleiss_kappa",
    ]
    assert (by_name["agree"]["value"], by_name["agree"]["couples"]) == (pytest.approx(2 / 3), 3)
    assert by_name["within_one"]["value"] == 1
    # Six grades: 3 3, 1 2, 0 0. Of 6 * 5 ordered twos 4 are the same, so that 26 differ; two of six coincide not.
    assert by_name["alpha_nominal"]["value"] == pytest.approx(1 - (2 / 6) / (26 / 30))
    assert (by_name["alpha_nominal"]["draws"], by_name["alpha_nominal"]["seed"]) == (1000, 225)
    assert (by_name["fleiss_kappa"]["pairs"], by_name["fleiss_kappa"]["ratings"]) == (3, 2)
    assert all(row["few"] and row["pairs"] == 3 for row in by_name.values())
    for row in by_name.values():
        assert {name for name in ("value", "low", "high") if row[name] is None} >= set(row["why"])


def test_json_has_raters_and_pairs_by_name():
    three_raters()
    document = as_json("hills")
    ann, bob, cid = document["raters"]
    assert [each["rater"] for each in (ann, bob, cid)] == ["ann", "bob", "cid"]
    assert (ann["ratings"], ann["shared"], bob["cannot"]) == (4, 3, 1)
    assert (ann["bias"], bob["bias"], cid["bias"]) == (pytest.approx(-1 / 3), pytest.approx(1 / 3), None)
    assert cid["why"]["bias"] == "nobody else graded the same pairs"
    (both,) = document["pairs_of_raters"]
    assert (both["first"], both["second"], both["pairs"]) == ("ann", "bob", 3)
    (disputed,) = document["disputed"]
    assert (disputed["query"], disputed["document"], disputed["ratings"]) == ("q1", "b", 2)
    assert (disputed["lowest"], disputed["highest"], disputed["mean"]) == (1, 2, 1.5)
    assert disputed["deviation"] == pytest.approx(0.5**0.5)
    assert document["confusion"]["grades"] == [-1, 0, 1, 2, 3]
    assert document["confusion"]["pairs"][2] == [0, 0, 0, 1, 0]
    assert "order" not in document


def test_with_a_measure_it_tells_whether_the_order_of_systems_holds():
    three_raters()
    order = as_json("hills", "--measure", "nDCG@2", "--draws", "40", "--seed", "3")["order"]
    assert (order["measure"], order["draws"], order["seed"], order["pairs"]) == ("nDCG@2", 40, 3, 3)
    assert order["options"] == Options().as_dict()
    assert [(row["system"], row["queries"]) for row in order["systems"]] == [("first", 2), ("second", 2)]
    assert (order["holds"], order["leader_holds"]) == (1, 1)
    assert order["kept"] == [{"first": "first", "second": "second", "kept": 1}]
    assert [row["rater"] for row in order["without"]] == ["ann", "bob", "cid"]
    assert [row["unjudged"] for row in order["without"]] == [1, 0, 1]
    assert (order["tau"], order["why"]) == (None, {"tau": consistency.FEW_SYSTEMS})
    for row in order["systems"]:
        assert row["low"] <= row["mean"] <= row["high"]


def test_csv_has_rows_of_one_shape():
    three_raters()
    rows = list(csv.DictReader(io.StringIO(run("hills", "--format=csv", "--measure=nDCG@2", "--draws=5")[0])))
    parts = ["counts", "coefficient", "confusion", "pair of raters", "rater", "disputed", "order", "without"]
    assert list(dict.fromkeys(row["part"] for row in rows)) == parts
    (bias,) = (row for row in rows if (row["part"], row["first"], row["name"]) == ("rater", "ann", "bias"))
    ann = as_json("hills")["raters"][0]
    assert (float(bias["value"]), float(bias["low"]), bias["n"]) == (ann["bias"], ann["low"], "3")
    assert {row["options"] for row in rows if row["part"] == "order"} == {Options().fingerprint()}


def test_one_rater_or_none_has_no_agreement():
    collection = make_collection()
    document = as_json("hills")
    assert {row["value"] for row in document["coefficients"]} == {None}
    assert (document["raters"], document["disputed"]) == ([], [])
    rate(collection, "q1", a="1", b="2")
    make_ranking(collection, "s", "q1", "ab")
    document = as_json("hills", "--measure=nDCG@10")
    assert document["coefficients"][2]["value"] is None and "systems" in document["order"]["why"]


def test_raters_who_all_say_the_same_have_no_coefficient_beyond_percent():
    collection = make_collection()
    for rater in ("ann", "bob"):
        rate(collection, "q1", rater=rater, a="1", b="1")
    rows = {row["name"]: row for row in as_json("hills")["coefficients"]}
    assert rows["agree"]["value"] == 1
    assert rows["alpha_ordinal"]["why"] == dict.fromkeys(("value", "low", "high"), "all grades are the same")
    assert rows["fleiss_kappa"]["value"] is None


def test_what_is_not_known_is_refused_in_one_line():
    three_raters()
    for arguments in (
        ["--measure", "nDGC@10"],
        ["--measure", "nDCG@10", "--system", "frist"],
        ["--measure", "nDCG@10", "--rule", "avarage"],
        ["--gain", "linaer"],
        ["--draws", "0"],
        ["--seed", "-1"],
        ["--format", "xml"],
    ):
        line = refusal("hills", *arguments)
        assert line and "\n" not in line
