"""Checks of the JSON that rounds store: `Collection.aim`, `Round.aim` and `Round.seen`.

Pages read this JSON without checks, so an archive may bring only what has the right shape.
"""

import json
from typing import Any

from ..formats import values

TEXTS = ("measure", "profile", "rule", "adjudications")
LONGEST = 500
COLUMNS = ("mean", "low", "high", "best")
MACHINES = ("machines", "triage")  # see models/rounds.py


def aim_of_collection(value: Any) -> str:
    """The JSON text of an aim. It may be empty, if nothing was chosen."""
    return json.dumps(value) if value == {} else _aim(value, {*TEXTS, "options", "systems"})


def aim_of_round(value: Any) -> str:
    """The JSON text of an aim with the systems and gains of its round."""
    text = _aim(value, {*TEXTS, "options", "systems", "gains"})
    if not _is_list(value["gains"], int, float):
        raise ValueError(f"{values.quoted(value['gains'])} is not a list of gains")
    if value["systems"] is None:
        raise ValueError("the systems are missing")
    return text


def standing(value: Any) -> str:
    """The JSON text of the standing of the systems when a round was drawn, and the machines behind it."""
    if not isinstance(value, dict) or value.keys() - {*MACHINES} != {*COLUMNS, "wrong"}:
        need, may = ", ".join([*COLUMNS, "wrong"]), " or ".join(MACHINES)
        raise ValueError(f"{values.quoted(value)} must have {need}, may have {may}, and nothing else")
    for named in (value.get(name, []) for name in MACHINES):
        if not _is_list(named, str) or any(len(name) > LONGEST for name in named):
            raise ValueError(f"{values.quoted(named)} is not a list of texts of {LONGEST} characters at most")
    for name in COLUMNS:
        if not _is_list(value[name], int, float, type(None)):
            raise ValueError(f"{values.quoted(value[name])} is not a list of numbers")
    if not _is_list([value["wrong"]], int, float, type(None)):
        raise ValueError(f"{values.quoted(value['wrong'])} is not a chance")
    return json.dumps(value)


def standing_problem(row: dict) -> str:
    """The problem of a round's line as a whole, "" for none: `seen` needs a number for each system."""
    systems = row["aim"]["systems"]
    same = all(len(row["seen"][name]) == len(systems) for name in COLUMNS)
    return "" if same else "seen must have a number for each system of the aim"


def _aim(value: Any, names: set[str]) -> str:
    if not isinstance(value, dict) or value.keys() != names:
        raise ValueError(f"{values.quoted(value)} must have only {', '.join(sorted(names))}")
    texts = [value[name] for name in TEXTS]
    if isinstance(value["options"], dict):
        texts += [*value["options"], *value["options"].values()]
    else:
        raise ValueError(f"{values.quoted(value['options'])} is not an object of options")
    texts += value["systems"] if isinstance(value["systems"], list) else []
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        raise ValueError(f"{values.quoted(value)} must have only texts of at most {LONGEST} characters")
    if value["systems"] is not None and not isinstance(value["systems"], list):
        raise ValueError(f"{values.quoted(value['systems'])} is not a list of systems")
    return json.dumps(value)


def _is_list(value: Any, *types: type) -> bool:
    return isinstance(value, list) and all(type(each) in types for each in value)
