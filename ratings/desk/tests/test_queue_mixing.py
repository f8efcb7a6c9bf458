"""Warm-ups, gold pairs and repeats: what comes between a rater's pairs, and that nobody can tell it from them."""

from collections import Counter

import pytest
from django.db import IntegrityError, transaction

from ratings.desk import queue
from ratings.desk.queue import mixing
from ratings.models import Anchor, Assignment, Check, Collection, Pair, Rater, Rating, RatingEvent
from ratings.pool.anchors import remove_anchor, set_anchor
from ratings.tests.cast import NOW, grade, make_rater

from .test_queue_batches import make_pool

pytestmark = pytest.mark.django_db


def shares(collection: Collection, *, gold: str = "0", repeat: str = "0") -> None:
    Collection.objects.filter(pk=collection.pk).update(gold_share=gold, repeat_share=repeat)


def make_anchors(collection: Collection, use: str, pairs) -> list[Pair]:
    for pair in pairs:
        set_anchor(pair, use=use, grade=grade(collection, "0"), explanation="it names no hill", now=NOW)
    return list(pairs)


def work(rater: Rater, collection: Collection, n: int = 1_000, value: str = "1") -> list[queue.Task]:
    """The next `n` tasks, each answered at once."""
    done = []
    while len(done) < n and (tasks := queue.claim(rater, now=NOW)):
        queue.save(rater, tasks[0], queue.Submission(grade=grade(collection, value)), now=NOW)
        done.append(tasks[0])
    return done


# Warm-ups


@pytest.fixture
def warming():
    """Two warm-ups each of three grades, and pairs to rate after them."""
    collection = make_pool(queries=2, documents=30)
    pairs = list(Pair.objects.order_by("pk")[:6])
    for place, pair in enumerate(pairs):
        value = ("0", "1", "3")[place % 3]
        set_anchor(pair, use="warm_up", grade=grade(collection, value), explanation=f"because {place}", now=NOW)
    return collection


def test_who_has_not_warmed_up_gets_nothing_else_before(warming):
    alice = make_rater(warming)
    assert {task.kind for task in queue.claim(alice, 20, now=NOW)} == {"warm_up"}
    assert (queue.outlook(alice, now=NOW).why, queue.outlook(alice, now=NOW).left) == ("warm_up", 6)
    assert {task.kind for task in work(alice, warming, 6)} == {"warm_up"}
    alice.refresh_from_db()
    assert alice.warmed_up_at == NOW
    assert queue.outlook(alice, now=NOW).why == ""
    assert {task.kind for task in queue.claim(alice, 5, now=NOW)} == {"pair"}


def test_every_grade_is_seen_early_in_an_order_of_ones_own(warming):
    orders = set()
    for name in ("alice", "bob", "carol", "dora"):
        tasks = queue.claim(make_rater(warming, name), 6, now=NOW)
        grades = [task.pair.anchor.grade.value for task in tasks]
        assert len(set(grades[:3])) == len(set(grades[3:])) == 3
        orders.add(tuple(task.pair.pk for task in tasks))
    assert len(orders) > 1


def test_the_answer_to_a_warm_up_comes_back_and_is_no_rating(warming):
    alice = make_rater(warming)
    task = queue.claim(alice, now=NOW)[0]
    version = Collection.objects.get().version
    saved = queue.save(alice, task, queue.Submission(grade=grade(warming, "3"), comment="I thought so"), now=NOW)
    assert saved.right_answer == Anchor.objects.get(pair=task.pair)
    assert saved.right_answer.explanation.startswith("because")
    assert (saved.event.kind, saved.event.value, saved.outcome) == ("warm_up", 3, "counted")
    assert not Rating.objects.exists()
    assert Collection.objects.get().version == version
    assert queue.last_acts(alice) == [] and queue.undo(alice, now=NOW) is None


def test_a_warm_up_that_is_put_off_comes_after_the_others(warming):
    alice = make_rater(warming)
    first = queue.claim(alice, now=NOW)[0]
    queue.skip(alice, first, now=NOW)
    assert work(alice, warming, 6)[-1].token == first.token


def test_a_warm_up_is_out_of_the_pool_and_comes_back_when_it_is_none(warming):
    anchor = Anchor.objects.order_by("pk").first()
    assert not Assignment.objects.filter(pair=anchor.pair).exists()
    remove_anchor(anchor.pair)
    assert Assignment.objects.filter(pair=anchor.pair, state="open").count() == 2
    assert not Anchor.objects.filter(pk=anchor.pk).exists()


def test_what_was_retired_before_it_became_a_warm_up_stays_retired(warming):
    pair = Pair.objects.filter(anchor=None).first()
    queue.retire([pair.pk], now=NOW - queue.LEASE)
    set_anchor(pair, use="warm_up", grade=grade(warming, "0"), explanation="why", now=NOW)
    remove_anchor(pair)
    pair.refresh_from_db()
    assert pair.retired_at == NOW - queue.LEASE


def test_a_warm_up_that_is_removed_meanwhile_holds_nobody_up(warming):
    alice = make_rater(warming)
    queue.claim(alice, 6, now=NOW)
    for anchor in Anchor.objects.all():
        remove_anchor(anchor.pair)
    assert {task.kind for task in queue.claim(alice, 5, now=NOW)} == {"pair"}


def test_a_warm_up_that_became_gold_meanwhile_tells_no_grade(warming):
    alice = make_rater(warming)
    task = queue.claim(alice, now=NOW)[0]
    set_anchor(task.pair, use="gold", grade=grade(warming, "3"), explanation="secret", now=NOW)
    saved = queue.save(alice, task, queue.Submission(grade=grade(warming, "1")), now=NOW)
    assert saved.right_answer is None and saved.outcome == "counted"


# Gold


@pytest.mark.slow
@pytest.mark.both_databases
def test_gold_is_mixed_in_at_about_its_share_and_each_pair_once():
    collection = make_pool(queries=4, documents=80, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[:60])
    bob, alice = make_rater(collection, "bob"), make_rater(collection, "alice")
    for pair in golds:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.2")
    # Query by query, a claim takes no more than one gold pair of another query, and the share is not reached.
    type(collection).objects.update(order="random")
    alice.refresh_from_db()
    done = [task.pair for task in work(alice, collection, 150)]
    assert len(set(done)) == 150
    # Expected 30, with a standard deviation of 4.9.
    assert 15 <= len(set(done) & set(golds)) <= 45
    assert Assignment.objects.filter(rater=alice, extra=True, state="done").count() == len(set(done) & set(golds))


def late_gold(order: str) -> int:
    """How many gold pairs twelve raters, who rate a whole pool, meet in its last third. A fifth of it is gold."""
    collection = make_pool(queries=3, documents=40, wanted=12)
    golds = set(make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[::5]))
    type(collection).objects.update(order=order)
    shares(collection, gold="0.15")
    late = 0
    for number in range(12):
        rater, done = make_rater(collection, f"rater{number}"), []
        while tasks := queue.claim(rater, 10, now=NOW):
            for task in tasks:
                queue.save(rater, task, queue.Submission(grade=grade(collection, "1")), now=NOW)
            done += [task.pair for task in tasks]
        assert (len(done), golds <= set(done)) == (120, True)
        late += len(golds & set(done[80:]))
    return late


@pytest.mark.slow
def test_gold_comes_until_the_end_where_it_is_no_rarer_than_its_share():
    assert late_gold("random") > 57  # 80, with a standard deviation of 4


def test_a_gold_pair_that_is_wanted_takes_the_place_that_is_open():
    collection = make_pool(queries=1, documents=60, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.all()[:30])
    shares(collection, gold="0.5")
    alice = make_rater(collection)
    tasks = queue.claim(alice, 20, now=NOW)
    assert {task.pair for task in tasks} & set(golds)
    assert not Assignment.objects.filter(extra=True).exists()
    assert Assignment.objects.count() == 60


def test_an_extra_assignment_does_not_count_and_goes_when_it_is_given_back():
    collection = make_pool(queries=1, documents=60, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.all()[:20])
    bob, alice = make_rater(collection, "bob"), make_rater(collection)
    for pair in golds:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.5")
    queue.claim(alice, 20, now=NOW)
    extras = Assignment.objects.filter(extra=True)
    assert extras.exists() and set(extras.values_list("rater", flat=True)) == {alice.pk}
    assert queue.want([pair.pk for pair in golds], 1) == 0
    assert queue.want([pair.pk for pair in golds], 2) == 20
    queue.stop(alice)
    assert not extras.exists()
    assert Assignment.objects.filter(extra=False).count() == 80


def test_an_extra_lease_that_ran_out_is_nobody_elses():
    collection = make_pool(queries=1, documents=60, wanted=1)
    Collection.objects.update(order="random")
    (gold,) = make_anchors(collection, "gold", Pair.objects.all()[:1])
    bob, alice, carol = (make_rater(collection, name) for name in ("bob", "alice", "carol"))
    queue.save(bob, gold, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.5")
    assert gold in [task.pair for task in queue.claim(alice, 20, now=NOW)]
    shares(collection)
    late = NOW + 2 * queue.LEASE
    while tasks := queue.claim(carol, 20, now=late):
        assert gold not in [task.pair for task in tasks]
        for task in tasks:
            queue.save(carol, task, queue.Submission(grade=grade(collection, "0")), now=late)
    assert gold in [task.pair for task in queue.held(alice)]


@pytest.mark.slow
def test_where_a_document_stands_does_not_tell_that_it_is_gold():
    """Query by query, with others' gold and repeats among one's own, and four documents fetched ahead."""
    collection = make_pool(queries=60, documents=6, wanted=2)
    golds = set(make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[::4]))
    shares(collection, gold="0.15", repeat="0.1")
    first = alone = gold_first = gold_alone = 0
    for name in ("alice", "bob"):
        rater = make_rater(collection, name)
        done = []
        while tasks := queue.claim(rater, 4, now=NOW):
            # As the desk does: more is asked for while half of it is still to come.
            for task in tasks[:2]:
                queue.save(rater, task, queue.Submission(grade=grade(collection, "1")), now=NOW)
                done.append(task.pair)
        queries = [pair.query_id for pair in done]
        for place in range(1, len(done) - 1):
            before, here, after = queries[place - 1 : place + 2]
            gold = done[place] in golds
            if before != here:
                first, gold_first = first + 1, gold_first + gold
            if before == after != here:
                alone, gold_alone = alone + 1, gold_alone + gold
    assert first > 100
    # Every fourth pair is gold, here .23 to .29 of the first ones. Who guesses by place is mostly wrong.
    assert gold_first / first < 0.4
    assert gold_alone == 0


# Repeats


@pytest.fixture
def repeating():
    """Alice has graded 30 pairs, and then half of what she gets are repeats."""
    collection = make_pool(queries=2, documents=60)
    alice = make_rater(collection)
    work(alice, collection, 30)
    shares(collection, repeat="0.5")
    return collection, alice


def next_repeat(alice: Rater) -> queue.Task:
    return next(task for task in queue.claim(alice, 20, now=NOW) if task.kind == "repeat")


@pytest.mark.slow
def test_a_repeat_is_a_pair_graded_twenty_acts_ago_once_and_by_a_token_of_its_own(repeating):
    collection, alice = repeating
    early = set(RatingEvent.objects.order_by("pk").values_list("pair", flat=True)[:10])
    again = [task for task in queue.claim(alice, 20, now=NOW) if task.kind == "repeat"]
    assert again
    assert {task.pair.pk for task in again} <= early
    assert all(task.token != task.pair.token and task.rating is None and task.comment == "" for task in again)
    later = [task for task in work(alice, collection) if task.kind == "repeat"]
    pairs = Counter(task.pair.pk for task in later)
    assert set(pairs.values()) == {1}


def test_the_answer_to_a_repeat_changes_no_rating(repeating):
    collection, alice = repeating
    task = next_repeat(alice)
    version, done = Collection.objects.get().version, queue.outlook(alice, now=NOW).done
    saved = queue.save(
        alice, task, queue.Submission(grade=grade(collection, "3"), seconds=4, shown="list"), now=NOW
    )
    assert Rating.objects.get(pair=task.pair).grade == grade(collection, "1")
    assert (saved.event.kind, saved.event.value, saved.event.seconds, saved.event.shown) == (
        "repeat",
        3,
        4,
        "list",
    )
    assert Check.objects.get(token=task.token).event == saved.event
    assert Collection.objects.get().version == version
    # What tells of it looks like a rating's.
    assert (saved.outcome, saved.right_answer, saved.rating.revision) == ("counted", None, 1)
    assert queue.outlook(alice, now=NOW).done == done + 1
    assert queue.last_acts(alice)[0].token == task.token


def test_a_repeat_is_graded_again_and_undone_like_any_other_pair(repeating):
    collection, alice = repeating
    task = next_repeat(alice)
    queue.save(alice, task, queue.Submission(grade=grade(collection, "3"), comment="at first"), now=NOW)
    with pytest.raises(queue.Conflict) as conflict:
        queue.save(alice, task, queue.Submission(grade=grade(collection, "0")), now=NOW)
    assert conflict.value.current.grade == grade(collection, "3")
    shown = queue.task(alice, task.token)
    assert (shown.rating.grade, shown.rating.revision, shown.comment) == (grade(collection, "3"), 1, "at first")
    queue.save(alice, task, queue.Submission(grade=grade(collection, "0"), base_revision=1), now=NOW)
    assert queue.undo(alice, now=NOW).rating.grade == grade(collection, "3")
    assert queue.undo(alice, now=NOW).rating is None
    assert queue.held(alice)[0].token == task.token
    assert Rating.objects.get(pair=task.pair).grade == grade(collection, "1")


@pytest.mark.slow
@pytest.mark.both_databases
def test_a_repeat_that_is_put_off_comes_again_and_can_be_taken_back(repeating):
    collection, alice = repeating
    task = next_repeat(alice)
    queue.skip(alice, task, now=NOW)
    assert task.token not in [one.token for one in queue.held(alice)]
    assert queue.last_acts(alice)[0].token == task.token
    assert queue.undo(alice, now=NOW).token == task.token
    assert queue.held(alice)[0].token == task.token
    queue.skip(alice, task, now=NOW)
    assert task.token in [one.token for one in work(alice, collection)]


def test_what_was_written_comes_back_with_a_repeat_as_with_any_other_pair(repeating):
    collection, alice = repeating
    task = next_repeat(alice)
    queue.skip(alice, task, comment="half read", now=NOW)
    queue.undo(alice, now=NOW)
    assert queue.held(alice)[0].comment == "half read"
    queue.save(alice, task, queue.Submission(grade=grade(collection, "3"), comment="all read"), now=NOW)
    assert queue.undo(alice, now=NOW).comment == "all read"


def test_a_repeat_of_a_retired_pair_is_no_longer_asked_for(repeating):
    _, alice = repeating
    task = next_repeat(alice)
    queue.retire([task.pair.pk], now=NOW)
    assert task.token not in [one.token for one in queue.held(alice)]


def test_nobody_is_asked_again_too_early(monkeypatch):
    collection = make_pool(queries=2, documents=60)
    shares(collection, repeat="0.5")
    alice = make_rater(collection)
    done = work(alice, collection, 60)
    for place, task in enumerate(done):
        if task.kind == "repeat":
            assert task.pair.pk in [one.pair.pk for one in done[: place - mixing.ACTS_BEFORE_REPEAT + 1]]
    assert any(task.kind == "repeat" for task in done)


# Anchors


def test_an_anchor_is_changed(warming):
    pair = Pair.objects.filter(anchor=None).first()
    set_anchor(pair, use="warm_up", grade=grade(warming, "0"), explanation="why", now=NOW)
    anchor = set_anchor(pair, use="gold", grade=grade(warming, "3"))
    assert (anchor.use, anchor.grade, anchor.explanation) == ("gold", grade(warming, "3"), "")
    pair.refresh_from_db()
    assert pair.retired_at is None
    assert Assignment.objects.filter(pair=pair, state="open").count() == 2
    remove_anchor(pair)
    remove_anchor(pair)
    assert not Anchor.objects.filter(pair=pair).exists()


def test_the_database_refuses_a_second_repeat_of_a_pair(repeating):
    _, alice = repeating
    task = next_repeat(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Check.objects.create(rater=alice, pair=task.pair, kind="repeat", created_at=NOW)


def test_what_was_put_off_waits_for_the_rest_also_where_gold_is_mixed_in(monkeypatch):
    monkeypatch.setattr(mixing, "keyed_random", lambda *facts: 0.0)
    collection = make_pool(queries=1, documents=4, wanted=1)
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    later, gold = (task.pair for task in queue.claim(alice, 2, now=NOW))
    queue.skip(alice, later, now=NOW)
    make_anchors(collection, "gold", [gold])
    queue.stop(alice)
    queue.save(bob, gold, queue.Submission(grade=grade(collection, "0")), now=NOW)
    Rater.objects.filter(pk=bob.pk).update(active=False)  # so that all that is left is alice's share
    shares(collection, gold="0.5")
    fresh = set(Pair.objects.exclude(pk__in=[later.pk, gold.pk]))
    # Three are free: the gold pair comes beside them, and what was put off has no place then.
    assert {task.pair for task in queue.claim(alice, 3, now=NOW)} == {gold, *fresh}
