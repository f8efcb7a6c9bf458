"""Reading as of one moment, while others go on writing."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """Everything that is read inside is of one moment. Nothing can be written inside, and nobody waits.

    Inside a transaction that somebody else began theirs is the moment.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        yield from _read_transaction()
    else:
        yield from _repeatable_read()


def _read_transaction() -> Iterator[None]:
    """Not `atomic`: the transactions of this project begin as writers, and would keep raters waiting."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        # The moment is that of the first look.
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
            # The limits are those of a page; a million rows take longer.
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield
