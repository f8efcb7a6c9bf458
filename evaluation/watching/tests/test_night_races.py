"""A night that is stored while old nights are deleted."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation.models import Night, NightRanking, Watch
from evaluation.watching import nights
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.tests.cast import make_collection, make_rankings
from ratings.tests.races import race

pytestmark = pytest.mark.django_db(transaction=True)


def kept_and_stored(monkeypatch, seconds: float) -> tuple[set[int], set[int]]:
    """The rankings of a night that takes up one of an old night while that is deleted; and those that are left.

    seconds: for how long the deletion waits, in vain where the other waits for it.
    """
    collection = make_collection(queries=["q1"], documents="abcd")
    make_rankings(collection, {"imported": {"q1": "abc"}})
    watch, now = make_watch(collection), timezone.now()
    make_night(watch, due_at=now - timedelta(days=1_000))
    last = make_night(watch, due_at=now - timedelta(days=1))
    query, reverse = last.queries[0], [*collection.documents.order_by("-pk").values_list("pk", flat=True)]
    Night.objects.filter(pk=last.pk).update(rankings=[nights.store(watch, [(query, reverse)])[query]])
    has_looked, has_stored, batched = threading.Event(), threading.Event(), nights.batched

    def after_the_look(rows, size):
        if threading.current_thread() in forgetting:
            has_looked.set()
            has_stored.wait(timeout=seconds)
        return batched(rows, size)

    def act(forgets: bool) -> Night | None:
        if forgets:
            forgetting.append(threading.current_thread())
            nights.forget_old()
            return None
        has_looked.wait(timeout=20)
        night = nights.night_of_system(Watch.objects.get(), "imported", now)
        has_stored.set()
        return night

    forgetting: list[threading.Thread] = []
    monkeypatch.setattr(nights, "batched", after_the_look)
    _, night = race([True, False], act)
    assert has_looked.is_set() and Night.objects.count() == 2
    return set(nights.ids_in(night)), set(NightRanking.objects.values_list("pk", flat=True))


@pytest.mark.both_databases
def test_a_ranking_that_a_new_night_takes_up_is_not_deleted_with_an_old_one(monkeypatch):
    of_night, left = kept_and_stored(monkeypatch, seconds=1)
    assert of_night and of_night <= left


@pytest.mark.postgresql
def test_without_the_lock_the_new_night_loses_its_ranking(monkeypatch):
    """The twin of the test above. SQLite has one writer at a time."""
    monkeypatch.setattr(nights, "lock_rankings", lambda watch: None)
    of_night, left = kept_and_stored(monkeypatch, seconds=20)
    assert of_night and not of_night & left
