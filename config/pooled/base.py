"""Django's PostgreSQL backend for a pooler that gives each transaction another session, such as PgBouncer.

Nothing may outlive a transaction: no limits of a session, no prepared statement, and no cursor of the server. So
the limits of a page go before the first statement of each transaction. They are in its message, which costs no
further way to the server and back.
"""

from functools import partial

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class Cursor(base.Cursor):
    """Its first statement in a transaction, or one without a transaction, runs within `limits`."""

    def __init__(self, *args, limits: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits

    def execute(self, query, params=None, *, binary: bool | None = None, **options) -> "Cursor":
        # psycopg refuses `binary` where no cursor of the server is. Bytes come as hex then, and are the same.
        outside = self.connection.pgconn.transaction_status == TransactionStatus.IDLE
        if not (outside and self.limits):
            return super().execute(query, params, **options)
        # Several statements in one message are one transaction, in which SET LOCAL counts.
        super().execute(self.limits + query, params, **options)
        while self.nextset():  # the answers to SET come before that of the statement
            pass
        return self


class DatabaseWrapper(base.DatabaseWrapper):
    lasting_sessions = False  # see ratings/database/prepared.py

    def get_connection_params(self) -> dict:
        params = super().get_connection_params()
        limits = params.pop("limits", {}).items()
        self.limits = "".join(f"SET LOCAL {name} = '{limit}'; " for name, limit in limits)
        return params

    def get_new_connection(self, params: dict):
        connection = super().get_new_connection(params)
        connection.cursor_factory = partial(Cursor, limits=self.limits)
        return connection

    def chunked_cursor(self):
        """A cursor of the server, which lives as long as its transaction; outside of one an ordinary cursor."""
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()
