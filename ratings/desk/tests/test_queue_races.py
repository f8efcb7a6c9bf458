"""What several raters, or several tabs of one, do at the same moment. Each race has a twin without its guard."""

import threading
import time
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.db.models import Q

from ratings.desk import queue
from ratings.desk.queue import acts, choosing, claiming, saving, wanting
from ratings.desk.queue.mixing import keyed_random
from ratings.models import Anchor, Assignment, Collection, LostLease, Pair, Rater, Rating, RatingEvent
from ratings.models.rating import AssignmentQuerySet
from ratings.people import members
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater, next_pair
from ratings.tests.races import all_have_looked, race, unlocked, unqueued

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def make_pool(pairs: int, wanted: int) -> Collection:
    documents = [f"d{i}" for i in range(pairs // 2)]
    collection = make_collection(documents=documents)
    ids = [
        (query.pk, pk)
        for query in collection.queries.all()
        for pk in collection.documents.values_list("pk", flat=True)
    ]
    queue.want(list(queue.pairs_for(ids).values()), wanted)
    return collection


def stolen(raters: list[Rater], got: list) -> list[tuple]:
    """(rater, pair) of what raters were told to hold and do not hold."""
    errors = [tasks for tasks in got if isinstance(tasks, Exception)]
    assert not errors, errors
    holders = set(Assignment.objects.filter(state="leased").values_list("rater", "pair"))
    told = [(rater.pk, task.pair.pk) for rater, tasks in zip(raters, got, strict=True) for task in tasks]
    assert len(told) == len(set(told))
    return [one for one in told if one not in holders]


def test_eight_raters_racing_for_three_assignments_get_exactly_three():
    collection = make_collection()
    pair = make_pair(collection, wanted=3)
    raters = [make_rater(collection, f"rater{i}") for i in range(8)]
    got = race(raters, next_pair)
    assert sum(result == pair for result in got) == 3, got
    assert sum(result is None for result in got) == 5, got


def test_forty_raters_who_claim_batches_hold_every_assignment_once():
    collection = make_pool(pairs=60, wanted=3)
    raters = [make_rater(collection, f"rater{i}") for i in range(40)]
    got = race(raters, lambda rater: queue.claim(rater, 4, now=NOW))
    assert stolen(raters, got) == []
    assert sum(len(tasks) for tasks in got) == Assignment.objects.filter(state="leased").count() == 160
    assert Assignment.objects.count() == 180


def test_without_the_condition_in_the_update_batches_are_stolen(monkeypatch):
    """The twin of the two tests above."""
    collection = make_pool(pairs=6, wanted=2)
    raters = [make_rater(collection, f"rater{i}") for i in range(6)]
    hold, one = claiming._hold, threading.Lock()

    def one_after_the_other(*arguments, wait):
        with one:
            return hold(*arguments, wait=wait)

    monkeypatch.setattr(claiming, "choose", all_have_looked(claiming.choose, 6))
    monkeypatch.setattr(claiming, "_hold", one_after_the_other)
    monkeypatch.setattr(claiming, "free", lambda now: Q(pk__gt=0))
    # Not from the cache, which may have the statement already.
    monkeypatch.setattr(claiming, "_lease_statement", claiming._lease_statement.__wrapped__)
    got = race(raters, lambda rater: unqueued(queue.claim)(rater, 2, now=NOW))
    assert stolen(raters, got)


def test_two_tabs_of_one_rater_hold_no_more_than_was_asked_for():
    collection = make_pool(pairs=40, wanted=1)
    alice = make_rater(collection)
    got = race([alice] * 4, lambda rater: queue.claim(rater, 5, now=NOW))
    assert [len(tasks) for tasks in got] == [5] * 4, got
    assert len(queue.held(alice)) == 5


def test_two_tabs_do_not_lead_past_a_limit():
    collection = make_pool(pairs=40, wanted=1)
    alice = make_rater(collection)
    Rater.objects.filter(pk=alice.pk).update(limit=3)
    race([alice] * 4, lambda rater: queue.claim(rater, 20, now=NOW))
    assert len(queue.held(alice)) == 3


@pytest.mark.parametrize("limit", [None, 3])
def test_without_the_lock_two_tabs_hold_too_much(monkeypatch, limit):
    """The twin of the two tests above."""
    collection = make_pool(pairs=40, wanted=1)
    alice = make_rater(collection)
    Rater.objects.filter(pk=alice.pk).update(limit=limit)
    monkeypatch.setattr(claiming, "_lock_claimant", unlocked(claiming._lock_claimant))
    # From points of their own, as after an act in between: else both choose the same, and one of them nothing.
    points = iter([0, 2**30])
    monkeypatch.setattr(choosing.order, "start_point", lambda *_: next(points))
    monkeypatch.setattr(claiming, "choose", all_have_looked(claiming.choose, 2))
    got = race([alice] * 2, lambda rater: unqueued(queue.claim)(rater, 5, now=NOW))
    assert len(queue.held(alice)) > (limit or 5), got


def test_who_is_removed_while_their_claim_waits_gets_nothing(monkeypatch):
    """The claim looks before the removal ends, waits for its lock, and writes after it."""
    collection = make_pool(pairs=4, wanted=1)
    alice, given_back, give_back = make_rater(collection), threading.Event(), members._give_back_pairs

    def slowly(membership):
        give_back(membership)
        given_back.set()
        time.sleep(0.5)

    monkeypatch.setattr(members, "_give_back_pairs", slowly)

    def act(admin: bool):
        if admin:
            return members.remove(collection.memberships.get(user=alice.user))
        given_back.wait(timeout=20)
        return queue.claim(alice, 4, now=NOW)

    assert race([True, False], act) == [None, []]
    assert not Assignment.objects.filter(state="leased").exists()


def make_gold(pairs: int) -> tuple[Collection, Rater]:
    """Every other pair is gold, and somebody has rated all of it: a gold pair is always an extra one."""
    collection = make_pool(pairs=pairs, wanted=1)
    Collection.objects.filter(pk=collection.pk).update(gold_share="0.5", order="random")
    bob = make_rater(collection, "bob")
    for pair in list(Pair.objects.order_by("pk"))[::2]:
        set_anchor(pair, use="gold", grade=grade(collection, "0"), now=NOW)
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    raters = (make_rater(collection, f"alice {number}") for number in range(9))
    return collection, next(alice for alice in raters if 1 < sum(places_of_gold(alice)) < 7)


def places_of_gold(rater: Rater) -> list[bool]:
    """Where chance, which is drawn from the rater's id, puts gold among the first eight."""
    return [keyed_random(rater.pk, 0, place) < 0.5 for place in range(8)]


def test_two_tabs_get_a_gold_pair_once():
    collection, alice = make_gold(pairs=40)
    got = race([alice] * 4, lambda rater: queue.claim(rater, 8, now=NOW))
    assert [len(tasks) for tasks in got] == [8] * 4, got
    extras = Assignment.objects.filter(extra=True)
    assert 0 < extras.count() < 8
    assert extras.values("pair").distinct().count() == extras.count()


def test_without_the_lock_and_the_second_look_gold_pairs_collide(monkeypatch):
    """The twin of the test above: only the unique index keeps a pair from being given twice, by an error."""
    collection, alice = make_gold(pairs=40)
    monkeypatch.setattr(claiming, "_lock_claimant", unlocked(claiming._lock_claimant))
    monkeypatch.setattr(acts, "MOST_RETRIES", 0)
    monkeypatch.setattr(claiming, "mix_in", all_have_looked(claiming.mix_in, 2))
    got = race([alice] * 2, lambda rater: unqueued(queue.claim)(rater, 8, now=NOW))
    assert any(isinstance(tasks, IntegrityError) for tasks in got), got


def test_a_lease_that_is_lost_between_look_and_write_is_not_told_as_held(monkeypatch):
    """Bob takes Alice's expired pair just after she has looked up what she holds."""
    collection = make_collection()
    pair = make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    next_pair(alice)
    look, late = claiming.choose, NOW + queue.LEASE * 2

    def look_and_lose(*arguments):
        found = look(*arguments)
        Assignment.objects.filter(pair=pair).update(rater=bob, leased_until=late + queue.LEASE)
        return found

    monkeypatch.setattr(claiming, "choose", look_and_lose)
    assert next_pair(alice, late) is None
    assert pair.assignments.get().rater == bob


def test_a_pair_lost_to_another_leads_to_the_next_one(monkeypatch):
    collection = make_collection()
    for document in "abc":
        make_pair(collection, "q1", document)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    look, lost = claiming.choose, []

    def look_and_lose(*arguments):
        found = look(*arguments)
        if not lost:
            lost.append(found.new[0].pair)
            Assignment.objects.filter(pk=found.new[0].pk).update(
                rater=bob, state="leased", leased_until=NOW + queue.LEASE
            )
        return found

    monkeypatch.setattr(claiming, "choose", look_and_lose)
    got = next_pair(alice)
    assert got is not None and got.pk not in lost


def test_a_pair_that_cannot_be_taken_does_not_keep_the_claim_for_ever(monkeypatch):
    collection = make_collection()
    make_pair(collection)
    monkeypatch.setattr(claiming, "_lease", lambda *_, wait: None)
    assert next_pair(make_rater(collection)) is None


def test_who_takes_a_pair_while_it_is_retired_either_lost_it_or_does_not_get_it():
    collection = make_pool(pairs=20, wanted=1)
    raters = [make_rater(collection, f"rater{i}") for i in range(5)]
    pairs = list(Pair.objects.values_list("pk", flat=True))

    def act(rater: Rater):
        return queue.retire(pairs, now=NOW) if rater == raters[0] else queue.claim(rater, 4, now=NOW)

    _, *got = race(raters, act)
    assert not any(isinstance(tasks, Exception) for tasks in got), got
    assert not Assignment.objects.exists()
    told = {(rater.pk, task.pair.pk) for rater, tasks in zip(raters[1:], got, strict=True) for task in tasks}
    assert told == set(LostLease.objects.values_list("rater", "pair"))


def test_without_the_lock_on_the_rows_a_lease_ends_unseen_when_its_pair_is_retired(monkeypatch):
    """The twin of the test above: what was taken after the look is deleted, and nobody knows who held it."""
    collection = make_pool(pairs=4, wanted=1)
    alice, pairs = make_rater(collection), list(Pair.objects.values_list("pk", flat=True))
    retire, looked, taken = unqueued(queue.retire), threading.Event(), threading.Event()
    monkeypatch.setattr(AssignmentQuerySet, "select_for_update", lambda rows, **_: rows)
    # Not by the cache, which would keep the statement without the lock.
    monkeypatch.setattr(claiming, "_lease_statement", claiming._lease_statement.__wrapped__)
    forget = wanting.record_lost

    def after_the_look(holders):
        forget(holders)
        looked.set()
        taken.wait(timeout=20)

    monkeypatch.setattr(wanting, "record_lost", after_the_look)

    def act(admin: bool):
        if admin:
            return retire(pairs, now=NOW)
        looked.wait(timeout=20)
        claimed = queue.claim(alice, 4, now=NOW)
        taken.set()
        return claimed

    # Alice has looked before the pairs were retired.
    rows = Assignment.objects.values_list(*choosing.Candidate._fields)
    found = iter([[choosing.Candidate(*row) for row in rows], []])
    own, room = choosing.Holding((), 0, 0), choosing.Quota(4, 4)
    monkeypatch.setattr(claiming, "choose", lambda *_: choosing.Choice(own, room, next(found), []))
    got = race([True, False], act)
    assert not any(isinstance(one, Exception) for one in got), got
    assert not Assignment.objects.exists()
    assert not LostLease.objects.exists()


def test_who_takes_a_pair_while_fewer_ratings_are_wanted_keeps_it_or_does_not_get_it():
    collection = make_pool(pairs=20, wanted=3)
    raters = [make_rater(collection, f"rater{i}") for i in range(5)]
    pairs = list(Pair.objects.values_list("pk", flat=True))

    def act(rater: Rater):
        return queue.want_fewer(pairs, 1, now=NOW) if rater == raters[0] else queue.claim(rater, 8, now=NOW)

    withdrawn, *got = race(raters, act)
    assert isinstance(withdrawn, int) and stolen(raters[1:], got) == []
    wanted = Assignment.objects.filter(extra=False).values_list("pair", flat=True)
    assert len(wanted) == len(set(wanted)) == 20, "one of each pair"


def test_without_the_lock_on_the_rows_a_lease_is_withdrawn_from_who_holds_it(monkeypatch):
    """The twin of the test above: what was taken after the look is deleted."""
    collection = make_pool(pairs=4, wanted=3)
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    pairs = list(Pair.objects.values_list("pk", flat=True))
    fewer, looked, taken = unqueued(queue.want_fewer), threading.Event(), threading.Event()
    monkeypatch.setattr(AssignmentQuerySet, "select_for_update", lambda rows, **_: rows)
    # Not by the cache, which would keep the statement without the lock.
    monkeypatch.setattr(claiming, "_lease_statement", claiming._lease_statement.__wrapped__)
    beyond = wanting._beyond

    def after_the_look(*arguments):
        found = beyond(*arguments)
        looked.set()
        taken.wait(timeout=20)
        return found

    monkeypatch.setattr(wanting, "_beyond", after_the_look)

    def act(admin: bool):
        if admin:
            return fewer(pairs, 1, now=NOW)
        looked.wait(timeout=20)
        claimed = [queue.claim(rater, 4, now=NOW) for rater in (alice, bob)]
        taken.set()
        return claimed

    _, claimed = race([True, False], act)
    assert stolen([alice, bob], claimed)


def test_two_admins_who_make_one_pair_an_anchor_at_once_both_can():
    collection = make_pool(pairs=4, wanted=1)
    pair, zero = Pair.objects.select_related("query").first(), grade(collection, "0")
    uses = ["gold", "warm_up"] * 3
    got = race(uses, lambda use: set_anchor(pair, use=use, grade=zero, explanation="known", now=NOW))
    assert not any(isinstance(anchor, Exception) for anchor in got), got
    pair.refresh_from_db()
    assert (Anchor.objects.get().use == "warm_up") == (pair.retired_at is not None)


def test_four_who_ask_for_three_ratings_at_once_get_three_assignments(monkeypatch):
    got, pair = ask_at_once(monkeypatch, queue.want)
    assert sorted(got) == [0, 0, 0, 2], got
    assert pair.assignments.count() == 3


def test_without_the_lock_on_the_pair_four_who_ask_get_too_many(monkeypatch):
    """The twin of the test above: what is wanted is set before, and so no update makes the others wait."""
    got, pair = ask_at_once(monkeypatch, unqueued(queue.want), known=True)
    assert sum(got) > 2, got
    assert pair.assignments.count() > 3


def ask_at_once(monkeypatch, want, *, known: bool = False) -> tuple[list, Pair]:
    collection = make_collection()
    pair = make_pair(collection, wanted=1)
    raters = [make_rater(collection, f"rater{i}") for i in range(4)]
    write = AssignmentQuerySet.bulk_create

    def write_late(rows, *arguments, **options):
        time.sleep(0.1)  # time for the others to count, if nothing keeps them from it
        return write(rows, *arguments, **options)

    monkeypatch.setattr(AssignmentQuerySet, "bulk_create", write_late)
    if known:
        Pair.objects.filter(pk=pair.pk).update(wanted=3)
    return race(raters, lambda rater: want([pair.pk], 3)), pair


def test_a_double_press_in_two_threads_is_one_rating():
    collection = make_collection()
    pair, alice, key = make_pair(collection), make_rater(collection), uuid4()
    two = grade(collection, "2")
    got = race(
        [alice] * 6, lambda rater: queue.save(rater, pair, queue.Submission(grade=two, client_key=key), now=NOW)
    )
    assert [saved.event for saved in got] == [RatingEvent.objects.get()] * 6
    assert [saved.rating for saved in got] == [Rating.objects.get()] * 6


def test_without_the_lock_and_the_second_look_a_double_press_is_an_error(monkeypatch):
    """The twin of the test above."""
    collection = make_collection()
    pair, alice, key = make_pair(collection), make_rater(collection), uuid4()
    two = grade(collection, "2")
    monkeypatch.setattr(saving, "_lock_state", all_have_looked(unlocked(saving._lock_state), 4))
    monkeypatch.setattr(acts, "MOST_RETRIES", 0)
    save = unqueued(queue.save)
    got = race([alice] * 4, lambda rater: save(rater, pair, queue.Submission(grade=two, client_key=key), now=NOW))
    assert any(isinstance(saved, IntegrityError) for saved in got), got
