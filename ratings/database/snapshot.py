"""Consistent reads while others write."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """A read-only transaction in which all statements see the same state. It blocks no writer.

    Inside another transaction it does nothing.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        yield from _read_transaction()
    else:
        yield from _repeatable_read()


def _read_transaction() -> Iterator[None]:
    """A transaction without `atomic`, which would begin IMMEDIATE here and lock out writers."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        # The state is fixed by the first read, not by BEGIN.
        cursor.execute("SELECT COUNT(*) FROM sqlite_master")
        cursor.fetchone()
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _repeatable_read() -> Iterator[None]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # The configured timeouts suit pages. Reading a million rows takes longer.
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield
