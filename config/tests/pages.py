"""How a test goes from page to page."""

from playwright.sync_api import Locator


def follow(locator: Locator, key: str | None = None) -> None:
    """Click or press what leads to another page, and wait for that: neither waits by itself.

    What follows would else be read from, or done on, the page that goes, or before the server has acted.
    """
    with locator.page.expect_navigation():
        locator.press(key) if key else locator.click()
