"""How what an import writes comes to be seen: in small pieces that nobody sees, then all of it at once.

SQLite has one writer at a time, and raters write too. A piece is a transaction of at most PIECE rows (on
PostgreSQL, where nobody waits, more of what is small), and after it raters, if there are any, get as long as it
took. What is written carries the job of the import and is hidden while that is staging; the last transaction ends
that. Whatever goes wrong before, the pieces are removed again, in pieces; if the process dies, by whoever comes
next.
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

from ..formats.source import Source
from ..models import Collection, Document, Job, OtherText, Pair, Ranking, Rating, RatingEvent, System
from .report import Report
from .unmade import everything_of

CONTENT = ["title", "body", "url", "fields"]
PIECE = 2_000  # rows
TEXTS = 500  # documents whose text is exchanged in one piece
SHORTEST_BREATH, LONGEST_BREATH = 0.002, 0.2  # seconds
QUIET = 60  # seconds without a commit by anybody else
GROWING = (Document, OtherText, System, Ranking, Pair, Rating, RatingEvent)
MANY = 10_000  # rows, after which the planner of PostgreSQL should look again
_seen = threading.local()  # what data_version was, and when it changed last


class Busy(Exception):
    """Another import is writing into the collection."""

    def __init__(self, other: Job | None) -> None:
        self.other = other
        super().__init__(f"{other or 'another import'} is under way")


class Superseded(Exception):
    """The job was cancelled, or another worker took it up: who gets this writes no more."""


class Landing:
    """The place of one import among the rows that nobody sees yet."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.rows = 0

    @contextmanager
    def piece(self, rows: int) -> Iterator[None]:
        """A small transaction, refused to who lost the job. Raises Superseded."""
        begun = time.monotonic()
        with transaction.atomic():
            self.hold()
            yield
        self.rows += rows
        breathe(time.monotonic() - begun)

    def hold(self) -> None:
        """In a transaction: nobody else takes the job up or cancels it until that ends. Raises Superseded."""
        if not self.job.mine().update(beat_at=timezone.now()):
            raise Superseded

    def beat(self) -> None:
        """Tell that somebody works on it, where no piece does. Raises Superseded."""
        with transaction.atomic():
            self.hold()

    def analyze(self, *tables: type[models.Model]) -> None:
        """Tell the planner what tables have grown to; it would find out by itself within minutes."""
        if self.rows > MANY and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in tables)}")

    @contextmanager
    def published(self, report: Report) -> Iterator[None]:
        """The one short transaction by which all of it is seen. What changed nothing is not published."""
        with transaction.atomic():
            self.hold()
            yield
            if report.changed:
                over = {"state": Job.State.PUBLISHED, "staging": False, "ended_at": timezone.now()}
                self.job.mine().update(**over, report=report.as_json(), former=self.job.former)
                self.job.collection.touch()


def breathe(took: float) -> None:
    """Let others write for as long as they had to wait, or shorter where nobody has written for a while.

    On PostgreSQL nobody had to; within a transaction of somebody else nobody can.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        breath = took if _others_write() else took / 4
        time.sleep(min(LONGEST_BREATH, max(SHORTEST_BREATH, breath)))


def _others_write() -> bool:
    """Who waits cannot be seen; who has written can. The first of them finds one of the shorter gaps."""
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
) -> None:
    """All or nothing: where `write` does not end with `published`, what it wrote is removed.

    Without a job, which a worker has, one is made; it stays in the list of imports if anything changed. What the
    database refuses goes to the report, and so does another import that is under way; a worker gets it as Busy.
    """
    try:
        place = Landing(_begun(collection, sources, kind, job))
    except Busy as busy:
        if job:
            raise
        problem, cure = f"{busy}", "Wait until it is over, or cancel it on the page Import."
        report.refuse(sources[0].refusal(0, problem, cure))
        report.busy = True
        return
    try:
        write(place)
    except IntegrityError as error:
        report.counts.clear()
        problem = f"the database refuses the rows ({error})".replace("\n", " ")
        cure = "If somebody else was importing at the same time, run the import again."
        report.refuse(sources[0].refusal(0, problem, cure))
        report.clashed = True
    finally:
        _end(place.job)
    report.job = place.job.pk
    place.analyze(*GROWING)


def _begun(collection: Collection, sources: Sequence[Source], kind: str, job: Job | None) -> Job:
    """The job, from now on the one of its collection that writes. Raises Busy and Superseded."""
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
    _saved(collection)
    now = timezone.now()
    times = {"beat_at": now, "started_at": now}
    files = [{"name": PurePath(source.name).name} for source in sources]
    running = {"state": Job.State.RUNNING, "attended": True, "staging": True, "attempt": 1}
    return Job.objects.create(collection=collection, kind=kind, files=files, **running, **times)


def _staging(job: Job, collection: Collection) -> Job:
    _saved(collection)
    if not job.mine().update(staging=True, collection=collection):
        raise Superseded
    job.collection = collection
    return job


def _saved(collection: Collection) -> None:
    """What an archive makes comes to be together with what knows that it is not done."""
    if collection.pk is None:
        collection.save()


def remove_dead_archives() -> None:
    """What commands left that died. What workers left, others take up."""
    for job in Job.objects.staging().filter(kind=Job.Kind.ARCHIVE, attended=True):
        _removed_if_dead(job)


def _removed_if_dead(other: Job) -> bool:
    """Make way where the other is over, or was a command that died. Of a worker another takes the job up."""
    if other.attended and Job.objects.silent().filter(pk=other.pk, attempt=other.attempt).update(
        state=Job.State.FAILED, ended_at=timezone.now()
    ):
        other.state = Job.State.FAILED
    if not other.is_over:
        return False
    remove(other)
    return True


def _end(job: Job) -> None:
    """What was not published is removed, but for what somebody else has taken up, and so is what was staged."""
    if job.attended:
        job.mine().filter(staging=True).update(state=Job.State.FAILED)
    if Job.objects.staging().filter(pk=job.pk, attempt=job.attempt).exists():
        remove(job)
    if Job.objects.filter(pk=job.pk, attempt=job.attempt, state=Job.State.PUBLISHED).exists():
        forget_staged(job)
    if job.attended:
        Job.objects.filter(pk=job.pk).exclude(state=Job.State.PUBLISHED).delete()


def remove(job: Job) -> None:
    """Take away what the job wrote, and give back the texts that it took. In pieces; several may do it at once.

    What is seen stays.
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
    if unmade := Collection.written.filter(pk=job.collection_id, slug=None).first():
        _remove_collection(unmade)
    Job.objects.filter(pk=job.pk).update(staging=False)


def forget_staged(job: Job) -> None:
    """Of what became ratings, or never will."""
    _delete_in_pieces(job.staged_ratings)


def _remove_collection(unmade: Collection) -> None:
    """All that an archive brought, what refers to others first; then the collection itself."""
    for rows in everything_of(unmade):
        # To look again for each piece would take the square of the time. An undo is younger than what it undoes.
        pks = np.sort(np.fromiter(rows.order_by().values_list("pk", flat=True).iterator(), np.int64))[::-1]
        every = models.QuerySet(rows.model)
        for start in range(0, len(pks), PIECE):
            some = every.filter(pk__in=pks[start : start + PIECE].tolist())
            _piece(lambda some=some: some._raw_delete(some.db))
    with transaction.atomic():
        unmade.jobs.update(staging=False, collection=None)
        gone = Collection.written.filter(pk=unmade.pk)
        gone._raw_delete(gone.db)


def _piece(work: Callable[[], Any]) -> Any:
    begun = time.monotonic()
    with transaction.atomic():
        found = work()
    breathe(time.monotonic() - begun)
    return found


def _delete_in_pieces(rows: models.Manager) -> None:
    """Nothing refers to what nobody saw, so that nothing needs to be looked for."""
    while pks := list(rows.values_list("pk", flat=True)[:PIECE]):
        some = rows.filter(pk__in=pks)
        _piece(lambda some=some: some._raw_delete(some.db))


def exchange(job: Job, *, back: bool = False) -> int:
    """Give some documents their other text. In a transaction. Returns how many."""
    waiting = job.other_texts.filter(exchanged=back).order_by("pk").select_related("document")
    texts = list(waiting.select_for_update()[:TEXTS])
    for text in texts:
        for name in CONTENT:
            mine, other = getattr(text, name), getattr(text.document, name)
            setattr(text, name, other)
            setattr(text.document, name, mine)
        text.exchanged = not back
    # One statement writes many rows, which bulk_update does only with a CASE of every value.
    written = {"update_conflicts": True, "unique_fields": ["id"]}
    Document.objects.bulk_create([text.document for text in texts], update_fields=CONTENT, **written)
    OtherText.objects.bulk_create(texts, update_fields=[*CONTENT, "exchanged"], **written)
    return len(texts)
