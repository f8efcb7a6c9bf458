"""The page of the pool: what it would do, doing it, retiring and bringing back, holes and how pairs come."""

from decimal import Decimal

import pytest
from django.apps import apps
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Assignment, AuditEvent, Pair, Role
from ratings.pool import pooling
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    record_imported,
    signed_in,
    text,
)


class World:
    """bm25 ranks a b c for q1 and a for q2; dense ranks c d for q1. Nothing is pooled."""

    def __init__(self) -> None:
        self.collection = make_collection()
        make_ranking(self.collection, "bm25", "q1", "abc")
        make_ranking(self.collection, "bm25", "q2", "a")
        make_ranking(self.collection, "dense", "q1", "cd")
        self.bm25, self.dense = self.collection.systems.all()
        self.rater = make_rater(self.collection)
        self.client = signed_in(make_member(self.collection, "dora", Role.ADMIN))

    def get(self, name: str = "pool", **asked):
        return self.client.get(reverse(name, args=["hills"]), asked)

    def post(self, name: str, /, **sent):
        return self.client.post(reverse(name, args=["hills"]), sent)

    def asked(self, depth=2, wanted=3, systems=None) -> dict:
        systems = [self.bm25, self.dense] if systems is None else systems
        return {"depth": depth, "wanted": wanted, "systems": [system.pk for system in systems]}

    def token(self, query: str, document: str):
        return Pair.objects.get(query__key=query, document__key=document).token


@pytest.fixture
def world(db) -> World:
    return World()


def rows() -> dict:
    """Every row of the record."""
    models = apps.get_app_config("ratings").get_models()
    return {model._meta.label: repr(list(model.objects.order_by("pk").values())) for model in models}


# The plan


def test_a_plan_says_what_a_pool_would_do_and_writes_nothing(world):
    before = rows()
    page = world.get(**world.asked())
    assert rows() == before
    # q1: a b of bm25, c d of dense; q2: a of bm25. Three ratings of each.
    assert "5 pairs, 5 of them new; 15 more ratings wanted." in text(page)
    assert page.context["plan"]["plan"].by_system == [("bm25", 3, 3), ("dense", 2, 2)]
    deeper = world.get(**world.asked(depth=3))  # c now is of both
    assert deeper.context["plan"]["plan"].by_system == [("bm25", 4, 3), ("dense", 2, 1)]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("wanted", [1, 2, 4])
def test_a_plan_is_what_the_pool_then_does(world, depth, wanted):
    """Whatever is there: an open pool, a grade that fills nothing yet, an extra assignment, a retired pair."""
    make_pair(world.collection, "q1", "a", wanted=2)
    make_pair(world.collection, "q1", "c", wanted=1)
    queue.retire([make_pair(world.collection, "q1", "d", wanted=3).pk])
    unasked = queue.pairs_for([pk_of(world, "q1", "b")]).popitem()[1]
    imported = world.collection.raters.create(name="old", kind="imported")
    row = Imported(*pk_of(world, "q1", "b"), grade(world.collection, "1"))
    record_imported(imported, [row])
    gold = Pair.objects.get(pk=unasked)
    facts = {"pair": gold, "query_id": gold.query_id, "collection": world.collection, "extra": True}
    Assignment.objects.create(**facts, rater=world.rater, state="leased", leased_until=NOW)
    sent = {"depth": depth, "wanted": wanted, "systems": list(world.collection.systems.all())}
    planned = pooling.plan(world.collection, **sent)
    done = pooling.pool(world.collection, depth=depth, wanted=wanted)
    assert planned.new_ratings == done.new_ratings
    assert (planned.pairs, planned.by_system) == (done.pairs, done.by_system)
    assert pooling.plan(world.collection, **sent).new_ratings == 0


def pk_of(world, query: str, document: str) -> tuple[int, int]:
    return world.collection.queries.get(key=query).pk, world.collection.documents.get(key=document).pk


def test_a_plan_costs_hours_at_the_median_time_of_a_grade(world):
    pair = make_pair(world.collection, "q2", "d")
    assert "hours are unknown until raters have graded pairs" in text(world.get(**world.asked()))
    queue.save(world.rater, pair, queue.Submission(grade=grade(world.collection, "1"), seconds=480), now=NOW)
    # 15 ratings of 8 minutes.
    assert "15 more ratings wanted, about 2 hours of rating" in text(world.get(**world.asked()))


def test_a_pool_that_makes_no_sense_is_not_made(world):
    other = make_collection("sea")
    make_ranking(other, "foreign", "q1", "ab")
    systems = [], [999999], ["x"], ["9" * 25], [other.systems.get().pk]
    for wrong in ({"depth": 0}, {"depth": "deep"}, {"wanted": 101}, *({"systems": each} for each in systems)):
        asked = world.asked() | wrong
        for page in (world.get(**asked), world.post("make_pool", **asked)):
            assert page.status_code == 400 and "plan" not in page.context and "foreign" not in text(page)
    assert not Pair.objects.exists()


# More ratings


def test_more_ratings_of_every_pair_are_shown_first_and_then_wanted(world):
    make_pair(world.collection, "q1", "a", wanted=1)
    make_pair(world.collection, "q1", "b", wanted=3)
    queue.retire([make_pair(world.collection, "q1", "c").pk])
    queue.pairs_for([pk_of(world, "q1", "d")])  # known, but not wanted
    before = rows()
    assert "1 more rating wanted of the 2 pairs in the pool" in text(world.get(more=2))
    for more in ("", "0", "many", "101"):
        assert world.get(more=more).status_code == world.post("want_more", more=more).status_code == 400
    assert rows() == before
    world.post("want_more", more=2)
    assert sorted(Pair.objects.values_list("document__key", "wanted")) == [("a", 2), ("b", 3), ("c", 1), ("d", 0)]


# Fewer ratings


def test_too_many_wanted_ratings_are_withdrawn_after_a_look(world):
    world.post("make_pool", **world.asked(wanted=30))
    queue.save(world.rater, queue.claim(world.rater)[0], queue.Submission(grade=grade(world.collection, "1")))
    queue.retire([make_pair(world.collection, "q2", "d", wanted=30).pk])
    queue.claim(world.rater, 1)
    before = rows()
    page = text(world.get(fewer=3))
    # Of one pair a grade is given, and of another one the rater holds an assignment.
    assert "5 pairs want more than 3 ratings; 135 open ratings would no longer be wanted." in page
    assert rows() == before
    world.post("want_fewer", fewer=3)
    assert "15 ratings requested: 5 pairs want 3 ratings each. 14 are left." in text(world.get())
    Assignment.objects.filter(state="open").delete()
    assert "5 pairs want more than 2 ratings; no open rating would be withdrawn." in text(world.get(fewer=2))
    assert len(queue.held(world.rater)) == 1 and world.rater.ratings.count() == 1
    world.post("want_fewer", fewer=3)
    event = AuditEvent.objects.get(act="pool.fewer")  # of the first time alone
    assert event.detail == {"wanted": 3, "pairs": 6, "withdrawn": 135}
    for wrong in ("", "0", "many", "101"):
        assert world.get(fewer=wrong).status_code == world.post("want_fewer", fewer=wrong).status_code == 400


# Retire and bring back


def test_pairs_are_retired_by_ids_and_come_back(world):
    world.post("make_pool", **world.asked(wanted=2))
    world.post("retire", lines="q1 a\n\nq2\r\nq1\tc\n")
    page = text(world.get())
    assert "3 retired pairs" in page and "4 ratings requested: 2 pairs want 2 ratings each. 4 are left." in page
    assert "3 pairs stay out, because they are retired" in text(world.get(**world.asked(wanted=2)))
    world.post("bring_back", pair=world.token("q1", "a"))
    assert "2 retired pairs" in text(world.get())
    world.post("bring_back", lines="q1\nq2")
    assert "10 ratings requested: 5 pairs want 2 ratings each. 10 are left." in text(world.get())


@pytest.mark.parametrize("act", ["retire", "bring_back"])
def test_a_line_that_names_no_pair_changes_nothing_and_comes_back(world, act):
    make_pair(make_collection("sea", queries=["s1"]), "s1", "a")
    world.post("make_pool", **world.asked())
    before = rows()
    for lines, said in (
        ("q1 a\nq9", "Line 2: “q9” names no pair of the pool."),
        ("q1 a\nq1 z", "Line 2: “q1 z” names no pair of the pool."),
        ("q1 a b", "Line 1: “q1 a b” names no pair of the pool."),
        ("s1 a", "Line 1: “s1 a” names no pair of the pool."),
        *((lines, "") for lines in ("", " \n ", "q1\x00")),
    ):
        page = world.post(act, lines=lines)
        assert page.status_code == 400 and said in text(page)
        assert lines.strip(" \n\x00") in page.content.decode()  # what was typed is still there
    assert rows() == before


def test_pairs_of_another_collection_are_not_there(world):
    foreign = make_pair(make_collection("sea", queries=["s1"]), "s1", "a")
    for token in (foreign.token, "nonsense"):
        assert world.post("retire", pair=token).status_code == 404
    foreign.refresh_from_db()
    assert foreign.retired_at is None


def test_a_warm_up_is_not_brought_back(world):
    world.post("make_pool", **world.asked())
    pair = Pair.objects.get(token=world.token("q1", "a"))
    set_anchor(pair, use="warm_up", grade=grade(world.collection, "3"), explanation="It names the hill.")
    world.post("bring_back", lines="q1 a")
    pair.refresh_from_db()
    assert pair.retired_at


# Holes


def test_holes_are_told_by_query_and_wanted_with_one_click(world):
    world.post("make_pool", **world.asked(systems=[world.dense], wanted=1))
    pair = Pair.objects.get(token=world.token("q1", "c"))
    queue.save(world.rater, pair, queue.Submission(grade=grade(world.collection, "2")), now=NOW)
    page = text(world.get("holes", system=world.bm25.pk, depth=3))
    assert "3 unjudged in the top 3 of bm25" in page and "2 of 3" in page and "1. Title a 2. Title b" in page
    assert "Unjudged documents by system bm25 3 in the top 3 dense 1 in the top 3" in page
    world.post("want_holes", system=world.bm25.pk, depth=3, wanted=2)
    assert Assignment.objects.filter(state="open").count() == 7  # six of the holes, and d of dense
    page = text(world.get("holes", system=world.bm25.pk, depth=3))
    assert "Raters are asked for all of them already" in page and "Ask raters for 3" not in page


def test_holes_that_make_no_sense_are_refused(world):
    for wrong in ({"system": "9999", "depth": "3"}, {"depth": "0"}, {"depth": "x"}, {"wanted": 0}):
        assert "wanted" in wrong or world.get("holes", **wrong).status_code == 400
        wanted = {"system": world.bm25.pk, "depth": 3, "wanted": 1} | wrong
        assert world.post("want_holes", **wanted).status_code == 400
    assert not Pair.objects.exists()


def test_a_collection_without_systems_has_pages(db):
    client = signed_in(make_member(make_collection("sea"), "dora", Role.ADMIN))
    assert [client.get(reverse(name, args=["sea"])).status_code for name in ("pool", "holes")] == [200, 400]


# How pairs come to raters


def test_order_shares_and_break_are_saved_and_nothing_else(world):
    version = world.collection.version
    shares = {"gold_share": "0.1", "repeat_share": "0.05", "break_after": "0"}
    assert world.post("save_judging", order="random", name="Hijacked", **shares).status_code == 302
    world.collection.refresh_from_db()
    now = world.collection
    saved = (now.order, now.gold_share, now.repeat_share, now.break_after)
    assert saved == ("random", Decimal("0.10"), Decimal("0.05"), 0)
    assert (now.name, now.version) == ("Hills", version)


def test_shares_that_make_no_sense_are_refused(world):
    before = rows()
    plain = {"order": "query", "gold_share": "0", "repeat_share": "0", "break_after": "50"}
    shares = [{"gold_share": "0.51"}, {"gold_share": "-0.1"}, {"gold_share": "0.3", "repeat_share": "0.3"}]
    for wrong in (*shares, {"order": "alphabet"}, {"break_after": ""}):
        assert world.post("save_judging", **plain | wrong).status_code == 400
    assert rows() == before


QUERIES = {"pool": 17, "holes": 22}


@pytest.mark.parametrize("name", QUERIES)
def test_the_number_of_database_queries_is_pinned(world, name, django_assert_num_queries):
    asked = world.asked() if name == "pool" else {"system": world.bm25.pk, "depth": 3}
    queue.retire([make_pair(world.collection, "q1", "d").pk])
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(name, **asked).status_code == 200
    make_ranking(world.collection, "third", "q1", "dcba")
    make_ranking(world.collection, "third", "q2", "dcba")
    if name == "pool":
        asked = world.asked(systems=world.collection.systems.all())
    for document in "abc":
        make_pair(world.collection, "q2", document)
        queue.retire([make_pair(world.collection, "q1", document).pk])
    with django_assert_num_queries(QUERIES[name]):
        assert world.get(name, **asked).status_code == 200
