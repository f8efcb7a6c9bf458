"""Batches: what a rater holds at once, in which order, and how many database queries an act takes."""

from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings.desk import queue
from ratings.models import Assignment, Collection, LostLease, Rater
from ratings.tests.cast import NOW, grade, make_collection, make_rater

pytestmark = pytest.mark.django_db

LATE = NOW + 2 * queue.LEASE


def make_pool(chosen: str = "query", *, queries: int = 4, documents: int = 60, wanted: int = 2) -> Collection:
    collection = make_collection(
        queries=[f"q{i}" for i in range(queries)], documents=[f"d{i}" for i in range(documents)]
    )
    Collection.objects.filter(pk=collection.pk).update(order=chosen)
    documents = list(collection.documents.values_list("pk", flat=True))
    ids = queue.pairs_for(
        [(query, pk) for query in collection.queries.values_list("pk", flat=True) for pk in documents]
    )
    queue.want(list(ids.values()), wanted, depths={pair: 1 + place % 7 for place, pair in enumerate(ids.values())})
    return Collection.objects.get(pk=collection.pk)


def statements(act) -> list[str]:
    """The SQL of an act without the savepoint around it, which stands for the transaction of a server."""
    with CaptureQueriesContext(connection) as asked:
        act()
    begin, *sql, end = (query["sql"] for query in asked.captured_queries)
    assert begin.startswith("SAVEPOINT") and end.startswith("RELEASE SAVEPOINT")
    assert not any("SAVEPOINT" in one for one in sql)
    return sql


@pytest.mark.both_databases
@pytest.mark.parametrize("chosen", Collection.Order.values)
def test_a_claim_makes_the_rater_hold_as_many_as_they_asked_for(chosen):
    alice = make_rater(make_pool(chosen))
    first = queue.claim(alice, 4, now=NOW)
    assert len({task.pair.pk for task in first}) == 4
    more = queue.claim(alice, 10, now=NOW)
    assert more[:4] == first and len(more) == 10
    assert queue.claim(alice, 2, now=NOW) == more, "a smaller claim takes nothing away"
    assert queue.held(alice) == more, "a reload changes the order"
    assert len(queue.claim(alice, 100, now=NOW)) == queue.MOST_HELD == 20


@pytest.mark.both_databases
def test_a_batch_goes_on_in_the_next_query_where_the_first_has_too_few():
    collection = make_pool(queries=3, documents=6)
    tasks = queue.claim(make_rater(collection), 8, now=NOW)
    queries = [task.pair.query_id for task in tasks]
    assert len(set(queries[:6])) == 1 and len(set(queries[6:])) == 1 and queries[0] != queries[6]


@pytest.mark.both_databases
def test_a_task_holds_query_document_and_what_the_rater_wrote_before():
    collection = make_pool()
    alice = make_rater(collection)
    task = queue.claim(alice, now=NOW)[0]
    queue.save(alice, task, queue.Submission(grade=grade(collection, "3"), comment="all five steps"), now=NOW)
    queue.undo(alice, now=NOW)
    (again,) = queue.held(alice)
    assert (again.token, again.rating, again.comment) == (task.token, None, "all five steps")
    with CaptureQueriesContext(connection) as asked:
        assert again.pair.query.text and again.pair.document.title
    assert len(asked) == 0


@pytest.mark.both_databases
def test_a_claim_renews_every_lease():
    alice = make_rater(make_pool())
    queue.claim(alice, 5, now=NOW)
    queue.claim(alice, 5, now=LATE)
    assert set(Assignment.objects.filter(rater=alice).values_list("leased_until", flat=True)) == {
        LATE + queue.LEASE
    }


@pytest.mark.both_databases
@pytest.mark.parametrize("chosen", Collection.Order.values)
def test_a_claim_takes_four_queries(chosen):
    collection = make_pool(chosen)
    alice = make_rater(collection)
    for task in queue.claim(alice, 10, now=NOW)[:3]:
        queue.save(alice, task, queue.Submission(grade=grade(collection, "0")), now=NOW)
    assert len(statements(lambda: queue.claim(alice, 10, now=NOW))) == 4


@pytest.mark.both_databases
def test_where_the_query_is_exhausted_a_claim_takes_one_more_for_each_new_one():
    collection = make_pool(queries=30, documents=8)
    alice = make_rater(collection)
    assert len(statements(lambda: queue.claim(alice, 8, now=NOW))) == 5  # none is at hand yet
    assert len(statements(lambda: queue.claim(alice, 10, now=NOW))) == 5


@pytest.mark.both_databases
def test_a_limit_is_counted_after_the_lock_by_one_query_more():
    collection = make_pool()
    alice = make_rater(collection)
    queue.claim(alice, 2, now=NOW)
    Rater.objects.filter(pk=alice.pk).update(limit=7)
    assert len(statements(lambda: queue.claim(alice, 5, now=NOW))) == 5


@pytest.mark.both_databases
def test_near_the_end_the_share_is_counted_by_two_queries_more():
    alice = make_rater(make_pool(queries=1, documents=40))
    queue.claim(alice, 2, now=NOW)
    assert len(statements(lambda: queue.claim(alice, 5, now=NOW))) == 6


@pytest.mark.both_databases
def test_a_grade_of_what_is_held_takes_four_queries_and_a_further_one_five():
    collection = make_pool()
    alice = make_rater(collection)
    first, second, *_ = queue.claim(alice, 5, now=NOW)
    grades = [
        {"grade": grade(collection, "2"), "client_key": uuid4()},
        {"grade": grade(collection, "1"), "base_revision": 1, "client_key": uuid4()},
    ]
    # What the rater has done with the pair before is counted, since no pair takes acts without end.
    for sent, queries in zip(grades, (4, 5), strict=True):
        submission = queue.Submission(**sent)
        assert len(statements(lambda sent=submission: queue.save(alice, first, sent, now=NOW))) == queries
    # To give it back is to look whether a late grade fills it, and to remember who held it.
    assert len(statements(lambda: queue.save(alice, second, queue.Submission(reason="broken"), now=NOW))) == 6


@pytest.mark.both_databases
def test_a_retry_takes_two_queries():
    collection = make_pool()
    alice = make_rater(collection)
    task, key = queue.claim(alice, now=NOW)[0], uuid4()
    sent = queue.Submission(grade=grade(collection, "2"), client_key=key)
    queue.save(alice, task, sent, now=NOW)
    assert len(statements(lambda: queue.save(alice, task, sent, now=NOW))) == 2


@pytest.mark.parametrize(("open_pairs", "people", "most"), [(40, 1, 20), (12, 4, 3), (3, 4, 1)])
def test_near_the_end_nobody_holds_more_than_their_share(open_pairs, people, most):
    collection = make_pool(queries=1, documents=open_pairs, wanted=1)
    raters = [make_rater(collection, f"rater{i}") for i in range(people)]
    assert len(queue.claim(raters[0], 20, now=NOW)) == most


def test_who_is_not_at_work_takes_no_share():
    collection = make_pool(queries=1, documents=40, wanted=1)
    alice, *others = (make_rater(collection, name) for name in ("alice", "bob", "carol", "dora"))
    bob, carol, dora = (rater.user for rater in others)
    Rater.objects.filter(user=bob).update(active=False)
    collection.memberships.filter(user=carol).delete()
    get_user_model().objects.filter(pk=dora.pk).update(is_superuser=True)
    Rater.objects.create(collection=collection, name="qrels", kind=Rater.Kind.IMPORTED)
    assert len(queue.claim(alice, 20, now=NOW)) == 20


def test_a_task_is_known_to_who_holds_held_or_rated_it_and_to_nobody_else():
    collection = make_pool()
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    rated, lost, kept = queue.claim(alice, 3, now=NOW)
    queue.save(alice, rated, queue.Submission(grade=grade(collection, "1")), now=NOW)
    Assignment.objects.exclude(pair=lost.pair).delete()
    Assignment.objects.filter(pair=lost.pair, state="open").delete()
    assert [task.pair for task in queue.claim(bob, now=LATE)] == [lost.pair]
    assert LostLease.objects.get().rater == alice
    for task in (rated, lost):
        assert queue.task(alice, task.token).pair == task.pair
    assert queue.task(bob, rated.token) is None
    assert queue.task(bob, uuid4()) is None
    assert (
        queue.save(
            alice, queue.task(alice, lost.token), queue.Submission(grade=grade(collection, "2")), now=LATE
        ).outcome
        == "surplus"
    )


def test_what_is_stopped_can_still_be_sent():
    collection = make_pool()
    alice = make_rater(collection)
    (task,) = queue.claim(alice, now=NOW)
    queue.stop(alice)
    assert queue.held(alice) == []
    assert (
        queue.save(
            alice, queue.task(alice, task.token), queue.Submission(grade=grade(collection, "2")), now=NOW
        ).outcome
        == "counted"
    )


def test_undo_reaches_twenty_acts_back():
    collection = make_pool()
    alice, keys = make_rater(collection), [uuid4() for _ in range(21)]
    for key in keys:
        (task,) = queue.claim(alice, now=NOW)
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1"), client_key=key), now=NOW)
    assert [event.client_key for event in queue.last_acts(alice)] == keys[:0:-1]
    assert queue.undo(alice, act=keys[0], now=NOW) is None
    assert queue.undo(alice, act=keys[1], now=NOW) is not None


def test_who_undoes_with_full_hands_gives_back_the_last():
    collection = make_pool()
    alice = make_rater(collection)
    (first, *_) = queue.claim(alice, 20, now=NOW)
    queue.save(alice, first, queue.Submission(grade=grade(collection, "1")), now=NOW)
    *kept, last = queue.claim(alice, 20, now=NOW)
    queue.undo(alice, now=NOW)
    assert [task.token for task in queue.held(alice)] == [first.token, *(task.token for task in kept)]
    assert not Assignment.objects.filter(pair=last.pair, rater=alice).exists()
