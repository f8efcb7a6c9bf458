"""A database that is away or locked is told as what it is, wherever it is missed."""

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import InterfaceError, OperationalError
from django.test import Client
from django.urls import reverse

from ratings.tests.cast import make_collection, make_rater

pytestmark = pytest.mark.django_db

JSON = {"accept": "application/json"}


@pytest.fixture
def client() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_rater(make_collection(), "alice").user)
    return client


@pytest.fixture(params=[OperationalError, InterfaceError])
def away(request, monkeypatch) -> None:
    """No session can be read, which is what a request needs first."""

    def load(self):
        raise request.param("the connection is closed")

    monkeypatch.setattr(SessionStore, "load", load)


def test_a_page_without_a_database_asks_to_try_again(client, away):
    answer = client.get(reverse("rate", args=["hills"]))
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Try again" in answer.content.decode()


def test_a_form_comes_back_with_all_that_was_sent(client, away):
    sent = {"grade": "3", "comment": "a < b", "base_revision": "0", "client_key": "0" * 32}
    answer = client.post(reverse("save_rating", args=["hills", "0" * 8 + "-0000-4000-8000-" + "0" * 12]), sent)
    assert answer.status_code == 503
    page = answer.content.decode()
    assert 'name="comment" value="a &lt; b"' in page
    assert all(f'name="{name}"' in page for name in sent)
    assert 'name="csrfmiddlewaretoken"' in page


def test_every_value_of_a_field_comes_back(client, away):
    page = client.post(reverse("make_pool", args=["hills"]), {"systems": ["1", "2"]}).content.decode()
    assert 'name="systems" value="1"' in page and 'name="systems" value="2"' in page


def test_a_password_never_comes_back_in_a_page(client, away):
    sent = {"username": "alice", "password": "canary1", "new_password1": "canary2", "next": "/"}
    page = client.post(reverse("sign_in"), sent).content.decode()
    assert 'name="username" value="alice"' in page
    assert "canary" not in page and "password" not in page


def test_a_script_is_told_in_its_own_way(client, away):
    answer = client.post(reverse("claim", args=["hills"]), {"count": 1}, headers=JSON)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json() == {"error": "The server cannot write at this moment."}


def test_the_page_never_asks_the_database_that_is_away(client, away, django_assert_num_queries):
    with django_assert_num_queries(0):
        client.post(reverse("claim", args=["hills"]))


def test_another_fault_is_still_a_fault(client, monkeypatch):
    def broken(self):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(SessionStore, "load", broken)
    assert client.get(reverse("rate", args=["hills"])).status_code == 500


def test_a_form_of_another_charset_is_refused(client):
    client.handler.enforce_csrf_checks = True
    client.get(reverse("rate", args=["hills"]))  # which sets the cookie
    odd = "application/x-www-form-urlencoded; charset=utf-16"
    assert client.post(reverse("claim", args=["hills"]), b"count=1", content_type=odd).status_code == 400


# Signed out, or signed in anew, while a form was open

HERE = {"origin": "http://testserver", "referer": "http://testserver/collections/hills/guidelines/edit/?from=1"}
TEXT = {"text": "a < b\n<script>", "base": "0", "csrfmiddlewaretoken": "canary"}


def test_what_was_written_while_signed_out_comes_back_to_be_copied(client):
    client.logout()
    edit = reverse("edit_guidelines", args=["hills"])
    answer = client.post(edit, TEXT | {"password": "canary", "code": "canary"}, headers=HERE)
    page = answer.content.decode()
    assert answer.status_code == 403 and "You were signed out before this was saved." in page
    assert "\na &lt; b\n&lt;script&gt;</textarea>" in page
    assert "canary" not in page and ">Base<" not in page
    assert 'href="/accounts/sign-in/?next=/collections/hills/guidelines/" target="_blank"' in page
    assert "sessionid" not in client.cookies or not client.cookies["sessionid"].value


def test_the_sign_in_after_a_form_leads_to_the_page_above(client):
    client.logout()
    for sent, status in (({"limit": "3"}, 302), ({"queries": "a b"}, 403)):
        answer = client.post(reverse("save_terms", args=["hills", 5]), sent)
        place = f'"{answer.url}"' if status == 302 else answer.content.decode()
        assert answer.status_code == status
        assert '"/accounts/sign-in/?next=/collections/hills/people/raters/5/"' in place


def test_a_form_whose_token_is_out_of_date_can_be_sent_again_by_its_own_page(client):
    client.handler.enforce_csrf_checks = True
    edit = reverse("edit_guidelines", args=["hills"])
    page = client.post(edit, TEXT, headers=HERE).content.decode()
    assert 'count as sent by <b dir="auto">alice</b>, who is signed in now.' in page
    assert "Send again" in page and 'name="text" value="a &lt; b\n&lt;script&gt;"' in page
    assert "canary" not in page and 'name="csrfmiddlewaretoken"' in page
    for changes, headers in [
        ({}, {}),
        ({}, {"origin": "https://evil.example"}),
        ({}, {"origin": "null", "referer": "https://evil.example/"}),
        ({"password": "canary"}, HERE),
    ]:
        answer = client.post(edit, TEXT | changes, headers=headers)
        assert answer.status_code == 403
        page = answer.content.decode()
        assert "Send again" not in page and "canary" not in page
        assert ("a &lt; b" in page) == (headers is HERE)
