"""Whether an error of a database or a file means that the disk is full or read-only."""

import errno
import tempfile
from enum import StrEnum
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext_noop


class Trouble(StrEnum):
    FULL = "full"
    READ_ONLY = "read-only"


MESSAGES = {
    Trouble.FULL: gettext_noop("The server’s disk is full."),
    Trouble.READ_ONLY: gettext_noop("The server’s disk or database is read-only, or closed to Idealist."),
}
TROUBLE_OF_ERRNO = {
    errno.ENOSPC: Trouble.FULL,
    errno.EDQUOT: Trouble.FULL,
    errno.EROFS: Trouble.READ_ONLY,
}
# By the beginning of the name of SQLite's error: it has kinds, such as SQLITE_READONLY_DBMOVED.
TROUBLE_OF_SQLITE = {
    "SQLITE_FULL": Trouble.FULL,
    "SQLITE_IOERR_SHMSIZE": Trouble.FULL,  # the index of the write-ahead log, which is created beside the file
    "SQLITE_READONLY": Trouble.READ_ONLY,
    "SQLITE_CANTOPEN": Trouble.READ_ONLY,  # the write-ahead log, which is created beside the file
}
TROUBLE_OF_SQLSTATE = {"53100": Trouble.FULL, "25006": Trouble.READ_ONLY}  # disk_full, read_only_sql_transaction


def trouble(error: BaseException | None) -> Trouble | None:
    """The trouble with the disk that the error reports; None if it is about something else."""
    if isinstance(error, OSError):
        return TROUBLE_OF_ERRNO.get(error.errno)
    # An error of Django has that of the driver as its cause.
    driver_error = error.__cause__ if isinstance(error, DatabaseError) and error.__cause__ else error
    name = getattr(driver_error, "sqlite_errorname", "") or ""
    of_sqlite = next((trouble for begins, trouble in TROUBLE_OF_SQLITE.items() if name.startswith(begins)), None)
    return of_sqlite or TROUBLE_OF_SQLSTATE.get(getattr(driver_error, "sqlstate", None))


def try_out(folder: Path) -> None:
    """Write a temporary file of one block. Raises OSError if that fails."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(4096))
