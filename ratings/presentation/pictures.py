"""The pictures of documents and queries on pages."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.translation import gettext

from ..models import Collection, Picture, digest_of
from .parts import Part, Piece, pieces_of

Pictures = Mapping[str, Picture]  # by the digest of the source
NO_PICTURES: Pictures = {}
fetchers: list[Callable[[Collection, Any], object]] = []  # each begins to fetch, for an account, if it can


class Framed(NamedTuple):
    """A picture on a page. A missing one has no addresses but a `problem`."""

    alt: str
    token: UUID | None = None
    small: str = ""
    large: str = ""
    width: int = 0
    height: int = 0
    problem: str = ""


def fetch_pictures(collection: Collection, by) -> bool:
    """Whether the pictures that the documents of the collection show now are being fetched for this account."""
    return any(begun(collection, by) for begun in fetchers)


def pictures_of(collection_id: int, parts: Iterable[Part], sources: Iterable[Mapping[str, Any]]) -> Pictures:
    """The pictures that the parts show of these documents or queries. One query; none if there are no pictures."""
    parts = [part for part in parts if part.kind == "image"]
    digests = {digest_of(item) for source in sources for piece in pieces_of(parts, source) for item in piece.items}
    if not digests:
        return NO_PICTURES
    pictures = Picture.objects.filter(collection=collection_id, digest__in=digests)
    return {picture.digest: picture for picture in pictures}


def framed(piece: Piece, title: str, pictures: Pictures) -> list[Framed]:
    """The pictures of a piece, with the title of the document as alternative text."""
    frames = []
    for place, source in enumerate(piece.items, 1):
        alt = title or gettext("Picture")
        if len(piece.items) > 1:
            values = {"title": alt, "place": place, "number": len(piece.items)}
            alt = gettext("%(title)s, picture %(place)s of %(number)s") % values
        picture = pictures.get(digest_of(source))
        if picture and picture.state == Picture.State.READY:
            small, large = (picture.address(size) for size in Picture.Size.values)
            frames.append(Framed(alt, picture.token, small, large, picture.width, picture.height))
        else:
            is_refused = picture and picture.state == Picture.State.REFUSED
            problem = gettext("The picture is missing") if is_refused else gettext("The picture is not here yet")
            frames.append(Framed(alt, problem=problem))
    return frames
