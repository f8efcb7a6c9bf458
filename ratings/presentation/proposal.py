"""The presentation of a collection without one, and a proposal made from its documents."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .parts import Part, Presented, decimal, is_missing, last_name, names_revealing, sources_of, text_of

WEB_PAGE = Presented((Part("title", "title"), Part("link", "url"), Part("text", "body")))
MOST_MEMBERS = 12  # of a proposal
WIDE_KINDS = ("text", "rich", "table")
LABELLED_CHARACTERS = 120  # a member with a longer value is a text, and no label with a value
_markup = re.compile(r"<(p|br|ul|ol|li|table|div|strong|em|h[1-6]|pre)\b[^<>]*>", re.IGNORECASE)
_date = re.compile(r"date|time|published|updated|created", re.IGNORECASE)
_day = re.compile(r"\d{4}-\d{2}-\d{2}(T|\s|$)")
PICTURE_NAME = re.compile(r"image|img|picture|photo|thumb|poster|cover", re.IGNORECASE)
# A currency behind a name: Price EUR, price_usd, Preis (€).
_currency = re.compile(
    r"(?:^|[\s_(\[-])(EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|€|\$|£|¥)[)\]]?$", re.IGNORECASE
)
_price = re.compile(r"(?:^|[^a-z])(price|preis|prix|precio|prezzo|prijs)$", re.IGNORECASE)
# The lookahead reads to the end once, so that no later part has to.
_file = re.compile(r"data:image/|(?=\S+$)\S+\.(jpe?g|png|gif|webp|avif)(\?|$)", re.IGNORECASE)


def proposal(documents: Iterable[Mapping[str, Any]]) -> Presented:
    """A presentation that shows the members of these documents, for an admin to start from.

    First come title, address, pictures, prices and short members, then the body and long members. Members that
    reveal rank, score or system are left out, and so are those after the first MOST_MEMBERS. Without title and
    body it has the title, so that there is something to show.
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
    prices = [part for part in members if part.kind == "price"]
    short = [part for part in members if part.kind not in (*WIDE_KINDS, "image", "price")]
    body = [Part("rich" if _has_markup(values["body"]) else "text", "body")] if "body" in values else []
    long = [part for part in members if part.kind in WIDE_KINDS]
    return Presented((*title, *link, *pictures, *prices, *short, *body, *long))


def _part_of(name: str, values: list) -> Part:
    """The part that shows a member, of the kind that suits its name and values. The first rule that fits decides.

    `values`: at least one, from the documents that have the member.
    """
    first, sample = values[0], values[:20]  # a few values show the kind of all
    if (currency := _currency.search(name)) and _are_numbers(sample):
        label = name[: currency.start()].strip(" _-([")
        return Part("price", name, label and last_name(label), unit=currency[1].upper())
    if _price.search(name) and _are_numbers(sample):
        return Part("price", name)
    if are_pictures(name, sample):
        return Part("image", name)
    if isinstance(first, dict) or (isinstance(first, list) and any(isinstance(item, dict) for item in first)):
        return Part("table", name, name.capitalize())
    if isinstance(first, list):
        return Part("badge", name)
    if isinstance(first, int | float) and not isinstance(first, bool):
        # Seconds since 1970, from the year 1973 on. A smaller number, such as a year, is no moment.
        is_moment = _date.search(name) and first > 1e8
        return Part("date" if is_moment else "field", name)
    if all(_day.match(text_of(value)) for value in sample):
        return Part("date", name)
    if _has_markup(values):
        return Part("rich", name)
    is_long = any(len(text_of(value)) > LABELLED_CHARACTERS for value in values)
    return Part("text" if is_long else "field", name)


def _are_numbers(values: list) -> bool:
    return all(decimal(text_of(value)) is not None for value in values)


def are_pictures(name: str, values: list) -> bool:
    """Whether each value names a picture file, or the member is named so and each value is an address."""
    sources = [source for value in values for source in sources_of(value)]
    if len(sources) < len(values) or not sources:
        return False
    if all(_file.match(source) for source in sources):
        return True
    return bool(PICTURE_NAME.search(name)) and all(
        source.startswith(("http://", "https://")) for source in sources
    )


def _has_markup(values: list) -> bool:
    return any(isinstance(value, str) and _markup.search(value) for value in values[:20])
