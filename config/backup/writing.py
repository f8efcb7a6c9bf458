"""Write a backup of the state at one moment, while others continue to write."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
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

TRIES = 5
Progress = Callable[[str], None]


def give_way() -> None:
    """Lower the priority of this thread, so that raters come first."""
    with suppress(OSError):  # not Linux, where a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def write(path: Path, *, with_keys: bool = False, progress: Progress = lambda name: None) -> dict:
    """The manifest of the new backup at `path`, which appears when it is whole.

    Raises OSError, package.Unfit, tables.Unknown.
    """
    forget_parts(path)
    with whole_file(path, CLOSED) as file:
        return _written(file, with_keys, progress)


def _written(file: BinaryIO, with_keys: bool, progress: Progress) -> dict:
    """Write the backup, again from the start if a file is deleted meanwhile, and return its manifest.

    No row of the later moment needs a deleted file. A file that is missing twice was lost before; the manifest
    names it.
    """
    missing: set[str] = set()
    for _ in range(TRIES):
        file.seek(0)
        file.truncate()
        try:
            with snapshot():
                return _of_this_moment(file, with_keys, missing, progress)
        except files.Vanished as vanished:
            missing |= vanished.names
    raise OSError("Files of pictures and uploads go faster than they are copied. Try again later")


def _of_this_moment(file: BinaryIO, with_keys: bool, missing: set[str], progress: Progress) -> dict:
    writer, nodes, made_at = package.Writer(file), tables.applied(), timezone.now()
    apps = tables.apps_at(nodes)
    if not nodes:
        raise package.Unfit(
            "The database has no tables yet, so there is nothing to back up. Start Idealist first."
        )
    # Files come first: the longer ago the moment was, the more of them may be gone.
    lost = [name for store in files.STORES for name in _add_files(writer, apps, store, missing, progress)]
    for table in tables.tables_of(apps):
        progress(table.name)
        found = tables.batches(table)
        writer.add(f"tables/{table.name}", table.schema, found, last_id=tables.last_id(table))
    if with_keys:
        writer.add_json(package.KEYS, {"SECRET_KEY": settings.SECRET_KEY})
    return writer.end(
        made_at=made_at.isoformat(), database=connection.vendor, migrations=nodes, missing=sorted(lost)
    )


def _add_files(writer: package.Writer, apps: Apps, store: str, missing: set[str], progress: Progress) -> list[str]:
    """Write the files of a store; returns those that rows need and that are missing."""
    progress(store)
    lost = []

    def wanted():
        for name, needed in files.named(apps, store):
            if needed and f"{store}/{name}" in missing and not storages[store].exists(name):
                lost.append(f"{store}/{name}")
            else:
                yield name, needed

    writer.add(f"files/{store}", files.SCHEMA, files.batches(store, wanted(), missing))
    return lost
