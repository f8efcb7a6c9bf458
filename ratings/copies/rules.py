"""What lines of an archive must hold beyond the types of their columns and the rules of the database.

Only what could do harm: keys that no file can hold, names of files, presentations, and jobs that a worker would
take up. Its hashes show that the rest is as it was exported.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from django.db.models import Model

from ..formats import values
from ..formats.values import quoted
from ..models import Document, Job, Picture, Presentation, Query, Ranking
from ..presentation.parts import Presented

DIGEST = re.compile("[0-9a-f]{64}")
PICTURE = re.compile(f"pictures/{DIGEST.pattern}\\.webp")  # under the SHA-256 of its content
Line = dict[str, Any]


def check(model: type[Model], line: Line) -> None:
    """Raises ValueError for a line that pages or programs could not use."""
    if rule := RULES.get(model):
        rule(line)


def _key(line: Line) -> None:
    values.checked_key(text(line["key"]), "key", values.DOCUMENT_KEY_LENGTH)


def _presentation(line: Line) -> None:
    line["content"] = Presented.read(line["content"]).as_json()


def _picture(line: Line) -> None:
    files = [digest for digest in (line["small"], line["large"]) if digest]
    if not all(DIGEST.fullmatch(text(digest)) for digest in (line["digest"], *files)):
        raise ValueError("a digest is no SHA-256")
    if len(files) != (2 if line["state"] == Picture.State.READY else 0):
        raise ValueError("a picture must have a small and a large file if it is ready, and only then")


def _ranking(line: Line) -> None:
    documents, scores = line["documents"], line["scores"]
    if not is_list(documents, str) or len(set(documents)) < len(documents):
        raise ValueError("the documents are no list of different keys")
    if scores is not None and not (is_list(scores, int, float) and len(scores) == len(documents)):
        raise ValueError("there are not as many scores as documents")
    if not all(abs(score) < math.inf for score in scores or ()):
        raise ValueError("a score is no finite number")


def _import(line: Line) -> None:
    if line["state"] not in (Job.State.PUBLISHED, Job.State.UNDONE):
        raise ValueError(f"{quoted(line['state'])} is neither published nor undone")
    if not is_list(line["files"], dict) or any(file.keys() != {"name"} for file in line["files"]):
        raise ValueError("the files are no list of names")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value)} is not a text")
    return value


def is_list(value: Any, *types: type) -> bool:
    return isinstance(value, list) and all(type(each) in types for each in value)


# The judges add those of their tables.
RULES: dict[type[Model], Callable[[Line], None]] = {
    Query: _key,
    Document: _key,
    Presentation: _presentation,
    Picture: _picture,
    Ranking: _ranking,
    Job: _import,
}
