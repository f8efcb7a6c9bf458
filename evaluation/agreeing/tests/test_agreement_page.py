"""The page of agreement: what it says, that its files are the command's, and who reads whose name."""

import io
import json

import pytest
from django.core.management import call_command

from evaluation.agreeing import consistency
from evaluation.agreeing.views import agreement
from evaluation.page import raters
from evaluation.tests.hills import (
    GRADES,
    analyst,
    make_hills,
    rate,
    spec_of,
    text_of,
)
from ratings.models import Rater, Role
from ratings.people import erasure
from ratings.people.names import pseudonym
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db
URL = "/collections/hills/agreement/"
NAMES = ["canary-anna", "canary-boris"]


def make_two(slug: str = "hills", **facts):
    """Anna grades as `hills` does; Boris, who comes first, too, but for d (0, not 1) and the c that he has not."""
    collection = make_hills(slug, grades={}, **facts)
    others = {pair: grade for pair, grade in GRADES.items() if pair != ("q1", "c")} | {("q1", "d"): "0"}
    rate(collection, others, rater=NAMES[1])
    rate(collection, GRADES, rater=NAMES[0])
    return collection


def admin(client, collection):
    client.force_login(make_member(collection, "eva", Role.ADMIN))
    return client


def test_it_says_how_far_raters_agree_and_what_that_rests_on(client):
    page = text_of(analyst(client, make_two()).get(URL))
    # a, b, d of q1 and b of q2 have two grades, of which those of d differ.
    assert "the same grade in 75.0 % of four pairs of grades" in page
    assert "Grades 9 by 2 raters" in page and "With two or more 4" in page and "In dispute 1" in page
    assert "holds in 100 % of 200 resamples" in page and "100 % above bad" in page
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page
    alpha = client.get(URL + "agreement.json").json()["coefficients"][3]
    assert alpha["name"] == "alpha_ordinal"
    assert f"Agreement , α {alpha['value']:.2f}" in text_of(client.get("/collections/hills/"))


def test_grades_that_are_confused_are_shares_of_what_the_one_gave(client):
    response = analyst(client, make_two()).get(URL)
    cells = {
        (cell["one"], cell["other"]): cell for cell in spec_of(response, "confusion-spec")["datasets"]["cells"]
    }
    # Of the pairs of grades with a 0, one has two of them (both are the one and the other), and one has a 1.
    assert cells["0 Irrelevant", "0 Irrelevant"] == {
        "one": "0 Irrelevant",
        "other": "0 Irrelevant",
        "share": pytest.approx(2 / 3),
        "couples": 1,
    }
    assert cells["0 Irrelevant", "1 Related"]["share"] == pytest.approx(1 / 3)
    assert cells["1 Related", "0 Irrelevant"]["share"] == 1
    assert cells["−1 Harmful", "0 Irrelevant"]["share"] is None


def test_page_picture_file_and_command_have_the_same_digits(client):
    response = admin(client, make_two()).get(URL)
    document, out = client.get(URL + "agreement.json").json(), io.StringIO()
    call_command("agreement", "hills", "--measure", "nDCG@10", "--format", "json", stdout=out)
    assert document == json.loads(out.getvalue())
    rows = {row["rater"]: row for row in document["raters"]}
    drawn = spec_of(response, "bias-spec")["datasets"]["differences"]
    assert [row["label"] for row in drawn] == NAMES
    for row in drawn:
        found = rows[row["label"]]
        numbers = found["bias"], found["low"], found["high"], found["shared"]
        assert (row["value"], row["low"], row["high"], row["n"]) == numbers
        assert f'value="{found["bias"]!r}"' in response.content.decode()


def test_few_pairs_are_never_told_from_nought(client):
    row = {"rater": "anna", "bias": 1.0, "low": 0.9, "high": 1.1, "shared": 19, "few": True}
    assert not agreement.dot_of(row)["significant"]
    assert agreement.dot_of(row | {"shared": 20, "few": False})["significant"]
    assert not agreement.dot_of(row | {"few": False, "low": -0.1})["significant"]


def test_an_analyst_reads_no_name_anywhere(client):
    collection = make_two()
    analyst(client, collection)
    for address in (URL, URL + "agreement.csv", URL + "agreement.json"):
        body = client.get(address).content.decode()
        assert "canary" not in body
        assert body.count("rater ") > 2
    # Who opened it before makes no difference, in either order.
    assert "canary-anna" in admin(client, collection).get(URL).content.decode()
    client.force_login(collection.memberships.get(role=Role.ANALYST).user)
    assert "canary" not in client.get(URL + "agreement.json").content.decode()


def test_the_order_of_pseudonyms_tells_nothing_and_the_numbers_stay_those_of_the_person(client):
    collection = make_two()
    by_name = {row["rater"]: row for row in admin(client, collection).get(URL + "agreement.json").json()["raters"]}
    shown = analyst(client, collection).get(URL + "agreement.json").json()
    called = {pseudonym(rater.pk): rater.name for rater in collection.raters.exclude(name="eva")}
    assert [row["rater"] for row in shown["raters"]] == sorted(row["rater"] for row in shown["raters"])
    for row in shown["raters"]:
        assert row | {"rater": ""} == by_name[called[row["rater"]]] | {"rater": ""}


def test_pseudonyms_sort_otherwise_than_names(client, monkeypatch):
    """With names that sort the other way round every number must move with its person."""
    collection = make_two()
    anna, boris = (collection.raters.get(name=name).pk for name in NAMES)
    for module in (consistency, raters):
        monkeypatch.setattr(module, "pseudonym", lambda pk: {anna: "z", boris: "a"}.get(pk, "m"))
    shown = analyst(client, collection).get(URL + "agreement.json").json()
    assert [(row["rater"], row["ratings"]) for row in shown["raters"]] == [("a", 4), ("z", 5)]
    (two,) = shown["pairs_of_raters"]
    assert (two["first"], two["second"], two["pairs"]) == ("a", "z", 4)
    assert {row["rater"]: row["ratings"] for row in shown["order"]["without"]} == {"a": 4, "z": 5}


def test_who_is_erased_is_not_named_any_more(client):
    collection = make_two()
    assert "canary-boris" in admin(client, collection).get(URL).content.decode()
    erasure.erase(Rater.objects.get(collection=collection, name="canary-boris"))
    body = client.get(URL).content.decode()
    assert "canary-boris" not in body and "canary-anna" in body


def test_who_changes_the_order_is_named_for_admins_alone(client):
    """By both, a (1.5) is better than b (1); without Anna b is, by Boris alone."""
    collection = make_hills(grades={}, rankings={"x": {"q1": "ab"}, "y": {"q1": "ba"}})
    for name, a, b in [("canary-anna", "3", "0"), ("canary-boris", "0", "2")]:
        rate(collection, {("q1", "a"): a, ("q1", "b"): b}, rater=name)
    assert "changes when canary-anna is left out" in text_of(admin(client, collection).get(URL))
    assert "canary" not in text_of(analyst(client, collection).get(URL))


def test_the_number_of_draws_goes_down_with_the_work_and_ends(client, monkeypatch):
    analyst(client, make_two())  # two systems, two queries, two raters: four values each time
    for work, draws in [(4 * 300, 200), (4 * 102, 100), (4 * 22, 20), (4 * 9, 20)]:
        monkeypatch.setattr(agreement, "SCORES_A_SECOND", work)
        assert client.get(URL + "agreement.json").json()["order"]["draws"] == draws
    monkeypatch.setattr(agreement, "SCORES_A_SECOND", 4 * 7)
    assert "order" not in client.get(URL + "agreement.json").json()
    # A rule that learns from all ratings takes longer.
    monkeypatch.setattr(agreement, "SCORES_A_SECOND", 4 * 300)
    dawid_skene = client.get(URL + "agreement.json", {"rule": "dawid_skene"})
    assert dawid_skene.json()["order"]["draws"] == 20


def test_it_is_made_once_for_each_state_of_the_collection(client, monkeypatch):
    collection, made = make_two(), []
    for name in ("agreement_of", "cached_order", "summary"):
        real = getattr(agreement.consistency, name)
        monkeypatch.setattr(
            agreement.consistency, name, lambda *a, real=real, name=name, **k: made.append(name) or real(*a, **k)
        )
    analyst(client, collection)
    for address in (URL, URL, "/collections/hills/", URL + "agreement.json"):
        assert client.get(address).status_code == 200
    # The file is made by itself: it has all disputed pairs.
    assert sorted(made) == ["agreement_of", "cached_order", "summary", "summary"]
    rate(collection, {("q1", "c"): "0"}, rater="canary-boris")
    client.get(URL)
    assert len(made) == 7


def test_it_says_in_a_word_how_far_raters_agree_and_which_grades_are_confused(client):
    """On 20 pairs both give 0 or both 1; on one more Anna gives 1 and Boris 0."""
    documents = [f"d{number}" for number in range(21)]
    collection = make_hills(grades={}, rankings={"good": {"q1": documents}}, documents=documents)
    grades = {("q1", name): str(place % 2) for place, name in enumerate(documents)}
    rate(collection, grades | {("q1", "d1"): "1"}, rater=NAMES[0])
    rate(collection, grades | {("q1", "d1"): "0"}, rater=NAMES[1])
    page = text_of(analyst(client, collection).get(URL))
    assert "Agreement is strong" in page
    assert "most often confused are 0 Irrelevant and 1 Related : 1 of 1" in page
    assert "Agreement strong" in text_of(client.get("/collections/hills/"))


def test_there_is_no_word_on_few_pairs(client):
    assert "Too few pairs" in text_of(analyst(client, make_two()).get(URL))


def test_the_diagonal_of_the_matrix_runs_down(client):
    response = analyst(client, make_two()).get(URL)
    matrix = spec_of(response, "confusion-spec")["layer"][0]["encoding"]
    assert matrix["y"]["scale"]["domain"] == matrix["x"]["scale"]["domain"]
    assert [one for one, _ in response.context["confusion_rows"]] == response.context["grades"]
