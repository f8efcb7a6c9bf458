"""What an admin decides: limits, queries of one's own, who is active; pairs retired, brought back and released."""

import pytest

from ratings.desk import queue
from ratings.desk.queue import wanting
from ratings.models import Assignment, LostLease, Pair, Rater, Rating
from ratings.pool.pooling import plan_fewer, pool
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_pair,
    make_ranking,
    make_rater,
    record_imported,
)

from .test_queue_batches import make_pool, statements

pytestmark = pytest.mark.django_db

LATE = NOW + 2 * queue.LEASE


@pytest.fixture
def collection():
    return make_pool(queries=3, documents=8, wanted=1)


@pytest.fixture
def alice(collection):
    return make_rater(collection)


def states(pair) -> list[str]:
    return sorted(Assignment.objects.filter(pair=pair).values_list("state", flat=True))


def limited(rater: Rater, limit: int) -> Rater:
    Rater.objects.filter(pk=rater.pk).update(limit=limit)
    return rater


def test_a_limit_counts_what_is_graded_and_held_and_nothing_else(collection, alice):
    limited(alice, 4)
    first, second, third, fourth = queue.claim(alice, 10, now=NOW)
    queue.save(alice, first, queue.Submission(grade=grade(collection, "1")), now=NOW)
    queue.save(alice, second, queue.Submission(reason="language"), now=NOW)
    queue.skip(alice, third, now=NOW)
    assert len(queue.claim(alice, 10, now=NOW)) == 3  # one graded, the fourth and two new ones held
    for task in queue.held(alice):
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1")), now=NOW)
    assert queue.claim(alice, 10, now=NOW) == []
    assert (queue.outlook(alice, now=NOW).why, queue.outlook(alice, now=NOW).left) == ("limit", 0)


def test_queries_of_their_own_are_all_that_a_rater_gets(collection, alice):
    own = collection.queries.order_by("pk")[1]
    alice.queries.set([own])
    assert queue.outlook(alice, now=NOW).left == 8
    got = []
    while tasks := queue.claim(alice, 3, now=NOW):
        got += tasks
        for task in tasks:
            queue.save(alice, task, queue.Submission(grade=grade(collection, "0")), now=NOW)
    assert len(got) == 8 and {task.pair.query for task in got} == {own}
    assert queue.outlook(alice, now=NOW) == queue.Outlook(8, 0, False, 0, None)


def test_what_is_held_of_a_query_that_is_not_theirs_any_more_is_left_to_do():
    collection = make_pool(queries=2, documents=1, wanted=2)
    own, other = collection.queries.order_by("pk")
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    for rater in (bob, alice):
        rater.queries.set([other])
        assert len(queue.claim(rater, now=NOW)) == 1
    queue.stop(bob)  # what he gives back stands before what alice holds
    assert queue.outlook(alice, now=NOW).left == 1
    alice.queries.set([own])
    assert queue.outlook(alice, now=NOW).left == 2


def test_who_is_not_active_gets_nothing_and_keeps_what_was_done(collection, alice):
    first, second = queue.claim(alice, 2, now=NOW)
    queue.save(alice, first, queue.Submission(grade=grade(collection, "1")), now=NOW)
    Rater.objects.filter(pk=alice.pk).update(active=False)
    assert queue.claim(alice, 5, now=NOW) == []
    assert states(second.pair) == ["open"]
    assert queue.outlook(alice, now=NOW).why == "not_active"
    assert queue.save(alice, second, queue.Submission(grade=grade(collection, "2")), now=NOW).outcome == "counted"


def test_a_retired_pair_is_given_to_nobody_and_its_leases_end_quietly(collection, alice):
    first, second = queue.claim(alice, 2, now=NOW)
    assert queue.retire([first.pair.pk], now=NOW) == 1
    assert queue.retire([first.pair.pk], now=LATE) == 0
    assert [task.token for task in queue.held(alice)] == [second.token]
    assert states(first.pair) == []
    assert first.pair.pk not in [task.pair.pk for task in queue.claim(alice, 20, now=NOW)]
    assert Pair.objects.get(pk=first.pair.pk).retired_at == NOW


def test_a_late_grade_of_a_retired_pair_is_kept_and_counts_as_a_rating(collection, alice):
    (task,) = queue.claim(alice, now=NOW)
    queue.retire([task.pair.pk], now=NOW)
    known = queue.task(alice, task.token)
    assert queue.save(alice, known, queue.Submission(grade=grade(collection, "2")), now=NOW).outcome == "retired"
    assert Rating.objects.get().grade == grade(collection, "2")
    assert queue.undo(alice, now=NOW).pair == task.pair
    assert not Rating.objects.exists() and queue.held(alice) == []


def test_a_grade_that_is_taken_back_from_a_retired_pair_leaves_nothing_open(collection, alice):
    (task,) = queue.claim(alice, now=NOW)
    queue.save(alice, task, queue.Submission(grade=grade(collection, "2")), now=NOW)
    queue.retire([task.pair.pk], now=NOW)
    assert states(task.pair) == ["done"]
    queue.save(alice, task, queue.Submission(reason="unclear", base_revision=1), now=NOW)
    assert states(task.pair) == []


def test_nothing_but_unretire_brings_a_retired_pair_back():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "ab")
    pool(collection, depth=2, wanted=2)
    best = Pair.objects.get(document__key="a")
    queue.save(make_rater(collection), best, queue.Submission(grade=grade(collection, "1")), now=NOW)
    queue.retire(list(Pair.objects.values_list("pk", flat=True)), now=NOW)
    assert pool(collection, depth=2, wanted=3).new_ratings == 0
    assert queue.want([best.pk], 3) == 0
    assert Assignment.objects.filter(state="open").count() == 0
    assert queue.unretire(list(Pair.objects.values_list("pk", flat=True))) == 2
    assert queue.unretire([best.pk]) == 0
    # Three of each are wanted by now, of which one is done, and they come at the depth that they had.
    assert states(best) == ["done", "open", "open"]
    other = Pair.objects.get(document__key="b")
    assert list(Assignment.objects.filter(pair=other).values_list("depth", flat=True)) == [2, 2, 2]


def test_more_pairs_than_a_statement_takes_are_retired_and_brought_back(collection, monkeypatch):
    monkeypatch.setattr(wanting, "ROWS_PER_STATEMENT", 5)
    pairs = list(Pair.objects.values_list("pk", flat=True))
    assert (queue.retire(pairs, now=NOW), Assignment.objects.count()) == (24, 0)
    assert (queue.unretire(pairs), Assignment.objects.count()) == (24, 24)


def test_release_lets_a_late_grade_fill_the_place(collection, alice):
    pair = make_pair(collection, "q0", "d0")
    bob = make_rater(collection, "bob")
    Assignment.objects.exclude(pair=pair).delete()
    queue.claim(alice, now=NOW)
    queue.claim(bob, now=LATE)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3")), now=LATE)
    queue.stop(bob)
    assert list(Assignment.objects.values_list("rater__name", "state")) == [("alice", "done")]


def test_an_import_for_who_holds_the_pair_fills_their_own_assignment(collection, alice):
    (task,) = queue.claim(alice, now=NOW)
    row = Imported(task.pair.query_id, task.pair.document_id, grade(collection, "2"))
    record_imported(alice, [row], at=NOW)
    assert states(task.pair) == ["done"]
    assert queue.held(alice) == []


def test_fewer_ratings_are_wanted_and_nobody_loses_what_they_gave_or_hold():
    """Of five wanted ratings one is given, one is held, one lease ran out, and two are open."""
    collection = make_collection()
    pair = make_pair(collection, wanted=5)
    alice, bob, carol, dora = (make_rater(collection, name) for name in ("alice", "bob", "carol", "dora"))
    one = queue.Submission(grade=grade(collection, "1"))
    queue.save(alice, pair, one, now=NOW)
    (held,) = queue.claim(bob, now=NOW)
    queue.claim(carol, now=NOW)
    Assignment.objects.filter(rater=carol).update(leased_until=NOW - queue.LEASE)
    assert states(pair) == ["done", "leased", "leased", "open", "open"]
    for wanted, plan, left in (
        (5, (0, 0, 0), ["done", "leased", "leased", "open", "open"]),
        (3, (1, 2, 0), ["done", "leased", "leased"]),
        (1, (1, 1, 1), ["done", "leased"]),
    ):
        planned = plan_fewer(collection, wanted, now=NOW)
        assert tuple(planned.values()) == plan
        assert queue.want_fewer([pair.pk], wanted, now=NOW) == plan[1]
        assert states(pair) == left
    pair.refresh_from_db()
    assert pair.wanted == 1
    assert LostLease.objects.filter(rater=carol, pair=pair).exists()
    assert queue.claim(dora, now=NOW + 2 * queue.LEASE) == [], "nobody gets what bob holds"
    assert queue.save(bob, held, one, now=NOW).outcome == "counted" and states(pair) == ["done", "done"]
    assert queue.save(carol, pair, one, now=NOW).rating, "what was lost is kept"
    assert pair.ratings.count() == 3
    queue.want_fewer([pair.pk], 1, now=NOW)
    queue.want([pair.pk], 4)
    assert pair.ratings.count() == 3 and states(pair) == ["done", "done", "done", "open", "open"]


def test_a_retired_pair_comes_back_with_the_lower_number(collection):
    pair = Pair.objects.first()
    queue.want([pair.pk], 9)
    queue.retire([pair.pk], now=NOW)
    assert queue.want_fewer([pair.pk], 2, now=NOW) == 0
    queue.unretire([pair.pk])
    assert states(pair) == ["open", "open"]


def test_everything_that_is_held_is_given_back_by_one_query(collection, alice):
    queue.claim(alice, 10, now=NOW)
    # The lock, the checks, what is held, the release, and who has lost what.
    assert len(statements(lambda: queue.stop(alice))) == 5
