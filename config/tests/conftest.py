"""A real browser for the tests marked `browser`: Debian's Chromium, driven by Playwright."""

import os
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

# Generous, because a busy machine is no fault of the page.
expect.set_options(timeout=20_000)

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Parts of its window are pages of their own, in a process each: for every tab they take longer than our pages.
    "--disable-features=InitialWebUI,WebUIReloadButton,WebUIToolbar,PreloadTopChromeWebUI,SpareRendererForSitePerProcess,WebUIOmniboxPopup,"
    "WebUIOmniboxFullPopup,WebUIOmniboxAimPopup",
]


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    # Playwright keeps an event loop in this thread, and Django would take the tests for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    flags = FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield started
        started.close()


@dataclass
class Visit:
    """Opens pages and remembers what a visitor must never cause: console lines, errors, outside requests."""

    browser: Browser
    server: str
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns of complaints that a test brings about on purpose
    contexts: list[BrowserContext] = field(default_factory=list)

    def page(self, **options) -> Page:
        context = self.browser.new_context(base_url=self.server, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda line: self.note_line(line.text))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self.note_request(request.url))
        return page

    def note_line(self, text: str) -> None:
        # Chromium says so where a key came before its autofocus, which then rightly leaves the focus alone.
        if not text.startswith("Autofocus processing was blocked"):
            self.complaints.append(f"console: {text}")

    def note_request(self, url: str) -> None:
        if not url.startswith((self.server, "data:", "blob:")):
            self.complaints.append(f"outside: {url}")

    def sign_in(self, page: Page, username: str) -> Page:
        """The page with a session that is made without the page of sign-in, which takes long."""
        client = Client()
        client.force_login(get_user_model().objects.get(username=username))
        name = settings.SESSION_COOKIE_NAME
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": self.server}])
        return page

    def sign_in_by_keyboard(self, page: Page, username: str) -> Page:
        """As a person signs in who never touches the mouse."""
        page.goto("/accounts/sign-in/")
        page.get_by_label("Username").focus()
        page.keyboard.type(username)
        page.keyboard.press("Tab")
        page.keyboard.type("a pass phrase")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Sign out").wait_for()
        return page


@pytest.fixture
def visit(browser: Browser, live_server) -> Iterator[Visit]:
    visit = Visit(browser, live_server.url)
    yield visit
    for context in visit.contexts:
        context.close()
    assert [c for c in visit.complaints if not any(re.search(pattern, c) for pattern in visit.expected)] == []


@pytest.fixture
def world(built):
    """A copy of the world that the tests of a module share: see `standing`."""
    return deepcopy(built)
