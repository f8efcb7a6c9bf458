"""A document as HTML: the same on the desk, in the list and on the pages of analysts."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ..models import Collection, Document
from .members import source_of
from .parts import Presented, Shown, shown
from .versions import latest_of

LONG = 3_000  # characters, or
LINES = 60  # lines from which on a document is folded


class Drawn(NamedTuple):
    """A document as it is shown."""

    title: str | None  # None: the presentation has none
    html: SafeString  # the other parts; "" where none has a value
    bare: bool  # there is nothing but a title and addresses
    long: bool
    pieces: list[Shown]


def drawn(presented: Presented, source: Mapping[str, Any]) -> Drawn:
    """A document; its first title is its heading."""
    heading = next((part for part in presented.document if part.kind == "title"), None)
    title = "".join(piece.text for piece in shown([heading], source)) if heading else None
    pieces = shown([part for part in presented.document if part is not heading], source)
    texts = [piece.text or piece.html for piece in pieces]
    long = sum(map(len, texts)) > LONG or sum(text.count("\n") + 1 for text in texts) > LINES
    bare = all(piece.kind == "link" for piece in pieces)
    return Drawn(title, html_of(pieces), bare, long, pieces)


def drawn_in(collection: Collection, document: Document) -> Drawn:
    """The document as raters see it now. One query."""
    return drawn(latest_of(collection), source_of(document))


def html_of(pieces: Iterable[Shown]) -> SafeString:
    """The pieces as HTML; consecutive values with labels are one list."""
    blocks: list = []
    for are_facts, group in groupby(pieces, key=lambda piece: piece.kind == "field"):
        together = list(group)
        blocks += [{"kind": "facts", "pieces": together}] if are_facts else together
    return SafeString(render_to_string("ratings/_parts.html", {"pieces": blocks}).strip())
