"""The files that rows name, in the stores that the apps keep them in."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from tempfile import SpooledTemporaryFile

import pyarrow as pa
from django.apps.registry import Apps
from django.core.files.base import File
from django.core.files.storage import storages

from ratings.pictures.store import name_of

STORES = ("pictures", "uploads")
PIECE = 1 << 20  # bytes
BATCH = 8  # pieces
IN_MEMORY = 4 << 20  # bytes
SCHEMA = pa.schema([("name", pa.string()), ("place", pa.int64()), ("content", pa.binary())])
WAITING = ("queued", "running")  # the states of jobs that cannot go on without their files


class Vanished(Exception):
    """Files that a row of the snapshot needs are missing."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        super().__init__(", ".join(sorted(names)))


def named(apps: Apps, store: str) -> Iterator[tuple[str, bool]]:
    """The files that rows name, each once, and whether a row is useless without the file."""
    found = _pictures(apps) if store == "pictures" else _uploads(apps)
    seen = set()
    for name, needed in found:
        if name not in seen:
            seen.add(name)
            yield name, needed


def _pictures(apps: Apps) -> Iterator[tuple[str, bool]]:
    rows = apps.get_model("ratings", "picture")._base_manager.filter(state="ready")
    for digests in rows.values_list("small", "large").iterator():
        yield from ((name_of(digest), True) for digest in digests)


def _uploads(apps: Apps) -> Iterator[tuple[str, bool]]:
    """Those that a worker reads next come first. A file of another job may have been deleted long ago."""
    rows = apps.get_model("ratings", "job")._base_manager.exclude(files=[])
    for needed in (True, False):
        some = rows.filter(state__in=WAITING) if needed else rows.exclude(state__in=WAITING)
        for files in some.values_list("files", flat=True).iterator():
            yield from ((file["stored"], needed) for file in files if "stored" in file)


def batches(store: str, names: Iterable[tuple[str, bool]], missing: set[str]) -> Iterator[pa.RecordBatch]:
    """The content of the files, in pieces. Raises Vanished where a needed one is gone and not `missing` so far."""
    vanished, storage, waiting = set(), storages[store], []
    for name, needed in names:
        try:
            file = storage.open(name)
        except FileNotFoundError:
            if needed and f"{store}/{name}" not in missing:
                vanished.add(f"{store}/{name}")
            continue
        with file:
            for place, content in enumerate(_pieces(file)):
                waiting.append((name, place, content))
                if len(waiting) == BATCH:
                    yield _batch(waiting)
                    waiting = []
    if vanished:
        raise Vanished(vanished)
    if waiting:
        yield _batch(waiting)


def _pieces(file: File) -> Iterator[bytes]:
    """The content in pieces; of an empty file, one empty piece."""
    content = file.read(PIECE)
    yield content
    while len(content) == PIECE and (content := file.read(PIECE)):
        yield content


def _batch(pieces: list[tuple]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(map(list, zip(*pieces, strict=True))), schema=SCHEMA)


def whole(found: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(name, its pieces) of each file in the batches."""
    pieces = ((row["name"], row["content"]) for batch in found for row in batch.to_pylist())
    for name, own in groupby(pieces, key=lambda piece: piece[0]):
        yield name, (content for _, content in own)


def put_back(store: str, found: Iterable[pa.RecordBatch]) -> None:
    """Store the files that are missing or incomplete. Names are hashes or random, so no two files share one."""
    storage = storages[store]
    for name, pieces in whole(found):
        with SpooledTemporaryFile(IN_MEMORY) as file:
            for content in pieces:
                file.write(content)
            size = file.tell()
            file.seek(0)
            if storage.exists(name):
                if storage.size(name) == size:
                    continue
                storage.delete(name)
            storage.save(name, File(file, name))
