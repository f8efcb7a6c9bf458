"""The files of pictures in Django's storage "pictures", each under the SHA-256 of its content."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

from django.core.files.base import ContentFile, File
from django.core.files.storage import storages
from django.http import FileResponse, Http404

from ...models import Picture

MEDIA_TYPE = "image/webp"
UNUSED_KEPT_FOR = timedelta(days=1)  # a file may be written before its row


def keep(content: bytes) -> str:
    """Store the file and return its digest. A file that is complete is not written again."""
    digest = sha256(content).hexdigest()
    storage = storages["pictures"]
    name = name_of(digest)
    if storage.exists(name):
        if storage.size(name) == len(content):
            return digest
        # Incomplete: the process that wrote it died. If it still writes it, only the same bytes are written twice.
        storage.delete(name)
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
    kept_since = datetime.now(UTC) - UNUSED_KEPT_FOR
    for folder in _folders():
        # At first the digests of all files in the folder; those that a picture refers to are taken out.
        unused = {name.removesuffix(".webp") for name in storage.listdir(folder)[1]}
        for size in Picture.Size.values:  # each is a field with the digest of its file
            unused -= set(Picture.objects.filter(**{f"{size}__in": unused}).values_list(size, flat=True))
        for digest in unused:
            name = f"{folder}/{digest}.webp"
            if storage.get_modified_time(name) < kept_since:
                storage.delete(name)
                deleted += 1
    return deleted


def _folders() -> list[str]:
    try:
        return sorted(storages["pictures"].listdir("")[0])
    except FileNotFoundError:
        return []
