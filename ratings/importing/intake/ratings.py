"""Import of ratings that were made elsewhere: qrels, with one grade a pair, or the ratings of several people.

The rows of the files are checked in the stage, the temporary database of an import. Ratings that differ from those
in the database are then written to its staging table, of which a few SQL statements of `ratings.desk.queue` make
ratings.
"""

from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby, pairwise

import numpy as np
from django.db import IntegrityError

from ...database.statistics import renew_statistics
from ...desk import queue
from ...formats import values
from ...formats.refusal import KEEP_ONE, Option
from ...formats.registry import Format
from ...formats.rows import RatingLine
from ...formats.source import Source
from ...formats.tables import TABLE_FORMATS
from ...models import Collection, Document, Grade, Job, Rater, Rating, Reason, StagedRating, plain_value
from ...words import counted
from . import opening
from .document_keys import DocumentIds, MissingDocuments, known_ids, tell_of_documents_by_key_alone
from .report import Report
from .stage import ROWS_AT_ONCE, batched, put
from .topics import ImportForQueries, Topics

# A rating in the stage: the grade as text, the time in UTC, and whether it may be of another rater than `rater`.
StagedRow = namedtuple(
    "StagedRow", "rater query document grade reason comment seconds rated_at file line rater_unknown"
)
TABLE = f"rating ({', '.join(StagedRow._fields)})"
CONTENT = ("grade", "reason", "comment")
MEANINGS_OF_REPEATS = ("refuse", "raters", "last")  # what a pair that is rated again may mean
# Formats in which equal rows of one pair may be of two raters. In all others, such as qrels, a pair has one grade.
FORMATS_OF_SEVERAL_GRADES = {*TABLE_FORMATS, "rank-eval", "by-query"}
ARE_RATERS = Option("repeats", "raters", "each is of another rater")
LATEST = Option("repeats", "last", "the later one counts")
# Makes raters of repeats: the second row of a pair that names nobody is by "NAME 2", and so on.
_NUMBER_RATERS = """UPDATE rating SET rater = rater || ' ' || place FROM (
    SELECT rowid AS row, ROW_NUMBER() OVER (PARTITION BY rater, query, document ORDER BY file, line) AS place
    FROM rating WHERE rater_unknown) WHERE rating.rowid = row AND place > 1"""


def import_qrels(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """Record qrels as ratings. `choices` are fields of QrelsImport. Raises ValueError for no name of a rater."""
    return QrelsImport(collection, sources, **choices).run()


def import_ratings(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """Record ratings. `choices` are fields of RatingsImport. Raises ValueError for no name of a rater."""
    return RatingsImport(collection, sources, **choices).run()


@dataclass
class RatingsImport(ImportForQueries):
    """An import of ratings of several raters; `rater` gave those that name nobody.

    A pair that the same rater rates again is refused. With `repeats` "raters" each row that names nobody is of
    another rater; with "last" the latest row counts, by its time or its line.
    """

    kind, table, usual_format = "ratings", TABLE, "csv"
    what = "ratings"  # in facts and warnings
    may_have_several_raters = True  # so that rows without a name may be of any of them

    rater: str | None = None
    repeats: str = "refuse"

    def __post_init__(self) -> None:
        if self.rater is not None:
            values.checked_name(self.rater, "rater", values.RATER_NAME_LENGTH)
        if self.repeats == "raters" and self.rater:
            values.checked_name(f"{self.rater} 1000000", "rater", values.RATER_NAME_LENGTH)
        for source in self.sources:
            source.reading = opening.with_raters(source.reading, self.collection)
        super().__post_init__()

    # Read

    def _read(self) -> None:
        """Write the ratings of known queries into the stage."""
        # The numbers of the files in which a pair has one grade, so that equal lines are one.
        self.files_with_one_grade_a_pair: set[int] = set()
        for file, source in enumerate(self.sources):
            format = self.format_of(source)
            if format is None:
                continue
            if format.name not in FORMATS_OF_SEVERAL_GRADES:
                self.files_with_one_grade_a_pair.add(file)
            with self.topics(source, format) as topics:
                rows = self.rows_of(source, format.reads["ratings"])
                put(self.stage, "rating", self._staged_rows(rows, source, file, topics, format))
        if self.repeats == "raters":
            self.stage.execute(_NUMBER_RATERS)
        self.stage.execute("CREATE INDEX rating_in_order ON rating (rater, query, document, file, line)")

    def _staged_rows(
        self, rows: Iterable[RatingLine], source: Source, file: int, topics: Topics, format: Format
    ) -> Iterator[StagedRow]:
        """The rows of the stage for the ratings of queries of the collection. Ratings of others are skipped.

        Unknown reasons and a line without a rater are refused. `file`: the number of `source` among the files.
        """
        for row in rows:
            query = topics.id_of(row.query)
            if query is None:
                continue
            if row.reason and row.reason not in Reason.values:
                problem = f"the reason {row.reason!r} is not known"
                self.report.refuse(source.refusal(row.line, problem, f"Known are {', '.join(Reason.values)}."))
                continue
            name = row.rater or self.rater
            if name is None:
                cures = [Option("rater")]
                if format.name in TABLE_FORMATS:
                    # None: people have to find the column.
                    cures.append(Option("columns", {"rater": None}, "a column names the rater"))
                self.report.refuse(source.refusal(row.line, "the line names no rater", *cures))
                return  # one refusal is enough, as few of the other lines would name a rater
            grade = None if row.grade is None else f"{row.grade:f}"
            rated_at = row.rated_at and row.rated_at.isoformat()
            content = grade, row.reason, row.comment, row.seconds, rated_at
            # Rows that name nobody get the same `name`, but two of them may be of two raters.
            rater_unknown = self.may_have_several_raters and not row.rater
            yield StagedRow(name, query, row.document, *content, file, row.line, rater_unknown)

    # Check

    def _check(self) -> None:
        self._check_scale()
        self._check_raters()
        self.total = self._count_and_check()  # ratings, one for each rater and pair
        grades = "SELECT grade, COUNT(*) FROM rating WHERE grade IS NOT NULL GROUP BY grade"
        # Grades have 9 places in the stage, so that 1 and 1.0 are one text there.
        self.report.grades.update({_plain(text): count for text, count in self.stage.execute(grades)})
        if self.report.refused:
            return
        # The ids of queries with ratings, in the files or stored. `_tell` warns of queries without any.
        self.rated = {query for (query,) in self.stage.execute("SELECT DISTINCT query FROM rating")}
        stored = Rating.objects.filter(rater__collection=self.collection)
        self.rated |= set(stored.values_list("query", flat=True).distinct())
        self.new_scale = self._new_scale()

    def _check_scale(self) -> None:
        """Refuse grades that are not on the scale, if the collection has one."""
        scale = {f"{grade.value:f}": grade for grade in self.collection.grades.all()}  # by its text in the stage
        if not scale:
            return
        steps = ", ".join(grade.plain for grade in scale.values())
        cure = f"The scale is {steps}. Correct the line or extend the scale."
        marks = ",".join("?" * len(scale))
        outside = f"SELECT grade, file, line FROM rating WHERE grade NOT IN ({marks}) ORDER BY file, line"
        for text, file, line in self.stage.execute(outside, list(scale)):
            problem = f"the grade {_plain(text)} is not on the scale of the collection"
            self.report.refuse(self.sources[file].refusal(line, problem, cure))

    def _new_scale(self) -> list[Grade]:
        """The grades of the stage, for a collection that has no scale yet; none for one that has."""
        if self.collection.grades.exists():
            return []
        texts = self.stage.execute("SELECT DISTINCT grade FROM rating WHERE grade IS NOT NULL")
        return [Grade(collection=self.collection, value=value) for value in sorted(Decimal(t) for (t,) in texts)]

    def _check_raters(self) -> None:
        """Refuse ratings in the name of somebody who rates here."""
        people = self.collection.raters.exclude(kind=Rater.Kind.IMPORTED)
        for name in people.values_list("name", flat=True):
            first = "SELECT file, line FROM rating WHERE rater = ? ORDER BY file, line"
            if row := self.stage.execute(first, [name]).fetchone():
                file, line = row
                problem = f"the rater {name} rates in this collection, and an import cannot speak for them"
                cure = "Give the imported rater another name."
                self.report.refuse(self.sources[file].refusal(line, problem, cure))

    def _rows_by_pair(self) -> Iterator[list[StagedRow]]:
        """The rows of each rater and pair, in the order of the files."""
        rows = self.stage.execute("SELECT * FROM rating ORDER BY rater, query, document, file, line")
        for _, group in groupby(map(StagedRow._make, rows), key=lambda row: (row.rater, row.query, row.document)):
            yield list(group)

    def _count_and_check(self) -> int:
        """How many ratings there are, one for each rater and pair.

        Counts repeated rows, and refuses those that contradict the first row of their rater and pair. Equal rows
        that name nobody may be of two raters, so they are refused, too. In a format that has one grade for each
        pair, such as qrels, they are repeats.
        """
        total = 0
        for rows in self._rows_by_pair():
            total += 1
            if self.repeats == "last":  # nothing contradicts: the latest row counts, and others are its history
                history = _history(rows)
                self.report.counts["duplicates"] += len(rows) - len(history)
                self.report.counts["earlier"] += len(history) - 1
                continue
            first, *repeats = rows
            for row in repeats:
                has_one_grade_a_pair = row.file in self.files_with_one_grade_a_pair
                may_be_of_another_rater = row.rater_unknown and not has_one_grade_a_pair
                if _content(row) == _content(first) and not may_be_of_another_rater:
                    self.report.counts["duplicates"] += 1
                else:
                    self._refuse_repeat(first, row)
        return total

    def _refuse_repeat(self, first: StagedRow, row: StagedRow) -> None:
        """Refuse a row that has another grade, reason or comment than the first one, or names nobody either."""
        differing = " and ".join(name for name in CONTENT if getattr(row, name) != getattr(first, name))
        rating = f"another {differing}" if differing else "the same rating"
        nobody = " and no name of a rater" if row.rater_unknown else ""
        problem = f"document {row.document} has {rating} for the same query{nobody}"
        cure = (ARE_RATERS, LATEST) if row.rater_unknown else (KEEP_ONE, LATEST)
        before = self.sources[first.file].at(first.line)
        self.report.refuse(self.sources[row.file].refusal(row.line, problem, *cure, other=before))

    def _foresee(self) -> None:
        """Count what the import would make."""
        counts = self.report.counts
        missing = MissingDocuments(self.stage)
        done = 0
        for batch in self._batches():
            latest = [history[-1] for history in batch]  # the rows that count
            keys = [row.document for row in latest]
            ids = known_ids(self.collection, keys)
            missing.add(keys, ids)
            self._new_and_changed(latest, ids)  # which counts them
            done += len(batch)
            self.progress("checking", None, done)
        counts["documents"] = missing.count
        distinct = "SELECT COUNT(DISTINCT rater), COUNT(DISTINCT query) FROM rating"
        counts["raters"], counts["queries"] = self.stage.execute(distinct).fetchone()
        counts["grades"] = 0  # if the import makes the scale, the next line sets it
        self._tell_of_scale()

    def _batches(self) -> Iterator[list[list[StagedRow]]]:
        """The rows to import of each rater and pair, in batches. The one that counts is the last of them."""
        for rows_by_pair in batched(self._rows_by_pair(), ROWS_AT_ONCE):
            yield [_history(rows) if self.repeats == "last" else rows[:1] for rows in rows_by_pair]

    def _new_and_changed(self, rows: list[StagedRow], ids: np.ndarray) -> list[queue.ImportedRating]:
        """The ratings that are new or change a stored one. Counts these and the others. ids: of the documents."""
        ratings = queue.differing(self.collection, list(map(_imported, rows, ids.tolist())))
        new = sum(row.rating_id is None for row in ratings)
        self.report.counts.update(new=new, changed=len(ratings) - new, unchanged=len(rows) - len(ratings))
        return ratings

    # Write

    def _write(self, job: Job) -> None:
        """Write the documents, the ratings, and the scale if the collection has none."""
        done = 0
        # If few documents are stored, all are read now. Otherwise those of each batch are looked up.
        documents = DocumentIds(job.destination, ROWS_AT_ONCE)
        for batch in self._batches():
            latest = [history[-1] for history in batch]  # the rows that count
            ids = documents.find_or_make(job, [row.document for row in latest], self.report)
            if ratings := self._new_and_changed(latest, ids):
                # Into the staging table, of which `record_staged` makes ratings and their history.
                queue.stage(job, [*_earlier_ratings(batch, ids, ratings), *ratings])
            done += len(batch)
            self.progress("writing", done / self.total, done)
        # These tables have just grown, and PostgreSQL plans the statements of `record_staged` by their statistics.
        renew_statistics(self.total, Document, StagedRating)
        # Somebody has made a scale since the check. `land` takes back what is written, and refuses the import.
        if self.new_scale and job.destination.grades.exists():
            raise IntegrityError("the collection got a scale meanwhile")
        Grade.objects.bulk_create(self.new_scale)
        self._tell_of_scale()
        queue.record_staged(job)

    # Report

    def _tell_of_scale(self) -> None:
        """Report the scale that the import adds, if it adds one."""
        report, scale = self.report, self.new_scale
        if not scale:
            return
        report.counts["grades"] = len(scale)
        steps = ", ".join(grade.plain for grade in scale)
        report.facts.append(f"The collection takes its scale from here: {steps}.")
        if min(grade.value for grade in scale) > 0:
            advice = "It has no grade of 0 or below. Before people rate, add one for irrelevant documents."
            report.facts.append(advice)

    def _tell(self) -> None:
        """Add facts on the ratings to the report, and a warning of queries without a rating."""
        counts = self.report.counts
        ratings = f"{counted(self.total, 'rating')} from {self.what}"
        if self.checking:
            raters, queries = counted(counts["raters"], "rater"), counted(counts["queries"], "query", "queries")
            ratings = f"{counted(self.total, 'rating')} by {raters} for {queries}"
        self.report.tell_of_changes(ratings)
        if earlier := counts["earlier"]:
            self.report.facts.append(f"{counted(earlier, 'earlier rating')} of the same: in the history alone.")
        tell_of_documents_by_key_alone(self.report)
        without = {key for key, pk in self.known_names.keys.items() if pk not in self.rated}
        self.compare_topics(without, self.what)


@dataclass
class QrelsImport(RatingsImport):
    """An import of qrels, or of another format, as ratings by one imported rater where they name none."""

    usual_format, what = "trec-qrels", "qrels"

    rater: str = "qrels"


def _plain(text: str) -> str:
    """A grade of the stage, such as 1.000000000, as people write it: 1."""
    return plain_value(Decimal(text))


def _content(row: StagedRow) -> tuple:
    return row.grade, row.reason, row.comment


def _history(rows: list[StagedRow]) -> list[StagedRow]:
    """The rows of one rater and pair by time, then by line, without those that repeat the one before."""
    rows = sorted(rows, key=lambda row: (row.rated_at or "", row.file, row.line))
    return rows[:1] + [row for before, row in pairwise(rows) if _content(row) != _content(before)]


def _earlier_ratings(
    batch: list[list[StagedRow]], ids: np.ndarray, ratings: list[queue.ImportedRating]
) -> Iterator[queue.ImportedRating]:
    """The rows before the latest one of each rater and pair: they become the history of a new rating.

    A rating that is stored already keeps the history that it has, so its earlier rows are left out.
    batch: the rows of each rater and pair, from the earliest to the latest, which counts.
    ids: int64[batch], of the document of each pair.
    ratings: those of the latest rows that are new or change a stored one; `rating_id` is None for new ones.
    """
    not_stored = {(row.rater, row.query_id, row.document_id) for row in ratings if row.rating_id is None}
    for rows_of_pair, document in zip(batch, ids.tolist(), strict=True):
        *earlier_rows, latest = rows_of_pair
        if (latest.rater, latest.query, document) in not_stored:
            for row in earlier_rows:
                yield _imported(row, document)._replace(rating_id=queue.HISTORY_ONLY)


def _imported(row: StagedRow, document: int) -> queue.ImportedRating:
    value = None if row.grade is None else Decimal(row.grade)
    moment = datetime.fromisoformat(row.rated_at) if row.rated_at else None
    content = value, row.reason, row.comment, row.seconds, moment
    return queue.ImportedRating(row.rater, row.query, document or None, *content)  # 0: it is not stored yet
