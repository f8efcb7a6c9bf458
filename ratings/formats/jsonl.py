"""JSON objects, one on each line or all in a list, and the documents in them."""

from collections.abc import Callable, Iterator
from typing import Any

from . import values
from .refusal import Option, Refusal, WrongCell, cure_of
from .rows import DocumentLine, checked_id
from .source import Source, Start
from .strict_json import DECODER, loaded, parts

# The first of these names that an object has is its key or body; other members become fields.
KEYS = ["id", "docno", "docid", "doc_id", "_id", "key", "document_id", "product_id", "sku", "asin"]
BODIES = ["body", "text", "contents", "abstract"]
CURE = 'A line is one object such as {"id": "d1", "title": "…", "body": "…", "url": "…"}.'


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file. Blank lines are skipped."""
    for item in objects(source, CURE):
        if isinstance(item, Refusal):
            yield item
            continue
        line, record = item
        try:
            yield document_of(line, record, source)
        except ValueError as error:
            yield source.refusal(line, str(error), *cure_of(error, CURE))


def is_list(start: Start) -> bool:
    return start.text.lstrip().startswith("[")


def first_object(start: Start) -> dict[str, Any]:
    """The first object of lines or of a list; {} where there is none."""
    text = start.text.lstrip()
    try:
        value = DECODER.raw_decode(text[1:].lstrip())[0] if is_list(start) else loaded(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def objects(source: Source, cure: str) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The line and the members of each object, in the order of the file."""
    if not is_list(source.start):
        yield from rows(source, lambda line, text: (line, loaded(text)), cure)
        return
    for part in parts(source):
        if isinstance(part, Refusal):
            yield part
        elif isinstance(part.value, dict):
            yield part.line, part.value
        else:
            yield source.refusal(
                part.line, f"{values.quoted(part.value)} is given where an object is expected", cure
            )


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


def document_of(line: int, record: dict[str, Any], source: Source) -> DocumentLine:
    """The document in a record, which is changed: the members that remain become the fields. Raises ValueError.

    A member that is null is empty. One that is absent is None.
    """
    if "_id" in record and isinstance(record.get("_source"), dict):  # a line of a dump of Elasticsearch
        record, name = record["_source"] | {"_id": record["_id"]}, "_id"
    else:
        name = next((name for name in KEYS if name in record), None)
    if name is None:
        problem = f"the object has none of the names {', '.join(KEYS)}"
        raise WrongCell(problem, CURE, Option("columns", {"id": None}, "another one holds the id"))
    key = record.pop(name)
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise ValueError(f"the {name} {values.quoted(key)} is neither a string nor a whole number")
    key = checked_id(str(key), name, values.DOCUMENT_KEY_LENGTH, source)
    body = next((name for name in BODIES if name in record), "body")
    texts = [_text(record, name) if name in record else None for name in ("title", body, "url")]
    return DocumentLine(line, key, *texts, record or None)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.pop(name)
    if not isinstance(value, str | None):
        raise ValueError(f"the {name} {values.quoted(value)} is not a string")
    return value or ""
