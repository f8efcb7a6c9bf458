"""SQLite as Django has it, but the transactions of one process take turns.

SQLite has one writer at a time. Who finds another at work sleeps for up to a tenth of a second and tries again:
meanwhile nobody may be writing, and who comes by at the right moment goes first, so that one rater waits seconds
where others do not wait at all. Here they wait for each other, and the next begins the moment that the one before
has ended. Other processes are waited for as before.
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
        """What the writers of this file take turns with."""
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
            # After a commit that failed nobody can write before it is rolled back.
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
