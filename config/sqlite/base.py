"""Django's SQLite backend with a lock around the write transactions of one process.

SQLite has one writer at a time. A second writer sleeps for up to a tenth of a second and tries again, so that the
database idles, and waits are unfair: one rater waits seconds where others do not wait at all. With the lock the
next transaction starts when the one before ends. For writers of other processes SQLite's own waiting applies.
"""

from collections import defaultdict
from threading import Lock

from django.db import OperationalError
from django.db.backends.sqlite3 import base

_turns: dict[str, Lock] = defaultdict(Lock)  # by the file of the database


class DatabaseWrapper(base.DatabaseWrapper):
    _turn = None  # the lock, from the beginning of a transaction to its end

    @property
    def turn(self) -> Lock:
        """The lock of this database file."""
        return _turns[str(self.settings_dict["NAME"])]

    def _start_transaction_under_autocommit(self) -> None:
        turn = self.turn
        if not turn.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5)):
            raise OperationalError("database is locked")
        self._turn = turn
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._pass_on()
            raise

    def _commit(self) -> None:
        try:
            return super()._commit()
        finally:
            # After a failed commit the transaction is open until it is rolled back.
            if not (self.connection and self.connection.in_transaction):
                self._pass_on()

    def _rollback(self) -> None:
        try:
            return super()._rollback()
        finally:
            self._pass_on()

    def _close(self) -> None:
        try:
            return super()._close()
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        turn, self._turn = self._turn, None
        if turn:
            turn.release()
