"""The record over the API: pages that miss nothing and what they cost, who reads names, and rating by program."""

from copy import deepcopy
from math import exp
from uuid import uuid4

import pytest

from ratings.desk import queue
from ratings.models import Rating, RatingEvent, Role
from ratings.people import names
from ratings.pool.anchors import set_anchor
from ratings.tests.calls import Caller, items, make_caller
from ratings.tests.cast import (
    grade,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_round,
    make_sample,
)

pytestmark = pytest.mark.django_db

HILLS = "/collections/hills"


@pytest.fixture(scope="module")
def built(standing):
    collection = make_collection(queries=[f"q{i}" for i in range(5)], documents="abcdefg")
    make_ranking(collection, "bm25", "q0", "abc")
    make_ranking(collection, "bm25", "q1", "cd")
    make_ranking(collection, "dense", "q0", "b")
    for name in ("anna", "boris"):
        rater = make_rater(collection, name)
        for document in "abe":
            queue.save(
                rater, make_pair(collection, "q0", document), queue.Submission(grade=grade(collection, "2"))
            )
    make_round(collection, [make_pair(collection, "q0", document) for document in "ce"], greedy=1)
    make_round(collection, [make_pair(collection, "q1", "d")])
    make_sample(collection, [("q0", 9, 1), ("q1", 2, 0.5)])
    make_sample(collection, [("q0", 9, 1), ("", 2, 0.5)])
    return collection


@pytest.fixture
def collection(built):
    return deepcopy(built)


@pytest.fixture
def reader(collection) -> Caller:
    return make_caller(make_member(collection, "ana", Role.ANALYST), collection, "read")


def all_pages(caller: Caller, path: str, limit: int, **asked) -> list[dict]:
    found, cursor = [], {}
    while True:
        answer = caller.get(f"{HILLS}/{path}", limit=limit, **asked, **cursor)
        page = items(answer)
        assert len(page) <= limit
        found += page
        if answer.json()["next"] is None:
            return found
        assert len(page) == limit
        cursor = {"cursor": answer.json()["next"]}


LISTS = {
    "queries": {},
    "documents": {},
    "systems": {},
    "ratings": {},
    "drawn": {},
    "samples": {},
    "sampled": {"sample": 2},
    "unjudged": {"system": "bm25"},
    "judgments": {},
}


@pytest.mark.both_databases
@pytest.mark.parametrize("path", LISTS)
def test_pages_give_all_rows_once(reader, path):
    whole = all_pages(reader, path, 100, **LISTS[path])
    assert len(whole) > 1
    for limit in (1, 2, len(whole)):
        assert all_pages(reader, path, limit, **LISTS[path]) == whole


@pytest.mark.parametrize(
    "asked", [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"cursor": "x"}, {"cursor": "9" * 19}]
)
def test_a_page_that_does_not_exist_is_refused(reader, asked):
    assert reader.get(f"{HILLS}/queries", **asked).status_code == 422


# The token with its owner; its collection; the role of the owner; and of a list the rows.
COST = {"queries": 4, "documents": 4, "systems": 4, "ratings": 4, "drawn": 4, "unjudged": 10, "judgments": 12}
COST |= {"samples": 4, "sampled": 5}


@pytest.mark.parametrize("path", LISTS)
def test_a_list_takes_as_many_queries_whatever_its_length(reader, path, django_assert_num_queries):
    reader.get("/token")  # takes a slot for ten calls, and notes when the token was used
    for limit in (1, 100):
        with django_assert_num_queries(COST[path]):
            reader.get(f"{HILLS}/{path}", limit=limit, **LISTS[path])


def test_a_head_is_answered_as_the_get_without_its_body(reader):
    for path in (f"{HILLS}/queries", "/token", "/openapi.json"):
        answer = reader.client.head(f"/api/v1{path}", headers=reader.headers())
        assert (answer.status_code, answer.content) == (200, b""), path
    refused = reader.client.head(f"/api/v1{HILLS}/queries?limit=x", headers=reader.headers())
    assert refused.status_code == 422
    assert reader.client.head(f"/api/v1{HILLS}/tasks", headers=reader.headers())["Allow"] == "POST"


def test_a_number_of_an_address_is_of_plain_digits(reader):
    for limit in ("1_0", "+5", " 5 ", "\u0661\u0662", "5.0", "1e1", "9" * 5_000):
        answer = reader.get(f"{HILLS}/queries", limit=limit)
        (error,) = answer.json()["errors"]
        assert error == {"parameter": "limit", "detail": "It must be a whole number in plain digits."}


@pytest.mark.both_databases
def test_one_row_can_be_asked_for(reader):
    assert [each["key"] for each in items(reader.get(f"{HILLS}/queries", key="q3"))] == ["q3"]
    assert [each["key"] for each in items(reader.get(f"{HILLS}/documents", key="c"))] == ["c"]
    assert {each["query"] for each in items(reader.get(f"{HILLS}/ratings", query="q0"))} == {"q0"}
    assert items(reader.get(f"{HILLS}/queries", key="nowhere")) == []


def test_what_is_unjudged_is_what_the_page_of_holes_has(reader, collection):
    found = items(reader.get(f"{HILLS}/unjudged", system="bm25", k=3))
    assert [(row["query"], row["document"], row["rank"]) for row in found] == [
        ("q0", "c", 3),
        ("q1", "c", 1),
        ("q1", "d", 2),
    ]
    assert items(reader.get(f"{HILLS}/unjudged", system="bm25", k=1)) == [found[1]]
    assert reader.get(f"{HILLS}/unjudged", system="nowhere").status_code == 404


def test_a_drawn_pair_comes_with_its_round_and_its_chance(reader):
    greedy, random, later = items(reader.get(f"{HILLS}/drawn"))
    assert (greedy["document"], greedy["kind"], greedy["key"], greedy["chance"]) == ("c", "greedy", None, 1.0)
    assert random["chance"] == pytest.approx((1 - exp(-0.5 * 0.25)) * 0.75)
    assert (random["round"], random["measure"], random["gains"], random["predicted"]) == (
        *(1, "nDCG@10", [0, 1, 2]),
        [0.5, 0.25],
    )
    assert (later["round"], later["query"], later["place"]) == (2, "q1", 1)


def test_a_sampled_query_comes_with_its_chance_and_a_held_one_without_its_text(reader):
    whole, held = items(reader.get(f"{HILLS}/sampled"))
    assert (whole["query"], whole["count"], whole["chance"], whole["left_out"]) == ("q0", 9, 1.0, "")
    assert (held["query"], held["text"], held["count"], held["left_out"]) == (None, "", 2, "held")
    first, last = items(reader.get(f"{HILLS}/samples"))
    assert (first["number"], last["searches"], last["strata"][0]["certain_searches"]) == (1, 11, 9)
    assert reader.get(f"{HILLS}/sampled", sample=3).status_code == 404


def test_only_admins_read_names(reader, collection):
    admin = make_caller(make_member(collection, "boss", Role.ADMIN), collection, "read")
    assert {row["rater"] for row in items(admin.get(f"{HILLS}/ratings"))} == {"anna", "boris"}
    called = {names.pseudonym(pk) for pk in collection.raters.values_list("pk", flat=True)}
    assert {row["rater"] for row in items(reader.get(f"{HILLS}/ratings"))} == called


# Rating by program


@pytest.fixture
def rater(collection) -> Caller:
    for document in "abcd":
        make_pair(collection, "q2", document, wanted=4)
    return make_caller(make_rater(collection, "carla").user, collection, "rate")


def said(task: dict, **changes) -> dict:
    return {"token": task["token"], "key": str(uuid4()), "grade": 1} | changes


@pytest.mark.both_databases
def test_what_is_given_is_rated_and_a_retry_changes_nothing(rater, collection):
    tasks = rater.post(f"{HILLS}/tasks", {"count": 3}).json()["tasks"]
    assert len(tasks) == 3
    batch = {"ratings": [said(tasks[0], grade=2, comment="good"), said(tasks[1], grade=None, reason="unclear")]}
    first, again = (rater.post(f"{HILLS}/my-ratings", batch).json()["results"] for _ in range(2))
    assert [row["saved"] for row in first] == [True, True]
    assert first == again
    own = Rating.objects.filter(rater__name="carla").order_by("pk")
    assert [(r.grade and r.grade.plain, r.reason, r.comment, r.revision) for r in own] == [
        ("2", "", "good", 1),
        (None, "unclear", "", 1),
    ]
    assert RatingEvent.objects.filter(rater__name="carla").count() == 2
    assert [row["grade"] for row in items(rater.get(f"{HILLS}/my-ratings"))] == [2, None]


def test_a_rating_that_was_changed_elsewhere_is_not_overwritten_unseen(rater, collection):
    (task,) = rater.post(f"{HILLS}/tasks", {"count": 1}).json()["tasks"]
    rater.post(f"{HILLS}/my-ratings", {"ratings": [said(task, grade=2)]})
    (late,) = rater.post(f"{HILLS}/my-ratings", {"ratings": [said(task, grade=0)]}).json()["results"]
    assert (late["saved"], late["revision"], late["current"]["grade"]) == (False, 1, 2)
    (seen,) = rater.post(f"{HILLS}/my-ratings", {"ratings": [said(task, grade=0, base_revision=1)]}).json()[
        "results"
    ]
    assert (seen["saved"], seen["revision"]) == (True, 2)


def test_a_key_of_another_rating_is_refused_with_its_place(rater):
    first, second, third = rater.post(f"{HILLS}/tasks", {"count": 3}).json()["tasks"]
    key = str(uuid4())
    for batch, place in ([said(first, key=key), said(second, key=key)], 1), ([said(second, key=key)], 0):
        answer = rater.post(f"{HILLS}/my-ratings", {"ratings": [*batch, said(third)]})
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["pointer"]) == (422, f"/ratings/{place}/key")
        assert not Rating.objects.filter(rater__name="carla", pair__token=second["token"]).exists()
        rater.post(f"{HILLS}/my-ratings", {"ratings": [said(first, key=key)]})


def test_a_key_that_was_used_while_a_batch_was_checked_saves_nothing(rater, monkeypatch):
    first, second = rater.post(f"{HILLS}/tasks", {"count": 2}).json()["tasks"]
    used = rater.post(f"{HILLS}/my-ratings", {"ratings": [said(first)]}).json()["results"][0]["key"]
    monkeypatch.setattr(queue, "used", lambda rater, answers: [False for _ in answers])
    (row,) = rater.post(f"{HILLS}/my-ratings", {"ratings": [said(second, key=used)]}).json()["results"]
    assert (row["saved"], "another" in row["said"]) == (False, True)


def test_the_keys_of_a_batch_are_looked_up_at_once(rater, django_assert_num_queries):
    """Each row more takes two statements: one for its task, and one for the scale."""
    tasks = rater.post(f"{HILLS}/tasks", {"count": 3}).json()["tasks"]
    for rows in (1, 3):
        batch = [*map(said, tasks[:rows]), {"token": str(uuid4()), "key": str(uuid4()), "grade": 1}]
        with django_assert_num_queries(7 + 2 * rows):
            assert rater.post(f"{HILLS}/my-ratings", {"ratings": batch}).status_code == 422


def test_one_wrong_rating_leaves_all_unsaved(rater, collection):
    tasks = rater.post(f"{HILLS}/tasks", {"count": 2}).json()["tasks"]
    strange = make_pair(collection, "q3", "a")
    batch = [
        said(tasks[0]),
        said(tasks[1], grade=77),
        {"token": str(strange.token), "key": str(uuid4()), "grade": 1},
    ]
    answer = rater.post(f"{HILLS}/my-ratings", {"ratings": batch})
    errors = answer.json()["errors"]
    assert [error["pointer"] for error in errors] == ["/ratings/1/grade", "/ratings/2"]
    assert errors[0]["detail"] == "The scale has no grade 77; it is -1, 0, 1, 2, 3."
    assert not Rating.objects.filter(rater__name="carla").exists()


def test_a_warm_up_tells_its_answer_and_is_no_rating(rater, collection):
    pair = make_pair(collection, "q4", "a")
    set_anchor(pair, use="warm_up", grade=grade(collection, "3"), explanation="because")
    (task,) = rater.post(f"{HILLS}/tasks", {"count": 1}).json()["tasks"]
    assert task["warm_up"]
    (row,) = rater.post(f"{HILLS}/my-ratings", {"ratings": [said(task)]}).json()["results"]
    assert row["warm_up"] == {"grade": 3, "reason": "", "explanation": "because"}
    assert not Rating.objects.filter(rater__name="carla").exists()


def test_who_has_nothing_to_rate_is_told_so(collection):
    caller = make_caller(make_rater(collection, "dora").user, collection, "rate")
    collection.raters.filter(name="dora").update(active=False)
    answer = caller.post(f"{HILLS}/tasks", {}).json()
    assert answer["tasks"] == [] and "no documents here" in answer["words"][0]
