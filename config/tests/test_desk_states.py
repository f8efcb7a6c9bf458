"""Every state of the desk, as axe sees it: light and dark, on a screen and on a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ratings.desk import queue
from ratings.models import Anchor, Collection, Session
from ratings.pool.anchors import set_anchor
from ratings.presentation.guidelines import versions
from ratings.tests.cast import grade, make_pair

from .desk import begin, make_round, press, ready, shown, wait_for_the_bounce
from .looks import examine, wide
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def server_error(page: Page, collection: Collection) -> None:
    begin(page)
    page.route("**/save/", lambda route: route.fulfill(status=500, content_type="text/html", body="oh"))
    press(page, "2")
    expect(page.locator("#state")).to_contain_text("The server has a problem: 1 kept on this device, next try in")
    page.unroute("**/save/")
    waiting = {"Retry-After": "30"}
    page.route("**/save/", lambda route: route.fulfill(status=503, headers=waiting, json={"error": "busy"}))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#state")).to_have_text(re.compile(r"next try in (2[5-9]|30) s"))


def conflict(page: Page, collection: Collection) -> None:
    begin(page)
    rater = collection.raters.get()
    queue.save(rater, queue.task(rater, shown(page).split("/")[-3]), queue.Submission(reason="language"))
    press(page, "2")
    expect(page.locator("#conflict")).to_contain_text(
        "Keep what is stored: cannot judge: “I do not read this language”"
    )
    expect(page.locator("#state")).to_have_text("1 rating needs you")


def signed_out(page: Page, collection: Collection) -> None:
    begin(page)
    Session.objects.all().delete()
    press(page, "2")
    expect(page.locator("#sign-in")).to_contain_text("What you did is kept here: 1 to be sent.")


def signed_out_and_closed(page: Page, collection: Collection) -> None:
    signed_out(page, collection)
    page.locator("#sign-in-close").click()
    expect(page.locator("#state")).to_contain_text("Signed out: 1 kept on this device")
    expect(page.locator("#state-act")).to_have_text("Sign in")


def cannot_judge(page: Page, collection: Collection) -> None:
    begin(page)
    page.keyboard.press("x")
    expect(page.locator("#cannot")).to_be_visible()


def comment(page: Page, collection: Collection) -> None:
    begin(page)
    page.keyboard.press("c")
    page.keyboard.type("4 of 5 steps")
    expect(page.locator("#written")).to_be_visible()


def own_rating(page: Page, collection: Collection) -> None:
    rater = collection.raters.get()
    task = queue.claim(rater)[0]
    queue.save(rater, task, queue.Submission(grade=grade(collection, "0"), comment="a comment"))
    page.goto(f"/collections/hills/rate/{task.token}/")
    ready(page)
    expect(page.locator("#own")).to_contain_text("Your rating now: 0 Irrelevant")


def warm_up(page: Page, collection: Collection) -> None:
    anchors(collection)
    begin(page)
    expect(page.locator("#warm-up")).to_be_visible()


def warm_up_answered(page: Page, collection: Collection) -> None:
    warm_up(page, collection)
    page.keyboard.press("-")
    expect(page.locator("#answer")).to_contain_text("The known grade is 3 Perfect.")
    expect(page.locator("#answer")).to_contain_text("It answers the need in its first line.")
    expect(page.locator("#go-on")).to_be_focused()


def anchors(collection: Collection) -> None:
    for document in "ab":
        pair = make_pair(collection, "q1", document)
        why = "It answers the need in its first line."
        set_anchor(pair, use=Anchor.Use.WARM_UP, grade=grade(collection, "3"), explanation=why)


def in_a_list(page: Page, collection: Collection) -> None:
    versions.publish(collection, "# How to grade\n\n## 2 Good\n\nSomething is missing.\n", base=0)
    page.goto("/collections/hills/settings/")
    page.get_by_label("All of a query in a list").check()
    follow(page.get_by_role("button", name="Save"))
    page.goto("/collections/hills/rate/")
    page.locator("main .btn.main:visible").click()
    expect(page.locator("#state")).to_have_attribute("data-kind", "saved")
    wait_for_the_bounce(page)
    page.keyboard.press("2")
    expect(page.locator(".row.is-done")).to_have_count(1)


def reasons_in_a_list(page: Page, collection: Collection) -> None:
    in_a_list(page, collection)
    wait_for_the_bounce(page)
    page.keyboard.press("x")
    page.keyboard.press("c")
    expect(page.locator("details.cannot[open]")).to_be_visible()


def help_on_keys(page: Page, collection: Collection) -> None:
    begin(page)
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


def time_for_a_break(page: Page, collection: Collection) -> None:
    type(collection).objects.update(break_after=1)
    begin(page)
    page.keyboard.press("2")
    expect(page.locator("#break")).to_be_visible()


def guidelines_at_the_grade(page: Page, collection: Collection) -> None:
    first = versions.publish(collection, "# How to grade\n\n## 2 Good\n\nSome is missing.\n", base=0)
    versions.mark_read(collection.raters.get(), first.version)
    versions.publish(collection, first.text.replace("Some", "Something"), base=1)
    begin(page)
    press(page, "2")
    page.keyboard.press("g")
    expect(page.locator("#guide-grade-2")).to_be_focused()


def marked_and_folded(page: Page, collection: Collection) -> None:
    collection.queries.update(text="many summits")
    collection.documents.update(title="Summits", body="\n\n".join(f"Line {i} of many." for i in range(200)))
    begin(page)
    page.keyboard.press("n")
    expect(page.locator("mark.here")).to_have_text("Summits")


def settings(page: Page, collection: Collection) -> None:
    page.goto("/collections/hills/settings/")
    page.get_by_label("Later").focus()
    page.keyboard.press("u")
    expect(page.locator("#keys-said")).to_contain_text("Not changed: “u” is the key of “Undo”.")
    expect(page.get_by_label("Later")).to_have_value("l")
    page.reload()
    expect(page.get_by_label("Later")).to_have_value("l")
    page.get_by_label("Later").press("u")
    expect(page.locator("#keys-said")).to_be_visible()


def chosen_dark_and_very_large(page: Page, collection: Collection) -> None:
    page.goto("/accounts/password/")
    page.get_by_label("Dark").check()
    page.get_by_label("Very large").check()
    follow(page.get_by_role("button", name="Save", exact=True))
    begin(page)
    press(page, "2")


STATES: list[Callable[[Page, Collection], None]] = [
    server_error,
    conflict,
    signed_out_and_closed,
    cannot_judge,
    comment,
    own_rating,
    warm_up_answered,
    reasons_in_a_list,
    help_on_keys,
    time_for_a_break,
    guidelines_at_the_grade,
    marked_and_folded,
    settings,
    chosen_dark_and_very_large,
]


# What has the focus and is outside of the page, or under something else.
HIDDEN = """() => {
    const part = document.querySelector("dialog[open], :popover-open") ?? document;
    const all = part.querySelectorAll("a[href]:not(.skip), button, input:not([type=hidden]), textarea, summary");
    return [...all].filter((one) => one.checkVisibility({ visibilityProperty: true })).filter((one) => {
        one.focus();
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return left < 0 || right > innerWidth || top < 0 || bottom > innerHeight || !one.contains(above);
    }).map((one) => one.outerHTML);
}"""


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_axe_finds_nothing_and_nothing_scrolls_sideways_or_is_out_of_reach(visit, state):
    collection = make_round()
    collection.documents.update(body="Long enough to scroll.\n\n" * 60)
    visit.expected.append("Failed to load resource")  # as a state wants it; nothing else may be in the console
    page = visit.sign_in(visit.page(viewport={"width": 1280, "height": 900}), "rater")
    state(page, collection)
    examine(page, state.__name__)
    # At 200 %, what was 1280 pixels wide has room for 640. Below 30rem of height nothing stays at the edges.
    for height in (450, 600):
        page.set_viewport_size({"width": 640, "height": height})
        assert wide(page) <= 0, "wider than a screen of 1280 at 200 %"
        assert page.evaluate(HIDDEN) == []
