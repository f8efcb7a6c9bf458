"""Frozen evaluations in a real browser: with and without a script, on a phone, in both themes, on grey paper."""

import io
import re
import zipfile

import pytest
from playwright.sync_api import expect

from evaluation import frozen, scores
from evaluation.models import FrozenEvaluation
from evaluation.tests.hills import make_field, make_hills, rate
from ratings.models import Guidelines, Role
from ratings.tests.cast import make_member, make_ranking

from .looks import drawn, examine, open_sections
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BASE = "/collections/hills/frozen/"
MEASURES = ["nDCG@10", "nDCG@1", "nDCG@5", "P@5"]


@pytest.fixture
def collection():
    """Frozen twice: other judgments, guidelines and systems the second time."""
    collection = make_hills()
    make_member(collection, "analyst", Role.ANALYST)
    asked = scores.Asked.of(collection, measure=MEASURES[0])
    frozen.freeze(collection, "Spring", asked, MEASURES[1:], note="Before the move.")
    rate(collection, {("q1", "b"): "3", ("q2", "a"): "1"}, rater="second")
    Guidelines.objects.create(collection=collection, version=1, text="new")
    make_ranking(collection, "a system of a long name that has to be cut or wrapped somewhere", "q1", "abd")
    collection.touch()
    frozen.freeze(collection, "Summer, with another guide and a name that is long", asked, MEASURES[1:])
    return collection


def pages() -> list[str]:
    first, second = FrozenEvaluation.objects.all()
    return [
        BASE,
        f"{BASE}{second.short}/",
        f"{BASE}compare/",
        f"{BASE}compare/?first={second.short}&second={first.short}&system=bad",
        f"{BASE}new/",
    ]


def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, collection):
    make_ranking(collection, "var(--ink)", "q1", "abd")  # a name that looks like a colour stays a name
    collection.touch()
    page = visit.sign_in(visit.page(), "analyst")
    page.goto("/collections/hills/")
    drawn(page)
    expect(page.locator(".chart svg text", has_text="var(--ink)").first).to_be_visible()
    for address in pages():
        page.goto(address)
        for details in page.locator("details").all():
            details.evaluate("e => e.open = true")
        examine(page, address)


def test_without_a_script_every_chart_is_a_picture(visit, collection):
    options = {"java_script_enabled": False, "color_scheme": "dark", "viewport": {"width": 390, "height": 900}}
    page = visit.sign_in(visit.page(**options), "analyst")
    living = [f"/collections/hills/{part}" for part in ("", "compare/", "differences/", "agreement/drift/")]
    for address in [pages()[0], *pages()[1:4:2], *living]:
        answers = []
        page.on("response", lambda response, answers=answers: answers.append(response))
        page.goto(address)
        open_sections(page)
        for image in page.locator(".chart img").all():
            image.scroll_into_view_if_needed()
            expect(image).to_be_visible()
            box = image.bounding_box()
            assert box["height"] > 60 and box["x"] + box["width"] <= 390
        page.wait_for_load_state("networkidle")
        pictures = [answer for answer in answers if "chart=" in answer.url]
        assert len({answer.url for answer in pictures}) >= page.locator(".chart").count()
        assert all(answer.status == 200 for answer in pictures)
        assert all("theme=dark" in answer.url for answer in pictures)


@pytest.mark.walk
def test_freeze_compare_and_cite_by_keyboard_and_without_a_script(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False), "analyst")
    page.goto("/collections/hills/?measure=P@5")
    follow(page.get_by_role("link", name="Freeze and cite"), "Enter")
    page.get_by_label("Name").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Autumn")
    page.keyboard.press("Tab")
    page.keyboard.type("For the paper.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("Frozen as “Autumn”")
    expect(page.locator("h1")).to_have_text("Autumn")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the bundle").click()
    assert re.fullmatch(r"hills-autumn-[0-9a-f]{12}\.zip", download.value.suggested_filename)
    archive = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes()))
    assert archive.testzip() is None
    page.get_by_role("link", name="What changed since").click()
    expect(page.locator("h1")).to_contain_text("What changed from")
    expect(page.locator("main")).to_contain_text("Added measures:")


def test_a_shared_link_is_read_by_anybody_and_prints_on_one_page(visit):
    """With as many systems as the page shows at most, on A4 and on US Letter."""
    collection = make_field(first={f"system {n:02}": n for n in range(13)})
    stored, _ = frozen.freeze(collection, "Spring", scores.Asked.of(collection))
    make_member(collection, "analyst", Role.ANALYST)
    page = visit.sign_in(visit.page(), "analyst")
    page.goto(f"{BASE}{stored.short}/")
    follow(page.get_by_role("button", name="Make a link"))
    address = page.get_by_label("Who has this link").input_value()
    stranger = visit.page()
    stranger.goto(address)
    drawn(stranger)
    examine(stranger, "the shared page")
    expect(stranger.get_by_role("button", name="Print, or save as PDF")).to_be_visible()
    margins = dict.fromkeys(("top", "bottom", "left", "right"), "1.5cm")
    for paper in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", stranger.pdf(format=paper, margin=margins))) == 1
