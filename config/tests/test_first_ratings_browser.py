"""From an empty database to the third rating of products with pictures, on our pages alone."""

import io
import re
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
RATINGS = 3


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


def push(page: Page, name: str | re.Pattern) -> None:
    follow(page.get_by_role("button", name=name))


def next_step(page: Page) -> None:
    follow(page.locator("header .btn.main"))


def bring(page: Page, path: Path) -> None:
    """The next step of the set-up: a file, imported, and back."""
    next_step(page)
    page.locator("input[type=file]").set_input_files(path)
    push(page, "Send and check")
    done(page.get_by_role("button", name="Import"))
    push(page, "Import")
    done(page.get_by_role("link", name="Continue the set-up"))
    follow(page.get_by_role("link", name="Continue the set-up"))


def done(what: Locator) -> None:
    """Let the worker do what waits. A script sees by itself that it is done."""
    work()
    expect(what).to_be_visible()


def set_up(page: Page, files: dict[str, Path]) -> str:
    """The link of an invitation."""
    follow(page.get_by_role("link", name="New collection"))
    page.get_by_label("Name", exact=True).fill("Shop")
    push(page, "Make the collection")
    for name in ("queries.csv", "products.csv"):
        bring(page, files[name])
    next_step(page)
    push(page, "Save as a new version")
    expect(page.locator("h1")).to_have_text("Pictures")
    page.locator("input[type=file]").set_input_files(files["pictures.zip"])
    push(page, "Send")
    done(page.get_by_text("6 of 6 pictures are here"))
    follow(page.get_by_role("link", name="Set up"))
    bring(page, files["results.csv"])
    next_step(page)
    push(page, re.compile(r"Ask for \d+ ratings"))
    follow(page.get_by_role("link", name="Set up"))
    next_step(page)
    page.get_by_label("Names or addresses, one a line").fill("anna")
    push(page, "Make links")
    return page.locator("dl.handed code").inner_text()


def rate(page: Page, link: str) -> None:
    """Join and rate by keys."""
    page.goto(link)
    page.get_by_label("Name", exact=True).fill("anna")
    page.get_by_label("Password").first.fill("four quiet green hills")
    push(page, "Join")
    push(page, "Start")
    ready(page)
    for _ in range(RATINGS):
        expect(page.locator("article.doc a.picture img")).to_be_visible()
        press(page, "2")
    all_saved(page)


def test_a_shop_with_pictures_is_rated_without_a_terminal(visit, settings, tmp_path, files):
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    page = visit.sign_in(visit.page(), "root")
    page.goto("/")
    rate(visit.page(), set_up(page, files))
    assert Rating.objects.count() == RATINGS
    assert Picture.objects.filter(state=Picture.State.READY).count() == len(PRODUCTS)
    cache.clear()  # no table of a model, which the end of a test would empty
