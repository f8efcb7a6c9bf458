"""JSON objects, one on each line or all in a list."""

import json
from collections.abc import Iterator
from typing import Any

from . import values
from .refusal import Refusal
from .rows import rows_or_refusals
from .source import Line, Source, Start
from .strict_json import Part, loaded, parts

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
    if is_list(source.start):
        return rows_or_refusals(source, parts(source), _in_list, CURE)
    return rows_or_refusals(source, source.lines(), _in_line, CURE)


def _in_list(part: Part) -> Iterator[tuple[int, dict[str, Any]]]:
    if not isinstance(part.value, dict):
        raise ValueError(f"{values.quoted(part.value)} is given where an object is expected")
    yield part.line, part.value


def _in_line(line: Line) -> Iterator[tuple[int, dict[str, Any]]]:
    if text := line.text.strip():
        yield line.number, loaded(text)
