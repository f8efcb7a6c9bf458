"""One import, and its rows in a temporary database, the stage, between reading and writing."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, islice
from typing import Any, TypeVar

from ...formats import budget
from ...formats.budget import TooMuch
from ...formats.refusal import KEEP_ONE, Refusal
from ...formats.registry import BY_NAME, Format, recognised, with_other_columns
from ...formats.rows import Stretch, size_of
from ...formats.source import Source
from ...models import Collection, Job
from ...presentation.blindness import revealing
from ...presentation.versions import latest_presented
from ...words import counted
from .publishing import land
from .report import Report

# Called every few thousand rows with the name of the step, the share that is done (None: unknown), and the rows.
Progress = Callable[[str, float | None, int], None]
T = TypeVar("T")
ROWS_AT_ONCE = 5_000
ROWS_PER_TICK = 5_000  # between two calls of `progress`
BYTES_PER_ROW = 32  # that a row takes on disk beside its text
COMMENTS = "comment (line that begins with #)", "comments (lines that begin with #)"
BYTES_PER_CHECK = 1 << 16  # of rows, between two calls of the budget


def silent(name: str, share: float | None, rows: int) -> None:
    pass


@dataclass
class Import:
    """One import: its files, its options and its report. Subclasses import rows of one kind.

    Without a `format` each file is recognised by its content. A worker passes its `job`, which may ask for a check
    only; without one a job is made when the import begins to write.
    """

    kind = ""  # of rows and of jobs
    table = ""  # of the stage: its name, and its columns in brackets
    usual_format = ""  # where neither `format` nor the content of a file names one

    collection: Collection
    sources: Sequence[Source]
    format: str | None = None
    progress: Progress = silent
    job: Job | None = None
    report: Report = field(default_factory=Report, init=False)

    @property
    def checking(self) -> bool:
        """Whether the import is only checked and writes nothing."""
        return bool(self.job and self.job.checking)

    def format_of(self, source: Source) -> Format | None:
        """The format in which `source` is read; None, and a refusal in the report, if it is not recognised."""
        if self.format is not None:
            return BY_NAME[self.format]
        format = self._with_other_columns.get(source.name) or recognised(source, self.kind, self.usual_format)
        if isinstance(format, Refusal):
            self.report.refuse(format)
            return None
        return format

    @cached_property
    def _with_other_columns(self) -> dict[str, Refusal]:
        return with_other_columns(self.sources, self.kind)

    def rows_of(self, source: Source, read: Callable) -> Iterator[Any]:
        """The rows that `read` yields for `source`. Its refusals, and an empty source, go to the report."""
        count = 0  # rows, also refused ones
        shown_count = 0  # the count at the last call of `progress`
        for row in _within_budget(source, read(source)):
            count += len(row) if isinstance(row, Stretch) else 1
            if count >= shown_count + ROWS_PER_TICK:
                self.progress(source.name, source.share, count)
                shown_count = count
            if isinstance(row, Refusal):
                self.report.refuse(row)
            else:
                yield row
        if count == 0:
            cure = "Check that this is the file you meant."
            self.report.refuse(source.refusal(0, "it holds nothing to import", cure))
        self.report.facts += source.notes
        if source.comments:
            self.report.facts.append(f"{source.name}: {counted(source.comments, *COMMENTS)} skipped.")

    def run(self) -> Report:
        """The report of the import or, if it only checks, of what it would do."""
        if not self.report.refused:
            with staged(self.table) as self.stage:
                self._read()
                self._check()
                if not self.report.refused:
                    self._conclude()
        return self.report

    def _conclude(self) -> None:
        """Count in a check what the import would make, or write it as in `land`, and complete the report."""
        if self.checking:
            self._foresee()
            self._tell()
            return
        has_told = land(self.collection, self.sources, self.report, self.kind, self.job, self._write, self._tell)
        if not has_told and not self.report.refused:
            self._tell()

    # The steps, which subclasses define. Whatever they refuse goes to the report.

    def _read(self) -> None:
        """Write the rows of the files into the stage."""
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse what cannot be written."""

    def _foresee(self) -> None:
        """Count what the import would make."""

    def _write(self, job: Job) -> None:
        """Write the rows."""
        raise NotImplementedError

    def _tell(self) -> None:
        """Add to the report what was counted."""

    def drop_repeats(self, table: str, facts: Sequence[str]) -> None:
        """Keep the first of the rows of the stage that have the same key and the same `facts`."""
        self.stage.execute(f"CREATE INDEX {table}_by_key ON {table} (key)")
        repeated = f"SELECT key FROM {table} GROUP BY key HAVING COUNT(*) > 1"
        first = f"SELECT MIN(rowid) FROM {table} WHERE key IN ({repeated}) GROUP BY key, {', '.join(facts)}"
        statement = f"DELETE FROM {table} WHERE key IN ({repeated}) AND rowid NOT IN ({first})"
        if dropped := self.stage.execute(statement).rowcount:
            self.report.counts["duplicates"] += dropped

    def refuse_repeats(self, table: str) -> None:
        """Refuse each row that repeats the key of an earlier one. The table has the columns key, file and line.

        `table`: the name of the table, which is the word for one of its rows, such as document.
        """
        self.stage.execute(f"CREATE INDEX IF NOT EXISTS {table}_by_key ON {table} (key)")
        rows = self.stage.execute(
            f"SELECT key, file, line FROM {table} WHERE key IN"
            f" (SELECT key FROM {table} GROUP BY key HAVING COUNT(*) > 1) ORDER BY key, rowid"
        )
        for key, rows_of_key in groupby(rows, key=lambda row: row[0]):
            (_, first_file, first_line), *repeats = rows_of_key
            first_place = self.sources[first_file].at(first_line)
            problem = f"{table} {key} already appears"
            for _, file, line in repeats:
                self.report.refuse(self.sources[file].refusal(line, problem, KEEP_ONE, other=first_place))

    def warn_of_revealing_presentation(self) -> None:
        """Warn if the presentation shows raters ranks, scores or systems now. When it was saved, it did not."""
        if shown := revealing(self.collection, latest_presented(self.collection)):
            self.report.warnings.append(
                f"raters see {shown.path}, and in most rankings of {shown.system} it is the document's"
                f" {shown.fact}. Remove it from the presentation."
            )


@contextmanager
def staged(*tables: str) -> Iterator[sqlite3.Connection]:
    """A temporary database on disk with these empty tables, each given as its name and its columns in brackets.

    It is deleted when closed. It has no journal, as it is never recovered.
    """
    stage = sqlite3.connect("")  # "": a temporary file
    try:
        stage.execute("PRAGMA journal_mode = OFF")
        stage.execute("PRAGMA cache_size = -32000")  # negative: in KiB
        for table in tables:
            stage.execute(f"CREATE TABLE {table}")
        yield stage
    finally:
        stage.close()


def put(stage: sqlite3.Connection, table: str, rows: Iterable[tuple]) -> None:
    rows = iter(rows)
    for first in rows:  # one by one: a row may be large
        marks = ",".join("?" * len(first))
        stage.executemany(f"INSERT INTO {table} VALUES ({marks})", chain([first], rows))


def batched(rows: Iterable[Any], size: int = ROWS_AT_ONCE) -> Iterator[list]:
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def batched_by_length(
    rows: Iterable[T], length_of: Callable[[T], int], *, size: int, length: int
) -> Iterator[list[T]]:
    """Batches of at most `size` rows. They are no longer than `length` together, unless one row alone is."""
    batch: list[T] = []
    batch_length = 0
    for row in rows:
        row_length = length_of(row)
        if batch and (len(batch) == size or batch_length + row_length > length):
            yield batch
            batch, batch_length = [], 0
        batch.append(row)
        batch_length += row_length
    if batch:
        yield batch


def _within_budget(source: Source, rows: Iterable[Any]) -> Iterator[Any]:
    """The rows, until they exceed the budget of the source: the bytes that rows made of it may have.

    Beyond it a refusal comes in place of the next row. Rows are counted, since a few bytes of a file may become
    many rows or long ones. A stretch, several lines of a run in one object, is not counted: it has no more text
    than its lines in the file, which the budget limits as unpacked bytes.
    """
    size = 0  # bytes since the budget was last told
    for row in rows:
        if not isinstance(row, Refusal | Stretch):
            size += BYTES_PER_ROW + size_of(row)
        if size > BYTES_PER_CHECK:
            try:
                source.budget.charge(size)
            except TooMuch as error:
                yield source.stop(row.line, str(error), budget.CURE)
                return
            size = 0
        yield row
