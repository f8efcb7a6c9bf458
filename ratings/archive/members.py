"""What an archive holds: its files, the fields of a line in each, and what a value may be. Knows no database.

Rows are named as people outside know them: queries and documents by key, raters and systems by name, an event by
the number of its line. Accounts are no part of it: no password, no address, no name but that of a rater.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from ..formats import values
from ..formats.zipped import sums_as_text

FORMAT, VERSION = "idealist collection", 1
MANIFEST = "manifest.json"
LARGEST = 2**31 - 1  # that both databases keep

Check = Callable[[Any], Any]  # the value as the record keeps it; ValueError says what is wrong
Fields = Mapping[str, Check]
Named = Callable[[dict], Iterable[tuple]]  # the lines that a row names, by their first unique fields


class Member(NamedTuple):
    """One file of an archive, with a JSON object on each line."""

    name: str
    fields: Fields
    unique: tuple[tuple[str, ...], ...] = ()  # no two lines have the same in these; the first is what others name
    refers: tuple[tuple[str, "Named"], ...] = ()  # to lines of which members, and how those are named
    rule: Callable[[dict], str] = lambda row: ""  # what is wrong with the line as a whole

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl"


def text(longest: int | None = None, *, empty: bool = True) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{values.shown(value)} is no text")
        if longest is not None and len(value) > longest:
            raise ValueError(f"{values.shown(value)} is longer than {longest} characters")
        if not value and not empty:
            raise ValueError("it is empty")
        return value

    return check


def key(longest: int) -> Check:
    return lambda value: values.checked_key(text()(value), "key", longest)


def whole(low: int = 0, high: int = LARGEST) -> Check:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{values.shown(value)} is no whole number from {low} to {high}")
        return value

    return check


def number(low: float = -math.inf) -> Check:
    def check(value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value < math.inf:
            raise ValueError(f"{values.shown(value)} is no number{'' if low < 0 else f' from {low:g} on'}")
        return float(value)

    return check


def decimal(low: str = "-Infinity", high: str = "Infinity", *, places: int = 9) -> Check:
    def check(value: Any) -> Decimal:
        found = values.grade(text()(value))
        if not Decimal(low) <= found <= Decimal(high) or round(found, places) != found:
            raise ValueError(f"{values.shown(value)} is not from {low} to {high} with {places} places at most")
        return round(found, places)

    return check


def one_of(*known: str) -> Check:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{values.shown(value)} is none of {', '.join(filter(None, known))}")
        return value

    return check


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{values.shown(value)} is neither true nor false")
    return value


def moment(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(text()(value))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{values.shown(value)} is no time such as 2026-03-02T09:00:00+00:00") from error


def token(value: Any) -> UUID:
    try:
        return UUID(text()(value))
    except ValueError as error:
        raise ValueError(f"{values.shown(value)} is no UUID") from error


def maybe(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def listed(check: Check) -> Check:
    def check_all(value: Any) -> list:
        if not isinstance(value, list):
            raise ValueError(f"{values.shown(value)} is no list")
        return [check(each) for each in value]

    return check_all


def anything(value: Any) -> Any:
    return value


def anchor(value: Any) -> dict:
    if not isinstance(value, dict):
        raise ValueError(f"{values.shown(value)} is no object")
    found = checked(ANCHOR, value)
    if found["use"] == "warm_up" and not found["explanation"]:
        raise ValueError("a warm-up has no explanation")
    return found


def by(*fields: str) -> Named:
    """One line is named by these fields, or none where one of them is null."""
    return lambda row: [key] if None not in (key := tuple(row[name] for name in fields)) else []


def by_each(field: str) -> Named:
    return lambda row: ((value,) for value in row[field])


def checked(fields: Fields, row: dict[str, Any]) -> dict[str, Any]:
    """The values of a line as the record keeps them. Raises ValueError."""
    if row.keys() != fields.keys():
        odd = sorted(row.keys() ^ fields.keys())
        raise ValueError(f"the line has not just {', '.join(fields)}: {values.shown(odd[0])}")
    found = {}
    for name, check in fields.items():
        try:
            found[name] = check(row[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


_query, _document = key(values.QUERY_KEY_LENGTH), key(values.DOCUMENT_KEY_LENGTH)
_system, _rater = text(values.SYSTEM_NAME_LENGTH, empty=False), text(values.RATER_NAME_LENGTH, empty=False)
_grade = decimal()
_reason = one_of("", "broken", "language", "knowledge", "unclear", "other")
_share = decimal("0", "0.5", places=2)
_pair = {"query": _query, "document": _document}
PAIR = ("query", "document")
OF_PAIR = ("pairs", by(*PAIR))
OF_RATER = ("raters", by("rater"))
ANCHOR = {"use": one_of("warm_up", "gold"), "grade": _grade, "explanation": text(), "created_at": moment}
EVENTS = ("grade", "cannot", "skip", "undo", "import", "adjudicate", "warm_up", "repeat")


def _grade_or_reason(row: dict) -> str:
    return (
        "" if (row["grade"] is None) != (row["reason"] == "") else "a rating is a grade or a reason, and not both"
    )


def _has_a_reason(row: dict) -> str:
    return "" if row["reason"] else "a decision has a reason"


def _who_fills(row: dict) -> str:
    return "" if row["rater"] or not row["extra"] else "what is extra has a rater"


def _is_an_event(row: dict) -> str:
    if (row["kind"] == "undo") != (row["undoes"] is not None):
        return "an undo, and nothing else, undoes an event"
    if row["rater"] is None and row["kind"] not in ("adjudicate", "undo"):
        return "the event has no rater"
    if row["import"] is not None and row["kind"] != "import":
        return "no import brings such an event"
    return ""


# In this order; a line names only lines of earlier members, or an earlier line of its own.
MEMBERS = (
    Member(
        "collection",
        {
            "name": text(200, empty=False),
            "description": text(),
            "relevant_from": _grade,
            "order": one_of("query", "depth", "random"),
            "gold_share": _share,
            "repeat_share": _share,
            "break_after": whole(high=32767),
            "scale_version": whole(),
            "created_at": moment,
        },
    ),
    Member("grades", {"value": _grade, "label": text(60), "meaning": text()}, unique=(("value",),)),
    Member("guidelines", {"version": whole(), "text": text(), "created_at": moment}, unique=(("version",),)),
    Member(
        "queries",
        {"key": _query, "text": text(), "need": text(), "tags": anything, "weight": number(0)},
        unique=(("key",),),
    ),
    Member(
        "documents",
        {"key": _document, "title": text(), "body": text(), "url": text(), "fields": anything},
        unique=(("key",),),
    ),
    Member("systems", {"name": _system, "description": text(), "created_at": moment}, unique=(("name",),)),
    Member(
        "rankings",
        {"system": _system, "query": _query, "documents": listed(_document), "scores": maybe(listed(number()))},
        unique=(("system", "query"),),
        refers=(("systems", by("system")), ("queries", by("query")), ("documents", by_each("documents"))),
        rule=lambda row: (
            "there are not as many scores as documents"
            if row["scores"] is not None and len(row["scores"]) != len(row["documents"])
            else ""
        ),
    ),
    Member(
        "raters",
        {
            "name": _rater,
            "kind": one_of("person", "imported", "machine"),
            "weight": decimal("0", "9999.999", places=3),
            "active": flag,
            "limit": maybe(whole()),
            "queries": listed(_query),
            "guidelines_read": whole(),
            "warmed_up_at": maybe(moment),
        },
        unique=(("name",),),
        refers=(("queries", by_each("queries")),),
    ),
    Member(
        "pairs",
        {
            **_pair,
            "token": token,
            "wanted": whole(high=32767),
            "depth": whole(),
            "retired_at": maybe(moment),
            "anchor": maybe(anchor),
        },
        unique=(PAIR, ("token",)),
        refers=(
            ("queries", by("query")),
            ("documents", by("document")),
            ("grades", lambda row: [(row["anchor"]["grade"],)] if row["anchor"] else []),
        ),
    ),
    Member(
        "assignments",
        {**_pair, "rater": maybe(_rater), "extra": flag, "depth": whole(), "lot": whole()},
        unique=((*PAIR, "rater"),),
        refers=(OF_PAIR, OF_RATER),
        rule=_who_fills,
    ),
    Member(
        "ratings",
        {
            **_pair,
            "rater": _rater,
            "grade": maybe(_grade),
            "reason": _reason,
            "comment": text(),
            "revision": whole(1),
            "created_at": moment,
            "changed_at": moment,
        },
        unique=((*PAIR, "rater"),),
        refers=(OF_PAIR, OF_RATER, ("grades", by("grade"))),
        rule=_grade_or_reason,
    ),
    Member(
        "adjudications",
        {**_pair, "grade": _grade, "reason": text(), "created_at": moment},
        unique=(PAIR,),
        refers=(OF_PAIR, ("grades", by("grade"))),
        rule=_has_a_reason,
    ),
    Member(  # of ratings: they can be undone where the archive is imported
        "imports",
        {
            "number": whole(1),
            "files": listed(text()),
            "state": one_of("published", "undone"),
            "created_at": moment,
            "ended_at": moment,
        },
        unique=(("number",),),
    ),
    Member(
        "events",
        {
            "number": whole(1),
            **_pair,
            "rater": maybe(_rater),
            "kind": one_of(*EVENTS),
            "value": maybe(_grade),
            "reason": _reason,
            "comment": text(),
            "undoes": maybe(whole(1)),
            "import": maybe(whole(1)),
            "scale_version": whole(),
            "guidelines_version": whole(),
            "seconds": maybe(number(0)),
            "shown": one_of("", "one", "list"),
            "client_key": maybe(token),
            "created_at": moment,
        },
        unique=(("number",), ("undoes",), ("rater", "client_key")),
        refers=(OF_PAIR, OF_RATER, ("events", by("undoes")), ("imports", by("import"))),
        rule=_is_an_event,
    ),
    Member(
        "checks",
        {
            **_pair,
            "rater": _rater,
            "kind": one_of("warm_up", "repeat"),
            "token": token,
            "event": maybe(whole(1)),
            "created_at": moment,
        },
        unique=((*PAIR, "rater", "kind"), ("token",), ("event",)),
        refers=(OF_PAIR, OF_RATER, ("events", by("event"))),
    ),
)
BY_NAME = {member.name: member for member in MEMBERS}
FILES = [member.file for member in MEMBERS]


def snapshot_of(sums: Mapping[str, str]) -> str:
    """The id of what an archive holds: that of `sha256sum` of all members, in their order, `| sha256sum`."""
    return sha256(sums_as_text(sums).encode()).hexdigest()
