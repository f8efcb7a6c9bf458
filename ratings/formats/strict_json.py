"""Strict JSON: no repeated names, no NaN, and no text that databases cannot store."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from . import values
from .refusal import Refusal
from .rows import rows_or_refusals
from .source import LONGEST_LINE, Source, Start

CURE = "Check that the file is whole and that it is JSON."
DEEPEST_NESTING = 100  # levels of objects and lists
LARGEST_FILE = 100_000_000  # bytes of one file, which are in memory as a whole
TOO_DEEP = "the JSON is nested too deeply"
_blanks = re.compile(r"[ \t\r\n]*")
_token = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*+)"?(?P<colon>\s*:)?|(?P<opening>[{\[])|[}\]]', re.DOTALL)


class Part(NamedTuple):
    """A value inside the outermost brackets, its path of names or numbers, and its first line."""

    line: int
    path: tuple[str | int, ...]
    value: Any


def loaded(text: str, deepest: int = DEEPEST_NESTING, what: str = "line") -> dict[str, Any]:
    """The object in `text`. Raises ValueError, also where it is nested deeper than `deepest`."""
    record = value_in(text, deepest, what)
    if not isinstance(record, dict):
        shown = values.quoted(record) if isinstance(record, str) else f"{json.dumps(record):.60}"
        raise ValueError(f"the {what} is {shown}, not an object")
    return record


def value_in(text: str, deepest: int = DEEPEST_NESTING, what: str = "line") -> Any:
    """The value in `text`, of any kind. Raises ValueError, also where it is nested deeper than `deepest`.

    `what`: the text in messages.
    """
    try:
        value = DECODER.decode(text)
        if "\\u" in text:  # only escapes such as \u0000 can spell a text that databases cannot store
            _check_texts(value)
        _check_depth(value, deepest)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    except json.JSONDecodeError as error:  # a ValueError, too
        raise ValueError(f"the {what} is not JSON: {error.msg} at character {error.pos + 1}") from error
    except ValueError as error:
        if "int_max_str_digits" in str(error):  # Python converts no whole number of thousands of digits
            raise ValueError(f"the {what} has a number with too many digits") from error
        raise
    return value


def as_stored(text: str) -> Any:
    """The value of JSON text as both databases return it: PostgreSQL keeps neither exponents nor -0."""
    return json.loads(text, parse_float=_without_exponent)


def _without_exponent(text: str) -> float | int:
    value = float(text)
    exact = Decimal(repr(value))
    return int(exact) if "e" in repr(value) and exact == exact.to_integral_value() else value + 0.0


def parts(source: Source) -> Iterator[Part | Refusal]:
    """The members of the members of an object, or the items of a list, in the order of the file.

    They are the values at paths such as ("queries", 0) or (0,). A member that is neither an object nor a list is a
    part itself. Where the JSON is broken, a last refusal says so.
    """
    content = source.text(LARGEST_FILE)
    if isinstance(content, Refusal):
        yield content
        return
    text = _Text(content)
    try:
        opening = text.peek()
        if opening not in ("{", "["):
            raise _Broken(text.line, "there is neither an object nor a list")
        # Members of members are two steps inside the outermost brackets, and items of a list one step.
        yield from _inside(text, (), deepest=2 if opening == "{" else 1)
        if text.peek():  # something else than blanks
            raise _Broken(text.line, "more text follows after the end of the JSON")
    except _Broken as broken:
        yield source.stop(*broken.args, CURE)


def rows(source: Source, rows_of: Callable[[int, dict], Iterable], cure: str, *members: str) -> Iterator:
    """The rows that `rows_of` makes of each object in these members of the file; its ValueError as a refusal."""

    def rows_of_part(part: Part) -> Iterable:
        return rows_of(part.line, object_of(part.value, "record")) if part.path[0] in members else ()

    return rows_or_refusals(source, parts(source), rows_of_part, cure)


def written(head: str, rows: Iterable, record_of: Callable[[str, Iterable], dict]) -> Iterator[str]:
    """The text of an object that ends with a list of records, one for the rows of each query, each on a line.

    `head`: the text of the object up to its list. The rows must be grouped by query.
    """
    yield head
    for i, (query, group) in enumerate(groupby(rows, key=attrgetter("query"))):
        yield f"{',' if i else ''}\n    {json.dumps(record_of(query, group), ensure_ascii=False)}"
    yield "\n  ]\n}\n"


def containers(start: Start) -> set[tuple[int, str]]:
    """(depth, name) of each object and list: {(0, ""), (1, "queries"), (2, "")} for {"queries": [{}]}.

    The depth is the number of containers around it, and the name that of the member that holds it; "" for the
    outermost object and in a list. The text may end within any container. An empty set for JSON lines and for what
    is no object.
    """
    text = start.text.lstrip()
    found = set()
    depth = 0  # of containers that are open
    name = ""  # of the member whose value comes next; "" in a list
    for token in _token.finditer(text if text.startswith("{") else ""):
        if token["opening"]:
            found.add((depth, name))
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if not depth:  # the outermost object ends; in JSON lines more follows
                return set() if text[token.end() :].strip() else found
        # A text with a colon behind it is the name of a member. Any other text, and each bracket, resets the name.
        # Numbers, commas, true and null are no tokens: before a later container, another token resets it.
        name = token["text"] if token["colon"] else ""
    return found


def object_of(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"the {what} is {values.quoted(value)}, not an object")
    return value


def list_of(value: Any, what: str) -> list:
    """A list; an absent one is empty."""
    if not isinstance(value, list | None):
        raise ValueError(f"the {what} are {values.quoted(value)}, not a list")
    return value or []


def text_of(value: Any) -> str:
    """A text or a number as text; "" for null. Raises ValueError for anything else."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{values.quoted(value)} is given where a text or a number is expected")
    return value if isinstance(value, str) else repr(value)


class _Broken(Exception):
    """The JSON cannot be read. Its arguments are the line and the problem."""


def _inside(text: "_Text", path: tuple, deepest: int) -> Iterator[Part]:
    """The values in the object or list that begins here and has this path, as parts.

    A value that is an object or a list with a path shorter than `deepest` is no part, but is opened for its own
    parts. Raises _Broken.
    """
    is_object = text.peek() == "{"
    end = "}" if is_object else "]"
    text.skip("{" if is_object else "[")
    place: str | int = -1  # the name of a member of the object, or its number in the list; -1 before the first
    names = set()
    while text.peek() != end:
        if place != -1:
            text.skip(",")
        text.peek()  # moves past blanks, to the line on which the value or its name begins
        line = text.line
        if is_object:
            if text.peek() != '"':
                raise _Broken(line, "a name in quotation marks is missing in an object")
            place = text.value()
            if place in names:
                raise _Broken(line, f"the name {values.quoted(place)} appears twice in one object")
            names.add(place)
            text.skip(":")
        else:
            place += 1
        if len(path) + 1 < deepest and text.peek() in ("{", "["):
            yield from _inside(text, (*path, place), deepest)
        else:
            yield Part(line, (*path, place), text.value())
    text.skip(end)


class _Text:
    """A text, the place to which it was read, and the line there."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1

    def peek(self) -> str:
        """Moves past blanks. Returns the character that follows, or "" at the end."""
        self.move(_blanks.match(self.text, self.at).end())
        return self.text[self.at : self.at + 1]

    def skip(self, mark: str) -> None:
        """Moves past blanks and this mark. Raises _Broken where something else stands there."""
        if (found := self.peek()) != mark:
            found = values.quoted(found) if found else "the end"
            raise _Broken(self.line, f"the JSON has {found} where {mark} is expected")
        self.move(self.at + 1)

    def value(self) -> Any:
        """The value that begins here or behind blanks. Moves past it. Raises _Broken if it cannot be read."""
        self.peek()  # moves past blanks, as `raw_decode` needs
        try:
            value, end = DECODER.raw_decode(self.text, self.at)
            # Only a long value can hold a text that is too long, and only an escape, such as \u0000, can spell a
            # text that databases cannot store.
            if end - self.at > LONGEST_LINE or self.text.find("\\u", self.at, end) >= 0:
                _check_texts(value)
            _check_depth(value, DEEPEST_NESTING)
        except json.JSONDecodeError as error:  # a ValueError, too
            line = self.line + self.text.count("\n", self.at, error.pos)
            raise _Broken(line, f"this is not JSON: {error.msg}") from error
        except RecursionError:
            raise _Broken(self.line, TOO_DEEP) from None
        except ValueError as error:
            raise _Broken(self.line, str(error)) from error
        self.move(end)
        return value

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, and the names of its members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        if isinstance(value, dict):
            yield from value
            value = value.values()
        for inner in value:
            yield from _texts(inner)


def _check_texts(value: Any) -> None:
    """Raises ValueError for a text that is longer than a line of other formats may be, or that no database stores.

    Such a text has a NUL or half a surrogate pair, which escapes can spell.
    """
    for text in _texts(value):
        if len(text) > LONGEST_LINE:
            most = f"{LONGEST_LINE // 1_000_000} MB"
            raise ValueError(f"the text {values.quoted(text)} is longer than {most}; shorten it")
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"the text {values.quoted(text)} holds a NUL or half a surrogate pair")


def _check_depth(value: Any, deepest: int) -> None:
    """Raises ValueError for deep nesting: the recursive writers of JSON have less stack than its reader."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    if deepest == 0:
        raise ValueError(TOO_DEEP)
    for inner in value:
        _check_depth(inner, deepest - 1)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        ((repeated, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {values.quoted(repeated)} appears twice in one object")
    return record


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {values.quoted(text)} is too large")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=_finite)
