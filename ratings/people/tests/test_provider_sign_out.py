"""Sign-out by the provider: whose sessions end, and each wrong logout token beside its twin that is right."""

import time
from collections.abc import Callable

import jwt
import pytest
from django.contrib.auth import get_user_model
from django.test import Client, override_settings
from django.urls import reverse

from ratings.models import AuditEvent, Session
from ratings.people import throttle
from ratings.people.sign_in.oidc import verified
from ratings.people.sign_in.person import Refused

from .identity_provider import SIGN_OUT, came_back, new_key, who

pytestmark = pytest.mark.django_db

ANNA, BORIS = {"sub": "anna-1", "preferred_username": "anna"}, {"sub": "boris-2", "preferred_username": "boris"}


def signed_in(provider, person: dict = ANNA, session: str | None = "s-1") -> Client:
    client, provider.person = Client(), person | {"sid": session}
    assert came_back(client, provider).status_code == 302 and who(client)
    return client


def sent(token: str | None, **more):
    """The answer to the provider, which sends no cookie and no token of a form."""
    data = {} if token is None else {"logout_token": token}
    return Client(enforce_csrf_checks=True).post(reverse("provider_sign_out"), data, **more)


def test_a_token_of_a_person_ends_all_sessions_that_came_from_the_provider_and_no_others(provider):
    one, two = signed_in(provider), signed_in(provider, session=None)
    boris = signed_in(provider, BORIS, "s-2")
    by_hand = Client()
    by_hand.force_login(get_user_model().objects.get(username="anna"))
    provider.person = ANNA
    response = sent(provider.logout_token())
    assert (response.status_code, response.content) == (200, b"") and "no-store" in response["Cache-Control"]
    assert [who(client) for client in (one, two, boris, by_hand)] == ["", "", "boris", "anna"]
    event = AuditEvent.objects.get(act="sessions.ended")
    assert (event.about, event.detail) == ("anna", {"number": 2, "by_provider": True})
    assert event.account is None and event.address == "127.0.0.1"


@pytest.mark.both_databases
def test_a_token_of_a_session_ends_that_one_in_every_browser(provider):
    one, two, unnamed = signed_in(provider), signed_in(provider, session="s-2"), signed_in(provider, session=None)
    assert sent(provider.logout_token(sub=None, sid="s-1")).status_code == 200
    assert [who(client) for client in (one, two, unnamed)] == ["", "anna", "anna"]
    # With the person beside it, a session of hers that has no name ends, too: it may be the one.
    assert sent(provider.logout_token(sub="anna-1", sid="s-3")).status_code == 200
    assert [who(client) for client in (two, unnamed)] == ["anna", ""]


@pytest.mark.both_databases
def test_a_session_that_waits_for_a_second_factor_ends_too(provider):
    client = signed_in(provider)
    row = Session.objects.get(pk=client.session.session_key)
    assert len(row.provider_person) == len(row.provider_session) == 64
    assert "anna-1" not in row.provider_person and "s-1" not in row.provider_session
    Session.objects.update(user=None)  # as it is before the second factor
    assert sent(provider.logout_token()).status_code == 200
    assert not Session.objects.exists() and not AuditEvent.objects.filter(act="sessions.ended").exists()


def at(seconds: int) -> Callable[[], int]:
    """So many seconds after the moment of a test, which may be half an hour after this file is read."""
    return lambda: int(time.time()) + seconds


def of_now(claims: dict) -> dict:
    return {name: value() if callable(value) else value for name, value in claims.items()}


WRONG = {
    "expired": {"exp": at(-7200)},
    "of yesterday, though it says that it holds": {"iat": at(-86_400), "exp": at(86_400)},
    "a nonce, as tokens to sign in have": {"nonce": "n"},
    "an empty nonce": {"nonce": ""},
    "no events": {"events": None},
    "another event": {"events": {"http://schemas.openid.net/event/another": {}}},
    "an event that is no object": {"events": {SIGN_OUT: True}},
    "events that are a list": {"events": [SIGN_OUT]},
    "no name of its own": {"jti": None},
    "neither person nor session": {"sub": None},
    "a person that is no text": {"sub": ["anna-1"]},
    "a session that is no text": {"sid": {"s": 1}},
}


@pytest.mark.parametrize("claims", WRONG.values(), ids=WRONG)
def test_a_wrong_token_ends_nothing(provider, claims):
    client = signed_in(provider)
    response = sent(provider.logout_token(**of_now(claims)))
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})
    assert who(client) == "anna"
    assert AuditEvent.objects.get(act="sign_out.refused").about == "an unknown name"


FORGED = {
    "unsigned": {"algorithm": "none"},
    "signed with the public key as a secret": {"algorithm": "HS256"},
    "signed with another key": {"sign_with": new_key()},
}


@pytest.mark.parametrize("bent", FORGED.values(), ids=FORGED)
def test_a_forged_token_ends_nothing(provider, bent):
    client = signed_in(provider)
    for name, value in bent.items():
        setattr(provider, name, value)
    assert sent(provider.logout_token()).status_code == 400
    assert who(client) == "anna"


def test_what_is_no_token_ends_nothing_and_asks_the_provider_nothing(provider):
    provider.broken = "/openid-configuration"  # whoever asked it would get a 503
    for token in (None, "", "a.b.c", "not a token", "é" * 3000):
        assert sent(token).status_code == 400


def test_a_token_works_once(provider):
    signed_in(provider)
    token = provider.logout_token()
    assert sent(token).status_code == 200
    client = signed_in(provider)
    assert sent(token).status_code == 400
    assert who(client) == "anna"
    assert sent(provider.logout_token()).status_code == 200


def test_a_logout_token_signs_nobody_in(provider):
    """Its kind is another, whatever it names."""
    public = jwt.algorithms.RSAAlgorithm.to_jwk(provider.key.public_key(), as_dict=True)
    with pytest.raises(Refused, match="nonce"):
        verified(provider.logout_token(), [public | {"kid": provider.kid}], provider.issuer, "")


@pytest.mark.parametrize("broken", ["/openid-configuration", "/keys"])
def test_where_the_provider_is_away_it_may_send_the_same_again(provider, broken):
    client = signed_in(provider)
    token, provider.broken = provider.logout_token(), broken
    response = sent(token)
    assert response.status_code == 503 and response["Retry-After"] and who(client) == "anna"
    provider.broken = ""
    assert sent(token).status_code == 200 and who(client) == ""


def test_wrong_tokens_are_counted_and_right_ones_are_not(provider):
    statuses = [sent("wrong").status_code for _ in range(throttle.TRIES_PER_ADDRESS + 1)]
    assert statuses == [400] * throttle.TRIES_PER_ADDRESS + [429]
    elsewhere = {"REMOTE_ADDR": "10.0.0.9"}
    right = [sent(provider.logout_token(), **elsewhere).status_code for _ in range(throttle.TRIES_PER_ADDRESS + 5)]
    assert set(right) == {200}


def test_it_is_for_posts_and_only_where_there_is_a_provider(provider):
    address = "/accounts/provider/sign-out/"  # operators write it at their provider, so it never changes
    assert reverse("provider_sign_out") == address and Client().get(address).status_code == 405
    with override_settings(OIDC=None):
        assert sent("token").status_code == 404
