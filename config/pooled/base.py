"""Django's PostgreSQL backend for a pooler that gives each transaction another session, such as PgBouncer.

Nothing may outlive a transaction: no setting of a session, no prepared statement and no server-side cursor. So the
limits of a page are set before the first statement of each transaction. They are sent in the same message, which
saves a round trip.
"""

from functools import partial

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class Cursor(base.Cursor):
    """A cursor that sets `limits`, as SQL, with the first statement of a transaction or one outside of it."""

    def __init__(self, *args, limits: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits

    def execute(self, query, params=None, *, binary: bool | None = None, **options) -> "Cursor":
        # psycopg refuses `binary` without a server-side cursor. Bytes then arrive as hex, with the same value.
        outside = self.connection.pgconn.transaction_status == TransactionStatus.IDLE
        if not (outside and self.limits):
            return super().execute(query, params, **options)
        # Several statements in one message are one transaction, so that SET LOCAL has an effect.
        super().execute(self.limits + query, params, **options)
        while self.nextset():  # the results of SET come before that of the statement
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
        """A server-side cursor, which lives until its transaction ends; outside of one an ordinary cursor."""
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()
