"""From an empty database to the tenth rating of products with pictures, on our pages alone; run with -s it tells
how many pages, presses and seconds that took."""

import io
import re
import time
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from ratings.importing import signs
from ratings.management.commands.work import work
from ratings.models import Picture, Rating

from .desk import all_saved, press, ready
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PRODUCTS = "abcdef"
QUERIES = {"q1": "red shoes", "q2": "desk lamp", "q3": "tent for two"}
RUNS = {"keyword": "abcd", "hybrid": "dbfe"}  # the same for each query
RATINGS = 10


class Walk:
    """A person's way: what they press, a click or a key of what they type, and the pages that they see."""

    def __init__(self, page: Page) -> None:
        self.page, self.pages, self.presses = page, 0, 0
        page.on("framenavigated", self._count)

    def _count(self, frame) -> None:
        self.pages += frame == self.page.main_frame

    def follow(self, locator: Locator) -> None:
        follow(locator)
        self.presses += 1

    def button(self, name: str | re.Pattern) -> None:
        self.follow(self.page.get_by_role("button", name=name))

    def write(self, locator: Locator, text: str) -> None:
        locator.click()
        self.page.keyboard.type(text)
        self.presses += 1 + len(text)

    def choose(self, path: Path) -> None:
        """The button of the field, and a double click in the window of the system."""
        self.page.locator("input[type=file]").set_input_files(path)
        self.presses += 3


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    """What a shop has at hand: three CSV files and a ZIP of pictures."""
    texts = {
        "queries.csv": ["id,text", *(f"{key},{text}" for key, text in QUERIES.items())],
        "products.csv": ["id,title,text,brand,price,image"]
        + [f"{key},Product {key},A text of {key}.,Own,12.50,{key}.png" for key in PRODUCTS],
        "results.csv": ["system,query,document,rank"]
        + [f"{s},{q},{d},{n}" for s, found in RUNS.items() for q in QUERIES for n, d in enumerate(found, 1)],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as zip:
        for place, key in enumerate(PRODUCTS):
            out = io.BytesIO()
            Image.new("RGB", (600, 400), (40 * place, 90, 120)).save(out, "PNG")
            zip.writestr(f"{key}.png", out.getvalue())
    return {name: tmp_path / name for name in (*texts, "pictures.zip")}


def bring(walk: Walk, path: Path) -> None:
    """The next step of the set-up: a file, imported, and back."""
    page = walk.page
    walk.follow(page.locator("header .btn.main"))
    walk.choose(path)
    walk.button("Send and check")
    done(page.get_by_role("button", name="Import"))
    walk.button("Import")
    done(page.get_by_role("link", name="Continue the set-up"))
    walk.follow(page.get_by_role("link", name="Continue the set-up"))


def done(what: Locator) -> None:
    """Let the worker do what waits. A script sees by itself that it is done."""
    work()
    expect(what).to_be_visible()


def set_up(walk: Walk, files: dict[str, Path]) -> str:
    """The link of an invitation."""
    page = walk.page
    walk.follow(page.get_by_role("link", name="New collection"))
    walk.write(page.get_by_label("Name", exact=True), "Shop")
    walk.button("Make the collection")
    for name in ("queries.csv", "products.csv"):
        bring(walk, files[name])
    walk.follow(page.locator("header .btn.main"))
    walk.button("Save as a new version")
    expect(page.locator("h1")).to_have_text("Pictures")
    walk.choose(files["pictures.zip"])
    walk.button("Send")
    done(page.get_by_text("6 of 6 pictures are here"))
    walk.follow(page.get_by_role("link", name="Set up"))
    bring(walk, files["results.csv"])
    walk.follow(page.locator("header .btn.main"))
    walk.button(re.compile(r"Ask for \d+ ratings"))
    walk.follow(page.get_by_role("link", name="Set up"))
    walk.follow(page.locator("header .btn.main"))
    walk.write(page.get_by_label("Names or addresses, one a line"), "anna")
    walk.button("Make links")
    return page.locator("dl.handed code").inner_text()


def rate(walk: Walk, link: str) -> None:
    """Join and rate by keys."""
    page = walk.page
    page.goto(link)
    walk.presses += 1
    walk.write(page.get_by_label("Name", exact=True), "anna")
    walk.write(page.get_by_label("Password").first, "four quiet green hills")
    walk.button("Join")
    walk.button("Start")
    ready(page)
    for _ in range(RATINGS):
        expect(page.locator("article.doc a.picture img")).to_be_visible()
        press(page, "2")
        walk.presses += 1
    all_saved(page)


def test_a_shop_with_pictures_is_rated_without_a_terminal(visit, settings, tmp_path, files):
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    page = visit.sign_in_by_keyboard(visit.page(), "root")
    begun = time.monotonic()
    admin, rater = Walk(page), Walk(visit.page())
    rate(rater, set_up(admin, files))
    assert Rating.objects.count() == RATINGS
    assert Picture.objects.filter(state=Picture.State.READY).count() == len(PRODUCTS)
    pages, presses = admin.pages + rater.pages, admin.presses + rater.presses
    print(f"\n{pages} pages, {presses} presses, {time.monotonic() - begun:.1f} s")
    cache.clear()  # no table of a model, which the end of a test would empty
    assert pages <= 50 and presses <= 110
