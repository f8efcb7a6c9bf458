"""The members of an archive about judges, which are optional. No database.

Versions are named by judge and number, runs and samples by the number of their line.
"""

import json
import re
from decimal import Decimal
from hashlib import sha256
from typing import Any

from ..formats import values
from ..judges.versions import CONTENT, sha_of
from ..judges.wire import checked_sampling
from ..models import JudgeRun, JudgeUse, MachineGrade, Probe
from ..presentation.parts import Presented
from .shape import (
    FLAG,
    GRADE,
    HASH,
    LARGEST_LONG,
    MOMENT,
    NUMBER,
    OBJECT,
    TAGS,
    TEXT,
    TO_DOCUMENT,
    TO_QUERY,
    Form,
    Member,
    Reference,
    decimal,
    maybe,
    number,
    one_of,
    text,
    whole,
)

NOTHING = sha256(b"").hexdigest()  # the fingerprint of a version if only the model's name is known
LIVE = ("queued", "running")  # written as paused, so that an import of the archive makes no calls
SMALL = 32_767
AMOUNT = re.compile(r"[0-9]{1,8}(\.[0-9]{1,6})?")


def _sampling(value: Any) -> str:
    return json.dumps(checked_sampling(value))


def _parts(value: Any) -> str:
    return json.dumps(value if value == {} else Presented.read(value).as_json())


def _grades(value: Any) -> str:
    for grade in json.loads(TAGS.read(value)):
        values.grade(grade)
    return json.dumps(value)


def _money(value: Any) -> str:
    if not AMOUNT.fullmatch(TEXT.read(value)):
        raise ValueError(f"{values.quoted(value)} is not an amount of at most 8 digits and 6 places")
    return value


def _chance(value: Any) -> float:
    chance = number(0).read(value)
    if not 0 < chance <= 1:
        raise ValueError(f"{values.quoted(value)} is not a chance above 0 and up to 1")
    return chance


MONEY = Form(_money, decimal(places=6).written)
SEED = whole(-LARGEST_LONG - 1, LARGEST_LONG)
LONG = whole(high=LARGEST_LONG)
SAMPLING, PARTS, GRADES = (Form(read, OBJECT.written) for read in (_sampling, _parts, _grades))
CHANCE = Form(_chance, number().written)
VERSION = {"judge": TEXT, "version": whole(1)}
TO_JUDGE: dict[str, Reference] = {"judge": ("judges", ("judge",))}
TO_VERSION: dict[str, Reference] = {"version": ("judge_versions", ("judge", "version"))}


# Rules of a line as a whole


def _has_its_fingerprint(row: dict) -> str:
    """The problem of a fingerprint that is not that of the content; "" for none."""
    content = {name: row[name] for name in CONTENT}
    content |= {name: Decimal(row[name]) for name in ("price_in", "price_out")}
    if row["parser"] == 0 and row["fingerprint"] == NOTHING or sha_of(content) == row["fingerprint"]:
        return ""
    return "the fingerprint is not that of the version's content"


def _has_an_address(row: dict) -> str:
    if row["endpoint"] and not row["endpoint"].startswith(("http://", "https://")):
        return f"the address {values.quoted(row['endpoint'])} does not begin with http:// or https://"
    return _has_its_fingerprint(row)


def _within_its_cap(row: dict) -> str:
    return "" if row["calls"] <= row["most_calls"] else "it made more calls than it may"


def _grade_or_problem(row: dict) -> str:
    graded, problem = row["value"] is not None, row["problem"] != ""
    fits = (graded, problem) == (row["state"] == "graded", row["state"] == "ungraded")
    return "" if fits else "a graded pair needs a value and no problem, an ungraded one a problem and no value"


def _has_its_seed(row: dict) -> str:
    return "" if not row["drawn"] or row["seed"] is not None else "a sample that was drawn needs a seed"


ANSWER = {
    "state": one_of(*MachineGrade.State.values),
    "value": maybe(GRADE),
    "problem": one_of("", *MachineGrade.Problem.values),
    "detail": text(300),
    "answer": TEXT,
    "model": text(200),
    "tokens_in": maybe(whole()),
    "tokens_out": maybe(whole()),
    "cost": maybe(MONEY),
    "seconds": maybe(number(0)),
    "tries": whole(high=SMALL),
    "at": maybe(MOMENT),
}
TO_RUN: dict[str, Reference] = {"run": ("judge_runs", ("run", "judge", "version"))}
OF_JUDGES = (
    Member("judges", {"name": text(150, empty=False), "created_at": MOMENT}, unique=(("name",),)),
    Member(
        "judge_versions",
        VERSION
        | {
            "created_at": MOMENT,
            "template": text(20),
            "prompt": TEXT,
            "parts": PARTS,
            "scale": GRADES,
            "scale_version": whole(),
            "guidelines_version": whole(),
            "presentation_version": whole(),
            "prompt_sha256": HASH,
            "guidelines_sha256": HASH,
            "presentation_sha256": HASH,
            "endpoint": text(500),
            "model": text(200),
            "sampling": SAMPLING,
            "schema": OBJECT,
            "structured": FLAG,
            "parser": whole(high=SMALL),
            "seed": maybe(SEED),
            "price_in": MONEY,
            "price_out": MONEY,
            "fingerprint": HASH,
        },
        unique=(("judge", "version"), ("judge", "fingerprint")),
        refers=TO_JUDGE,
        named={"number": "version"},
        rule=_has_an_address,
    ),
    Member(
        "judge_uses",
        VERSION | {"use": one_of(*JudgeUse.Use.values), "created_at": MOMENT},
        unique=(("judge", "use"),),
        refers=TO_JUDGE | TO_VERSION,
    ),
    Member(
        "judge_runs",
        {NUMBER: whole(1)}
        | VERSION
        | {
            "choice": one_of(*JudgeRun.Choice.values),
            "options": OBJECT,
            "concurrency": whole(1, SMALL),
            "per_minute": whole(),
            "most_calls": whole(),
            "most_cost": maybe(MONEY),
            "state": one_of(*(state for state in JudgeRun.State.values if state not in LIVE)),
            "message": text(300),
            "pairs": whole(),
            "graded": whole(),
            "ungraded": whole(),
            "calls": whole(),
            "tokens_in": LONG,
            "tokens_out": LONG,
            "cost": MONEY,
            "created_at": MOMENT,
            "started_at": maybe(MOMENT),
            "ended_at": maybe(MOMENT),
        },
        unique=((NUMBER, "judge", "version"),),
        refers=TO_VERSION,
        rule=_within_its_cap,
    ),
    Member(
        "machine_grades",
        {"run": whole(1)} | VERSION | {"query": TEXT, "document": TEXT, "repeat": whole(1, SMALL)} | ANSWER,
        unique=(("judge", "version", "query", "document", "repeat"),),
        refers=TO_VERSION | TO_RUN | TO_QUERY | TO_DOCUMENT,
        rule=_grade_or_problem,
    ),
    Member(
        "judge_probes",
        {"run": whole(1)} | VERSION | {"query": TEXT, "kind": one_of(*Probe.Kind.values)} | ANSWER,
        unique=(("judge", "version", "query", "kind"),),
        refers=TO_VERSION | TO_RUN | TO_QUERY,
        rule=_grade_or_problem,
    ),
    Member(
        "judge_samples",
        {NUMBER: whole(1), "judge": TEXT, "drawn": FLAG, "seed": maybe(SEED), "options": OBJECT}
        | {"created_at": MOMENT},
        unique=((NUMBER,),),
        refers=TO_JUDGE,
        rule=_has_its_seed,
    ),
    Member(
        "sampled_pairs",
        {"sample": whole(1), "query": TEXT, "document": TEXT}
        | {"stratum": text(100), "probability": maybe(CHANCE)},
        unique=(("sample", "query", "document"),),
        refers={"sample": ("judge_samples", ("sample",))} | TO_QUERY | TO_DOCUMENT,
    ),
)
