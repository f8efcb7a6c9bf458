"""Hostile documents in a real browser: nothing runs, nothing is asked of another host, nothing breaks the layout.

That nothing is asked of another host, and that the console stays empty, `visit` sees.
"""

import pytest
from playwright.sync_api import Page, expect

from ratings.importing.intake.stage import batched
from ratings.models import Collection, Document, Presentation, Query
from ratings.presentation.html import render_document
from ratings.presentation.parts import KINDS, LINK_REL, TAGS, Part, Presented
from ratings.tests.cast import make_collection, make_member, make_pair, make_rater
from ratings.tests.hostile import payloads

from .desk import begin, press
from .looks import wide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MANY = 24  # payloads in a document, each a rich text of its own
PHONE = {"width": 390, "height": 844}
# What a page parses of a HTML, put into it and read once more: the elements and attributes that it may not have.
ODD = """([htmls, tags, rel]) => htmls.flatMap((html) => {
    const place = document.createElement("div");
    document.body.append(place);
    place.innerHTML = html;
    place.innerHTML = place.innerHTML;
    const odd = [...place.querySelectorAll("*")].flatMap((element) => [
        ...(tags.includes(element.localName) && element.namespaceURI === document.body.namespaceURI
            ? [] : [`<${element.nodeName}>`]),
        ...[...element.attributes].filter(({ name, value }) => !(element.localName === "a" && (
            (name === "href" && /^https?:$/.test(element.protocol)) || (name === "target" && value === "_blank")
            || (name === "rel" && value === rel)))).map(({ name }) => `${element.localName} ${name}`),
    ]);
    place.remove();
    return odd.length ? [[html.slice(0, 200), odd]] : [];
})"""


@pytest.fixture
def hostile() -> Collection:
    """A collection whose documents have all payloads in all kinds of parts."""
    several = [list(some) for some in batched(payloads(), MANY)]
    collection = make_collection(queries=["q1"], documents=[f"d{n}" for n in range(len(several))])
    for document, some in zip(collection.documents.order_by("pk"), several, strict=True):
        document.title, document.url, document.body = " ".join(some)[:5_000], some[0], "\n".join(some)
        document.fields = {
            "all": some,
            "object": {each: each for each in some},
            "objects": [{"url": each} for each in some],
        }
        document.fields |= {f"p{n}": each for n, each in enumerate(some)}
        document.save()
        make_pair(collection, "q1", document.key)
    Query.objects.update(
        text="<img src=x onerror=window.hit=1>", need="\u202e" + "w" * 500, fields={"all": several[0]}
    )
    kinds = [Part(kind, path, opens=True) for kind in KINDS for path in ("all", "body")] + [
        Part("table", "object")
    ]
    rich = [Part("rich", f"p{n}", opens=True) for n in range(MANY)]
    presented = Presented(
        (Part("title", "title"), Part("link", "url", opens=True), *kinds, *rich), tuple(kinds[:20])
    )
    Presentation.objects.create(collection=collection, version=1, content=presented.as_json())
    return collection


@pytest.fixture
def unmoved(visit, hostile, monkeypatch) -> Page:
    """A phone, where nothing has run when the test is over."""
    monkeypatch.setattr("ratings.presentation.parts.MOST_PARTS", 99)
    page = visit.page(viewport=PHONE)
    page.on("dialog", lambda dialog: visit.complaints.append(f"dialog: {dialog.message}"))
    page.context.on("page", lambda other: visit.complaints.append(f"tab: {other.url}"))
    return page


def fine(page: Page) -> None:
    assert page.evaluate("window.hit") is None
    assert wide(page) <= 0, f"{page.url} is {wide(page)} px too wide"


def test_the_desk_shows_hostile_documents_one_after_the_other(visit, unmoved, hostile):
    make_rater(hostile, "rater")
    page = visit.sign_in(unmoved, "rater")
    begin(page)
    for _ in range(hostile.documents.count() - 1):
        fine(page)
        expect(page.locator("button.grade").first).to_be_in_viewport()
        press(page, "2")
    fine(page)


def test_the_page_of_each_hostile_document(visit, unmoved, hostile):
    make_member(hostile, "ann", "analyst")
    page = visit.sign_in(unmoved, "ann")
    for document in Document.objects.all():
        page.goto(f"/collections/hills/documents/{document.pk}/")
        page.get_by_text("All its fields").click()
        expect(page.locator("article details")).to_have_attribute("open", "")
        fine(page)


def test_a_rich_text_read_twice_by_a_browser_has_nothing_odd(browser):
    page = browser.new_page()
    parts = Presented((Part("rich", "x", opens=True),))
    htmls = [render_document(parts, {"x": payload}).html for payload in payloads()]
    wrapped = len('<div class="part of-rich"><div class="rich" dir="auto">')
    htmls = [html[wrapped : -len("</div></div>")] for html in htmls if html]
    assert len(htmls) > 300
    assert page.evaluate(ODD, [htmls, sorted(TAGS), LINK_REL]) == []
    assert page.evaluate(ODD, [["<p id=x>", "<svg>", "<a href=javascript:1>"], sorted(TAGS), LINK_REL])
    page.close()
