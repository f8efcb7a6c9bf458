"""The audit in a real browser: filtered without a script, and as axe sees it."""

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from ratings.models import Role
from ratings.people import members
from ratings.tests.cast import make_collection, make_user

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.walk
def test_a_superuser_reads_and_filters_without_a_script(visit):
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    members.add(make_collection("hills"), make_user("vera"), Role.ANALYST)
    page = visit.sign_in_by_keyboard(visit.page(java_script_enabled=False), "root")
    page.goto("/")
    follow(page.get_by_role("link", name="Audit"))
    expect(page.locator("tbody tr").nth(1)).to_contain_text("added the member vera")  # then root signed in
    page.get_by_label("What").select_option("scale")
    follow(page.get_by_role("button", name="Show"))
    expect(page.locator("#main")).to_contain_text("No event matches. Change the choice above.")


def test_axe_finds_nothing(visit):
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    members.add(make_collection("hills"), make_user("vera"), Role.ANALYST)
    page = visit.sign_in(visit.page(), "root")
    page.goto("/audit/")
    examine(page, "audit")
