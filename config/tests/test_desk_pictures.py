"""Pictures of documents on the desk and on pages of admins, in a browser."""

import io
import re

import pytest
from django.conf import settings
from PIL import Image
from playwright.sync_api import Page, expect

from ratings.importing.pictures import decoding, store
from ratings.models import Collection, Document, Picture, Presentation, Rating, RatingEvent, digest_of
from ratings.presentation.parts import Part, Presented
from ratings.presentation.proposal import WEB_PAGE
from ratings.tests.cast import make_member
from ratings.web.preferences import PREFERENCES_COOKIE

from .desk import all_saved, begin, eventually, make_round, press, ready, wait_for_the_bounce
from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PRODUCT = Presented((Part("title", "title"), Part("image", "image"), Part("link", "url", opens=True)))
LARGE = ".zoom img"


def make_picture(collection: Collection, source: str, colour: int) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", (600, 400), (colour, 90, 120)).save(out, "PNG")
    made = decoding.decode(out.getvalue())
    return Picture.objects.create(
        collection=collection,
        digest=digest_of(source),
        source=source,
        state=Picture.State.READY,
        small=store.keep(made.small),
        large=store.keep(made.large),
        width=made.width,
        height=made.height,
    )


def make_missing(collection: Collection, source: str, problem: str) -> Picture:
    facts = {"digest": digest_of(source), "source": source, "named_by": "a"}
    return Picture.objects.create(collection=collection, state=Picture.State.REFUSED, problem=problem, **facts)


def show(collection: Collection, presented: Presented) -> None:
    version = collection.presentations.count() + 1
    Presentation.objects.create(collection=collection, version=version, content=presented.as_json())


@pytest.fixture
def shop(live_server) -> Collection:
    """Documents with two pictures that are here and one that is missing, and a link."""
    shop = make_round(queries=["q1"])
    for place, document in enumerate(shop.documents.order_by("pk")):
        sources = [f"secret-system/{document.key}-{n}.png" for n in range(3)]
        for n, source in enumerate(sources[:2]):
            make_picture(shop, source, 20 * place + n)
        make_missing(shop, sources[2], "Idealist has no file of this name. Send a ZIP that has it.")
        document.fields = {
            "image": sources,
            "price": 12.5,
            "brand": "Own",
            "category": ["lamps", "new"],
            "date": "2026-03-02",
            "author": "Ann",
        }
        document.url = f"{live_server.url}/accounts/sign-in/?{document.key}"  # a page that is here
        document.save()
    show(shop, PRODUCT)
    return shop


@pytest.fixture
def page(visit, shop) -> Page:
    return visit.sign_in(visit.page(), "rater")


def test_the_next_pictures_are_asked_for_before_the_key_and_not_again(page):
    asked: list[str] = []
    page.on("request", lambda request: "/pictures/" in request.url and asked.append(request.url))
    begin(page)
    eventually(lambda: len(asked) >= 4)
    page.wait_for_load_state("networkidle")
    before = list(asked)
    press(page, "2")
    now = page.locator("article.doc img").evaluate_all("all => all.map((one) => one.src)")
    assert len(now) == 2 and set(now) <= set(before)
    assert page.locator("article.doc img").evaluate_all("all => all.every((one) => one.complete)")
    assert len(asked) == len(set(asked))


@pytest.mark.walk
def test_keys_open_turn_and_close_the_large_picture_and_grade_nothing(page):
    begin(page)
    links = page.locator("article.doc a.picture").evaluate_all("all => all.map((one) => one.href)")
    page.keyboard.press("z")
    expect(page.locator(LARGE)).to_have_js_property("src", links[0])
    expect(page.locator(LARGE)).to_have_attribute("alt", re.compile("^Title ., picture 1 of 3$"))
    page.keyboard.press("ArrowRight")
    expect(page.locator(LARGE)).to_have_js_property("src", links[1])
    page.keyboard.press("ArrowRight")
    expect(page.locator(LARGE)).to_have_js_property("src", links[0])
    page.keyboard.press("ArrowLeft")
    expect(page.locator(LARGE)).to_have_js_property("src", links[1])
    task = page.locator("#rating").get_attribute("action")
    for key in ("2", "u", "l", "x", "c"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator("#rating").get_attribute("action") == task
    for key in ("z", "Escape"):
        expect(page.locator("#zoom")).to_be_visible()
        page.keyboard.press(key)
        expect(page.locator("#zoom")).to_be_hidden()
        page.locator("a.picture").nth(1).click()
    expect(page.locator(LARGE)).to_have_js_property("src", links[1])
    page.locator(LARGE).click()
    expect(page.locator("#zoom")).to_be_hidden()
    assert not Rating.objects.exists()
    press(page, "2")
    all_saved(page)
    assert not RatingEvent.objects.get().opened  # a picture is no link of the text


def test_a_missing_picture_says_so_and_is_a_reason_only_where_pictures_are_shown(page, shop):
    begin(page)
    expect(page.locator(".picture.missing")).to_have_text(
        re.compile("^Title ., picture 3 of 3: The picture is missing$")
    )
    page.keyboard.press("x")
    reason = page.get_by_role("button", name="The picture is missing")
    expect(reason).to_be_visible()
    page.keyboard.press("Escape")
    show(shop, WEB_PAGE)
    page.reload()
    ready(page)
    page.keyboard.press("x")
    expect(page.get_by_role("button", name="Another reason")).to_be_visible()
    expect(reason).to_have_count(0)


def test_a_link_opens_a_tab_without_a_referrer_and_the_event_says_so(page):
    begin(page)
    with page.context.expect_page() as opened:
        page.locator("article.doc .url a").click()
    other = opened.value
    other.wait_for_load_state()
    assert other.evaluate("[document.referrer, window.opener]") == ["", None]
    other.close()
    press(page, "2")
    press(page, "2")
    all_saved(page)
    assert list(RatingEvent.objects.order_by("pk").values_list("opened", flat=True)) == [True, False]


def test_the_list_is_a_grid_of_cards(visit, page):
    page.goto("/collections/hills/settings/")
    page.get_by_label("All of a query in a list").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your settings are saved in this browser.")).to_be_visible()
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main:visible"))
    first, second = (page.locator(".gallery .row").nth(n).bounding_box() for n in (0, 1))
    assert first["y"] == second["y"] and second["x"] > first["x"] + first["width"] - 1
    row = page.locator(".row").nth(1)
    row.locator("a.picture").first.click()
    expect(page.locator(LARGE)).to_have_attribute("alt", f"{row.locator('h2').inner_text()}, picture 1 of 3")
    page.keyboard.press("2")
    page.keyboard.press("z")
    expect(page.locator("#zoom")).to_be_hidden()
    assert not Rating.objects.exists()
    examine(page, "a list with pictures")


PRICED = Presented(
    (Part("title", "title"), Part("image", "picture"), Part("price", "price"), Part("field", "brand"))
)


def boxes(page: Page, *selectors: str) -> list[dict]:
    return [page.locator(selector).first.bounding_box() for selector in selectors]


def size_of(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)"))


@pytest.mark.parametrize("shown", ["one", "list"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_product_is_its_picture_beside_a_large_price_and_small_facts(visit, page, shop, shown, width):
    for document in shop.documents.all():
        document.fields |= {"picture": document.fields["image"][0]}
        document.save()
    show(shop, PRICED)
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": f"shown={shown}", "url": visit.server}])
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main:visible"))
    ready(page)
    picture, price, facts = boxes(page, ".doc .picture img", ".doc .price", ".doc .facts")
    assert picture["x"] + picture["width"] < min(price["x"], facts["x"])
    assert abs(price["y"] - picture["y"]) < 40 < facts["y"] - price["y"] + 30
    assert price["y"] < facts["y"] < picture["y"] + picture["height"]
    assert size_of(page, ".doc .facts dd") < size_of(page, ".doc") < size_of(page, ".doc .price")
    expect(page.locator(".doc .price").first).to_have_text("Price: 12.50")
    if width == 1280:
        examine(page, f"a product in {shown}")


def test_a_rated_card_and_open_reasons_leave_no_hole_between_a_document_and_its_grades(visit, page, shop):
    Document.objects.update(body="A lamp for the table. " * 20)
    show(shop, Presented((*PRICED.document, Part("text", "body"))))
    page.context.add_cookies([{"name": PREFERENCES_COOKIE, "value": "shown=list", "url": visit.server}])
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main:visible"))
    ready(page)
    gaps = """() => [...document.querySelectorAll(".row")].map((row) => {
        const [text, grades] = [".text", ".grades"].map((part) => row.querySelector(part).getBoundingClientRect());
        return grades.top - text.bottom;
    })"""
    assert max(page.evaluate(gaps)) < 20
    page.keyboard.press("2")
    wait_for_the_bounce(page)
    page.keyboard.press("x")
    reason = page.locator(".row").nth(1).get_by_role("button", name="Another reason")
    expect(reason).to_be_visible()
    end, bar = reason.bounding_box(), page.locator(".bar").bounding_box()
    assert end["y"] + end["height"] <= bar["y"]
    assert max(page.evaluate(gaps)) < 20


def test_another_reason_stands_last(page, shop):
    begin(page)
    page.keyboard.press("x")
    assert page.locator("#cannot .why").all_inner_texts()[-2:] == ["The picture is missing", "Another reason"]


def test_without_a_script_a_picture_is_a_link_to_the_large_one(visit, shop):
    page = visit.sign_in(visit.page(java_script_enabled=False), "rater")
    page.goto("/collections/hills/rate/")
    follow(page.locator("main .btn.main:visible"))
    link = page.locator("a.picture").first
    href = link.get_attribute("href")
    with page.context.expect_page() as opened:
        link.click()
    assert opened.value.url.endswith(href) and href.endswith("/large/")
    assert page.request.get(href).headers["content-type"] == "image/webp"


def test_axe_finds_nothing_on_the_desk_of_parts_of_each_kind(visit, page, shop):
    Document.objects.update(body="<p>Warm <b>light</b>.</p><ul><li>one</li></ul>")
    article = Presented((Part("title", "title"), Part("date", "date"), Part("link", "url"), Part("rich", "body")))
    product = Presented((Part("image", "image"), Part("number", "price"), Part("badge", "category")))
    for name, presented in {"article": article, "product": product}.items():
        show(shop, presented)
        if name == "product":
            begin(page)
            page.keyboard.press("z")
            expect(page.locator("#zoom")).to_be_visible()
            examine(page, "a large picture")
            page.keyboard.press("Escape")
        begin(page)
        examine(page, f"the desk as {name}")


def test_axe_finds_nothing_on_the_pages_of_pictures(visit, shop):
    make_member(shop, "dora", "admin")
    page = visit.sign_in(visit.page(), "dora")
    pictures = "/collections/hills/pictures/"
    source = "https://images.elsewhere.example/" + "long" * 60 + ".png"
    make_missing(shop, source, "It is damaged.")
    for address in (pictures, "/collections/hills/presentation/"):
        page.goto(address)
        examine(page, f"{address} with pictures")
    assert "images.elsewhere.example" not in settings.PULL_HOSTS
    page.goto(pictures)
    follow(page.get_by_role("button", name="Try all of them again"))
    expect(page.get_by_text("Fetching pictures")).to_be_visible()
    examine(page, "pictures that are fetched")
    page.goto("about:blank")  # its script asks how far the job is, which is gone in a moment
    Picture.objects.all().delete()
    shop.jobs.all().delete()
    page.goto(pictures)
    examine(page, "no pictures yet")
    show(shop, Presented((Part("text", "body"),)))
    page.goto(pictures)
    examine(page, "no pictures shown")
