"""Keys that can be changed, guidelines at the grade, words of the query, folded texts, and the break."""

from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from ratings.models import Anchor, Grade, Rating, RatingEvent
from ratings.pool.anchors import set_anchor
from ratings.presentation.guidelines import versions
from ratings.tests.cast import grade, make_pair

from .desk import all_saved, begin, comes_back, eventually, make_round, press, ready, shown, wait_for_the_bounce
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SETTINGS = "/collections/hills/settings/"


@pytest.fixture
def collection():
    return make_round()


@pytest.fixture
def page(visit, collection) -> Page:
    return visit.sign_in(visit.page(), "rater")


# Keys


@pytest.mark.walk
def test_keys_are_changed_taken_as_a_set_and_switched_off(page, collection):
    page.goto(SETTINGS)
    page.get_by_label("2 Good").focus()
    page.keyboard.press("h")
    expect(page.locator("#keys-said")).to_contain_text("“h” is now the key of “2 Good”.")
    begin(page)
    expect(page.locator("button.grade", has_text="Good").locator("kbd")).to_have_text("h")
    before = shown(page)
    page.keyboard.press("2")
    wait_for_the_bounce(page)
    assert shown(page) == before
    press(page, "h")
    all_saved(page)
    assert Rating.objects.get().grade == grade(collection, "2")

    page.goto(SETTINGS)
    page.get_by_role("button", name="Left hand: a s d f …").click()
    keys = page.evaluate("[...document.querySelectorAll('input[data-act]')].map(one => one.value)")
    assert keys[:5] == list("asdfw") and len(set(keys)) == len(keys)
    begin(page)
    press(page, "f")
    all_saved(page)
    assert Rating.objects.filter(grade=grade(collection, "2")).count() == 2

    page.goto(SETTINGS)
    page.get_by_label("Keys off").check()
    begin(page)
    expect(page.locator("button.grade kbd").first).to_be_hidden()
    before = shown(page)
    for key in "2fxlcug?":
        page.keyboard.press(key)
    wait_for_the_bounce(page)
    assert shown(page) == before
    page.locator("button.grade", has_text="Good").click()
    all_saved(page)
    eventually(lambda: Rating.objects.count() == 3)


# Guidelines


def told(collection) -> None:
    filler = "\n".join(f"{line}. A line that makes the text long.\n" for line in range(60))
    text = "".join(f"## {step}\n\n{filler}\n" for step in ("3 Perfect", "2 Good", "0 Irrelevant"))
    first = versions.publish(collection, text, base=0)
    versions.mark_read(collection.raters.get(), first.version)
    versions.publish(collection, text + "\nThe end.\n", base=1)


def test_guidelines_open_at_the_grade_in_question(page, collection):
    told(collection)
    begin(page)
    press(page, "0")  # Irrelevant
    for width in (1280, 700):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("article.doc").focus()
        page.keyboard.press("g")
        expect(page.locator("#guide-grade-0")).to_be_in_viewport()
        expect(page.locator("#guide-grade-0")).to_be_focused()
        page.keyboard.press("g")
        expect(page.locator("#guide-grade-0")).to_be_hidden()
        page.locator("button.grade", has_text="Good").focus()
        page.keyboard.press("g")
        expect(page.locator("#guide-grade-2")).to_be_in_viewport()
        page.keyboard.press("Escape")
        expect(page.locator("#guide-grade-2")).to_be_hidden()
        expect(page.locator("button.grade", has_text="Good")).to_be_focused()


def test_opening_the_guidelines_counts_as_reading_them_once(page, collection):
    told(collection)
    begin(page)
    expect(page.locator("#unread")).to_contain_text("Changed since you read version 1")
    sent = []
    page.on("request", lambda request: sent.append(request.url) if "/guidelines/read/" in request.url else None)
    assert collection.raters.get().guidelines_read == 1
    press(page, "0")
    page.keyboard.press("g")
    eventually(lambda: collection.raters.get().guidelines_read == 2)
    page.keyboard.press("g")
    page.keyboard.press("g")
    page.wait_for_timeout(200)
    assert len(sent) == 1
    page.reload()
    ready(page)
    expect(page.locator("#unread")).to_have_count(0)


# Marks


def test_words_of_the_query_are_marked_whatever_their_case_and_accents(page, collection):
    collection.queries.update(text="The café of Zürich: 東京 tea")
    body = "A CAFE\u0301 in zurich, <b>tea</b>\n\nThe teapot in 東京都 stands."
    collection.documents.update(title="Tea for two", body=body)
    begin(page)
    expect(page.locator(".doc mark")).to_have_count(5)
    marked = [text.lower() for text in page.locator(".doc mark").all_text_contents()]
    assert marked == ["tea", "cafe\u0301", "zurich", "tea", "東京"]
    assert page.locator(".text").text_content().strip().startswith("A CAFE\u0301 in zurich, <b>tea</b>")
    for expected in (0, 1, 2):
        page.keyboard.press("n")
        expect(page.locator("mark.here")).to_have_text(page.locator(".doc mark").nth(expected).text_content())
    page.keyboard.press("p")
    expect(page.locator("mark.here")).to_have_text("CAFE\u0301")


def test_a_long_text_is_folded_until_it_is_asked_for(page, collection):
    collection.queries.update(text="summit")
    collection.documents.update(body="\n\n".join(f"Line {i} of many." for i in range(200)) + "\n\nThe summit.")
    begin(page)
    tall = "document.querySelector('.text').getBoundingClientRect().height"
    folded = page.evaluate(tall)
    expect(page.get_by_role("button", name="Show all")).to_be_visible()
    page.keyboard.press("f")
    assert page.evaluate(tall) > 3 * folded
    page.keyboard.press("f")
    assert page.evaluate(tall) == folded
    page.keyboard.press("n")
    expect(page.locator("mark.here")).to_be_in_viewport()


# Breaks, warm-ups


def test_a_break_is_offered_and_the_key_that_closes_it_grades_nothing(page, collection):
    type(collection).objects.update(break_after=2)
    begin(page)
    press(page, "1")
    wait_for_the_bounce(page)
    page.keyboard.press("1")
    expect(page.locator("#break")).to_contain_text("You rated 2 in a row.")
    before = shown(page)
    page.keyboard.press("2")  # too soon: meant for the document
    expect(page.locator("#break")).to_be_visible()
    page.wait_for_timeout(600)
    page.keyboard.press("2")
    expect(page.locator("#break")).to_be_hidden()
    wait_for_the_bounce(page)
    assert shown(page) == before
    all_saved(page)
    assert Rating.objects.count() == 2
    press(page, "2")
    expect(page.locator("#break")).to_be_hidden()
    all_saved(page)
    type(collection).objects.update(break_after=0)
    begin(page)
    for _ in range(3):
        press(page, "1")
    expect(page.locator("#break")).to_be_hidden()


def test_warm_ups_are_counted_and_lead_straight_to_the_work(page, collection):
    for document in "ab":
        pair = make_pair(collection, "q1", document)
        set_anchor(pair, use=Anchor.Use.WARM_UP, grade=grade(collection, "3"), explanation="It says so.")
    begin(page)
    for place in (1, 2):
        expect(page.locator("#warm-up")).to_contain_text(f"Warm-up {place} of 2.")
        wait_for_the_bounce(page)
        page.keyboard.press("3")
        expect(page.locator("#answer")).to_contain_text("It says so.")
        expect(page.locator("#answer-last")).to_be_visible(visible=place == 2)
        page.keyboard.press("Enter")
    expect(page.locator("#warm-up")).to_be_hidden()
    press(page, "2")
    all_saved(page)
    assert Rating.objects.count() == 1


# Touch, screen readers


@pytest.mark.parametrize("address", ["one", "list"])
def test_grades_can_be_met_with_a_thumb(visit, collection, address):
    page = visit.sign_in(visit.page(viewport={"width": 360, "height": 740}, has_touch=True), "rater")
    if address == "list":
        page.goto(SETTINGS)
        page.get_by_label("All of a query in a list").check()
        follow(page.get_by_role("button", name="Save"))
    page.goto("/collections/hills/rate/")
    page.locator("main .btn.main:visible").click()
    expect(page.locator("#state")).to_have_attribute("data-kind", "saved")
    boxes = [button.bounding_box() for button in page.locator("button.grade").all()[:5]]
    assert all(box["width"] >= 44 and box["height"] >= 44 for box in boxes), boxes
    if address == "one":
        assert all(box["y"] > 740 / 2 and box["y"] + box["height"] <= 740 for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    wait_for_the_bounce(page)
    page.locator("button.grade").nth(3).tap()
    all_saved(page)
    eventually(lambda: Rating.objects.count() == 1)


def test_a_new_document_is_announced_and_its_grades_are_near(page, collection):
    begin(page)
    task = press(page, "2")
    said = page.locator("#said")
    expect(said).to_contain_text("Query: ")
    expect(said).to_contain_text("2 of 16")
    expect(page.locator("#left")).to_have_text("15 left")
    page.locator("article.doc").focus()
    stops = 0
    while not page.evaluate("document.activeElement.matches('button.grade')"):
        page.keyboard.press("Tab")
        stops += 1
    assert stops <= 3
    page.keyboard.press("u")
    comes_back(page, task)
    expect(page.locator("#left")).to_have_text("16 left")


# The key, its place, whether Shift is held, and the grade that it means.
OTHER_KEYBOARDS = [
    ("é", "Digit2", False, 2),  # French
    ('"', "Digit3", False, 3),
    ("۲", "Digit2", False, 2),  # Persian
    ("٣", "Digit3", False, 3),  # Arabic
    ("@", "Digit2", True, None),  # of the person who wants no digit
    ("é", "Semicolon", False, None),
]


def test_other_keyboards_grade_and_act_by_the_place_of_the_key(page):
    begin(page)
    for count, (key, code, shift, value) in enumerate(OTHER_KEYBOARDS, start=1):
        before = shown(page)
        pressed = {"key": key, "code": code, "shiftKey": shift, "bubbles": True}
        page.evaluate("pressed => document.dispatchEvent(new KeyboardEvent('keydown', pressed))", pressed)
        page.wait_for_timeout(200)
        all_saved(page)
        wait_for_the_bounce(page)
        given = [int(each) for each in RatingEvent.objects.order_by("pk").values_list("value", flat=True)]
        assert given == [each[3] for each in OTHER_KEYBOARDS[:count] if each[3] is not None], key
        assert (shown(page) == before) == (value is None)
    pressed = {"key": "ч", "code": "KeyX", "bubbles": True}  # Cyrillic
    page.evaluate("pressed => document.dispatchEvent(new KeyboardEvent('keydown', pressed))", pressed)
    expect(page.locator("#cannot")).to_be_visible()
    press(page, "2")
    all_saved(page)
    assert Rating.objects.filter(reason="language").count() == 1


def test_a_minus_waits_for_its_digit_and_a_grade_between_whole_ones_has_a_letter(page, collection):
    Grade.objects.create(collection=collection, value="-2", label="Dangerous")
    Grade.objects.create(collection=collection, value="0.5", label="Half")
    begin(page)
    keys = page.locator("button.grade kbd").all_text_contents()
    assert (keys[0], keys[3:]) == ("-2", ["a", "1", "2", "3"])
    before = shown(page)
    page.keyboard.press("-")
    press(page, "2")
    all_saved(page)
    assert Rating.objects.get().grade == grade(collection, "-2")
    assert shown(page) != before
    press(page, "-")  # alone, it counts when no digit comes
    for key in "1a":
        press(page, key)
    all_saved(page)
    assert sorted(Rating.objects.values_list("grade__value", flat=True)) == [-2, -1, Decimal("0.5"), 1]
