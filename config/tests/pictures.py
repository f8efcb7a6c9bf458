"""The pictures of the documents, made anew of the sample: .venv/bin/python -m config.tests.pictures

A server of its own, with a data folder that goes again, and Chromium, which also writes the WebP.
"""

import base64
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from config.tests import programs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
SAMPLE = "/collections/trail-advice"
SAMPLES = ROOT / "ratings" / "importing" / "samples"
SHOP = (
    ("create_collection", "shop", "--name", "Shop", "--grades", "0:Irrelevant,1:Related,2:Good,3:Perfect"),
    ("import_queries", "shop", SAMPLES / "queries.csv"),
    ("import_documents", "shop", SAMPLES / "documents.jsonl"),
    ("import_run", "shop", SAMPLES / "two-systems.run"),
    ("pool", "shop"),
)
PRESENTED_AND_INVITED = """
from ratings.importing import jobs
from ratings.models import Collection
from ratings.people import members
from ratings.presentation import proposal, versions
from ratings.presentation.content import sample_of
shop = Collection.objects.get(slug="shop")
versions.publish(shop, proposal.proposal(sample_of(shop)), base=0)
jobs.fetch_pictures(shop, None)
(_, key), = members.invite(shop, ["mira"], role="rater", days=14, by=None)
print(f"/join/{key}/")
"""
PHONE = {"viewport": {"width": 390, "height": 720}}
LARGEST = 150_000  # bytes
QUALITY = 0.8
ENCODED = """async ([png, quality]) => {
  const picture = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d").drawImage(picture, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({type: "image/webp", quality})).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}"""


@contextlib.contextmanager
def served() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a server with the sample, and its environment."""
    with tempfile.TemporaryDirectory(prefix="idealist-pictures-", ignore_cleanup_errors=True) as folder:
        own = {"IDEALIST_DATA": folder, "PYTHONUNBUFFERED": "1"}
        taken = {"DATABASE_URL", "IDEALIST_HOSTS", "IDEALIST_HTTPS", "IDEALIST_DEMO", "SECRET_KEY"}
        environment = {name: value for name, value in os.environ.items() if name not in taken} | own
        command = [sys.executable, str(ROOT / "run.py"), "--port", "0"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                lines = (re.search(r"Idealist is at (http\S+)", line) for line in process.stdout)
                yield next(found[1] for found in lines if found), environment
            finally:
                process.terminate()
                process.communicate()  # the worker writes there, too, and needs the folder until it ends


def manage(environment: dict[str, str], *command) -> str:
    """What a management command prints."""
    whole = [sys.executable, str(ROOT / "run.py"), "manage", *map(str, command)]
    return subprocess.run(whole, env=environment, check=True, capture_output=True, text=True).stdout


def make_shop(environment: dict[str, str]) -> str:
    """A collection of products with pictures. Returns the invitation of its rater."""
    for command in SHOP:
        manage(environment, *command)
    return manage(environment, "shell", "--no-imports", "--command", PRESENTED_AND_INVITED).strip()


def product(browser: Browser, address: str, invitation: str) -> Page:
    """The desk of an invited rater, with a product and its picture."""
    page = browser.new_page(viewport={"width": 1120, "height": 700}, base_url=address)
    page.goto(invitation)
    page.get_by_label("Username").first.fill("mira")
    page.get_by_label("Password").first.fill("a pass phrase of mira")
    page.get_by_role("button", name="Join").first.click()
    page.wait_for_load_state()
    page.goto("/collections/shop/rate/")
    page.get_by_role("button", name=re.compile("Start|Continue")).first.click()
    picture = page.locator("article.doc img")
    for _ in range(30):  # the worker decodes it
        if picture.count():
            break
        time.sleep(1)
        page.reload()
    picture.first.wait_for()
    page.wait_for_load_state("networkidle")
    return page


def visitor(browser: Browser, address: str, environment: dict[str, str], role: str, size: tuple[int, int]) -> Page:
    """Looks around in the sample in that role."""
    screen = dict(zip(("width", "height"), size, strict=True))
    page = browser.new_page(viewport=screen, base_url=address, color_scheme="light")
    page.goto(manage(environment, "sign_in_link", f"sample-{role}", "--site", address).strip())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state("networkidle")
    return page


def overview(page: Page) -> None:
    page.goto(f"{SAMPLE}/")
    page.locator(".chart svg").first.wait_for()


def query(page: Page) -> None:
    page.goto(f"{SAMPLE}/queries/")
    page.get_by_role("link", name="remove tick").first.click()
    page.locator("#lists").wait_for()
    page.evaluate("document.querySelector('#lists').scrollIntoView({block: 'start'})")


def desk(page: Page) -> None:
    page.goto(f"{SAMPLE}/rate/")
    start = page.get_by_role("button", name=re.compile("Start|Continue"))
    if start.count():
        start.first.click()
    page.locator("article.doc").wait_for()
    page.wait_for_load_state("networkidle")
    while len(page.locator("article.doc .text").inner_text()) < 200:
        page.keyboard.press("0")
        page.wait_for_timeout(1000)  # a second key that comes at once counts for a slip


def progress(page: Page) -> None:
    page.goto(f"{SAMPLE}/progress/")


SHOWN = {
    "overview": ("analyst", overview, (1120, 900)),
    "query": ("analyst", query, (1280, 760)),
    "desk": ("rater", desk, (1120, 640)),
    "progress": ("admin", progress, (1120, 900)),
}


def languages(browser: Browser, rater: Page) -> Page:
    """The desk of a rater on a phone, in three languages side by side."""
    signed_in = rater.context.storage_state()
    images = []
    for code in ("ar", "de", "ja"):
        page = browser.new_page(**PHONE, locale=code, storage_state=signed_in, base_url=rater.url)
        page.goto(f"{SAMPLE}/rate/")
        page.locator("article.doc").wait_for()
        page.wait_for_load_state("networkidle")
        images.append(f'<img src="data:image/png;base64,{base64.b64encode(page.screenshot()).decode()}">')
    page = browser.new_page(viewport={"width": 3 * 390 + 32, "height": 720})
    page.set_content(f'<body style="margin: 0; display: flex; gap: 16px; background: #888">{"".join(images)}')
    return page


def taken(page: Page) -> bytes:
    """What is seen of the page, as WebP."""
    page.evaluate("document.fonts.ready")
    time.sleep(0.5)  # what is drawn later
    png = base64.b64encode(page.screenshot()).decode()
    blank = page.context.browser.new_page()
    webp = base64.b64decode(blank.evaluate(ENCODED, [png, QUALITY]))
    blank.close()
    return webp


def main() -> None:
    chromium = programs.path_of("chromium") or sys.exit(programs.absent("chromium"))
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with served() as (address, environment), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for name, (role, show, size) in SHOWN.items():
            page = visitor(browser, address, environment, role, size)
            show(page)
            keep(name, taken(page))
            if name == "desk":
                keep("languages", taken(languages(browser, page)))
        keep("product", taken(product(browser, address, make_shop(environment))))
        browser.close()


def keep(name: str, picture: bytes) -> None:
    if len(picture) > LARGEST:
        sys.exit(f"{name} has {len(picture):,} bytes, at most {LARGEST:,} are wanted.")
    (FOLDER / f"{name}.webp").write_bytes(picture)
    print(f"docs/pictures/{name}.webp  {len(picture):,} bytes")


if __name__ == "__main__":
    main()
