"""How a test goes from page to page, and past the question for a second factor."""

import time

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Locator


def follow(locator: Locator, key: str | None = None) -> None:
    """Click or press what leads to another page, and wait for that: neither waits by itself.

    What follows would else be read from, or done on, the page that goes, or before the server has acted.
    """
    with locator.page.expect_navigation():
        locator.press(key) if key else locator.click()


def code(secret: str) -> str:
    """The code that an app shows now, which holds for at least six seconds."""
    if time.time() % 30 > 24:
        time.sleep(30 - time.time() % 30)
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))
