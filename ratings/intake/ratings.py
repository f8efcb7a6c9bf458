"""Import of ratings that were made elsewhere: qrels, with one grade a pair, or the ratings of several people.

What differs from the record is staged in pieces, and one short transaction makes ratings of it: see
`ratings.queue.importing`.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import groupby

from django.db import IntegrityError

from .. import queue
from ..formats import values
from ..formats.rows import RatingLine
from ..formats.source import Source, place
from ..models import Collection, Document, Grade, Job, Rater, Rating, Reason, StagedRating, plain_value
from .documents import Strangers, ids_of, known_ids, tell_of_bare_documents
from .publishing import PIECE, Landing, land
from .report import Report, counted, tell_of_repeats
from .stage import Progress, batched, format_of, put, rows_of, silent, staged
from .topics import Names, Topics, compare_topics, refuse_strangers, refuse_without_queries

TABLE = (
    "rating (rater TEXT, query INTEGER, document TEXT, grade TEXT, reason TEXT, comment TEXT, seconds REAL,"
    " rated_at TEXT, file INTEGER, line INTEGER)"
)
REFUSED = "refused (row INTEGER PRIMARY KEY)"  # rows of the table above that the checks refused
WIDE_SCALE = 20


def import_qrels(
    collection: Collection,
    sources: Sequence[Source],
    *,
    rater: str = "qrels",
    format: str | None = None,
    queries_by: str | None = None,
    leave_out: bool = False,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """Record the grades of qrels, or of another format, as ratings by one imported rater where they name none.

    Without a `format` each file shows its own. With `leave_out` lines that are refused are left out, if no more is
    wrong with the files and they are not too many to be listed. Raises ValueError for a name that is none.
    """
    values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
    return _import(collection, sources, "qrels", rater, format, "trec-qrels", queries_by, leave_out, progress, job)


def import_ratings(
    collection: Collection,
    sources: Sequence[Source],
    *,
    rater: str | None = None,
    format: str | None = None,
    queries_by: str | None = None,
    leave_out: bool = False,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """Record ratings of several raters; `rater` gave those that name nobody. Otherwise as `import_qrels`."""
    if rater is not None:
        values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
    return _import(collection, sources, "ratings", rater, format, "csv", queries_by, leave_out, progress, job)


def _import(
    collection: Collection,
    sources: Sequence[Source],
    what: str,
    rater: str | None,
    format: str | None,
    default: str,
    queries_by: str | None,
    leave_out: bool,
    progress: Progress,
    job: Job | None,
) -> Report:
    report, names = Report(), Names(collection)
    refuse_without_queries(names, sources, report)
    if report.refused:
        return report
    with staged(TABLE, REFUSED) as stage:
        named: set[str] = set()
        unknown: set[str] = set()
        for file, source in enumerate(sources):
            found = format_of(source, "ratings", format, default, report)
            if found is None:
                continue
            by = queries_by or found.queries_by
            topics = Topics(names.ids(by))
            rows, refused = rows_of(source, found.reads["ratings"], report, progress), report.refused
            put(stage, "rating", _known(rows, source, file, rater, topics, report))
            if report.refused > refused and not found.by_rows:
                report.cut_off = True  # sound ratings of a refused piece of JSON were not read
            names.refuse_doubt(source, topics, by, report)
            refuse_strangers(source, topics, report)
            named |= topics.named
            unknown |= topics.named - topics.ids.keys()
        stage.execute("CREATE INDEX rating_in_order ON rating (rater, query, document, file, line)")
        unread = report.refused
        _check_scale(stage, collection, sources, report)
        _check_raters(stage, collection, sources, report)
        total = _check_repeats(stage, sources, report)
        if report.refused:
            rows = stage.execute("SELECT COUNT(*) FROM refused").fetchone()[0]
            report.counts["refused"] = unread + rows
        if leave_out and _can_leave_out(report):
            total = _leave_out(stage, report)
        grades = "SELECT grade, COUNT(*) FROM rating WHERE grade IS NOT NULL GROUP BY grade"
        report.grades.update({_plain(text): count for text, count in stage.execute(grades)})
        rated = {query for (query,) in stage.execute("SELECT DISTINCT query FROM rating")}
        if job and job.checking:
            total = _foresee(stage, collection, report, progress)
        elif not report.refused:
            write = partial(_publish, stage, _new_scale(stage, collection), total, report, progress)
            land(collection, sources, report, Job.Kind.RATINGS, job, write)
    if not report.refused or (job and job.checking):
        _tell(report, total, what, checked=bool(job and job.checking))
        here = Rating.objects.filter(rater__collection=collection)
        rated |= set(here.values_list("query", flat=True).distinct())
        without = {key for key, pk in names.keys.items() if pk not in rated}
        compare_topics(report, unknown=unknown, named=len(named), without=without, what=what)
    return report


def _known(
    rows: Iterable[RatingLine], source: Source, file: int, rater: str | None, topics: Topics, report: Report
) -> Iterator[tuple]:
    """The rows for queries of the collection, as the stage keeps them."""
    for row in rows:
        query = topics.id_of(row.query)
        if query is None:
            continue
        if row.reason and row.reason not in Reason.values:
            problem = f"the reason {row.reason!r} is not known"
            report.refuse(source.refusal(row.line, problem, f"Known are {', '.join(Reason.values)}."))
            continue
        name = row.rater or rater
        if name is None:
            report.refuse(source.refusal(row.line, "nobody is named who gave it", "Say who, with --rater."))
            report.cut_off = True  # hardly any other line names somebody
            return
        grade = None if row.grade is None else f"{row.grade:f}"
        at = row.rated_at and row.rated_at.isoformat()
        yield name, query, row.document, grade, row.reason, row.comment, row.seconds, at, file, row.line


# Check


def _check_scale(
    stage: sqlite3.Connection, collection: Collection, sources: Sequence[Source], report: Report
) -> None:
    """Where the collection has a scale, every grade is a step of it."""
    scale = {f"{grade.value:f}": grade for grade in collection.grades.all()}
    if not scale:
        return
    steps = ", ".join(grade.plain for grade in scale.values())
    cure = f"The scale is {steps}. Correct the line or extend the scale."
    marks = ",".join("?" * len(scale))
    outside = f"FROM rating WHERE grade NOT IN ({marks})"
    stage.execute(f"INSERT INTO refused SELECT rowid {outside}", list(scale))
    found = stage.execute(f"SELECT grade, file, line {outside} ORDER BY file, line", list(scale))
    for text, file, line in found:
        problem = f"the grade {_plain(text)} is not on the scale of the collection"
        report.refuse(sources[file].refusal(line, problem, cure))


def _new_scale(stage: sqlite3.Connection, collection: Collection) -> list[Grade]:
    """The grades of the stage, for a collection that has no scale yet."""
    if collection.grades.exists():
        return []
    texts = stage.execute("SELECT DISTINCT grade FROM rating WHERE grade IS NOT NULL")
    values = sorted(Decimal(text) for (text,) in texts)
    return [Grade(collection=collection, value=value) for value in values]


def _plain(text: str) -> str:
    return plain_value(Decimal(text))


def _check_raters(
    stage: sqlite3.Connection, collection: Collection, sources: Sequence[Source], report: Report
) -> None:
    """An import never speaks for somebody who rates here."""
    here = collection.raters.exclude(kind=Rater.Kind.IMPORTED).values_list("name", flat=True)
    for name in here:
        row = stage.execute("SELECT file, line FROM rating WHERE rater = ? ORDER BY file, line", [name]).fetchone()
        if row:
            stage.execute("INSERT OR IGNORE INTO refused SELECT rowid FROM rating WHERE rater = ?", [name])
            file, line = row
            problem = f"{name} rates in this collection, and an import cannot speak for them"
            report.refuse(sources[file].refusal(line, problem, "Give the imported rater another name."))


def _rows(stage: sqlite3.Connection) -> Iterator[tuple[tuple, list[tuple]]]:
    """For each rater and pair, in their order, all rows of the files, the first first."""
    rows = stage.execute("SELECT *, rowid FROM rating ORDER BY rater, query, document, file, line")
    for pair, group in groupby(rows, key=lambda row: row[:3]):
        yield pair, list(group)


def _check_repeats(stage: sqlite3.Connection, sources: Sequence[Source], report: Report) -> int:
    """Count repeated rows and refuse those that say something else. Returns how many pairs of rater and pair."""
    total, refused = 0, {row for (row,) in stage.execute("SELECT row FROM refused")}
    for (_, _, document), rows in _rows(stage):
        total += 1
        # What is refused already says nothing against the others.
        first, *others = [row for row in rows if row[-1] not in refused] or rows[:1]
        for other in others:
            if other[3:6] == first[3:6]:
                report.counts["duplicates"] += 1
                continue
            file, line, row = other[8:]
            stage.execute("INSERT OR IGNORE INTO refused VALUES (?)", [row])
            where = place(sources, *first[8:10], seen_from=file)
            problem = f"document {document} has another grade for the same query on {where}"
            report.refuse(sources[file].refusal(line, problem, "Keep one of the two."))
    return total


def _can_leave_out(report: Report) -> bool:
    """Whether only lines are refused, each of them is known, and all others were read."""
    lines = [refusal for refusal in report.refusals if refusal.line]
    return 0 < report.refused == len(lines) and not report.cut_off


def _leave_out(stage: sqlite3.Connection, report: Report) -> int:
    """Go on without the refused ratings, which stay listed. Returns how many pairs of rater and pair are left."""
    report.left_out, report.refused = report.refused, 0
    ratings = counted(report.counts["refused"], "refused rating was", "refused ratings were")
    report.facts.append(f"{ratings} left out.")
    return _without_refused(stage)


def _without_refused(stage: sqlite3.Connection) -> int:
    stage.execute("DELETE FROM rating WHERE rowid IN (SELECT row FROM refused)")
    return stage.execute("SELECT COUNT(*) FROM (SELECT DISTINCT rater, query, document FROM rating)").fetchone()[0]


def _foresee(stage: sqlite3.Connection, collection: Collection, report: Report, progress: Progress) -> int:
    """Of a check: what the import would make, without what is refused. Returns of how many ratings."""
    total = _without_refused(stage)
    strangers, done = Strangers(stage, collection), 0
    for batch in _batches(stage):
        keys = {row[2] for row in batch}
        strangers.look_at(keys)
        _differing(collection, batch, known_ids(collection, keys), report)
        done += len(batch)
        progress("checking", None, done)
    report.counts["documents"] = strangers.count
    for what, column in (("raters", "rater"), ("queries", "query")):
        (report.counts[what],) = stage.execute(f"SELECT COUNT(DISTINCT {column}) FROM rating").fetchone()
    report.counts["grades"] = 0
    _tell_of_scale(_new_scale(stage, collection), report)
    return total


def _batches(stage: sqlite3.Connection) -> Iterator[list[tuple]]:
    """The first row of each rater and pair, in their order."""
    return batched((group[0] for _, group in _rows(stage)), PIECE)


def _differing(
    collection: Collection, rows: list[tuple], ids: dict[str, int], report: Report
) -> list[queue.ImportedRating]:
    """Those that are new or change a rating. Counts them and the others."""
    found = queue.differing(collection, [_imported(row, ids) for row in rows])
    new = sum(row.rating_id is None for row in found)
    report.counts.update(new=new, changed=len(found) - new, unchanged=len(rows) - len(found))
    return found


def _imported(row: tuple, ids: dict[str, int]) -> queue.ImportedRating:
    rater, query, document, grade, reason, comment, seconds, at, *_ = row
    value = None if grade is None else Decimal(grade)
    moment = datetime.fromisoformat(at) if at else None
    return queue.ImportedRating(rater, query, ids.get(document), value, reason, comment, seconds, moment)


# Publish


def _publish(
    stage: sqlite3.Connection,
    scale: list[Grade],
    total: int,
    report: Report,
    progress: Progress,
    place: Landing,
) -> None:
    job, done = place.job, 0
    for batch in _batches(stage):
        ids = ids_of(place, {row[2] for row in batch}, report)
        if found := _differing(job.collection, batch, ids, report):
            with place.piece(len(found)):
                queue.stage(job, found)
        done += len(batch)
        progress("writing", done / total, done)
    place.analyze(Document, StagedRating)
    with place.published(report):
        if scale and job.collection.grades.exists():
            raise IntegrityError("the collection got a scale meanwhile")
        Grade.objects.bulk_create(scale)
        _tell_of_scale(scale, report)
        queue.record_staged(job)


def _tell_of_scale(scale: list[Grade], report: Report) -> None:
    """Of a scale that comes with the import, if one does."""
    if not scale:
        return
    report.counts["grades"] = len(scale)
    steps = ", ".join(grade.plain for grade in scale)
    report.facts.append(f"The collection takes its scale from here: {steps}.")
    if min(grade.value for grade in scale) > 0:
        report.facts.append("It has no grade of 0 or below. Before people rate, add one for irrelevant documents.")
    if len(scale) > WIDE_SCALE:
        report.warnings.append(
            f"the scale has {len(scale):,} grades. Check that the grades stand in their column."
        )


def _tell(report: Report, total: int, what: str, *, checked: bool) -> None:
    counts = report.counts
    if checked:
        of = f"by {counted(counts['raters'], 'rater')} for {counted(counts['queries'], 'query', 'queries')}"
    else:
        of = f"from {what}"
    report.facts.append(
        f"{counted(total, 'rating')} {of}: {counts['new']:,} new, {counts['changed']:,} changed,"
        f" {counts['unchanged']:,} unchanged."
    )
    tell_of_repeats(report)
    if not checked:
        tell_of_bare_documents(report)
