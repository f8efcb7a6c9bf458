"""A collection from nothing in a real browser, without a script, and what axe says of its pages."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from playwright.sync_api import Page, expect

from ratings import queue
from ratings.imports import signs
from ratings.management.commands.work import work
from ratings.models import Collection, Rating, Role
from ratings.set_up import samples
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater

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
    follow(page.get_by_role("button", name="Make the collection"), "Enter")
    expect(page.locator(".messages")).to_contain_text("The shop is made, with 2 grades.")
    collection = Collection.objects.get(slug="the-shop")
    assert [str(step) for step in collection.grades.all()] == ["0 No", "1 Yes"]
    expect(page.locator("h1")).to_have_text("Set up The shop")
    expect(page.get_by_role("listitem").filter(has_text="Scale")).to_contain_text("2 grades, 0 No to 1 Yes")
    follow(page.get_by_role("link", name="Bring queries").first, "Enter")
    expect(page.get_by_role("radio", name="queries: what was searched for")).to_be_checked()
    expect(page.get_by_role("link", name="Set up")).to_be_visible()


def bring(page: Page, name: str) -> None:
    """The next step of the set-up: a sample file, imported, and back."""
    follow(page.locator("header .btn.main"))
    page.get_by_label("File", exact=True).set_input_files(samples.FOLDER / name)
    follow(page.get_by_role("button", name="Send and check"))
    work()
    follow(page.get_by_role("link", name="Refresh"))
    follow(page.get_by_role("button", name="Import"))
    work()
    follow(page.get_by_role("link", name="Refresh"))
    follow(page.get_by_role("link", name="Continue the set-up"))


def test_from_nothing_to_a_first_rating_without_a_terminal_and_without_javascript(visit, root, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    page = visit.sign_in_by_keyboard(visit.page(java_script_enabled=False), "root")
    follow(page.get_by_role("link", name="New collection"))
    page.get_by_label("Name", exact=True).fill("Shop")
    follow(page.get_by_role("button", name="Make the collection"))
    for name in ("queries.csv", "documents.jsonl"):
        bring(page, name)
    follow(page.locator("header .btn.main"))
    follow(page.get_by_role("button", name="Save as a new version"))
    expect(page.locator("h1")).to_have_text("Pictures")
    follow(page.get_by_role("link", name="Set up"))
    bring(page, "two-systems.run")
    expect(page.locator("#pool")).to_contain_text("The first 10 places are 7 pairs.")
    follow(page.locator("header .btn.main"))
    follow(page.get_by_role("button", name="Ask for 7 ratings"))
    follow(page.get_by_role("link", name="Set up"))
    follow(page.locator("header .btn.main"))
    page.get_by_label("Names or addresses, one a line").fill("anna")
    follow(page.get_by_role("button", name="Make links"))
    link = page.locator("dl.handed code").inner_text()
    page.goto("/collections/shop/set-up/")
    expect(page.locator("h1")).to_have_text("Shop is set up")

    anna = visit.page(java_script_enabled=False)
    anna.goto(link)
    anna.get_by_label("Name", exact=True).fill("anna")
    anna.get_by_label("Password").first.fill("four quiet green hills")
    follow(anna.get_by_role("button", name="Join"))
    follow(anna.get_by_role("button", name="Start"))
    follow(anna.locator("button.grade", has_text="Perfect"))
    assert Rating.objects.get().rater.name == "anna"
    cache.clear()  # no table of a model, which the end of a test would empty


def test_the_scale_is_changed_without_javascript_after_it_is_said_what_that_does(visit):
    collection = make_collection()
    queue.save(make_rater(collection), make_pair(collection), queue.Submission(grade=grade(collection, "2")))
    make_member(collection, "admin", Role.ADMIN)
    page = visit.sign_in(visit.page(java_script_enabled=False), "admin")
    page.goto("/collections/hills/progress/")
    follow(page.get_by_role("link", name="Scale"))
    good = page.get_by_role("group", name="2 Good")
    expect(good).to_contain_text("1 rating: it cannot be removed.")
    good.get_by_label("Label").fill("Fine")
    page.get_by_role("group", name="0 Irrelevant").get_by_label("Remove").check()
    follow(page.get_by_role("button", name="Show what it would do"))
    expect(page.locator("#told")).to_contain_text(
        "2 Good is called 2 Fine from now on: 1 rating has it and keeps it."
    )
    expect(page.locator("#told")).to_contain_text("0 Irrelevant is removed.")
    follow(page.get_by_role("button", name="Change the scale"))
    expect(page.locator("h1")).to_have_text("A scale of 4 grades")
    assert collection.grades.get(value=2).label == "Fine"


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
    follow(page.get_by_role("button", name="Make the collection"))
    examine(page, "a collection that is refused")
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]


def test_webkit_lays_the_scale_out_as_other_browsers_do(visit, root):
    """A legend is no cell of a grid there, and a long option leaves its select. Here only the rules show."""
    make_collection()
    page = visit.sign_in(visit.page(), "root")
    page.goto("/collections/hills/scale/")
    legend, label = page.locator(".grades-edited legend").first, page.get_by_label("Label").first
    expect(legend).to_have_css("position", "absolute")
    assert label.bounding_box()["x"] > legend.bounding_box()["x"] + legend.bounding_box()["width"]
    page.goto("/collections/hills/people/")
    expect(page.locator("select").first).to_have_css("contain", "paint")
