"""Ways in beside the password, in a real browser: a provider, an app with codes, and a passkey."""

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.test import override_settings
from django.urls import reverse
from playwright.sync_api import Page, expect

from ratings.models import Role
from ratings.people.sign_in import links
from ratings.people.tests.identity_provider import IdentityProvider
from ratings.tests.cast import make_collection, make_member

from .looks import examine
from .pages import code, follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def anna():
    cache.clear()
    yield make_member(make_collection(), "anna", Role.ANALYST)
    cache.clear()  # no table of a model, which the end of a test would empty


def signed_out(page: Page) -> None:
    follow(page.get_by_role("button", name="Sign out"))


def password(page: Page) -> None:
    page.goto("/accounts/sign-in/?next=/accounts/second-factor/")
    page.get_by_label("Username").fill("anna")
    page.get_by_label("Password").fill("a pass phrase")
    follow(page.get_by_role("button", name="Sign in", exact=True))


def test_to_the_provider_and_back_and_out_again_without_a_script(visit, anna):
    provider = IdentityProvider()
    provider.person = {"sub": "1", "preferred_username": "berta"}
    with provider.settings():
        page = visit.page(java_script_enabled=False)
        page.goto("/accounts/sign-in/?next=/accounts/tokens/")
        page.get_by_role("button", name="Sign in with Example ID").click()
        page.wait_for_url("**/accounts/tokens/")
        expect(page.locator(".who")).to_contain_text("berta")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{provider.issuer}/end_session?**")
        page.goto("about:blank")
    provider.close()
    # To sign in and to sign out; the rest is what the provider, which has no pages, makes Chromium say.
    assert len({line for line in visit.complaints if line.startswith(f"outside: {provider.issuer}")}) == 2
    assert not [line for line in visit.complaints if "Security Policy" in line]
    visit.complaints.clear()


@pytest.mark.walk
def test_an_app_with_codes_from_its_picture_to_the_next_sign_in(visit, anna):
    page = visit.page()
    with override_settings(SECOND_FACTOR={"analyst"}):
        password(page)
        page.goto("/")
        expect(page.get_by_role("alert")).to_contain_text("Your role needs a second factor")
        examine(page, "a second factor that is missing")
        follow(page.get_by_role("link", name="Set up an app"))
        assert page.locator("img.qr").evaluate("picture => picture.naturalWidth") > 100
        secret = page.locator("code.secret").inner_text()
        examine(page, "an app that is set up")
        page.get_by_label("Authenticator code").fill(code(secret))
        follow(page.get_by_role("button", name="Set up"))
        expect(page.locator("ul.codes li")).to_have_count(10)
        examine(page, "recovery codes")
        follow(page.get_by_role("link", name="I have saved them"))
        signed_out(page)

        password(page)
        examine(page, "the question for a second factor")
        page.get_by_label("Code").fill(code(secret))
        follow(page.get_by_role("button", name="Sign in"))
        expect(page.locator(".who")).to_contain_text("anna")


def test_a_passkey_from_its_making_to_the_next_sign_in(visit, anna):
    page = visit.page()
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    device = devices.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": kind | {"isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    password(page)
    follow(page.get_by_role("link", name="Add a passkey"))
    examine(page, "a new passkey")
    page.get_by_label("Name").fill("My phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator("ul.codes li")).to_have_count(10)
    page.goto("/accounts/second-factor/")
    expect(page.get_by_text("My phone")).to_be_visible()
    examine(page, "second factors")
    signed_out(page)

    password(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator(".who")).to_contain_text("anna")
    signed_out(page)

    # Another device has no key of this account: it stays outside.
    devices.send("WebAuthn.clearCredentials", {"authenticatorId": device["authenticatorId"]})
    password(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator("form[data-passkey] [role=alert]")).to_be_visible()
    page.goto("/accounts/second-factor/")
    expect(page.get_by_label("Username")).to_be_visible()
    assert Authenticator.objects.filter(type="webauthn").count() == 1


def test_the_other_pages_look_right(visit, anna):
    page = visit.page()
    page.goto(f"/accounts/link/{links.key_for(anna)}/")
    examine(page, "a link that signs in")
    follow(page.get_by_role("button", name="Sign in"))
    page.goto("/accounts/second-factor/again/password/")
    examine(page, "the question who it is")
    signed_out(page)
    with override_settings(MAIL={"EMAIL_HOST": "mail.example.org"}):
        page.goto("/accounts/sign-in/")
        follow(page.get_by_role("link", name="Forgotten password"))
        examine(page, "a forgotten password")
        page.goto(reverse("new_password", args=["MQ", "wrong-token"]))
        examine(page, "a link for a new password that is used")
    dead = {"issuer": "http://127.0.0.1:9", "client": "x", "secret": "x", "name": "Example ID", "scopes": []}
    with override_settings(OIDC=dead):
        page.goto("/accounts/sign-in/")
        examine(page, "the sign-in with a provider")
        follow(page.get_by_role("button", name="Sign in with Example ID"))
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        examine(page, "a provider that is away")
    visit.complaints.clear()  # Chromium logs that the answer was 503
