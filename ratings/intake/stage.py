"""Rows of one import on disk, between reading and writing."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ..formats.known import BY_NAME, Format, recognised
from ..formats.refusal import Refusal
from ..formats.rows import Stretch
from ..formats.source import Source, place
from .report import Report, counted

# Told now and then: what is read or written, how much of it (0 to 1, None where unknown), and how many rows.
Progress = Callable[[str, float | None, int], None]
BATCH = 5_000
TICK = 5_000


def silent(name: str, share: float | None, rows: int) -> None:
    pass


@contextmanager
def staged(*tables: str) -> Iterator[sqlite3.Connection]:
    """An empty temporary database on disk, deleted when closed. It needs no journal: nobody recovers it."""
    stage = sqlite3.connect("")
    try:
        stage.execute("PRAGMA journal_mode = OFF")
        stage.execute("PRAGMA cache_size = -32000")
        for table in tables:
            stage.execute(f"CREATE TABLE {table}")
        yield stage
    finally:
        stage.close()


def put(stage: sqlite3.Connection, table: str, rows: Iterable[tuple]) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        marks = ",".join("?" * len(batch[0]))
        stage.executemany(f"INSERT INTO {table} VALUES ({marks})", batch)


def batched(rows: Iterable[Any], size: int = BATCH) -> Iterator[list]:
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def format_of(source: Source, kind: str, name: str | None, default: str, report: Report) -> Format | None:
    """The format called `name`, or the one that `source` shows; None where it shows none, which is reported."""
    if name is not None:
        return BY_NAME[name]
    found = recognised(source, kind, default)
    if isinstance(found, Refusal):
        report.refuse(found)
        return None
    return found


def rows_of(source: Source, read: Callable, report: Report, progress: Progress) -> Iterator[Any]:
    """The rows that `read` finds in `source`. What it refuses, and an empty source, go to the report."""
    count, told = 0, 0
    for row in read(source):
        count += len(row) if isinstance(row, Stretch) else 1
        if count >= told + TICK:
            progress(source.name, source.share, count)
            told = count
        if isinstance(row, Refusal):
            report.refuse(row)
        else:
            yield row
    if count == 0:
        report.refuse(source.refusal(0, "there is nothing in it", "Check that this is the file you meant."))
    report.cut_off |= source.stopped
    report.facts += source.told
    if source.comments:
        lines = counted(source.comments, "comment (line that begins with #)", "comments (lines that begin with #)")
        report.facts.append(f"{source.name}: {lines} passed over.")


def refuse_repeats(
    stage: sqlite3.Connection, table: str, what: str, sources: list[Source], report: Report
) -> None:
    """Refuse each further row with the key of an earlier one. The table has the columns key, file and line."""
    stage.execute(f"CREATE INDEX {table}_by_key ON {table} (key)")
    rows = stage.execute(
        f"SELECT key, file, line FROM {table} WHERE key IN"
        f" (SELECT key FROM {table} GROUP BY key HAVING COUNT(*) > 1) ORDER BY key, rowid"
    )
    earlier = None
    for key, file, line in rows:
        if earlier is None or earlier[0] != key:
            earlier = (key, file, line)
            continue
        report.refuse(
            sources[file].refusal(
                line,
                f"{what} {key} stands on {place(sources, *earlier[1:], seen_from=file)} already",
                "Keep one of the two.",
            )
        )
