"""The page of the API and that of one's tokens, in a browser, under the policy that every page has."""

import re

import pytest
from playwright.sync_api import expect

from ratings.models import Role
from ratings.tests.cast import make_collection, make_member

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.looks, pytest.mark.django_db(transaction=True)]


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


def test_the_page_of_the_api_shows_its_calls_with_nothing_from_elsewhere(live_server, page):
    page.goto(f"{live_server.url}/api/v1/docs")
    expect(page.get_by_text("What systems score")).to_be_visible()
    page.get_by_text("What systems score").click()
    expect(page.get_by_text("The document of evaluate --format json")).to_be_visible()
    assert page.wrong == []
    assert all(url.startswith((live_server.url, "data:")) for url in page.asked)


def test_a_token_is_made_shown_and_used_on_the_page_of_the_api(live_server, page):
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
    page.goto(f"{live_server.url}/api/v1/docs")
    page.get_by_role("button", name="Authorize").click()
    page.get_by_label("auth-bearer-value").fill(key)
    page.locator(".auth-btn-wrapper").get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_text("What this token is").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.get_by_text('"name": "nightly build"').first).to_be_visible()
    assert page.wrong == []
