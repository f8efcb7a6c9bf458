"""Publishing of imports: rows are written hidden, in small transactions, and become visible in one.

SQLite has one writer at a time, and raters write too. So an import writes in pieces: transactions of at most PIECE
rows (on PostgreSQL, where writers do not wait for each other, more of small rows). After a piece it sleeps as long
as the piece took, if others write. The rows refer to the job of the import and are hidden while `job.staging`; the
last transaction ends that. After any failure the pieces are deleted, in pieces; after the death of the process the
next import or worker does that.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import numpy as np
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from ..audit import Act, note
from ..database.snapshot import snapshot
from ..database.statistics import renew_statistics
from ..formats.source import Source
from ..models import (
    LEASE,
    MAKERS,
    Assignment,
    Collection,
    Deletion,
    Document,
    Job,
    OtherText,
    Pair,
    Ranking,
    Rating,
    RatingEvent,
    System,
)
from ..tables import rows_to_delete
from .report import Report

CONTENT = ["title", "body", "url", "fields"]
PIECE = 2_000  # rows
# Rows of a collection that is deleted. They may be large, and the pieces grow while they are quick.
FIRST_PIECE = 16
QUICK = 0.05  # seconds
TEXTS = 500  # documents whose text is exchanged in one piece
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.2  # seconds of sleep
QUIET = 60  # seconds without a commit by others, after which nobody else is writing
GROWING = (Document, OtherText, System, Ranking, Pair, Assignment, Rating, RatingEvent)
ENDED_OUTSIDE = f"the import was cancelled, or taken for dead after {LEASE.total_seconds():.0f} silent seconds"
PUT_AWAY, TAKE_OUT = "the collection is put away", "Take it out again on its page Collection."
_seen = threading.local()  # the last data_version, and when it changed


class Busy(Exception):
    """Another import is writing into the collection."""

    def __init__(self, other: Job | None) -> None:
        self.other = other
        super().__init__(f"{other or 'another import'} is under way")


class Superseded(Exception):
    """The job was cancelled, or another worker took it over: this one must not write any more."""


class Landing:
    """The hidden rows of one import, while they are written. `tell` adds to its report what was done."""

    def __init__(self, job: Job, tell: Callable[[], None] = lambda: None) -> None:
        self.job = job
        self.tell = tell
        self.rows = 0
        self.told = False

    @contextmanager
    def piece(self, rows: int) -> Iterator[None]:
        """Run a block in a small transaction of this many rows, and sleep after it. Raises Superseded."""
        begun = time.monotonic()
        with transaction.atomic():
            self.hold()
            yield
        self.rows += rows
        pause_for_writers(time.monotonic() - begun)

    def hold(self) -> None:
        """Lock the job until the transaction ends: nobody can cancel it or take it over. Raises Superseded."""
        if not self.job.mine().update(beat_at=timezone.now()):
            raise Superseded

    def beat(self) -> None:
        """Renew the heartbeat of the job, while no piece does. Raises Superseded."""
        with transaction.atomic():
            self.hold()

    def analyze(self, *tables: type[models.Model]) -> None:
        """Renew PostgreSQL's statistics of tables if the import wrote much."""
        renew_statistics(self.rows, *tables)

    @contextmanager
    def published(self, report: Report) -> Iterator[None]:
        """The short transaction that makes all rows and their report visible.

        An import that changed nothing is not published.
        """
        with transaction.atomic():
            self.hold()
            yield
            if report.changed:
                over = {"state": Job.State.PUBLISHED, "staging": False, "ended_at": timezone.now()}
                self.job.mine().update(**over, former=self.job.former)
                self.tell()  # now, as it also reads the rows that have become visible
                report.job = self.job.pk
                Job.objects.filter(pk=self.job.pk).update(report=report.as_json())
                self.job.collection.touch()
                note_import(self.job, report)
        self.told = report.changed


def note_import(job: Job, report: Report) -> None:
    """Note in the audit what an import did."""
    act = Act.MADE if job.kind in MAKERS else Act.IMPORTED
    files = ", ".join(file["name"] for file in job.files) or job.options.get("of", "")
    counts = {name: report.counts[name] for name in ("new", "changed") if report.counts[name]}
    note(act, job.collection, about=files, kind=job.kind, job=job.pk, **counts)


def pause_for_writers(took: float) -> None:
    """Sleep so that others can write: as long as they had to wait, or shorter if nobody has written for a while.

    Not on PostgreSQL, where nobody waited, and not inside a transaction of the caller, where nobody could write.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        pause = took if _others_write() else took / 4
        time.sleep(min(LONGEST_PAUSE, max(SHORTEST_PAUSE, pause)))


def _others_write() -> bool:
    """Whether another connection has committed within QUIET. Waiting writers cannot be seen."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")  # another number after each commit by another connection
        (version,) = cursor.fetchone()
    now = time.monotonic()
    if version != getattr(_seen, "version", version):
        _seen.at = now
    _seen.version = version
    return now - getattr(_seen, "at", -math.inf) < QUIET


def land(
    collection: Collection,
    sources: Sequence[Source],
    report: Report,
    kind: str,
    job: Job | None,
    write: Callable[[Landing], None],
    tell: Callable[[], None],
) -> bool:
    """Whether the rows were published, together with what `tell` adds to the report.

    Runs `write`, all or nothing: what it wrote is deleted unless it ends with `published`.

    Without the `job` of a worker one is made, which stays in the list of imports if anything changed. An
    IntegrityError becomes a refusal. So does another import under way, and the end of this one from outside; with
    a `job` these raise Busy and Superseded. Into a collection that was put away nothing is imported.
    """
    if Collection.objects.filter(pk=collection.pk, put_away_at__isnull=False).exists():
        report.refuse(sources[0].refusal(0, PUT_AWAY, TAKE_OUT))
        return False
    try:
        place = Landing(_begun(collection, sources, kind, job), tell)
    except Busy as busy:
        if job:
            raise
        problem, cure = f"{busy}", "Wait until it is over, or cancel it on the page Import."
        report.refuse(sources[0].refusal(0, problem, cure))
        report.busy = True
        return False
    try:
        write(place)
    except IntegrityError as error:
        report.clear()
        problem = f"the database refuses the rows ({error})".replace("\n", " ")
        cure = "If somebody else was importing at the same time, run the import again."
        report.refuse(sources[0].refusal(0, problem, cure))
        report.clashed = True
    except Superseded:
        if job:
            raise
        report.clear()
        report.refuse(sources[0].refusal(0, ENDED_OUTSIDE, "Run the import again."))
    finally:
        _end(place.job)
    report.job = place.job.pk
    place.analyze(*GROWING)
    return place.told


def _begun(collection: Collection, sources: Sequence[Source], kind: str, job: Job | None) -> Job:
    """The job, which from now on is the only staging one of its collection. Raises Busy and Superseded."""
    other = None
    for _ in range(3):
        try:
            with transaction.atomic():
                return _made(collection, sources, kind) if job is None else _staging(job, collection)
        except IntegrityError:
            other = Job.objects.staging().filter(collection=collection).first()
            if other and not _removed_if_dead(other):
                break
    raise Busy(other)


def _made(collection: Collection, sources: Sequence[Source], kind: str) -> Job:
    now = timezone.now()
    times = {"beat_at": now, "started_at": now}
    files = [{"name": PurePath(file).name} for file in dict.fromkeys(source.file for source in sources)]
    running = {"state": Job.State.RUNNING, "attended": True, "staging": True, "attempt": 1}
    return Job.objects.create(collection=collection, kind=kind, files=files, **running, **times)


def _staging(job: Job, collection: Collection) -> Job:
    if not job.mine().update(staging=True, collection=collection):
        raise Superseded
    return job


def _removed_if_dead(other: Job) -> bool:
    """Whether another job is over, or its command has died. If so, its rows are deleted."""
    if other.attended and Job.objects.silent().filter(pk=other.pk, attempt=other.attempt).update(
        state=Job.State.FAILED, ended_at=timezone.now()
    ):
        other.state = Job.State.FAILED
    if not other.is_over:
        return False
    remove(other)
    return True


def _end(job: Job) -> None:
    """Delete rows that were not published, and staged ratings, unless another worker has taken over the job."""
    if job.attended:
        job.mine().filter(staging=True).update(state=Job.State.FAILED)
    if Job.objects.staging().filter(pk=job.pk, attempt=job.attempt).exists():
        remove(job)
    if Job.objects.filter(pk=job.pk, attempt=job.attempt, state=Job.State.PUBLISHED).exists():
        forget_staged(job)
    if job.attended:
        Job.objects.filter(pk=job.pk).exclude(state=Job.State.PUBLISHED).delete()


def remove(job: Job) -> None:
    """Delete what a staging job wrote, and restore the texts that it exchanged, in pieces.

    Does nothing for a published job. Several processes may run it at once.
    """
    if not Job.objects.staging().filter(pk=job.pk).exists():
        return
    forget_staged(job)
    while _piece(lambda: exchange(job, back=True)):
        pass
    for rows in (
        job.other_texts,
        job.rankings(manager="written"),
        job.systems(manager="written"),
        job.documents(manager="written"),
    ):
        _delete_in_pieces(rows)
    Job.objects.filter(pk=job.pk).update(staging=False)


def forget_staged(job: Job) -> None:
    """Delete the staged ratings of a job that has published them or never will."""
    _delete_in_pieces(job.staged_ratings)


def remove_collection(collection: Collection) -> None:
    """Delete all rows of a collection without a slug and then the collection, in pieces.

    After a kill, the next call goes on. Several processes may run it at once. Raises IntegrityError where a row
    came in between: the next call deletes that, too.
    """
    for rows in rows_to_delete(collection):
        # One query for all ids: one for each piece would take quadratic time. The newest rows first, because an
        # undo refers to an older event.
        with snapshot():
            pks = np.sort(np.fromiter(rows.order_by().values_list("pk", flat=True).iterator(), np.int64))[::-1]
        _delete_growing(models.QuerySet(rows.model), pks)
    with transaction.atomic():
        collection.jobs.update(staging=False, collection=None)
        for gone in (
            Deletion.objects.filter(collection=collection),
            Collection.written.filter(pk=collection.pk, slug=None),
        ):
            gone._raw_delete(gone.db)


def _delete_growing(rows: models.QuerySet, pks: np.ndarray) -> None:
    """Delete the rows with these ids, in pieces of a size that keeps others waiting only for a moment."""
    start, size = 0, FIRST_PIECE
    while start < len(pks):
        some = rows.filter(pk__in=pks[start : start + size].tolist())
        begun = time.monotonic()
        with transaction.atomic():
            some._raw_delete(some.db)
        took = time.monotonic() - begun
        start += size
        size = min(PIECE, 2 * size) if took < QUICK else max(1, size // 2)
        pause_for_writers(took)


def _piece(work: Callable[[], Any]) -> Any:
    begun = time.monotonic()
    with transaction.atomic():
        result = work()
    pause_for_writers(time.monotonic() - begun)
    return result


def _delete_in_pieces(rows: models.Manager) -> None:
    """Delete hidden rows. No other row refers to them, so Django need not collect related rows."""
    while pks := list(rows.values_list("pk", flat=True)[:PIECE]):
        some = rows.filter(pk__in=pks)
        _piece(lambda some=some: some._raw_delete(some.db))


def exchange(job: Job, *, back: bool = False) -> int:
    """How many documents got their other text: at most TEXTS. To be called in a transaction."""
    waiting = job.other_texts.filter(exchanged=back).order_by("pk").select_related("document")
    texts = list(waiting.select_for_update()[:TEXTS])
    for text in texts:
        for name in CONTENT:
            mine, other = getattr(text, name), getattr(text.document, name)
            setattr(text, name, other)
            setattr(text.document, name, mine)
        text.exchanged = not back
    # As an upsert one statement writes many rows; bulk_update would send a CASE with every value.
    written = {"update_conflicts": True, "unique_fields": ["id"]}
    Document.objects.bulk_create([text.document for text in texts], update_fields=CONTENT, **written)
    OtherText.objects.bulk_create(texts, update_fields=[*CONTENT, "exchanged"], **written)
    return len(texts)
