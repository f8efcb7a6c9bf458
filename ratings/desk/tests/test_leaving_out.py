"""What a rater who is left out filled is wanted again, and filled by them again once they count."""

import pytest

from ratings.desk import queue
from ratings.desk.queue import Submission
from ratings.models import Assignment, Rater, Rating
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def make_rated():
    """A pair that wants two ratings and has those of Alice and Bob."""
    collection = make_collection()
    pair = make_pair(collection, wanted=2)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    for rater in (alice, bob):
        queue.claim(rater, now=NOW)
        queue.save(rater, pair, Submission(grade(collection, "2")), now=NOW)
    return collection, pair, alice, bob


def states(pair) -> list[tuple[str, str | None]]:
    return sorted(pair.assignments.values_list("state", "rater__name"))


def test_what_they_filled_is_wanted_again():
    collection, pair, alice, _ = make_rated()
    assert queue.leave_out(alice, now=NOW) == 1
    assert states(pair) == [("done", "bob"), ("open", None)]
    assert Rating.objects.filter(rater=alice).count() == 1
    carol = make_rater(collection, "carol")
    assert [task.pair for task in queue.claim(carol, now=NOW)] == [pair]


def test_their_grades_fill_it_again_once_they_count():
    _, pair, alice, _ = make_rated()
    queue.leave_out(alice, now=NOW)
    assert queue.count_again(alice, now=NOW) == 1
    assert states(pair) == [("done", "alice"), ("done", "bob")]


def test_what_another_rated_meanwhile_stays_theirs():
    collection, pair, alice, _ = make_rated()
    queue.leave_out(alice, now=NOW)
    carol = make_rater(collection, "carol")
    queue.claim(carol, now=NOW)
    queue.save(carol, pair, Submission(grade(collection, "0")), now=NOW)
    assert queue.count_again(alice, now=NOW) == 0
    assert states(pair) == [("done", "bob"), ("done", "carol")]
    assert Rating.objects.counted().filter(pair=pair).count() == 3


def test_a_grade_that_filled_nothing_fills_what_they_filled():
    collection, pair, alice, bob = make_rated()
    carol = make_rater(collection, "carol")
    assert queue.save(carol, pair, Submission(grade(collection, "0")), now=NOW).outcome == "surplus"
    queue.leave_out(alice, now=NOW)
    assert states(pair) == [("done", "bob"), ("done", "carol")]


def test_they_get_nothing_and_what_they_still_send_fills_nothing():
    collection, pair, alice, _ = make_rated()
    other = make_pair(collection, document="b")
    assert [task.pair for task in queue.claim(alice, now=NOW)] == [other]
    queue.leave_out(alice, now=NOW)
    assert queue.claim(Rater.objects.get(pk=alice.pk), now=NOW) == []
    assert queue.outlook(alice, now=NOW).why == "not_active"
    assert queue.save(alice, other, Submission(grade(collection, "3")), now=NOW).outcome == "surplus"
    assert states(other) == [("open", None)]
    assert Rating.objects.filter(rater=alice, pair=other).exists()


def test_more_wanted_ratings_do_not_count_theirs():
    collection, pair, alice, _ = make_rated()
    queue.leave_out(alice, now=NOW)
    assert queue.want([pair.pk], 3) == 1
    assert Assignment.objects.filter(pair=pair, state="open").count() == 2
