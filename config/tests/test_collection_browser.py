"""The acts on a whole collection in a real browser: copied and put away without a script, and what axe says."""

import re

import pytest
from django.contrib.auth.models import Permission
from playwright.sync_api import expect

from ratings.collection import deleting, putting_away
from ratings.desk import queue
from ratings.importing import signs
from ratings.management.commands.work import work
from ratings.models import Collection, Role
from ratings.tests.cast import NOW, grade, make_collection, make_member, make_pair, make_ranking, make_rater

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def collection(settings, tmp_path) -> Collection:
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abcd")
    queue.save(make_rater(collection), make_pair(collection), queue.Submission(grade=grade(collection, "2")))
    admin = make_member(collection, "admin", Role.ADMIN)
    permission = Permission.objects.get(content_type__app_label="ratings", codename="add_collection")
    admin.user_permissions.add(permission)
    return collection


@pytest.mark.walk
def test_it_is_renamed_copied_and_put_away_without_javascript(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False), "admin")
    page.goto("/collections/hills/collection/")
    page.locator("#about").get_by_label("Name", exact=True).fill("Green hills")
    follow(page.get_by_role("button", name="Save"))
    expect(page.locator(".messages")).to_contain_text("Saved. It is called Green hills.")
    follow(page.get_by_role("button", name="Copy the collection"))
    expect(page.locator("h1")).to_have_text("Waiting: Copy of Green hills")
    work()
    follow(page.get_by_role("link", name="Refresh"))
    expect(page.locator("h1")).to_have_text("Copied: Copy of Green hills")
    follow(page.get_by_role("link", name="Open the copy"))
    expect(page.locator("h1")).to_have_text("Set up Copy of Green hills")
    page.goto("/collections/hills/collection/")
    follow(page.get_by_role("button", name="Put the collection away"))
    expect(page.locator(".away")).to_contain_text("nothing is rated or imported here")
    follow(page.get_by_role("button", name="Take it out again"))
    expect(page.locator(".away")).to_have_count(0)


def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, collection):
    gone = make_collection("gone")
    gone.name = "A collection with a long name that somebody deleted by mistake"
    gone.save()
    deleting.delete(gone, make_member(gone, "admin", Role.ADMIN), now=NOW)
    page = visit.sign_in(visit.page(), "admin")
    for address in ("/", "/collections/hills/collection/", "/collections/hills/collection/delete/"):
        page.goto(address)
        examine(page, address)
    page.get_by_label("Type the name to confirm").fill("hills")
    # The browser checks nothing of it: what is wrong is said by the page.
    follow(page.get_by_role("button", name="Delete the collection"))
    expect(page.locator("#confirm")).to_contain_text("This is not the name. Type “Hills”")
    examine(page, "a deletion that is refused")
    page.goto("/collections/hills/collection/")
    follow(page.get_by_role("button", name="Copy the collection"))
    examine(page, "a copy that waits")
    waiting = page.url
    page.goto("about:blank")  # the page reloads itself when the copy is made, and would cut another reload off
    work()
    page.goto(waiting)
    examine(page, "a copy that is made")
    putting_away.put_away(collection)
    for address in ("/collections/hills/", "/collections/hills/collection/"):
        page.goto(address)
        examine(page, f"{address}, put away")
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]
