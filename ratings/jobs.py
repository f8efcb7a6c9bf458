"""Imports and archives that a worker takes in: asked for, done, cancelled, taken up again when one died, undone.

The row of a job says what is the case. The queue of tasks only says "look at job 7": to look twice does no harm,
and a look that got lost is asked for again.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from threading import Event, Thread
from time import monotonic

from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from django_tasks import task
from django_tasks_db.models import DBTaskResult

from . import archive, intake, uploads
from .formats import values
from .formats.source import Source
from .intake.publishing import Busy, Superseded, forget_staged, remove
from .intake.report import Report
from .intake.undoing import undone
from .models import LEASE, Collection, Job, StagedRating

log = logging.getLogger(__name__)

State = Job.State
BEAT = LEASE.total_seconds() / 6
MOST_DEATHS = 5  # what kills its worker every time must not go on for ever
WAIT = timedelta(seconds=2)  # until it is tried again, while another import is under way
TOLD = 0.5  # seconds between two notes of how far it is
KEPT = timedelta(days=1)  # messages that were read
INTAKES = {
    Job.Kind.QUERIES: intake.import_queries,
    Job.Kind.DOCUMENTS: intake.import_documents,
    Job.Kind.RESULTS: intake.import_run,
    Job.Kind.RATINGS: intake.import_ratings,
}


@task()
def look_at(pk: int) -> None:
    """Do what is to be done about a job."""
    job = Job.objects.filter(pk=pk).first()
    if job and job.state == State.QUEUED and job.take_up():
        work_on(job)
    elif job and job.is_over and job.staging:
        remove(job)


# What people ask for


def check(collection: Collection | None, kind: str, files: Sequence[dict], options: dict, by) -> Job:
    """A new job, of which a worker is to find out what it would do. An archive has no collection yet."""
    facts = {"kind": kind, "files": list(files), "options": options, "by": by}
    with transaction.atomic():
        job = Job.objects.create(collection=collection, checking=True, beat_at=timezone.now(), **facts)
        look_at.enqueue(job.pk)
    return job


def check_again(job: Job, kind: str, options: dict) -> bool:
    """As another kind of row, or with other options. False where it is no longer to be checked."""
    return _ask(job, checking=True, kind=kind, options=options)


def start(job: Job, options: dict) -> bool:
    """Do the import that was checked. False where somebody did that already, or cancelled it."""
    return _ask(job, checking=False, options=options)


def _ask(job: Job, **facts) -> bool:
    with transaction.atomic():
        ready = [State.CHECKED, State.REFUSED, State.FAILED]
        asked = Job.objects.filter(pk=job.pk, state__in=ready, staging=False)
        fresh = {"report": {}, "message": "", "done": 0, "share": None, "ended_at": None, "deaths": 0}
        if not asked.update(state=State.QUEUED, beat_at=timezone.now(), **fresh, **facts):
            return False
        look_at.enqueue(job.pk)
    return True


def cancel(job: Job) -> bool:
    """Whoever works on it writes no more, and what it wrote is removed. False where it is over already."""
    open_ones = [State.QUEUED, State.RUNNING, State.CHECKED, State.REFUSED, State.FAILED]
    with transaction.atomic():
        if not Job.objects.filter(pk=job.pk, state__in=open_ones).update(
            state=State.CANCELLED, ended_at=timezone.now()
        ):
            return False
        look_at.enqueue(job.pk)
    uploads.forget(job.files)
    return True


def undo(job: Job, by=None) -> list[str]:
    """Take a whole import back, `by` an account. Returns what stands against it; nothing changed then."""
    against = undone(job, by)
    if not against:
        look_at.enqueue(job.pk)
        uploads.forget(job.files)
    return against


# What a worker does


def work_on(job: Job) -> None:
    """Do a job that was taken up. What goes wrong is told in the job."""
    with beating(job):
        remove(job)  # what a worker wrote that died over it
        if job.deaths >= MOST_DEATHS:
            _end(job, State.FAILED, message=f"It was begun {job.deaths} times, and each time the worker died.")
            return
        try:
            report = _take_in(job)
        except Superseded:
            return
        except Busy as busy:
            _put_off(job, f"Waits, for {busy}.")
        except FileNotFoundError:
            _end(job, State.FAILED, message="The file is no longer kept. Send it again.")
        except (OSError, ValueError) as error:
            _end(job, State.FAILED, message=f"{error}")
        except Exception:
            log.exception("Job %s failed", job.pk)
            _end(job, State.FAILED, message="Idealist made a mistake here. Its log tells more.")
        else:
            _tell(job, report)


def _take_in(job: Job) -> Report:
    if job.kind == Job.Kind.ARCHIVE:
        return _bring(job)
    given = dict(job.options)
    grades = {word: values.grade(value) for word, value in given.pop("grades", {}).items()}
    said = {"encoding": given.pop("encoding", None), "columns": given.pop("columns", {}), "grades": grades}
    with ExitStack() as stack:
        files = [(file["name"], stack.enter_context(uploads.path_of(file).open("rb"))) for file in job.files]
        sources = [Source(name, stream, **said) for name, stream in files]
        return INTAKES[job.kind](job.collection, sources, progress=Progress(job), job=job, **given)


def _bring(job: Job) -> Report:
    (file,) = job.files
    try:
        with archive.opened(uploads.path_of(file), file["name"]) as opened:
            return archive.restore(opened, job.options.get("slug", ""), progress=Progress(job), job=job)
    except archive.Unreadable as unreadable:
        report = Report()
        report.refuse(unreadable.refusal)
        return report


def _tell(job: Job, report: Report) -> None:
    """What came of it. An import that found everything there already is done, too."""
    published = Job.objects.filter(pk=job.pk, attempt=job.attempt, state=State.PUBLISHED)
    if published.update(report=report.as_json()):
        done = True
    else:
        state = State.CHECKED if job.checking else State.REFUSED if report.refused else State.PUBLISHED
        done = _end(job, state, report) and state == State.PUBLISHED
    if done and not report.left_out:
        uploads.forget(job.files)


def _end(job: Job, state: str, report: Report | None = None, message: str = "") -> bool:
    facts = {"report": report.as_json()} if report else {}
    return bool(job.mine().update(state=state, message=message[:200], ended_at=timezone.now(), **facts))


def _put_off(job: Job, message: str) -> None:
    with transaction.atomic():
        if job.mine().update(state=State.QUEUED, message=message[:200], beat_at=timezone.now()):
            look_at.using(run_after=timezone.now() + WAIT).enqueue(job.pk)


class Progress:
    """Notes now and then how far a job is. Raises Superseded where it was cancelled or taken up by another."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.told = 0.0

    def __call__(self, name: str, share: float | None, rows: int) -> None:
        now = monotonic()
        if now - self.told < TOLD:
            return
        self.told = now
        facts = {"message": name[:200], "share": share, "done": rows, "beat_at": timezone.now()}
        if not self.job.mine().update(**facts):
            raise Superseded


@contextmanager
def beating(job: Job) -> Iterator[None]:
    """Says every few seconds that somebody works on the job, also while that somebody is busy."""
    over = Event()

    def beat() -> None:
        while not over.wait(BEAT):
            try:
                # Most of the time the job itself tells it, and a commit without need would pass for a rater's.
                now = timezone.now()
                job.mine().exclude(beat_at__gt=now - timedelta(seconds=BEAT)).update(beat_at=now)
            except DatabaseError as error:
                log.warning("Job %s: no heartbeat (%s)", job.pk, error)
        connection.close()

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# What keeps it going


def reap() -> None:
    """Take up what dead workers left, remove what nobody may see, and ask again for looks that got lost."""
    for job in Job.objects.silent().filter(attended=False):
        _ask_again(job, deaths=1)
    Job.objects.silent().filter(attended=True).update(state=State.FAILED, ended_at=timezone.now())
    for job in Job.objects.staging().exclude(state__in=[State.QUEUED, State.RUNNING]):
        remove(job)
    for job in Job.objects.filter(pk__in=StagedRating.objects.values("job"), state=State.PUBLISHED):
        forget_staged(job)
    for job in Job.objects.filter(state=State.QUEUED, beat_at__lt=timezone.now() - LEASE):
        _ask_again(job)
    uploads.forget_old()
    DBTaskResult.objects.filter(enqueued_at__lt=timezone.now() - KEPT).exclude(status="READY").delete()


def _ask_again(job: Job, deaths: int = 0) -> None:
    with transaction.atomic():
        waits = DBTaskResult.objects.filter(status="READY", args_kwargs__args=[job.pk])
        if not deaths and waits.exists():
            return
        seen = Job.objects.filter(pk=job.pk, attempt=job.attempt, state=job.state, beat_at=job.beat_at)
        if seen.update(state=State.QUEUED, beat_at=timezone.now(), deaths=job.deaths + deaths):
            look_at.enqueue(job.pk)
