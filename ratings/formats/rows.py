"""What a format reads and writes: one shape for each kind of row, with the line on which it begins."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from . import values
from .refusal import Refusal
from .source import Source


class Topic(NamedTuple):
    """One query. None means that the file says nothing of it; "" that it says there is none."""

    line: int
    key: str | None
    text: str
    need: str | None = None
    tags: tuple[str, ...] | None = None
    weight: float | None = None


class DocumentLine(NamedTuple):
    line: int
    key: str
    title: str
    body: str
    url: str
    fields: dict[str, Any]


class RunLine(NamedTuple):
    line: int
    query: str  # as the format names it: the key, or the text
    document: str
    rank: int
    score: float
    system: str  # "" where the file names none
    extra: bool = False  # further columns stood behind the six


@dataclass(frozen=True, eq=False)
class Stretch:
    """Lines of a run that follow each other and are of one ranking: what a RunLine says, for all of them."""

    line: int  # the first
    query: str
    system: str
    documents: list[str]
    ranks: np.ndarray  # int64
    scores: np.ndarray  # float64

    def __len__(self) -> int:
        return len(self.documents)


class RatingLine(NamedTuple):
    """What one rater said of one pair: a grade, or why it cannot be judged."""

    line: int
    query: str  # as the format names it: the key, or the text
    document: str
    rater: str  # "" where the file names none
    grade: Decimal | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    rated_at: datetime | None = None


def once(source: Source, topics: Iterable[Topic | Refusal], cure: str) -> Iterator[Topic | Refusal]:
    """Each query once, from a format that says it with each of its documents. Refuses a second need."""
    found: dict[tuple, Topic] = {}
    for topic in topics:
        if isinstance(topic, Refusal):
            yield topic
            continue
        name = topic.key, topic.text
        before = found.setdefault(name, topic)
        if before.need and topic.need and topic.need != before.need:
            problem = f"query {values.shown(topic.text)} has another information need on line {before.line}"
            yield source.refusal(topic.line, problem, cure)
        elif not before.need:
            found[name] = before._replace(need=topic.need)
    yield from found.values()
