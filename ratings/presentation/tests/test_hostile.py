"""Hostile texts in every kind of part: what the server makes of them."""

import re
import time
from uuid import uuid4

import pytest
from django.urls import reverse

from ratings.models import Picture, digest_of
from ratings.presentation.html import render_document
from ratings.presentation.parts import KINDS, LINK_REL, LONGEST_TEXT, TAGS, Part, Presented
from ratings.presentation.proposal import proposal
from ratings.tests.cast import make_collection, make_member
from ratings.tests.hostile import Elements, payloads

pytestmark = pytest.mark.slow

OWN = {"div", "img", "span"}  # of the template
CLASSES = {
    "badges", "data", "facts", "lbl", "missing", "picture", "pictures", "rich", "scroll", "soft", "url", "vh",
    "part", "price", *(f"of-{kind}" for kind in KINDS),
}  # fmt: skip
ATTRIBUTES = {
    "a": {"class", "href", "rel", "target"},
    "img": {"alt", "decoding", "height", "src", "width"},
}
ANY = {"aria-label", "class", "dir", "role", "scope", "tabindex"}
picture_address = re.compile(r"/pictures/[0-9a-f-]{36}/(small|large)/")
web = re.compile(r"https?://\S+", re.IGNORECASE)


def document_of(payload: str) -> dict:
    return {"x": payload, "list": [payload, payload], "object": {payload: payload}, "objects": [{"url": payload}]}


def presented(payload: str, opens: bool) -> Presented:
    paths = ("x", "list", "object", "objects")
    return Presented(tuple(Part(kind, path, payload, "{x}", opens) for kind in KINDS for path in paths))


def complaints(html: str) -> list[str]:
    """What in it is neither an element of the template nor one that a rich text may have."""
    parsed = Elements(html)
    found = [f"<!{odd}" for odd in parsed.odd]
    for tag, attributes in parsed.found:
        if tag not in TAGS | OWN:
            found.append(f"<{tag}>")
        found += [f"{tag} {name}" for name in attributes.keys() - ATTRIBUTES.get(tag, ANY)]
        found += [f"{tag} class={name}" for name in set((attributes.get("class") or "").split()) - CLASSES]
        address = attributes.get("href") or attributes.get("src") or ""
        ours = picture_address.fullmatch(address)
        apart = (attributes.get("target"), attributes.get("rel")) == ("_blank", LINK_REL)
        opens = tag == "a" and apart and web.fullmatch(address)
        if address and not ours and not opens:
            found.append(f"{tag} to {address}")
    return found


def test_no_hostile_text_becomes_an_element_an_attribute_or_an_address():
    here = Picture(token=uuid4(), state=Picture.State.READY, width=1, height=1)
    for payload in payloads():
        pictures = {digest_of(payload.strip()): here}
        # A link that may be opened and a picture that is here show the most of a payload.
        html = render_document(presented(payload, True), document_of(payload), pictures).html
        assert complaints(html) == [], payload[:200]


@pytest.mark.parametrize(
    "html",
    ["<script>", "<p onclick=x>", "<p class=bar>", "<a href='javascript:x'>", "<img src='https://x'>", "<!--x-->"],
)
def test_what_would_be_hostile_is_seen(html):
    """The twin of the test above."""
    assert complaints(html)


@pytest.mark.parametrize("kind", ["text", "rich", "list", "table"])
def test_ten_million_characters_are_cut_and_told(kind):
    html = render_document(Presented((Part(kind, "x"),)), {"x": "<p>word</p> " * 850_000}).html
    assert len(html) < 10 * LONGEST_TEXT
    if kind in ("text", "rich"):
        assert "characters are not shown." in html


def test_the_page_of_a_document_cuts_ten_million_characters(client, db):
    collection = make_collection(documents="a")
    document = collection.documents.get()
    document.body, document.fields = "word " * 2_000_000, {"long": "word " * 2_000_000}
    document.save()
    client.force_login(make_member(collection, "ann", "analyst"))
    page = client.get(reverse("document", args=["hills", document.pk])).content
    assert len(page) < 3 * LONGEST_TEXT
    assert b"more characters are not shown." in page


@pytest.mark.parametrize(
    "members",
    [
        {"body": "<p " * 20_000},
        {"poster": ".jpg?" * 5_000 + " "},
        {"[" + "-" * 15_000 + "a" + "-" * 15_000 + "a": "x"},
    ],
)
def test_a_proposal_takes_time_that_grows_with_the_length_alone(members):
    """Else one document of a megabyte holds the whole process for minutes."""
    begun = time.process_time()
    proposal([members])
    assert time.process_time() - begun < 0.5
