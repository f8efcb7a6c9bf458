"""A document as HTML: the same on the desk, in the list and on the pages of analysts."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ..models import Collection, Document
from .content import source_of
from .parts import Presented, Shown, shown
from .pictures import NONE, Framed, Pictures, framed, pictures_of
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
    pictures: list[list[Framed]]  # of each piece


def drawn(presented: Presented, source: Mapping[str, Any], pictures: Pictures = NONE) -> Drawn:
    """A document; its first title is its heading."""
    heading = next((part for part in presented.document if part.kind == "title"), None)
    title = "".join(piece.text for piece in shown([heading], source)) if heading else None
    pieces = shown([part for part in presented.document if part is not heading], source)
    texts = [piece.text or piece.html for piece in pieces]
    long = sum(map(len, texts)) > LONG or sum(text.count("\n") + 1 for text in texts) > LINES
    bare = all(piece.kind == "link" for piece in pieces)
    frames = _frames(pieces, title or "", pictures)
    return Drawn(title, _html(pieces, frames), bare, long, pieces, frames)


def drawn_in(collection: Collection, document: Document) -> Drawn:
    """The document as raters see it now. Two queries, without pictures one."""
    presented, source = latest_of(collection), source_of(document)
    return drawn(presented, source, pictures_of(collection.pk, presented.document, [source]))


def html_of(pieces: Iterable[Shown], pictures: Pictures = NONE) -> SafeString:
    """The pieces of a query as HTML."""
    pieces = list(pieces)
    return _html(pieces, _frames(pieces, "", pictures))


def _frames(pieces: list[Shown], title: str, pictures: Pictures) -> list[list[Framed]]:
    return [framed(piece, title, pictures) if piece.kind == "image" else [] for piece in pieces]


def _html(pieces: list[Shown], frames: list[list[Framed]]) -> SafeString:
    """The pieces as HTML; consecutive values with labels are one list."""
    blocks: list = []
    rows = zip(pieces, frames, strict=True)
    for are_facts, group in groupby(rows, key=lambda row: row[0].kind == "field"):
        together = [{**piece._asdict(), "pictures": framed} for piece, framed in group]
        blocks += [{"kind": "facts", "pieces": together}] if are_facts else together
    return SafeString(render_to_string("ratings/_parts.html", {"pieces": blocks}).strip())
