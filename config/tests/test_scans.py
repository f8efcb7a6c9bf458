"""No page and no act reads the rows of all collections for those of one. Calls of the API: test_api_access."""

import pytest
from django.core.cache import cache
from django.db import transaction
from django.urls import reverse

from config.tests.scans import analyzed, only_sqlite, scans_noted
from config.tests.test_access import ACTORS, TABLE, World
from ratings.models import Pair, Rating, RatingEvent

pytestmark = [pytest.mark.django_db, only_sqlite, pytest.mark.slow]


@pytest.fixture(scope="module")
def world(standing) -> World:
    return World()


# Each address with a person who reads there or may act.
WHO = {
    name: next(actor for actor, status in zip(ACTORS[1:], statuses[1:], strict=True) if status in (200, 302))
    for name, (_, statuses) in TABLE.items()
    if {200, 302} & set(statuses[1:])
}


@pytest.mark.parametrize("large", [False, True])
def test_no_page_and_no_act_scans_the_rows_of_all_collections(world, large):
    scans = {}
    with analyzed(large):
        for name, actor in WHO.items():
            address, of_address = reverse(name, kwargs=world.arguments(name)), {}
            with transaction.atomic(), scans_noted(of_address):
                answer = getattr(world.client(actor), TABLE[name][0])(address, world.data(name))
                assert answer.status_code in (200, 302), name
                transaction.set_rollback(True)
            cache.clear()
            scans |= {name: of_address} if of_address else {}
    assert scans == {}


def test_a_scan_is_noted():
    scans = {}
    with scans_noted(scans):
        list(Rating.objects.filter(comment="a comment"))
        list(Rating.objects.filter(pk=1))
        list(Pair.objects.filter(ratings__comment="a comment", pk__gt=0))
    assert scans.keys() == {"ratings_rating"}


def test_an_index_that_is_made_for_one_statement_is_noted():
    scans = {}
    with analyzed(True), scans_noted(scans):
        list(RatingEvent.objects.filter(rater=1, undone_by__isnull=True))
    assert scans.keys() == {"ratings_ratingevent"}
