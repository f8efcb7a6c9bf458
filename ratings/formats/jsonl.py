"""Documents: one JSON object on each line."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import values
from .refusal import Refusal
from .source import Source

# The first name that an object has is taken; what remains goes to `fields`.
KEYS = ["id", "docid", "doc_id", "docno", "_id", "key"]
BODIES = ["body", "text", "contents", "abstract"]
CURE = 'A line is one object such as {"id": "d1", "title": "…", "body": "…", "url": "…"}.'


class DocumentLine(NamedTuple):
    line: int
    key: str
    title: str
    body: str
    url: str
    fields: dict[str, Any]


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file. Blank lines are passed over."""
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif text := item.text.strip():
            try:
                yield _document(item.number, text)
            except ValueError as error:
                yield source.refusal(item.number, str(error), CURE)


def _document(line: int, text: str) -> DocumentLine:
    record = _record(text)
    name = next((name for name in KEYS if name in record), None)
    if name is None:
        raise ValueError(f"the object has none of the names {', '.join(KEYS)}")
    key = record.pop(name)
    if not isinstance(key, str):
        raise ValueError(f"the {name} {values.shown(key)} is not a string; put it in quotation marks")
    values.checked_key(key, name, values.DOCUMENT_KEY_LENGTH)
    body = next((name for name in BODIES if name in record), "body")
    return DocumentLine(line, key, *(_text(record, name) for name in ("title", body, "url")), record)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.pop(name, None)
    if not isinstance(value, str | None):
        raise ValueError(f"the {name} {values.shown(value)} is not a string")
    return value or ""


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(
            text, object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=_finite
        )
        # An escape can smuggle in what no database keeps as text: a NUL or half a surrogate pair.
        if "\\u" in text:
            _check_storable(record)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"the line is not JSON: {error.msg} at character {error.pos + 1}") from error
    if not isinstance(record, dict):
        raise ValueError(f"the line is {values.shown(record)}, not an object")
    return record


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {values.shown(repeated)} stands twice in one object")
    return record


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {values.shown(text)} is too large")
    return value


def _check_storable(value: Any) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_storable(name)
            _check_storable(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_storable(inner)
    elif isinstance(value, str) and ("\0" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        raise ValueError(f"the text {values.shown(value)} holds a NUL or half a surrogate pair")
