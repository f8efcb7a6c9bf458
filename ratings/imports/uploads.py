"""Uploaded files, which are stored under random names until they are imported."""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from itertools import chain, count
from pathlib import Path
from secrets import token_hex
from shutil import disk_usage
from typing import BinaryIO

from django.conf import settings
from django.core.files.storage import storages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import resolve

BODY = "idealist.body"
KEPT = 30 * 24 * 60 * 60  # seconds
SHARES = 4  # an account sends uploads of at most this part of MOST_UPLOADS at once
FORMS = 16  # forms and bodies of the API of the largest size that an account sends at once
NO_ROOM = (
    "The server has no space for this body now, or its sender is sending too much at once. Nothing was read; send"
    " the same again after the seconds of Retry-After."
)
TEMPORARY = 60 * 60  # seconds, for the temporary files of Django, with .upload in their names


class BodyLimit:
    """Refuses bodies that are too large for their sender, before any of a body is read.

    Anybody may send some kilobytes. Signed-in people and tokens may send as much as a form or a call of the API
    may have. Larger bodies are only for views with `takes_files`, from people with access to them.

    A server that reads a body before it calls the application first calls it with the header alone and an empty
    list in META[BODY]. If the answer is 100, the list has a file for the body. Any other answer is a refusal.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        if size <= min(settings.SMALL_BODY, settings.DATA_UPLOAD_MAX_MEMORY_SIZE):
            return self.get_response(request)
        if refusal := body_refusal(request, size):
            return refusal
        files = request.META.get(BODY)
        if files is None:
            return self.get_response(request)
        try:
            files.append(reserved(size, request.sender))
        except NoRoom:
            return no_room(request)
        return HttpResponse(status=100)


def takes_files(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator: the view gets large bodies from people for whom its `access` does not raise Http404."""
    view.takes_files = True
    return view


def body_refusal(request: HttpRequest, size: int) -> HttpResponse | None:
    """The answer that refuses a body of this size; None for no refusal. Raises Http404 as the view would.

    Without a refusal, `request.sender` is the number of the account that sends the body.
    """
    # They bring all of the API along, which a worker and a doctor do not need.
    from ..api import problems
    from ..api.access import token_of
    from ..api.problems import ADDRESS, Problem

    match = resolve(request.path_info)
    files = request.method == "POST" and hasattr(match.func, "takes_files")
    if request.path_info.startswith(ADDRESS):
        try:
            request.sender = token_of(request).user_id
        except Problem as problem:
            return problem.response()
    elif request.user.is_authenticated:
        request.sender = request.user.pk
    else:
        return too_large(request, size, 0)
    most = settings.LARGEST_UPLOAD if files else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if size > most:
        if request.path_info.startswith(ADDRESS):
            return problems.too_large().response()
        return too_large(request, size, most)
    if files:
        match.func.access(request, **match.kwargs)
    return None


def too_large(request: HttpRequest, size: int, most: int) -> HttpResponse:
    files = most == settings.LARGEST_UPLOAD
    context = {"megabytes": size / 2**20, "most": most / 2**20, "takes_files": files}
    return render(request, "413.html", context, status=413)


def no_room(request: HttpRequest) -> HttpResponse:
    """The answer for a body that gets no space: a page, or a problem of the API."""
    from ..api.problems import ADDRESS, Problem

    if request.path_info.startswith(ADDRESS):
        return Problem(503, NO_ROOM, kind="no-room", headers={"Retry-After": "60"}).response()
    response = render(request, "503.html", status=503)
    response["Retry-After"] = "60"
    return response


class NoRoom(Exception):
    """The uploads that are not imported yet take all the space for them, or the sender's own all of a share."""


class Reserved(FileIO):
    """A file that reserves the space for a body, and is deleted when it is closed.

    All processes see the reserved space in the folder. The lock shows that the process is alive.
    """

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(path, "x+")
        fcntl.flock(self, fcntl.LOCK_EX)
        self.truncate(size)

    def close(self) -> None:
        if not self.closed:
            Path(self.name).unlink(missing_ok=True)
        super().close()


def reserved(size: int, sender: int = 0) -> Reserved:
    """A file for a body of this size from an account. Raises NoRoom.

    Uploads and forms have separate space, so that unfinished uploads stop no form and no call of the API. Of each,
    an account gets a share for what it is sending, or one body.
    """
    most_of_form = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    is_upload = size > most_of_form
    share = settings.MOST_UPLOADS // SHARES if is_upload else FORMS * most_of_form
    place = spool()
    with one_at_a_time(place):
        sizes = {path.name: reserved_size(path) for path in list(place.iterdir())}
        alike = {name: each for name, each in sizes.items() if (each > most_of_form) == is_upload}
        own = sum(each for name, each in alike.items() if name.startswith(f"{sender}-"))
        has_room = sum(alike.values()) + size <= settings.MOST_UPLOADS
        # Twice, because Django copies the files out of the body.
        has_disk = disk_usage(place).free >= sum(sizes.values()) + 2 * size
        if (own and own + size > share) or not (has_room and has_disk):
            raise NoRoom
        try:
            file = Reserved(place / f"{sender}-{token_hex(16)}", size)
        except OSError as error:  # no access to the folder, or no file of this size on its disk
            raise NoRoom from error
    if is_upload:
        _refuse_beside_stored(file, sum(alike.values()) + size)
    return file


def _refuse_beside_stored(file: Reserved, reserved: int) -> None:
    """Raises NoRoom, and closes the file, if the stored files leave no room for what is reserved.

    Outside of `one_at_a_time`: others must not wait there until a store that is silent answers.
    """
    try:
        if reserved + sum(entry.size for entry in storages["uploads"].entries()) > settings.MOST_UPLOADS:
            raise NoRoom
    except BaseException:
        file.close()
        raise


def spool() -> Path:
    """The folder of bodies that are being received."""
    path = settings.DATA_DIR / "spool"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def reserved_size(path: Path) -> int:
    """The size of a file that a living process has reserved; 0 if the process died, and the file is deleted."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
    except BlockingIOError:
        return size_of(path)
    except FileNotFoundError:
        pass
    return 0


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def keep(sent: UploadedFile) -> dict:
    """The facts about an uploaded file for its job, after storing it. Raises OSError, and then stores nothing."""
    storage, name, sha256, size = storages["uploads"], token_hex(16), hashlib.sha256(), 0
    for block in sent.chunks():
        sha256.update(block)
        size += len(block)
    try:
        storage.save(name, sent)
    except BaseException:
        with suppress(OSError):
            storage.delete(name)
        raise
    return {"name": safe_name(sent.name), "stored": name, "sha256": sha256.hexdigest(), "size": size}


def keep_all(sent: Iterable[UploadedFile]) -> list[dict]:
    """The facts about several stored files, with distinct names. Raises OSError, and then stores none."""
    files = []
    try:
        for each in sent:
            files.append(keep(each))
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
    """Delete files that nobody imported, and the files of processes that died."""
    now = time.time()
    for path in folder().glob("*.upload*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < now - TEMPORARY:
                path.unlink()
    for entry in list(storages["uploads"].entries()):
        if entry.changed_at < now - KEPT:
            storages["uploads"].delete(entry.name)
    with one_at_a_time(spool()):
        for path in list(spool().iterdir()):
            reserved_size(path)


def forget(files: Iterable[dict]) -> None:
    """Delete the stored files. `forget_old` deletes later what a store that does not answer keeps now."""
    with suppress(ConnectionError):
        forget_now(files)


def forget_now(files: Iterable[dict]) -> None:
    """Delete the stored files. Raises ConnectionError."""
    for file in files:
        if "stored" in file:
            storages["uploads"].delete(file["stored"])
