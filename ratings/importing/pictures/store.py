"""The files of pictures in Django's storage "pictures", each under the SHA-256 of its content."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from django.core.files.base import ContentFile, File
from django.core.files.storage import storages
from django.http import FileResponse, Http404

from ...models import Picture

MEDIA_TYPE = "image/webp"
UNUSED_KEPT_FOR = timedelta(days=1)  # a file may be written before its row
SWEPT_EVERY = 3_600.0  # seconds
_swept_at = time.monotonic()


def keep(content: bytes) -> str:
    """Store the file and return its digest. A file that is complete is not written again."""
    digest = sha256(content).hexdigest()
    storage = storages["pictures"]
    name = name_of(digest)
    if storage.exists(name):
        if storage.size(name) == len(content):
            return digest
        storage.delete(name)  # a process died while it wrote this file
    saved = storage.save(name, ContentFile(content))
    if saved != name:  # another process has stored it meanwhile
        storage.delete(saved)
    return digest


def opened(digest: str) -> File:
    """The file. Raises OSError if it is gone."""
    return storages["pictures"].open(name_of(digest))


def sent(picture: Picture, size: str) -> FileResponse:
    """The response with a picture that is ready. Raises Http404 for an unknown size or a missing file."""
    if size not in Picture.Size.values:
        raise Http404("A picture is small or large.")
    try:
        return FileResponse(opened(getattr(picture, size)), content_type=MEDIA_TYPE)
    except FileNotFoundError as error:
        raise Http404("The file of this picture is gone.") from error


def exists(digest: str) -> bool:
    return storages["pictures"].exists(name_of(digest))


def name_of(digest: str) -> str:
    """The name of its file in the storage, in one of 256 folders."""
    return f"{digest[:2]}/{digest}.webp"


def sweep() -> int:
    """Delete the files that no picture refers to, and return their number."""
    storage = storages["pictures"]
    deleted = 0
    before = datetime.now(UTC) - UNUSED_KEPT_FOR
    for folder in _folders():
        digests = [name.removesuffix(".webp") for name in storage.listdir(folder)[1]]
        used = set().union(*(_used(size, digests) for size in Picture.Size.values))
        for digest in set(digests) - used:
            name = f"{folder}/{digest}.webp"
            if storage.get_modified_time(name) < before:
                storage.delete(name)
                deleted += 1
    return deleted


def sweep_if_due() -> None:
    global _swept_at
    if time.monotonic() - _swept_at > SWEPT_EVERY:
        _swept_at = time.monotonic()
        sweep()


def _folders() -> Iterator[str]:
    try:
        yield from sorted(storages["pictures"].listdir("")[0])
    except FileNotFoundError:
        return


def _used(size: str, digests: list[str]) -> set[str]:
    return set(Picture.objects.filter(**{f"{size}__in": digests}).values_list(size, flat=True))
