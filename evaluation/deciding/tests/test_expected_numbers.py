"""Expected values in commands and over the API: beside the plain ones, and named."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from evaluation.deciding.drawing import draw_next
from evaluation.deciding.report import expected_of
from evaluation.deciding.state import State
from evaluation.measures import Options, parse_measure
from evaluation.scores import Asked, evaluate
from ratings.management.commands._collection_command import Refused
from ratings.models import Collection, Role
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_member, make_sample

from ...tests.hills import make_field, make_hills
from ...tests.judged_worlds import make_rater, unfinished

pytestmark = pytest.mark.django_db

MEASURE = parse_measure("nDCG@5")


@pytest.fixture
def collection() -> Collection:
    return unfinished().collection


def printed(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def rows_of(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


def test_evaluate_gives_the_expected_mean_beside_the_plain_one(collection):
    told = expected_of(collection, Asked(MEASURE, Options()))
    text, err = printed("evaluate", "world", "--measure", "nDCG@5", "--expected", "--format", "csv")
    plain, _ = printed("evaluate", "world", "--measure", "nDCG@5", "--format", "csv")
    assert not err
    for row, before in zip(rows_of(text), rows_of(plain), strict=True):
        mean = told.of(row["system"])
        numbers = [float(row[name]) for name in ("expected", "expected_low", "expected_high", "best")]
        assert numbers == [mean.mean, mean.low, mean.high, mean.best]
        assert row["est"] == "design" and row["options"] == before["options"] + " est=design"
        assert row["mean"] == before["mean"] == repr(mean.plain) and mean.mean > mean.plain


def test_a_number_for_two_of_the_systems_is_the_one_for_all(collection):
    both = printed("evaluate", "world", "--measure=nDCG@5", "--expected", "--format=csv", "--system=system1")
    every = printed("evaluate", "world", "--measure=nDCG@5", "--expected", "--format=csv")
    assert rows_of(both[0]) == rows_of(every[0])[1:2]


def test_the_table_has_the_interval_and_the_chance_to_be_the_best(collection):
    text, _ = printed("evaluate", "world", "--measure", "nDCG@5", "--expected")
    mean = expected_of(collection, Asked(MEASURE, Options())).of("system0")
    head, first, *_ = text.splitlines()
    assert "expected  " in head and "90 % for missing" in head and "best" in head
    assert f"{mean.mean:.4f}  {mean.low:.4f} to {mean.high:.4f}  {mean.best:.0%}".replace("  ", " ") in " ".join(
        first.split()
    )
    assert "neg=minmax est=design" in text


def test_json_says_what_the_estimate_rests_on(collection):
    told = expected_of(collection, Asked(MEASURE, Options()))
    found = json.loads(printed("evaluate", "world", "--measure=nDCG@5", "--expected", "--format=json")[0])
    facts = found["expected"]["nDCG@5"]
    assert (facts["rounds"], facts["judged"], facts["pairs"]) == (2, told.judged, told.pairs)
    assert facts["wrong"] == told.wrong and facts["draws"] == 120
    assert found["options"]["est"] == "design" and found["fingerprint"].endswith("est=design")


def test_without_rounds_the_models_mean_has_no_interval_and_the_reason():
    judged = unfinished(rounds=0)
    judged.rate(make_rater(judged.collection, "first"), 20)
    text, err = printed("evaluate", "world", "--expected", "--format", "csv")
    assert [(row["expected_low"], row["best"], row["est"]) for row in rows_of(text)] == [("", "", "model")] * 3
    assert all(float(row["expected"]) > 0 and row["options"].endswith("est=model") for row in rows_of(text))
    assert "The expected nDCG@10 has no interval: no round was drawn" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("evaluate", "--measure", "P@5"), "there is no expected value of P@5"),
        (("evaluate", "--unjudged", "condensed"), "expected values need unjudged=zero"),
        (("evaluate", "--per-query", "--format", "csv"), "An expected value is a mean"),
        (("compare", "bad", "--per-query", "--format", "csv"), "An expected value is a mean"),
        (("compare", "bad", "--measure", "AP"), "there is no expected value of AP"),
    ],
)
def test_what_has_no_expected_value_is_refused_with_the_reason(arguments, says):
    make_hills()
    command, *others = arguments
    with pytest.raises(Refused, match=says):
        printed(command, "hills", *others, "--expected")


def test_compare_gives_the_expected_difference(collection):
    told = expected_of(collection, Asked(MEASURE, Options()))
    text, _ = printed("compare", "world", "system0", "--measure=nDCG@5", "--expected", "--format=csv")
    for row in rows_of(text):
        apart = told.difference("system0", row["system"])
        numbers = [float(row[name]) for name in ("expected", "expected_low", "expected_high", "best")]
        assert numbers == [apart.difference, apart.low, apart.high, told.of(row["system"]).best]
        assert row["est"] == "design" and row["options"].endswith(" est=design")
    table, _ = printed("compare", "world", "system0", "--measure=nDCG@5", "--expected")
    assert "90 % for missing" in table


def test_without_being_asked_nothing_is_estimated(collection, monkeypatch):
    monkeypatch.setattr("evaluation.deciding.report.expected_of", None)
    for command in (("evaluate", "world"), ("compare", "world", "system0")):
        assert "est=" not in printed(*command, "--format", "json")[0]


def test_the_api_has_the_same_bytes(collection):
    caller = make_caller(make_member(collection, "ann", Role.ANALYST), collection, "read")
    answer = caller.get("/collections/world/evaluation", measure="nDCG@5", expected="true")
    assert (
        answer.content.decode()
        == printed("evaluate", "world", "--measure=nDCG@5", "--expected", "--format=json")[0]
    )
    asked = {"baseline": "system0", "measure": "nDCG@5", "expected": "true", "draws": 500}
    answer = caller.get("/collections/world/comparison", **asked)
    arguments = ("--measure=nDCG@5", "--expected", "--draws=500", "--format=json")
    assert answer.content.decode() == printed("compare", "world", "system0", *arguments)[0]


def test_the_deepest_cutoff_has_the_digits_of_one_below_all_rankings(collection):
    caller = make_caller(make_member(collection, "ann", Role.ANALYST), collection, "read")
    deep, deepest = (
        caller.get("/collections/world/evaluation", measure=f"nDCG@{cutoff}", expected="true").json()["results"]
        for cutoff in (1_000, 10**9)
    )
    assert [each | {"measure": ""} for each in deep] == [each | {"measure": ""} for each in deepest]


def test_the_api_refuses_what_takes_too_long(collection, monkeypatch):
    monkeypatch.setattr("evaluation.api.MOST_PAIRS", 10)
    caller = make_caller(make_member(collection, "ann", Role.ANALYST), collection, "read")
    answer = caller.get("/collections/world/evaluation", expected="true")
    assert answer.status_code == 422 and "of more than 10 a command tells" in answer.json()["detail"]


def test_only_the_systems_that_the_order_is_about_have_expected_values(collection):
    Collection.objects.update(aim={"measure": "nDCG@5", "systems": ["system0", "system2"]})
    text, _ = printed("evaluate", "world", "--measure=nDCG@5", "--expected", "--format=csv")
    assert [row["expected"] != "" for row in rows_of(text)] == [True, False, True]
    text, _ = printed("compare", "world", "system0", "--measure=nDCG@5", "--expected", "--format=csv")
    assert [row["expected"] != "" for row in rows_of(text)] == [False, True]


def test_rounds_of_which_nothing_is_judged_are_not_called_missing():
    judged = unfinished(rounds=0)
    judged.rate(make_rater(judged.collection, "first"), 20)
    draw_next(judged.collection, seed=1)
    _, err = printed("evaluate", "world", "--measure=nDCG@5", "--expected")
    assert "no document that a round drew at random is judged yet" in err


def test_of_a_judged_pool_the_expected_mean_is_that_over_the_searches_of_a_log():
    collection = make_field()
    keys = collection.queries.values_list("key", flat=True)
    drawn = [(key, 900, 1.0) if place < 3 else (key, 10, 0.1) for place, key in enumerate(keys)]
    make_sample(collection, [*drawn, ("", 10, 0.1)])
    collection.touch()
    asked = Asked(parse_measure("nDCG@2"))
    told, evaluation = expected_of(collection, asked), evaluate(collection, asked)
    assert evaluation.sampled and not told.predicted
    for row in told.means:
        assert row.mean == row.plain == evaluation.standing(row.system).mean
    assert told.options.startswith(f"{asked.fingerprint} est=log est=")
    # Three queries of the head, with 2,700 searches; the others stand for the one that is left out, too.
    weight = State.of(collection, asked).pool.weight
    assert weight.sum() == pytest.approx(2_700 + 100 * (len(keys) - 3) + 100)
