"""The folder of all data. Idealist does not start unless only its owner can read it."""

import contextlib
import os
import stat
import sys
from collections.abc import Collection
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from .program import PROGRAM

OTHERS_BITS = 0o077
# Names that may be in the folder before the first start, or where there is no secret.key in it.
NOT_DATA = {"lost+found", "static", "uploads", "cache"}
CURE = "Name another folder in IDEALIST_DATA, or repair this one"


def private_folder(path: Path) -> Path:
    """The folder with those of uploads and static files, made if missing. Raises ImproperlyConfigured.

    It and its files are closed to others. So a proxy cannot serve static files from it; Idealist serves them.
    """
    os.umask(OTHERS_BITS)  # for all files that this process creates from now on
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_root_if_not_owner(path)
        _close_to_others(path)
        for name in ("static", "uploads"):
            (path / name).mkdir(exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"The data folder {path} cannot be used: {error.strerror}. {CURE}.") from error
    return path


def _refuse_root_if_not_owner(path: Path) -> None:
    """Raises ImproperlyConfigured for root in the folder of another account, which could not use root's files."""
    is_root = os.geteuid() == 0
    owner_id = path.stat().st_uid
    if not is_root or owner_id == 0:
        return
    try:
        owner = path.owner()
    except KeyError:  # this machine has no name for it
        owner = f"#{owner_id}"
    raise ImproperlyConfigured(
        f"The data folder {path} belongs to {owner}, who could not use the files that root makes there. Run this"
        f" as that account (runuser -u NAME -- {PROGRAM} ...), or give root the folder: chown -R root {path}"
    )


def _close_to_others(path: Path) -> None:
    """Close the folder and its files to other accounts, and print which files these could read until now.

    Raises ImproperlyConfigured.
    """
    statuses = _statuses(path)
    # Who may own files there: the account of the folder, that of this process, and root.
    owners = {path.stat().st_uid, os.geteuid(), 0}
    foreign = sorted(name for name, status in statuses.items() if status.st_uid not in owners)
    if foreign:
        raise ImproperlyConfigured(
            f"{path / foreign[0]} belongs to another user. See where it comes from, then remove it or chown it."
        )
    was_open = bool(path.stat().st_mode & OTHERS_BITS)
    if was_open:
        _close_folder(path, statuses.keys())

    open_files = []
    for name, status in sorted(statuses.items()):
        mode = status.st_mode
        # A link has no mode of its own, and its target may be anything.
        if stat.S_ISLNK(mode) or not mode & OTHERS_BITS:
            continue
        # PermissionError: another of the owners has the file. FileNotFoundError: another process removed it.
        with contextlib.suppress(PermissionError, FileNotFoundError):
            (path / name).chmod(stat.S_IMODE(mode) & ~OTHERS_BITS)
        if stat.S_ISREG(mode):
            open_files.append(name)
    if was_open and open_files:  # in a closed folder nobody else could reach them
        names = ", ".join(open_files)
        print(f"Until now others on this machine could read these files in {path}: {names}", file=sys.stderr)


def _statuses(path: Path) -> dict[str, os.stat_result]:
    """{name: status} of the files in the folder, without those that other processes remove meanwhile."""
    statuses = {}
    for entry in os.scandir(path):
        with contextlib.suppress(FileNotFoundError):
            statuses[entry.name] = entry.stat(follow_symlinks=False)
    return statuses


def _close_folder(path: Path, names: Collection[str]) -> None:
    """Raises ImproperlyConfigured for a folder with foreign files, such as /tmp: other programs may need it."""
    is_ours = set(names) <= NOT_DATA or "secret.key" in names or "db.sqlite3" in names
    if path.stat().st_mode & stat.S_ISVTX or not is_ours:
        raise ImproperlyConfigured(
            f"Others on this machine can read {path}, which is not Idealist's alone. Name a folder of its own in"
            f" IDEALIST_DATA; or, if nobody else needs this one: chmod 700 {path}"
        )
    path.chmod(0o700)
    if path.stat().st_mode & OTHERS_BITS:
        raise ImproperlyConfigured(f"{path} cannot be closed to others: its disk stores no modes. {CURE}.")
