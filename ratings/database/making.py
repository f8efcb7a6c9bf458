"""Make or change the tables, one process at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from django.conf import settings
from django.db import DatabaseError, connection

LOCK_NUMBER = 4_936_218_057  # any number that is the same in every version
SECONDS_BETWEEN_TRIES = 0.2  # to get the lock


@contextmanager
def alone() -> Iterator[None]:
    """The block runs while no other process of this program makes tables, and on PostgreSQL none at all."""
    program = os.open(settings.BASE_DIR, os.O_RDONLY)  # run.py locks the same folder while it installs
    try:
        with suppress(OSError):  # a disk without locks
            fcntl.flock(program, fcntl.LOCK_EX)
        with _alone_on_postgresql() if connection.vendor == "postgresql" else nullcontext():
            yield
    finally:
        os.close(program)


@contextmanager
def _alone_on_postgresql() -> Iterator[None]:
    # It asks again and again: an index that is built concurrently waits for all statements, even waiting ones.
    while not _result("pg_try_advisory_lock"):
        time.sleep(SECONDS_BETWEEN_TRIES)
    try:
        yield
    finally:
        with suppress(DatabaseError):  # the session has ended, and its lock with it
            _result("pg_advisory_unlock")


def _result(function: str) -> bool:
    """The result of a function of PostgreSQL that is called with the number of the lock."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [LOCK_NUMBER])
        return cursor.fetchone()[0]
