"""The switcher between collections in the head of a page."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from ratings.models import Collection, Role
from ratings.tests.cast import make_collection, make_member, signed_in

pytestmark = pytest.mark.django_db


def switched_to(client, slug: str) -> list[str]:
    """The addresses in the switcher of the page of results."""
    page = client.get(reverse("overview", args=[slug])).content.decode()
    switch = re.search(r'<details class="switch">.*?</details>', page, re.DOTALL)
    return re.findall('href="(.*?)"', switch[0]) if switch else []


def test_the_switcher_leads_to_the_other_collections_by_the_role_there():
    hills, shop, gone = (make_collection(slug=slug) for slug in ("hills", "shop", "gone"))
    make_collection(slug="foreign")
    carla = make_member(hills, "carla", Role.ANALYST)
    client = signed_in(carla)
    assert switched_to(client, "hills") == []
    for collection, role in ((shop, Role.RATER), (gone, Role.ADMIN)):
        collection.memberships.create(user=carla, role=role)
    assert switched_to(client, "hills") == ["/collections/gone/", "/collections/shop/rate/", "/"]
    Collection.objects.filter(pk=gone.pk).update(put_away_at=timezone.now())
    assert switched_to(client, "hills") == ["/collections/shop/rate/", "/"]
