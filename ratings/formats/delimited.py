"""Ratings as comma-separated values with a header, read and written (RFC 4180: a quoted cell may hold lines)."""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from . import values
from .refusal import Refusal
from .source import Source

COLUMNS = ["query", "document", "rater", "grade", "reason", "comment", "seconds", "rated_at"]
NEEDED = COLUMNS[:4]
CURE = f"The header is {','.join(COLUMNS)}; the first four are needed."


class RatingLine(NamedTuple):
    """What one rater said of one pair: a grade, or why it cannot be judged."""

    line: int
    query: str
    document: str
    rater: str
    grade: Decimal | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    rated_at: datetime | None = None


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """Ratings in the order of the file, each with the line on which it begins. Stops where the CSV is broken."""
    broken: list[Refusal] = []

    def text_lines() -> Iterator[str]:
        for item in source.lines():
            if isinstance(item, Refusal):
                broken.append(item)  # a cell may run over lines: what follows cannot be trusted
                return
            yield item.text + "\n"

    reader = csv.reader(text_lines(), strict=True)
    begun = 1
    try:
        header = next(reader, None)
        if header is not None:
            if problem := _wrong_in_header(header):
                yield source.refusal(1, problem, CURE)
                return
            begun = reader.line_num + 1
        for cells in reader:
            if cells and not broken:
                yield _rating(source, begun, header, cells)
            begun = reader.line_num + 1
    except csv.Error as error:
        if not broken:
            yield source.refusal(begun, f"the CSV is broken in the record that begins here ({error})", CURE)
    yield from broken


def write_ratings(rows: Iterable[RatingLine]) -> Iterator[str]:
    """The header and one record a rating. Reading them gives the same rows again."""
    write = csv.writer(_Echo()).writerow
    yield write(COLUMNS)
    for row in rows:
        grade = "" if row.grade is None else f"{row.grade:f}"
        if "." in grade:
            grade = grade.rstrip("0").rstrip(".")
        seconds = "" if row.seconds is None else repr(row.seconds)
        at = "" if row.rated_at is None else row.rated_at.isoformat()
        yield write([row.query, row.document, row.rater, grade, row.reason, row.comment, seconds, at])


class _Echo:
    def write(self, text: str) -> str:
        return text


def _wrong_in_header(header: list[str]) -> str:
    unknown = [name for name in header if name not in COLUMNS]
    missing = [name for name in NEEDED if name not in header]
    if missing:
        return f"the header {values.shown(','.join(header))} lacks {', '.join(missing)}"
    if unknown:
        return f"the header has the unknown column {values.shown(unknown[0])}"
    if len(set(header)) < len(header):
        return f"the header {values.shown(','.join(header))} names a column twice"
    return ""


def _rating(source: Source, line: int, header: list[str], cells: list[str]) -> RatingLine | Refusal:
    if len(cells) != len(header):
        return source.refusal(line, f"there are {len(cells)} cells, the header has {len(header)}", CURE)
    row = dict(zip(header, cells, strict=True))
    try:
        grade = values.grade(row["grade"]) if row["grade"] else None
        reason = row.get("reason", "")
        if (grade is None) == (reason == ""):
            raise ValueError("a rating needs a grade or a reason why the pair cannot be judged, and not both")
        return RatingLine(
            line,
            values.checked_key(row["query"], "query", values.QUERY_KEY_LENGTH),
            values.checked_key(row["document"], "document", values.DOCUMENT_KEY_LENGTH),
            values.checked_name(row["rater"], "rater", values.RATER_NAME_LENGTH),
            grade,
            reason,
            row.get("comment", ""),
            _seconds(row.get("seconds", "")),
            _moment(row.get("rated_at", "")),
        )
    except ValueError as error:
        return source.refusal(line, str(error), "Correct the cell.")


def _seconds(text: str) -> float | None:
    if not text:
        return None
    seconds = values.number(text, "number of seconds")
    if seconds < 0:
        raise ValueError(f"the number of seconds {values.shown(text)} is negative")
    return seconds


def _moment(text: str) -> datetime | None:
    """A time without an offset is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"rated_at {values.shown(text)} is not a time such as 2026-03-02T09:00:00+00:00"
        ) from error
