"""Files that somebody sent, until what was in them is in the record. Their names here are random."""

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

KEPT = 30 * 24 * 60 * 60  # seconds


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
