"""In which order pairs come, and that an index leads there."""

import re
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings.database import prepared
from ratings.desk import queue
from ratings.desk.queue import order
from ratings.models import UNRANKED, Assignment, Collection
from ratings.pool.pooling import pool
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_ranking, make_rater, next_pair

pytestmark = pytest.mark.django_db

QUERIES, DOCUMENTS = [f"q{i}" for i in range(5)], "abcdef"


def make_pool(chosen: str = "query", *, wanted: int = 2) -> Collection:
    """Two systems: by both together, a is the best of each query, then b and d, then c; e and f are in no list."""
    collection = make_collection(queries=QUERIES, documents=DOCUMENTS)
    Collection.objects.filter(pk=collection.pk).update(order=chosen)
    for query in QUERIES:
        make_ranking(collection, "bm25", query, "abc")
        make_ranking(collection, "dense", query, "adc")
    pool(collection, depth=3, wanted=wanted)
    return Collection.objects.get(pk=collection.pk)


def rated_in_order(rater, collection, n: int = 1000) -> list[tuple[str, str]]:
    """(query, document) of the next `n` pairs, each rated."""
    got = []
    while len(got) < n and (pair := next_pair(rater)):
        queue.save(rater, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
        got.append((pair.query.key, pair.document.key))
    return got


def changes(got: list[tuple[str, str]]) -> int:
    return sum(a[0] != b[0] for a, b in zip(got, got[1:], strict=False))


def test_every_order_that_can_be_chosen_exists():
    assert set(order.ORDERS) == set(Collection.Order.values)


def test_query_by_query_a_query_comes_in_one_piece():
    collection = make_pool("query")
    assert changes(rated_in_order(make_rater(collection), collection)) == len(QUERIES) - 1


def test_at_random_queries_come_mixed():
    collection = make_pool("random")
    assert changes(rated_in_order(make_rater(collection), collection)) > 2 * len(QUERIES)


@pytest.mark.both_databases
def test_best_first_gives_each_depth_whole_before_the_next():
    collection = make_pool("depth")
    documents = [document for _, document in rated_in_order(make_rater(collection), collection)]
    assert documents[:5] == ["a"] * 5
    assert sorted(documents[5:15]) == ["b"] * 5 + ["d"] * 5
    assert documents[15:] == ["c"] * 5


@pytest.mark.both_databases
@pytest.mark.parametrize("chosen", Collection.Order.values)
def test_two_raters_get_every_pair_once_in_different_orders(chosen):
    collection = make_pool(chosen)
    alice, bob = (rated_in_order(make_rater(collection, name), collection) for name in ("alice", "bob"))
    assert sorted(alice) == sorted(bob) == sorted((q, d) for q in QUERIES for d in "abcd")
    assert alice != bob


@pytest.mark.parametrize("chosen", Collection.Order.values)
def test_to_stop_and_come_back_changes_nothing(chosen):
    collection = make_pool(chosen)
    alice = make_rater(collection)
    rated_in_order(alice, collection, 3)
    first = next_pair(alice)
    for _ in range(5):
        queue.stop(alice)
        assert next_pair(alice) == first


def test_the_point_of_a_rater_is_fixed_and_differs_by_rater_and_pair():
    assert order.start_point(1, None) == order.start_point(1, None)
    points = {order.start_point(rater, pair) for rater in range(100) for pair in range(100)}
    assert len(points) == 10_000
    assert 0.45 < sum(points) / len(points) / 2**31 < 0.55


@pytest.mark.both_databases
@pytest.mark.parametrize("chosen", Collection.Order.values)
def test_pairs_put_off_come_last_the_longest_put_off_first(chosen):
    collection = make_pool(chosen)
    alice = make_rater(collection)
    put_off = []
    for _ in range(3):
        put_off.append(next_pair(alice))
        queue.skip(alice, put_off[-1], now=NOW)
    assert len({pair.pk for pair in put_off}) == 3
    rest = rated_in_order(alice, collection, 17)
    assert not {(pair.query.key, pair.document.key) for pair in put_off} & set(rest)
    for pair in [*put_off, *put_off]:  # put off again, the round begins again
        assert next_pair(alice) == pair
        queue.skip(alice, pair, now=NOW)


@pytest.mark.both_databases
def test_a_better_place_in_a_new_system_brings_a_pair_forward():
    collection = make_pool("depth")
    depths = dict(Assignment.objects.filter(query__key="q1").values_list("pair__document__key", "depth"))
    assert depths == {"a": 1, "b": 2, "d": 2, "c": 3}
    make_ranking(collection, "hybrid", "q1", "cef")
    pool(collection, depth=2, wanted=1)
    depths = dict(Assignment.objects.filter(query__key="q1").values_list("pair__document__key", "depth"))
    assert depths == {"a": 1, "b": 2, "d": 2, "c": 1, "e": 2}


def test_more_ratings_of_a_pair_have_its_depth_and_a_pair_of_no_system_comes_last():
    collection = make_pool("depth")
    make_pair(collection, "q1", "f")
    make_pair(collection, "q1", "a", wanted=3)
    depths = Assignment.objects.filter(query__key="q1", pair__document__key__in="af").values_list(
        "depth", flat=True
    )
    assert sorted(depths) == [1, 1, 1, UNRANKED]
    assert rated_in_order(make_rater(collection), collection)[-1] == ("q1", "f")


def test_the_pool_command_chooses_the_order():
    collection = make_pool("query")
    call_command("pool", "hills", "--order", "depth")
    collection.refresh_from_db()
    assert collection.order == "depth"
    call_command("pool", "hills")
    collection.refresh_from_db()
    assert collection.order == "depth"
    with pytest.raises(CommandError, match="invalid choice: 'best'"):
        call_command("pool", "hills", "--order", "best")


def plans(act, asks: str = " AS part0 ", begins: str = "SELECT") -> str:
    """How the database walks the assignments in the SELECTs that look for the next one, or in other statements."""
    # In full, and not by the names of prepared statements.
    in_full = patch.object(prepared, "can_prepare", return_value=False)
    with CaptureQueriesContext(connection) as asked, in_full:
        act()
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    told = []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # The few rows of a test are read whole and sorted faster than by any index.
            for way in ("seqscan", "bitmapscan", "sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        for query in asked.captured_queries:
            if query["sql"].startswith(begins) and asks in query["sql"]:
                cursor.execute(f"{explain} {query['sql']}")
                told += [str(row) for row in cursor.fetchall()]
    return "\n".join(told)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("chosen", "index"),
    [
        ("query", "assignment_by_query"),
        ("depth", "assignment_by_depth"),
        ("random", "assignment_by_lot"),
        ("decisive", "assignment_by_round"),
    ],
)
def test_an_index_leads_to_the_next_pair(chosen, index):
    collection = make_pool(chosen)
    alice = make_rater(collection)
    rated_in_order(alice, collection, 1)
    plan = plans(lambda: next_pair(alice))
    assert index in plan
    assert "TEMP B-TREE" not in plan and "Sort Key: ratings_assignment" not in plan


@pytest.mark.both_databases
def test_an_index_leads_to_the_next_query():
    """Otherwise each rater would wait at each new query until all that is open was sorted."""
    collection = make_pool("query")
    plan = plans(lambda: next_pair(make_rater(collection)))
    assert "assignment_by_lot" in plan
    assert "TEMP B-TREE" not in plan and "Sort Key" not in plan


@pytest.mark.both_databases
def test_the_next_query_is_one_of_the_oldest_round():
    collection = make_pool("query")
    for oldest in sorted(set(Assignment.objects.values_list("query", flat=True))):
        Assignment.objects.update(round=2)
        Assignment.objects.filter(query=oldest).update(round=1)
        for start in range(4):  # each rater begins at another place
            assert next_pair(make_rater(collection, f"{oldest}-{start}")).query_id == oldest


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("begins", "asks"),
    [
        ("SELECT", '"ratings_rater"."guidelines_read"'),  # the lock
        ("SELECT", '"document_id"'),  # what is held
        ("UPDATE", '"turn" = CASE'),
    ],
)
def test_no_statement_of_a_claim_reads_all_assignments_or_events(begins, asks):
    collection = make_pool()
    alice = make_rater(collection)
    rated_in_order(alice, collection, 2)
    plan = plans(lambda: queue.claim(alice, 5, now=NOW), asks, begins)
    large = "ratings_assignment|ratings_rating|ratings_ratingevent|ratings_pair|ratings_document|U[0-9]"
    assert plan and not re.search(rf"(SCAN|Seq Scan on) ({large})\b", plan), plan


def test_the_outlook_counts_far_enough_and_says_that_there_is_more(monkeypatch):
    collection = make_pool()
    alice = make_rater(collection)
    assert (queue.outlook(alice, now=NOW).left, queue.outlook(alice, now=NOW).more) == (20, False)
    monkeypatch.setitem(queue.outlook.__globals__, "MOST_COUNTED_PAIRS", 20)
    assert not queue.outlook(alice, now=NOW).more
    monkeypatch.setitem(queue.outlook.__globals__, "MOST_COUNTED_PAIRS", 19)
    assert (queue.outlook(alice, now=NOW).left, queue.outlook(alice, now=NOW).more) == (19, True)
