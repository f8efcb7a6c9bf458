"""The orders by rounds: round by round, in each of them query by query or mixed, and then what was not drawn."""

from collections import Counter
from itertools import groupby

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings.desk import queue
from ratings.desk.queue import mixing
from ratings.models import UNDRAWN, Assignment, Collection, Pair
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_pair,
    make_rater,
    make_round,
    next_pair,
    record_imported,
)

from .test_order import plans
from .test_queue_batches import statements

pytestmark = pytest.mark.django_db

LATE = NOW + 2 * queue.LEASE
Rated = list[tuple[str, str]]


def make_pool(*, queries: int = 3, documents: int = 6, wanted: int = 1, order: str = "decisive") -> Collection:
    collection = make_collection(
        queries=[f"q{i}" for i in range(queries)], documents=[f"d{i}" for i in range(documents)]
    )
    Collection.objects.filter(pk=collection.pk).update(order=order)
    places = [
        (query, document)
        for query in collection.queries.values_list("pk", flat=True)
        for document in collection.documents.values_list("pk", flat=True)
    ]
    queue.want(list(queue.pairs_for(places).values()), wanted)
    return Collection.objects.get(pk=collection.pk)


def of(*places: str) -> list[Pair]:
    """The pairs at places such as "q1 d0"."""
    found = {f"{pair.query.key} {pair.document.key}": pair for pair in Pair.objects.all()}
    return [found[place] for place in places]


def place_of(pair: Pair) -> str:
    return f"{pair.query.key} {pair.document.key}"


def rated(rater, n: int = 1000, *, count: int = 1) -> list[str]:
    """The next `n` pairs, each rated; `count`: how many the rater holds at once."""
    got = []
    while len(got) < n and (tasks := queue.claim(rater, count, now=NOW)):
        queue.save(rater, tasks[0], queue.Submission(grade=grade(rater.collection, "0")), now=NOW)
        got.append(place_of(tasks[0].pair))
    return got


def blocks(got: list[str]) -> list[tuple[str, set[str]]]:
    """Each query that came in one piece, with its documents."""
    return [
        (query, {place.split()[1] for place in places})
        for query, places in groupby(got, key=lambda place: place.split()[0])
    ]


# Rounds and queries


@pytest.mark.parametrize("count", [1, 5])
def test_the_oldest_round_comes_first_query_by_query_and_then_what_was_not_drawn(count):
    collection = make_pool()
    make_round(collection, of("q2 d0", "q0 d1", "q2 d4", "q0 d2"))
    make_round(collection, of("q1 d0", "q0 d0", "q1 d5"), greedy=1)
    got = rated(make_rater(collection), count=count)
    assert blocks(got[:7]) == [
        ("q0", {"d1", "d2"}),
        ("q2", {"d0", "d4"}),
        # From the query at hand on, and around.
        *([("q0", {"d0"}), ("q1", {"d0", "d5"})]),
    ]
    assert len(got) == len(set(got)) == 18
    assert sorted(Counter(query for query, _ in blocks(got[7:])).values()) == [1, 1, 1]


def test_a_round_that_is_stored_while_others_rate_comes_before_what_was_not_drawn():
    collection = make_pool()
    alice = make_rater(collection)
    held = queue.claim(alice, 2, now=NOW)
    other = [place for place in ("q2 d0", "q2 d1") if place not in map(place_of, (t.pair for t in held))]
    make_round(collection, of(*other))
    assert queue.claim(alice, 2, now=NOW) == held, "what is held stays"
    got = rated(alice, 2 + len(other), count=2)
    assert got[:2] == [place_of(task.pair) for task in held]
    assert sorted(got[2:]) == sorted(other)


@pytest.mark.both_databases
def test_two_raters_work_at_one_round_and_each_goes_on_when_it_has_nothing_for_them():
    collection = make_pool(wanted=2)
    alice, bob, carla = (make_rater(collection, name) for name in ("alice", "bob", "carla"))
    make_round(collection, of("q0 d0", "q0 d1"))
    make_round(collection, of("q1 d0"))
    first, second = {"q0 d0", "q0 d1"}, {"q1 d0"}
    assert set(rated(alice, 2)) == first and set(rated(alice, 1)) == second
    assert set(rated(bob, 2)) == first
    assert rated(carla, 1) == ["q1 d0"], "two ratings of each were wanted"
    assert rated(carla, 1)[0] not in first | second


def test_raters_of_some_queries_get_the_rounds_of_these():
    collection = make_pool()
    make_round(collection, of("q0 d0", "q1 d0"))
    make_round(collection, of("q0 d1", "q2 d1"))
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    alice.queries.set(collection.queries.filter(key__in=["q1", "q2"]))
    bob.queries.set(collection.queries.filter(key="q1"))
    assert rated(alice, 2) == ["q1 d0", "q2 d1"]
    assert {place.split()[0] for place in rated(bob)} == {"q1"}


# What changes while rounds are open


def rounds_of(pair: Pair) -> list[int]:
    return sorted(Assignment.objects.filter(pair=pair).values_list("round", flat=True))


def test_a_pair_keeps_its_round_when_it_is_retired_and_comes_back():
    collection = make_pool()
    (pair,) = of("q0 d0")
    drawn = make_round(collection, [pair]).drawn.get()
    make_round(collection, of("q1 d0"))
    queue.retire([pair.pk], now=NOW)
    assert rounds_of(pair) == []
    alice = make_rater(collection)
    assert rated(alice, 1) == ["q1 d0"], "a retired pair keeps nobody"
    queue.unretire([pair.pk])
    assert rounds_of(pair) == [1]
    assert rated(alice, 1) == ["q0 d0"]
    drawn.refresh_from_db()
    assert (drawn.round.number, drawn.born) == (1, 0)


def test_more_ratings_of_a_drawn_pair_are_of_its_round():
    collection = make_pool()
    (pair,) = of("q0 d0")
    make_round(collection, of("q1 d0"))
    make_round(collection, [pair])
    queue.want([pair.pk], 3)
    assert rounds_of(pair) == [2, 2, 2]
    assert Pair.objects.get(pk=pair.pk).born == 0, "it was there from the start"


def test_who_comes_to_the_pool_later_is_born_after_the_rounds_before():
    collection = make_pool(queries=1, documents=2)
    collection.documents.create(key="e0")
    collection.documents.create(key="e1")
    imported = make_pair(collection, "q0", "e1", wanted=0)
    make_round(collection, of("q0 d0"))
    late = make_pair(collection, "q0", "e0")
    record_imported(
        make_rater(collection, "trec"), [Imported(imported.query_id, imported.document_id, None, "broken")]
    )
    make_round(collection, of("q0 d1"))
    queue.want([imported.pk], 1)
    assert dict(Pair.objects.values_list("document__key", "born")) == {"d0": 0, "d1": 0, "e0": 1, "e1": 2}
    made = make_round(collection, [late, imported])
    assert list(made.drawn.values_list("pair__document__key", "born")) == [("e0", 1), ("e1", 2)]
    queue.retire([late.pk], now=NOW)
    queue.unretire([late.pk])
    assert Pair.objects.get(pk=late.pk).born == 3, "later rounds alone can say how likely it was"
    assert made.drawn.get(pair=late).born == 1


def test_another_collection_has_rounds_of_its_own():
    collection, other = make_pool(), make_collection("sea")
    make_round(collection, of("q0 d0"))
    pair = make_pair(other)
    assert (pair.born, rounds_of(pair)) == (0, [UNDRAWN])


def test_what_waits_in_rounds_is_counted_as_far_as_it_is_asked():
    collection = make_pool(wanted=2)
    assert queue.waiting_in_rounds(collection, 10) == 0
    make_round(collection, of("q0 d0", "q1 d0"))
    assert (queue.waiting_in_rounds(collection, 10), queue.waiting_in_rounds(collection, 3)) == (4, 3)
    alice = make_rater(collection)
    assert next_pair(alice) and queue.waiting_in_rounds(collection, 10) == 4, "what is held is still to be rated"
    (done,) = rated(alice, 1)
    assert queue.waiting_in_rounds(collection, 10) == 2, "a further rating of a pair that has one does not count"
    queue.retire([pair.pk for pair in of("q0 d0", "q1 d0") if place_of(pair) != done], now=NOW)
    assert queue.waiting_in_rounds(collection, 10) == 0


# At random


@pytest.mark.parametrize("count", [1, 20])
def test_at_random_the_oldest_round_comes_first_and_is_mixed(count):
    collection = make_pool(documents=20, order="random")
    drawn = [f"q{query} d{i}" for query in range(3) for i in range(16)]
    make_round(collection, of(*drawn[::2]))
    make_round(collection, of(*drawn[1::2]))
    got = rated(make_rater(collection), count=count)
    assert (set(got[:24]), set(got[24:48])) == (set(drawn[::2]), set(drawn[1::2]))
    assert len(got) == len(set(got)) == 60
    assert all(len(blocks(got[start : start + 24])) > 8 for start in (0, 24))


def test_what_could_not_be_drawn_comes_with_its_round_or_an_older_one():
    collection = make_pool(order="random")
    gold(collection, "q1 d0")
    make_round(collection, of("q0 d0", "q2 d1"), beside=of("q1 d0"))
    make_round(collection, of("q0 d1", "q2 d2"), beside=of("q1 d0", "q1 d1"))
    got = rated(make_rater(collection))
    assert (set(got[:3]), set(got[3:6])) == ({"q0 d0", "q2 d1", "q1 d0"}, {"q0 d1", "q2 d2", "q1 d1"})


def test_at_random_too_an_index_leads_to_the_next_pair_of_a_round():
    collection = make_pool(order="random")
    make_round(collection, of("q1 d0", "q1 d1", "q2 d0"))
    alice = make_rater(collection)
    rated(alice, 1)
    plan = plans(lambda: queue.claim(alice, 6, now=NOW))
    assert "assignment_by_lot" in plan
    assert "TEMP B-TREE" not in plan and "Sort Key: ratings_assignment" not in plan


# Gold and repeats


def gold(collection: Collection, *places: str) -> set[str]:
    for pair in of(*places):
        set_anchor(pair, use="gold", grade=grade(collection, "1"), explanation="", now=NOW)
    return set(places)


@pytest.mark.slow
def test_gold_comes_with_its_query_about_as_much_in_each_of_its_rounds():
    """Of forty ten are wanted and were not drawn; of the others nothing is wanted any more."""
    collection = make_pool(queries=2, documents=80)
    golds = gold(collection, *(f"q0 d{i}" for i in range(40, 80)))
    bob = make_rater(collection, "bob")
    for pair in of(*sorted(golds)[10:]):
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    drawn = [{f"{query} d{i}" for query in ("q0", "q1") for i in range(k, k + 5)} for k in range(0, 20, 5)]
    for places in drawn:
        make_round(collection, of(*places))
    Collection.objects.update(gold_share="0.5")
    got = rated(make_rater(collection), count=3)
    in_rounds = got[: 1 + max(place for place, what in enumerate(got) if what in set().union(*drawn))]
    others = [what for what in in_rounds if what not in golds]
    assert [set(others[k : k + 10]) for k in range(0, 40, 10)] == drawn
    # Half as many as drawn pairs of q0 are expected, 10, and not as many as the whole query has, 40.
    assert 1 <= len(in_rounds) - len(others) <= 24
    assert [query for query, _ in blocks(in_rounds)] == ["q0", "q1", "q0", "q1", "q0"]


def test_no_candidate_is_lost_where_a_query_comes_in_several_rounds_of_one_claim():
    collection = make_pool(queries=2, documents=6)
    gold(collection, "q0 d5")
    make_round(collection, of("q0 d0", "q1 d0"))
    make_round(collection, of("q0 d1", "q1 d1"))
    Collection.objects.update(gold_share="0.01")
    got = [place_of(task.pair) for task in queue.claim(make_rater(collection), 4, now=NOW)]
    rest = [place for place in got if place != "q0 d5"]  # the gold may be among the four
    assert len(got) == 4 and rest == ["q0 d0", "q1 d0", "q0 d1", "q1 d1"][: len(rest)]


def test_a_repeat_comes_with_its_query_or_between_two(monkeypatch):
    monkeypatch.setattr(mixing, "ACTS_BEFORE_REPEAT", 3)
    monkeypatch.setattr(mixing, "PAIRS_BEFORE_REPEATS", 3)
    collection = make_pool(queries=3, documents=12)
    for k in (0, 4, 8):
        make_round(collection, of(*(f"q{query} d{i}" for query in range(3) for i in range(k, k + 4))))
    Collection.objects.update(repeat_share="0.5")
    got = rated(make_rater(collection))
    repeated = [place for place, n in Counter(got).items() if n == 2]
    assert len(repeated) > 6
    seen, within = set(), []
    for before, place, after in zip(got, got[1:], got[2:], strict=False):
        seen.add(before)
        if place in seen and place.split()[0] != before.split()[0]:
            within.append(before.split()[0] == after.split()[0])
    assert not any(within), "a repeat of another query stood among the documents of one"


# Cost


@pytest.mark.both_databases
def test_a_claim_takes_four_queries_and_one_more_for_each_query_of_a_round():
    collection = make_pool(queries=4, documents=60)
    make_round(collection, of(*(f"q{query} d{i}" for query in range(4) for i in range(5))))
    make_round(collection, of(*(f"q{query} d{i}" for query in range(4) for i in range(5, 30))))
    alice = make_rater(collection)
    assert len(statements(lambda: queue.claim(alice, 5, now=NOW))) == 4
    queue.stop(alice)
    assert len(statements(lambda: queue.claim(alice, 10, now=NOW))) == 5
    rated(alice, 20, count=10)
    assert len(statements(lambda: queue.claim(alice, 20, now=NOW))) == 4


@pytest.mark.both_databases
def test_an_index_leads_to_the_next_pair_of_a_round():
    collection = make_pool()
    make_round(collection, of("q1 d0", "q1 d1", "q2 d0"))
    alice = make_rater(collection)
    rated(alice, 1)
    for _ in range(2):
        plan = plans(lambda: queue.claim(alice, 6, now=NOW))
        assert "assignment_by_round" in plan
        assert "TEMP B-TREE" not in plan and "Sort Key: ratings_assignment" not in plan
        queue.stop(alice)


def test_to_store_a_round_takes_as_many_queries_whatever_its_size(django_assert_num_queries):
    collection = make_pool(documents=20)
    pairs = of(*(f"q{query} d{i}" for query in range(3) for i in range(20)))
    taken = []
    for some in (pairs[:1], pairs[1:]):
        with CaptureQueriesContext(connection) as asked:
            make_round(collection, some)
        taken.append(len(asked))
    assert taken[0] == taken[1]
