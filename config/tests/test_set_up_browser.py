"""A collection from nothing in a real browser, without a script, and what axe says of its pages."""

import re

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from ratings.desk import queue
from ratings.models import Collection
from ratings.tests.cast import grade, make_collection, make_pair, make_rater

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def root():
    return get_user_model().objects.create_superuser("root", password="a pass phrase")


@pytest.mark.walk
def test_a_collection_is_made_by_keyboard_alone_and_without_javascript(visit, root):
    page = visit.sign_in_by_keyboard(
        visit.page(java_script_enabled=False, viewport={"width": 390, "height": 844}), "root"
    )
    follow(page.get_by_role("link", name="New collection"), "Enter")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("The shop")
    expect(page.get_by_label("Your grades, one a line")).to_be_hidden()
    page.get_by_role("radio", name="Graded, 0 to 3").focus()
    page.keyboard.press("ArrowUp")  # from the first to the last
    expect(page.get_by_label("Your grades, one a line")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("0: No\n1: Yes: It can be bought here.")
    follow(page.get_by_role("button", name="Create collection"), "Enter")
    expect(page.locator(".messages")).to_contain_text("The shop is made, with 2 grades.")
    collection = Collection.objects.get(slug="the-shop")
    assert [str(step) for step in collection.grades.all()] == ["0 No", "1 Yes"]
    expect(page.locator("h1")).to_have_text("Set up The shop")
    expect(page.get_by_role("listitem").filter(has_text="Scale")).to_contain_text("2 grades, 0 No to 1 Yes")
    follow(page.get_by_role("link", name="Import queries").first, "Enter")
    expect(page.get_by_role("radio", name="queries: what was searched for")).to_be_checked()
    expect(page.get_by_role("link", name="Set up")).to_be_visible()


def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, root):
    collection = make_collection()
    queue.save(make_rater(collection), make_pair(collection), queue.Submission(grade=grade(collection, "2")))
    page = visit.sign_in(visit.page(), "root")
    for address in ("/", "/new-collection/", "/collections/hills/set-up/", "/collections/hills/scale/"):
        page.goto(address)
        examine(page, address)
    page.goto("/collections/hills/import/?kind=documents")
    page.get_by_text("Or paste it").click()
    examine(page, "lines to paste")
    page.goto("/collections/hills/scale/")
    page.get_by_label("Value").first.fill("2")
    follow(page.get_by_role("button", name="Show what it would do"))
    examine(page, "a scale that is refused")
    page.get_by_label("Value").first.fill("4")
    follow(page.get_by_role("button", name="Show what it would do"))
    examine(page, "what a scale would do")
    page.goto("/new-collection/")
    page.get_by_label("Name", exact=True).fill("The shop")
    page.get_by_role("radio", name="A scale of your own").check()
    follow(page.get_by_role("button", name="Create collection"))
    examine(page, "a collection that is refused")
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]
