"""The parts of a presentation, and what each shows of a document or a query. No database, no request."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import nh3

# Names of members that no part shows, in lower case. Raters must not know rank, score or system.
REVEALING = {"rank", "_rank", "ranking", "position", "score", "_score", "system", "run", "run_tag", "run_id"}
LONGEST_TEXT = 200_000  # characters of a text that are shown
MOST_ITEMS = 100  # items of a list, rows of a table
MOST_PICTURES = 12  # of a part
MOST_PARTS = 40

# Of HTML: no element that loads, runs, styles or positions something.
INLINE_TAGS = {"a", "b", "br", "code", "em", "i", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u"}
LIST_TAGS = {"dd", "dl", "dt", "li", "ol", "ul"}
TABLE_TAGS = {"caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"}
HEADING_TAGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
LINK_REL = "noopener noreferrer nofollow"  # the attribute rel of links that open
TAGS = INLINE_TAGS | LIST_TAGS | TABLE_TAGS | HEADING_TAGS | {"blockquote", "hr", "p", "pre"}
_heading = re.compile(r"<(/?)h[1-6]>")  # as nh3 writes it, without attributes
_step = re.compile(r"([^.\[\]]+)|\[(\d{1,4})\]")
# A name, and then names and indexes. No part goes back (++): the time would grow exponentially.
_path = re.compile(r"[^.\[\]]++(?:\.?(?:[^.\[\]]++|\[\d{1,4}\]))*+")
_no_name = re.compile(r"[.\[\]]*|\[\d+\].*")
_between = re.compile(r"[.\[\]()]")  # between the words of a whole name, any of which may name a rank
_from_path = re.compile(r"\{([^{}]+)\}")
_comma = re.compile(r"[+-]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")
_web = re.compile(r"https?://\S+", re.IGNORECASE)
# Members of an object that name a picture, the likeliest first.
PICTURE_MEMBERS = ("url", "src", "href", "link", "path", "file", "name")


@dataclass(frozen=True)
class Part:
    """One part of a presentation."""

    kind: str  # a name in KINDS
    path: str  # of the value: `title`, `body`, `url`, or a member of the fields, such as `price.amount`, `tags[0]`
    label: str = ""  # "": the last name of the path
    unit: str = ""  # of a number; `{price.currency}` takes it from a path
    opens: bool = False  # a link, or the links of a rich text, can be opened

    def __post_init__(self) -> None:
        """Raise ValueError if the path names rank, score or system."""
        for path in self.paths:
            if names_revealing(path):
                raise ValueError(f"{path} is not shown: raters must not know rank, score or system")

    @classmethod
    def read(cls, value: Any) -> "Part":
        """The part of a JSON object. Raises ValueError."""
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.80} is not an object with kind and path")
        if unknown := value.keys() - cls.__dataclass_fields__.keys():
            raise ValueError(f"a part has no member {sorted(unknown)[0]!r:.80}")
        for name, member in value.items():
            if not isinstance(member, bool if name == "opens" else str):
                raise ValueError(f"the member {name} of a part is {member!r:.80}")
        part = cls(**{"kind": "", "path": "", **value})  # a missing kind or path is refused as ""
        if part.kind not in KINDS:
            raise ValueError(f"the kind {part.kind!r:.80} is none of {', '.join(KINDS)}")
        if not steps(part.path):
            raise ValueError(
                f"the path {part.path!r:.80} names no member, such as title, price.amount or images[0]"
            )
        return part

    @property
    def paths(self) -> list[str]:
        """The paths of all values that are shown: its own, and that of the unit."""
        unit = _from_path.fullmatch(self.unit)
        return [self.path, *([unit[1]] if unit else [])]

    @property
    def name(self) -> str:
        """The label that is shown beside the value."""
        return self.label or last_name(self.path)

    def as_json(self) -> dict:
        """The members that are not the default."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Presented:
    """A presentation: the parts of a document, and those of a query beside its text."""

    document: tuple[Part, ...]
    query: tuple[Part, ...] = ()

    @classmethod
    def read(cls, value: Any) -> "Presented":
        """The presentation of a JSON object. Raises ValueError."""
        if not isinstance(value, dict) or value.keys() - {"document", "query"}:
            raise ValueError('a presentation is an object with the lists "document" and "query"')
        parts = {}
        for name in ("document", "query"):
            rows = value.get(name, [])
            if not isinstance(rows, list) or len(rows) > MOST_PARTS:
                raise ValueError(f"{name} is not a list of at most {MOST_PARTS} parts")
            parts[name] = tuple(map(Part.read, rows))
        if not parts["document"]:
            raise ValueError("no part of a document is shown")
        return cls(**parts)

    @property
    def has_pictures(self) -> bool:
        return any(part.kind == "image" for part in (*self.document, *self.query))

    def as_json(self) -> dict:
        return {name: [part.as_json() for part in getattr(self, name)] for name in ("document", "query")}


class Piece(NamedTuple):
    """What a part shows of one document or query. The kind decides which members are used."""

    kind: str
    label: str = ""
    text: str = ""
    items: tuple = ()  # texts of a list; rows of a table, each of texts; sources of pictures
    href: str = ""  # of a link that can be opened
    html: str = ""  # of a rich text, cleaned
    left_out: int = 0  # characters, items or rows


def steps(path: str) -> list[str | int]:
    """The names and indexes of a path; [] for none. A text such as `Art.-Nr.`, which is no path, is one name."""
    return _parsed(path) or ([] if _no_name.fullmatch(path) else [path])


def _parsed(path: str) -> list[str | int]:
    """The names and indexes of a path such as `price.amount[0]`; [] for other texts."""
    if not _path.fullmatch(path):
        return []
    return [name or int(index) for name, index in _step.findall(path)]


def is_missing(value: Any) -> bool:
    return value in (None, "", [], {})


def is_revealing(name: Any) -> bool:
    """Whether a member of this name would reveal rank, score or system."""
    return isinstance(name, str) and name.casefold() in REVEALING


def names_revealing(path: str) -> bool:
    """Whether a path names rank, score or system. A text that is one name does if a part of it is such a name."""
    names = _parsed(path) or [re.sub(r"^\W+|(?<!\W)\W+$", "", name) for name in _between.split(path)]
    return any(map(is_revealing, names))


def last_name(path: str) -> str:
    name = next((step for step in reversed(steps(path)) if isinstance(step, str)), "")
    return (name[:1].upper() + name[1:]).replace("_", " ")


def value_at(source: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None if there is none. A member may also have the whole path as its name.

    A step of the path is a name or an index. A name behind a list, as in `authors.name`, gives a list: the values
    of its members that have the name.
    """
    if path in source:
        return source[path]
    value: Any = source
    for step in steps(path):
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif isinstance(value, list) and isinstance(step, str):  # of each member of a list
            value = [member[step] for member in value if isinstance(member, Mapping) and step in member]
        else:
            return None
    return value


def pieces_of(parts: Iterable[Part], source: Mapping[str, Any]) -> list[Piece]:
    """The pieces of a document or a query. A part without a value has none."""
    pieces = []
    for part in parts:
        value = value_at(source, part.path)
        if not is_missing(value) and (piece := KINDS[part.kind].show(part, value, source)):
            pieces.append(piece)
    return pieces


def text_of(value: Any) -> str:
    """A value as text: members of a list or an object with commas between them, without those of `REVEALING`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(filter(None, map(text_of, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {text}" for name, each in allowed(value) if (text := text_of(each)))
    return str(value).strip()


def allowed(value: Mapping) -> list[tuple]:
    """The members of an object but those that reveal rank, score or system."""
    return [(name, member) for name, member in value.items() if not is_revealing(name)]


def number(value: Any) -> str:
    """A number with commas between thousands; another value as `text_of`."""
    text = text_of(value)
    exact = decimal(text)
    return text if exact is None else f"{exact:,f}".replace("-", "−")


def decimal(text: str) -> Decimal | None:
    """The number that the text surely means, also with a decimal comma; None for another text.

    None, too, for a comma before three digits, which may part thousands, and for a number of 10**21 or more, or
    closer to 0 than 10**-20.
    """
    if _comma.fullmatch(text):
        text = text.replace(",", ".")
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return None
    # `adjusted` is the exponent in scientific notation.
    return exact if exact.is_finite() and abs(exact.adjusted()) <= 20 else None


def day(value: Any) -> str:
    """A date such as 2 March 2026, from ISO 8601 or seconds or milliseconds since 1970; else as `text_of`."""
    text = text_of(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC).date()
        else:
            moment = date.fromisoformat(text[:10])
    except (ValueError, OverflowError, OSError):
        return text
    return f"{moment.day} {moment:%B} {moment.year}"


def clean(html: str, *, opens: bool = False) -> str:
    """The HTML reduced to allowed elements without attributes. Links are inert unless `opens`.

    A link that names no host stays inert, because it would lead to a page of this server.
    """
    cleaned = nh3.clean(
        html,
        tags=TAGS if opens else TAGS - {"a"},
        attributes={"*": set(), "a": {"href"}},  # without "*" nh3 leaves title and lang
        attribute_filter=_with_host,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        clean_content_tags={"script", "style", "template", "title", "noscript", "iframe", "object"},
        url_schemes={"http", "https"},
        link_rel=LINK_REL,
    )
    return _heading.sub(r"<\1h3>", cleaned).strip()  # headings of any level become h3


def _with_host(_: str, name: str, value: str) -> str | None:
    return value if name != "href" or _web.fullmatch(value) else None


# The kinds


def _cut(value: Any, most: int = LONGEST_TEXT) -> tuple[Any, int]:
    """The first characters of a text, or items of a list, and how many more there are."""
    return value[:most], max(len(value) - most, 0)


def _text(part: Part, value: Any, _: Mapping) -> Piece | None:
    text, left_out = _cut(text_of(value))
    label = part.name if part.kind == "field" else part.label  # beside a value there is always a label
    return Piece(part.kind, label, text, left_out=left_out) if text else None


def _date(part: Part, value: Any, _: Mapping) -> Piece | None:
    text = day(value)[:LONGEST_TEXT]
    return Piece("field", part.name, text) if text else None


def _number(part: Part, value: Any, source: Mapping) -> Piece | None:
    path = _from_path.fullmatch(part.unit)
    unit = text_of(value_at(source, path[1])) if path else part.unit
    text = number(value)[:LONGEST_TEXT]
    return Piece("field", part.name, f"{text}\N{NO-BREAK SPACE}{unit}".strip()) if text else None


def _price(part: Part, value: Any, source: Mapping) -> Piece | None:
    """The number with its unit, and with two decimals if it has one: 79.90 EUR."""
    exact = decimal(text_of(value))
    cents = exact is not None and exact.as_tuple().exponent == -1
    piece = _number(part, f"{exact:.2f}" if cents else value, source)
    return piece and piece._replace(kind="price")


def _items(part: Part, value: Any, _: Mapping) -> Piece | None:
    members = value if isinstance(value, list) else [value]
    texts, left_out = _cut([text for text in map(text_of, members) if text], MOST_ITEMS)
    shown = tuple(text[:LONGEST_TEXT] for text in texts)
    return Piece(part.kind, part.label, items=shown, left_out=left_out) if shown else None


def _rich(part: Part, value: Any, _: Mapping) -> Piece | None:
    text, left_out = _cut(text_of(value))
    html = clean(text, opens=part.opens)
    return Piece("rich", part.label, html=html, left_out=left_out) if html else None


def _link(part: Part, value: Any, _: Mapping) -> Piece | None:
    text, left_out = _cut(text_of(value))
    href = text if part.opens and _web.fullmatch(text) else ""
    return Piece("link", part.label, text, href=href, left_out=left_out) if text else None


def sources_of(value: Any) -> list[str]:
    """The sources of pictures that a value names: a text, an object such as {"url": …}, or a list of these."""
    sources = []
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, Mapping):
            texts = [member[name] for name in PICTURE_MEMBERS if isinstance(member.get(name), str)]
            member = texts[0] if texts else None
        if isinstance(member, str) and member.strip():
            sources.append(member.strip())
    return list(dict.fromkeys(sources))  # each once


def _pictures(part: Part, value: Any, _: Mapping) -> Piece | None:
    sources, left_out = _cut(sources_of(value), MOST_PICTURES)
    return Piece("image", part.label, items=tuple(sources), left_out=left_out) if sources else None


def _table(part: Part, value: Any, _: Mapping) -> Piece | None:
    """A row for each member of a list; of an object, name and value of each member. Empty rows are left out."""
    if isinstance(value, list):
        rows = [cells for cells in map(_cells, value) if any(cells)]
    else:
        members = allowed(value) if isinstance(value, Mapping) else [(part.name, value)]
        named_texts = [[str(name), text_of(member)] for name, member in members]
        rows = [row for row in named_texts if row[1]]
    rows, left_out = _cut(rows, MOST_ITEMS)
    shown = tuple(tuple(cell[:LONGEST_TEXT] for cell in row[:MOST_ITEMS]) for row in rows)
    return Piece("table", part.label, items=shown, left_out=left_out) if shown else None


def _cells(value: Any) -> list[str]:
    """The members of an object as texts; the text of another value."""
    return [text_of(cell) for _, cell in allowed(value)] if isinstance(value, Mapping) else [text_of(value)]


class Kind(NamedTuple):
    """A kind of part: its name on pages, and the function that makes a piece of a value."""

    title: str
    show: Callable[[Part, Any, Mapping], Piece | None]


KINDS: dict[str, Kind] = {
    "title": Kind("Title", _text),
    "text": Kind("Text", _text),
    "rich": Kind("Rich text (HTML)", _rich),
    "field": Kind("Label and value", _text),
    "number": Kind("Number with unit", _number),
    "price": Kind("Price, large", _price),
    "date": Kind("Date", _date),
    "badge": Kind("Badges", _items),
    "list": Kind("List", _items),
    "link": Kind("Link", _link),
    "code": Kind("Code", _text),
    "table": Kind("Table", _table),
    "image": Kind("Pictures", _pictures),
}
