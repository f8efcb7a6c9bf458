"""Write a backup of the database at one moment, while others continue to write."""

import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.apps.registry import Apps
from django.conf import settings
from django.core.files.storage import storages
from django.db import connection
from django.utils import timezone

from ratings.database.snapshot import snapshot
from ratings.management.whole_file import CLOSED, forget_parts, whole_file

from . import files, package, tables

ATTEMPTS = 5
Progress = Callable[[str], None]


def lower_priority() -> None:
    """Lower the priority of this thread, so that requests of raters come first."""
    with suppress(OSError):  # only Linux has a priority for each thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def write(path: Path, *, with_keys: bool = False, progress: Progress = lambda name: None) -> dict:
    """Write a backup to `path`, where it appears once it is complete, and return its manifest.

    A link stays, and the file that it names is written. Raises OSError, tables.NoTables and
    tables.UnknownMigrations.
    """
    if path == Path("-"):
        raise OSError("A backup is a file, and cannot go to standard output. Name a file, such as idealist.zip")
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no ordinary file. Name another one, such as idealist.zip")
    forget_parts(path)
    with whole_file(path, CLOSED) as file:
        return _write_with_retries(file, with_keys, progress)


def _write_with_retries(file: BinaryIO, with_keys: bool, progress: Progress) -> dict:
    """Write the backup, from the start again if a needed file is deleted meanwhile, and return its manifest.

    The rows of the next attempt do not refer to a file that was deleted. A file that is missing twice was lost
    before the backup; the manifest names it.
    """
    missing: set[str] = set()
    for _ in range(ATTEMPTS):
        file.seek(0)
        file.truncate()
        try:
            made_at = timezone.now()  # before the snapshot, which therefore has all that was confirmed by then
            with closing(package.Writer(file)) as writer, snapshot():
                return _write_snapshot(writer, made_at, with_keys, missing, progress)
        except files.FilesMissing as error:
            missing |= error.names
    raise OSError("Files of pictures and uploads are deleted faster than they are copied. Try again later")


def _write_snapshot(
    writer: package.Writer, made_at: datetime, with_keys: bool, missing: set[str], progress: Progress
) -> dict:
    migrations = tables.migrations_in_use()
    apps = tables.apps_at(migrations)
    # Files come first: the older the snapshot, the more of its files may have been deleted.
    lost = [name for store in files.STORES for name in _add_files(writer, apps, store, missing, progress)]
    for table in tables.tables_of(apps):
        progress(table.name)
        record_batches = tables.batches(table)
        writer.add(f"tables/{table.name}", table.schema, record_batches, last_id=tables.last_id(table))
    if with_keys:
        writer.add_json(package.KEYS, {"SECRET_KEY": settings.SECRET_KEY})
    return writer.finish(
        made_at=made_at.isoformat(), database=connection.vendor, migrations=migrations, missing=sorted(lost)
    )


def _add_files(writer: package.Writer, apps: Apps, store: str, missing: set[str], progress: Progress) -> list[str]:
    """Write the files of a store, and return the names of missing files that rows need."""
    progress(store)
    lost = []

    def available():
        for name, needed in files.referenced_files(apps, store):
            if needed and f"{store}/{name}" in missing and not storages[store].exists(name):
                lost.append(f"{store}/{name}")
            else:
                yield name, needed

    writer.add(f"files/{store}", files.SCHEMA, files.batches(store, available(), missing))
    return lost
