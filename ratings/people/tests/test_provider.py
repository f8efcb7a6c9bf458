"""Sign-in at a provider: who is let in, and every token that is refused beside its twin that is not."""

import re
import time

import jwt
import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings.models import AuditEvent, Role
from ratings.people import mail, names, throttle, tokens
from ratings.people.audit import Act
from ratings.people.sign_in.oidc import verified
from ratings.tests.cast import make_collection, make_member, make_user

from .identity_provider import CLIENT, IdentityProvider, came_back, new_key, sent_to, who

# Nothing here depends on which database it is.
pytestmark = pytest.mark.django_db

ANNA = {"sub": "anna-1", "email": "anna@example.org", "email_verified": True, "preferred_username": "anna"}


def name_of_a_visitor(provider) -> str:
    """Of somebody who comes from the provider in a browser of their own."""
    client = Client()
    came_back(client, provider)
    return who(client)


def test_the_right_token_signs_in_and_leads_to_the_page_that_was_asked_for(provider, client):
    response = came_back(client, provider, next="/accounts/tokens/")
    assert (response.status_code, response.url) == (302, "/accounts/tokens/")
    assert who(client) == "anna"
    assert "this one" in client.get(reverse("sessions")).content.decode()


def test_the_provider_is_asked_for_what_the_settings_say_and_nothing_that_a_visitor_writes(provider):
    page = Client().post(reverse("provider") + "?scope=admin&auth_params=claims%3Dall&process=connect")
    said = page.content.decode()
    assert "scope=openid+email" in said or "scope=email+openid" in said
    assert "admin" not in said and "claims" not in said
    assert "code_challenge=" in said and "nonce=" in said and "state=" in said
    # Operators write this address at their provider, so it never changes.
    assert "redirect_uri=http%3A%2F%2Ftestserver%2Faccounts%2Fprovider%2Fcallback%2F" in sent_to(Client())


OLD = int(time.time()) - 7200
WRONG = {
    "expired": {"claims": {"exp": OLD}},
    "of tomorrow": {"claims": {"iat": int(time.time()) + 7200}},
    "not yet valid": {"claims": {"nbf": int(time.time()) + 7200}},
    "another audience": {"claims": {"aud": "another"}},
    "two audiences, made for the other": {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
    "two audiences, made for nobody": {"claims": {"aud": [CLIENT, "another"]}},
    "another issuer": {"claims": {"iss": "https://id.example.net"}},
    "another nonce": {"claims": {"nonce": "another"}},
    "no nonce": {"claims": {"nonce": None}},
    "no end": {"claims": {"exp": None}},
    "no subject": {"claims": {"sub": None}},
    "unsigned": {"algorithm": "none"},
    "signed with the public key as a secret": {"algorithm": "HS256"},
    "signed with another key": {"sign_with": new_key()},
    "userinfo of another person": {"userinfo": {"sub": "boris-2"}},
    "a discovery document of another issuer": {"discovery": {"issuer": "https://id.example.net"}},
}
RIGHT = {
    "two audiences, made for us": {"claims": {"aud": [CLIENT, "another"], "azp": CLIENT}},
    "half a minute late": {"claims": {"exp": int(time.time()) - 30}},
    "another algorithm with a public key": {"algorithm": "PS256"},
    "userinfo of the same person": {"userinfo": {"sub": "anna-1", "email": "new@example.org"}},
}


@pytest.mark.parametrize("bent", WRONG.values(), ids=WRONG)
def test_a_wrong_token_lets_nobody_in(provider, bent, client):
    address = sent_to(client) if "discovery" not in bent else None
    for name, value in bent.items():
        setattr(provider, name, value)
    response = client.get(provider.authorize(address)) if address else client.post(reverse("provider"))
    assert response.status_code == 403
    assert who(client) == "" and not get_user_model().objects.exists()


@pytest.mark.parametrize("bent", RIGHT.values(), ids=RIGHT)
def test_the_right_one_lets_in(provider, bent, client):
    if "exp" in bent.get("claims", {}):
        bent = {"claims": {"exp": int(time.time()) - 30}}
    for name, value in bent.items():
        setattr(provider, name, value)
    assert came_back(client, provider).status_code == 302
    assert who(client) == "anna"


def test_a_key_that_is_shorter_than_the_settings_ask_for_lets_nobody_in(provider, settings, client):
    settings.OIDC_RSA_BITS = 3072
    assert came_back(client, provider).status_code == 403 and who(client) == ""
    provider.key = rsa.generate_private_key(public_exponent=65537, key_size=3072)
    assert came_back(client, provider).status_code == 302 and who(client) == "anna"


def test_a_token_with_no_key_id_is_checked_against_every_key(provider):
    key = new_key()
    public = jwt.algorithms.RSAAlgorithm.to_jwk(provider.key.public_key(), as_dict=True)
    other = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    now = int(time.time())
    claims = {"iss": "i", "aud": CLIENT, "sub": "s", "nonce": "n", "iat": now, "exp": now + 60}
    token = jwt.encode(claims, provider.key, "RS256")
    assert verified(token, [other, public], "i", "n")["sub"] == "s"
    with pytest.raises(Exception, match="no key"):
        verified(token, [other], "i", "n")


def test_a_state_has_192_bits_and_is_another_each_time(provider):
    states = {sent_to(Client()).partition("state=")[2].partition("&")[0] for _ in range(3)}
    assert len(states) == 3 and all(re.fullmatch(r"[\w-]{32}", state) for state in states)


def test_a_state_works_once_and_only_in_its_browser(provider, client):
    address = provider.authorize(sent_to(client))
    assert Client().get(address).status_code == 403  # in another browser
    assert client.get(address).status_code == 302
    client.post(reverse("sign_out"))
    assert client.get(address).status_code == 403
    assert who(client) == ""


def test_a_code_works_once(provider, client):
    used = provider.authorize(sent_to(client))
    code = used.partition("code=")[2].partition("&")[0]
    assert client.get(used).status_code == 302
    client.post(reverse("sign_out"))
    fresh = provider.authorize(sent_to(client))
    again = fresh.replace(fresh.partition("code=")[2].partition("&")[0], code)
    assert client.get(again).status_code == 503
    assert who(client) == ""


def test_a_code_of_another_issuer_is_refused(provider, client):
    assert client.get(provider.authorize(sent_to(client)) + "&iss=https://id.example.net").status_code == 403
    assert client.get(provider.authorize(sent_to(client)) + f"&iss={provider.issuer}").status_code == 302


@pytest.mark.parametrize("broken", ["/openid-configuration", "/token", "/keys"])
def test_where_the_provider_is_away_the_page_says_so(provider, broken, client):
    if broken == "/openid-configuration":
        provider.broken = broken
        response = client.post(reverse("provider"))
    else:
        address = provider.authorize(sent_to(client))
        provider.broken = broken
        response = client.get(address)
    assert response.status_code == 503 and "does not answer" in response.content.decode()
    assert who(client) == ""


def refused_with(client: Client, error: str) -> str:
    """The page of a visitor whom the provider sent back with this error."""
    state = sent_to(client).partition("state=")[2].partition("&")[0]
    response = client.get(reverse("provider_callback"), {"error": error, "state": state})
    assert response.status_code == 403
    return response.content.decode()


def test_who_cancels_at_the_provider_is_told_so_and_not_signed_in(provider, client):
    assert "You cancelled at" in refused_with(client, "access_denied")
    assert "You cancelled at" not in refused_with(client, "server_error")
    assert who(client) == ""


def test_who_is_signed_in_and_refused_at_the_provider_is_told_that_they_are_still_in(provider, client):
    came_back(client, provider)
    page = refused_with(client, "access_denied")
    assert "You are still signed in as <b>anna</b>" in page and "Not signed in" not in page
    assert who(client) == "anna"


# Accounts


def test_the_account_is_found_by_the_subject_and_not_by_name_or_address(provider):
    came_back(Client(), provider)
    provider.person = ANNA | {"email": "anna.new@example.org", "preferred_username": "annabel"}
    assert name_of_a_visitor(provider) == "anna"
    assert get_user_model().objects.get().email == "anna.new@example.org"
    provider.person = ANNA | {"sub": "boris-2"}  # who got her former name and address
    assert name_of_a_visitor(provider) == "anna-2"


JOINED = [
    ({}, True, "old"),
    ({}, False, "anna"),  # the operator did not say so
    ({"email_verified": False}, True, "anna"),
    ({"email_verified": None}, True, "anna"),
]


@pytest.mark.parametrize(("claims", "join", "name"), JOINED)
def test_accounts_are_joined_by_a_verified_address_where_the_operator_says_so(provider, claims, join, name):
    make_user("old", email="Anna@Example.org")
    provider.claims = claims
    with provider.settings(JOIN_BY_ADDRESS=join):
        assert name_of_a_visitor(provider) == name


def test_whoever_had_the_account_before_its_owner_came_has_no_way_in(provider, client):
    """The address of an account may be written by somebody who does not own it."""
    hills = make_collection()
    old = make_member(hills, "old", Role.ANALYST)
    get_user_model().objects.update(email="anna@example.org")
    client.force_login(old)
    link = mail.password_link(old)
    _, key = tokens.make(old, hills, name="mine", scopes=["read"], days=9)
    totp.TOTP.activate(old, "JBSWY3DPEHPK3PXP")
    with provider.settings(JOIN_BY_ADDRESS=True):
        assert name_of_a_visitor(provider) == "old"
        assert who(client) == "" and tokens.valid_token(key) is None and not Authenticator.objects.exists()
        assert not client.login(username="old", password="a pass phrase")
        assert client.get(link, follow=True).context["form"] is None
        acts = AuditEvent.objects.filter(about="old").values_list("act", flat=True)
        assert {Act.SIGN_IN, Act.SESSIONS_ENDED, Act.TOKEN_REVOKED} <= {*acts}
        again = Client()
        came_back(again, provider)
        assert name_of_a_visitor(provider) == who(again) == "old"  # later sign-ins end nothing


def test_no_superuser_and_nobody_who_is_tied_to_another_person_is_joined(provider):
    make_user("root", email="anna@example.org", is_superuser=True)
    with provider.settings(JOIN_BY_ADDRESS=True):
        assert name_of_a_visitor(provider) == "anna"
        provider.person = ANNA | {"sub": "boris-2"}
        assert name_of_a_visitor(provider) == "anna-2"


@pytest.mark.parametrize(
    ("stored", "given"), [("mike@mit.example", "mıke@mıt.example"), ("k@x.example", "\u212a@x.example")]
)
def test_letters_that_only_look_alike_join_none(provider, stored, given):
    """A database may fold the dotless ı to I and the sign of Kelvin to k, and so take others' addresses."""
    make_user("victim", email=stored)
    provider.claims = {"email": given}
    with provider.settings(JOIN_BY_ADDRESS=True):
        assert name_of_a_visitor(provider) == "anna"


def test_a_closed_account_stays_closed(provider, client):
    came_back(Client(), provider)
    get_user_model().objects.update(is_active=False)
    assert came_back(client, provider).status_code == 403
    assert who(client) == ""


def test_the_same_subject_of_another_issuer_is_another_person(provider):
    came_back(Client(), provider)
    other = IdentityProvider()
    other.person = ANNA
    with other.settings():
        assert name_of_a_visitor(other) == "anna-2"
    other.close()
    assert SocialAccount.objects.count() == 2


NAMES = [("anna", "ａｎｎａ"), ("anna", "Ａnna"), ("änna", "Änna"), ("strasse", "straße"), ("Anna", "anna")]


@pytest.mark.parametrize(("taken", "given"), [*NAMES, ("of-the-sample", "sample-admin")])
def test_a_name_that_looks_like_another_account_s_gets_a_number(provider, taken, given):
    make_user(taken)
    provider.person = ANNA | {"preferred_username": given}
    assert name_of_a_visitor(provider) == f"{names.stored(given)}-2"


# When the person signed in at the provider


def test_a_session_at_the_provider_is_no_proof_of_who_sits_there(provider, client):
    """Whoever finds an open browser signs out here and in again, without a password at the provider."""
    provider.claims = {"auth_time": int(time.time()) - 3600}
    came_back(client, provider)
    assert who(client) == "anna" and client.get(reverse("mfa_activate_totp")).status_code == 403
    assert came_back(client, provider).status_code == 403  # sent to sign in there once more, and did not
    provider.claims = {"auth_time": None}
    provider.userinfo = {"sub": "anna-1", "auth_time": int(time.time())}  # which nobody signed
    assert came_back(client, provider).status_code == 403
    assert client.get(reverse("mfa_activate_totp")).status_code == 403
    provider.claims = {}
    assert "max_age=0" in sent_to(client) and came_back(client, provider).status_code == 302
    assert client.get(reverse("mfa_activate_totp")).status_code == 200


# Sign-out, other ways, tries


def test_a_sign_out_goes_to_the_provider_too(provider, client):
    came_back(client, provider)
    page = client.post(reverse("sign_out")).content.decode()
    assert f"{provider.issuer}/end_session?id_token_hint=" in page
    assert "post_logout_redirect_uri=http%3A%2F%2Ftestserver%2F" in page
    assert who(client) == ""


def test_a_sign_out_works_without_the_provider(provider):
    for discovery in ({"end_session_endpoint": None}, {"issuer": "https://id.example.net"}):
        client, provider.discovery = Client(), {}
        came_back(client, provider)
        provider.discovery = discovery
        assert client.post(reverse("sign_out")).status_code == 302
        assert who(client) == ""


@pytest.mark.parametrize(("passwords", "status"), [(True, 302), (False, 404)])
def test_passwords_can_be_switched_off(provider, passwords, status):
    make_user("alice")
    with provider.settings(PASSWORDS=passwords):
        client = Client()
        page = client.get(reverse("sign_in")).content.decode()
        assert ('name="password"' in page) == passwords and "Sign in with Example ID" in page
        sent = {"username": "alice", "password": "a pass phrase"}
        assert client.post(reverse("sign_in"), sent).status_code == status
        assert who(client) == ("alice" if passwords else "")


def test_a_next_page_of_another_site_is_not_followed(provider):
    assert came_back(Client(), provider, next="https://example.net/").url == "/"


def test_both_ways_are_counted(provider, client):
    there = [client.post(reverse("provider")).status_code for _ in range(throttle.TRIES_PER_ADDRESS + 1)]
    assert there == [200] * throttle.TRIES_PER_ADDRESS + [429]
    back = [client.get(reverse("provider_callback")).status_code for _ in range(throttle.TRIES_PER_ADDRESS + 1)]
    assert back == [403] * throttle.TRIES_PER_ADDRESS + [429]
    assert client.post(reverse("provider"), REMOTE_ADDR="10.0.0.9").status_code == 200


@pytest.mark.parametrize("moved", ["/openid-configuration", "/keys", "/token", "/userinfo"])
def test_no_redirect_of_the_provider_is_followed(provider, moved):
    provider.userinfo = {"sub": "anna-1"}
    client, twin = Client(), Client()
    came_back(twin, provider)
    address = sent_to(client) if moved != "/openid-configuration" else ""
    provider.moved = moved
    response = client.get(provider.authorize(address)) if address else client.post(reverse("provider"))
    assert (who(twin), response.status_code, who(client)) == ("anna", 503, "")
