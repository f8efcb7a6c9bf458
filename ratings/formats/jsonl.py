"""JSON objects, one on each line or all in a list."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from . import values
from .refusal import Refusal
from .source import Source, Start
from .strict_json import loaded, parts

CURE = "A line is one JSON object."
_lenient = json.JSONDecoder()


def is_list(start: Start) -> bool:
    return start.text.lstrip().startswith("[")


def first_object(start: Start) -> dict[str, Any]:
    """The first object of lines or of a list; {} where there is none."""
    text = start.text.lstrip()
    try:
        # Not strict: the reader refuses a NaN or a repeated name, and says so.
        value = _lenient.raw_decode(text[1:].lstrip())[0] if is_list(start) else json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def objects(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The line and the members of each object, in the order of the file."""
    if not is_list(source.start):
        yield from rows(source, lambda line, text: (line, loaded(text)), CURE)
        return
    for part in parts(source):
        if isinstance(part, Refusal):
            yield part
        elif isinstance(part.value, dict):
            yield part.line, part.value
        else:
            problem = f"{values.quoted(part.value)} is given where an object is expected"
            yield source.refusal(part.line, problem, CURE)


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
