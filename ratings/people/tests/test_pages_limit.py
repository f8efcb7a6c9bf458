"""A person opens many pages in a minute, and a script cannot open all of them."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from django.urls import reverse

from ratings.people import pages, throttle
from ratings.tests import clocks
from ratings.tests.cast import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(pages, "PAGES_PER_PERSON", 3)
    return clocks.stopped(monkeypatch, 1_000_000)


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make_user(name))
    return client


def test_the_page_after_the_last_of_a_minute_is_refused_to_this_person_alone(clock):
    anna, ben = signed_in("anna"), signed_in("ben")
    assert [anna.get(reverse("tokens")).status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = anna.get(reverse("tokens"), headers={"accept": "application/json"})
    assert refused.status_code == 429 and refused["Retry-After"] == "60"
    assert refused.json() == {"error": pages.TOO_MANY}
    assert ben.get(reverse("tokens")).status_code == 200
    clock.now += throttle.MINUTE
    assert anna.get(reverse("tokens")).status_code == 200


def test_what_is_sent_and_what_strangers_read_is_not_counted(clock):
    anna = signed_in("anna")
    assert [anna.get(reverse("tokens")).status_code for _ in range(3)] == [200] * 3
    assert [anna.get(reverse("session")).status_code for _ in range(3)] == [200] * 3
    assert anna.post(reverse("sign_out")).status_code == 302
    assert [anna.get(reverse("sign_in")).status_code for _ in range(5)] == [200] * 5


def test_a_rater_at_full_speed_stays_below_it():
    """A document a second, with two pictures each and the page around them."""
    assert pages.PAGES_PER_PERSON > 60 * 4
    limited = pages.PagesLimited(lambda request: None)
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    assert limited.process_view(request, lambda: None, (), {}) is None and not limited.opened
