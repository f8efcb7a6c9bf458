"""What lines of an archive must hold beyond the types of their columns and the rules of the database.

Pages read JSON of rounds, presentations and judges without checks, so an archive may bring only the right shapes.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from django.db.models import Model

from ..formats import values
from ..formats.values import quoted
from ..models import (
    Collection,
    Document,
    Job,
    Picture,
    Presentation,
    Query,
    Ranking,
    Rater,
    Round,
    Sample,
)
from ..presentation.parts import Presented

DIGEST = re.compile("[0-9a-f]{64}")
PICTURE = re.compile(f"pictures/{DIGEST.pattern}\\.webp")  # under the SHA-256 of its content
TEXTS = {"measure", "profile", "rule", "adjudications"}
COLUMNS = ("mean", "low", "high", "best")
LONGEST = 500  # characters of a text within an aim
Line = dict[str, Any]


def check(model: type[Model], line: Line) -> None:
    """Raises ValueError for a line that pages or programs could not use."""
    if rule := RULES.get(model):
        rule(line)


def _collection(line: Line) -> None:
    if line["aim"] != {}:
        _aim(line["aim"], {*TEXTS, "options", "systems"})


def _key(line: Line) -> None:
    values.checked_key(text(line["key"]), "key", values.DOCUMENT_KEY_LENGTH)


def _presentation(line: Line) -> None:
    line["content"] = Presented.read(line["content"]).as_json()


def _picture(line: Line) -> None:
    files = [line["small"], line["large"]]
    if not all(DIGEST.fullmatch(text(each)) for each in (line["digest"], *filter(None, files))):
        raise ValueError("a digest is no SHA-256")
    if all(files) != (line["state"] == Picture.State.READY) or any(files) != all(files):
        raise ValueError("a picture must have a small and a large file if it is ready, and only then")


def _ranking(line: Line) -> None:
    documents, scores = line["documents"], line["scores"]
    if not is_list(documents, str) or len(set(documents)) < len(documents):
        raise ValueError("the documents are no list of different keys")
    if scores is not None and not (is_list(scores, int, float) and len(scores) == len(documents)):
        raise ValueError("there are not as many scores as documents")
    if not all(abs(score) < math.inf for score in scores or ()):
        raise ValueError("a score is no finite number")


def _rater(line: Line) -> None:
    if line["kind"] == "machine":
        raise ValueError(
            "a machine is not a rater: its grades never count as a person's. Take its lines out of this file and"
            " of those that name it, and import its grades with import_ratings --kind machine"
        )


def _round(line: Line) -> None:
    _aim(line["aim"], {*TEXTS, "options", "systems", "gains"})
    if line["aim"]["systems"] is None or not is_list(line["aim"]["gains"], int, float):
        raise ValueError("the aim lacks systems or gains")
    seen = line["seen"]
    if not isinstance(seen, dict) or seen.keys() - {"machines", "triage"} != {*COLUMNS, "wrong"}:
        raise ValueError(f"{quoted(seen)} must have {', '.join(COLUMNS)} and wrong")
    if not all(is_list(seen.get(name, []), str) for name in ("machines", "triage")):
        raise ValueError("the machines of the round are no list of texts")
    numbers = [seen[name] for name in COLUMNS]
    if not all(is_list(each, int, float, type(None)) for each in (*numbers, [seen["wrong"]])):
        raise ValueError("what was seen has other values than numbers")
    if any(len(each) != len(line["aim"]["systems"]) for each in numbers):
        raise ValueError("seen must have a number for each system of the aim")


def _sample(line: Line) -> None:
    strata = line["strata"]
    names = {"name", "size", "queries", "searches", "certain", "certain_searches", "drawn"}
    if not is_list(strata, dict) or not strata or any(each.keys() != names for each in strata):
        raise ValueError(f"the strata are no list of objects with {', '.join(sorted(names))}")
    if not all(isinstance(each.pop("name"), str) and is_list([*each.values()], int) for each in map(dict, strata)):
        raise ValueError("a stratum has a name that is no text, or a value that is no whole number")


def _aim(value: Any, names: set[str]) -> None:
    if not isinstance(value, dict) or value.keys() != names or not isinstance(value["options"], dict):
        raise ValueError(f"{quoted(value)} must be an object with only {', '.join(sorted(names))}")
    systems = value["systems"]
    if systems is not None and not isinstance(systems, list):
        raise ValueError(f"{quoted(systems)} is not a list of systems")
    texts = [value[name] for name in TEXTS]
    texts += [*value["options"], *value["options"].values(), *(systems or [])]
    if not all(isinstance(each, str) and len(each) <= LONGEST for each in texts):
        raise ValueError(f"{quoted(value)} must have only texts of at most {LONGEST} characters")


def _import(line: Line) -> None:
    if line["state"] not in (Job.State.PUBLISHED, Job.State.UNDONE):
        raise ValueError(f"{quoted(line['state'])} is neither published nor undone")
    if not is_list(line["files"], dict) or any(each.keys() != {"name"} for each in line["files"]):
        raise ValueError("the files are no list of names")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value)} is not a text")
    return value


def is_list(value: Any, *types: type) -> bool:
    return isinstance(value, list) and all(type(each) in types for each in value)


# The judges add those of their tables.
RULES: dict[type[Model], Callable[[Line], None]] = {
    Collection: _collection,
    Query: _key,
    Document: _key,
    Presentation: _presentation,
    Picture: _picture,
    Ranking: _ranking,
    Rater: _rater,
    Round: _round,
    Job: _import,
    Sample: _sample,
}
