"""Scheduled backups: a worker makes them in the storage `backups`, and deletes the oldest.

A backup counts when it was read again from the storage. Then a file with its hash is stored beside it.
"""

import hashlib
import logging
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.cache import caches
from django.core.files.base import ContentFile, File
from django.core.files.storage import storages
from django.utils import timezone

from . import writing
from .package import Backup

log = logging.getLogger(__name__)

LOOK = 60.0  # seconds
CLAIM = "backup"  # of one worker, so that no other begins
LONGEST = 4 * 60 * 60  # seconds, after which the worker that began counts as dead
AGAIN = 15 * 60  # seconds after a failure
NAME = re.compile(r"idealist-(\d{8}T\d{6}Z)\.zip")
TIME = "%Y%m%dT%H%M%SZ"
MARK = ".sha256"


def last_good() -> datetime | None:
    """The time of the newest backup that was read again without errors; None if there is none."""
    return max(map(_time, _good()), default=None)


def overdue(*, now: datetime | None = None) -> str:
    """Returns the problem with the backups as a sentence, or an empty text if there is none."""
    if not settings.BACKUP_EVERY:
        return ""
    last = last_good()
    if last is None:
        return "There is no backup yet. The log of the worker says why, if it tried."
    if (now or timezone.now()) - last <= 2 * timedelta(hours=settings.BACKUP_EVERY):
        return ""
    return f"The last good backup is of {last:%Y-%m-%d %H:%M} UTC. The log of the worker says why."


def look() -> None:
    """Make a backup if one is due, at low priority. For a thread of its own."""
    writing.give_way()
    make_due()


def make_due(*, now: datetime | None = None) -> None:
    """Make a backup if one is due. Of several workers only one makes it."""
    now = now or timezone.now()
    if not _is_due(now) or not caches["tries"].add(CLAIM, 1, LONGEST):
        return
    wait = 0
    try:
        if _is_due(now):  # no other worker has made it meanwhile
            make(now=now)
    except Exception as error:
        wait = AGAIN
        last = last_good()
        since = f"the last good one is of {last:%Y-%m-%d %H:%M} UTC" if last else "there is no good one"
        log.error("The backup failed (%s), and %s. It is tried again in %s minutes.", error, since, AGAIN // 60)
    finally:
        caches["tries"].touch(CLAIM, wait)


def _is_due(now: datetime) -> bool:
    if not settings.BACKUP_EVERY:
        return False
    last = last_good()
    return last is None or now - last >= timedelta(hours=settings.BACKUP_EVERY)


class Local(File):
    """A file that a storage on the same disk moves instead of copying it."""

    def temporary_file_path(self) -> str:
        return self.name


def make(*, now: datetime) -> str:
    """Make a backup, read it again from the storage and return its name. Raises OSError and package.Unfit."""
    path, storage = settings.DATA_DIR / ".backup.zip", storages["backups"]
    try:
        writing.write(path)
        digest = _digest(path)
        with path.open("rb") as file:
            name = storage.save(f"idealist-{now.astimezone(UTC):{TIME}}.zip", Local(file, str(path)))
    finally:
        path.unlink(missing_ok=True)
    with storage.open(name) as stored:
        Backup(stored, name).check()
    storage.save(name + MARK, ContentFile(f"{digest}  {name}\n"))
    _forget_old()
    return name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names() -> list[str]:
    try:
        return storages["backups"].listdir("")[1]
    except FileNotFoundError:
        return []


def _good() -> list[str]:
    """The names of those that count, oldest first."""
    names = set(_names())
    return sorted(name for name in names if NAME.fullmatch(name) and name + MARK in names)


def _time(name: str) -> datetime:
    return datetime.strptime(NAME.fullmatch(name)[1], TIME).replace(tzinfo=UTC)


def _forget_old() -> None:
    """Delete all but the newest, and older ones that never counted."""
    kept = _good()[-settings.BACKUP_KEEP :]
    for name in _names():
        if NAME.fullmatch(name.removesuffix(MARK)) and name < kept[0]:
            storages["backups"].delete(name)
