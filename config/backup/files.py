"""The files that rows refer to, in the stores of uploads and pictures."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from tempfile import SpooledTemporaryFile

import pyarrow as pa
from django.apps.registry import Apps
from django.core.files.base import File
from django.core.files.storage import storages

from ratings.pictures.store import name_of

STORES = ("pictures", "uploads")
CHUNK_BYTES = 1 << 20
CHUNKS_A_BATCH = 8
MEMORY_BYTES = 4 << 20  # of a file that is restored; a larger one goes to the disk
SCHEMA = pa.schema([("name", pa.string()), ("place", pa.int64()), ("content", pa.binary())])
UNFINISHED = ("queued", "running")  # the states of jobs that still need their files


class FilesMissing(Exception):
    """Files that rows of the snapshot need are missing from their store. `names`: STORE/NAME of each."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        super().__init__(", ".join(sorted(names)))


def referenced_files(apps: Apps, store: str) -> Iterator[tuple[str, bool]]:
    """Yields (name, whether a row needs it) of each file that rows refer to, each name once."""
    names = _pictures(apps) if store == "pictures" else _uploads(apps)
    seen = set()
    for name, needed in names:
        if name not in seen:
            seen.add(name)
            yield name, needed


def _pictures(apps: Apps) -> Iterator[tuple[str, bool]]:
    rows = apps.get_model("ratings", "picture")._base_manager.filter(state="ready")
    for digests in rows.values_list("small", "large").iterator():
        yield from ((name_of(digest), True) for digest in digests)


def _uploads(apps: Apps) -> Iterator[tuple[str, bool]]:
    """Yields first the files of unfinished jobs, which a worker reads next. Those of other jobs may be gone."""
    rows = apps.get_model("ratings", "job")._base_manager.exclude(files=[])
    for needed in (True, False):
        jobs = rows.filter(state__in=UNFINISHED) if needed else rows.exclude(state__in=UNFINISHED)
        for files in jobs.values_list("files", flat=True).iterator():
            yield from ((file["stored"], needed) for file in files if "stored" in file)


def batches(store: str, names: Iterable[tuple[str, bool]], missing: set[str]) -> Iterator[pa.RecordBatch]:
    """Yields the content of the files in chunks.

    Raises FilesMissing, after all files were read, where a needed file is missing that `missing` does not name.
    """
    newly_missing, storage, pending = set(), storages[store], []
    for name, needed in names:
        try:
            file = storage.open(name)
        except FileNotFoundError:
            if needed and f"{store}/{name}" not in missing:
                newly_missing.add(f"{store}/{name}")
            continue
        with file:
            for place, content in enumerate(_chunks(file)):
                pending.append((name, place, content))
                if len(pending) == CHUNKS_A_BATCH:
                    yield _batch(pending)
                    pending = []
    if newly_missing:
        raise FilesMissing(newly_missing)
    if pending:
        yield _batch(pending)


def _chunks(file: File) -> Iterator[bytes]:
    """Yields the content in chunks; of an empty file, one empty chunk."""
    content = file.read(CHUNK_BYTES)
    yield content
    while len(content) == CHUNK_BYTES and (content := file.read(CHUNK_BYTES)):
        yield content


def _batch(chunks: list[tuple]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(map(list, zip(*chunks, strict=True))), schema=SCHEMA)


def files_in(record_batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yields (name, chunks of its content) of each file in the batches."""
    chunks = ((row["name"], row["content"]) for batch in record_batches for row in batch.to_pylist())
    for name, file_chunks in groupby(chunks, key=lambda chunk: chunk[0]):
        yield name, (content for _, content in file_chunks)


def restore_files(store: str, record_batches: Iterable[pa.RecordBatch]) -> None:
    """Store the files that are missing or have another size. Names are hashes or random, and therefore unique."""
    storage = storages[store]
    for name, chunks in files_in(record_batches):
        with SpooledTemporaryFile(MEMORY_BYTES) as file:
            for content in chunks:
                file.write(content)
            size = file.tell()
            file.seek(0)
            if storage.exists(name):
                if storage.size(name) == size:
                    continue
                storage.delete(name)
            storage.save(name, File(file, name))
