"""Documents: one JSON object on each line."""

from collections.abc import Callable, Iterator
from typing import Any

from . import values
from .refusal import Refusal
from .rows import DocumentLine
from .source import Source
from .strict_json import loaded

# The first of these names that an object has is its key or body; other members become fields.
KEYS = ["id", "docno", "docid", "doc_id", "_id", "key", "document_id", "product_id", "sku", "asin"]
BODIES = ["body", "text", "contents", "abstract"]
CURE = 'A line is one object such as {"id": "d1", "title": "…", "body": "…", "url": "…"}.'


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file. Blank lines are skipped."""
    return rows(source, lambda line, text: document_of(line, loaded(text)), CURE)


def rows(source: Source, row_of: Callable[[int, str], Any], cure: str) -> Iterator[Any]:
    """What `row_of` makes of each line that is not blank, without None. A ValueError becomes a refusal."""
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif text := item.text.strip():
            try:
                if (row := row_of(item.number, text)) is not None:
                    yield row
            except ValueError as error:
                yield source.refusal(item.number, str(error), cure)


def document_of(line: int, record: dict[str, Any]) -> DocumentLine:
    """The document in a record, which is changed: the members that remain become the fields. Raises ValueError.

    A member that is null is empty. One that is absent is None.
    """
    if "_id" in record and isinstance(record.get("_source"), dict):  # a line of a dump of Elasticsearch
        record, name = record["_source"] | {"_id": record["_id"]}, "_id"
    else:
        name = next((name for name in KEYS if name in record), None)
    if name is None:
        raise ValueError(f"the object has none of the names {', '.join(KEYS)}")
    key = record.pop(name)
    if not isinstance(key, str):
        raise ValueError(f"the {name} {values.quoted(key)} is not a string; put it in quotation marks")
    values.checked_key(key, name, values.DOCUMENT_KEY_LENGTH)
    body = next((name for name in BODIES if name in record), "body")
    texts = [_text(record, name) if name in record else None for name in ("title", body, "url")]
    return DocumentLine(line, key, *texts, record or None)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.pop(name)
    if not isinstance(value, str | None):
        raise ValueError(f"the {name} {values.quoted(value)} is not a string")
    return value or ""
