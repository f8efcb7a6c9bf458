"""A log counted: its distinct queries and how often each was searched for, in memory that does not grow with it.

Searches are counted in pieces of a bounded size, which SQLite sorts and adds up on disk: in the stage, a temporary
database. A stratum is a part of the queries that is drawn from by itself.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby

import numpy as np

from ...formats import searches, values
from ...formats.budget import CURE, TooMuch
from ...formats.refusal import Refusal
from ...formats.source import Source
from ...models import SampledQuery
from ...words import counted
from ..intake.report import Report
from ..intake.stage import Progress, silent, staged
from .drawing import Stratum

QUERIES_AT_ONCE = 200_000  # different queries that are counted in memory
LINES_PER_TICK = 50_000
MOST_REFUSED = 0.01  # the share of lines that are left out; a log with more is refused
MOST_JOINED = 10  # queries with several spellings that are shown
SPELLINGS_SHOWN = 5  # of each of these
MOST_STRATA = 20
RAW = "raw (folded TEXT, text TEXT, stratum TEXT, id TEXT, n INTEGER)"
QUERY = "query (place INTEGER PRIMARY KEY, text TEXT, stratum TEXT, n INTEGER, folded TEXT, spellings INTEGER)"


@dataclass
class Log:
    """A counted log, in a database that lives as long as the context that made it."""

    stage: sqlite3.Connection
    lines: int = 0
    cut_off: bool = False  # a file could not be read to its end
    has_ids: bool = False  # its searches have ids, so that several lines can be one search
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
    def by_column(self) -> bool:
        """Whether a column divides it into strata."""
        return len(self.strata) > 1

    @property
    def days(self) -> str:
        if not self.first_day:
            return ""
        return self.first_day if self.first_day == self.last_day else f"{self.first_day} to {self.last_day}"

    def rows(self, places: Iterable[int]) -> list[SampledQuery]:
        """The queries at these places, in their order, without their chances. They are not stored."""
        chosen = "SELECT value FROM json_each(?)"
        selected = f"SELECT place, text, stratum, n FROM query WHERE place IN ({chosen}) ORDER BY place"
        found = self.stage.execute(selected, [json.dumps(list(places))])
        return [SampledQuery(place=place, text=text, stratum=name, count=n) for place, text, name, n in found]


def folded(text: str) -> str:
    """What spellings of one query share: without case, with one blank between words, composed (NFC)."""
    return values.visible_text(text.lower())


@contextmanager
def counted_log(
    sources: Sequence[Source], report: Report, *, format: str = "", progress: Progress = silent
) -> Iterator[Log]:
    """The log in these files together, counted. Refusals go to the report; then the log is not whole.

    `format`: a name of searches.FORMATS; "": each file shows its own.
    """
    with staged(RAW, QUERY) as stage:
        log = Log(stage)
        # Of each file: the refusal if it holds no queries, else None.
        no_queries = [_read(source, format, log, report, progress) for source in sources]
        _warn_of_files_without_queries([refusal for refusal in no_queries if refusal], sources, report)
        _make_few_refusals_a_warning(log, report)
        if not report.refused:
            progress("adding up", None, log.lines)
            _add_up(log)
            log.digest = _digest(stage)
            _read_strata(log, report)
            _read_spellings(log)
        yield log


def _read(source: Source, format: str, log: Log, report: Report, progress: Progress) -> searches.NoQueries | None:
    """Count the searches of a file into the stage, and its lines and days into the log.

    Refused lines go to the report, and reading goes on. Returns the refusal of a file that holds no queries, which
    is not in the report; None for a file with some.
    """
    counts: dict[tuple[str, str, str], int] = {}  # (text, stratum, id) -> searches
    lines = 0
    for row in searches.read(source, format):
        if isinstance(row, searches.NoQueries):
            return row  # the only row of such a file
        lines += 1
        if lines % LINES_PER_TICK == 0:
            progress(source.name, source.share, lines)
        if isinstance(row, Refusal):
            report.refuse(row)
            continue
        _count(row, counts, log)
        if len(counts) >= QUERIES_AT_ONCE and not _flush(counts, source, log, report):
            break  # beyond the budget of the file, as the report says now
    else:
        _flush(counts, source, log, report)
    if not lines:
        cure = ("Check that this is the file you meant.",)
        return searches.NoQueries(source.name, 0, "it holds no search", cure)  # line 0: the file as a whole
    log.lines += lines
    log.cut_off |= source.stopped
    report.facts += source.notes
    return None


def _count(row: searches.Search, counts: dict[tuple[str, str, str], int], log: Log) -> None:
    """Add one line of a log to the counts, by (text, stratum, id), and its day to those of the log."""
    key = row.text, row.stratum, row.id
    if row.id:
        # Not added up: lines with one text and id are of one search. If a column of counts gives them several
        # counts, the greatest is taken, as in `_add_up`.
        counts[key] = max(counts.get(key, 0), row.searches)
        log.has_ids = True
    else:
        counts[key] = counts.get(key, 0) + row.searches
    if row.day:
        # "" before the first day. As it is below any day, only the minimum has to leave it out.
        log.first_day = min(log.first_day or row.day, row.day)
        log.last_day = max(log.last_day, row.day)


def _warn_of_files_without_queries(
    refusals: Sequence[searches.NoQueries], sources: Sequence[Source], report: Report
) -> None:
    """Name the files without queries, by their refusals, in a warning. Refuse them if there are no others."""
    if len(refusals) == len(sources):
        for refusal in refusals:
            report.refuse(refusal)
    elif refusals:
        names = ", ".join(refusal.file for refusal in refusals)
        report.warnings.append(f"Passed over, since they hold no queries: {names}.")


def _flush(counts: dict[tuple[str, str, str], int], source: Source, log: Log, report: Report) -> bool:
    """Move the counts, by (text, stratum, id), into the stage, and leave them empty.

    False, with a refusal in the report, where they are beyond the budget of the source: the bytes that the rows of
    a file may have.
    """
    try:
        # About the size in the stage: the text, as it stands and folded, the id, and 16 for the rest of a row.
        source.budget.charge(sum(2 * len(text) + len(id) + 16 for text, _, id in counts))
    except TooMuch as error:
        report.refuse(source.stop(0, str(error), CURE))  # 0: the file as a whole
        counts.clear()
        return False
    rows = ((folded(text), text, stratum, id, n) for (text, stratum, id), n in counts.items())
    log.stage.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?)", rows)
    counts.clear()
    return True


def _make_few_refusals_a_warning(log: Log, report: Report) -> None:
    """Turn the refusals into one warning where they are few and reading went to the end."""
    if not report.refused or log.cut_off or report.refused > MOST_REFUSED * log.lines:
        return
    lines = "This line"
    if report.refused > 1:
        lines += f" and {counted(report.refused - 1, 'more line')}"
    report.warnings.append(f"{report.refusals[0].message()} {lines} left out.")
    report.refused = 0
    report.refusals.clear()


def _add_up(log: Log) -> None:
    """Fill the table of queries: each folded text once, with its most frequent spelling and stratum.

    Where a statement selects MAX(n), SQLite takes columns that are not grouped, such as the text, from the row
    with the greatest n.
    """
    execute = log.stage.execute
    if log.has_ids:
        # Lines with one text and one id are events of one search, such as its clicks. If a column of counts gives
        # them several n, the greatest is that of the search.
        execute(
            "CREATE TABLE once AS SELECT folded, text, stratum, '' AS id, MAX(n) AS n FROM raw WHERE id != ''"
            " GROUP BY folded, id"
        )
        execute("DELETE FROM raw WHERE id != ''")
        execute("INSERT INTO raw SELECT folded, text, stratum, id, n FROM once")
        execute("DROP TABLE once")
    # n of a row: the searches of one spelling in one stratum.
    spellings = "SELECT folded, text, stratum, SUM(n) AS n FROM raw GROUP BY folded, text, stratum"
    sums = (  # MAX(n) only chooses the text and the stratum
        "SELECT text, stratum, SUM(n) AS sum, folded, COUNT(DISTINCT text) AS spellings, MAX(n)"
        f" FROM ({spellings}) GROUP BY folded"
    )
    # `place`, the key of the table, becomes 1, 2, … in this order.
    execute(
        "INSERT INTO query (text, stratum, n, folded, spellings)"
        f" SELECT text, stratum, sum, folded, spellings FROM ({sums}) ORDER BY stratum, sum DESC, folded"
    )


def _digest(stage: sqlite3.Connection) -> str:
    """SHA-256 of all queries with their strata and counts."""
    digest = sha256()
    for stratum, count, text in stage.execute("SELECT stratum, n, folded FROM query ORDER BY place"):
        digest.update(f"{stratum}\0{count}\0{text}\n".encode())
    return digest.hexdigest()


def _read_strata(log: Log, report: Report) -> None:
    """Put the strata into the log. Too many are a refusal, before they fill the memory."""
    # For each stratum and count of searches: how many queries have it.
    rows = log.stage.execute("SELECT stratum, n, COUNT(*) FROM query GROUP BY stratum, n ORDER BY stratum, n DESC")
    for name, group in groupby(rows, key=lambda row: row[0]):
        counts, queries = np.array([(count, number) for _, count, number in group], np.int64).T
        log.strata.append(Stratum(name, counts, queries))
        if len(log.strata) > MOST_STRATA:
            problem = f"the column of strata has more than {MOST_STRATA} different values"
            report.refuse(Refusal("the log", 0, problem, cure=("Choose a column with few values, or none.",)))
            return


def _read_spellings(log: Log) -> None:
    """Put into the log how many queries have several spellings, and the most frequent of them as examples."""
    execute = log.stage.execute
    (log.joined,) = execute("SELECT COUNT(*) FROM query WHERE spellings > 1").fetchone()
    frequent = f"SELECT folded, text, n FROM query WHERE spellings > 1 ORDER BY n DESC, folded LIMIT {MOST_JOINED}"
    # In one statement, since the table has no index: each would read all of it.
    rows = execute(
        f"SELECT folded, text FROM raw WHERE folded IN (SELECT folded FROM ({frequent}))"
        " GROUP BY folded, text ORDER BY SUM(n) DESC, text"
    )
    spellings: dict[str, list[str]] = {}  # by the folded text, the most frequent first
    for folded_text, spelling in rows:
        spellings.setdefault(folded_text, []).append(spelling)
    for folded_text, text, count in execute(frequent):
        others = [spelling for spelling in spellings[folded_text] if spelling != text]
        log.examples.append((text, count, others[:SPELLINGS_SHOWN]))
