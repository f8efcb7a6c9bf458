"""A page as axe and a ruler see it: light on a screen, dark on a phone."""

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page, expect

AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
    # Of all that is as it should be axe would name every place, which takes most of its time.
    "resultTypes": ["violations"],
}
ON_A_PHONE = AXE | {"runOnly": ["color-contrast", "target-size", "scrollable-region-focusable"]}
# Colours do not depend on the width, nor places on the colours: two looks see what four would. The other rules are
# about names and structure, and see the same in both.
LOOKS = {"light": (1280, AXE), "dark": (390, ON_A_PHONE)}


def examine(page: Page, what: str) -> None:
    """Fail where axe finds anything, or the page is wider than the screen. `what` names the page."""
    page.evaluate(AXE_SCRIPT)
    for scheme, (width, rules) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        drawn(page)
        # All that axe returns is long: of what is as it should be, it names rules and places, too.
        violations = page.evaluate("options => axe.run(options).then(({ violations }) => violations)", rules)
        found = AxeResults({"violations": violations})
        assert found.violations_count == 0, f"{what}, {scheme}, {width} px\n{found.generate_report()}"
        assert wide(page) <= 0, f"{what} is {wide(page)} px wider than a screen of {width}"
        assert width > 390 or small_fields(page) == [], f"{what} has fields with small letters on a phone"


def drawn(page: Page) -> None:
    """Open all sections, whose charts are drawn then, and wait until every chart is there."""
    open_sections(page)
    charts = page.locator(".chart")
    for place in range(charts.count()):
        expect(charts.nth(place).locator("svg").first).to_be_visible()


def open_sections(page: Page) -> None:
    # From the last on: those before it keep their places among the closed ones.
    for section in page.locator(".folds > details:not([open]) > summary").all()[::-1]:
        section.click()


def wide(page: Page) -> int:
    """How many pixels it scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def small_fields(page: Page) -> list[str]:
    """The names of fields whose letters are so small that an iPhone zooms in on them."""
    typed = (
        ":is(input, select, textarea):not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=file])"
    )
    return page.evaluate(
        "typed => [...document.querySelectorAll(typed)]"
        ".filter((field) => parseFloat(getComputedStyle(field).fontSize) < 16).map((field) => field.name)",
        typed,
    )
