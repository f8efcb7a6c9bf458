"""Make or change the tables, one process at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connection

LOCK_NUMBER = 4_936_218_057  # any number that is the same in every version
SECONDS_BETWEEN_TRIES = 0.2  # to get the lock


@contextmanager
def alone() -> Iterator[None]:
    """The block runs while no other machine makes tables in this PostgreSQL. On one machine, run.py has a lock."""
    if connection.vendor == "sqlite":
        yield
        return
    # It asks again and again: an index that is built concurrently waits for all statements, even waiting ones.
    while not _asked("pg_try_advisory_lock"):
        time.sleep(SECONDS_BETWEEN_TRIES)
    try:
        yield
    finally:
        with suppress(DatabaseError):  # the session has ended, and its lock with it
            _asked("pg_advisory_unlock")


def _asked(function: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [LOCK_NUMBER])
        return cursor.fetchone()[0]
