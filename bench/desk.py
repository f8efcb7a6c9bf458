"""The rating desk in Chromium: from a key press to the next document, and the bytes over the wire.

The processor of the page is slowed down and every answer delayed, as on a plain laptop far from the server. A
document counts as painted when the first task after its frame begins; the time begins with the key press as the
browser saw it. The same is measured for documents with two pictures; one that is painted before them is counted.
"""

import io
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench._engines import prepared
from bench._raters import PASSWORD
from bench._rounds import arguments, goal, machine
from bench._served import OURS, served, servers

TEXT, PICTURES = "desk", "shop"  # collections
EACH, SIZE = 2, 200_000  # pictures of a document, and bytes of each as a shop has it
SLOWER = 4  # times
ROUND_TRIP = 300  # ms
PAUSE = 350  # ms between two presses: a fast rater of snippets
FIRST_LOAD = 90_000  # bytes
GOALS = {"p50": 16, "p95": 50, "p99": 100}  # ms

# Of each press, by the page's clock: ms until the page hears of it, until its script is done, until the frame is.
WATCH = """() => {
    window.took = [];
    window.presses = 0;
    window.late = 0;
    let pressed = 0, heard = 0, done = 0;
    addEventListener("keydown", (event) => {
        presses += 1;
        pressed = event.timeStamp;
        heard = performance.now();
    }, true);
    addEventListener("keydown", () => { done = performance.now(); });
    const after = new MessageChannel();
    after.port1.onmessage = () => took.push([heard - pressed, done - pressed, performance.now() - pressed]);
    const painted = () => requestAnimationFrame(() => {
        const pictures = [...document.querySelectorAll(".doc img")];
        if (pictures.some((one) => !one.complete || !one.naturalWidth)) late += 1;
        after.port2.postMessage(0);
    });
    const form = document.getElementById("rating");
    new MutationObserver(painted).observe(form, { attributes: true, attributeFilter: ["action"] });
}"""

# A page that does nothing but change a word when a key is pressed: no page can be faster here.
BARE = """<!doctype html><form id="rating" action="/0"></form><p id="word">word</p><script>
    let count = 0;
    addEventListener("keydown", () => {
        count += 1;
        document.getElementById("word").textContent = count;
        document.getElementById("rating").setAttribute("action", "/" + count);
    });
</script>"""


class Wire:
    """Bytes that came over the wire, by address, as the browser counts them: head and body, compressed."""

    def __init__(self, session) -> None:
        self.names, self.bytes, self.lengths = {}, {}, {}
        session.on("Network.requestWillBeSent", self._asked)
        session.on("Network.responseReceived", self._answered)
        session.on("Network.loadingFinished", self._came)

    def _asked(self, event: dict) -> None:
        self.names[event["requestId"]] = event["request"]["url"]

    def _answered(self, event: dict) -> None:
        response = event["response"]
        self.lengths[response["url"]] = int(response["headers"].get("Content-Length", 0))

    def _came(self, event: dict) -> None:
        name = self.names.get(event["requestId"], "")
        self.bytes.setdefault(name, []).append(event["encodedDataLength"])

    def of(self, *parts: str) -> int:
        return sum(sum(sizes) for name, sizes in self.bytes.items() if any(part in name for part in parts))

    def without(self, *parts: str) -> int:
        return sum(map(sum, self.bytes.values())) - self.of(*parts)

    def bodies(self, part: str) -> int:
        return sum(length for name, length in self.lengths.items() if part in name)


def texts_of_their_own() -> int:
    """Give every document other words, so that none compresses another; the mean bytes of a task's text."""
    from ratings.models import Document, Query

    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(4_000)]
    documents = list(Document.objects.all())
    for document in documents:
        document.body = "\n\n".join(" ".join(chance.choices(words, k=85)) for _ in range(4))
    Document.objects.bulk_update(documents, ["body"], batch_size=100)
    query = statistics.fmean(len((q.text + q.need).encode()) for q in Query.objects.all())
    return round(statistics.fmean(len((d.title + d.body).encode()) for d in documents) + query)


def with_pictures(collection) -> None:
    """Give every document two pictures of about SIZE bytes, as a shop would send them."""
    import numpy as np
    from PIL import Image

    from ratings.importing.pictures.fetching import Fetching
    from ratings.models import Document
    from ratings.presentation import versions
    from ratings.presentation.parts import Part, Presented

    noise = np.random.default_rng(7)

    def photo(source: str) -> bytes:
        coarse = noise.integers(0, 256, (120, 160, 3), np.uint8)
        large = Image.fromarray(coarse).resize((1_200, 900), Image.Resampling.BICUBIC)
        grain = noise.normal(0, 5, (900, 1_200, 1))
        out = io.BytesIO()
        Image.fromarray(np.clip(np.asarray(large) + grain, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=70)
        sizes.append(out.tell())
        return out.getvalue()

    sizes: list[int] = []
    documents = list(Document.objects.filter(collection=collection))
    for document in documents:
        document.fields = {"image": [f"https://shop.example/{document.pk}-{n}.jpg" for n in range(EACH)]}
    Document.objects.bulk_update(documents, ["fields"], batch_size=100)
    shown = (Part("title", "title"), Part("image", "image"), Part("text", "body"))
    versions.publish(collection, Presented(shown), base=0)
    turn = Fetching(collection, seconds=float("inf"), bring=photo)
    turn.list_sources()
    turn.fetch()
    print(f"{len(sizes)} pictures of {statistics.fmean(sizes) / 1e3:,.0f} KB on average\n", flush=True)


def chromium(playwright):
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise SystemExit("There is no Chromium. Install it or name it in CHROMIUM")
    flags = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
    return playwright.chromium.launch(
        executable_path=path, args=flags + (["--no-sandbox"] if os.geteuid() == 0 else [])
    )


def signed_in(page, url: str, slug: str) -> None:
    page.goto(f"{url}/accounts/sign-in/")
    page.get_by_label("Username").fill(f"{slug}-0")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def bare(page, presses: int) -> list[list[float]]:
    page.set_content(BARE)
    page.evaluate(WATCH)
    for _ in range(presses):
        page.keyboard.press("1")
        page.wait_for_timeout(PAUSE)
    return page.evaluate("took")


def slowed_down(page):
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    slow = {"offline": False, "latency": ROUND_TRIP, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", slow)
    return session


def rated(page, items: int) -> tuple[list[list[float]], int]:
    """Rate so many: the times of each press, and how often the next document was not there yet."""
    page.evaluate(WATCH)
    waits = 0
    for _ in range(items):
        if page.locator("#nothing").is_visible():
            waits += 1
            page.locator("article.doc").wait_for()
        page.keyboard.press(random.choice("0123"))
        page.wait_for_timeout(PAUSE)
    page.wait_for_function("() => document.getElementById('state').dataset.kind === 'saved'", timeout=120_000)
    return page.evaluate("took"), waits


def measured(url: str, slug: str, items: int, text: int) -> None:
    """Print what was measured with this collection. `text`: the mean bytes of a task's text."""
    from playwright.sync_api import sync_playwright

    from ratings.models import Rating

    with sync_playwright() as playwright:
        browser = chromium(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        signed_in(page, url, slug)
        page.goto(f"{url}/collections/{slug}/rate/")
        page.get_by_role("button", name="Start").click()
        page.locator("#state[data-kind]").wait_for()
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.clearBrowserCache")
        first = Wire(session)
        page.goto(f"{url}/collections/{slug}/rate/")
        page.locator("#state[data-kind]").wait_for()
        page.wait_for_timeout(1_000)
        loaded, scripts = first.without("/next/", "/pictures/"), first.bodies("/static/desk/")
        wire = Wire(slowed_down(page))
        other = browser.new_page()
        slowed_down(other)
        limit = bare(other, items // 3)
        page.bring_to_front()
        took, waits = rated(page, items)
        presses, late = page.evaluate("[presses, late]")
        limit += bare(other, items // 3)
        browser.close()
    report(took, limit)
    print(
        goal("presses a judgment", presses / Rating.objects.filter(rater__collection__slug=slug).count(), "<= 1"),
        end="",
    )
    print(goal("documents that had to be waited for", waits / items, "<= 0.001"), end="")
    print(goal("first load without tasks to come, bytes", loaded, f"<= {FIRST_LOAD}"), end="")
    print(f"- of which scripts, without their heads: {scripts:,}")
    each, pictures = wire.of("/next/") / items, wire.of("/pictures/") / items
    print(goal(f"bytes of a next document / of its text ({text:,})", each / text, "<= 1.3"), end="")
    if slug == PICTURES:
        print(goal("documents painted before their pictures", late / items, "<= 0.01"), end="")
        print(f"- bytes of a next document with its {EACH} pictures: {each + pictures:,.0f}", flush=True)
    print(f"- bytes of the answer to a save, with its head: {wire.of('/save/') / items:,.0f}", flush=True)


def percentiles(times: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100)
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98]}


def report(took: Sequence[Sequence[float]], limit: Sequence[Sequence[float]]) -> None:
    """The desk, and beside it the bare page in the same browser before and after."""
    print("| ms from the key | p50 | p95 | p99 | most |\n| --- | ---: | ---: | ---: | ---: |")
    for page, rows in (("the desk", took), ("a bare page", limit)):
        for place, what in enumerate(("heard by the page", "script done", "painted")):
            times = [row[place] for row in rows]
            cuts = " | ".join(f"{cut:.1f}" for cut in percentiles(times).values())
            print(f"| {page}, {what} | {cuts} | {max(times):.1f} |")
    print()
    painted = percentiles([row[-1] for row in took])
    for name, bound in GOALS.items():
        print(goal(f"key to next document painted, {name}, ms", painted[name], f"<= {bound}"), end="")


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=300, help="documents to rate (300)")
    chosen = parser.parse_args()
    items = 20 if chosen.small else chosen.items
    print(machine(1, "Django", "playwright"), flush=True)
    said = f"{ROUND_TRIP} ms round trip, {items} documents"
    print(f"Processor {SLOWER} times slower, {said}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="idealist-bench-") as folder:
        os.environ["IDEALIST_DATA"] = folder
        # Playwright keeps an event loop in this thread, and Django would take this for asynchronous code.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        prepared(static=True)
        from bench import _round
        from ratings.models import Collection

        for slug in (TEXT, PICTURES):
            collection = _round.made(slug, raters=1, pairs=items + 50, wanted=1)
        Collection.objects.update(break_after=0)  # nobody is there to take one
        text = texts_of_their_own()
        with_pictures(collection)
        with served(servers()[OURS], Path(folder) / "server.log") as server:
            for slug, what in ((TEXT, "text alone"), (PICTURES, f"text and {EACH} pictures")):
                print(f"\n### {what}\n", flush=True)
                measured("http://{}:{}".format(*server.address), slug, items, text)


if __name__ == "__main__":
    main()
