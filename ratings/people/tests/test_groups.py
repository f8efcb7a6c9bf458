"""Roles by groups of the provider: given at a sign-in, taken back when the group is gone."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Membership, Rater, Role
from ratings.people import members
from ratings.tests.cast import make_collection, make_member, make_pair

from .identity_provider import came_back

# Nothing here depends on which database it is.
pytestmark = pytest.mark.django_db

ROLES = {
    "raters": [("hills", "rater")],
    "leads": [("hills", "admin"), ("sea", "analyst")],
    "it": [("", "superuser")],
    "lost": [("gone", "admin")],
}


@pytest.fixture
def provider(provider, settings):
    make_collection("hills")
    make_collection("sea")
    settings.GROUP_ROLES = ROLES
    return provider


def enters(provider, *groups: str, **claims) -> Client:
    provider.claims = claims or {"groups": list(groups)}
    client = Client()
    assert came_back(client, provider).status_code == 302
    return client


def anna():
    return get_user_model().objects.get(username="anna")


def roles() -> dict[str, str]:
    return dict(Membership.objects.filter(user=anna()).values_list("collection__slug", "role"))


def test_groups_give_roles_and_their_end_takes_them_back(provider):
    client = enters(provider, "leads", "another")
    assert roles() == {"hills": "admin", "sea": "analyst"}
    assert client.get(reverse("people", args=["hills"])).status_code == 200
    again = enters(provider, "raters")
    assert roles() == {"hills": "rater"}
    for former in (client, again):
        assert former.get(reverse("people", args=["hills"])).status_code == 404
    enters(provider)
    assert roles() == {}


def test_of_two_roles_in_a_collection_the_higher_counts(provider):
    enters(provider, "raters", "leads")
    assert roles()["hills"] == "admin"


def test_superusers_come_and_go_with_their_group(provider):
    enters(provider, "it")
    assert anna().is_superuser
    enters(provider, "raters")
    assert not anna().is_superuser


def test_who_becomes_a_superuser_rates_no_more_and_gives_back_what_they_hold(provider):
    hills = members.Collection.objects.get(slug="hills")
    make_pair(hills)
    enters(provider, "raters")
    rater = Rater.objects.get(user=anna())
    assert queue.claim(rater)
    enters(provider, "raters", "it")
    assert roles() == {} and queue.held(rater) == []
    enters(provider, "raters")
    assert roles() == {"hills": "rater"}


def test_what_was_given_by_hand_is_not_touched(provider):
    enters(provider)
    get_user_model().objects.filter(pk=anna().pk).update(is_superuser=True)
    Membership.objects.create(collection=make_collection("own"), user=anna(), role=Role.ADMIN)
    hills = members.Collection.objects.get(slug="hills")
    Membership.objects.create(collection=hills, user=anna(), role=Role.ANALYST)
    enters(provider, "raters", "it")
    enters(provider)
    assert roles() == {"own": "admin", "hills": "analyst"} and anna().is_superuser


def test_what_an_admin_changes_stays_so(provider):
    enters(provider, "leads")
    members.set_role(Membership.objects.get(collection__slug="sea"), Role.ADMIN)
    enters(provider)
    assert roles() == {"sea": "admin"}


def test_even_the_last_admin_by_a_group_goes_with_it_and_by_hand_nobody_does(provider):
    enters(provider, "leads")
    with pytest.raises(members.LastAdmin):
        members.remove(Membership.objects.get(collection__slug="hills"))
    enters(provider)
    assert roles() == {}


def test_a_rater_gives_back_what_they_hold_and_is_active_again_later(provider):
    enters(provider, "raters")
    rater = Rater.objects.get(user=anna())
    members.deactivate(rater)
    enters(provider)
    enters(provider, "raters")
    rater.refresh_from_db()
    assert rater.active


def test_others_keep_their_roles(provider):
    make_member(members.Collection.objects.get(slug="hills"), "boris", Role.ADMIN)
    enters(provider, "leads")
    enters(provider)
    assert Membership.objects.get().user.username == "boris"


SHAPES = [
    ({"groups": "leads"}, "groups", True),
    ({"realm": {"roles": ["leads"]}}, "realm.roles", True),
    ({"https://example.org/groups": ["leads"]}, "https://example.org/groups", True),
    ({"groups": {"leads": True}}, "groups", False),
    ({"groups": [["leads"], 7, None]}, "groups", False),
    ({"other": ["leads"]}, "groups", False),
    ({"realm": ["leads"]}, "realm.roles", False),
]


@pytest.mark.parametrize(("claims", "name", "given"), SHAPES)
def test_groups_come_in_several_shapes(provider, settings, claims, name, given):
    settings.OIDC = settings.OIDC | {"groups_claim": name}
    enters(provider, **claims)
    assert bool(roles()) == given


def test_a_group_of_a_collection_that_is_not_there_gives_nothing(provider):
    enters(provider, "lost")
    assert roles() == {}
