"""What systems score by a machine alone: apart from what people did, named, and only where it is on."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from ratings.models import JudgeRun, JudgeUse, MachineGrade, Pair, Role
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_asked, make_member

from ...tests.hills import make_hills, rate, text_of

pytestmark = pytest.mark.django_db
PAGES = ("overview", "compare")
FILES = ("overview_json", "overview_csv", "compare_json", "compare_csv", "queries_json", "agreement_json")


@pytest.fixture
def hills():
    """Two queries: people prefer a, which `good` has first; the machine gave every pair a 0, but b of q1 a 3."""
    rankings = {"good": {"q1": "ab", "q2": "ab"}, "bad": {"q1": "ba", "q2": "ba"}}
    collection = make_hills(queries=["q1", "q2"], grades={}, rankings=rankings)
    rate(collection, {(q, d): grade for q in ("q1", "q2") for d, grade in (("a", "2"), ("b", "0"))})
    return collection


@pytest.fixture
def run(hills):
    run = make_asked(hills, *Pair.objects.filter(query__collection=hills).order_by("pk"))
    MachineGrade.objects.exclude(query__key="q1", document__key="b").update(value=0)
    return run


def switch_on(run: JudgeRun, use: str) -> None:
    JudgeUse.objects.create(judge=run.version.judge, version=run.version, use=use)
    run.version.judge.collection.touch()


def analyst(collection) -> Client:
    client = Client()
    client.force_login(make_member(collection, "ana", Role.ANALYST))
    return client


def test_off_no_page_and_no_file_has_a_number_of_it(hills, run):
    client = analyst(hills)
    for name in PAGES:
        assert client.get(reverse(name, args=["hills"])).context.get("alone") is None
    assert json.loads(client.get(reverse("alone_json", args=["hills"])).content)["machines"] == []
    switch_on(run, "expected")
    assert json.loads(client.get(reverse("alone_json", args=["hills"])).content)["machines"] == []


def test_on_the_pages_end_with_it_and_people_s_files_are_the_same_bytes(hills, run):
    client = analyst(hills)
    before = [client.get(reverse(name, args=["hills"])).content for name in FILES]
    switch_on(run, "alone")
    assert [client.get(reverse(name, args=["hills"])).content for name in FILES] == before
    overview, compare = (client.get(reverse(name, args=["hills"]), {"measure": "DCG@1"}) for name in PAGES)
    # By hand: first of q1 and q2 the machine gave bad 3 and 0, good 0 and 0.
    assert dict(overview.context["alone_rows"]) == {"good": [(0.0, 2)], "bad": [(1.5, 2)]}
    assert compare.context["alone_rows"] == [("bad less good", [(1.5, 2)])]
    for page in (overview, compare):
        said = text_of(page)
        assert "No person has a part in these numbers" in said and "llama, version 1 (llama3), 4 pairs" in said
        assert "est=machine" in said and "1.5000 n = 2" in said


def test_files_and_api_have_the_same_numbers_and_name_the_machine(hills, run):
    switch_on(run, "alone")
    client, asked = analyst(hills), {"measure": "DCG@1"}
    whole = json.loads(client.get(reverse("alone_json", args=["hills"]), asked).content)
    (machine,) = whole["machines"]
    assert (machine["judge"], machine["version"], machine["pairs"]) == ("llama", 1, 4)
    assert machine["sha256"] == run.version.fingerprint
    assert {row["system"]: row["mean"] for row in machine["results"]} == {"good": 0, "bad": 1.5}
    assert all(row["fingerprint"].endswith(" est=machine") for row in machine["results"])
    lines = client.get(reverse("alone_csv", args=["hills"]), asked).content.decode("utf-8-sig").splitlines()
    assert lines[0].startswith("judge,version,model") and len(lines) == 3 and lines[1].endswith("est=machine")
    caller = make_caller(make_member(hills, "api", Role.ANALYST), hills, "read")
    assert caller.get("/collections/hills/machine-only", **asked).json() == whole


def test_every_option_holds_and_one_that_does_not_fit_is_refused(hills, run):
    switch_on(run, "alone")
    client = analyst(hills)
    found = client.get(reverse("overview", args=["hills"]), {"measure": "DCG@1", "gain": "exponential"})
    assert dict(found.context["alone_rows"])["bad"] == [(3.5, 2)]
    refused = client.get(reverse("alone_json", args=["hills"]), {"gain": "map:0=0,2=3"})
    assert refused.status_code == 400 and "By the grades of a machine alone" in refused.content.decode()


def test_a_pair_that_it_did_not_grade_counts_as_unjudged(hills, run):
    MachineGrade.objects.filter(query__key="q2").delete()
    switch_on(run, "alone")
    analyst_client = analyst(hills)
    whole = json.loads(analyst_client.get(reverse("alone_json", args=["hills"])).content)
    assert {row["queries"] for row in whole["machines"][0]["results"]} == {1}
    # DCG of q2, which the machine did not grade, is 0 and counts in no mean: what is left is q1, 3 and 0.
    compare = analyst_client.get(reverse("compare", args=["hills"]), {"measure": "DCG@1"})
    assert compare.context["alone_rows"] == [("bad less good", [(3.0, 1)])]
