"""A rater at the desk: what several test files do with it."""

import time

from playwright.sync_api import Page, expect

from ratings.models import Collection
from ratings.tests.cast import make_collection, make_pair, make_rater

# Whether there is another task on the screen than the one with the address `before`, or nothing more to do.
MOVED_ON = """before => document.querySelector(".work").dataset.view !== "task"
    || document.getElementById("rating").getAttribute("action") !== before"""
# What is on the screen, once it is a document or the end of them.
# A document, or the reason why there is none: while the page still asks, it says "One moment" and is not settled.
SETTLED = """() => {
    const view = document.querySelector(".work").dataset.view;
    const asks = document.getElementById("nothing").textContent.includes("One moment");
    return view === "task" || (view === "none" && !asks) ? view : null;
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
BOUNCE = 160  # ms; a press that follows a new document faster than 150 ms is not counted


def make_round(queries=("q1", "q2"), documents="abcdefgh") -> Collection:
    """A collection where every document of every query waits for `rater`."""
    collection = make_collection(queries=queries, documents=documents)
    for query in queries:
        for document in documents:
            make_pair(collection, query, document)
    make_rater(collection, "rater")
    return collection


def begin(page: Page) -> None:
    """Start or go on with a round; the script is ready when the state is shown."""
    page.goto("/collections/hills/rate/")
    button = page.locator("main .btn.main:visible")
    if page.locator("#rating").count() == 0:
        button.click()
    ready(page)


def ready(page: Page) -> None:
    # A busy machine may take half a minute to lay out a first page of hostile documents.
    expect(page.locator("#state")).to_have_attribute("data-kind", "saved", timeout=60_000)
    page.wait_for_load_state("networkidle")  # the next documents are at hand
    wait_for_the_bounce(page)


def wait_for_the_bounce(page: Page) -> None:
    """Until a press counts: the page counts from when it painted the document, which takes a busy browser long."""
    page.evaluate(PAINTED)
    page.wait_for_timeout(BOUNCE)


def shown(page: Page) -> str:
    """What tells the task on the screen from all others."""
    return page.locator("#rating").get_attribute("action")


def press(page: Page, key: str) -> str:
    """Press a key that brings another document, and wait for it; the task that was judged."""
    # Where the network failed, what comes next may not be there yet: a key then means nothing.
    expect(page.locator("article.doc")).to_be_visible(timeout=120_000)
    before = shown(page)
    wait_for_the_bounce(page)
    page.keyboard.press(key)
    page.wait_for_function(MOVED_ON, arg=before)
    return before


def press_till_the_end(page: Page, key: str) -> list[str]:
    """Press a key for every document that there is; the tasks that were judged."""
    done = []
    while not ended(page):
        done.append(press(page, key))
    return done


def ended(page: Page) -> bool:
    """Whether there is no document any more, once the page knows: what comes next may be awaited."""
    return page.wait_for_function(SETTLED).json_value() == "none"


def comes_back(page: Page, task: str) -> None:
    """Wait until a task that was done is on the screen again."""
    page.wait_for_function("task => document.getElementById('rating').getAttribute('action') === task", arg=task)


def all_saved(page: Page) -> None:
    expect(page.locator("#state")).to_have_text("Saved", timeout=60_000)


def eventually(condition, seconds: float = 20) -> None:
    """Wait until the server has done what a page asked for."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def sends_again(page: Page) -> None:
    """Tell the page that the network is back, and wait until all is saved."""
    page.evaluate("dispatchEvent(new Event('online'))")
    all_saved(page)


def write_comment(page: Page, text: str) -> None:
    """On the document, by keyboard; the grade comes later."""
    page.keyboard.press("c")
    page.keyboard.type(text)
    page.keyboard.press("Escape")


def decide(page: Page, choice: str) -> None:
    """Answer the question of a conflict, as soon as a key counts."""
    expect(page.locator("#conflict")).to_be_visible()
    page.wait_for_timeout(550)
    page.keyboard.press(choice)
    expect(page.locator("#conflict")).to_be_hidden()
