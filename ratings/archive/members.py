"""The format of archives: the files and the fields of their lines. No database.

Lines refer to queries and documents by key, to raters and systems by name, and to events by the number of their
line. An archive contains no accounts or passwords, and no names except those of raters, which can be mail
addresses.
"""

import re
from collections.abc import Mapping
from hashlib import sha256

from ..formats import values
from ..formats.zipped import sums_as_text
from . import aims
from .judge_members import OF_JUDGES
from .shape import (
    AIM,
    AIM_OF_ROUND,
    CHANCES,
    DIGEST,
    FILE_NAMES,
    FLAG,
    GRADE,
    HASH,
    KEYS,
    KIND_OF_RATER,
    LARGEST_LONG,
    MOMENT,
    NUMBER,
    OBJECT,
    PRESENTATION,
    REASON,
    SCORES,
    SHARE,
    STANDING,
    TAGS,
    TEXT,
    TO_DOCUMENT,
    TO_QUERY,
    TOKEN,
    Member,
    Reference,
    decimal,
    key,
    maybe,
    number,
    one_of,
    or_empty,
    text,
    whole,
)

FORMAT, VERSION = "idealist collection", 1
MANIFEST = "manifest.json"
# The file of a picture, under the SHA-256 of its content.
PICTURE = re.compile(f"pictures/({DIGEST.pattern})\\.webp")
EVENTS = ("grade", "cannot", "skip", "undo", "import", "adjudicate", "warm_up", "repeat")

PAIR = ("query", "document")
OF_PAIR = {"query": TEXT, "document": TEXT}
TO_PAIR: dict[str, Reference] = {"pair": ("pairs", PAIR)}
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
    return "" if fits else "a picture must have a small and a large file if it is ready, and only then"


def _random_has_its_chance(row: dict) -> str:
    facts = [row["unit"], row["key"], row["rate"], row["within"]]
    if row["kind"] == "greedy":
        fits = facts == [None] * 4
    else:
        fits = None not in facts and row["rate"] > 0 and 0 < row["within"] <= 1
    return "" if fits else "a pair must have a unit, a key and chances if it was drawn at random, and only then"


def _is_explained(row: dict) -> str:
    return "" if row["use"] == "gold" or row["explanation"] else "a warm-up has no explanation"


def _has_its_rater(row: dict) -> str:
    if (row["state"] == "done") != (row["rater"] is not None):
        return "an assignment must have a rater if it is done, and none if it is open"
    return "" if row["rater"] or not row["extra"] else "an extra assignment needs a rater"


def _grade_or_reason(row: dict) -> str:
    fits = (row["grade"] is None) != (row["reason"] == "")
    return "" if fits else "a rating needs either a grade or a reason"


def _has_a_reason(row: dict) -> str:
    return "" if row["reason"] else "a decision needs a reason"


def _is_an_event(row: dict) -> str:
    if (row["kind"] == "undo") != (row["undoes"] is not None):
        return "an event must name the event that it undoes if it is an undo, and only then"
    if row["rater"] is None and row["kind"] not in ("adjudicate", "undo"):
        return "the event has no rater"
    if row["import"] is not None and row["kind"] != "import":
        return "an import cannot make such an event"
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
            "seen": STANDING,
            "threshold": maybe(number()),
            "precision": number(0),
            "frame": whole(),
            "judged": whole(),
            "version": whole(high=LARGEST_LONG),
            "created_at": MOMENT,
        },
        unique=((NUMBER,),),
        rule=aims.standing_problem,
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
        rule=_random_has_its_chance,
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
        rule=_has_its_rater,
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
    Member(  # imports of ratings, so that they can be undone in the restored collection
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


EVERY = (*MEMBERS, *OF_JUDGES)  # those of judges are optional
BY_NAME = {member.name: member for member in EVERY}
FILES, FILES_OF_JUDGES = ([member.file for member in members] for members in (MEMBERS, OF_JUDGES))


def snapshot_of(sums: Mapping[str, str]) -> str:
    """The id of the content: the SHA-256 of the output of `sha256sum` for all members, in their order."""
    return sha256(sums_as_text(sums).encode()).hexdigest()
