"""The page of the API and that of one's tokens, in a browser, under the policy that every page has."""

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from ratings.models import Collection, Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(visit):
    """Ana, an analyst of the collection, has signed in."""
    make_member(make_collection(), "ana", Role.ANALYST)
    return visit.sign_in(visit.page(viewport={"width": 1280, "height": 900}), "ana")


def test_the_page_of_the_api_shows_its_calls_and_asks_nobody_else(page):
    """With a token, it calls the API. What it asks of others, and what the console says, `visit` sees."""
    hills = Collection.objects.get()
    ana = get_user_model().objects.get(username="ana")
    _, key = tokens.make(ana, hills, name="from the page", scopes=["read"], days=1)
    page.goto("/api/v1/docs")
    expect(page.get_by_text("What systems score")).to_be_visible()
    page.get_by_role("button", name="Authorize").click()
    dialog = page.locator(".dialog-ux")
    dialog.locator("input").fill(key)
    dialog.locator("button.authorize").click()
    dialog.locator("button.btn-done").click()
    page.locator("#operations-record-get_token").get_by_text("/api/v1/token").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table")).to_contain_text("from the page")


@pytest.mark.walk
def test_a_token_is_made_and_shown_and_works(page):
    page.goto("/accounts/tokens/")
    page.get_by_label("What it is for").fill("nightly build")
    page.get_by_label("read: results").check()
    examine(page, "tokens")
    follow(page.get_by_role("button", name="Make the token"))
    key = page.get_by_label("nightly build").input_value()
    examine(page, "a new token")
    answer = page.request.get("/api/v1/token", headers={"Authorization": f"Bearer {key}"})
    assert answer.json()["name"] == "nightly build"
