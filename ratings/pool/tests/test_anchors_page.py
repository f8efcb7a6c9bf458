"""The page of anchors: known grades, what raters answered, and where anchors can come from."""

import pytest
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Anchor, Check, Pair, RatingEvent, Role
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import (
    NOW,
    SCALE,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    signed_in,
    text,
)


class World:
    """Three raters and an admin; nothing is an anchor."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.raters = [make_rater(self.collection, name) for name in ("anna", "boris", "clara")]
        self.client = signed_in(make_member(self.collection, "dora", Role.ADMIN))

    def get(self, page: str = "anchors", *arguments, **asked):
        return self.client.get(reverse(page, args=["hills", *arguments]), asked)

    def post(self, page: str, *arguments, **sent):
        return self.client.post(reverse(page, args=["hills", *arguments]), sent)

    def graded(self, query: str, document: str, *values: str | None) -> Pair:
        pair = make_pair(self.collection, query, document, wanted=3)
        for rater, value in zip(self.raters, values, strict=False):
            if value is None:
                queue.save(rater, pair, queue.Submission(reason="other"), now=NOW)
            else:
                queue.save(rater, pair, queue.Submission(grade=grade(self.collection, value)), now=NOW)
        return pair

    def warmed(self, rater, pair: Pair, value: str) -> None:
        facts = {"kind": RatingEvent.Kind.WARM_UP, "scale_version": 1, "created_at": NOW}
        value = grade(self.collection, value).value
        event = RatingEvent.objects.create(pair=pair, rater=rater, value=value, **facts)
        Check.objects.create(rater=rater, pair=pair, kind="warm_up", created_at=NOW, event=event)


@pytest.fixture
def world(db) -> World:
    return World()


def suggested(page) -> list[tuple[str, str, str, int]]:
    return [
        (row["pair"].query.key, row["pair"].document.key, row["grade"].plain, row["n"])
        for row in page.context["suggested"]
    ]


def test_an_anchor_is_made_changed_and_given_up(world):
    pair = make_pair(world.collection, "q1", "a")
    response = world.post("save_anchor", pair.token, use="gold", grade="2")
    assert (response.status_code, response.url) == (302, reverse("anchors", args=["hills"]))
    page = world.get("anchor", pair.token).content.decode()
    assert 'value="2" required checked' in page and 'value="gold" required id="id_use_1" checked' in page
    world.post("save_anchor", pair.token, use="warm_up", grade="3", explanation=" It names the hill. ")
    anchor = Anchor.objects.get()
    assert (anchor.use, anchor.grade.plain, anchor.explanation) == ("warm_up", "3", "It names the hill.")
    assert "1 warm-up, 0 gold pairs" in text(world.get())
    for _ in range(2):  # twice is once
        assert world.post("remove_anchor", pair.token).status_code == 302
    assert not Anchor.objects.exists()


def test_an_anchor_that_lacks_something_comes_back_as_it_was_filled_in(world):
    pair = make_pair(world.collection)
    uses = {"use": ""}, {"use": "decoration"}, {"use": "warm_up"}, {"use": "warm_up", "explanation": " \n"}
    grades = [{"grade": value} for value in ("", "7", "NaN")]
    for wrong in (*uses, *grades, {"explanation": "a\x00b"}, {"explanation": "x" * 5001}):
        page = world.post("save_anchor", pair.token, **{"use": "gold", "grade": "-1", "explanation": ""} | wrong)
        assert page.status_code == 400
        assert "grade" in wrong or 'value="-1" required checked' in page.content.decode()
    assert not Anchor.objects.exists()


def test_what_raters_answered_stands_beside_each_anchor(world):
    gold = world.graded("q1", "a", "1")  # before it was gold
    set_anchor(gold, use="gold", grade=grade(world.collection, "1"), now=NOW.replace(hour=10))
    for rater, value in zip(world.raters[1:], ("1", "2"), strict=True):
        queue.save(rater, gold, queue.Submission(grade=grade(world.collection, value)), now=NOW.replace(hour=11))
    lesson = make_pair(world.collection, "q1", "b")
    set_anchor(lesson, use="warm_up", grade=grade(world.collection, "3"), explanation="Clear.", now=NOW)
    for rater, value in zip(world.raters, ("3", "3", "0"), strict=True):
        world.warmed(rater, lesson, value)
    page = world.get()
    assert [(anchor.pair, share.hits, share.n) for anchor, share in page.context["gold"]] == [(gold, 1, 2)]
    assert [(anchor.pair, share.hits, share.n) for anchor, share in page.context["warm_up"]] == [(lesson, 2, 3)]
    assert "1 of 2 (9 % to 91 %)" in text(page)


def test_grades_without_a_warm_up_are_named(world):
    assert "No warm-up for" not in text(world.get())  # there is none at all, which is no mistake
    for document, value in zip("abcd", ("-1", "0", "1", "2"), strict=True):
        pair = make_pair(world.collection, "q1", document)
        set_anchor(pair, use="warm_up", grade=grade(world.collection, value), explanation="So.")
        if value == "1":
            assert "No warm-up for 2 Good and 3 Perfect" in text(world.get())
    last = make_pair(world.collection, "q2", "a")
    set_anchor(last, use="gold", grade=grade(world.collection, "3"))  # gold is no warm-up
    assert "No warm-up for 3 Perfect" in text(world.get())
    set_anchor(last, use="warm_up", grade=grade(world.collection, "3"), explanation="So.")
    assert "No warm-up for" not in text(world.get())


def test_pairs_on_which_raters_agree_are_suggested(world):
    world.graded("q1", "a", "2", "2")
    world.graded("q1", "b", "2", "2", "2")
    world.graded("q1", "c", "2", "3")
    world.graded("q1", "d", "0", None, "0")  # one could not judge it
    world.graded("q2", "a", "1")
    world.graded("q2", "b", "0", "0")
    known = world.graded("q2", "c", "0", "0")
    set_anchor(known, use="gold", grade=grade(world.collection, "0"))
    assert suggested(world.get()) == [("q1", "b", "2", 3), ("q1", "a", "2", 2), ("q2", "b", "0", 2)]
    assert suggested(world.get(grade="0")) == [("q2", "b", "0", 2)]
    assert suggested(world.get(grade="-1")) == []
    assert len(suggested(world.get(grade="nonsense"))) == 3


def test_any_pair_is_found_by_ids_and_made_where_there_is_none(world):
    documents = {"query": "", "document": "a"}, {"query": "q\x00", "document": "a"}
    for wrong in ({"query": "q9", "document": "a"}, {"query": "q1", "document": "z"}, *documents):
        assert world.post("find_pair", **wrong).status_code == 400 and not Pair.objects.exists()
    response = world.post("find_pair", query="q2", document="d")
    pair = Pair.objects.get()
    assert response.url == reverse("anchor", args=["hills", pair.token])
    assert (pair.query.key, pair.document.key, pair.wanted) == ("q2", "d", 0)
    assert world.post("find_pair", query="q2", document="d").url == response.url


def test_a_pair_of_another_collection_is_not_found(world):
    foreign = make_pair(make_collection("sea"))
    assert world.get("anchor", foreign.token).status_code == 404
    for act in ("save_anchor", "remove_anchor"):
        assert world.post(act, foreign.token, use="gold", grade="1").status_code == 404


QUERIES = {"anchors": 12, "anchor": 10}


@pytest.mark.parametrize("name", QUERIES)
def test_the_number_of_database_queries_is_pinned(world, name, django_assert_num_queries):
    pair = world.graded("q1", "a", "2", "2")
    asked = [name, *([pair.token] if name == "anchor" else [])]
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(*asked).status_code == 200
    for document, value in zip("bcd", SCALE, strict=False):
        world.graded("q1", document, "2", "2", "2")
        each = world.graded("q2", document, "1", "0")
        set_anchor(each, use="gold", grade=grade(world.collection, value))
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(*asked).status_code == 200
