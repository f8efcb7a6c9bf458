"""Files that somebody sent, until what was in them is in the record. Their names here are random."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from itertools import chain, count
from pathlib import Path
from secrets import token_hex

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

KEPT = 30 * 24 * 60 * 60  # seconds


class SizeLimit:
    """413 for files that are too large, before any of them is read. Who is not signed in sends none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        small = min(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.LARGEST_UPLOAD)
        if request.content_type != "multipart/form-data" or size <= small:
            return self.get_response(request)
        if size <= settings.LARGEST_UPLOAD and request.user.is_authenticated:
            return self.get_response(request)
        context = {"megabytes": size / 2**20, "most": settings.LARGEST_UPLOAD / 2**20}
        return render(request, "413.html", context, status=413)


def keep(sent: UploadedFile) -> dict:
    """Copy a file that was sent. Returns what its job is to know of it. Raises OSError, and then keeps nothing."""
    folder().mkdir(mode=0o700, exist_ok=True)
    stored, sha256, size = token_hex(16), hashlib.sha256(), 0
    handle = os.open(folder() / stored, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            for block in sent.chunks():
                file.write(block)
                sha256.update(block)
                size += len(block)
    except BaseException:
        (folder() / stored).unlink()
        raise
    return {"name": shown(sent.name), "stored": stored, "sha256": sha256.hexdigest(), "size": size}


def distinct(files: Iterable[dict]) -> list[dict]:
    """The same, each under a name of its own, which messages tell it by: s.csv, s (2).csv."""
    taken: dict[str, dict] = {}
    for file in files:
        stem, dot, ending = file["name"].partition(".")
        names = chain([file["name"]], (f"{stem} ({number}){dot}{ending}" for number in count(2)))
        name = next(name for name in names if name not in taken)
        taken[name] = file | {"name": name}
    return list(taken.values())


def folder() -> Path:
    return settings.DATA_DIR / "uploads"


def shown(name: str) -> str:
    """A name from outside as it can stand in a message."""
    return "".join(c if c.isprintable() else "?" for c in Path(name).name)[-120:] or "file"


def path_of(file: dict) -> Path:
    return folder() / file["stored"]


def forget_old() -> None:
    """What nobody came back to."""
    if folder().is_dir():
        for path in folder().iterdir():
            if path.stat().st_mtime < time.time() - KEPT:
                path.unlink(missing_ok=True)


def forget(files: Iterable[dict]) -> None:
    for file in files:
        if "stored" in file:
            path_of(file).unlink(missing_ok=True)
