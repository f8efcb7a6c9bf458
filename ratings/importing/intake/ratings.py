"""Import of ratings that were made elsewhere: qrels, with one grade a pair, or the ratings of several people.

Ratings that differ from those in the database are written to a staging table, of which a few SQL statements make
ratings: see `ratings.desk.queue.importing`.
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
from ...formats.registry import EITHER
from ...formats.rows import RatingLine
from ...formats.source import Source
from ...models import Collection, Document, Grade, Job, Rater, Rating, Reason, StagedRating, plain_value
from ...words import counted
from . import opening
from .document_keys import DocumentIds, Strangers, known_ids, tell_of_bare_documents
from .report import Report
from .stage import BATCH, batched, put, staged
from .topics import ImportForQueries, Topics

# A rating in the stage: the grade as text, the time in UTC, and whether the file names no rater.
Given = namedtuple("Given", "rater query document grade reason comment seconds rated_at file line unnamed")
TABLE = f"rating ({', '.join(Given._fields)})"
SAID = ("grade", "reason", "comment")
REPEATS = ("raters", "last")  # what a pair that is rated again may mean
ARE_RATERS = Option("repeats", "raters", "each is of another rater")
LATEST = Option("repeats", "last", "the later one counts")
# The second row of a pair that names nobody is by "NAME 2", and so on.
_NUMBERED = """UPDATE rating SET rater = rater || ' ' || place FROM (
    SELECT rowid AS row, ROW_NUMBER() OVER (PARTITION BY rater, query, document ORDER BY file, line) AS place
    FROM rating WHERE unnamed) WHERE rating.rowid = row AND place > 1"""


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

    kind, usual_format = "ratings", "csv"
    what = "ratings"  # in facts and warnings
    names_people = True  # so that rows without a name may be of several

    rater: str | None = None
    repeats: str | None = None

    def __post_init__(self) -> None:
        if self.rater is not None:
            values.checked_name(self.rater, "rater", values.RATER_NAME_LENGTH)
        if self.repeats == "raters" and self.rater:
            values.checked_name(f"{self.rater} 1000000", "rater", values.RATER_NAME_LENGTH)
        for source in self.sources:
            source.reading = opening.with_raters(source.reading, self.collection)
        super().__post_init__()

    def run(self) -> Report:
        report = self.report
        if report.refused:
            return report
        with staged(TABLE) as self.stage:
            self._read()
            self._check_scale()
            self._check_raters()
            self.total = self._count_and_check()  # pairs of rater and pair
            grades = "SELECT grade, COUNT(*) FROM rating WHERE grade IS NOT NULL GROUP BY grade"
            report.grades.update({_plain(text): count for text, count in self.stage.execute(grades)})
            if report.refused:
                return report
            self.rated = {query for (query,) in self.stage.execute("SELECT DISTINCT query FROM rating")}
            here = Rating.objects.filter(rater__collection=self.collection)
            self.rated |= set(here.values_list("query", flat=True).distinct())
            self.scale = self._new_scale()
            return self.concluded()

    # Read

    def _read(self) -> None:
        """Write the ratings of known queries into the stage."""
        for file, source in enumerate(self.sources):
            format = self.format_of(source)
            if format is None:
                continue
            with self.topics(source, format) as topics:
                rows = self.rows_of(source, format.reads["ratings"])
                # A line of qrels says which grade a pair has, and a row of a table what somebody gave.
                asks = self.names_people and format.queries_by == EITHER
                put(self.stage, "rating", self._known(rows, source, file, topics, asks))
        if self.repeats == "raters":
            self.stage.execute(_NUMBERED)
        self.stage.execute("CREATE INDEX rating_in_order ON rating (rater, query, document, file, line)")

    def _known(
        self, rows: Iterable[RatingLine], source: Source, file: int, topics: Topics, asks: bool
    ) -> Iterator[tuple]:
        """The rows of the stage for the ratings of queries of the collection.

        `asks`: who gave ratings without a name.
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
                self.report.refuse(source.refusal(row.line, "the line names no rater", Option("rater")))
                return  # few other lines name a rater
            grade = None if row.grade is None else f"{row.grade:f}"
            at, unnamed = row.rated_at and row.rated_at.isoformat(), asks and not row.rater
            content = grade, row.reason, row.comment, row.seconds, at
            yield Given(name, query, row.document, *content, file, row.line, unnamed)

    # Check

    def _check_scale(self) -> None:
        """Refuse grades that are not on the scale, if the collection has one."""
        scale = {f"{grade.value:f}": grade for grade in self.collection.grades.all()}
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
        """The grades of the stage, for a collection that has no scale yet."""
        if self.collection.grades.exists():
            return []
        texts = self.stage.execute("SELECT DISTINCT grade FROM rating WHERE grade IS NOT NULL")
        return [Grade(collection=self.collection, value=value) for value in sorted(Decimal(t) for (t,) in texts)]

    def _check_raters(self) -> None:
        """Refuse ratings in the name of somebody who rates here."""
        here = self.collection.raters.exclude(kind=Rater.Kind.IMPORTED).values_list("name", flat=True)
        for name in here:
            first = "SELECT file, line FROM rating WHERE rater = ? ORDER BY file, line"
            if row := self.stage.execute(first, [name]).fetchone():
                file, line = row
                problem = f"the rater {name} rates in this collection, and an import cannot speak for them"
                cure = "Give the imported rater another name."
                self.report.refuse(self.sources[file].refusal(line, problem, cure))

    def _rows(self) -> Iterator[list[Given]]:
        """The rows of each rater and pair, in the order of the files."""
        rows = self.stage.execute("SELECT * FROM rating ORDER BY rater, query, document, file, line")
        for _, group in groupby(map(Given._make, rows), key=lambda row: row[:3]):
            yield list(group)

    def _count_and_check(self) -> int:
        """How many ratings there are, one for each rater and pair.

        Counts repeated rows, and refuses those that contradict. Of rows without a name even equal ones may be of
        two raters, so they are refused, too.
        """
        total = 0
        for rows in self._rows():
            total += 1
            if self.repeats == "last":
                turns = _in_turn(rows)
                self.report.counts["duplicates"] += len(rows) - len(turns)
                self.report.counts["earlier"] += len(turns) - 1
                continue
            first, *later = rows
            for row in later:
                if _said(row) == _said(first) and not row.unnamed:
                    self.report.counts["duplicates"] += 1
                else:
                    self._refuse_repeat(first, row)
        return total

    def _refuse_repeat(self, first: Given, row: Given) -> None:
        """Refuse a row that has another grade, reason or comment than the first one, or names nobody either."""
        what = " and ".join(name for name in SAID if getattr(row, name) != getattr(first, name))
        has = f"another {what}" if what else "the same rating"
        nobody = " and no name of a rater" if row.unnamed else ""
        problem = f"document {row.document} has {has} for the same query{nobody}"
        cure = (ARE_RATERS, LATEST) if row.unnamed else (KEEP_ONE, LATEST)
        before = self.sources[first.file].at(first.line)
        self.report.refuse(self.sources[row.file].refusal(row.line, problem, *cure, other=before))

    def _foresee(self) -> None:
        """Count what the import would make."""
        counts = self.report.counts
        strangers, done = Strangers(self.stage), 0
        for batch in self._batches():
            rows = [turns[-1] for turns in batch]
            keys = [row.document for row in rows]
            ids = known_ids(self.collection, keys)
            strangers.look_at(keys, ids)
            self._differing(rows, ids)
            done += len(batch)
            self.progress("checking", None, done)
        counts["documents"] = strangers.count
        for what, column in (("raters", "rater"), ("queries", "query")):
            (counts[what],) = self.stage.execute(f"SELECT COUNT(DISTINCT {column}) FROM rating").fetchone()
        counts["grades"] = 0
        self._tell_of_scale()

    def _batches(self) -> Iterator[list[list[Given]]]:
        """The row of each rater and pair, in their order, behind the earlier ones that stay in the history."""
        for_history = _in_turn if self.repeats == "last" else lambda rows: rows[:1]
        return batched(map(for_history, self._rows()), BATCH)

    def _differing(self, rows: list[Given], ids: np.ndarray) -> list[queue.ImportedRating]:
        """The ratings that are new or change a stored one. Counts these and the others."""
        ratings = queue.differing(self.collection, list(map(_imported, rows, ids.tolist())))
        new = sum(row.rating_id is None for row in ratings)
        self.report.counts.update(new=new, changed=len(ratings) - new, unchanged=len(rows) - len(ratings))
        return ratings

    # Write

    def _write(self, job: Job) -> None:
        done = 0
        documents = DocumentIds(job.collection, BATCH)
        for batch in self._batches():
            rows = [turns[-1] for turns in batch]
            ids = documents.made(job, [row.document for row in rows], self.report)
            if ratings := self._differing(rows, ids):
                queue.stage(job, [*_earlier(batch, ids, ratings), *ratings])
            done += len(batch)
            self.progress("writing", done / self.total, done)
        renew_statistics(self.total, Document, StagedRating)
        if self.scale and job.collection.grades.exists():
            raise IntegrityError("the collection got a scale meanwhile")
        Grade.objects.bulk_create(self.scale)
        self._tell_of_scale()
        queue.record_staged(job)

    # Report

    def _tell_of_scale(self) -> None:
        """Report the scale that the import adds, if it adds one."""
        report, scale = self.report, self.scale
        if not scale:
            return
        report.counts["grades"] = len(scale)
        steps = ", ".join(grade.plain for grade in scale)
        report.facts.append(f"The collection takes its scale from here: {steps}.")
        if min(grade.value for grade in scale) > 0:
            lacks = "It has no grade of 0 or below. Before people rate, add one for irrelevant documents."
            report.facts.append(lacks)

    def _tell(self) -> None:
        counts, of = self.report.counts, f"from {self.what}"
        if self.checking:
            of = f"by {counted(counts['raters'], 'rater')} for {counted(counts['queries'], 'query', 'queries')}"
        self.report.tell_of_changes(f"{counted(self.total, 'rating')} {of}")
        if earlier := counts["earlier"]:
            self.report.facts.append(f"{counted(earlier, 'earlier rating')} of the same: in the history alone.")
        tell_of_bare_documents(self.report)
        without = {key for key, pk in self.names.keys.items() if pk not in self.rated}
        self.compare_topics(without, self.what)


@dataclass
class QrelsImport(RatingsImport):
    """An import of qrels, or of another format, as ratings by one imported rater where they name none."""

    usual_format, what = "trec-qrels", "qrels"

    rater: str = "qrels"


def _plain(text: str) -> str:
    return plain_value(Decimal(text))


def _said(row: Given) -> tuple:
    return row.grade, row.reason, row.comment


def _in_turn(rows: list[Given]) -> list[Given]:
    """The rows of one rater and pair by time, then by line, without those that say what the one before says."""
    rows = sorted(rows, key=lambda row: (row.rated_at or "", row.file, row.line))
    return rows[:1] + [row for before, row in pairwise(rows) if _said(row) != _said(before)]


def _earlier(
    batch: list[list[Given]], ids: np.ndarray, ratings: list[queue.ImportedRating]
) -> Iterator[queue.ImportedRating]:
    """What was said before the new ones of the ratings. One that is stored has its history already."""
    new = {row[:3] for row in ratings if row.rating_id is None}
    for turns, document in zip(batch, ids.tolist(), strict=True):
        for row in turns[:-1]:
            if (earlier := _imported(row, document))[:3] in new:
                yield earlier._replace(rating_id=queue.PAST)


def _imported(row: Given, document: int) -> queue.ImportedRating:
    value = None if row.grade is None else Decimal(row.grade)
    moment = datetime.fromisoformat(row.rated_at) if row.rated_at else None
    content = value, row.reason, row.comment, row.seconds, moment
    return queue.ImportedRating(row.rater, row.query, document or None, *content)
