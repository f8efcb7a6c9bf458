"""The parts of archives: members with their fields, and the forms of values. No database."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from ..formats import values
from ..formats.strict_json import as_stored
from ..presentation.parts import Presented
from . import aims

DIGEST = re.compile("[0-9a-f]{64}")
LARGEST = 2**31 - 1  # integer that both databases store
LARGEST_LONG = 2**63 - 1
NUMBER = "number"  # of a line


class Form(NamedTuple):
    """How a value is converted between a line of JSON and the database."""

    read: Callable[[Any], Any]  # JSON -> a value that SQLite and PostgreSQL accept. Raises ValueError
    written: Callable[[Any], str]  # a value from either database -> JSON text


Fields = Mapping[str, Form]
Reference = tuple[str, tuple[str, ...]]  # a member, and the fields that name one of its lines


@dataclass(frozen=True)
class Member:
    """One file of an archive, with a JSON object on each line."""

    name: str
    fields: Fields
    unique: tuple[tuple[str, ...], ...] = ()  # keys; other lines refer to a line by the first
    refers: Mapping[str, Reference] = field(default_factory=dict)  # field of the model -> reference
    named: Mapping[str, str] = field(default_factory=dict)  # field of the model -> field, where they differ
    rule: Callable[[dict], str] = lambda row: ""  # the problem of a line as a whole, "" for none

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl"

    def checked(self, row: dict[str, Any]) -> list:
        """The values of a line, for the database. Raises ValueError."""
        if row.keys() != self.fields.keys():
            odd = sorted(row.keys() ^ self.fields.keys())
            raise ValueError(f"the line must have exactly {', '.join(self.fields)}: {values.quoted(odd[0])}")
        checked = []
        for name, read in self._reading:
            try:
                checked.append(read(row[name]))
            except ValueError as error:
                raise ValueError(f"the field {name}: {error}") from error
        if problem := self.rule(row):
            raise ValueError(problem)
        return checked

    def line(self, row: Iterable[Any]) -> str:
        """The line with these values from the database. Equal values give equal bytes."""
        return self._line % tuple(written(value) for written, value in zip(self._writing, row, strict=True))

    @cached_property
    def _reading(self) -> list[tuple[str, Callable]]:
        return [(name, form.read) for name, form in self.fields.items()]

    @cached_property
    def _writing(self) -> list[Callable]:
        return [form.written for form in self.fields.values()]

    @cached_property
    def _line(self) -> str:
        return "{" + ",".join(f'"{name}":%s' for name in self.fields) + "}\n"


# The forms of values


def text(longest: int | None = None, *, empty: bool = True) -> Form:
    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{values.quoted(value)} is not a text")
        if longest is not None and len(value) > longest:
            raise ValueError(f"{values.quoted(value)} is longer than {longest} characters")
        if not value and not empty:
            raise ValueError("it is empty")
        return value

    return Form(read, quoted)


def key(longest: int) -> Form:
    return Form(lambda value: values.checked_key(TEXT.read(value), "key", longest), quoted)


def whole(low: int = 0, high: int = LARGEST) -> Form:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{values.quoted(value)} is not a whole number from {low} to {high}")
        return value

    return Form(read, str)


def number(low: float = -math.inf) -> Form:
    def read(value: Any) -> float:
        try:
            result = float(value) if type(value) in (int, float) else math.nan
        except OverflowError:
            result = math.nan
        if not low <= result < math.inf:
            raise ValueError(f"{values.quoted(value)} is not a number{'' if low < 0 else f' from {low:g} on'}")
        return result

    return Form(read, lambda value: repr(value + 0.0))  # no negative zero


def decimal(low: str = "-Infinity", high: str = "Infinity", *, places: int = 9) -> Form:
    """An exact decimal, as text. `places`: decimal places of its column."""

    @lru_cache(maxsize=4096)
    def checked(text: str) -> str:
        result = values.grade(text)
        if not Decimal(low) <= result <= Decimal(high) or round(result, places) != result:
            raise ValueError(f"{values.quoted(text)} is not from {low} to {high} with {places} places at most")
        return f"{round(result, places):f}"

    return Form(lambda value: checked(TEXT.read(value)), partial(_decimal_json, places))


@lru_cache(maxsize=4096)
def _decimal_json(places: int, value: Decimal | float | str) -> str:
    """The decimal as JSON text. SQLite returns floats, which hold the at most 15 digits of a column."""
    exact = Decimal(f"{value:.{places}f}") if isinstance(value, float) else Decimal(value)
    return f'"{values.grade_text(exact + 0)}"'


def one_of(*known: str) -> Form:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{values.quoted(value)} is none of {', '.join(filter(None, known))}")
        return value

    return Form(read, quoted)


def _kind_of_rater(value: Any) -> str:
    if value == "machine":
        raise ValueError(
            "a machine is not a rater: its grades never count as a person's. Take its lines out of this file and"
            " of those that name it, and import its grades with import_ratings --kind machine"
        )
    return one_of("person", "imported").read(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{values.quoted(value)} is neither true nor false")
    return value


def _moment(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(TEXT.read(value))
        return str(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{values.quoted(value)} is not a time such as 2026-03-02T09:00:00+00:00") from error


def _written_moment(value: datetime) -> str:
    """The time in UTC to the microsecond. SQLite returns it without a zone."""
    return f'"{value.isoformat()}"' if value.tzinfo else f'"{value.isoformat()}+00:00"'


def _token(value: Any) -> str:
    try:
        return UUID(TEXT.read(value)).hex
    except ValueError as error:
        raise ValueError(f"{values.quoted(value)} is not a UUID") from error


def _written_token(value: UUID | str) -> str:
    """The UUID with hyphens, which SQLite leaves out."""
    token = str(value)
    if len(token) == 32:
        token = f"{token[:8]}-{token[8:12]}-{token[12:16]}-{token[16:20]}-{token[20:]}"
    return f'"{token}"'


def _hash(value: Any) -> str:
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise ValueError(f"{values.quoted(value)} is not a SHA-256")
    return value


def _object(value: Any) -> str:
    if not isinstance(value, dict):
        raise ValueError(f"{values.quoted(value)} is not an object")
    return json.dumps(value)


def _chances(value: Any) -> str:
    if not isinstance(value, list) or not all(type(each) in (int, float) and 0 <= each <= 1 for each in value):
        raise ValueError(f"{values.quoted(value)} is not a list of numbers from 0 to 1")
    return json.dumps(value)


def _presentation(value: Any) -> str:
    return json.dumps(Presented.read(value).as_json())


def _tags(value: Any) -> str:
    return json.dumps(_texts(value))


def _files(value: Any) -> str:
    return json.dumps([{"name": name} for name in _texts(value)])


def _written_files(value: str) -> str:
    return f"[{','.join(quoted(file['name']) for file in json.loads(value))}]"


def _written_json(value: str) -> str:
    """JSON that is the same from both databases, with sorted names."""
    if value in ("{}", "[]"):
        return value
    return json.dumps(as_stored(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not set(map(type, value)) <= {str}:
        raise ValueError(f"{values.quoted(value)} is not a list of texts")
    return value


def _keys(value: Any) -> list[str]:
    if len(set(_texts(value))) < len(value):
        again = next(each for each in value if value.count(each) > 1)
        raise ValueError(f"{values.quoted(again)} is in the list twice")
    return value


def _scores(value: Any) -> bytes:
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        raise ValueError(f"{values.quoted(value)} is not a list of numbers")
    try:
        return np.array(value, "<f8").tobytes()
    except OverflowError as error:
        raise ValueError(f"{values.quoted(value)} has a number that is too large") from error


def maybe(form: Form) -> Form:
    read, written = form
    return Form(
        lambda value: None if value is None else read(value),
        lambda value: "null" if value is None else written(value),
    )


def or_empty(form: Form) -> Form:
    """The form of a text that may also be empty."""
    return Form(lambda value: value if value == "" else form.read(value), form.written)


TEXT = text()
HASH = Form(_hash, quoted)
FLAG = Form(_flag, lambda value: "true" if value else "false")
MOMENT = Form(_moment, _written_moment)
TOKEN = Form(_token, _written_token)
OBJECT = Form(_object, _written_json)
AIM, AIM_OF_ROUND = (Form(read, _written_json) for read in (aims.aim_of_collection, aims.aim_of_round))
STANDING = Form(aims.standing, _written_json)
CHANCES = Form(_chances, _written_json)
PRESENTATION = Form(_presentation, _written_json)
TAGS = Form(_tags, _written_json)
FILE_NAMES = Form(_files, _written_files)
KEYS = Form(_keys, lambda keys: f"[{','.join(map(quoted, keys))}]")
SCORES = Form(_scores, lambda scores: f"[{','.join(map(repr, scores))}]")
GRADE = decimal()
SHARE = decimal("0", "0.5", places=2)
REASON = one_of("", "broken", "language", "knowledge", "unclear", "other", "picture")
KIND_OF_RATER = Form(_kind_of_rater, quoted)

# Fields that refer to lines of earlier members need no form with checks: a missing line is refused.
TO_QUERY: dict[str, Reference] = {"query": ("queries", ("query",))}
TO_DOCUMENT: dict[str, Reference] = {"document": ("documents", ("document",))}
