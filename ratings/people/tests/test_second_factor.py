"""Second factors: asked for at every way in, required for roles, each try counted. Passkeys are in a browser."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse

from ratings.models import AuditEvent, Role
from ratings.people import throttle, tokens
from ratings.people.audit import Act
from ratings.people.sign_in import links, recovery_codes
from ratings.people.sign_in.person import digest
from ratings.tests import clocks
from ratings.tests.cast import make_collection, make_member, make_user

from .identity_provider import IdentityProvider, came_back

# Nothing here depends on which database it is.
pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXP"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    cache.clear()  # of codes that tests before have used
    return clocks.stopped(monkeypatch, 1_000_000)


@pytest.fixture
def anna():
    """An analyst with an app and recovery codes."""
    user = make_member(make_collection(), "anna", Role.ANALYST)
    with_app(user)
    return user


@pytest.fixture
def inside(anna) -> Client:
    """Of hers, with both factors given."""
    client = Client()
    password(client)
    given(client, code())
    return client


def with_app(user):
    totp.TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    recovery_codes.renew(user)


def code(steps: int = 0) -> str:
    if time.time() % 30 > 26:
        time.sleep(30 - time.time() % 30)  # so that it still holds when it is given
    return totp.format_hotp_value(totp.hotp_value(SECRET, int(time.time()) // 30 + steps))


def wrong() -> str:
    right = {code(steps) for steps in range(-3, 4)}
    return next(c for c in map("{:06}".format, range(10)) if c not in right)


def password(client: Client, name: str = "anna", **more):
    return client.post(reverse("sign_in"), {"username": name, "password": "a pass phrase", **more})


def given(client: Client, text: str):
    return client.post(reverse("mfa_authenticate"), {"code": text})


def who(client: Client) -> str:
    return client.get(reverse("session")).json()["name"]


def test_the_password_alone_lets_nobody_in_and_with_the_code_it_does(anna, client):
    assert given(client, code()).url == reverse("sign_in")  # the code alone
    assert password(client, next="/accounts/tokens/").url == reverse("mfa_authenticate")
    assert who(client) == ""
    assert client.get(reverse("home")).wsgi_request.user.is_anonymous
    page = client.get(reverse("mfa_authenticate"))
    assert (page.context["has_app"], page.context["has_passkey"]) == (True, False)
    assert "data-passkey" not in page.text
    assert given(client, wrong()).status_code == 200
    assert who(client) == ""
    assert given(client, code()).url == "/accounts/tokens/"
    assert who(client) == "anna"


def test_a_code_works_once_in_all_processes(anna, monkeypatch):
    """What allauth keeps in the cache of one process is as good as gone in another."""
    first, second = Client(), Client()
    password(first), password(second)
    used = code()
    assert given(first, used).status_code == 302
    assert given(second, used).status_code == 200
    assert given(second, f"{used[:3]} {used[3:]}").status_code == 200
    assert who(second) == ""


def test_a_code_holds_for_the_thirty_seconds_of_its_display_and_no_longer(anna, clock, monkeypatch, client):
    monkeypatch.setattr(totp, "time", clock)
    shown = [totp.format_hotp_value(totp.hotp_value(SECRET, int(clock.now) // 30 + steps)) for steps in (-1, 0, 1)]
    password(client)
    clock.now += 29
    assert [given(client, each).status_code for each in (shown[0], shown[2])] == [200, 200]
    assert given(client, shown[1]).status_code == 302


def test_the_sixth_code_in_a_minute_is_refused_even_the_right_one(anna, clock, client):
    password(client)
    assert [given(client, wrong()).status_code for _ in range(5)] == [200] * 5
    response = given(client, code())
    assert response.status_code == 429 and response["Retry-After"] == "60"
    assert who(client) == ""
    clock.now += throttle.MINUTE
    assert given(client, code()).status_code == 302


def test_recovery_codes_and_passkeys_are_counted_with_them(anna, client):
    password(client)
    for text in ("00000000", "00000001", wrong()):
        given(client, text)
    for _ in range(2):
        client.post(reverse("mfa_authenticate"), {"credential": "{}"})
    assert given(client, recovery_codes.renew(anna)[0]).status_code == 429
    assert client.post(reverse("mfa_authenticate"), {"credential": "{}"}).status_code == 429


def test_so_does_a_link_which_works_once(anna, client):
    boris = make_user("boris")
    assert client.post(reverse("sign_in_link", args=[links.key_for(anna)])).url == reverse("mfa_authenticate")
    assert who(client) == ""
    address = reverse("sign_in_link", args=[links.key_for(boris)])
    assert Client().get(address).status_code == 200
    other = Client()
    assert other.post(address).status_code == 302 and who(other) == "boris"
    assert Client().post(address).status_code == 404


def test_a_link_ends_and_a_wrong_one_is_none(anna, monkeypatch):
    address = reverse("sign_in_link", args=[links.key_for(anna)])
    assert Client().get(address[:-2] + "x/").status_code == 404
    monkeypatch.setattr(links, "VALID_FOR", links.VALID_FOR * 0)
    assert Client().get(address).status_code == 404


def test_keys_of_links_are_counted():
    answers = [Client().post("/accounts/link/x/") for _ in range(throttle.TRIES_PER_ADDRESS + 1)]
    assert [answer.status_code for answer in answers] == [404] * throttle.TRIES_PER_ADDRESS + [429]
    assert answers[-1]["Referrer-Policy"] == "strict-origin"  # the page's address has the key


NAMED = frozenset({"mfa", "urn:two"})


@pytest.mark.parametrize(
    ("claims", "named", "asked"),
    [
        ({"amr": ["pwd", "mfa"]}, NAMED, False),
        ({"acr": "urn:two"}, NAMED, False),
        ({"amr": ["pwd"], "acr": "urn:one"}, NAMED, True),
        ({"amr": "mfa"}, NAMED, True),
        ({"amr": [["mfa"], {}], "acr": ["urn:two"]}, NAMED, True),
        ({}, NAMED, True),
        ({"amr": ["mfa"]}, frozenset(), True),
    ],
)
def test_a_second_factor_at_the_provider_counts_where_its_token_says_so(anna, claims, named, asked):
    provider = IdentityProvider()
    SocialAccount.objects.create(user=anna, provider="oidc", uid=digest(provider.issuer, "1"))
    provider.person = {"sub": "1"}
    provider.claims = claims
    provider.userinfo = {"sub": "1", "amr": ["mfa"], "acr": "urn:two"}  # which is no word of this sign-in
    with provider.settings(PROVIDER_SECOND_FACTOR=named):
        client = Client()
        response = came_back(client, provider)
        assert (response.url == reverse("mfa_authenticate")) == asked
        assert who(client) == ("" if asked else "anna")
    provider.close()


# Setting up, and removing


def test_an_app_is_set_up_with_a_code_and_recovery_codes_follow(client):
    make_user("anna")
    password(client)
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r'class="secret">(\w+)<', page)[1]
    right = totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30))
    assert client.post(reverse("mfa_activate_totp"), {"code": "x"}).status_code == 200
    shown = client.post(reverse("mfa_activate_totp"), {"code": right}).context["codes"]
    assert len(set(shown)) == 10 and recovery_codes.remaining(get_user_model().objects.get()) == 10
    row = Authenticator.objects.get(type="recovery_codes")
    assert row.data == {"migrated_codes": [], "hashes": [recovery_codes.hashed(each) for each in shown]}
    assert client.get(reverse("mfa_index")).context["codes_left"] == 10


def test_new_recovery_codes_take_the_place_of_the_old_are_shown_once_and_work_once(anna, inside):
    old = recovery_codes.renew(anna)
    new = inside.post(reverse("mfa_generate_recovery_codes")).context["codes"]
    assert not set(old) & set(new) and recovery_codes.remaining(anna) == 10
    assert new[0] not in inside.get(reverse("mfa_index")).content.decode()
    second, third = Client(), Client()
    password(second), password(third)
    used = new[0].lower().replace("-", " ")
    assert [given(second, each).status_code for each in (old[0], used)] == [200, 302]
    assert given(third, used).status_code == 200
    assert recovery_codes.remaining(anna) == 9


def test_of_a_recovery_code_the_database_has_a_hash_of_120_bits(anna):
    """With 112 bits or more a plain hash is enough, says the standard."""
    (one, *others) = recovery_codes.renew(anna)
    assert len(one.replace("-", "")) * 5 >= 112
    stored = str(Authenticator.objects.get(type="recovery_codes").data)
    assert not any(code.replace("-", "") in stored for code in (one, *others)) and "seed" not in stored


def later(monkeypatch, seconds: int = 1000) -> None:
    now = time.time
    monkeypatch.setattr("allauth.account.internal.flows.reauthentication.time.time", lambda: now() + seconds)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("get", "mfa_activate_totp"),
        ("get", "mfa_add_webauthn"),
        ("post", "mfa_deactivate_totp"),
        ("post", "mfa_generate_recovery_codes"),
    ],
)
def test_a_change_asks_once_more_who_it_is_after_a_while(anna, inside, monkeypatch, method, name):
    if name == "mfa_activate_totp":
        Authenticator.objects.all().delete()
    later(monkeypatch)
    response = getattr(inside, method)(reverse(name))
    assert response.status_code == 302 and response.url.startswith(reverse("account_reauthenticate"))
    assert Authenticator.objects.filter(user=anna).count() == (0 if name == "mfa_activate_totp" else 2)
    assert inside.post(response.url, {"password": "wrong"}).status_code == 200
    right = inside.post(response.url, {"password": "a pass phrase"})  # what waited for it is done with it
    assert "codes" in right.context if name == "mfa_generate_recovery_codes" else right.status_code == 302
    assert not AuditEvent.objects.filter(act=Act.SIGN_IN_REFUSED)[1:]  # the wrong password alone
    assert getattr(inside, method)(reverse(name)).status_code in {200, 302, 404}


def test_the_password_that_is_asked_once_more_is_counted(anna, monkeypatch, client):
    client.force_login(anna)
    address = reverse("account_reauthenticate")
    statuses = [client.post(address, {"password": "wrong"}).status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_who_has_no_password_signs_in_anew_before_a_change(monkeypatch):
    provider = IdentityProvider()
    provider.person = {"sub": "1", "preferred_username": "anna"}
    with provider.settings():
        client = Client()
        came_back(client, provider)
        assert client.get(reverse("mfa_activate_totp")).status_code == 200
        monkeypatch.setattr("ratings.people.sign_in.second_factor.REAUTHENTICATION_TIMEOUT", -1)
        assert client.get(reverse("mfa_activate_totp")).status_code == 403
        assert "prompt=login" in client.post(reverse("provider")).content.decode()
    provider.close()


def test_nobody_removes_the_passkey_of_another(inside):
    theirs = Authenticator.objects.create(user=make_user("boris"), type="webauthn", data={"name": "key"})
    assert inside.post(reverse("mfa_remove_webauthn", args=[theirs.pk])).status_code == 404
    assert Authenticator.objects.filter(pk=theirs.pk).exists()


def test_the_operator_removes_what_is_lost(inside, capsys):
    call_command("remove_second_factor", "anna")
    assert who(inside) == ""
    password(inside)
    assert who(inside) == "anna"


# Required


@pytest.mark.parametrize(
    ("name", "required", "gated"),
    [
        ("anna", {"analyst"}, True),
        ("anna", {"admin", "superuser"}, False),
        ("root", {"superuser"}, True),
        ("root", {"admin"}, False),
        ("boris", {"rater", "analyst", "admin", "superuser"}, False),
    ],
)
def test_who_has_a_role_that_needs_one_and_none_reaches_nothing_else(name, required, gated):
    make_member(make_collection(), "anna", Role.ANALYST)
    make_user("root", is_superuser=True)
    make_user("boris")
    with override_settings(SECOND_FACTOR=required):
        client = Client()
        password(client, name)
        for address in ("/", "/accounts/tokens/", "/accounts/my-data/", "/admin/", "/collections/hills/"):
            response = client.get(address)
            assert (getattr(response, "url", "") == reverse("mfa_index")) == gated, address
        assert client.get("/", headers={"accept": "application/json"}).status_code == (403 if gated else 200)
        made = client.post(reverse("make_token"), {"name": "x"})
        assert (made.status_code == 302) == gated
        for allowed in ("mfa_index", "mfa_activate_totp", "help", "session"):
            assert client.get(reverse(allowed)).status_code == 200
        assert client.post(reverse("sign_out")).status_code == 302


def test_with_one_everything_opens(inside):
    with override_settings(SECOND_FACTOR={"analyst"}):
        assert inside.get("/collections/hills/").status_code == 200
        inside.post(reverse("mfa_deactivate_totp"))
        assert inside.get("/collections/hills/").url == reverse("mfa_index")


def test_tokens_of_who_has_a_role_that_needs_one_and_none_do_not_work_until_they_have_one():
    user = make_member(make_collection(), "anna", Role.ANALYST)
    _, key = tokens.make(user, user.memberships.get().collection, name="build", scopes=["read"], days=7)

    def status(**settings) -> int:
        with override_settings(**settings):
            return Client().get("/api/v1/token", headers={"authorization": f"Bearer {key}"}).status_code

    assert [status(SECOND_FACTOR=roles) for roles in (set(), {"admin"}, {"analyst"})] == [200, 200, 403]
    SocialAccount.objects.create(user=user, provider="oidc", uid="1")
    at_provider = [status(SECOND_FACTOR={"analyst"}, PROVIDER_SECOND_FACTOR=values) for values in (set(), {"mfa"})]
    assert at_provider == [403, 200]
    with_app(user)
    assert status(SECOND_FACTOR={"analyst"}) == 200


def test_what_changes_how_somebody_signs_in_is_noted(anna, inside):
    inside.post(reverse("mfa_deactivate_totp"))
    call_command("sign_in_link", "anna")
    with_app(anna)
    call_command("remove_second_factor", "anna")
    events = AuditEvent.objects.filter(act=Act.SIGN_IN).order_by("pk")
    assert [(event.way, event.about, event.detail) for event in events] == [
        ("page", "anna", {"removed": "totp"}),
        ("page", "anna", {"removed": "recovery_codes"}),
        ("command", "anna", {"made": "link"}),
        ("command", "anna", {"removed": "all second factors"}),
    ]
