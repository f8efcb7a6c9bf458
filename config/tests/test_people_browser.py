"""From the paste of names to the first grade, in a real browser without JavaScript, and what axe says."""

import re
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from ratings.models import Invitation, Role
from ratings.presentation.guidelines import versions
from ratings.tests.cast import make_collection, make_member, make_pair, make_rater

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "four quiet green hills"


@pytest.fixture
def collection():
    collection = make_collection()
    make_pair(collection)
    make_member(collection, "admin", Role.ADMIN)
    yield collection
    cache.clear()  # no table of a model, which the end of a test would empty


def admin(visit, *, script: bool = False, **options) -> Page:
    return visit.sign_in(visit.page(java_script_enabled=script, **options), "admin")


def invited(page: Page, names: str) -> list[str]:
    """The links of the page that is shown once."""
    page.goto("/collections/hills/people/")
    page.get_by_label("Names or addresses, one a line").fill(names)
    follow(page.get_by_role("button", name="Make links"))
    return page.locator("dl.handed code").all_inner_texts()


@pytest.mark.walk
def test_from_an_invitation_to_the_desk_by_keyboard_alone(visit, collection):
    page = admin(visit)
    links = invited(page, "anna\nboris")
    assert len(links) == 2
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as a file").click()
    assert download.value.suggested_filename == "links-hills.txt"
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        assert file.read() == f"anna\t{links[0]}\r\nboris\t{links[1]}\r\n"

    seen = []
    anna = visit.page(java_script_enabled=False)
    anna.on("request", lambda request: seen.append(request))
    anna.goto(links[0])
    # Both names are proposed, so the password is all that is typed.
    expect(anna.get_by_label("Name", exact=True)).to_have_value("anna")
    anna.get_by_label("Username").focus()
    expect(anna.get_by_label("Username")).to_have_value("anna")
    anna.keyboard.press("Tab")
    anna.keyboard.type(PASSWORD)
    anna.keyboard.press("Enter")
    anna.wait_for_url("**/collections/hills/rate/")
    expect(anna.get_by_text("You are a rater of Hills now.")).to_be_visible()
    key = urlsplit(links[0]).path.strip("/").rsplit("/", 1)[1]
    told = [request.headers.get("referer", "") for request in seen]
    assert any(told)  # the site itself is said, without which the form would be refused
    assert not any(key in referer for referer in told)

    late = visit.page(java_script_enabled=False)
    late.goto(links[0])
    expect(late.locator("h1")).to_have_text("This invitation does not work.")
    assert Invitation.objects.filter(accepted_by__username="anna").count() == 1
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 404 ", c)]


def test_a_link_is_copied_by_script_and_mailed_without(visit, collection):
    page = admin(visit, script=True, viewport={"width": 390, "height": 844})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    links = invited(page, "Frida Kahlo\nlee@example.org")
    copy = page.get_by_role("button", name="Copy the link of lee@example.org")
    copy.click()
    expect(copy).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == links[1]
    expect(copy).to_have_text("Copy")
    plain = admin(visit)
    assert invited(plain, "boris")
    expect(plain.get_by_text("Copy", exact=True)).to_be_hidden()
    expect(plain.get_by_role("link", name="E-mail the link to boris")).to_be_visible()


def test_a_double_click_invites_once_and_a_refused_form_opens_at_its_first_error(visit, collection):
    page = admin(visit, script=True, viewport={"width": 390, "height": 844})
    page.goto("/collections/hills/people/")
    page.get_by_label("Names or addresses, one a line").fill("anna")
    held = []  # as by a slow server
    page.route("**/people/invite/", lambda route: held.append(route))
    twice = "button => { button.click(); setTimeout(() => button.click(), 200); }"
    page.get_by_role("button", name="Make links").evaluate(twice)
    page.wait_for_timeout(500)
    assert len(held) == 1
    held[0].continue_()
    page.unroute("**/people/invite/")
    expect(page.locator("dl.handed code")).to_have_count(1)
    page.go_back()
    names = page.get_by_label("Names or addresses, one a line")
    names.fill("boris")
    days = page.get_by_label("Days until the links end")
    days.evaluate("field => { field.type = 'text'; field.value = '1000' }")
    follow(page.get_by_role("button", name="Make links"))
    expect(page).to_have_title(re.compile("^Error: "))
    expect(days).to_be_focused()
    expect(days).to_be_in_viewport()
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]


def test_an_act_on_many_raters_by_keyboard_alone_and_what_axe_says(visit, collection):
    raters = [make_rater(collection, f"rater{number:02}") for number in range(12)]
    page = admin(visit, script=True)
    page.goto("/collections/hills/people/")
    examine(page, "many people")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_label("Choose rater11").focus()
    page.keyboard.press("Space")
    # What has the focus is not under the bar at the end of the screen.
    bar, box = page.locator(".acts.bar").bounding_box(), page.get_by_label("Choose rater11").bounding_box()
    assert bar and box and box["y"] + box["height"] <= bar["y"]
    page.get_by_label("Choose rater04").press("Space")
    page.get_by_label("With the chosen").select_option("Set a limit")
    follow(page.get_by_role("button", name="Go on"), "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Set a limit: 2 raters")
    examine(page, "an act on many")
    page.get_by_label("Rates at most").fill("20")
    follow(page.get_by_role("button", name="Set a limit"))
    limits = collection.raters.exclude(limit=None).values_list("name", "limit")
    assert sorted(limits) == [("rater04", 20), ("rater11", 20)]
    page.goto(f"/collections/hills/people/raters/{raters[0].pk}/")
    examine(page, "a rater")
    page.goto("/collections/hills/default-options/?measure=nDCG@5&rule=median")
    examine(page, "default options")


def test_axe_finds_nothing_on_the_pages_that_an_act_shows(visit, collection):
    page = admin(visit, script=True)
    versions.publish(collection, "Read the page.\n", base=0)
    link = invited(page, "anna\n" + "a-very-long-name-" * 8)[0]
    examine(page, "links")
    invited(page, "x" * 151)
    examine(page, "a refused invitation")
    page.goto("/collections/hills/guidelines/edit/")
    page.get_by_label("Text").fill("## 3 Perfect\n\nRead the whole page.")
    follow(page.get_by_role("button", name="Preview"))
    # Readable without colour: underlined, and said to who listens.
    added = page.locator(".changes ins").first
    assert "underline" in added.evaluate("e => getComputedStyle(e).textDecorationLine")
    expect(added).to_contain_text("[added:")
    examine(page, "a preview")
    versions.publish(collection, "Somebody else was faster.\n", base=1)
    follow(page.get_by_role("button", name="Save as a new version"))
    expect(page.get_by_role("alert")).to_contain_text("Somebody saved version 2")
    examine(page, "a text that came too late")
    page.goto(link)
    examine(page, "an invitation to a member")
    follow(page.get_by_role("link", name="Your collections").first)
    follow(page.get_by_role("button", name="Sign out"))
    page.goto(link)
    page.get_by_label("Password").first.fill("short")
    page.get_by_label("Username", exact=True).fill("admin")
    follow(page.get_by_role("button", name="Join", exact=True))
    examine(page, "a refused account")
    page.goto("/accounts/sign-in/")
    for _ in range(11):  # five in a minute are answered, and the next minute may begin meanwhile
        page.get_by_label("Username").fill("nobody")
        page.get_by_label("Password").fill("wrong")
        follow(page.get_by_role("button", name="Sign in"))
        if page.get_by_role("alert").count():
            break
    expect(page.get_by_role("alert")).to_contain_text("Too many tries")
    examine(page, "too many tries")
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 4(00|09|29) ", c)]
