"""Every look of a page, as axe and a ruler see it: light and dark, on a screen and on a phone."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
    # Of all that is as it should be axe would name every place, which takes most of its time.
    "resultTypes": ["violations"],
}
SCREEN, PHONE = 1280, 390
SCHEMES = ("light", "dark")


def examine(page: Page, what: str) -> None:
    """Fail where axe finds anything, or the page is wider than the screen, in any look. `what` names the page."""
    for width in (SCREEN, PHONE):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            drawn(page)
            found = Axe().run(page, options=AXE)
            assert found.violations_count == 0, f"{what}, {scheme}, {width} px\n{found.generate_report()}"
            assert wide(page) <= 0, f"{what} is {wide(page)} px wider than a screen of {width}"


def drawn(page: Page) -> None:
    """Wait until every chart is there."""
    charts = page.locator(".chart")
    for place in range(charts.count()):
        expect(charts.nth(place).locator("svg").first).to_be_visible()


def wide(page: Page) -> int:
    """How many pixels it scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
