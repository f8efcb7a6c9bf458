"""The rows that formats read and write: one type for each kind, with the line on which a row begins."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from ..words import counted
from . import values
from .refusal import Cure, Option, Refusal, WrongCell, cure_of
from .source import Source

ID_CURE = "Write the id as text, as otherwise 1.10 and 1.1 would be one id."


class Topic(NamedTuple):
    """One query. None: the file has no such fact. "": the file says that there is none."""

    line: int
    key: str | None
    text: str
    need: str | None = None
    tags: tuple[str, ...] | None = None
    weight: float | None = None
    fields: dict[str, Any] | None = None


class DocumentLine(NamedTuple):
    """One document. None: the file has no such part. "": the file says that it is empty."""

    line: int
    key: str
    title: str | None = None
    body: str | None = None
    url: str | None = None
    fields: dict[str, Any] | None = None


class RunLine(NamedTuple):
    line: int
    query: str  # its key or its text, by the format
    document: str
    rank: int
    score: float
    system: str  # "" where the file names none


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some lines of a run that belong to one ranking, in their order: the facts of a RunLine, as arrays[lines].

    A ranking with lines in several blocks of a file comes as several stretches.
    """

    query: str
    system: str
    lines: np.ndarray  # int64
    documents: Any  # an Arrow array of strings
    ranks: np.ndarray  # int64
    scores: np.ndarray  # float64

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def line(self) -> int:
        """The number of the first line."""
        return int(self.lines[0])


def checked_id(value: Any, what: str, longest: int, source: Source) -> str:
    """The text or whole number as an id, with %20 for each blank, which a note tells. Raises ValueError."""
    if not isinstance(value, str | int | None) or isinstance(value, bool):  # True is an int, too
        raise WrongCell(f"the {what} is {values.quoted(value)}, neither text nor a whole number", ID_CURE)
    text = "" if value is None else str(value).strip()
    key = values.without_blanks(text)
    if key != text:
        source.note_once(f"ids with blanks have {values.BLANK} for each, as runs and qrels do.")
    return values.checked_key(key, what, longest)


def rows_or_refusals(source: Source, items: Iterable, rows_of: Callable[[Any], Iterable], cure: Cure) -> Iterator:
    """The rows that `rows_of` makes of each item, or a refusal of the item where `rows_of` raises ValueError.

    `items`: what a reader gives, tuples that begin with the number of their line. Refusals among them are passed
    on. `cure`: of a ValueError that has no cure of its own.
    """
    for item in items:
        if isinstance(item, Refusal):
            yield item
            continue
        try:
            yield from rows_of(item)
        except ValueError as error:
            line = item[0]
            yield source.refusal(line, str(error), *cure_of(error, cure))


def one_by_one(rows: Iterable[Any]) -> Iterator[Any]:
    """The rows, with the lines of a stretch in place of it."""
    for row in rows:
        if not isinstance(row, Stretch):
            yield row
            continue
        cells = row.lines.tolist(), row.documents.to_pylist(), row.ranks.tolist(), row.scores.tolist()
        for line, *result in zip(*cells, strict=True):
            yield RunLine(line, row.query, *result, row.system)


class RatingLine(NamedTuple):
    """The rating of one pair by one rater: a grade, or the reason why the pair cannot be judged."""

    line: int
    query: str  # its key or its text, by the format
    document: str
    rater: str  # "" where the file names none
    grade: Decimal | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    rated_at: datetime | None = None


# The columns of written tables, by kind of row. Judgments are the one grade of each pair, without a rater.
WRITTEN_COLUMNS = {
    "results": ["query", "document", "rank", "score", "system"],
    "ratings": ["query", "document", "rater", "grade", "reason", "comment", "seconds", "rated_at"],
    "judgments": ["query", "document", "grade"],
}


def written_cells(kind: str, row: RunLine | RatingLine) -> list[Any]:
    """The values of the columns that are written."""
    return [getattr(row, name) for name in WRITTEN_COLUMNS[kind]]


def taken(array: Any, places: np.ndarray) -> Any:
    """The elements of an Arrow array at these places, int64[n]."""
    import pyarrow as pa

    # As a buffer: given NumPy's array, Arrow would first import pandas.
    indices = pa.py_buffer(np.ascontiguousarray(places, np.int64))
    return array.take(pa.Array.from_buffers(pa.int64(), len(places), [None, indices]))


def size_of(row: tuple) -> int:
    """About how many bytes of text a row has. A few bytes of a file may become the text of many rows."""
    return sum(len(str(value)) for value in row if isinstance(value, str | dict))


def unique_topics(
    source: Source, topics: Iterable[Topic | Refusal], cure: str, *, of_table: bool = False
) -> Iterator[Topic | Refusal]:
    """Each query once, with the need, tags and weight that any of its lines gives; and the refusals.

    A line is refused with `cure` where one of these facts is another one than on an earlier line. The refusal
    refers to the first line of the query, even where a later one gave the fact. `of_table`: a note says how many
    lines repeat a query, and such a refusal offers the option that no column holds the fact.
    """
    merged: dict[tuple, Topic] = {}  # (key, text) -> the first topic of a query, with facts of the later ones
    empty_values = (None, "", ())  # of a fact that a line does not give; an empty cell contradicts no other one
    repeat_count = 0  # lines with a query that an earlier line has
    for topic in topics:
        if isinstance(topic, Refusal):
            yield topic
            continue
        query = topic.key, topic.text
        if merged.setdefault(query, topic) is topic:
            continue  # the first line of this query
        repeat_count += 1
        for fact, name in (("need", "information need"), ("tags", "tag"), ("weight", "weight")):
            earlier, later = getattr(merged[query], fact), getattr(topic, fact)
            if later in (*empty_values, earlier):
                continue
            if earlier in empty_values:
                merged[query] = merged[query]._replace(**{fact: later})
            else:
                problem = f"query {values.quoted(topic.text)} has another {name}"
                no_column = [Option("columns", {fact: ""}, "no column holds it")] if of_table else []
                yield source.refusal(topic.line, problem, cure, *no_column, other=source.at(merged[query].line))
    if repeat_count and of_table:
        lines = counted(repeat_count, "line names", "lines name")
        source.notes.append(f"{source.name}: {lines} an earlier query again.")
    yield from merged.values()
