"""The page of the API and that of one's tokens, in a browser, under the policy that every page has."""

import re

import pytest
from playwright.sync_api import expect

from ratings.models import Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.wrong = []
    page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    page.close()


def test_the_page_of_the_api_shows_its_calls_and_asks_nobody_else(live_server, page):
    """With a token, it calls the API."""
    collection = make_collection()
    ana = make_member(collection, "ana", Role.ANALYST)
    _, key = tokens.make(ana, collection, name="from the page", scopes=["read"], days=1)
    page.goto(f"{live_server.url}/accounts/sign-in/?next=/api/v1/docs")
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("a pass phrase")
    follow(page.get_by_role("button", name=re.compile("Sign in")))
    expect(page.get_by_text("What systems score")).to_be_visible()
    page.get_by_role("button", name="Authorize").click()
    dialog = page.locator(".dialog-ux")
    dialog.locator("input").fill(key)
    dialog.locator("button.authorize").click()
    dialog.locator("button.btn-done").click()
    page.locator("#operations-record-ratings_api_reading_token").get_by_text("/api/v1/token").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table")).to_contain_text("from the page")
    assert page.wrong == []
    assert all(url.startswith((live_server.url, "data:")) for url in page.asked)


@pytest.mark.walk
def test_a_token_is_made_and_shown_and_works(live_server, page):
    make_member(make_collection(), "ana", Role.ANALYST)
    page.goto(f"{live_server.url}/accounts/sign-in/?next=/accounts/tokens/")
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("a pass phrase")
    follow(page.get_by_role("button", name=re.compile("Sign in")))
    page.get_by_label("What it is for").fill("nightly build")
    page.get_by_label("read: results").check()
    examine(page, "tokens")
    follow(page.get_by_role("button", name="Make the token"))
    key = page.get_by_label("nightly build").input_value()
    examine(page, "a new token")
    answer = page.request.get(f"{live_server.url}/api/v1/token", headers={"Authorization": f"Bearer {key}"})
    assert answer.json()["name"] == "nightly build"
    assert page.wrong == []
