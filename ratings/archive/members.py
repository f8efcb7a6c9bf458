"""The format of archives: the files, the fields of their lines, and the forms of values. No database.

Lines refer to queries and documents by key, to raters and systems by name, and to events by the number of the
line. An archive has no accounts: no passwords, no addresses, and no names but those of raters.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from hashlib import sha256
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from ..formats import values
from ..formats.zipped import sums_as_text
from ..presentation.parts import Presented
from . import aims

FORMAT, VERSION = "idealist collection", 1
MANIFEST = "manifest.json"
DIGEST = re.compile("[0-9a-f]{64}")
# The file of a picture, under the SHA-256 of its content.
PICTURE = re.compile(f"pictures/({DIGEST.pattern})\\.webp")
LARGEST = 2**31 - 1  # integer that both databases store
LARGEST_LONG = 2**63 - 1
NUMBER = "number"  # of a line


class Form(NamedTuple):
    """The two representations of a value: in a line and in the database."""

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
    rule: Callable[[dict], str] = lambda row: ""  # the problem of a line as a whole, "" for none

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl"

    def checked(self, row: dict[str, Any]) -> list:
        """The values of a line, for the database. Raises ValueError."""
        if row.keys() != self.fields.keys():
            odd = sorted(row.keys() ^ self.fields.keys())
            raise ValueError(f"the line has not just {', '.join(self.fields)}: {values.shown(odd[0])}")
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
        """The line for values from the database: equal values give equal bytes."""
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
            raise ValueError(f"{values.shown(value)} is no text")
        if longest is not None and len(value) > longest:
            raise ValueError(f"{values.shown(value)} is longer than {longest} characters")
        if not value and not empty:
            raise ValueError("it is empty")
        return value

    return Form(read, quoted)


def key(longest: int) -> Form:
    return Form(lambda value: values.checked_key(TEXT.read(value), "key", longest), quoted)


def whole(low: int = 0, high: int = LARGEST) -> Form:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{values.shown(value)} is no whole number from {low} to {high}")
        return value

    return Form(read, str)


def number(low: float = -math.inf) -> Form:
    def read(value: Any) -> float:
        try:
            result = float(value) if type(value) in (int, float) else math.nan
        except OverflowError:
            result = math.nan
        if not low <= result < math.inf:
            raise ValueError(f"{values.shown(value)} is no number{'' if low < 0 else f' from {low:g} on'}")
        return result

    return Form(read, lambda value: repr(value + 0.0))  # no negative zero


def decimal(low: str = "-Infinity", high: str = "Infinity", *, places: int = 9) -> Form:
    """An exact decimal, as text. `places`: decimal places of its column."""

    @lru_cache(maxsize=4096)
    def checked(text: str) -> str:
        result = values.grade(text)
        if not Decimal(low) <= result <= Decimal(high) or round(result, places) != result:
            raise ValueError(f"{values.shown(text)} is not from {low} to {high} with {places} places at most")
        return f"{round(result, places):f}"

    return Form(lambda value: checked(TEXT.read(value)), _plain_decimal)


@lru_cache(maxsize=4096)
def _plain_decimal(value: Decimal | float | str) -> str:
    """The decimal as JSON text. SQLite returns floats, which hold the at most 15 digits of a column."""
    exact = Decimal(f"{value:.9f}") if isinstance(value, float) else Decimal(value)
    return f'"{values.plain(exact + 0)}"'


def one_of(*known: str) -> Form:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{values.shown(value)} is none of {', '.join(filter(None, known))}")
        return value

    return Form(read, quoted)


def _kind_of_rater(value: Any) -> str:
    if value == "machine":
        raise ValueError(
            "a machine is no rater: its grades never count as a person's. Take its lines out of this file and of"
            " those that name it, and import its grades with import_ratings --kind machine"
        )
    return one_of("person", "imported").read(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{values.shown(value)} is neither true nor false")
    return value


def _moment(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(TEXT.read(value))
        return str(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{values.shown(value)} is no time such as 2026-03-02T09:00:00+00:00") from error


def _written_moment(value: datetime) -> str:
    """The time in UTC to the microsecond. SQLite returns it without a zone."""
    return f'"{value.isoformat()}"' if value.tzinfo else f'"{value.isoformat()}+00:00"'


def _token(value: Any) -> str:
    try:
        return UUID(TEXT.read(value)).hex
    except ValueError as error:
        raise ValueError(f"{values.shown(value)} is no UUID") from error


def _written_token(value: UUID | str) -> str:
    """The UUID with hyphens. SQLite returns it without."""
    token = str(value)
    if len(token) == 32:
        token = f"{token[:8]}-{token[8:12]}-{token[12:16]}-{token[16:20]}-{token[20:]}"
    return f'"{token}"'


def _hash(value: Any) -> str:
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise ValueError(f"{values.shown(value)} is no SHA-256")
    return value


def _object(value: Any) -> str:
    if not isinstance(value, dict):
        raise ValueError(f"{values.shown(value)} is no object")
    return json.dumps(value)


def _chances(value: Any) -> str:
    if not isinstance(value, list) or not all(type(each) in (int, float) and 0 <= each <= 1 for each in value):
        raise ValueError(f"{values.shown(value)} is no list of numbers from 0 to 1")
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
    """JSON in a form that both databases give: PostgreSQL sorts names and keeps neither exponents nor -0."""
    if value in ("{}", "[]"):
        return value
    parsed = json.loads(value, parse_float=_without_exponent)
    return json.dumps(parsed, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _without_exponent(text: str) -> float | int:
    value = float(text)
    exact = Decimal(repr(value))
    return int(exact) if "e" in repr(value) and exact == exact.to_integral_value() else value + 0.0


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not set(map(type, value)) <= {str}:
        raise ValueError(f"{values.shown(value)} is no list of texts")
    return value


def _keys(value: Any) -> list[str]:
    if len(set(_texts(value))) < len(value):
        again = next(each for each in value if value.count(each) > 1)
        raise ValueError(f"{values.shown(again)} stands twice in the list")
    return value


def _scores(value: Any) -> bytes:
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        raise ValueError(f"{values.shown(value)} is no list of numbers")
    try:
        return np.array(value, "<f8").tobytes()
    except OverflowError as error:
        raise ValueError(f"{values.shown(value)} has a number that is too large") from error


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
SEEN = Form(aims.seen, _written_json)
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
EVENTS = ("grade", "cannot", "skip", "undo", "import", "adjudicate", "warm_up", "repeat")

# Fields that refer to lines of earlier members have no checks of their own: without such a line they are refused.
PAIR = ("query", "document")
OF_PAIR = {"query": TEXT, "document": TEXT}
TO_PAIR: dict[str, Reference] = {"pair": ("pairs", PAIR)}
TO_QUERY: dict[str, Reference] = {"query": ("queries", ("query",))}
TO_DOCUMENT: dict[str, Reference] = {"document": ("documents", ("document",))}
TO_RATER: dict[str, Reference] = {"rater": ("raters", ("rater",))}
TO_GRADE: dict[str, Reference] = {"grade": ("grades", ("grade",))}
TO_SYSTEM: dict[str, Reference] = {"system": ("systems", ("system",))}


# Rules of a line as a whole


def _as_many_scores(row: dict) -> str:
    fits = row["scores"] is None or len(row["scores"]) == len(row["documents"])
    return "" if fits else "there are not as many scores as documents"


def _has_files(row: dict) -> str:
    files = [row["small"], row["large"]]
    fits = all(files) if row["state"] == "ready" else not any(files)
    return "" if fits else "what is ready, and nothing else, has a small and a large picture"


def _what_is_random_has_its_chance(row: dict) -> str:
    facts = [row["unit"], row["key"], row["rate"], row["within"]]
    if row["kind"] == "greedy":
        fits = facts == [None] * 4
    else:
        fits = None not in facts and row["rate"] > 0 and 0 < row["within"] <= 1
    return "" if fits else "what is random, and nothing else, has a unit, a key and its chances"


def _is_explained(row: dict) -> str:
    return "" if row["use"] == "gold" or row["explanation"] else "a warm-up has no explanation"


def _who_fills(row: dict) -> str:
    if (row["state"] == "done") != (row["rater"] is not None):
        return "what is done has a rater, and what is open has none"
    return "" if row["rater"] or not row["extra"] else "what is extra has a rater"


def _grade_or_reason(row: dict) -> str:
    fits = (row["grade"] is None) != (row["reason"] == "")
    return "" if fits else "a rating is a grade or a reason, and not both"


def _has_a_reason(row: dict) -> str:
    return "" if row["reason"] else "a decision has a reason"


def _is_an_event(row: dict) -> str:
    if (row["kind"] == "undo") != (row["undoes"] is not None):
        return "an undo, and nothing else, undoes an event"
    if row["rater"] is None and row["kind"] not in ("adjudicate", "undo"):
        return "the event has no rater"
    if row["import"] is not None and row["kind"] != "import":
        return "no import brings such an event"
    return ""


# In this order: a line refers only to lines of earlier members, or to earlier lines of its own member.
MEMBERS = (
    Member(
        "collection",
        {
            "name": text(200, empty=False),
            "description": TEXT,
            "relevant_from": GRADE,
            "order": one_of("query", "depth", "random", "decisive"),
            "gold_share": SHARE,
            "repeat_share": SHARE,
            "break_after": whole(high=32767),
            "aim": AIM,
            "scale_version": whole(),
            "created_at": MOMENT,
        },
    ),
    Member("grades", {"value": GRADE, "label": text(60), "meaning": TEXT}, unique=(("value",),)),
    Member("guidelines", {"version": whole(), "text": TEXT, "created_at": MOMENT}, unique=(("version",),)),
    Member(
        "presentations",
        {"version": whole(), "content": PRESENTATION, "created_at": MOMENT},
        unique=(("version",),),
    ),
    Member(
        "queries",
        {
            "key": key(values.QUERY_KEY_LENGTH),
            "text": TEXT,
            "need": TEXT,
            "tags": TAGS,
            "fields": OBJECT,
            "weight": number(0),
        },
        unique=(("key",),),
    ),
    Member(
        "documents",
        {"key": key(values.DOCUMENT_KEY_LENGTH), "title": TEXT, "body": TEXT, "url": TEXT, "fields": OBJECT},
        unique=(("key",),),
    ),
    Member(
        "pictures",
        {
            "digest": HASH,
            "source": TEXT,
            "named_by": TEXT,
            "token": TOKEN,
            "state": one_of("wanted", "ready", "refused"),
            "problem": text(300),
            "small": or_empty(HASH),
            "large": or_empty(HASH),
            "width": whole(),
            "height": whole(),
        },
        unique=(("digest",), ("token",)),
        rule=_has_files,
    ),
    Member(
        "systems",
        {"name": text(values.SYSTEM_NAME_LENGTH, empty=False), "description": TEXT, "created_at": MOMENT},
        unique=(("name",),),
    ),
    Member(
        "rankings",
        {"system": TEXT, "query": TEXT, "documents": KEYS, "scores": maybe(SCORES)},
        unique=(("system", "query"),),
        refers=TO_SYSTEM | TO_QUERY,
        rule=_as_many_scores,
    ),
    Member(
        "raters",
        {
            "name": text(values.RATER_NAME_LENGTH, empty=False),
            "kind": KIND_OF_RATER,
            "weight": decimal("0", "9999.999", places=3),
            "active": FLAG,
            "limit": maybe(whole()),
            "guidelines_read": whole(),
            "warmed_up_at": maybe(MOMENT),
        },
        unique=(("name",),),
    ),
    Member(
        "queries_of_raters",
        {"rater": TEXT, "query": TEXT},
        unique=(("rater", "query"),),
        refers=TO_RATER | TO_QUERY,
    ),
    Member(
        "pairs",
        OF_PAIR
        | {
            "token": TOKEN,
            "wanted": whole(high=32767),
            "depth": whole(),
            "born": whole(),
            "known": maybe(whole()),
            "retired_at": maybe(MOMENT),
        },
        unique=(PAIR, ("token",)),
        refers=TO_QUERY | TO_DOCUMENT,
    ),
    Member(
        "rounds",
        {
            NUMBER: whole(1),
            "method": text(20),
            "seed": whole(-LARGEST_LONG - 1, LARGEST_LONG),
            "aim": AIM_OF_ROUND,
            "seen": SEEN,
            "threshold": maybe(number()),
            "precision": number(0),
            "frame": whole(),
            "judged": whole(),
            "version": whole(high=LARGEST_LONG),
            "created_at": MOMENT,
        },
        unique=((NUMBER,),),
        rule=aims.fits,
    ),
    Member(
        "drawn",
        {"round": whole(1)}
        | OF_PAIR
        | {
            "place": whole(1),
            "kind": one_of("greedy", "random"),
            "unit": maybe(whole(1)),
            "key": maybe(number(0)),
            "rate": maybe(number(0)),
            "within": maybe(number(0)),
            "born": whole(),
            "chances": CHANCES,
        },
        unique=(PAIR, ("round", "place")),
        refers=TO_PAIR | {"round": ("rounds", ("round",))},
        rule=_what_is_random_has_its_chance,
    ),
    Member(
        "anchors",
        OF_PAIR | {"use": one_of("warm_up", "gold"), "grade": GRADE, "explanation": TEXT, "created_at": MOMENT},
        unique=(PAIR,),
        refers=TO_PAIR | TO_GRADE,
        rule=_is_explained,
    ),
    Member(
        "assignments",
        OF_PAIR
        | {
            "rater": maybe(TEXT),
            "state": one_of("open", "done"),
            "extra": FLAG,
            "depth": whole(),
            "lot": whole(),
        },
        unique=((*PAIR, "rater"),),
        refers=TO_PAIR | TO_RATER | TO_QUERY,
        rule=_who_fills,
    ),
    Member(
        "ratings",
        OF_PAIR
        | {
            "rater": TEXT,
            "grade": maybe(GRADE),
            "reason": REASON,
            "comment": TEXT,
            "revision": whole(1),
            "created_at": MOMENT,
            "changed_at": MOMENT,
        },
        unique=((*PAIR, "rater"),),
        refers=TO_PAIR | TO_RATER | TO_GRADE | TO_QUERY | TO_DOCUMENT,
        rule=_grade_or_reason,
    ),
    Member(
        "adjudications",
        OF_PAIR | {"grade": GRADE, "reason": TEXT, "created_at": MOMENT},
        unique=(PAIR,),
        refers=TO_PAIR | TO_GRADE,
        rule=_has_a_reason,
    ),
    Member(  # imports of ratings, which can be undone where the archive is restored
        "imports",
        {
            NUMBER: whole(1),
            "files": FILE_NAMES,
            "state": one_of("published", "undone"),
            "created_at": MOMENT,
            "ended_at": MOMENT,
        },
        unique=((NUMBER,),),
    ),
    Member(
        "events",
        {NUMBER: whole(1)}
        | OF_PAIR
        | {
            "rater": maybe(TEXT),
            "kind": one_of(*EVENTS),
            "value": maybe(GRADE),
            "reason": REASON,
            "comment": TEXT,
            "undoes": maybe(whole(1)),
            "import": maybe(whole(1)),
            "scale_version": whole(),
            "guidelines_version": whole(),
            "presentation_version": whole(),
            "opened": FLAG,
            "seconds": maybe(number(0)),
            "shown": one_of("", "one", "list"),
            "client_key": maybe(TOKEN),
            "created_at": MOMENT,
        },
        unique=((NUMBER,), ("undoes",), ("rater", "client_key")),
        refers=TO_PAIR | TO_RATER | {"undoes": ("events", ("undoes",)), "job": ("imports", ("import",))},
        rule=_is_an_event,
    ),
    Member(
        "checks",
        OF_PAIR
        | {
            "rater": TEXT,
            "kind": one_of("warm_up", "repeat"),
            "token": TOKEN,
            "event": maybe(whole(1)),
            "created_at": MOMENT,
        },
        unique=((*PAIR, "rater", "kind"), ("token",), ("event",)),
        refers=TO_PAIR | TO_RATER | {"event": ("events", ("event",))},
    ),
)


def picture_file(digest: str) -> str:
    return f"pictures/{digest}.webp"


BY_NAME = {member.name: member for member in MEMBERS}
FILES = [member.file for member in MEMBERS]


def snapshot_of(sums: Mapping[str, str]) -> str:
    """The id of the content: the SHA-256 of what `sha256sum` prints for all members, in their order."""
    return sha256(sums_as_text(sums).encode()).hexdigest()
