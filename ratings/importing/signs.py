"""Signs of life: that a worker is there, what a job is doing, and that it is to end.

They are in a cache, since a job's transaction shows nothing before its end and, on SQLite, lets nobody write.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple

from django.core.cache import cache
from django.db import DatabaseError, connection

from ..models import LEASE, Job
from .intake.publishing import Superseded

log = logging.getLogger(__name__)

SECONDS_OF_SILENCE = LEASE.total_seconds()  # after which a worker or a job counts as dead
SECONDS_BETWEEN_SIGNS = 0.5  # of a job
WORKER_KEY = "worker"


class Step(NamedTuple):
    """What a job is doing."""

    message: str
    share: float | None  # that is done, 0 to 1; None: unknown
    done: int  # rows


def show_worker() -> None:
    """Record that a worker is alive."""
    cache.set(WORKER_KEY, time.time(), None)


def last_of_worker() -> float | None:
    """The time of the last sign of a worker, on any machine, in seconds since 1970; None before the first."""
    return cache.get(WORKER_KEY)


def has_worker() -> bool:
    last = last_of_worker()
    return last is not None and time.time() - last < SECONDS_OF_SILENCE


def step_of(job: Job) -> Step | None:
    """What the worker of a job is doing; None if it gives no sign."""
    return cache.get(_step(job))


def show_step(job: Job, step: Step) -> None:
    cache.set(_step(job), step, SECONDS_OF_SILENCE)


def ask_to_end(job: Job) -> None:
    """Ask the worker of a job to end it. On SQLite it may hold the database, so that nothing else can tell it."""
    cache.set(_end(job), True, None)


def is_to_end(job: Job) -> bool:
    return cache.get(_end(job), False)


class Progress:
    """Keeps what a job is doing. Raises Superseded if it was cancelled or another worker took it over."""

    def __init__(self) -> None:
        self.step = Step("", share=None, done=0)
        self.superseded = False

    def __call__(self, name: str, share: float | None, rows: int) -> None:
        if self.superseded:
            raise Superseded
        self.step = Step(name[:200], share, rows)


@contextmanager
def shown(job: Job) -> Iterator[Progress]:
    """While the context lasts, a thread shows the progress of the job to pages and looks whether it is to end.

    If the job is to end, the next call of the progress raises Superseded.
    """
    progress, is_over = Progress(), Event()  # is_over: the context has ended

    def show_and_look() -> None:
        try:
            show_step(job, progress.step)
            # No longer in this state (cancelled), or another worker has taken it up, which raises `attempt`.
            changed = Job.objects.filter(pk=job.pk).exclude(state=job.state, attempt=job.attempt)
            progress.superseded |= is_to_end(job) or changed.exists()
        except (DatabaseError, OSError) as error:
            log.warning("Job %s: no sign of life (%s)", job.pk, error)

    def repeat() -> None:
        while not is_over.wait(SECONDS_BETWEEN_SIGNS):
            show_and_look()
        connection.close()  # that of this thread: Django opens one for each

    thread = Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()
        cache.delete_many([_step(job), _end(job)])


def _step(job: Job) -> str:
    return f"step-{job.pk}-{job.attempt}"


def _end(job: Job) -> str:
    return f"end-{job.pk}"
