"""Keys that can be changed, guidelines at the grade, words of the query, folded texts, and the break."""

from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from ratings.desk import queue
from ratings.models import Anchor, Grade, Rating, RatingEvent
from ratings.pool.anchors import set_anchor
from ratings.presentation.guidelines import versions
from ratings.tests.cast import grade, make_pair
from ratings.web.preferences import PREFERENCES_COOKIE

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


def test_after_an_undo_the_grade_that_it_took_back_is_marked(page, collection):
    begin(page)
    press(page, "2")
    all_saved(page)
    wait_for_the_bounce(page)
    page.keyboard.press("u")
    good = page.locator("button.grade", has_text="Good")
    expect(good).to_have_attribute("aria-description", "Taken back")
    all_saved(page)
    wait_for_the_bounce(page)
    press(page, "1")
    expect(good).not_to_have_attribute("aria-description", "Taken back")


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


def test_the_page_stays_for_a_word_in_sight_and_the_text_for_a_document_without_one(page, collection):
    collection.queries.update(text="summit")
    first, *others = collection.documents.order_by("pk")
    collection.documents.update(body="A path.\n\nTo the valley.")
    collection.documents.filter(pk__in=[other.pk for other in others]).update(
        body="The summit.\n\n" + "A summit.\n\n" * 20
    )
    page.set_viewport_size({"width": 1280, "height": 700})
    begin(page)
    height = "document.querySelector('.text').getBoundingClientRect().top + scrollY"
    tops, judged = set(), []
    for _ in range(len(others) + 1):
        has_words = page.get_by_role("button", name="Next word of the query").is_visible()
        tops.add((has_words, page.evaluate(height)))
        judged.append((press(page, "1"), has_words))
    assert {has_words for has_words, _ in tops} == {True, False}
    assert len({top for _, top in tops}) == 1
    has_words = False
    while not has_words:
        task, has_words = judged.pop()
        all_saved(page)
        wait_for_the_bounce(page)
        page.keyboard.press("u")
        comes_back(page, task)
    all_saved(page)
    expect(page.locator(".doc mark")).not_to_have_count(0)
    before = page.evaluate("scrollY")
    for word in range(21):
        page.keyboard.press("n")
        here, bar = page.locator("mark.here").bounding_box(), page.locator(".bar").bounding_box()
        assert here["y"] + here["height"] <= bar["y"], word
        head = page.locator(".query").bounding_box()
        assert here["y"] >= head["y"] + head["height"], word
        if word < 4:
            assert page.evaluate("scrollY") == before, word
    assert page.evaluate("scrollY") > before


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


@pytest.mark.parametrize("shown_as", ["one", "list"])
def test_no_break_is_offered_where_nothing_is_left(visit, shown_as):
    collection = make_round(queries=["q1"], documents="ab")
    type(collection).objects.update(break_after=2)
    page = visit.sign_in(visit.page(), "rater")
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": f"shown={shown_as}", "url": visit.server}])
    page.goto("/collections/hills/rate/")
    page.locator("main .btn.main:visible").click()
    ready(page)
    for _ in range(2):
        page.keyboard.press("2")
        wait_for_the_bounce(page)
    all_saved(page)
    if shown_as == "list":
        expect(page.get_by_role("button", name="Continue")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.get_by_text("All done. Thank you for 2 ratings.")).to_be_visible()
    page.wait_for_timeout(300)
    expect(page.locator("#break")).not_to_be_visible()


@pytest.mark.parametrize("shown_as", ["one", "list"])
def test_the_documents_of_the_query_are_counted(visit, collection, shown_as):
    """Six of each query are the rater's own: the others are retired, or held by somebody else."""
    for query in collection.queries.all():
        pairs = list(query.pairs.order_by("pk"))
        queue.retire([pairs[0].pk])
        queue.want([pairs[1].pk], 1)
    page = visit.sign_in(visit.page(), "rater")
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": f"shown={shown_as}", "url": visit.server}])
    page.goto("/collections/hills/rate/")
    page.locator("main .btn.main:visible").click()
    ready(page)
    count = page.locator("#in-query")
    seen = []
    for _ in range(14):
        for done in range(7):
            expect(count).to_have_text(f"{done} of 7 for this query")
            seen.append(page.locator(".query h1").inner_text())
            page.keyboard.press("2")
            wait_for_the_bounce(page)
            if done == 2:
                page.keyboard.press("u")
                expect(count).to_have_text("2 of 7 for this query")
                wait_for_the_bounce(page)
                page.keyboard.press("3")
                wait_for_the_bounce(page)
            if done == 3 and shown_as == "one":
                page.keyboard.press("l")
                expect(count).to_have_text("4 of 7 for this query")
                wait_for_the_bounce(page)
                page.keyboard.press("u")
                wait_for_the_bounce(page)
        if len(seen) == 14:
            break
        if shown_as == "list":
            expect(count).to_have_text("7 of 7 for this query")
            query = page.locator(".query h1").inner_text()
            page.keyboard.press("Enter")
            expect(page.locator(".query h1")).not_to_have_text(query)
            ready(page)
    assert len(set(seen[:7])) == len(set(seen[7:])) == 1 != len(set(seen))
    all_saved(page)
    if shown_as == "one":
        expect(page.locator("#in-query")).to_be_hidden()
    page.goto(f"/collections/hills/rate/{Rating.objects.first().pair.token}/")
    expect(count).to_have_text("7 of 7 for this query")


def test_without_a_script_the_guidelines_of_a_phone_are_below_the_document(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False, viewport={"width": 390, "height": 844}), "rater")
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main"))
    document, guide = page.locator(".doc").bounding_box(), page.locator(".guide").bounding_box()
    assert document["y"] < 300 < document["y"] + document["height"] <= guide["y"]
    expect(page.locator("#in-query")).to_have_text("0 of 8 for this query")


def test_what_a_rating_is_now_stands_above_its_button(page, collection):
    begin(page)
    press(page, "2")
    all_saved(page)
    page.goto(f"/collections/hills/rate/{Rating.objects.get().pair.token}/")
    ready(page)
    assert page.locator("#own-said").is_visible()
    now = page.locator("#own").evaluate(
        "e => e.getBoundingClientRect().x + parseFloat(getComputedStyle(e).paddingLeft)"
    )
    assert now == page.locator(".grades").bounding_box()["x"]


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
