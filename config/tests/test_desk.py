"""The desk in a browser: one press a judgment, undo, and what happens at the edges of a session."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from playwright.sync_api import Page, expect

from ratings.desk import queue
from ratings.models import Collection, Membership, Rating, RatingEvent, Session
from ratings.presentation.guidelines import versions
from ratings.tests.cast import grade, make_collection, make_pair, make_rater

from .desk import (
    all_saved,
    begin,
    comes_back,
    decide,
    eventually,
    make_round,
    press,
    press_till_the_end,
    ready,
    sends_again,
    shown,
    wait_for_the_bounce,
    write_comment,
)
from .pages import code, follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def collection():
    return make_round()


@pytest.fixture
def page(visit, collection) -> Page:
    return visit.sign_in(visit.page(), "rater")


@pytest.fixture
def expected(visit) -> list[str]:
    """Lines of the console that a test brings about on purpose."""
    return visit.expected


def refuse(page: Page, act: str = "save") -> None:
    """From now on the browser cannot send this act."""
    page.route(f"**/{act}/", lambda route: route.abort())


def counted_presses(page: Page) -> None:
    page.evaluate("window.presses = 0; addEventListener('keydown', () => { presses += 1; }, true)")


# Fast


@pytest.mark.walk
def test_one_press_a_judgment_and_no_page_is_loaded(page, collection):
    begin(page)
    counted_presses(page)
    page.evaluate("window.samePage = true")
    for _ in range(15):
        press(page, "2")
    wait_for_the_bounce(page)
    page.keyboard.press("0")
    expect(page.locator("#nothing")).to_contain_text("All done. Thank you for 16 ratings.")
    all_saved(page)
    assert Rating.objects.count() == page.evaluate("presses") == 16
    assert page.evaluate("samePage")
    assert all(event.seconds and 0 < event.seconds < 60 for event in RatingEvent.objects.all())


def test_a_pressed_key_is_being_saved_from_that_moment(page):
    """Before the browser has written the act, and before anything is sent."""
    begin(page)
    wait_for_the_bounce(page)
    state = page.evaluate("""() => {
        const before = document.getElementById("state").dataset.kind;
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true }));
        return [before, document.getElementById("state").dataset.kind];
    }""")
    assert state == ["saved", "saving"]
    all_saved(page)
    eventually(lambda: Rating.objects.count() == 1)


def test_a_press_that_comes_too_soon_is_not_counted_and_told(page):
    begin(page)
    page.evaluate("""() => {
        for (let i = 0; i < 2; i++) {
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true }));
        }
    }""")
    expect(page.locator("#notice")).to_have_text("That came too soon for a new document and was not counted.")
    all_saved(page)
    assert Rating.objects.count() == 1


def test_a_double_click_or_a_key_held_down_rates_once(page):
    begin(page)
    good = page.locator("button.grade", has_text="Good")
    good.dblclick(delay=200)
    all_saved(page)
    eventually(lambda: Rating.objects.count() == 1)
    page.wait_for_timeout(400)
    for count, key in ((2, "Enter"), (3, "3")):
        good.focus()
        for _ in range(10):
            page.keyboard.down(key)
            page.wait_for_timeout(30)
        page.keyboard.up(key)
        all_saved(page)
        eventually(lambda count=count: Rating.objects.count() == count)
        page.wait_for_timeout(200)
    assert Rating.objects.count() == 3


def test_keys_are_dead_in_a_text_field_and_behind_a_dialog(page, expected):
    expected.append("401")
    begin(page)
    before = shown(page)
    page.keyboard.press("c")
    page.keyboard.type("12 of 3 ulx")
    assert shown(page) == before
    page.locator("#comment").get_by_role("button", name="Done").focus()
    page.keyboard.press("2")  # beside the text, while it is open
    page.wait_for_timeout(300)
    assert shown(page) == before
    page.locator("[name=comment]").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#comment")).to_be_hidden()
    page.keyboard.press("1")
    eventually(lambda: Rating.objects.filter(comment="12 of 3 ulx").exists())
    Session.objects.all().delete()
    press(page, "1")
    expect(page.locator("#sign-in")).to_be_visible()
    page.locator("#sign-in-close").focus()
    before = shown(page)
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert shown(page) == before


# Undo


def test_undo_twenty_deep_offline(visit, expected):
    expected.append("Failed to load resource")
    collection = make_round(documents="abcdefghijk")
    page = visit.sign_in(visit.page(), "rater")
    begin(page)
    order = [press(page, "1") for _ in range(20)]
    all_saved(page)
    assert Rating.objects.count() == 20
    page.context.set_offline(True)
    for task in reversed(order):
        page.keyboard.press("u")
        comes_back(page, task)
    expect(page.locator("#last")).to_be_hidden()
    page.context.set_offline(False)
    all_saved(page)
    assert Rating.objects.count() == 0
    assert collection.raters.get().events.filter(kind="undo").count() == 20


@pytest.mark.walk
def test_what_was_not_sent_is_taken_back_here(page, expected):
    expected.append("Failed to load resource")
    begin(page)
    page.wait_for_timeout(500)
    first = press(page, "1")
    all_saved(page)
    page.context.set_offline(True)
    press(page, "1")  # is tried
    second = press(page, "2")  # waits for its turn
    page.keyboard.press("u")
    comes_back(page, second)
    page.context.set_offline(False)
    all_saved(page)
    assert not RatingEvent.objects.filter(kind="undo").exists()
    assert Rating.objects.count() == 2
    assert first != second


def test_a_reload_goes_on_with_the_same_document_and_undo_reaches_acts_before_it(page):
    begin(page)
    task = press(page, "1")
    all_saved(page)
    before = shown(page)
    page.reload()
    ready(page)
    assert shown(page) == before
    page.keyboard.press("u")
    comes_back(page, task)
    all_saved(page)
    assert not Rating.objects.exists()


# The edges of a session


def sign_in_here(page: Page, username: str) -> None:
    expect(page.locator("#sign-in")).to_be_visible()
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill("a pass phrase")
    page.keyboard.press("Enter")


@pytest.mark.walk
def test_signed_out_signs_in_on_the_spot_and_nothing_is_lost(page, expected):
    expected.append("401")
    begin(page)
    Session.objects.all().delete()
    press(page, "1")
    on_screen = shown(page)
    expect(page.locator("#sign-in")).to_be_visible()
    page.get_by_label("Password").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator("#sign-in-wrong")).to_contain_text("do not fit")
    sign_in_here(page, "rater")
    expect(page.locator("#sign-in")).to_be_hidden()
    all_saved(page)
    assert Rating.objects.count() == 1
    assert shown(page) == on_screen
    press(page, "1")
    all_saved(page)
    assert Rating.objects.count() == 2


def test_who_has_a_second_factor_finishes_the_sign_in_in_another_tab(page, collection, expected):
    expected += ["401", "403"]
    begin(page)
    TOTP.activate(collection.raters.get(name="rater").user, secret := "JBSWY3DPEHPK3PXP")
    Session.objects.all().delete()
    press(page, "1")
    sign_in_here(page, "rater")
    link = page.get_by_role("link", name="Finish the sign-in in a new tab")
    expect(link).to_be_focused()
    expect(page.locator("#sealed")).to_be_hidden()
    with page.context.expect_page() as opened:
        link.click()
    second = opened.value
    second.get_by_label("Code").fill(code(secret))
    follow(second.get_by_role("button", name="Sign in"))
    second.close()
    back(page)
    expect(page.locator("#sign-in")).to_be_hidden()
    all_saved(page)
    assert Rating.objects.count() == 1


def test_who_has_no_password_signs_in_in_another_tab(page, visit, collection, expected):
    expected += ["401", "403"]
    user = collection.raters.get(name="rater").user
    user.set_unusable_password()
    user.save()
    visit.sign_in(page, "rater")
    begin(page)
    Session.objects.all().delete()
    press(page, "1")
    link = page.get_by_role("link", name="Sign in in a new tab")
    expect(link).to_be_visible()
    expect(page.locator("#sign-in").get_by_label("Password")).to_have_count(0)
    visit.sign_in(page, "rater")
    back(page)
    expect(page.locator("#sign-in")).to_be_hidden()
    all_saved(page)
    assert Rating.objects.count() == 1


def back(page: Page) -> None:
    """Come back to the tab of the page."""
    page.bring_to_front()
    page.evaluate("dispatchEvent(new Event('focus'))")  # a browser without windows sends none


def test_another_account_neither_sees_nor_sends_what_was_kept(page, visit, collection, expected):
    expected.append("Failed to load resource")
    make_rater(collection, "boris")
    begin(page)
    refuse(page)
    kept = [press(page, "3") for _ in range(3)]
    expect(page.locator("#state")).to_contain_text("3 kept on this device")
    context = page.context
    page.close()
    context.clear_cookies()
    boris = visit.sign_in_by_keyboard(context.new_page(), "boris")
    begin(boris)
    press(boris, "-")
    all_saved(boris)
    databases = boris.evaluate("indexedDB.databases().then((all) => all.length)")
    assert databases == 2  # one each
    boris.close()
    assert Rating.objects.count() == Rating.objects.filter(rater__name="boris").count() == 1
    context.clear_cookies()
    rater = visit.sign_in_by_keyboard(context.new_page(), "rater")
    begin(rater)
    all_saved(rater)
    assert Rating.objects.filter(rater__name="rater", grade__value=3).count() == len(kept) == 3


def taken_over(page: Page, visit, collection) -> None:
    """The rater's desk is open, and boris has signed in in another tab."""
    make_rater(collection, "boris")
    begin(page)
    page.context.clear_cookies()
    visit.sign_in_by_keyboard(page.context.new_page(), "boris")


def test_a_page_whose_browser_belongs_to_somebody_else_now_is_sealed(page, visit, collection, expected):
    expected += ["401", "403"]
    taken_over(page, visit, collection)
    press(page, "1")
    sealed = page.locator("#sealed")
    expect(sealed).to_contain_text("This browser is signed in as boris now")
    kept = "document.getElementById('state').textContent"
    before = page.evaluate(kept)
    for key in ("Escape", "Escape", "Escape", "1"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    expect(sealed).to_be_visible()
    expect(page.locator("article.doc")).to_be_hidden()
    assert page.evaluate(kept) == before
    assert not Rating.objects.exists()


def test_a_token_that_another_tab_made_old_is_renewed(page, visit, expected):
    expected.append("403")
    begin(page)
    page.context.clear_cookies(name="csrftoken")
    page.context.new_page().goto("/accounts/session/")  # makes another
    press(page, "1")
    all_saved(page)
    assert Rating.objects.count() == 1


def test_a_browser_that_keeps_nothing_says_so_and_sends_all_the_same(visit, collection, expected):
    expected.append("Failed to load resource")
    page = visit.page()
    page.add_init_script("indexedDB.open = () => { throw new DOMException('private', 'InvalidStateError'); }")
    visit.sign_in(page, "rater")
    begin(page)
    refuse(page)
    press(page, "1")
    expect(page.locator("#state")).to_contain_text("1 kept while this page stays open")
    page.unroute_all()
    sends_again(page)
    assert Rating.objects.count() == 1


@pytest.mark.walk
def test_a_conflict_is_decided_by_the_rater(page, collection, expected):
    expected.append("409")
    for choice, value in (("1", "0"), ("2", "3")):
        begin(page)
        _, token = conflict(page, collection)
        dialog = page.locator("#conflict")
        expect(dialog).to_contain_text("Keep what is stored: 0 Irrelevant")
        expect(dialog).to_contain_text("Take this one: 3 Perfect")
        decide(page, choice)
        all_saved(page)
        assert Rating.objects.get(pair__token=token).grade == grade(collection, value)


def test_two_equal_ratings_are_no_conflict_to_decide_without_another_comment(page, collection, expected):
    expected.append("409")
    begin(page)
    rated_elsewhere(collection, shown(page).split("/")[-3], "3")
    press(page, "3")
    all_saved(page)
    expect(page.locator("#conflict")).to_be_hidden()
    assert RatingEvent.objects.count() == 1
    rated_elsewhere(collection, shown(page).split("/")[-3], "3")
    write_comment(page, "mine")
    press(page, "3")
    expect(page.locator("#conflict")).to_be_visible()


def rated_elsewhere(collection, token: str, value: str = "0") -> None:
    rater = collection.raters.get()
    queue.save(rater, queue.task(rater, token), queue.Submission(grade=grade(collection, value)))


def conflict(page: Page, collection) -> tuple[str, str]:
    """Rate 0 elsewhere and 3 here; the address of the task, and its token."""
    task = shown(page)
    token = task.split("/")[-3]
    rated_elsewhere(collection, token)
    press(page, "3")
    expect(page.locator("#conflict")).to_be_visible()
    return task, token


def test_undo_takes_back_what_was_insisted_on(page, collection, expected):
    expected.append("409")
    begin(page)
    task, token = conflict(page, collection)
    queue.retire(list(collection.queries.get(key="q1").pairs.values_list("pk", flat=True)))
    decide(page, "2")
    all_saved(page)
    page.keyboard.press("u")
    comes_back(page, task)
    all_saved(page)
    eventually(lambda: Rating.objects.get().grade == grade(collection, "0"))
    expect(page.locator("#own")).to_contain_text("Your rating now: 0 Irrelevant")
    expect(page.locator("#done")).to_have_text("1")
    assert press(page, "2") == task
    all_saved(page)
    assert Rating.objects.get(pair__token=token).grade == grade(collection, "2")


def test_undo_takes_back_first_what_was_insisted_on_last(page, collection, expected):
    expected.append("409")
    begin(page)
    held_back = []
    page.route("**/save/", lambda route: route.continue_() if held_back else held_back.append(route))
    first, token = shown(page), shown(page).split("/")[-3]
    rated_elsewhere(collection, token)
    press(page, "3")
    second = press(page, "2")
    eventually(lambda: held_back or page.wait_for_timeout(20), 30)
    held_back[0].continue_()
    decide(page, "2")
    all_saved(page)
    expect(page.locator("#last")).to_contain_text("Last: 3 Perfect")
    for task in (first, second):
        page.keyboard.press("u")
        comes_back(page, task)
    all_saved(page)
    assert Rating.objects.get().grade == grade(collection, "0")


def test_undo_after_what_is_stored_was_kept_takes_back_the_act_before(page, collection, expected):
    expected.append("409")
    begin(page)
    before = press(page, "2")
    all_saved(page)
    _, token = conflict(page, collection)
    decide(page, "1")
    all_saved(page)
    expect(page.locator("#last")).to_contain_text("Last: 2 Good")
    page.keyboard.press("u")
    comes_back(page, before)
    all_saved(page)
    assert Rating.objects.get(pair__token=token).grade == grade(collection, "0")
    assert Rating.objects.count() == 1


def test_what_was_thrown_away_is_still_to_do(page, collection, expected):
    expected.append("400")
    queue.retire(list(collection.queries.get(key="q2").pairs.values_list("pk", flat=True)))
    begin(page)
    collection.grades.filter(value=2).delete()
    task = press(page, "2")
    expect(page.locator("#conflict")).to_contain_text("The scale has no grade 2.")
    decide(page, "2")
    expect(page.locator("#done")).to_have_text("0")
    expect(page.locator("#last")).to_be_hidden()
    done = press_till_the_end(page, "3")
    all_saved(page)
    assert task in done
    assert Rating.objects.count() == len(done) == 8


def test_an_answer_of_a_stranger_confirms_nothing_and_one_with_more_fields_does(page):
    def newer(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "colour": "green", "tasks_soon": [1]})

    begin(page)
    page.route("**/save/", lambda route: route.fulfill(status=200, content_type="text/html", body="Pay for WiFi"))
    press(page, "1")
    expect(page.locator("#state")).to_contain_text("1 kept on this device")
    page.unroute_all()
    page.route("**/save/", newer)
    page.route("**/next/", newer)
    sends_again(page)
    for _ in range(5):
        press(page, "1")
    all_saved(page)
    assert Rating.objects.count() == 6


def test_time_counts_only_while_somebody_is_there(page):
    page.clock.install()
    begin(page)
    page.keyboard.press("g")
    page.clock.fast_forward(30_000)
    page.keyboard.press("g")
    page.clock.fast_forward(3_600_000)  # away for an hour: a minute of it counts
    press(page, "1")
    all_saved(page)
    assert 85 < RatingEvent.objects.get().seconds < 110


def test_nothing_left_looks_again_by_itself(page, collection):
    boris = make_rater(collection, "boris")
    queue.claim(boris, 20)
    page.clock.install()
    begin(page)
    press_till_the_end(page, "1")
    expect(page.locator("#nothing")).to_contain_text("open at other raters and may come back at")
    queue.stop(boris)
    page.clock.fast_forward(25_000)
    expect(page.locator("article.doc")).to_be_visible()


def test_a_comment_has_the_length_that_a_browser_counts(collection):
    client = Client()
    client.force_login(collection.raters.get().user)
    page = client.post("/collections/hills/rate/next/", follow=True)
    save = f"/collections/hills/rate/{page.context['token']}/save/"
    sent = {"grade": "1", "base_revision": "0", "comment": "line\r\n" * 999 + "12345"}  # 5,000 by LF
    assert client.post(save, sent).status_code == 302
    assert len(Rating.objects.get().comment) == 5_000
    assert client.post(save, {**sent, "comment": sent["comment"] + "6"}).status_code == 400


def test_a_comment_comes_back_with_a_document_that_was_put_off(page, collection):
    queue.retire(list(collection.queries.get(key="q2").pairs.values_list("pk", flat=True)))
    begin(page)
    write_comment(page, "half read")
    task = press(page, "l")
    for _ in range(7):
        press(page, "1")
    comes_back(page, task)
    expect(page.locator("[name=comment]")).to_have_value("half read")
    all_saved(page)
    page.reload()
    ready(page)
    comes_back(page, task)
    expect(page.locator("[name=comment]")).to_have_value("half read")


def test_an_undo_leaves_what_was_written_about_the_document_on_the_screen(page):
    begin(page)
    first = press(page, "3")
    second = shown(page)
    write_comment(page, "half written")
    page.keyboard.press("u")
    comes_back(page, first)
    expect(page.locator("[name=comment]")).to_have_value("")
    press(page, "1")
    comes_back(page, second)
    expect(page.locator("[name=comment]")).to_have_value("half written")
    press(page, "2")
    all_saved(page)
    assert Rating.objects.get(comment="half written").grade.value == 2
    page.keyboard.press("u")
    comes_back(page, second)
    expect(page.locator("[name=comment]")).to_have_value("half written")


def test_an_open_desk_loads_a_changed_scale_before_the_next_document(page, collection):
    page.clock.install()
    begin(page)
    press(page, "1")
    all_saved(page)
    collection.grades.filter(value=2).update(label="Helpful")
    Collection.objects.filter(pk=collection.pk).update(scale_version=2)
    page.clock.fast_forward(5 * 60_000)  # it asks the server for documents
    expect(page.locator("#notice")).to_have_text("The scale has changed.")
    expect(page.locator("button.grade", has_text="Good")).to_be_visible()
    wait_for_the_bounce(page)
    page.keyboard.press("1")
    expect(page.locator("button.grade", has_text="Helpful")).to_be_visible()
    ready(page)
    press(page, "2")
    all_saved(page)
    assert list(RatingEvent.objects.order_by("pk").values_list("scale_version", flat=True)) == [1, 1, 2]


def test_a_grade_that_is_no_longer_on_the_scale_is_judged_again_with_the_new_one(page, collection, expected):
    expected.append("400")
    begin(page)
    collection.grades.filter(value=2).delete()
    write_comment(page, "why")
    task = press(page, "2")
    expect(page.locator("#conflict")).to_contain_text("The scale has no grade 2.")
    decide(page, "1")
    comes_back(page, task)
    expect(page.locator("[name=comment]")).to_have_value("why")
    Collection.objects.filter(pk=collection.pk).update(scale_version=2)
    press(page, "2")
    decide(page, "1")
    expect(page.locator("button.grade", has_text="Good")).to_have_count(0)
    ready(page)
    assert shown(page) == task


def test_what_is_done_by_who_was_taken_off_the_collection_is_thrown_away_at_once(page, collection, expected):
    expected.append("Failed to load resource")
    told = "You do not rate in a collection of this name."
    begin(page)
    refuse(page)
    for _ in range(3):
        press(page, "1")
    Membership.objects.all().delete()
    page.unroute_all()
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#conflict")).to_contain_text(told)
    page.wait_for_timeout(1_000)  # all three are refused
    page.locator("#conflict-2").click()
    all_saved(page)
    expect(page.locator("#conflict")).to_be_hidden()
    expect(page.locator("#nothing")).to_contain_text(f"{told} Its admins can say why.")
    assert not Rating.objects.exists()


def test_what_is_closed_elsewhere_is_left_alone_here(page, collection, expected):
    """Acts in another collection, which the person rates no longer, wait in the same outbox."""
    expected.append("Failed to load resource")
    make_pair(sea := make_collection("sea"))
    make_rater(sea, "rater")
    begin(page)
    page.goto("/collections/sea/rate/")
    page.locator("main .btn.main:visible").click()
    ready(page)
    refuse(page)
    page.keyboard.press("1")
    expect(page.locator("#state")).to_contain_text("1 kept on this device")
    sea.memberships.all().delete()
    page.unroute_all()
    page.goto("/collections/hills/rate/")
    expect(page.locator("#conflict")).to_contain_text("You do not rate in a collection of this name.")
    expect(page.locator("#conflict-1")).to_be_hidden()
    before = shown(page)
    expect(page.locator(".work")).to_have_attribute("data-view", "task")
    decide(page, "2")
    all_saved(page)
    assert shown(page) == before


def test_a_question_waits_until_nobody_is_writing(page, collection, expected):
    expected.append("409")
    begin(page)
    rated_elsewhere(collection, shown(page).split("/")[-3])
    held = []
    page.route("**/save/", lambda route: held.append(route))  # of append it would not know the arguments
    press(page, "3")
    page.keyboard.press("c")
    page.keyboard.type("in 2")
    eventually(lambda: held or page.wait_for_timeout(20), 30)
    with page.expect_response("**/save/"):
        held[0].continue_()
    page.keyboard.type("024 ", delay=200)
    expect(page.locator("#conflict")).to_be_hidden()
    expect(page.locator("[name=comment]")).to_have_value("in 2024 ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#conflict")).to_be_visible()
    decide(page, "1")
    expect(page.locator("[name=comment]")).to_have_value("in 2024 ")
    assert Rating.objects.get().grade == grade(collection, "0")


def test_an_open_desk_hears_of_new_guidelines_and_says_which_it_had(page, collection):
    versions.publish(collection, "Read it.\n", base=0)
    begin(page)
    versions.publish(collection, "Read all of it.\n", base=1)
    press(page, "1")
    expect(page.locator("#newer")).to_be_hidden()
    for _ in range(6):
        press(page, "1")
    expect(page.locator("#newer")).to_be_visible()
    all_saved(page)
    assert set(RatingEvent.objects.values_list("guidelines_version", flat=True)) == {1}
    follow(page.get_by_role("link", name="Load the new version"))
    ready(page)
    expect(page.locator("#newer")).to_be_hidden()
    press(page, "1")
    all_saved(page)
    assert RatingEvent.objects.latest("pk").guidelines_version == 2
