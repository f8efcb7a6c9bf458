from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from ratings.database import statistics
from ratings.desk import queue
from ratings.models import Pair, Rater, Rating, RatingEvent
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_pair,
    make_rater,
    next_pair,
    pair_held,
    record_imported,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def collection():
    return make_collection()


def states(pair: Pair) -> list[str]:
    return sorted(pair.assignments.values_list("state", flat=True))


def test_a_lease_that_ran_out_is_free_for_others(collection):
    pair = make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    next_pair(alice)
    assert next_pair(bob, NOW + queue.LEASE) is None
    assert next_pair(bob, NOW + queue.LEASE + timedelta(seconds=1)) == pair


def test_late_work_is_kept_and_counts_once(collection):
    pair = make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    next_pair(alice)
    late = NOW + queue.LEASE * 2
    next_pair(bob, late)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3")), now=late)
    queue.save(bob, pair, queue.Submission(grade=grade(collection, "0")), now=late)
    assert Rating.objects.filter(pair=pair).count() == 2
    assert states(pair) == ["done"]


def test_the_same_client_key_is_the_same_save(collection):
    pair, alice, key = make_pair(collection), make_rater(collection), uuid4()
    for _ in range(2):
        queue.save(alice, pair, queue.Submission(grade=grade(collection, "2"), client_key=key), now=NOW)
    assert RatingEvent.objects.count() == 1
    assert Rating.objects.get().revision == 1


def test_another_grade_under_a_used_client_key_is_a_conflict_not_a_retry(collection):
    pair, alice, key = make_pair(collection), make_rater(collection), uuid4()
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2"), client_key=key), now=NOW)
    with pytest.raises(queue.Conflict):
        queue.save(alice, pair, queue.Submission(grade=grade(collection, "3"), client_key=key), now=NOW)


def test_a_client_key_of_another_act_is_refused_and_nothing_is_lost_unseen(collection):
    alice, two = make_rater(collection), grade(collection, "2")
    first, second = make_pair(collection, "q1", "a"), make_pair(collection, "q1", "b")
    saved, put_off, undone = uuid4(), uuid4(), uuid4()
    queue.save(alice, first, queue.Submission(grade=two, client_key=saved), now=NOW)
    queue.skip(alice, second, client_key=put_off, now=NOW)
    queue.undo(alice, act=put_off, client_key=undone, now=NOW)
    acts = RatingEvent.objects.count()
    again = [
        *(
            lambda key=key: queue.save(alice, second, queue.Submission(grade=two, client_key=key), now=NOW)
            for key in (saved, put_off, undone)
        ),
        lambda: queue.save(alice, second, queue.Submission(reason="unclear", client_key=saved), now=NOW),
        lambda: queue.skip(alice, first, client_key=saved, now=NOW),
        lambda: queue.skip(alice, first, client_key=put_off, now=NOW),
        lambda: queue.undo(alice, client_key=saved, now=NOW),
        lambda: queue.undo(alice, act=saved, client_key=undone, now=NOW),
    ]
    for act in again:
        with pytest.raises(queue.KeyUsed):
            act()
    assert (RatingEvent.objects.count(), Rating.objects.get().pair) == (acts, first)
    # The same acts again are no other acts.
    queue.save(alice, first, queue.Submission(grade=two, client_key=saved), now=NOW)
    queue.skip(alice, second, client_key=put_off, now=NOW)
    assert queue.undo(alice, act=put_off, client_key=undone, now=NOW).pair == second
    assert RatingEvent.objects.count() == acts


def test_cannot_judge_gives_the_assignment_back_and_never_returns_to_the_same_rater(collection):
    pair = make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    next_pair(alice)
    queue.save(alice, pair, queue.Submission(reason="language"), now=NOW)
    assert states(pair) == ["open"]
    assert next_pair(alice) is None
    assert next_pair(bob) == pair


def test_a_grade_and_a_reason_together_are_refused(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    with pytest.raises(ValueError, match="a grade or a reason"):
        queue.save(alice, pair, queue.Submission(grade=grade(collection, "1"), reason="broken"))
    with pytest.raises(ValueError, match="a grade or a reason"):
        queue.save(alice, pair, queue.Submission())


def test_a_grade_of_another_collection_is_refused(collection):
    other = make_collection("sea")
    with pytest.raises(ValueError, match="one collection"):
        queue.save(make_rater(collection), make_pair(collection), queue.Submission(grade=grade(other, "1")))


def test_undo_takes_a_grade_back_and_hands_the_pair_out_again(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    next_pair(alice)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3")), now=NOW)
    assert queue.undo(alice, now=NOW).pair == pair
    assert not Rating.objects.exists()
    assert pair_held(alice) == pair
    assert [e.kind for e in RatingEvent.objects.all()] == ["grade", "undo"]


def test_undo_goes_back_step_by_step_through_changes(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3")), now=NOW)
    queue.save(
        alice,
        pair,
        queue.Submission(grade=grade(collection, "-1"), base_revision=1, comment="says to burn it"),
        now=NOW,
    )
    queue.undo(alice, now=NOW)
    assert (Rating.objects.get().grade, Rating.objects.get().comment) == (grade(collection, "3"), "")
    queue.undo(alice, now=NOW)
    assert not Rating.objects.exists()
    assert queue.undo(alice, now=NOW) is None


def test_undo_past_a_grade_that_the_scale_no_longer_has_leaves_the_pair_unrated(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "-1")), now=NOW)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3"), base_revision=1), now=NOW)
    grade(collection, "-1").delete()
    assert queue.undo(alice, now=NOW).pair == pair
    assert not Rating.objects.exists()
    assert pair_held(alice) == pair


def test_changing_a_grade_to_cannot_judge_frees_the_place_for_a_grade_that_came_late(collection):
    pair = make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)
    queue.save(bob, pair, queue.Submission(grade=grade(collection, "2")), now=NOW)  # beyond the one wanted
    queue.save(alice, pair, queue.Submission(reason="unclear", base_revision=1), now=NOW)
    assert list(pair.assignments.values_list("rater__name", "state")) == [("bob", "done")]


@pytest.mark.parametrize("how", ["stops", "puts it off", "leaves"])
def test_a_pair_that_is_free_again_is_filled_by_a_late_grade_not_by_one_more_rater(collection, how):
    pair = make_pair(collection)
    alice, bob, carol = (make_rater(collection, name) for name in ("alice", "bob", "carol"))
    next_pair(alice)
    late = NOW + queue.LEASE * 2
    assert next_pair(bob, late) == pair
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3")), now=late)
    if how == "stops":
        queue.stop(bob)
    elif how == "puts it off":
        queue.skip(bob, pair, now=late)
    assert next_pair(carol, late + queue.LEASE * 2) is None
    assert list(pair.assignments.values_list("rater__name", "state")) == [("alice", "done")]


@pytest.mark.parametrize("how", ["undoes it", "cannot judge after all"])
def test_a_grade_too_many_counts_when_more_are_wanted_and_is_asked_for_again_when_taken_back(collection, how):
    pair = make_pair(collection, wanted=1)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)
    queue.save(bob, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)  # beyond the one wanted
    assert queue.want([pair.pk], 2) == 0
    assert states(pair) == ["done", "done"]
    if how == "undoes it":
        queue.undo(bob, now=NOW)
        assert states(pair) == ["done", "leased"]
    else:
        queue.save(bob, pair, queue.Submission(reason="unclear", base_revision=1), now=NOW)
        assert states(pair) == ["done", "open"]


def test_imported_ratings_are_recorded_once_and_fill_what_was_wanted(collection):
    pair = make_pair(collection)
    rater = Rater.objects.create(collection=collection, name="qrels", kind="imported")
    row = Imported(pair.query_id, pair.document_id, grade(collection, "2"))
    other = Imported(pair.query_id, pair.document_id, grade(collection, "3"))
    assert record_imported(rater, [row]) == Counter(new=1, changed=0, unchanged=0)
    assert record_imported(rater, [row]) == Counter(new=0, changed=0, unchanged=1)
    assert record_imported(rater, [other]) == Counter(new=0, changed=1, unchanged=0)
    assert states(pair) == ["done"]
    assert [str(e.value.normalize()) for e in RatingEvent.objects.all()] == ["2", "3"]


def test_outlook_counts_own_work_and_tells_all_done_from_all_taken(collection):
    make_pair(collection)
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    pair = next_pair(alice)
    assert queue.outlook(alice, now=NOW) == queue.Outlook(0, 1, False, 0, None)
    assert queue.outlook(bob, now=NOW) == queue.Outlook(0, 0, False, 1, NOW + queue.LEASE)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "0")), now=NOW)
    assert queue.outlook(alice, now=NOW) == queue.Outlook(1, 0, False, 0, None)
    assert queue.outlook(bob, now=NOW) == queue.Outlook(0, 0, False, 0, None)


def test_events_cannot_be_changed_or_deleted(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)
    event = RatingEvent.objects.get()
    for act in (event.save, event.delete, RatingEvent.objects.all().delete):
        with pytest.raises(TypeError):
            act()
    with pytest.raises(TypeError):
        RatingEvent.objects.update(comment="changed")


def test_the_database_refuses_a_rating_that_is_neither_grade_nor_reason(collection):
    pair, alice = make_pair(collection), make_rater(collection)
    with pytest.raises(IntegrityError), transaction.atomic():
        Rating.objects.create(pair=pair, rater=alice, created_at=NOW, changed_at=NOW)


@pytest.mark.parametrize("many", [2, 3])
def test_many_new_assignments_renew_the_statistics_of_their_tables(
    monkeypatch, django_capture_on_commit_callbacks, many
):
    """Without them PostgreSQL may look through all ratings for each assignment of a claim."""
    monkeypatch.setattr(statistics, "MANY_ROWS", many)
    collection = make_collection()
    pairs = [make_pair(collection, document=key, wanted=0).pk for key in "abc"]
    with CaptureQueriesContext(connection) as queries, django_capture_on_commit_callbacks(execute=True):
        queue.want(pairs, 1)
    analyzed = [query["sql"] for query in queries if query["sql"].startswith("ANALYZE")]
    expected = ["ANALYZE ratings_pair, ratings_assignment"] if many < 3 else []
    assert analyzed == (expected if connection.vendor == "postgresql" else [])
