"""The folder of all data. Only its owner can read it, or Idealist does not start."""

import contextlib
import os
import stat
import sys
from collections.abc import Collection
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

OTHERS = 0o077
# What may be in the folder before the first start, and in that of an installation without a secret.key.
EMPTY = {"lost+found", "static", "uploads", "worker.beat"}
CURE = "Name another folder in IDEALIST_DATA, or mend this one"


def closed(path: Path) -> Path:
    """The folder, made if missing, with its modes and those of its files closed to others.

    A proxy cannot serve static files from it: that is done by Idealist.
    """
    os.umask(OTHERS)  # for all files that this process makes from now on
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close(path)
    except OSError as error:
        raise ImproperlyConfigured(f"The data folder {path} cannot be used: {error.strerror}. {CURE}.") from error
    return path


def made(path: Path) -> Path:
    """A folder in the data folder, made if missing."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be made: {error.strerror}. {CURE}.") from error
    return path


def _close(path: Path) -> None:
    found = _found(path)
    owners = {path.stat().st_uid, os.geteuid(), 0}
    if strange := sorted(name for name, about in found.items() if about.st_uid not in owners):
        raise ImproperlyConfigured(
            f"{path / strange[0]} belongs to another user. Look where it comes from, then remove it or chown it."
        )
    was_open = bool(path.stat().st_mode & OTHERS)
    if was_open:
        _refuse_shared(path, found.keys())
        path.chmod(0o700)
        if path.stat().st_mode & OTHERS:
            raise ImproperlyConfigured(f"{path} cannot be closed to others: its disk keeps no modes. {CURE}.")
    # A link has no mode of its own, and its target may be anything.
    seen = [name for name, about in found.items() if about.st_mode & OTHERS and not stat.S_ISLNK(about.st_mode)]
    for name in seen:
        # PermissionError: it belongs to root. FileNotFoundError: another process removed it.
        with contextlib.suppress(PermissionError, FileNotFoundError):
            (path / name).chmod(stat.S_IMODE(found[name].st_mode) & ~OTHERS)
    files = sorted(name for name in seen if stat.S_ISREG(found[name].st_mode))
    if was_open and files:
        print(f"Until now others on this machine could read in {path}: {', '.join(files)}", file=sys.stderr)


def _found(path: Path) -> dict[str, os.stat_result]:
    """{name: status} of the files in the folder. Other processes may remove a file at any moment."""
    found = {}
    for entry in os.scandir(path):
        with contextlib.suppress(FileNotFoundError):
            found[entry.name] = entry.stat(follow_symlinks=False)
    return found


def _refuse_shared(path: Path, names: Collection[str]) -> None:
    """Refuse to close a folder that holds other things, such as /tmp or a home folder: others may need it."""
    ours = set(names) <= EMPTY or "secret.key" in names or "db.sqlite3" in names
    if path.stat().st_mode & stat.S_ISVTX or not ours:
        raise ImproperlyConfigured(
            f"Others on this machine can read {path}, which is not Idealist's alone. Name a folder of its own in"
            f" IDEALIST_DATA; or, if nobody else needs this one: chmod 700 {path}"
        )
