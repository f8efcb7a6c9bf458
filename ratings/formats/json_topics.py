"""Queries as JSON: a list of objects with the usual names, or an object that maps keys to texts or objects."""

import re
from collections.abc import Iterator
from typing import Any

from . import strict_json, tables, values
from .refusal import Refusal
from .rows import Topic
from .source import Source, Start

CURE = 'Give a list such as [{"id": "q1", "text": "…"}], or an object such as {"q1": "…"}.'
LISTS = ("topics", "queries")
TURNS = ("turn", "turns")
UTTERANCES = ("raw_utterance", "utterance", "manual_rewritten_utterance", "text", "query")
_in_list = re.compile(rf'\s*(?:\{{\s*"(?:{"|".join(LISTS)})"\s*:\s*)?\[\s*(\{{)')
_key = re.compile(r'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
LOOKED_AT = 20  # members of an object


def is_topics(start: Start) -> bool:
    """Whether it is a list whose first object has a text, or an object whose members are texts or such objects."""
    if first := _in_list.match(start.text):
        return _names_text(_value(start.text, first.start(1))[0])
    members = list(_members(start.text).values())
    return bool(members) and (all(isinstance(value, str) for value in members) or all(map(_names_text, members)))


def _members(text: str) -> dict[str, Any]:
    """The first members of an object; none if it is a topic itself, over several lines or one of several."""
    key, members = _key.match(text), {}
    if not key or tables.usual_role("queries", key[1].strip('"')):
        return {}
    while key and len(members) < LOOKED_AT:
        value, end = _value(text, key.end())
        if value is None:
            break  # it ends behind the first bytes
        members[key[1]] = value
        key = _key.match(text, end)
    return members


def _value(text: str, at: int) -> tuple[Any, int]:
    """The JSON value at a place of the text, and where it ends; None where there is none."""
    try:
        return strict_json.DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _names_text(value: Any) -> bool:
    try:
        return isinstance(value, dict) and "text" in tables.layout_of("queries", value, {}).column
    except ValueError:
        return False


def read_topics(source: Source) -> Iterator[Topic | Refusal]:
    """Topics in the order of the file. A query without an id has no key; the import makes one of its text."""
    return tables.read_objects("queries", source, _turns(source))


def _turns(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The topics; in place of a conversation its turns, with keys such as 31_1, as TREC numbers them."""
    told = False
    for item in _records(source):
        if isinstance(item, Refusal):
            yield item
            continue
        line, record = item
        turns = next((record[name] for name in TURNS if isinstance(record.get(name), list)), None)
        if not turns or not all(isinstance(turn, dict) for turn in turns):
            yield item
            continue
        if not told:
            source.notes.append(f"{source.name}: its topics are conversations, of which each turn is a query.")
            told = True
        topic = next((record[name] for name in ("number", "id", "key") if name in record), "")
        for place, turn in enumerate(turns, 1):
            number = turn.get("number", turn.get("turn_id", place))
            text = next((turn[name] for name in UTTERANCES if name in turn), "")
            yield line, {"key": f"{topic}_{number}", "text": text}


def _records(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The line of each topic, and its members. A topic under a key gets it as the member "key"."""
    member: tuple[int, str] | None = None
    record: dict[str, Any] = {}
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        key, *inside = part.path
        if isinstance(part.path[-1], int) and (len(part.path) == 1 or key in LISTS):
            if isinstance(part.value, dict):
                yield part.line, part.value
            else:
                problem = f"{values.quoted(part.value)} is given where a topic is expected"
                yield source.refusal(part.line, problem, CURE)
            continue
        if inside and isinstance(inside[0], int):
            yield source.stop(part.line, f"the topic {values.quoted(key)} is a list", CURE)
            return
        if member and member[1] != key:
            yield member[0], record
        if not member or member[1] != key:
            member, record = (part.line, key), {}
        record |= {inside[0] if inside else "text": part.value, "key": key}
    if member:
        yield member[0], record
