"""Ratings that are asked again: they count no more, are wanted anew by anybody or by others, and can come back."""

from datetime import timedelta

import pytest

from ratings.desk import queue
from ratings.desk.queue import Submission
from ratings.models import Anchor, Rater, Rating, RatingEvent, Role
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    record_imported,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
LATER = NOW + timedelta(hours=1)


class World:
    """A pair that wants two ratings and has those of Alice, 1 and then 2, and of Bob, 3."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.admin = make_member(self.collection, "dora", Role.ADMIN)
        self.pair = make_pair(self.collection, wanted=2)
        self.alice, self.bob = make_rater(self.collection, "alice"), make_rater(self.collection, "bob")
        self.rate(self.alice, "1")
        self.rate(self.alice, "2", revision=1)
        self.rate(self.bob, "3")

    def rate(self, rater, value, *, revision=0, now=NOW):
        queue.claim(rater, now=now)
        sent = Submission(grade(self.collection, value), base_revision=revision)
        return queue.save(rater, self.pair, sent, now=now)

    def ask(self, ratings=None, **how) -> int:
        ratings = Rating.objects.all() if ratings is None else ratings
        return queue.ask_again(ratings, by=self.admin, now=LATER, **({"of_others": False} | how))

    def take_back(self) -> int:
        return queue.take_back_asking(self.collection, RatingEvent.objects.all(), by=self.admin, now=LATER)

    def states(self) -> list[tuple]:
        return sorted(self.pair.assignments.values_list("state", "rater__name"))

    def counted(self) -> dict[str, str]:
        rows = Rating.objects.counted().filter(pair=self.pair).select_related("grade", "rater")
        return {rating.rater.name: rating.grade.plain if rating.grade else rating.reason for rating in rows}

    def gets(self, rater) -> bool:
        return self.pair in [task.pair for task in queue.claim(rater, now=LATER)]


@pytest.fixture
def world() -> World:
    return World()


def of(rater):
    return Rating.objects.filter(rater=rater)


def test_a_rating_is_wanted_anew_by_its_rater_and_every_act_stays(world):
    assert world.ask(of(world.alice)) == 1
    assert world.states() == [("done", "bob"), ("open", None)]
    assert world.counted() == {"bob": "3"}
    kinds = list(
        RatingEvent.objects.filter(rater=world.alice).values_list("kind", "undoes__value", "actor__username")
    )
    assert kinds == [
        ("grade", None, "alice"),
        ("grade", None, "alice"),
        ("ask_again", 1, "dora"),
        ("ask_again", 2, "dora"),
    ]
    assert world.rate(world.alice, "0", now=LATER).outcome == "counted"
    assert world.counted() == {"alice": "0", "bob": "3"}


def test_others_are_asked_and_who_rated_it_is_not(world):
    carol = make_rater(world.collection, "carol")
    assert world.ask(of(world.alice), of_others=True) == 1
    assert world.states() == [("done", "bob"), ("open", None)]
    assert world.counted() == {"bob": "3"}
    assert not world.gets(world.alice)
    assert not world.gets(world.bob)
    assert world.gets(carol)


def test_what_its_rater_still_changes_does_not_count_where_others_are_asked(world):
    world.ask(of(world.alice), of_others=True)
    assert world.rate(world.alice, "0", revision=2, now=LATER).outcome == "surplus"
    assert world.counted() == {"bob": "3"}
    queue.undo(world.alice, now=LATER)
    assert world.states() == [("done", "bob"), ("open", None)]
    assert world.take_back() == 1
    assert world.counted() == {"alice": "2", "bob": "3"}


@pytest.mark.parametrize("of_others", [False, True])
def test_asking_is_taken_back_as_far_as_nobody_rated_anew(world, of_others):
    assert world.ask(of_others=of_others) == 2
    assert world.counted() == {}
    assert world.take_back() == 2
    assert world.states() == [("done", "alice"), ("done", "bob")]
    assert world.counted() == {"alice": "2", "bob": "3"}
    assert world.take_back() == 0
    assert world.ask(of(world.bob), of_others=of_others) == 1
    assert world.take_back() == 1


def test_what_was_given_anew_stays_when_the_rest_is_taken_back(world):
    world.ask()
    world.rate(world.alice, "0", now=LATER)
    assert world.take_back() == 1
    assert world.counted() == {"alice": "0", "bob": "3"}


def test_what_another_gave_meanwhile_stays_and_both_count(world):
    carol = make_rater(world.collection, "carol")
    world.ask(of(world.alice), of_others=True)
    world.rate(carol, "-1", now=LATER)
    assert world.take_back() == 1
    assert world.states() == [("done", "bob"), ("done", "carol")]
    assert world.counted() == {"alice": "2", "bob": "3", "carol": "-1"}


def test_undo_of_the_new_rating_does_not_bring_the_former_back(world):
    world.ask(of(world.alice))
    world.rate(world.alice, "0", now=LATER)
    queue.undo(world.alice, now=LATER)
    assert world.counted() == {"bob": "3"}
    assert world.states() == [("done", "bob"), ("leased", "alice")]
    assert queue.last_acts(world.alice) == []


def test_a_grade_that_left_the_scale_cannot_come_back(world):
    world.ask(of(world.alice))
    grade(world.collection, "2").delete()
    assert world.take_back() == 0


def test_an_imported_grade_beside_others_gets_a_wanted_rating():
    collection = make_collection()
    admin = make_member(collection, "dora", Role.ADMIN)
    ids = collection.queries.get(key="q1").pk, collection.documents.get(key="a").pk
    for name, value in (("nist", "1"), ("trec", "2")):
        rater = Rater.objects.create(collection=collection, name=name, kind="imported")
        record_imported(rater, [Imported(*ids, grade(collection, value))])
    pair = collection.queries.get(key="q1").pairs.get()
    assert queue.ask_again(Rating.objects.filter(rater__name="nist"), by=admin, of_others=False) == 1
    assert sorted(pair.assignments.values_list("state", "rater__name")) == [("done", "trec"), ("open", None)]
    assert queue.take_back_asking(collection, RatingEvent.objects.all(), by=admin) == 1
    assert sorted(pair.assignments.values_list("state", "rater__name")) == [("done", "nist"), ("done", "trec")]


def test_who_could_not_judge_may_be_asked_again_and_others_are_already():
    world = World()
    carol = make_rater(world.collection, "carol")
    pair = make_pair(world.collection, document="b")
    queue.claim(carol, now=NOW)
    queue.save(carol, pair, Submission(reason="broken"), now=NOW)
    assert world.ask(of(carol), of_others=True) == 0
    assert world.ask(of(carol)) == 1
    assert list(pair.assignments.values_list("state", flat=True)) == ["open"]
    assert pair in [task.pair for task in queue.claim(carol, now=LATER)]
    assert world.take_back() == 1
    assert Rating.objects.counted().get(pair=pair).reason == "broken"


def test_not_asked_again_are_retired_pairs_extra_gold_and_who_is_left_out(world):
    queue.leave_out(world.bob, now=NOW)
    assert world.ask() == 1
    queue.count_again(world.bob, now=NOW)
    queue.retire([world.pair.pk], now=NOW)
    assert world.ask() == 0
    queue.unretire([world.pair.pk])
    Anchor.objects.create(pair=world.pair, use="gold", grade=grade(world.collection, "3"), created_at=NOW)
    world.pair.assignments.filter(rater=world.bob).update(extra=True)
    assert world.ask() == 0
