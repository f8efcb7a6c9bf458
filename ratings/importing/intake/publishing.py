"""Writing of imports. All is checked first, outside of the database; then one transaction writes it.

So an import that is killed leaves nothing. On PostgreSQL raters go on meanwhile. On SQLite, which has one writer,
their saves wait, or are refused and sent again by the desk.
"""

from collections.abc import Callable, Sequence
from pathlib import PurePath

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from ...database.bulk import check_foreign_keys
from ...database.statistics import renew_statistics
from ...formats.source import Source
from ...models import (
    MAKERS,
    Assignment,
    Collection,
    Document,
    FormerText,
    Job,
    Pair,
    Ranking,
    Rating,
    RatingEvent,
    System,
)
from ...models.job import COUNTS_OF_CHANGES
from ...people.audit import Act, note
from .report import Report

GROWING_TABLES = (Document, FormerText, System, Ranking, Pair, Assignment, Rating, RatingEvent)
LOCK_OF_IMPORTS = 1_229_801_837  # any number that no other lock of two numbers has
GONE = "the collection was put away or deleted meanwhile"
TAKE_BACK = "Take it out again on its page Collection, or restore it on the page Your collections."


class Superseded(Exception):
    """The job was cancelled, or another worker took it over: this one must not write any more."""


def land(
    collection: Collection,
    sources: Sequence[Source],
    report: Report,
    kind: str,
    job: Job | None,
    write: Callable[[Job], None],
    tell: Callable[[], None],
) -> bool:
    """Write the import and publish it: all that `write` writes, or nothing. Returns whether anything was written.

    `tell` completes the report of an import that changed something. Without the `job` of a worker one is made,
    which stays in the list of imports if anything changed. Refused in the report are a collection that was deleted
    or put away (closed to imports), and an IntegrityError. Raises Superseded for a job that was cancelled or taken
    over, and OperationalError where the database is locked for too long.
    """
    try:
        with transaction.atomic():
            lock_imports(collection)
            if not Collection.objects.filter(pk=collection.pk, put_away_at=None).exists():
                report.refuse(sources[0].refusal(0, GONE, TAKE_BACK))
                return False
            running_job = job or _make_running_job(collection, sources, kind)
            write(running_job)
            changed = report.changed and not report.refused
            if changed:
                _publish(running_job, report, tell)
            else:
                transaction.set_rollback(True)
    except IntegrityError as error:
        report.clear()
        problem = f"the database refuses the rows ({error})".replace("\n", " ")
        cure = "If somebody else was importing at the same time, run the import again."
        report.refuse(sources[0].refusal(0, problem, cure))
        report.clashed = True
        return False
    if changed:
        renew_statistics(sum(report.counts[name] for name in COUNTS_OF_CHANGES), *GROWING_TABLES)
    return changed


def lock_imports(collection: Collection) -> None:
    """Wait until no other import writes into the collection, and keep others out until the transaction ends.

    It stops no rater. On SQLite each transaction is the only one that writes anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_OF_IMPORTS, collection.pk])


def _make_running_job(collection: Collection, sources: Sequence[Source], kind: str) -> Job:
    files = [{"name": PurePath(file).name} for file in dict.fromkeys(source.file for source in sources)]
    running = {"state": Job.State.RUNNING, "started_at": timezone.now()}
    return Job.objects.create(collection=collection, kind=kind, files=files, **running)


def _publish(job: Job, report: Report, tell: Callable[[], None]) -> None:
    """End the job with its report. Raises Superseded."""
    tell()
    report.job = job.pk
    check_foreign_keys()
    over = {"state": Job.State.PUBLISHED, "ended_at": timezone.now()}
    if not job.mine().update(**over, former=job.former, report=report.as_json()):
        raise Superseded
    note_import(job, report)
    job.destination.touch()


def note_import(job: Job, report: Report) -> None:
    """Note in the audit what an import did."""
    act = Act.MADE if job.kind in MAKERS else Act.IMPORTED
    files = ", ".join(file["name"] for file in job.files) or job.options.get("of", "")
    counts = {name: report.counts[name] for name in ("new", "changed") if report.counts[name]}
    note(act, job.collection, about=files, kind=job.kind, job=job.pk, **counts)
