"""How long sessions last, by role."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratings.models import Role
from ratings.people import limits
from ratings.tests.cast import make_collection, make_member, make_user

pytestmark = pytest.mark.django_db

HOUR, DAY = 3600, 86_400


@pytest.fixture
def clock(monkeypatch):
    """Moves on what `limits` takes for now."""
    real = timezone.now

    class Clock:
        after = timedelta()

        def now(self):
            return real() + self.after

    clock = Clock()
    monkeypatch.setattr(limits, "timezone", clock)
    return clock


@pytest.fixture(autouse=True)
def by_role(settings):
    settings.SESSION_LIMITS = {"analyst": (HOUR, DAY), "admin": (HOUR / 2, 2 * DAY), "superuser": (60, HOUR)}


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("tokens")).status_code == 200


def test_who_does_nothing_is_signed_out_and_who_does_something_is_not(clock):
    user = make_member(make_collection(), "anna", Role.ANALYST)
    idle, busy = client_of(user), client_of(user)
    for _ in range(3):
        clock.after += timedelta(minutes=40)
        assert is_in(busy)
    assert not is_in(idle)


def test_an_open_page_is_nobody_who_does_something(clock):
    client = client_of(make_member(make_collection(), "anna", Role.ANALYST))
    for _ in range(3):
        clock.after += timedelta(minutes=25)
        client.get(reverse("session"))
    assert not is_in(client)


def test_a_session_ends_after_its_longest_time_whatever_one_does(clock):
    client = client_of(make_member(make_collection(), "anna", Role.ANALYST))
    for _ in range(47):
        clock.after += timedelta(minutes=30)
        assert is_in(client)
    clock.after += timedelta(minutes=31)
    assert not is_in(client)


@pytest.mark.parametrize(("role", "minutes", "stays"), [(Role.RATER, 5000, True), (Role.ADMIN, 29, True)])
@pytest.mark.parametrize("more", [0, 2])
def test_other_roles_have_other_limits(clock, role, minutes, stays, more):
    client = client_of(make_member(make_collection(), "anna", role))
    clock.after += timedelta(minutes=minutes + more)
    assert is_in(client) == (stays if role == Role.RATER else not more)


def test_of_several_roles_the_shortest_limits_count():
    user = make_member(make_collection(), "anna", Role.ANALYST)
    make_member(make_collection("sea"), "anna", Role.ADMIN)
    assert limits.limits_of(user) == (HOUR / 2, DAY)
    assert limits.limits_of(make_user("root", is_superuser=True)) == (60, HOUR)
    assert limits.limits_of(make_user("boris")) is None


def test_by_default_nothing_is_asked_and_nothing_ends(clock, settings, django_assert_num_queries):
    settings.SESSION_LIMITS = {}
    client = client_of(make_user("anna"))
    clock.after += timedelta(days=10)
    with django_assert_num_queries(2):  # the session and the account
        client.get(reverse("session"))
    assert is_in(client)


def test_the_list_of_sessions_says_when_they_end():
    client = client_of(make_member(make_collection(), "anna", Role.ANALYST))
    tomorrow = timezone.now() + timedelta(days=1)
    assert f"{tomorrow.day} {tomorrow:%b %Y}" in client.get(reverse("sessions")).content.decode()
