"""Uploaded files, which are stored under random names until they are imported."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from secrets import token_hex
from shutil import disk_usage
from typing import BinaryIO

from django.conf import settings
from django.core.files.storage import storages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse

BODIES_AT_ONCE = 16  # bodies of the largest size that a server receives and works on at once
SECONDS_KEPT = 30 * 24 * 60 * 60  # a file that nobody imports
SECONDS_TEMPORARY = 60 * 60  # the temporary files of Django, with .upload in their names


def has_room(headers: Mapping[str, str], size: int, stored: int) -> bool:
    """Whether the server shall store a large body of which it has the headers alone.

    The headers must have a session or a token, neither of which is checked yet, and there must be room. `size`:
    bytes of all of this body; `stored`: those of all bodies that the server has or expects, with this one. Bodies
    that are on disk already lessen the free space, too, so the room is rather underestimated. A body that is not
    stored is discarded as it comes. Its request is marked with UNREAD, and `body_limit` answers it.
    """
    has_session = f"{settings.SESSION_COOKIE_NAME}=" in headers.get("COOKIE", "")
    if not has_session and "AUTHORIZATION" not in headers:
        return False
    # One body: files, a log, or what any other view takes.
    largest = max(settings.LARGEST_UPLOAD, settings.LARGEST_LOG, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    free = disk_usage(spool()).free // 2  # since Django copies files out of the body, they take the room twice
    # All bodies together: many uploads at once, or one log.
    most_stored = max(BODIES_AT_ONCE * settings.LARGEST_UPLOAD, settings.LARGEST_LOG)
    return size <= largest and stored <= min(most_stored, free)


def takes_files(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator: the view gets large bodies from people for whom its `access` does not raise Http404.

    The attribute is the name of the setting that limits them.
    """
    view.takes_files = "LARGEST_UPLOAD"
    return view


def takes_logs(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator like `takes_files`, for logs of searches, which have a limit of their own."""
    view.takes_files = "LARGEST_LOG"
    return view


def spool() -> Path:
    """The folder of temporary files, such as bodies that are being received."""
    path = settings.DATA_DIR / "spool"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def keep(file: UploadedFile) -> dict:
    """Store an uploaded file, and return its entry in Job.files. Raises OSError, and then stores nothing."""
    storage = storages["uploads"]
    stored_name = token_hex(16)
    try:
        storage.save(stored_name, file)
    except BaseException:
        with suppress(OSError):
            storage.delete(stored_name)
        raise
    return {"name": safe_name(file.name), "stored": stored_name, "size": file.size}


def keep_all(uploaded_files: Iterable[UploadedFile]) -> list[dict]:
    """The entries of several files in Job.files, once they are stored. Raises OSError, and then stores none."""
    files = []
    try:
        for file in uploaded_files:
            files.append(keep(file))
    except OSError:
        forget(files)
        raise
    return distinct(files)


def distinct(files: Iterable[dict]) -> list[dict]:
    """The files with distinct names, for messages: s.csv, s (2).csv."""
    taken: dict[str, dict] = {}
    for file in files:
        stem, dot, ending = file["name"].partition(".")
        names = chain([file["name"]], (f"{stem} ({number}){dot}{ending}" for number in count(2)))
        name = next(name for name in names if name not in taken)
        taken[name] = file | {"name": name}
    return list(taken.values())


def folder() -> Path:
    """The folder of Django's temporary files and, without another storage, of the stored files."""
    return settings.DATA_DIR / "uploads"


def safe_name(name: str) -> str:
    """The name of an uploaded file, safe for a message: printable, without folders, and short."""
    return "".join(c if c.isprintable() else "?" for c in Path(name).name)[-120:] or "file"


@contextmanager
def opened(file: dict) -> Iterator[BinaryIO]:
    """A stored file, whole and on this machine. Raises OSError."""
    with storages["uploads"].open(file["stored"]) as stored:
        yield stored.file


def streamed(file: dict) -> BinaryIO:
    """A stored file, to be read once. Another storage fetches only the bytes that are read. Raises OSError."""
    return storages["uploads"].stream(file["stored"])


def forget_old() -> None:
    """Delete files that nobody imported, and temporary files of processes that died."""
    now = time.time()
    for path in folder().glob("*.upload*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < now - SECONDS_TEMPORARY:
                path.unlink()
    for entry in list(storages["uploads"].entries()):
        if entry.changed_at < now - SECONDS_KEPT:
            storages["uploads"].delete(entry.name)


def forget(files: Iterable[dict]) -> None:
    """Delete the stored files. `forget_old` deletes later what a store that does not answer keeps now."""
    with suppress(ConnectionError):
        forget_now(files)


def forget_now(files: Iterable[dict]) -> None:
    """Delete the stored files. Raises ConnectionError."""
    for file in files:
        if "stored" in file:
            storages["uploads"].delete(file["stored"])
