"""The page of a judge beside people, and its files."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratings.judges import sample as samples
from ratings.judges import uses, versions
from ratings.models import JudgeRun, MachineGrade, Pair, Role
from ratings.tests.cast import make_member

from ...tests.hills import make_hills, rate, text_of

pytestmark = pytest.mark.django_db
QUERIES = [f"q{number}" for number in range(1, 7)]


@pytest.fixture
def hills():
    """Six queries with two documents each: people gave a the grade 2 and b 0, two of them a pair of the first."""
    rankings = {"good": dict.fromkeys(QUERIES, "ab"), "qwen": {"q1": "b"}}
    collection = make_hills(queries=QUERIES, grades={}, rankings=rankings)
    rate(collection, {(q, d): grade for q in QUERIES for d, grade in (("a", "2"), ("b", "0"))})
    rate(collection, {("q1", "a"): "0"}, rater="second")
    Pair.objects.filter(query__collection=collection).update(wanted=1)
    return collection


def judged(collection, grades: dict[tuple[str, str], str]):
    """A version of a new judge with these grades."""
    judge = versions.make_judge(collection, "llama")
    version, _ = versions.make_version(judge, versions.VersionSettings("qwen2:7b", "http://127.0.0.1:9/v1"))
    run = JudgeRun.objects.create(version=version, choice="sample", most_calls=0, state="done", pairs=len(grades))
    of = {"run": run, "version": version, "state": "graded", "at": timezone.now()}
    for pair in Pair.objects.filter(query__collection=collection).select_related("query", "document"):
        if value := grades.get((pair.query.key, pair.document.key)):
            MachineGrade.objects.create(query=pair.query, document=pair.document, value=value, **of)
    return version


def analyst(collection) -> Client:
    client = Client()
    known = User.objects.filter(username="ana").first()
    client.force_login(known or make_member(collection, "ana", Role.ANALYST))
    return client


def test_figures_of_a_machine_that_gives_everything_a_two(hills):
    version = judged(hills, {(query, document): "2" for query in QUERIES for document in "ab"})
    samples.take_rated(version.judge)
    client, own = analyst(hills), reverse("machine_json", args=["hills", version.judge_id])
    found = json.loads(client.get(own).content)
    assert (found["pairs"], found["rated"], found["compared"], found["drawn"]) == (12, 12, 12, False)
    # Of q1 a, which two people graded, half says the same.
    assert found["figures"]["same"]["value"] == pytest.approx(5.5 / 12)
    assert found["figures"]["bias"]["value"] == pytest.approx(2 * 6.5 / 12)
    assert found["figures"]["kappa"]["value"] == pytest.approx(0)
    (good, qwen) = found["systems"]
    assert (good["system"], good["pairs"], qwen["pairs"], qwen["value"]) == ("good", 12, 1, 2)
    page = client.get(reverse("machine", args=["hills", version.judge_id]))
    said = text_of(page)
    assert "were not drawn at random" in said and "The name of qwen contains the name of this" in said
    assert "On twelve pairs the machine gave the same grade in 45.8 %" in said
    assert "It was compared on twelve pairs of six queries. At least 100 pairs of 20 queries" in said
    assert found["use"]["verdict"] == "unknown" and "Too little is known of this version" in said
    assert page.content.decode().count('<li class="flag look">') == 1
    assert [each["reason"] for each in found["use"]["reasons"]] == ["not drawn", "few", "circular"]
    table = client.get(reverse("machine_csv", args=["hills", version.judge_id])).content.decode()
    assert "bias,system qwen,1,2.0" in table


def test_a_drawn_sample_leaves_out_what_it_did_not_draw(hills):
    version = judged(hills, {(query, document): "2" for query in QUERIES for document in "ab"})
    drawn = samples.draw(version.judge, 6, seed=1)
    found = json.loads(analyst(hills).get(reverse("machine_json", args=["hills", version.judge_id])).content)
    assert found["drawn"] and found["pairs"] == found["compared"] == drawn.pairs.count() == 6


def test_without_a_sample_or_a_grade_there_is_no_number(hills):
    version = judged(hills, {})
    client, own = analyst(hills), reverse("machine", args=["hills", version.judge_id])
    assert client.get(own + "machine.json").status_code == 404
    samples.take_rated(version.judge)
    assert client.get(own, {"version": "7"}).status_code == client.get(own, {"version": "x"}).status_code == 404
    whole = json.loads(client.get(own + "machine.json").content)
    assert whole["compared"] == 0 and whole["figures"]["same"]["value"] is None


def test_people_s_numbers_do_not_know_of_it(hills):
    client = analyst(hills)
    before = client.get(reverse("overview_json", args=["hills"])).content
    samples.draw(judged(hills, {("q1", "a"): "0"}).judge, 3, seed=1)
    assert client.get(reverse("overview_json", args=["hills"])).content == before


def test_bias_by_tag_by_hand(hills):
    """Of every query of `odd` the machine gives 2 and 2, of the others 0 and 0; people gave 2 and 0."""
    odd = hills.queries.filter(key__in=["q3", "q5"])
    odd.update(tags=["odd"])
    hills.queries.filter(key__in=["q2", "q4", "q6"]).update(tags=["even"])
    grades = {(q, d): "2" if q in ("q3", "q5") else "0" for q in QUERIES[1:] for d in "ab"}
    version = judged(hills, grades)
    samples.take_rated(version.judge)
    found = json.loads(analyst(hills).get(reverse("machine_json", args=["hills", version.judge_id])).content)
    (even, uneven) = found["tags"]
    assert (even["tag"], even["pairs"], even["value"]) == ("even", 6, -1)
    assert (uneven["tag"], uneven["pairs"], uneven["value"]) == ("odd", 4, 1)
    # All ten pairs: (4 · 1 − 6 · 1) / 10 = −0.2.
    assert (even["apart"]["value"], uneven["apart"]["value"]) == (pytest.approx(-0.8), pytest.approx(1.2))
    table = analyst(hills).get(reverse("machine_csv", args=["hills", version.judge_id])).content.decode()
    assert "bias,tag odd,4,1.0" in table


def again(version, grades: dict[tuple[str, str], str | None], repeat: int = 2) -> None:
    """What the version answered when it was asked once more; None: a refusal."""
    run = JudgeRun.objects.create(version=version, choice="again", most_calls=0, state="done", pairs=len(grades))
    of = {"run": run, "version": version, "at": timezone.now(), "repeat": repeat}
    for pair in Pair.objects.filter(query__collection=version.judge.collection):
        key = pair.query.key, pair.document.key
        if key in grades:
            said = {"state": "ungraded", "problem": "refusal"} if grades[key] is None else {"state": "graded"}
            MachineGrade.objects.create(query=pair.query, document=pair.document, value=grades[key], **of, **said)


def test_asked_again_by_hand_and_no_use_reads_it(hills):
    version = judged(hills, everything())
    samples.draw(version.judge, 12, seed=1)
    client, own = analyst(hills), reverse("machine", args=["hills", version.judge_id])
    assert "was asked about no pair more than once" in text_of(client.get(own))
    uses.switch_on(version, "alone")
    addresses = [reverse(name, args=["hills"]) for name in ("overview", "alone_json")]
    before = [client.get(each).context["alone_rows"] if each == addresses[0] else client.get(each).content
              for each in addresses]  # fmt: skip
    first = json.loads(client.get(own + "machine.json").content)
    again(version, {("q1", "a"): "2", ("q1", "b"): "2", ("q2", "a"): "0", ("q2", "b"): "2", ("q3", "a"): None})
    again(version, {("q1", "a"): "3"}, repeat=3)
    found = json.loads(client.get(own + "machine.json").content)
    repeats = found["repeats"]
    assert (repeats["answers"], repeats["same"], repeats["unsure"]) == (5, 3, 1)
    assert repeats["share"]["value"] == pytest.approx(3 / 5)
    assert "the same grade in 3 of 5 answers" in text_of(client.get(own))
    after = [client.get(each).context["alone_rows"] if each == addresses[0] else client.get(each).content
             for each in addresses]  # fmt: skip
    assert after == before and found["figures"] == first["figures"]


def everything(value: str = "2") -> dict[tuple[str, str], str]:
    return {(query, document): value for query in QUERIES for document in "ab"}
