"""The presentation of a collection without one, and a proposal made from its documents."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .parts import Part, Presented, is_missing, names_revealing, sources_of, text_of

WEB_PAGE = Presented((Part("title", "title"), Part("link", "url"), Part("text", "body")))
MOST_MEMBERS = 12  # of a proposal
WIDE = ("text", "rich", "table")
LONG = 120  # characters from which on a member is a text and no label with a value
_markup = re.compile(r"<(p|br|ul|ol|li|table|div|strong|em|h[1-6]|pre)\b[^>]*>", re.IGNORECASE)
_date = re.compile(r"date|time|published|updated|created", re.IGNORECASE)
_day = re.compile(r"\d{4}-\d{2}-\d{2}(T|\s|$)")
_picture = re.compile(r"image|img|picture|photo|thumb|poster|cover", re.IGNORECASE)
_file = re.compile(r"data:image/|\S+\.(jpe?g|png|gif|webp|avif)(\?\S*)?$", re.IGNORECASE)


def proposal(documents: Iterable[Mapping[str, Any]]) -> Presented:
    """A presentation of the members that these documents have: title, address, pictures, short members, the body,
    then long members.

    Members that reveal rank, score or system are left out, and so are those after the first MOST_MEMBERS. Without
    title and body it has the title, so that there is something to show.
    """
    values: dict[str, list] = {}  # of each member, without missing ones
    for document in documents:
        for name, value in document.items():
            if not is_missing(value):
                values.setdefault(name, []).append(value)
    others = [name for name in values if name not in ("title", "body", "url") and not names_revealing(name)]
    members = [_part_of(name, values[name]) for name in others[:MOST_MEMBERS]]
    title = [Part("title", "title")] if "title" in values or "body" not in values else []
    link = [Part("link", "url")] if "url" in values else []
    pictures = [part for part in members if part.kind == "image"]
    short = [part for part in members if part.kind not in (*WIDE, "image")]
    body = [Part("rich" if _has_markup(values["body"]) else "text", "body")] if "body" in values else []
    long = [part for part in members if part.kind in WIDE]
    return Presented((*title, *link, *pictures, *short, *body, *long))


def _part_of(name: str, values: list) -> Part:
    first = values[0]
    if _are_pictures(name, values[:20]):
        return Part("image", name)
    if isinstance(first, dict):
        return Part("table", name, name.capitalize())
    if isinstance(first, list):
        if any(isinstance(each, dict) for each in first):
            return Part("table", name, name.capitalize())
        return Part("badge", name)
    if isinstance(first, int | float) and not isinstance(first, bool):
        if _date.search(name) and first > 1e8:  # seconds since 1970
            return Part("date", name)
        return Part("field", name)
    if all(_day.match(text_of(value)) for value in values[:20]):
        return Part("date", name)
    if _has_markup(values):
        return Part("rich", name)
    return Part("text" if max(len(text_of(value)) for value in values) > LONG else "field", name)


def _are_pictures(name: str, values: list) -> bool:
    """Whether each value names a picture file, or the member is named so and each value is an address."""
    sources = [source for value in values for source in sources_of(value)]
    if len(sources) < len(values) or not sources:
        return False
    if all(_file.match(source) for source in sources):
        return True
    return bool(_picture.search(name)) and all(source.startswith(("http://", "https://")) for source in sources)


def _has_markup(values: list) -> bool:
    return any(isinstance(value, str) and _markup.search(value) for value in values[:20])
