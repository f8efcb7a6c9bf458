"""Scheduled backups: a worker makes them in the storage `backups`, and deletes the oldest."""

import logging
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, storages
from django.utils import timezone

from . import backup

log = logging.getLogger(__name__)

CLAIM_KEY = "backup"  # the key in the cache by which one worker keeps others from starting
CLAIM_SECONDS = 60 * 60  # seconds, also until the next try
BACKUP_NAME = re.compile(r"idealist-(\d{8}T\d{6}Z)\.zip")
TIME_FORMAT = "%Y%m%dT%H%M%SZ"


def last_backup_at() -> datetime | None:
    """The time of the newest backup; None if there is none."""
    times = (datetime.strptime(BACKUP_NAME.fullmatch(name)[1], TIME_FORMAT) for name in _names())
    return max((time.replace(tzinfo=UTC) for time in times), default=None)


def overdue_problem(*, now: datetime | None = None) -> str:
    """The problem with the backups as a sentence, or "" if there is none."""
    if not settings.BACKUP_EVERY:
        return ""
    now = now or timezone.now()
    last_at = last_backup_at()
    if last_at is None:
        return "There is no backup yet. The log of the worker says why, if it tried."
    if now - last_at <= 2 * timedelta(hours=settings.BACKUP_EVERY):
        return ""
    return f"The last good backup is of {last_at:%Y-%m-%d %H:%M} UTC. The log of the worker says why."


def back_up_slowly() -> None:
    """Make a backup if one is due, at low priority. The thread that calls it stays at that priority."""
    backup.lower_priority()
    back_up_if_due()


def back_up_if_due(*, now: datetime | None = None) -> None:
    """Make a backup if one is due. If several workers call it, one makes it.

    The claim in the cache keeps the others from it. After a failure, and where a worker died, it stays until
    it expires, and then the next try comes.
    """
    now = now or timezone.now()
    try:
        # `add` returns False while a claim has not expired, also this worker's own after a failure.
        if not _is_due(now) or not cache.add(CLAIM_KEY, True, CLAIM_SECONDS):
            return
    except OSError as error:  # of the folder or the store
        log.error("No backup is made, because those that there are cannot be read: %s", error)
        return
    try:
        if _is_due(now):  # false if another worker made it meanwhile
            make_backup(now=now)
        cache.delete(CLAIM_KEY)
    except Exception as error:
        last_at = last_backup_at()
        since = f"the last good one is of {last_at:%Y-%m-%d %H:%M} UTC" if last_at else "there is no good one"
        again = f"It is tried again in {CLAIM_SECONDS // 60} minutes."
        log.error("The backup failed (%s), and %s. %s", error, since, again)


def _is_due(now: datetime) -> bool:
    if not settings.BACKUP_EVERY:
        return False
    last_at = last_backup_at()
    return last_at is None or now - last_at >= timedelta(hours=settings.BACKUP_EVERY)


def make_backup(*, now: datetime) -> str:
    """Make a backup, and return its name; only the newest IDEALIST_BACKUP_KEEP stay.

    Raises OSError, backup.Refused and Unreadable.
    """
    name = f"idealist-{now.astimezone(UTC):{TIME_FORMAT}}.zip"
    write = _write_into_folder if isinstance(storages["backups"], FileSystemStorage) else _write_into_bucket
    write(name)
    for old in _names()[: -settings.BACKUP_KEEP]:
        storages["backups"].delete(old)
    return name


def _write_into_folder(name: str) -> None:
    """Write a backup that appears in the folder once it is whole."""
    path = Path(storages["backups"].path(name))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in path.parent.glob(".idealist-*.zip.*.part"):  # of workers that were killed
        part.unlink(missing_ok=True)
    backup.write(path)


def _write_into_bucket(name: str) -> None:
    """Write a backup on this machine, and store it in the bucket, where it appears once it is whole."""
    path = settings.DATA_DIR / ".backup.zip"
    try:
        backup.write(path)
        with path.open("rb") as file:
            storages["backups"].save(name, File(file))
    finally:
        path.unlink(missing_ok=True)


def _names() -> list[str]:
    """The names of the backups, oldest first."""
    try:
        stored = storages["backups"].listdir("")[1]
    except FileNotFoundError:
        return []
    return sorted(name for name in stored if BACKUP_NAME.fullmatch(name))
