"""Queries as JSON: a list of objects with the usual names, or an object that maps keys to texts or objects."""

import re
from collections.abc import Iterator
from typing import Any

from . import strict_json, tables, values
from .refusal import Refusal
from .rows import Topic, rows_or_refusals
from .source import Source, Start

CURE = 'Give a list such as [{"id": "q1", "text": "…"}], or an object such as {"q1": "…"}.'
# Names of members: with the list of topics, with the turns of a conversation, and with the text of a turn.
TOPIC_LIST_MEMBERS = ("topics", "queries")
TURNS_MEMBERS = ("turn", "turns")
TEXT_MEMBERS = ("raw_utterance", "utterance", "manual_rewritten_utterance", "text", "query")
_in_list = re.compile(rf'\s*(?:\{{\s*"(?:{"|".join(TOPIC_LIST_MEMBERS)})"\s*:\s*)?\[\s*(\{{)')
_name = re.compile(r'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
MEMBERS_LOOKED_AT = 20  # of an object


def is_topics(start: Start) -> bool:
    """Whether it is a list whose first object is a topic, or an object whose members are texts or topics."""
    if first := _in_list.match(start.text):
        return _is_topic(_value(start.text, first.start(1))[0])
    members = list(_members(start.text).values())
    return bool(members) and (all(isinstance(value, str) for value in members) or all(map(_is_topic, members)))


def _members(text: str) -> dict[str, Any]:
    """The first members, by their quoted names, of an object that maps keys to topics; {} for any other.

    `text`: the first bytes of a file, which may end within a member. An object whose first member has a usual name
    of a column, such as {"id": "q1", …}, is a topic itself, alone or in JSON lines.
    """
    members: dict[str, Any] = {}
    name = _name.match(text)  # the { or the comma, the name in its quotation marks, and the colon
    if not name or tables.usual_role("queries", name[1].strip('"')):
        return members
    while name and len(members) < MEMBERS_LOOKED_AT:
        value, end = _value(text, name.end())
        if value is None:
            break  # the text ends within this value, or the value is null
        members[name[1]] = value
        name = _name.match(text, end)
    return members


def _value(text: str, at: int) -> tuple[Any, int]:
    """The JSON value at position `at` of the text, and the position behind it; None where none begins there."""
    try:
        return strict_json.DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _is_topic(value: Any) -> bool:
    """Whether it is an object that names a text, or has turns of a conversation that do."""
    try:
        return isinstance(value, dict) and (
            any(map(_text_of_turn, _turns_of(value))) or "text" in tables.layout_of("queries", value, {}).column
        )
    except ValueError:
        return False


def _turns_of(topic: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns of a conversation, as TREC CAsT has them; [] of another topic."""
    lists = (topic[name] for name in TURNS_MEMBERS if isinstance(topic.get(name), list))
    turns: list = next(lists, [])
    return turns if all(isinstance(turn, dict) for turn in turns) else []


def _text_of_turn(turn: dict[str, Any]) -> Any:
    return next((turn[name] for name in TEXT_MEMBERS if name in turn), "")


def read_topics(source: Source) -> Iterator[Topic | Refusal]:
    """Topics in the order of the file. A query without an id has no key; the import makes one of its text."""
    return tables.read_records("queries", source, _topics_and_turns(source), uniform=False)


def _topics_and_turns(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The line and the members of each topic; in place of a conversation those of each of its turns."""

    def topics_of(item: tuple[int, dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The topic itself, or a topic for each turn of a conversation, with a key such as 31_1, as in TREC."""
        line, record = item
        if not _turns_of(record):
            yield item
            return
        source.note_once("its topics are conversations, of which each turn is a query.")
        topic_key = next((record[name] for name in ("number", "id", "key") if name in record), "")
        for place, turn in enumerate(_turns_of(record), 1):
            if "response" in turn and not _text_of_turn(turn):
                continue  # the system alone speaks
            number = turn.get("number", turn.get("turn_id", place))
            yield line, {"key": f"{topic_key}_{number}", "text": _text_of_turn(turn)}

    return rows_or_refusals(source, _records(source), topics_of, CURE)


def _records(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The line and the members of each topic. Of a topic under a key, such as {"q1": …}, "key" has the key."""
    line = 0
    record: dict[str, Any] = {}  # the members so far of a topic under a key, which begins on `line`
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        first_name = part.path[0]
        # A topic in a list: at (3,), or at ("topics", 3) where a member of an object holds the list.
        if isinstance(part.path[-1], int):
            if len(part.path) > 1 and first_name not in TOPIC_LIST_MEMBERS:  # at ("q1", 3)
                yield source.stop(part.line, f"the topic {values.quoted(first_name)} is a list", CURE)
                return
            if isinstance(part.value, dict):
                yield part.line, part.value
            else:
                problem = f"{values.quoted(part.value)} is given where a topic is expected"
                yield source.refusal(part.line, problem, CURE)
            continue
        # A topic under the key q1: its text alone, at ("q1",), or one of its members, at ("q1", "need").
        if first_name != record.get("key"):  # the first part of another topic
            if record:
                yield line, record
            record, line = {}, part.line
        member = part.path[1] if len(part.path) > 1 else "text"
        record |= {member: part.value, "key": first_name}
    if record:  # the last topic
        yield line, record


READS = {"queries": read_topics}  # by kind of row
