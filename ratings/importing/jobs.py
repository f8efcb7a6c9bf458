"""Imports by a worker: requested, run, cancelled, undone, and retried after the death of a worker.

The row of a job has its state. A task in the queue only says "look at job 7", so it is idempotent, and a lost task
is enqueued again.
"""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django_tasks import task
from django_tasks_db.models import DBTaskResult

from ..database import disk
from ..models import LEASE, Collection, Engine, Job
from ..people import audit
from ..presentation.versions import latest_presented
from ..words import as_sentence
from . import chores, intake, signs, uploads
from .intake import opening
from .intake.publishing import Superseded
from .intake.report import Report
from .pictures.fetching import Fetching, Unfinished
from .pull import turns
from .signs import Progress

log = logging.getLogger(__name__)

State = Job.State
MOST_DEATHS = 5  # a job that kills its workers is not retried more often
SHORTEST_WAIT = timedelta(seconds=2)  # until the next try, while the database is locked
TASKS_KEPT_FOR = timedelta(days=1)  # finished tasks
START_COMMAND = f"{settings.PROGRAM} manage work"
INTAKES = {
    Job.Kind.QUERIES: intake.import_queries,
    Job.Kind.DOCUMENTS: intake.import_documents,
    Job.Kind.RESULTS: intake.import_run,
    Job.Kind.RATINGS: intake.import_ratings,
    Job.Kind.BEIR: intake.import_beir,
}


@task()
def look_at(pk: int) -> None:
    """Run a job if it is queued."""
    job = Job.objects.filter(pk=pk).first()
    if job and job.state == State.QUEUED and job.take_up():
        work_on(job)


def _queue(job: Job, rows: QuerySet[Job], *, wait: timedelta = timedelta(0), **changes) -> bool:
    """Whether the job was still among `rows` and is queued now, with these changes. `wait`: until its turn."""
    now = timezone.now()
    with transaction.atomic():
        if not rows.filter(pk=job.pk).update(state=State.QUEUED, beat_at=now, **changes):
            return False
        look_at.using(run_after=now + wait if wait else None).enqueue(job.pk)
    return True


# Requests of people


def check(collection: Collection, kind: str, files: Sequence[dict], options: dict, by, **facts) -> Job:
    """A new job, which a worker is to check, or which waits until somebody chooses its kind. facts: fields of Job.

    kind: of the rows; "" if it is unknown.
    """
    job = Job(collection=collection, kind=kind, files=list(files), options=options, by=by, checking=True, **facts)
    if kind:
        return store_queued(job)
    job.state = State.CHECKED  # without a kind: the state in which people choose it
    job.save()
    return job


def store_queued(job: Job) -> Job:
    """The new job, stored and queued."""
    job.beat_at = timezone.now()
    with transaction.atomic():
        job.save()
        look_at.enqueue(job.pk)
    if not signs.has_worker():
        log.error("Job %s waits, and there is no worker. Start one: %s", job.pk, START_COMMAND)
    return job


def stored(collection: Collection, *, logs: bool = False) -> int:
    """The bytes of the files of the collection that are still stored, because nobody has imported them.

    `logs`: of logs of searches, which otherwise are not counted.
    """
    since = timezone.now() - timedelta(seconds=uploads.SECONDS_KEPT)
    over = [State.PUBLISHED, State.CANCELLED, State.UNDONE]
    kept = collection.jobs.filter(created_at__gt=since).exclude(state__in=over)
    kept = kept.filter(kind=Job.Kind.LOG) if logs else kept.exclude(kind=Job.Kind.LOG)
    lists = kept.values_list("files", flat=True)
    return sum(file["size"] for files in lists for file in files if "stored" in file)


def fetch_pictures(collection: Collection, by, files: Sequence[dict] = ()) -> Job | None:
    """A job that fetches the pictures of the documents, from these ZIPs or the web; None if no pictures are shown.

    Without ZIPs, a job that waits already is returned.
    """
    if not latest_presented(collection).has_pictures:
        return None
    waiting = collection.jobs.filter(kind=Job.Kind.PICTURES, state=State.QUEUED, options={}, files=[])
    if not files and (job := waiting.first()):
        return job
    return store_queued(Job(collection=collection, kind=Job.Kind.PICTURES, files=list(files), by=by))


def fetch_system(engine: Engine, options: dict, by) -> Job:
    """A new job that fetches a system from the engine. `options`: those of `turns.options`."""
    facts = {"kind": Job.Kind.ENGINE, "files": [{"name": engine.name}], "options": options, "by": by}
    return store_queued(Job(collection=engine.collection, **facts))


def check_again(job: Job, kind: str, options: dict, **facts) -> bool:
    """Whether a check of the job, as this kind and with these options, is queued. False if it is too late."""
    return _queue_again(job, checking=True, kind=kind, options=options, **facts)


def former_choice(
    collection: Collection, header: Sequence[str], kind: str = "", before: int | None = None
) -> Job | None:
    """The last published import whose columns people had chosen for a file with this header; None without one.

    `header`: the names of the columns; None is returned for a file without any. `kind`: of its rows; "": of any
    kind, but None is returned if there are imports of several kinds. `before`: only imports that are older than
    the job with this id.
    """
    if not header:
        return None
    # A job stores a header only if people chose its columns, or if it took over such a choice.
    imports = Job.objects.filter(collection=collection, state=State.PUBLISHED, header=list(header))
    if kind:
        imports = imports.filter(kind=kind)
    if before:
        imports = imports.filter(pk__lt=before)
    last = imports.order_by("-pk").first()
    has_several_kinds = last is not None and imports.exclude(kind=last.kind).exists()
    return None if has_several_kinds else last


def former_encoding(collection: Collection) -> str:
    """The encoding that people chose for the last import for which they chose one; "" if there is none."""
    chosen = collection.jobs.filter(state=State.PUBLISHED, options__has_key="encoding").order_by("-pk")
    return next((job.options["encoding"] for job in chosen[:1]), "")


def start(job: Job, **changes) -> bool:
    """Whether the import is queued after its check, with changes of the job.

    False if it was not checked, was started or was cancelled.
    """
    return bool(job.kind) and _queue_again(job, checking=False, **changes)


def _queue_again(job: Job, **changes) -> bool:
    """Whether the job is queued with these changes. False if it runs, is published or was cancelled."""
    ready = Job.objects.filter(state__in=[State.CHECKED, State.REFUSED, State.FAILED])
    return _queue(job, ready, report={}, message="", ended_at=None, deaths=0, **changes)


def cancel(job: Job) -> bool:
    """Whether the job is cancelled: its worker stops, and nothing of it is kept. False if it is over already."""
    open_ones = [State.QUEUED, State.RUNNING, State.CHECKED, State.REFUSED, State.FAILED]
    if job.state == State.RUNNING:
        signs.ask_to_end(job)
    cancelled = Job.objects.filter(pk=job.pk, state__in=open_ones)
    if not cancelled.update(state=State.CANCELLED, ended_at=timezone.now()):
        return False
    _forget(job)
    return True


def _forget(job: Job) -> None:
    """Delete what a job that is over kept until now: its files, and the answers of an engine."""
    uploads.forget(job.files)
    job.answers.all().delete()


# The worker


def work_on(job: Job) -> None:
    """Run a job that this worker has taken up, or one turn of it. Failures are stored in the job."""
    with signs.shown(job) as progress, audit.acting_for(job.by):
        if job.deaths >= MOST_DEATHS:
            _end(job, State.FAILED, message=f"It was started {job.deaths} times, and each time the worker died.")
            return
        try:
            report = _run(job, progress)
        except Superseded:
            # Somebody cancels the job, or it was queued again or taken over by another worker. `cancel` asks this
            # worker to end, and then stores CANCELLED. If it has not stored that yet, `_end` does so here. In all
            # other cases `_end` changes nothing.
            _end(job, State.CANCELLED)
            # A job that is not cancelled goes on, with this worker or another, and needs its files and answers.
            if not Job.objects.filter(pk=job.pk).exclude(state=State.CANCELLED).exists():
                _forget(job)
        except Unfinished as error:
            # Its turn, a part of its work, is over: the job is queued again, behind other jobs.
            _put_off(job, progress.step.message, timedelta(seconds=error.pause))
        except Exception as error:
            if isinstance(error, OperationalError) and "locked" in str(error):  # as SQLite says it
                _put_off(job, "It waits for the database, into which something else writes.")
            else:
                _end(job, State.FAILED, message=_failure_message(job, error))
        else:
            _store(job, report)


def _failure_message(job: Job, error: Exception) -> str:
    """Why the job failed, for the person who requested it."""
    if trouble := disk.trouble(error):
        log.error("Job %s failed: %s", job.pk, error)
        return f"{disk.MESSAGES[trouble]} Nothing of it is in the record. Try again when this is repaired."
    if isinstance(error, FileNotFoundError):
        return "The file is no longer stored. Send it again."
    if isinstance(error, (OSError, ValueError)):
        return as_sentence(error)
    log.exception("Job %s failed", job.pk)
    return "Idealist made a mistake here. Its log tells more."


def _run(job: Job, progress: Progress) -> Report:
    """Do the work of a job of any kind, and return its report. Raises whatever stops it, and Unfinished."""
    if job.kind == Job.Kind.PICTURES:
        return _fetch_pictures(job, progress)
    if job.kind == Job.Kind.ENGINE:
        return turns.work(job, progress)
    if work := chores.of_jobs.get(job.kind):  # apps add such work for further kinds of jobs
        return work(job, progress)
    # The options in READING say how files are read. The others are arguments of the import.
    import_options = {name: value for name, value in job.options.items() if name not in opening.READING}
    with ExitStack() as stack:
        files = [(file["name"], stack.enter_context(uploads.opened(file))) for file in job.files]
        sources = stack.enter_context(opening.sources(files, opening.reading(job.options)))
        return INTAKES[job.kind](job.destination, sources, progress=progress, job=job, **import_options)


def _fetch_pictures(job: Job, progress: Progress) -> Report:
    """Fetch pictures for one turn, and return the report after the last one. Raises Unfinished after any other.

    A turn is limited in time, so that other jobs get theirs. The options of the job store what is done: whether
    the sources of pictures are `listed`, whether the ZIPs are `unpacked`, a sentence on how many of all their
    files `matched`, in any turn, and the id of the last picture that was looked for in the ZIPs: the next turn
    goes on `after` it.
    """
    checkpoint = job.options
    zips = [] if checkpoint.get("unpacked") else job.files
    with ExitStack() as stack:
        # Opened before the turn begins, since another storage may take longer for it than a turn lasts.
        opened_zips = [(file["name"], stack.enter_context(uploads.opened(file))) for file in zips]
        turn = Fetching(job.destination, progress=progress)
        try:
            if not checkpoint.get("listed"):
                turn.list_sources()
                checkpoint["listed"] = True
            if opened_zips:
                checkpoint["matched"] = turn.unpack(opened_zips, after=checkpoint.get("after", 0))
                checkpoint["unpacked"] = True
            turn.fetch()
        except Unfinished:
            # 0 if this turn has not come to the ZIPs: then what the last one stored stays.
            checkpoint["after"] = turn.unpacked_up_to or checkpoint.get("after", 0)
            job.mine().update(options=checkpoint)  # unless another worker has it now, or it was cancelled
            raise
    return Report(facts=[checkpoint["matched"]] if "matched" in checkpoint else [])


def _store(job: Job, report: Report) -> None:
    """End the job with its report, unless `land` has ended it together with the rows that it wrote.

    The files of a published job are deleted, and pictures that are missing after an import are fetched. An import
    that changed nothing counts as published.
    """
    is_published = Job.objects.filter(pk=job.pk, attempt=job.attempt, state=State.PUBLISHED).exists()
    if not is_published:
        state_of_import = State.REFUSED if report.refused else State.PUBLISHED
        # A check is CHECKED also if it refuses lines: people may choose how to read the files, and check again.
        state = State.CHECKED if job.checking else state_of_import
        is_published = _end(job, state, report) and state == State.PUBLISHED
    if is_published:
        uploads.forget(job.files)
        if job.kind in {*INTAKES, Job.Kind.ENGINE, Job.Kind.NIGHT}:  # imports of files, and from engines
            fetch_pictures(job.destination, job.by)


def _end(job: Job, state: str, report: Report | None = None, message: str = "") -> bool:
    """Whether the job ended so. False, and nothing is changed, if another worker has it or it was cancelled."""
    facts = {"report": report.as_json()} if report else {}
    with transaction.atomic():
        ended = bool(job.mine().update(state=state, message=message[:200], ended_at=timezone.now(), **facts))
        if ended:
            job.answers.all().delete()  # of an engine
    return ended


def _put_off(job: Job, message: str, wait: timedelta = SHORTEST_WAIT) -> None:
    _queue(job, job.mine(), wait=max(wait, SHORTEST_WAIT), message=message[:200])


# Recovery


def reap() -> None:
    """Requeue the jobs of dead workers, enqueue lost tasks again, and delete old ones."""
    silent = Job.objects.filter(beat_at__lt=timezone.now() - LEASE)
    for job in silent.filter(state=State.RUNNING):
        if not signs.step_of(job):
            _queue_unchanged(job, deaths=job.deaths + 1)
    for job in silent.filter(state=State.QUEUED):
        if not DBTaskResult.objects.filter(status="READY", args_kwargs__args=[job.pk]).exists():
            _queue_unchanged(job)
    DBTaskResult.objects.filter(enqueued_at__lt=timezone.now() - TASKS_KEPT_FOR).exclude(status="READY").delete()


def _queue_unchanged(job: Job, **changes) -> None:
    """Queue the job, unless somebody else has done something with it since it was read."""
    unchanged = Job.objects.filter(attempt=job.attempt, state=job.state, beat_at=job.beat_at)
    _queue(job, unchanged, **changes)
