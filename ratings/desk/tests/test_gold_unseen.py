"""What an act of a rater does to gold and repeats is what it does to any other pair: else it would tell them."""

import random
from itertools import pairwise

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from ratings.desk import queue
from ratings.desk.figures import pace_of
from ratings.desk.queue.mixing import keyed_random, marks_up_to
from ratings.models import Assignment, Pair, Rating
from ratings.people.tests.test_privacy import download
from ratings.tests.calls import items, make_caller
from ratings.tests.cast import NOW, grade, make_rater

from .test_queue_batches import make_pool
from .test_queue_mixing import make_anchors, shares, work

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def mixed():
    """Alice holds twenty tasks, extra gold among them; nobody but she is at work."""
    collection = make_pool("random", queries=4, documents=80, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[:40])
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    for pair in golds:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.3")
    alice.refresh_from_db()
    queue.claim(alice, 20, now=NOW)
    return collection, alice


def extra_and_other(alice) -> tuple[queue.Task, queue.Task]:
    extras = set(Assignment.objects.filter(rater=alice, extra=True).values_list("pair", flat=True))
    held = queue.held(alice)
    return (
        next(task for task in held if task.pair.pk in extras),
        next(task for task in held if task.pair.pk not in extras),
    )


def gold_places(alice) -> list[int]:
    return sorted(Assignment.objects.filter(rater=alice, extra=True).values_list("round", flat=True))


def outlooks(alice) -> tuple[int, int]:
    found = queue.outlook(alice, now=NOW)
    return found.done, found.left


def test_only_gold_that_was_mixed_in_has_a_place_among_the_pairs(mixed):
    """A place after all pairs would count as gold that came early, for ever."""
    _, alice = mixed
    mixed_in = gold_places(alice)
    extra, wanted = extra_and_other(alice)
    queue.want_fewer([wanted.pair.pk], 0, now=NOW)
    assert gold_places(alice) == [0, *mixed_in]
    queue.stop(alice)
    queue.save(alice, extra.pair, queue.Submission(grade=grade(alice.collection, "0")), now=NOW)
    assert gold_places(alice) == [0]


def test_a_claim_does_not_raise_what_is_left_and_each_answer_lowers_it_by_one(mixed):
    collection, alice = mixed
    before = outlooks(alice)
    assert 0 < before[1] <= queue.MOST_COUNTED_PAIRS
    queue.stop(alice)
    assert outlooks(alice) == before
    for count in (1, 5, 20):
        queue.claim(alice, count, now=NOW)
        assert outlooks(alice) == before
    for n, task in enumerate(queue.held(alice), 1):
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1")), now=NOW)
        assert outlooks(alice) == (before[0] + n, before[1] - n)


@pytest.mark.parametrize("order", ["query", "random"])
def test_what_will_be_mixed_in_is_counted_from_the_start(order):
    """Alone at work a rater sees *rated* and *left* with one sum. No claim and no answer raises it."""
    collection = make_pool(order, queries=4, documents=40, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[:40])
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    for pair in golds[:30]:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.12", repeat="0.08")
    alice.refresh_from_db()
    chance, sent = random.Random(order), 0
    sums = [sum(outlooks(alice))] * 2
    while tasks := queue.claim(alice, chance.choice((1, 4, 10)), now=NOW):
        for task in tasks[: chance.randint(1, len(tasks))]:
            said = {"reason": "unclear"} if chance.random() < 0.03 else {"grade": grade(collection, "1")}
            queue.save(alice, task, queue.Submission(**said), now=NOW)
            sent += 1
            sums.append(sum(outlooks(alice)))
        assert all(after <= before for before, after in pairwise(sums[1:]))
        if chance.random() < 0.1:
            queue.stop(alice)
            # A repeat for which no grade was old enough has another chance.
            sums = [*sums[:1], sum(outlooks(alice))]
    gold = Rating.objects.filter(rater=alice, pair__in=golds[:30]).count()
    repeats = alice.checks.filter(event__isnull=False).count()
    # Over 16 secrets gold was 8 to 10; repeats 8 to 10, query by query 2 to 5.
    assert gold > 6 and repeats > (0 if order == "query" else 6)
    assert (sent, outlooks(alice)[1]) == (130 + gold + repeats, 0)
    # A repeat for which no grade was old enough does not come at all.
    assert sums[-1] == sent and sums[0] - sent <= 4


def test_the_count_of_a_query_goes_on_by_one_for_gold_repeats_and_others():
    """Alone at work a rater sees *n of m for this query*. Each answer makes n one more, whatever it is to.

    What is mixed in is in m from the start, and m is less where some finds no place. Only a repeat that comes
    before the first document of the next query makes it one more, as a document does that somebody gave back.
    """
    collection = make_pool("query", queries=3, documents=60, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[:45])
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    for pair in golds[:35]:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.15", repeat="0.15")
    alice.refresh_from_db()
    queries = set(collection.queries.values_list("pk", flat=True))

    def counts() -> dict[int, tuple[int, int]]:
        return queue.outlook(alice, queries, now=NOW).queries

    def check(answered: int | None = None) -> int:
        """Compare with the counts before. By how much one has become more."""
        more = 0
        for query, (done, left) in counts().items():
            before = seen[query]
            assert done == before[0] + (query == answered)
            more += max(0, done + left - sum(before))
            seen[query] = (done, left)
        return more

    chance, seen, sent, late = random.Random(7), counts(), 0, 0
    foreseen = sum(map(sum, seen.values()))
    while tasks := queue.claim(alice, chance.choice((1, 4, 10)), now=NOW):
        late += check()
        for task in tasks[: chance.randint(1, len(tasks))]:
            said = {"reason": "unclear"} if chance.random() < 0.05 else {"grade": grade(collection, "1")}
            queue.save(alice, task, queue.Submission(**said), now=NOW)
            sent += 1
            assert check(answered=task.pair.query_id) == 0
    assert late < len(queries)
    assert sum(done for done, _ in seen.values()) == sent
    assert all(done and not left for done, left in seen.values())
    repeats = alice.checks.filter(event__isnull=False).count()
    gold = Rating.objects.filter(rater=alice, pair__in=golds[:35]).count()
    assert repeats > 3 and gold > 5 and abs(foreseen - sent) < (repeats + gold) / 2


def test_the_count_of_a_query_is_hidden_where_documents_do_not_come_by_query(mixed):
    _, alice = mixed
    held = {task.pair.query_id for task in queue.held(alice)}
    assert len(held) > 1 and queue.outlook(alice, held, now=NOW).queries is None


@given(share=st.floats(0.01, 1), key=st.integers(0, 5))
def test_a_mark_is_in_each_stretch_and_no_place_has_two(share, key):
    counts = [marks_up_to(share, n, key) for n in range(200)]
    assert all(after - before in (0, 1) for before, after in pairwise(counts))
    assert all(int(n * share) <= count <= int(n * share) + 1 for n, count in enumerate(counts))


@pytest.mark.parametrize("act", ["skip", "cannot", "grade"])
def test_what_is_taken_back_is_before_the_rater_again(mixed, act):
    collection, alice = mixed
    for task in extra_and_other(alice):
        if act == "skip":
            queue.skip(alice, task, now=NOW)
        else:
            said = {"reason": "unclear"} if act == "cannot" else {"grade": grade(collection, "1")}
            queue.save(alice, task, queue.Submission(**said), now=NOW)
        queue.undo(alice, now=NOW)
        assert queue.held(alice)[0].token == task.token
        assert queue.outlook(alice, now=NOW).done == 0


def test_what_is_put_off_comes_after_everything_else_gold_and_repeats_too(mixed):
    collection, alice = mixed
    shares(collection, gold="0.3", repeat="0.2")
    work(alice, collection, 40)
    put_off = []
    for _ in range(60):
        (task, *_) = queue.claim(alice, 1, now=NOW)
        queue.skip(alice, task, now=NOW)
        put_off.append(task)
    kinds = {task.kind for task in put_off}
    assert kinds == {"pair", "repeat"} and len({task.token for task in put_off}) == 60
    rest = [task.token for task in work(alice, collection)]
    assert rest[-60:] == [task.token for task in put_off]
    assert queue.outlook(alice, now=NOW).left == 0


def test_what_is_sent_late_is_answered_alike_and_counts_alike(mixed):
    collection, alice = mixed
    tasks = extra_and_other(alice)
    queue.stop(alice)
    before = outlooks(alice)
    assert before[1] == queue.MOST_COUNTED_PAIRS or before[1] > 0
    for n, task in enumerate(tasks, 1):
        assert (
            queue.save(alice, task, queue.Submission(grade=grade(collection, "1")), now=NOW).outcome == "counted"
        )
        assert outlooks(alice) == (before[0] + n, before[1] - n)


def test_near_the_end_no_answer_brings_more_than_another(mixed):
    collection, alice = mixed
    Pair.objects.filter(pk__in=Assignment.objects.filter(state="open").values("pair")[:255]).delete()
    tasks = queue.claim(alice, 20, now=NOW)
    for n, task in enumerate(tasks[:-1], 1):
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1")), now=NOW)
        assert len(queue.claim(alice, 20, now=NOW)) == len(tasks) - n
    queue.save(alice, tasks[-1], queue.Submission(grade=grade(collection, "1")), now=NOW)
    assert len(queue.claim(alice, 20, now=NOW)) > 1


@pytest.fixture
def repeated():
    """Alice graded thirty pairs and holds repeats."""
    collection = make_pool("random", queries=2, documents=60)
    alice = make_rater(collection)
    work(alice, collection, 30)
    shares(collection, repeat="0.5")
    alice.refresh_from_db()
    tasks = queue.claim(alice, 20, now=NOW)
    repeat = next(task for task in tasks if task.kind == "repeat")
    return collection, alice, repeat, next(task for task in tasks if task.kind == "pair")


def test_the_revision_of_a_repeat_goes_as_that_of_a_rating(repeated):
    collection, alice, *tasks = repeated

    def revisions(task: queue.Task) -> list[int]:
        found = []

        def save(value: str, base: int) -> None:
            saved = queue.save(
                alice, task, queue.Submission(grade=grade(collection, value), base_revision=base), now=NOW
            )
            found.append(saved.rating.revision)

        def undo() -> None:
            rating = queue.undo(alice, now=NOW).rating
            found.append(rating.revision if rating else 0)

        save("1", 0)
        undo()
        save("2", 0)
        save("3", 1)
        undo()
        save("0", found[-1])
        return found

    repeat, pair = map(revisions, tasks)
    assert repeat == pair == [1, 0, 1, 2, 3, 4]


def test_repeats_count_for_a_limit_and_for_the_pace(repeated):
    collection, alice, repeat, pair = repeated
    type(alice).objects.update(limit=32)
    alice.refresh_from_db()
    before = queue.outlook(alice, now=NOW).left
    queue.save(alice, repeat, queue.Submission(grade=grade(collection, "1"), seconds=7), now=NOW)
    assert (before, queue.outlook(alice, now=NOW).left) == (2, 1)
    assert pace_of(alice).n == 1
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "1"), seconds=7), now=NOW)
    assert queue.outlook(alice, now=NOW).why == "limit"


def test_answers_to_repeats_are_listed_as_ratings_everywhere(repeated):
    collection, alice, repeat, pair = repeated
    queue.skip(alice, repeat, now=NOW)
    queue.undo(alice, now=NOW)
    for task in (repeat, pair):
        queue.save(alice, task, queue.Submission(grade=grade(collection, "2"), comment="seen"), now=NOW)
        queue.save(alice, task, queue.Submission(grade=grade(collection, "3"), base_revision=1), now=NOW)
    client = Client()
    client.force_login(alice.user)
    page = client.get(reverse("my_ratings", args=["hills"])).content.decode()
    caller = make_caller(alice.user, collection, "rate")
    rows, cursor = [], {}
    while True:
        answer = caller.get("/collections/hills/my-ratings", limit=7, **cursor)
        rows += items(answer)
        if answer.json()["next"] is None:
            break
        cursor = {"cursor": answer.json()["next"]}
    kept = download(alice.user)
    assert len(rows) == len(kept["ratings"]) == queue.outlook(alice, now=NOW).done == 32
    for task in (repeat, pair):
        token = str(task.token)
        assert token in page
        (row,) = [row for row in rows if row["token"] == token]
        assert (row["grade"], row["revision"]) == (3, 2)
        assert [row["grade"] for row in kept["ratings"] if row["token"] == token] == ["3"]
    events = [row["kind"] for row in kept["events"] if row["token"] == str(repeat.token)]
    assert events == ["skip", "undo", "grade", "grade"]
    assert "repeat" not in str(kept["events"]) and Rating.objects.filter(rater=alice).count() == 31


def test_nobody_can_draw_what_the_server_draws():
    """Who knows the code and their own number must not work out where gold comes."""
    with override_settings(SECRET_KEY="one"):
        one = keyed_random(1, 2, 3)
        assert keyed_random(1, 2, 3) == one
    with override_settings(SECRET_KEY="two"):
        assert keyed_random(1, 2, 3) != one


def test_the_place_among_the_documents_of_a_query_does_not_tell_extra_gold():
    """Query by query extra gold is spread over all places but the last, which would give it away."""
    collection = make_pool(queries=60, documents=8, wanted=1)
    golds = make_anchors(collection, "gold", Pair.objects.order_by("document", "pk")[:60])
    alice, bob = make_rater(collection), make_rater(collection, "bob")
    for pair in golds:
        queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    shares(collection, gold="0.2")
    done = [task.pair for task in work(alice, collection)]
    places = []
    for query in {pair.query_id for pair in done}:
        block = [pair.pk for pair in done if pair.query_id == query]
        places += [block.index(pair.pk) / (len(block) - 1) for pair in golds if pair.pk in block]
    assert len(places) > 45
    # Spread evenly over the places 0 to 6 of 7, the mean is 3/7. Over 24 secrets it was .397, its deviation .035.
    assert abs(sum(places) / len(places) - 3 / 7) < 0.15
