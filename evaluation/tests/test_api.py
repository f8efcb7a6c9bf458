"""Numbers over the API: those of the commands, to the last digit, and what is asked that has no answer."""

from io import StringIO

import pytest
from django.core.management import call_command

from evaluation import api
from ratings.models import Role
from ratings.tests.calls import Caller, items, make_caller
from ratings.tests.cast import make_member

from .hills import make_hills

pytestmark = pytest.mark.django_db

HILLS = "/collections/hills"


@pytest.fixture
def reader() -> Caller:
    collection = make_hills()
    return make_caller(make_member(collection, "ann", Role.ANALYST), collection, "read")


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, ()),
        ({"measure": ["nDCG@10", "AP"], "bounds": "true"}, ("--measure=nDCG@10", "--measure=AP", "--bounds")),
        ({"system": "bad", "per_query": "true"}, ("--system", "bad", "--per-query")),
        ({"gain": "exponential", "ties": "score"}, ("--gain", "exponential", "--ties", "score")),
        ({"profile": "trec_eval -c", "rule": "max"}, ("--profile", "trec_eval -c", "--rule", "max")),
    ],
)
def test_the_document_is_that_of_the_command_to_the_last_byte(reader, asked, options):
    answer = reader.get(f"{HILLS}/evaluation", **asked)
    assert answer.status_code == 200
    assert answer.content.decode() == printed("evaluate", "hills", *options, "--format", "json")


def test_a_number_is_the_one_worked_out_by_hand(reader):
    (result,) = reader.get(f"{HILLS}/evaluation", system="good", bounds="true").json()["results"]
    assert result["mean"] == pytest.approx(0.815465, abs=5e-7)
    assert result["lowest"] <= result["mean"] <= result["highest"]
    assert result["judged"] == pytest.approx((3 / 3 + 1 / 2) / 2)


@pytest.mark.parametrize("more", [(), ("--all-pairs", "--per-query")])
def test_a_comparison_is_that_of_the_command(reader, more):
    asked = {name.strip("-").replace("-", "_"): "true" for name in more}
    answer = reader.get(f"{HILLS}/comparison", baseline="bad", draws=500, **asked)
    assert answer.content.decode() == printed(
        "compare", "hills", "bad", "--draws", "500", *more, "--format", "json"
    )


def test_judgments_are_those_of_the_export(reader):
    rows = items(reader.get(f"{HILLS}/judgments"))
    exported = printed("export_qrels", "hills", "--format", "csv").splitlines()[1:]
    assert sorted(f"{r['query']},{r['document']},{r['grade']:g}" for r in rows) == sorted(exported)


@pytest.mark.parametrize(
    ("path", "asked"),
    [  # the last parameter is the one that is wrong
        ("evaluation", {"log_base": "1_0"}),
        ("evaluation", {"system": "goood"}),
        ("evaluation", {"gain": "map:bad=1"}),
        ("evaluation", {"measure": "AP", "ties": "average"}),
        ("evaluation", {"measure": "AP", "expected": "true"}),
        ("evaluation", {"measure": "nDCG", "bounds": "true"}),
        ("comparison", {"baseline": "good", "other": "good"}),
    ],
)
def test_what_has_no_answer_names_the_parameter(reader, path, asked):
    answer = reader.get(f"{HILLS}/{path}", **asked)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:idealist:problem:no-answer")
    assert [error["parameter"] for error in answer.json()["errors"]] == [list(asked)[-1]]


@pytest.mark.parametrize(
    ("path", "name", "said"),
    [
        ("evaluation", "profile", "'trec_eval -c'"),
        ("evaluation", "discount", "Input should be 'log_shift' or 'jk2002'."),
        ("judgments", "rule", "'majority'"),
        ("judgments", "adjudications", "Input should be 'use' or 'ignore'."),
    ],
)
def test_an_unknown_word_is_refused_with_those_to_choose_from(reader, path, name, said):
    answer = reader.get(f"{HILLS}/{path}", **{name: "loudest"})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:idealist:problem:invalid")
    (error,) = answer.json()["errors"]
    assert error["parameter"] == name and said in error["detail"]


def test_more_values_than_an_answer_can_hold_are_refused(reader, monkeypatch):
    monkeypatch.setattr(api, "MOST_VALUES", 3)
    assert "ask for at most 3" in reader.get(f"{HILLS}/evaluation").json()["detail"]
    assert reader.get(f"{HILLS}/evaluation", system="good").status_code == 200
