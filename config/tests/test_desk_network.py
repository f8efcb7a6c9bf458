"""Nothing is lost and nothing doubled, whatever the network, the tab or the browser does."""

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ratings.desk import queue
from ratings.models import Rating, RatingEvent, Role
from ratings.tests.cast import grade, make_member, make_rater

from .conftest import FLAGS
from .desk import (
    all_saved,
    begin,
    ended,
    eventually,
    make_round,
    press,
    ready,
    sends_again,
    shown,
    wait_for_the_bounce,
)
from .flaky import CUT, DROP, LATE, TWICE, WHOLE, Proxy, proxy_to
from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ACTS = ("/save/", "/skip/", "/undo/", "/next/")


@pytest.fixture
def collection():
    return make_round()


@pytest.fixture
def proxy(live_server) -> Iterator[Proxy]:
    with proxy_to(live_server.url) as proxy:
        yield proxy


@pytest.fixture
def page(visit, proxy, collection) -> Page:
    """A rater who works through the proxy. That a request failed is told in the console, and expected here."""
    visit.server = proxy.url
    visit.expected.append("Failed to load resource")
    return visit.sign_in(visit.page(), "rater")


def is_act(line: str) -> bool:
    return line.startswith("POST") and any(act in line for act in ACTS)


def graded() -> list[tuple[str, str]]:
    """(token, grade) of every rating, as the database has them."""
    rows = Rating.objects.values_list("pair__token", "grade__value")
    return sorted((str(token), f"{value.normalize():f}") for token, value in rows)


def once_each() -> None:
    """No act is there twice: as many events as keys, and one event a rating."""
    events = RatingEvent.objects.filter(kind="grade")
    assert events.values("client_key").distinct().count() == events.count() == Rating.objects.count()


def judge(page: Page, times: int) -> list[tuple[str, str]]:
    """Press grades in turn; what was pressed for which task."""
    done = []
    for i in range(times):
        value = ["-1", "0", "1", "2", "3"][i % 5]
        token = press(page, "-" if value == "-1" else value).split("/")[-3]
        done.append((token, value))
    return done


def pass_time(page: Page, seconds: int) -> None:
    """On the page's clock, in steps: what each sets off happens in real time."""
    for _ in range(0, seconds, 30):
        page.clock.fast_forward(30_000)
        page.wait_for_timeout(150)


def test_requests_that_are_dropped_delayed_cut_or_doubled_lose_and_double_nothing(page, proxy):
    begin(page)
    dice = random.Random(7)
    proxy.fate = lambda line: dice.choice([WHOLE, WHOLE, DROP, CUT, TWICE, LATE]) if is_act(line) else WHOLE
    done = judge(page, 12)
    all_saved(page)
    proxy.fate = lambda line: WHOLE
    fates = {fate for line, fate in proxy.seen if is_act(line)}
    assert fates >= {DROP, CUT, TWICE, LATE}
    assert graded() == sorted(done)
    once_each()


@pytest.mark.walk
def test_an_answer_cut_after_the_server_committed_is_asked_for_again(page, proxy):
    """The twin of idempotence: the same key is sent twice, and the server has it once."""
    begin(page)
    fates = iter([CUT, CUT])
    proxy.fate = lambda line: next(fates, WHOLE) if "/save/" in line else WHOLE
    done = judge(page, 1)
    all_saved(page)
    assert [fate for line, fate in proxy.seen if "/save/" in line] == [CUT, CUT, WHOLE]
    assert graded() == done
    once_each()


def begin_with_several(page: Page) -> None:
    """Begin, and wait until more documents have come: without a network there would be one alone to judge."""
    with page.expect_response("**/next/**") as answer:
        begin(page)
    answer.value.finished()
    page.wait_for_timeout(500)  # the script takes them up


def test_ten_minutes_offline(page, proxy):
    page.clock.install()
    begin_with_several(page)
    proxy.fate = lambda line: DROP
    done = judge(page, 4)
    expect(page.locator("#state")).to_contain_text("Offline: 4 kept on this device, next try in")
    assert Rating.objects.count() == 0
    pass_time(page, 600)
    expect(page.locator("#state")).to_contain_text("Offline: 4 kept on this device")
    tries = sum("/save/" in line for line, _ in proxy.seen)
    assert 8 <= tries <= 40  # it goes on trying, and does not hammer
    proxy.fate = lambda line: WHOLE
    pass_time(page, 90)  # a try comes at the latest after 60 s and a quarter
    all_saved(page)
    assert graded() == sorted(done)
    once_each()


def test_what_was_loaded_can_be_judged_offline_and_then_it_says_so(page, proxy):
    begin_with_several(page)
    proxy.fate = lambda line: DROP
    done = []
    while not ended(page):
        done += judge(page, 1)
    assert len(done) >= 3
    expect(page.locator("#nothing")).to_contain_text("You have rated all that was loaded.")
    proxy.fate = lambda line: WHOLE
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("article.doc")).to_be_visible()
    all_saved(page)
    assert graded() == sorted(done)


def test_the_desk_stays_where_the_next_page_cannot_come(page, proxy):
    begin_with_several(page)
    proxy.fate = lambda line: DROP
    done = judge(page, 2)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#notice")).to_contain_text("The server does not answer now. What you did is kept")
    done += judge(page, 1)
    proxy.fate = lambda line: WHOLE
    sends_again(page)
    follow(page.get_by_role("button", name="Stop"))
    expect(page.get_by_role("heading", name="Your collections")).to_be_visible()
    assert graded() == sorted(done)


def test_what_the_server_has_without_having_said_so_is_counted_once(page, proxy):
    begin(page)
    judge(page, 1)
    all_saved(page)
    proxy.fate = lambda line: CUT if is_act(line) else WHOLE
    done = judge(page, 2)
    eventually(lambda: done[0] in graded())
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.locator("#done")).to_have_text("3")
    proxy.fate = lambda line: WHOLE
    sends_again(page)
    expect(page.locator("#done")).to_have_text("3")
    assert len(graded()) == 3


def test_a_database_that_the_browser_closed_is_opened_again(page, proxy):
    """As Safari does to a page in the background."""
    page.add_init_script("""
        const opened = Object.getOwnPropertyDescriptor(IDBRequest.prototype, "result").get;
        const get = function () { return window.db = opened.call(this); };
        Object.defineProperty(IDBOpenDBRequest.prototype, "result", { get });
    """)
    begin(page)
    proxy.fate = lambda line: DROP if is_act(line) else WHOLE
    done = judge(page, 1)
    expect(page.locator("#state")).to_contain_text("1 kept on this device")
    page.evaluate("""() => {
        db.close();
        db.dispatchEvent(new Event("close"));
        dispatchEvent(new Event("online"));
    }""")
    done += judge(page, 1)
    expect(page.locator("#state")).to_contain_text("2 kept on this device")
    proxy.fate = lambda line: WHOLE
    sends_again(page)
    assert graded() == sorted(done)
    once_each()


def test_other_pages_tell_what_was_not_sent_and_lead_to_the_desk(page, visit, proxy, collection):
    begin(page)
    proxy.fate = lambda line: DROP if is_act(line) else WHOLE
    done = judge(page, 2)
    context, notice = page.context, "2 ratings are kept in this browser, and the server has not confirmed them."
    page.close()
    # Others rate all of it: no document waits for them, and no desk opens by itself.
    rater, boris = collection.raters.get(), make_rater(collection, "boris")
    queue.stop(rater)
    while tasks := queue.claim(boris, 20):
        for task in tasks:
            queue.save(boris, task, queue.Submission(grade=grade(collection, "1")))
    other, proxy.fate = context.new_page(), lambda line: WHOLE
    for path in (
        "/",
        *(f"/collections/hills/{name}/" for name in ("my-ratings", "guidelines", "settings", "rate")),
    ):
        other.goto(path)
        expect(other.locator("#unsent")).to_contain_text(notice)
    examine(other, "a page with a notice of what is not sent")
    home = context.new_page()
    home.goto("/")
    expect(home.locator("#unsent")).to_be_visible()
    other.get_by_role("link", name="Open the desk to send what is kept").click()
    all_saved(other)
    expect(home.locator("#unsent")).to_be_hidden()  # told by the desk
    assert sorted(one for one in graded() if one in done) == sorted(done)
    assert Rating.objects.filter(rater=rater).count() == 2


def test_who_rates_nowhere_is_sent_no_script_for_it(client, collection):
    client.force_login(make_member(collection, "anna", Role.ANALYST))
    page = client.get("/").content.decode()
    assert "Your collections" in page and page.count("<script") == 1 and 'id="unsent"' not in page  # of forms


def test_leaving_with_unsent_work_warns(page, proxy):
    begin(page)
    proxy.fate = lambda line: DROP if is_act(line) else WHOLE
    judge(page, 1)
    expect(page.locator("#state")).to_contain_text("Offline")
    asked = []

    def stay(dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", stay)
    page.goto("/")
    assert asked == ["beforeunload"]


def test_two_tabs_send_each_act_once(page, proxy):
    begin(page)
    second = page.context.new_page()
    begin(second)
    proxy.fate = lambda line: DROP if is_act(line) else WHOLE
    done = judge(page, 2)
    expect(second.locator("#state")).to_contain_text("2 kept on this device")
    proxy.fate = lambda line: WHOLE
    for tab in (page, second):
        tab.evaluate("dispatchEvent(new Event('online'))")
    all_saved(page)
    all_saved(second)
    sent = [line for line, fate in proxy.seen if "/save/" in line and fate == WHOLE]
    assert len(sent) == 2
    assert graded() == sorted(done)


def processes_with(text: str) -> list[int]:
    """Ids of the processes of this machine whose command line names `text`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in command:
            found.append(int(entry.name))
    return found


def press_and_hang(page: Page, key: str) -> str:
    """Press a key on a page that does nothing any more from then on; the task that was on the screen."""
    task = shown(page)
    wait_for_the_bounce(page)
    page.evaluate(
        """key => setTimeout(() => {
            document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            for (const end = performance.now() + 20_000; performance.now() < end;);
        }, 50)""",
        key,
    )
    return task


def bytes_stored(profile: str) -> int:
    """How much the pages of this profile have written to their databases."""
    return sum(path.stat().st_size for path in Path(profile).glob("**/IndexedDB/**/*.log"))


def test_a_browser_that_is_killed_has_kept_everything(chromium, browser, visit, proxy, collection):
    """kill -9 with three ratings unsent, and a fourth just pressed; the same profile, opened again, sends them."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("finding the browser's processes needs /proc")
    flags = FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
    start = {
        "args": flags,
        "base_url": proxy.url,
        "executable_path": chromium,
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        context = browser.browser_type.launch_persistent_context(profile, **start)
        page = visit.sign_in(context.pages[0], "rater")
        begin(page)
        proxy.fate = lambda line: DROP if is_act(line) else WHOLE
        done = judge(page, 3)
        cookies = context.cookies()
        stored = bytes_stored(profile)
        done.append((press_and_hang(page, "2").split("/")[-3], "2"))
        eventually(lambda: bytes_stored(profile) > stored)  # by the browser's own process
        for process in processes_with(profile):
            os.kill(process, signal.SIGKILL)
        eventually(lambda: not processes_with(profile))
        assert Rating.objects.count() == 0
        proxy.fate = lambda line: WHOLE
        context = browser.browser_type.launch_persistent_context(profile, **start)
        context.add_cookies(cookies)  # a session's cookie is not the outbox: it may be gone
        page = context.pages[0]
        page.goto("/collections/hills/rate/")
        ready(page)
        all_saved(page)
        context.close()
    assert graded() == sorted(done)
    once_each()
