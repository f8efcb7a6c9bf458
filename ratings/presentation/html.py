"""Documents as HTML, the same on the desk, in the list and on the pages of analysts."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ..models import Collection, Document
from .content import source_of
from .parts import Piece, Presented, pieces_of
from .pictures import NO_PICTURES, Framed, Pictures, framed, pictures_of
from .versions import latest_presented

# A document with more characters or lines of text is folded.
FOLD_CHARACTERS = 3_000
FOLD_LINES = 60


class RenderedDocument(NamedTuple):
    """A document as pages show it."""

    title: str | None  # None if the presentation has none
    html: SafeString  # the other parts; "" if none has a value
    bare: bool  # it has nothing but a title and addresses
    long: bool  # it is folded at first
    pieces: list[Piece]
    pictures: list[list[Framed]]  # of each piece; [] for one that is no image


def render_document(
    presented: Presented, source: Mapping[str, Any], pictures: Pictures = NO_PICTURES
) -> RenderedDocument:
    """The document as HTML. The first part that is a title becomes its heading, and is not in the HTML.

    `source`: the members of the document. A piece is what one part shows of it.
    """
    heading = next((part for part in presented.document if part.kind == "title"), None)
    title = "".join(piece.text for piece in pieces_of([heading], source)) if heading else None
    pieces = pieces_of([part for part in presented.document if part is not heading], source)
    # Only running text makes a document long: lists, tables and pictures have "" here.
    texts = [piece.text or piece.html for piece in pieces]
    characters = sum(map(len, texts))
    lines = sum(text.count("\n") + 1 for text in texts)
    frames = _frames(pieces, title or "", pictures)
    return RenderedDocument(
        title,
        html=_html(pieces, frames),
        bare=all(piece.kind == "link" for piece in pieces),  # or nothing at all
        long=characters > FOLD_CHARACTERS or lines > FOLD_LINES,
        pieces=pieces,
        pictures=frames,
    )


def render_current(collection: Collection, document: Document) -> RenderedDocument:
    """The document in the latest presentation. Two queries, without pictures one."""
    presented, source = latest_presented(collection), source_of(document)
    return render_document(presented, source, pictures_of(collection.pk, presented.document, [source]))


def html_of(pieces: list[Piece], pictures: Pictures = NO_PICTURES) -> SafeString:
    """The pieces of a query as HTML."""
    return _html(pieces, _frames(pieces, "", pictures))


def _frames(pieces: list[Piece], title: str, pictures: Pictures) -> list[list[Framed]]:
    return [framed(piece, title, pictures) if piece.kind == "image" else [] for piece in pieces]


def _html(pieces: list[Piece], frames: list[list[Framed]]) -> SafeString:
    """The pieces as HTML. Consecutive values with labels become one list. `frames`: the pictures of each piece."""
    rows = [{**piece._asdict(), "pictures": framed} for piece, framed in zip(pieces, frames, strict=True)]
    blocks: list[dict] = []
    for are_facts, group in groupby(rows, key=lambda row: row["kind"] == "field"):
        together = list(group)
        blocks += [{"kind": "facts", "pieces": together}] if are_facts else together
    return SafeString(render_to_string("ratings/_parts.html", {"pieces": blocks}).strip())
