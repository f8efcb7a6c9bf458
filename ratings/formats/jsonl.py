"""Documents: one JSON object on each line."""

from collections.abc import Iterator
from typing import Any

from . import values
from .refusal import Refusal
from .rows import DocumentLine
from .source import Source
from .strict_json import loaded

# The first name that an object has is taken; what remains goes to `fields`.
KEYS = ["id", "docid", "doc_id", "docno", "_id", "key"]
BODIES = ["body", "text", "contents", "abstract"]
CURE = 'A line is one object such as {"id": "d1", "title": "…", "body": "…", "url": "…"}.'


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file. Blank lines are passed over."""
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif text := item.text.strip():
            try:
                yield document_of(item.number, loaded(text))
            except ValueError as error:
                yield source.refusal(item.number, str(error), CURE)


def document_of(line: int, record: dict[str, Any]) -> DocumentLine:
    """The document that a record tells of; what has no other place becomes its fields. Empties the record."""
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
