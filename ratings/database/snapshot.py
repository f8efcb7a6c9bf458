"""Consistent reads while others go on writing."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """A read-only transaction whose statements all read the same state. It blocks no writer.

    Inside a transaction that was begun before, it does nothing.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        yield from _read_transaction()
    else:
        yield from _repeatable_read()


def _read_transaction() -> Iterator[None]:
    """Without `atomic`: the project's transactions begin IMMEDIATE, and would lock out writers."""
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
            # The configured timeouts are those of a page; to read a million rows takes longer.
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield
