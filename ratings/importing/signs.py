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

SILENCE = LEASE.total_seconds()  # after which who gave no sign counts as dead
EVERY = 0.5  # seconds between two signs of a job
WORKER = "worker"


class Step(NamedTuple):
    """What a job is doing."""

    message: str
    share: float | None  # that is done, 0 to 1; None: unknown
    done: int  # rows


def show_worker() -> None:
    """Record that a worker is alive."""
    cache.set(WORKER, time.time(), None)


def last_of_worker() -> float | None:
    """The time of the last sign of a worker, on any machine, in seconds since 1970; None before the first."""
    return cache.get(WORKER)


def has_worker() -> bool:
    last = last_of_worker()
    return last is not None and time.time() - last < SILENCE


def step_of(job: Job) -> Step | None:
    """What the worker of a job is doing; None if it gives no sign."""
    return cache.get(_step(job))


def show_step(job: Job, step: Step) -> None:
    cache.set(_step(job), step, SILENCE)


def ask_to_end(job: Job) -> None:
    """Ask the worker of a job to end it. On SQLite it may hold the database, so that nothing else can tell it."""
    cache.set(_end(job), True, None)


def is_to_end(job: Job) -> bool:
    return cache.get(_end(job), False)


class Progress:
    """Keeps what a job is doing. Raises Superseded if it was cancelled or another worker took it over."""

    def __init__(self) -> None:
        self.step = Step("", None, 0)
        self.superseded = False

    def __call__(self, name: str, share: float | None, rows: int) -> None:
        if self.superseded:
            raise Superseded
        self.step = Step(name[:200], share, rows)


@contextmanager
def shown(job: Job) -> Iterator[Progress]:
    """Meanwhile a thread, with its own connection, shows the progress of the job and looks if it is to end."""
    progress, over = Progress(), Event()

    def look() -> None:
        try:
            show_step(job, progress.step)
            others = Job.objects.filter(pk=job.pk).exclude(state=job.state, attempt=job.attempt)
            progress.superseded |= is_to_end(job) or others.exists()
        except (DatabaseError, OSError) as error:
            log.warning("Job %s: no sign of life (%s)", job.pk, error)

    def look_again() -> None:
        while not over.wait(EVERY):
            look()
        connection.close()

    thread = Thread(target=look_again, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()
        cache.delete_many([_step(job), _end(job)])


def _step(job: Job) -> str:
    return f"step-{job.pk}-{job.attempt}"


def _end(job: Job) -> str:
    return f"end-{job.pk}"
