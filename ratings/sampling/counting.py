"""A log counted: its distinct queries and how often each was searched for, in memory that does not grow with it.

Searches are counted in pieces of a bounded size, which SQLite sorts and adds up on disk.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby

import numpy as np

from ..formats import searches, values
from ..formats.budget import CURE, TooMuch
from ..formats.refusal import Refusal
from ..formats.source import Source
from ..importing.intake.report import Report
from ..importing.intake.stage import Progress, batched, silent, staged
from ..words import counted
from .drawing import Stratum

AT_ONCE = 200_000  # different queries that are counted in memory
TICK = 50_000  # lines
MOST_REFUSED = 0.01  # the share of lines that are left out; a log with more is refused
SHOWN = 10  # joined queries
SPELLINGS = 5  # of each of them
MOST_STRATA = 20
RAW = "raw (folded TEXT, text TEXT, stratum TEXT, id TEXT, n INTEGER)"
QUERY = "query (place INTEGER PRIMARY KEY, text TEXT, stratum TEXT, n INTEGER, folded TEXT, spellings INTEGER)"


@dataclass
class Row:
    """One query of a log. Its place counts from 1, by stratum and then with the most frequent first."""

    place: int
    text: str
    stratum: str
    count: int
    folded: str


@dataclass
class Log:
    """A counted log, in a database that lives as long as the context that made it."""

    stage: sqlite3.Connection
    lines: int = 0
    cut_off: bool = False  # a file could not be read to its end
    first_day: str = ""
    last_day: str = ""
    digest: str = ""
    strata: list[Stratum] = field(default_factory=list)
    joined: int = 0  # queries with several spellings
    examples: list[tuple[str, int, list[str]]] = field(default_factory=list)  # text, count, other spellings

    @property
    def queries(self) -> int:
        return sum(stratum.size for stratum in self.strata)

    @property
    def searches(self) -> int:
        return sum(stratum.searches for stratum in self.strata)

    @property
    def days(self) -> str:
        if not self.first_day:
            return ""
        return self.first_day if self.first_day == self.last_day else f"{self.first_day} to {self.last_day}"

    def rows(self, places: Iterable[int]) -> list[Row]:
        """The queries at these places, in their order."""
        found = []
        for some in batched(sorted(places), 500):
            marks = ",".join("?" * len(some))
            columns = f"place, text, stratum, n, folded FROM query WHERE place IN ({marks})"
            found += [Row(*row) for row in self.stage.execute(f"SELECT {columns} ORDER BY place", some)]
        return found


def folded(text: str) -> str:
    """What spellings of one query share: without case, with one blank between words, composed (NFC)."""
    return values.folded(text.lower())


@contextmanager
def counted_log(
    sources: Sequence[Source], report: Report, *, format: str = "", progress: Progress = silent
) -> Iterator[Log]:
    """The log in these files together, counted. Refusals go to the report; then the log is not whole."""
    with staged(RAW, QUERY) as stage:
        log = Log(stage)
        by_id = False
        for source in sources:
            by_id |= _read(source, format, log, report, progress)
        _judge_refusals(log, report)
        if not report.refused:
            progress("adding up", None, log.lines)
            _add_up(log, by_id)
            _describe(log, report)
        yield log


def _read(source: Source, format: str, log: Log, report: Report, progress: Progress) -> bool:
    """Count the searches of a file into the stage. Whether they have ids."""
    counts: dict[tuple[str, str, str], int] = {}
    lines, by_id = 0, False
    for row in searches.read(source, format):
        lines += 1
        if lines % TICK == 0:
            progress(source.name, source.share, lines)
        if isinstance(row, Refusal):
            report.refuse(row)
            continue
        key = row.text, row.stratum, row.id
        if row.id:
            counts[key] = row.searches  # the same search again
            by_id = True
        else:
            counts[key] = counts.get(key, 0) + row.searches
        if row.day:
            log.first_day = min(log.first_day or row.day, row.day)
            log.last_day = max(log.last_day, row.day)
        if len(counts) >= AT_ONCE and not _keep(source, counts, log, report):
            break
    _keep(source, counts, log, report)
    if not lines:
        report.refuse(source.refusal(0, "it holds no search", "Check that this is the file you meant."))
    log.lines += lines
    log.cut_off |= source.stopped
    report.facts += source.notes
    return by_id


def _keep(source: Source, counts: dict[tuple[str, str, str], int], log: Log, report: Report) -> bool:
    """Put the counts into the stage and empty them. Whether there is room for more of this file."""
    try:
        source.budget.make(sum(2 * len(text) + len(id) + 16 for text, _, id in counts))
    except TooMuch as error:
        report.refuse(source.stop(0, str(error), CURE))
        counts.clear()
        return False
    rows = ((folded(text), text, stratum, id, n) for (text, stratum, id), n in counts.items())
    log.stage.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?)", rows)
    counts.clear()
    return True


def _judge_refusals(log: Log, report: Report) -> None:
    """Leave refused lines out with a warning where they are few and reading went to the end."""
    if not report.refused or log.cut_off or report.refused > MOST_REFUSED * log.lines:
        return
    first, more = report.refusals[0], report.refused - 1
    others = f" and {counted(more, 'more line')}" if more else ""
    report.warnings.append(f"{first.message()} This line{others} left out.")
    report.refused = 0
    report.refusals.clear()


def _add_up(log: Log, by_id: bool) -> None:
    """Fill the table of queries: each text once, with the spelling and the stratum that it has most often."""
    execute = log.stage.execute
    if by_id:  # of the lines of one search, one counts
        execute(
            "CREATE TABLE once AS SELECT folded, text, stratum, '' AS id, MAX(n) AS n FROM raw WHERE id != ''"
            " GROUP BY folded, id"
        )
        execute("DELETE FROM raw WHERE id != ''")
        execute("INSERT INTO raw SELECT folded, text, stratum, id, n FROM once")
        execute("DROP TABLE once")
    # Of a group, SQLite takes the other columns from the row with the greatest n.
    spellings = "SELECT folded, text, stratum, SUM(n) AS n FROM raw GROUP BY folded, text, stratum"
    sums = (
        "SELECT text, stratum, SUM(n) AS sum, folded, COUNT(DISTINCT text) AS spellings, MAX(n)"
        f" FROM ({spellings}) GROUP BY folded"
    )
    execute(
        "INSERT INTO query (text, stratum, n, folded, spellings)"
        f" SELECT text, stratum, sum, folded, spellings FROM ({sums}) ORDER BY stratum, sum DESC, folded"
    )


def _describe(log: Log, report: Report) -> None:
    digest = sha256()
    for row in log.stage.execute("SELECT stratum, n, folded FROM query ORDER BY place"):
        digest.update(f"{row[0]}\0{row[1]}\0{row[2]}\n".encode())
    log.digest = digest.hexdigest()
    runs = log.stage.execute("SELECT stratum, n, COUNT(*) FROM query GROUP BY stratum, n ORDER BY stratum, n DESC")
    for name, group in groupby(runs, key=lambda row: row[0]):
        counts, queries = np.array([row[1:] for row in group], np.int64).T
        log.strata.append(Stratum(name, counts, queries))
        if len(log.strata) > MOST_STRATA:
            problem = f"the column of strata has more than {MOST_STRATA} different values"
            report.refuse(Refusal("the log", 0, problem, ("Choose a column with few values, or none.",)))
            return
    (log.joined,) = log.stage.execute("SELECT COUNT(*) FROM query WHERE spellings > 1").fetchone()
    most = f"SELECT folded, text, n FROM query WHERE spellings > 1 ORDER BY n DESC, folded LIMIT {SHOWN}"
    joined = {key: (text, n) for key, text, n in log.stage.execute(most)}
    others: dict[str, list[str]] = {key: [] for key in joined}
    marks = ",".join("?" * len(joined))
    statement = f"SELECT folded, text FROM raw WHERE folded IN ({marks}) GROUP BY text ORDER BY SUM(n) DESC, text"
    for key, spelling in log.stage.execute(statement, list(joined)):
        if spelling != joined[key][0]:
            others[key].append(spelling)
    log.examples = [(*joined[key], others[key][:SPELLINGS]) for key in joined]
