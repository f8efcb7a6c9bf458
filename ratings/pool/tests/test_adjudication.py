import threading

import pytest
from django.db import IntegrityError, connection, transaction

from ratings.desk import queue
from ratings.models import Adjudication, Collection, Pair, Rating, RatingEvent
from ratings.pool.adjudication import Adjudicated, NotAdjudicated, adjudicate, withdraw
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater, make_user, next_pair

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def events(pair: Pair) -> list[tuple]:
    return [(e.kind, e.value and float(e.value), e.comment, e.rater, e.actor) for e in pair.events.all()]


def test_an_adjudication_is_kept_with_who_when_and_why_and_leaves_the_ratings_alone():
    collection = make_collection()
    pair, rater, admin = make_pair(collection), make_rater(collection), make_user("dora")
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "3")), now=NOW)
    adjudicate(pair, grade(collection, "-1"), reason="It sells something else.", actor=admin, now=NOW)
    stored = Adjudication.objects.get()
    assert (stored.pair, stored.grade.plain, stored.reason) == (pair, "-1", "It sells something else.")
    assert (stored.actor, stored.created_at) == (admin, NOW)
    assert Rating.objects.get().grade.plain == "3"
    assert events(pair)[1:] == [("adjudicate", -1.0, "It sells something else.", None, admin)]
    assert Collection.objects.get().decided == pair.events.last().pk


def test_an_event_tells_under_which_scale_and_guidelines():
    collection = make_collection()
    collection.guidelines.create(version=4, text="Read twice.")
    Collection.objects.update(scale_version=3)
    adjudicate(Pair.objects.get(pk=make_pair(collection).pk), grade(collection, "1"), reason="clear", actor=None)
    event = RatingEvent.objects.get()
    assert (event.scale_version, event.guidelines_version) == (3, 4)


def test_withdrawn_it_is_gone_and_its_history_stays():
    collection = make_collection()
    pair = make_pair(collection)
    first = adjudicate(pair, grade(collection, "2"), reason="clear", actor=None)
    withdraw(pair, reason="it was not", actor=None, seen=first.pk)
    assert not Adjudication.objects.exists()
    assert events(pair) == [("adjudicate", 2.0, "clear", None, None), ("undo", None, "it was not", None, None)]
    assert pair.events.last().undoes == pair.events.first()
    assert Collection.objects.get().decided == pair.events.last().pk
    second = adjudicate(pair, grade(collection, "1"), reason="on a second look", actor=None)
    withdraw(pair, reason="on a third", actor=None, seen=second.pk)
    assert [e.undoes_id for e in pair.events.all()][2:] == [None, pair.events.all()[2].pk]


def test_a_second_adjudication_is_refused_and_told_of_the_first():
    collection = make_collection()
    pair = make_pair(collection)
    adjudicate(pair, grade(collection, "2"), reason="clear", actor=make_user("dora"), now=NOW)
    before = Collection.objects.get().decided
    with pytest.raises(Adjudicated, match=r"already adjudicated: 2 Good by dora on 2026-03-02 \(clear\)"):
        adjudicate(pair, grade(collection, "0"), reason="no", actor=make_user("erik"))
    assert Adjudication.objects.get().grade.plain == "2"
    assert (len(events(pair)), Collection.objects.get().decided) == (1, before)


def test_the_same_adjudication_again_is_the_same_act():
    collection = make_collection()
    pair, admin = make_pair(collection), make_user("dora")
    for _ in range(2):
        adjudicate(pair, grade(collection, "2"), reason="clear", actor=admin)
    assert len(events(pair)) == 1
    with pytest.raises(Adjudicated):
        adjudicate(pair, grade(collection, "2"), reason="another reason", actor=admin)


def test_only_what_was_seen_is_withdrawn():
    collection = make_collection()
    pair = make_pair(collection)
    with pytest.raises(NotAdjudicated, match="is not adjudicated"):
        withdraw(pair, reason="no", actor=None, seen=1)
    seen = adjudicate(pair, grade(collection, "2"), reason="clear", actor=None)
    withdraw(pair, reason="no", actor=None, seen=seen.pk)
    anew = adjudicate(pair, grade(collection, "0"), reason="now it is", actor=None)
    another = anew.pk + 1
    with pytest.raises(NotAdjudicated, match=r"again: 0 Irrelevant on .* \(now it is\)"):
        withdraw(pair, reason="no", actor=None, seen=another)
    assert Adjudication.objects.get() == anew


def test_only_adjudications_have_events_without_a_rater():
    facts = {"pair": make_pair(make_collection()), "scale_version": 1, "created_at": NOW}
    RatingEvent.objects.create(kind="adjudicate", **facts)
    with pytest.raises(IntegrityError), transaction.atomic():
        RatingEvent.objects.create(kind="grade", **facts)


def test_an_adjudication_is_nothing_that_a_rater_can_undo():
    collection = make_collection()
    rater = make_rater(collection)
    pair = make_pair(collection)
    adjudicate(pair, grade(collection, "2"), reason="clear", actor=rater.user)
    assert queue.undo(rater, now=NOW) is None
    assert next_pair(rater) == pair


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_decides_and_the_other_is_told():
    collection = make_collection()
    pair, told, start = make_pair(collection), [], threading.Barrier(2)

    def decide(value: str) -> None:
        try:
            start.wait()
            adjudicate(Pair.objects.get(pk=pair.pk), grade(collection, value), reason=f"it is {value}", actor=None)
        except Adjudicated as error:
            told.append(str(error))
        finally:
            connection.close()

    both = [threading.Thread(target=decide, args=[value]) for value in ("0", "3")]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    stored = Adjudication.objects.get()
    assert len(told) == 1 and f"already adjudicated: {stored.grade} on" in told[0]
    assert events(pair) == [("adjudicate", float(stored.grade.value), stored.reason, None, None)]


# The command
