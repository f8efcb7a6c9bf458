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
    follow(page.locator("main a.btn.main"))


def bring(page: Page, path: Path) -> None:
    """From the page of imports: a file, imported, and on to the next step of the set-up."""
    page.locator("input[type=file]").set_input_files(path)
    push(page, "Send and check")
    done(page.get_by_role("button", name="Import"))
    push(page, "Import")
    done(page.get_by_role("link", name="Set up", exact=True).last)
    next_step(page)


def done(what: Locator) -> None:
    """Let the worker do what waits. A script sees by itself that it is done."""
    work()
    expect(what).to_be_visible()


def set_up(page: Page, files: dict[str, Path]) -> str:
    """The link of an invitation."""
    follow(page.get_by_role("link", name="New collection"))
    page.get_by_label("Name", exact=True).fill("Shop")
    push(page, "Create collection")
    next_step(page)
    for name in ("queries.csv", "products.csv"):
        bring(page, files[name])
    push(page, "Save as a new version")
    expect(page.locator("h1")).to_have_text("Pictures")
    page.locator("input[type=file]").set_input_files(files["pictures.zip"])
    push(page, "Send")
    done(page.get_by_text("6 of 6 pictures are here"))
    follow(page.get_by_role("link", name="Set up"))
    next_step(page)
    bring(page, files["results.csv"])
    push(page, re.compile(r"Ask for \d+ ratings"))
    follow(page.get_by_role("link", name="Invite raters"))
    page.get_by_label("Names or addresses, one a line").fill("anna")
    push(page, "Make links")
    return page.locator("dl.handed code").inner_text()


def rate(page: Page, link: str) -> None:
    """Join and rate by keys."""
    page.goto(link)
    page.get_by_label("Username", exact=True).fill("anna")
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


# Files of a German shop: semicolons, decimal commas, own names of columns, ids with a point, Excel's encoding.
ODD = {
    "Terms.csv": "Term No;Search term;Shopper intent;Searches per month\r\n"
    'S-01;wanderschuhe;"Light, waterproof";1000\r\nS-02;trekkingstöcke;Carbon;612\r\n',
    "Products.csv": "Article No;Product Name;Long Description;Price EUR;Stock\r\n"
    + "".join(f'10.40{n};Schuh {n};"Robust; ""geprüft"".";{20 + n},90;{n}\r\n' for n in range(6)),
    "Results.csv": "Search term;Engine;Position;Article No;Ranking Score\r\n"
    + "".join(
        f"{term};{engine};{n + 1};10.40{(n + shift) % 6};{12 - n},53\r\n"
        for term in ("wanderschuhe", "trekkingstöcke")
        for shift, engine in enumerate(("Solr old", "Vector 2"))
        for n in range(4)
    ),
}
MOST_PAGES, MOST_CLICKS = 20, 30


def test_a_lead_with_odd_files_invites_raters_in_twenty_pages(visit, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    page = visit.sign_in(visit.page(), "root")
    page.goto("/")
    pages, choices, told = 1, 0, []

    def go(what: Locator) -> None:
        nonlocal pages
        follow(what)
        pages += 1
        if re.search(r"/import/\d+/$", page.url):
            work()
            page.locator("#running").wait_for(state="detached")  # its script loads the page again
            page.wait_for_load_state()
        told.append(page.locator("main").inner_text())

    def button(name: str | re.Pattern) -> Locator:
        return page.get_by_role("button", name=name).first

    go(page.get_by_role("link", name="New collection"))
    page.get_by_label("Name", exact=True).fill("Shop")
    go(button("Create collection"))
    go(page.locator("main a.btn.main"))
    for name, text in ODD.items():
        page.locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "text/csv", "buffer": text.encode("cp1252")}
        )
        choices += 1
        go(button("Send and check"))
        while not button(re.compile("^Import")).count():
            go(button(re.compile("^(Continue|Check again)$")))  # as it is proposed
        go(button(re.compile("^Import")))
        go(page.locator("main a.btn.main"))
        if name == "Products.csv":
            go(button("Save as a new version"))
            go(page.get_by_role("link", name="Import runs"))
    go(button(re.compile(r"Ask for \d+ ratings")))
    go(page.get_by_role("link", name="Invite raters"))
    page.get_by_label("Names or addresses, one a line").fill("anna\nboris")
    follow(button("Make links"))
    assert page.locator("dl.handed code").count() == 2
    pages, clicks = pages + 1, pages + choices  # a click led to each page but the first
    assert (pages <= MOST_PAGES, clicks <= MOST_CLICKS) == (True, True), (pages, clicks)
    assert not [text for text in told if "Refused" in text]
