"""The help in a real browser: read in the dark and on a phone, searched and followed without a script."""

import re

import pytest
from playwright.sync_api import expect

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_pages_of_the_help_are_read_by_everybody(visit):
    page = visit.page()
    for name in ("", "measures/", "api/", "?q=neutral+point"):
        page.goto(f"/help/{name}")
        examine(page, f"help {name}")


@pytest.mark.walk
def test_a_word_is_found_without_a_script_and_leads_to_its_place(visit):
    page = visit.page(java_script_enabled=False)
    page.goto("/accounts/sign-in/")
    follow(page.get_by_role("link", name="Help"))
    page.get_by_label("Search all documents").fill("detectable")
    follow(page.get_by_role("button", name="Search"))
    follow(page.get_by_role("link", name="Smallest detectable difference").first)
    expect(page).to_have_url(re.compile("/help/statistics/#smallest-detectable-difference$"))
    expect(page.get_by_role("heading", name="Smallest detectable difference")).to_be_in_viewport()
