"""All documents of a query on one page, in a browser: keys, the outbox, undo, and what happens at the edges."""

import io

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from ratings.desk import queue
from ratings.models import Rating, RatingEvent
from ratings.tests.cast import grade
from ratings.web.preferences import PREFERENCES_COOKIE

from .desk import all_saved, decide, eventually, make_round, sends_again, wait_for_the_bounce
from .pages import follow

# The words of grades that stand on two lines.
BROKEN = """() => [...document.querySelectorAll(".grade > span:not(.g)")].flatMap((label) => {
    const text = label.firstChild, range = document.createRange();
    return [...text.data.matchAll(/\\S+/g)].flatMap(({0: word, index}) => {
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return new Set([...range.getClientRects()].map(({top}) => top)).size > 1 ? [word] : [];
    });
})"""

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def collection():
    return make_round(documents="abcd")


@pytest.fixture
def page(visit, collection) -> Page:
    page = visit.sign_in(visit.page(), "rater")
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": "shown=list", "url": visit.server}])
    page.goto("/collections/hills/rate/")
    page.locator("main .btn.main:visible").click()
    ready(page)
    return page


def ready(page: Page) -> None:
    expect(page.locator("#state")).to_have_attribute("data-kind", "saved")
    wait_for_the_bounce(page)


def press(page: Page, key: str) -> None:
    page.keyboard.press(key)
    wait_for_the_bounce(page)


def done(page: Page) -> list[int]:
    """Places of the documents that are judged."""
    return page.evaluate(
        "[...document.querySelectorAll('.row')].flatMap((r, i) => r.matches('.is-done') ? [i] : [])"
    )


def next_rows(page: Page) -> list[int]:
    """Places of the documents that are marked as those for which a key is."""
    marked = "getComputedStyle(row).boxShadow === 'none' ? [] : [place]"
    return page.evaluate(f"[...document.querySelectorAll('.row')].flatMap((row, place) => {marked})")


def test_the_document_of_the_next_key_is_marked_before_it_and_wherever_the_focus_is(page):
    assert next_rows(page) == [0]
    page.get_by_role("button", name="Stop").focus()
    assert next_rows(page) == [0]
    press(page, "2")
    assert (done(page), next_rows(page)) == ([0], [1])
    page.locator(".row .grade").first.focus()
    assert next_rows(page) == [0]
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(50)
    assert next_rows(page) == [1]
    press(page, "3")
    assert done(page) == [0, 1]


@pytest.mark.parametrize("width", [390, 1280])
def test_no_mark_beside_a_document_is_seen_above_it(page, width):
    """What marks it is beside the column; the query in front of it is as wide, and so is the bar below."""
    page.set_viewport_size({"width": width, "height": 800})
    press(page, "j")
    page.locator(".row .grade").nth(5).focus()
    page.evaluate("document.querySelectorAll('.row')[1].scrollIntoView({block: 'start'}); scrollBy(0, 120)")
    page.wait_for_timeout(100)
    head = page.locator(".query").bounding_box()
    assert page.locator(".row").nth(1).bounding_box()["y"] < head["y"] + head["height"] - 20
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    side = {image.getpixel((x, y)) for x in range(int(head["x"])) for y in range(int(head["y"] + head["height"]))}
    below = {image.getpixel((x, int(head["y"] + head["height"]) + 5)) for x in range(int(head["x"]))}
    assert len(side) == 1 and len(below) > 1


def test_the_head_of_the_desk_is_one_row_on_a_phone(page):
    """What is in it scrolls sideways, and stands no lower than the mark; the query stays in sight below it."""
    page.set_viewport_size({"width": 390, "height": 844})
    head = page.locator("header.top").bounding_box()
    inside = page.locator("header.top :is(.mark, nav a, .who > *):visible").all()
    rows = {round(box["y"] + box["height"] / 2) for box in (each.bounding_box() for each in inside)}
    assert len(inside) > 2 and max(rows) - min(rows) <= 4 and head["height"] < 60


@pytest.mark.parametrize(("width", "size"), [(1280, "usual"), (390, "usual"), (390, "larger"), (340, "usual")])
def test_no_word_of_a_grade_is_broken(page, visit, collection, width, size):
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("size => document.documentElement.dataset.size = size", size)
    collection.grades.filter(label="Good").update(label="Highly relevant to it")
    page.reload()
    ready(page)
    assert page.evaluate(BROKEN) == []
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": "shown=one", "url": visit.server}])
    page.reload()
    ready(page)
    assert page.locator("#rating").count() == 1 and page.evaluate(BROKEN) == []


@pytest.mark.walk
def test_a_whole_round_by_keyboard(page, collection):
    for _ in range(2):
        expect(page.locator(".row")).to_have_count(4)
        for _ in range(4):
            press(page, "2")
        expect(page.get_by_role("button", name="Continue")).to_be_focused()
        query = page.locator(".query h1").text_content()
        page.keyboard.press("Enter")
        page.wait_for_function("q => document.querySelector('.query h1')?.textContent !== q", arg=query)
    expect(page.get_by_text("All done. Thank you for 8 ratings.")).to_be_visible()
    assert Rating.objects.filter(grade=grade(collection, "2")).count() == 8
    assert set(RatingEvent.objects.values_list("shown", flat=True)) == {"list"}
    assert all(event.seconds > 0 for event in RatingEvent.objects.all())


def test_j_and_k_move_and_the_grade_goes_to_the_document_in_focus(page):
    press(page, "j")
    press(page, "j")
    press(page, "ArrowDown")
    press(page, "k")
    press(page, "3")
    assert done(page) == [1]
    expect(page.locator(".row").nth(2).locator(".doc")).to_be_focused()
    press(page, "-")
    assert done(page) == [1, 2]
    all_saved(page)
    rows = page.locator(".row")
    second = rows.nth(1).get_attribute("data-token")
    assert Rating.objects.get(pair__token=second).grade.value == 3


def test_a_grade_can_be_changed_before_it_arrives_after_a_reload_and_after_it_arrived(page, visit):
    page.route("**/save/", lambda route: route.abort())
    press(page, "-")
    press(page, "k")
    press(page, "0")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.locator(".row.is-done")).to_have_count(1)
    page.unroute("**/save/")
    sends_again(page)
    assert Rating.objects.get().grade.value == 0
    page.locator(".row .doc").first.focus()
    press(page, "3")
    all_saved(page)
    eventually(lambda: Rating.objects.get().grade.value == 3)
    visit.complaints[:] = [c for c in visit.complaints if "Failed to load resource" not in c]


def test_undo_takes_back_here_and_on_the_server(page):
    press(page, "2")
    press(page, "0")
    all_saved(page)
    assert Rating.objects.count() == 2
    press(page, "u")
    assert done(page) == [0]
    press(page, "3")
    all_saved(page)
    press(page, "u")
    press(page, "u")
    assert done(page) == []
    eventually(lambda: Rating.objects.count() == 0)


def test_a_key_after_a_click_that_focuses_nothing_is_for_the_clicked_document(page):
    """As in Safari, where no button takes the focus when it is clicked; a click of a script takes none either."""
    page.locator(".row").nth(1).scroll_into_view_if_needed()
    page.evaluate("document.querySelectorAll('.row')[1].querySelector('.cannot summary').click()")
    press(page, "2")
    assert done(page) == [1]
    expect(page.locator(".row").nth(1).locator("[name=reason][aria-pressed=true]")).to_have_count(1)


def test_a_reason_a_comment_before_or_after_a_grade_and_later(page):
    press(page, "c")
    page.keyboard.type("1 of 2")
    press(page, "Control+Enter")
    press(page, "x")
    press(page, "2")
    assert done(page) == [0]
    press(page, "l")
    assert done(page) == [0, 1]
    all_saved(page)
    rating = Rating.objects.get()
    assert (rating.reason, rating.comment) == ("language", "1 of 2")
    assert RatingEvent.objects.filter(kind="skip").count() == 1
    press(page, "3")
    press(page, "k")
    press(page, "c")
    page.keyboard.type("late")
    press(page, "Control+Enter")
    all_saved(page)
    eventually(lambda: Rating.objects.filter(comment="late", grade__value=3).exists())
    press(page, "u")
    all_saved(page)
    eventually(lambda: Rating.objects.filter(comment="", grade__value=3).exists())
    assert done(page) == [0, 1, 2]


def test_a_key_grades_no_document_that_is_out_of_sight(page):
    page.evaluate(
        "document.querySelectorAll('.row .text').forEach((text) => { text.style.minHeight = '1500px'; })"
    )
    press(page, "j")
    press(page, "j")
    page.evaluate("scrollTo(0, 0)")
    press(page, "3")
    expect(page.locator("#notice")).to_contain_text("out of sight")
    expect(page.locator(".row").nth(1)).to_be_in_viewport()
    assert done(page) == []
    press(page, "3")
    assert done(page) == [1]


def test_leaving_with_a_comment_that_no_rating_has_warns(page):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    press(page, "c")
    page.keyboard.type("half written")
    page.evaluate("location.reload()")
    eventually(lambda: asked or page.wait_for_timeout(50))
    assert asked == ["beforeunload"]
    press(page, "Control+Enter")
    press(page, "3")
    all_saved(page)
    page.reload()
    assert asked == ["beforeunload"]


def conflict(page: Page, collection, visit, choice: str) -> str:
    """Rate the first document 0 elsewhere and 3 here, and decide; its token."""
    rater = collection.raters.get()
    token = page.locator(".row").first.get_attribute("data-token")
    queue.save(rater, queue.task(rater, token), queue.Submission(grade=grade(collection, "0")))
    press(page, "3")
    decide(page, choice)
    all_saved(page)
    visit.complaints[:] = [c for c in visit.complaints if "409" not in c]
    return token


def pressed(page: Page) -> str | None:
    return page.locator(".row").first.locator("button.grade[aria-pressed]").get_attribute("value")


def test_undo_after_a_conflict_shows_what_another_window_had_saved(page, collection, visit):
    token = conflict(page, collection, visit, "2")
    assert (pressed(page), Rating.objects.get(pair__token=token).grade) == ("3", grade(collection, "3"))
    press(page, "u")
    eventually(lambda: Rating.objects.get().grade == grade(collection, "0"))
    all_saved(page)
    eventually(lambda: pressed(page) == "0")
    assert done(page) == [0]
    expect(page.locator("#done")).to_have_text("1")
    press(page, "k")
    press(page, "2")
    all_saved(page)
    assert Rating.objects.get().grade == grade(collection, "2")


def test_what_is_kept_of_a_conflict_is_nothing_to_undo(page, collection, visit):
    conflict(page, collection, visit, "1")
    assert pressed(page) == "0"
    press(page, "u")
    expect(page.locator("#notice")).to_have_text("There is nothing to undo.")
    assert Rating.objects.get().grade == grade(collection, "0")


def test_what_was_thrown_away_leaves_what_was_saved_before(page, collection, visit):
    press(page, "3")
    all_saved(page)
    collection.grades.filter(value=2).delete()
    press(page, "k")
    press(page, "2")
    expect(page.locator("#conflict")).to_contain_text("The scale has no grade 2.")
    decide(page, "2")
    eventually(lambda: pressed(page) == "3")
    expect(page.locator("#done")).to_have_text("1")
    visit.complaints[:] = [c for c in visit.complaints if "400" not in c]


def test_without_a_script_each_document_is_a_form(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False), "rater")
    page.goto("/collections/hills/settings/")
    page.get_by_label("All of a query in a list").check()
    follow(page.get_by_role("button", name="Save"))
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main"))
    follow(page.locator(".row").nth(2).locator("button.grade", has_text="Good"))
    expect(page.locator(".row")).to_have_count(3)
    page.locator(".row").first.locator(".cannot summary").click()
    follow(page.get_by_role("button", name="I do not read this language").first)
    expect(page.locator(".row")).to_have_count(2)
    assert Rating.objects.count() == 2
