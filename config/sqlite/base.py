"""Django's SQLite backend with a lock around the write transactions of one process.

SQLite has one writer at a time. A second writer sleeps for up to a tenth of a second and tries again. So the
database idles, and waits are unfair: one rater waits for seconds while others do not wait. With the lock, the next
transaction starts when the one before it ends. For writers of other processes SQLite's own waiting applies.
"""

from collections import defaultdict
from threading import Lock
from time import monotonic

from django.db import OperationalError
from django.db.backends.sqlite3 import base

_write_locks: dict[str, Lock] = defaultdict(Lock)  # by the path of the database


class DatabaseWrapper(base.DatabaseWrapper):
    _held_lock = None  # the lock, from the start of a transaction to its end

    @property
    def write_lock(self) -> Lock:
        """The lock of this database file."""
        return _write_locks[str(self.settings_dict["NAME"])]

    def _start_transaction_under_autocommit(self) -> None:
        """Take the lock, and begin. Both together wait no longer than the `timeout` of the database."""
        write_lock = self.write_lock
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5)  # seconds
        deadline = monotonic() + timeout
        if not write_lock.acquire(timeout=timeout):
            raise OperationalError("database is locked")
        self._held_lock = write_lock
        try:
            self._wait_at_most(max(0.0, deadline - monotonic()))  # for writers of other processes
            super()._start_transaction_under_autocommit()
            self._wait_at_most(timeout)  # the usual time again, for the statements of the transaction
        except BaseException:
            self._release()
            raise

    def _wait_at_most(self, seconds: float) -> None:
        """For writers of other processes."""
        self.connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    def _commit(self) -> None:
        try:
            return super()._commit()
        finally:
            # After a failed commit the transaction stays open until it is rolled back.
            if not (self.connection and self.connection.in_transaction):
                self._release()

    def _rollback(self) -> None:
        try:
            return super()._rollback()
        finally:
            self._release()

    def _close(self) -> None:
        try:
            return super()._close()
        finally:
            self._release()

    def _release(self) -> None:
        write_lock = self._held_lock
        self._held_lock = None
        if write_lock:
            write_lock.release()
