"""The inbox of adjudication, the page of a pair and its life."""

import re
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from evaluation.judgments.rules import Ratings, combine
from ratings.desk import queue
from ratings.models import Adjudication, Pair, RatingEvent, Role
from ratings.pool import adjudication
from ratings.tests.cast import (
    NOW,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    next_pair,
    signed_in,
    text,
)

pytestmark = pytest.mark.django_db

RATERS = ["canary-anna", "canary-boris", "canary-clara"]


class World:
    """Three raters and an admin. Pairs of q1 and q2 get the grades of `graded`, one a rater, None for none."""

    def __init__(self, **facts) -> None:
        self.collection = make_collection(**facts)
        self.raters = [make_rater(self.collection, name) for name in RATERS]
        self.admin = make_member(self.collection, "dora", Role.ADMIN)
        self.client = signed_in(self.admin)

    def graded(self, query: str, document: str, *values: str | None, comment: str = "") -> Pair:
        pair = make_pair(self.collection, query, document, wanted=3)
        for rater, value in zip(self.raters, values, strict=False):
            if value is not None:
                queue.save(
                    rater, pair, queue.Submission(grade=grade(self.collection, value), comment=comment), now=NOW
                )
        return pair

    def get(self, name: str = "adjudicate", *arguments, **query):
        return self.client.get(address(name, *arguments), query)

    def decide(self, pair: Pair, value: str = "2", reason: str = "clear", client: Client | None = None, **sent):
        sent = {"grade": value, "reason": reason, "seen": adjudication.latest_act(pair)} | sent
        return (client or self.client).post(address("save_adjudication", pair.token), sent)

    def withdraw(self, pair: Pair, seen: int, reason: str = "not so clear"):
        sent = {"reason": reason, "seen": seen}
        return self.client.post(address("withdraw_adjudication", pair.token), sent)


@pytest.fixture
def world() -> World:
    return World()


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def shown(response) -> list[tuple[str, str, int]]:
    return [(row["pair"].query.key, row["pair"].document.key, row["spread"]) for row in response.context["rows"]]


# The inbox


def test_pairs_with_different_grades_come_biggest_difference_first_and_then_by_query(world):
    world.graded("q2", "a", "3", "1")  # 2 steps
    world.graded("q1", "b", "0", "2", "1")  # 2
    world.graded("q1", "c", "-1", "3")  # 4
    world.graded("q1", "d", "1", "2")  # 1
    world.graded("q1", "a", "2", "2")
    world.graded("q2", "b", "3")
    assert shown(world.get()) == [("q1", "c", 4), ("q1", "b", 2), ("q2", "a", 2), ("q1", "d", 1)]


def test_distance_is_counted_in_steps_of_the_scale_and_not_in_numbers():
    world = World(scale={"0": "no", "0.1": "hardly", "0.2": "some", "100": "all"})
    world.graded("q1", "a", "0", "0.2")  # two steps, and 0.2 in numbers
    world.graded("q1", "b", "0.2", "100")  # one step, and 99.8 in numbers
    assert shown(world.get()) == [("q1", "a", 2), ("q1", "b", 1)]


def test_cannot_judge_is_no_grade_that_disagrees(world):
    pair = world.graded("q1", "a", "3")
    queue.save(world.raters[1], pair, queue.Submission(reason="language", comment="in Basque"), now=NOW)
    assert shown(world.get()) == []
    assert said(world.get("adjudicate_pair", pair.token))[1][::2] == [None, "in Basque"]


def test_what_is_decided_leaves_the_inbox_for_a_list_of_its_own(world):
    pair, _ = world.graded("q1", "a", "-1", "3"), world.graded("q1", "b", "-1", "3")
    world.decide(pair)
    assert shown(world.get()) == [("q1", "b", 4)]
    page = world.get("adjudicated")
    assert [row["pair"] for row in page.context["rows"]] == [pair]
    assert "To decide: 1 Decided: 1" in text(page)


def test_a_collection_without_a_scale_has_an_empty_inbox_and_no_error():
    world = World(scale={})
    pair = make_pair(world.collection)
    assert shown(world.get()) == []
    assert "<textarea" not in world.get("adjudicate_pair", pair.token).content.decode()
    assert world.get("pair_life", pair.token).status_code == 200


def test_the_inbox_is_paged(world, monkeypatch):
    monkeypatch.setattr("ratings.pool.views.adjudicate.PAIRS_ON_PAGE", 2)
    for document in "abc":
        world.graded("q1", document, "-1", "3")
    for number in ("2", "99"):
        assert [document for _, document, _ in shown(world.get(page=number))] == ["c"]


# After an act, as before "adjudicated", a page names the next step of a collection that lacks something: 12 more.
QUERIES = {"adjudicate": 11, "adjudicated": 24, "adjudicate_pair": 14, "pair_life": 9}


@pytest.mark.parametrize("name", QUERIES)
def test_the_number_of_database_queries_is_pinned(name, django_assert_num_queries):
    world = World(documents="abcdefgh")
    pairs = [world.graded("q1", document, "-1", "3", "0") for document in "ab"]
    asked = [name, *([pairs[0].token] if name in {"adjudicate_pair", "pair_life"} else [])]
    if name == "adjudicated":
        world.decide(pairs[0])
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(*asked).status_code == 200
    for document in "cdefgh":
        pairs.append(world.graded("q1", document, "-1", "3", "0"))
    if name == "adjudicated":
        for pair in pairs[1:5]:
            world.decide(pair)
    if name == "pair_life":
        one = grade(world.collection, "1")
        for revision in (1, 2, 3):
            queue.save(world.raters[0], pairs[0], queue.Submission(grade=one, base_revision=revision), now=NOW)
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(*asked).status_code == 200


# The page of a pair


def test_a_pair_shows_what_is_needed_to_decide(world):
    world.collection.guidelines.create(version=4, text="Read **twice**.")
    pair = world.graded("q1", "a", "3", "-1", "0", comment="so <b>it</b> is")
    page = world.get("adjudicate_pair", pair.token)
    seen = text(page)
    for part in ("text of q1", "need of q1", "Title a", "First of a.", "Second.", "Guidelines version 4"):
        assert part in seen
    assert "so &lt;b&gt;it&lt;/b&gt; is" in page.content.decode()
    assert [grade for grade, _, _ in said(page)] == ["3", "0", "-1"]  # by what they say


def test_the_judgment_is_the_mean_that_the_numbers_are_made_of(world):
    pair = world.graded("q1", "a", "3", "-1", "2")
    page = world.get("adjudicate_pair", pair.token)
    zeros = np.zeros(3, np.int64)
    [judgment] = combine(Ratings(1, zeros, zeros, np.arange(3), np.array([3.0, -1.0, 2.0]))).grade
    assert float(page.context["mean"]) == judgment == 4 / 3
    assert "The judgment by the usual rule is the mean of 3 grades: 1.33 " in text(page)


def test_a_decision_is_saved_with_its_reason_and_goes_on_to_the_next_pair(world):
    first, second = world.graded("q1", "a", "-1", "3"), world.graded("q1", "b", "-1", "3")
    third = world.graded("q2", "a", "0", "2")
    page = world.get("adjudicate_pair", second.token)
    assert "2 of 3" in text(page)
    assert f'name="seen" value="{adjudication.latest_act(second)}"' in page.content.decode()
    response = world.decide(second, "-1", " It sells\nsomething else. ")
    assert (response.status_code, response.url) == (302, address("adjudicate_pair", third.token))
    stored = Adjudication.objects.get()
    assert (stored.pair, stored.grade.plain, stored.actor) == (second, "-1", world.admin)
    assert stored.reason == "It sells\nsomething else."
    # After the last comes the list, with what was passed over.
    assert world.decide(third).url == address("adjudicate")
    assert shown(world.get()) == [("q1", "a", 4)]
    assert world.decide(first).url == address("adjudicate")


def test_a_form_that_lacks_something_comes_back_as_it_was_filled_in(world):
    pair = world.graded("q1", "a", "-1", "3")
    reasons = [{"reason": reason} for reason in ("a\x00b", "x" * 5001)]
    values = [{"value": value} for value in ("", "7", "NaN", "1e999999", "9")]
    make_collection("sea", scale={"9": "Wet"})
    for sent in (*reasons, *values, {"seen": "soon"}, {"seen": ""}):
        response = world.decide(pair, **({"value": "2", "reason": "because it is"} | sent))
        assert response.status_code == 400 and not Adjudication.objects.exists()
        assert "reason" in sent or ">because it is</textarea>" in response.content.decode()
        assert "value" in sent or re.search(r'value="2" required checked', response.content.decode())


def test_a_decision_needs_no_reason(world):
    pair = world.graded("q1", "a", "-1", "3")
    assert world.decide(pair, reason=" ").status_code == 302
    assert Adjudication.objects.get().reason == ""
    refused = world.decide(pair, "0")
    assert "2 Good by" in text(refused) and "()" not in text(refused)


def test_a_pair_of_another_collection_is_not_found(world):
    foreign = make_pair(make_collection("sea"))
    for name in ("adjudicate_pair", "pair_life"):
        assert world.get(name, foreign.token).status_code == 404
    assert world.decide(foreign).status_code == 404
    assert world.withdraw(foreign, 1).status_code == 404
    assert not Adjudication.objects.exists()


# Two at once, and forms that are older than what they would change


def test_a_second_admin_is_refused_and_told_what_stands_and_by_whom(world):
    pair = world.graded("q1", "a", "-1", "3")
    erik = signed_in(make_member(world.collection, "erik", Role.ADMIN))
    seen = adjudication.latest_act(pair)
    world.decide(pair, "2", "clear")
    response = world.decide(pair, "0", "I think not", client=erik, seen=seen)
    assert response.status_code == 409 and "2 Good by dora on" in text(response)
    assert "I think not" in text(response) and Adjudication.objects.get().grade.plain == "2"


def test_a_form_older_than_a_rating_is_told_and_can_be_sent_again(world):
    pair = world.graded("q1", "a", "-1", "3")
    seen = adjudication.latest_act(pair)
    late = queue.Submission(grade=grade(world.collection, "3"), comment="a late word")
    queue.save(world.raters[2], pair, late, now=NOW)
    response = world.decide(pair, "2", "because it is", seen=seen)
    assert response.status_code == 409 and "a late word" in text(response)
    assert ">because it is</textarea>" in response.content.decode()
    assert not Adjudication.objects.exists()
    assert world.decide(pair, "2", "because it is", seen=response.context["seen"]).status_code == 302


def test_withdrawn_with_a_reason_the_pair_is_open_again(world):
    pair = world.graded("q1", "a", "-1", "3")
    world.decide(pair)
    seen = Adjudication.objects.get().pk
    assert f'name="seen" value="{seen}"' in world.get("adjudicate_pair", pair.token).content.decode()
    assert world.withdraw(pair, seen, " ").status_code == 400
    response = world.withdraw(pair, seen)
    assert (response.status_code, response.url) == (302, address("adjudicate_pair", pair.token))
    assert not Adjudication.objects.exists()
    assert shown(world.get()) == [("q1", "a", 4)]
    last = pair.events.last()
    assert (last.kind, last.comment, last.actor) == ("undo", "not so clear", world.admin)
    assert world.withdraw(pair, seen).status_code == 409


# Who rated stays unknown where it could sway a decision


def said(page) -> list:
    return [[r["grade"] and r["grade"].plain, r["reason"], r["comment"]] for r in page.context["ratings"]]


def test_no_byte_of_the_inbox_or_of_a_pair_names_a_rater(world):
    pair = world.graded("q1", "a", "-1", "3", comment="a word")
    queue.save(world.raters[2], pair, queue.Submission(reason="unclear"), now=NOW)
    pages = [world.get(), world.get("adjudicate_pair", pair.token), world.decide(pair, "7")]
    world.decide(pair)
    pages += [world.get("adjudicated"), world.get("adjudicate_pair", pair.token)]
    for page in pages:
        assert not re.search("canary|anna|boris|clara", page.content.decode())
        assert "a word" in page.content.decode()
    # The twin: where names are meant to be, the same search finds them.
    assert re.search("canary-anna", world.get("pair_life", pair.token).content.decode())


def test_the_page_is_the_same_whoever_gave_which_rating(world):
    """Grades and comments swapped among raters, and given in another order, change no byte but the tokens."""

    def page(raters: list[int], times: list[int]) -> str:
        pair = make_pair(world.collection, "q1", "a", wanted=3)
        given = [("-1", "no"), ("3", "yes"), ("3", "by all means")]
        for time in times:
            value, comment = given[time]
            rater, now = world.raters[raters[time]], NOW + timedelta(minutes=time)
            queue.save(
                rater, pair, queue.Submission(grade=grade(world.collection, value), comment=comment), now=now
            )
        pages = [world.get(), world.get("adjudicate_pair", pair.token)]
        found = "".join(page.content.decode() for page in pages)
        RatingEvent.objects.filter(pair=pair)._raw_delete("default")
        pair.delete()
        return re.sub(r'[0-9a-f-]{36}|(csrfmiddlewaretoken|seen)" value="\w+', "", found)

    first = page([0, 1, 2], [0, 1, 2])
    assert page([2, 0, 1], [0, 1, 2]) == first
    assert page([0, 1, 2], [2, 1, 0]) == first
    assert page([1, 2, 0], [1, 2, 0]) == first


# The history of a pair


def test_the_life_of_a_pair_tells_every_act_in_order(world):
    collection, (anna, boris, _) = world.collection, world.raters
    collection.guidelines.create(version=4, text="Read twice.")
    pair = make_pair(collection, "q1", "a", wanted=3)
    next_pair(anna)
    queue.skip(anna, pair, now=NOW)
    queue.save(anna, pair, queue.Submission(grade=grade(collection, "3"), seconds=12.5, comment="first"), now=NOW)
    queue.undo(anna, now=NOW)
    queue.save(boris, pair, queue.Submission(reason="language", comment="in Basque"), now=NOW)
    world.decide(pair, "-1", "It sells something else.")
    world.withdraw(pair, Adjudication.objects.get().pk)
    page = world.get("pair_life", pair.token)
    cells = re.findall(r"<t[dh][ >].*?</t[dh]>", page.content.decode(), re.DOTALL)
    words = [" ".join(re.sub(r"<[^>]+>", "", cell).split()) for cell in cells]
    rows = [words[i : i + 9] for i in range(9, len(words), 9)]
    assert [row[1:] for row in rows] == [
        ["canary-anna", "put off", "", "", "", "1", "4", ""],
        ["canary-anna", "graded", "3 Perfect", "first", "12.5", "1", "4", "by 3"],
        ["canary-anna", "undid 2", "", "", "", "1", "4", ""],
        ["canary-boris", "could not judge", "", "I do not read this language: in Basque", "", "1", "4", ""],
        ["dora", "adjudicated", "−1 Harmful", "It sells something else.", "", "1", "4", "by 6"],
        ["dora", "undid 5", "", "not so clear", "", "1", "4", ""],
    ]
    assert rows[0][0] == "1. 2 Mar 2026, 09:00:00"
    assert '<time datetime="2026-03-02T09:00:00+00:00">' in page.content.decode()


def test_a_grade_of_an_earlier_scale_keeps_its_number_and_takes_no_name_of_today(world):
    pair = world.graded("q1", "a", "3")
    type(world.collection).objects.update(scale_version=2)
    assert "canary-anna graded 3 1 –" in text(world.get("pair_life", pair.token))


def test_an_admin_finds_the_way_from_a_document_and_an_analyst_sees_none(world):
    pair = world.graded("q1", "a", "-1", "3")
    here, way = address("document", pair.document_id), address("adjudicate_pair", pair.token)
    assert way in world.client.get(here).content.decode()
    page = signed_in(make_member(world.collection, "erna", Role.ANALYST)).get(here).content.decode()
    assert way not in page and address("adjudicate") not in page
