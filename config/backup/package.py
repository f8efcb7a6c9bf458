"""The file of a backup: a ZIP of members, and a manifest with the size and hash of each."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from django.conf import settings

from ratings.archive.members import FORMAT as ARCHIVE_FORMAT

FORMAT, VERSION = "idealist-backup", 1
MANIFEST, KEYS = "manifest.json", "keys.json"
FACTS = ("program", "made_at", "migrations", "missing", "members")  # of each manifest
BLOCK_BYTES = 1 << 20


class UnusableBackup(Exception):
    """The file is no backup, or damaged, or of a newer version. The message, with a cure, is for the operator."""


# Writing


class HashingFile:
    """A file that counts and hashes what is written to it: `bytes` and `sha256`."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sha256, self.bytes = file, hashlib.sha256(), 0

    def write(self, content) -> int:
        self.sha256.update(content)
        self.bytes += memoryview(content).nbytes
        return self.file.write(content)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Writer:
    def __init__(self, file: BinaryIO) -> None:
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.members: list[dict] = []

    def add(self, name: str, schema: pa.Schema, record_batches: Iterable[pa.RecordBatch], **facts) -> int:
        """Write the batches as a member, and return the number of their rows."""
        rows, options = 0, pa.ipc.IpcWriteOptions(compression="zstd")
        with self.zip.open(f"{name}.arrow", "w", force_zip64=True) as file:
            hashing = HashingFile(file)
            with pa.ipc.new_stream(pa.PythonFile(hashing, "w"), schema, options=options) as stream:
                for batch in record_batches:
                    stream.write_batch(batch)
                    rows += batch.num_rows
        self._record_member(f"{name}.arrow", hashing.bytes, hashing.sha256.hexdigest(), rows=rows, **facts)
        return rows

    def add_json(self, name: str, content: dict) -> None:
        text = (json.dumps(content, indent=1) + "\n").encode()
        self.zip.writestr(name, text)
        self._record_member(name, len(text), hashlib.sha256(text).hexdigest())

    def _record_member(self, name: str, size: int, sha256: str, **facts) -> None:
        self.members.append({"member": name, **facts, "bytes": size, "sha256": sha256})

    def finish(self, **facts) -> dict:
        """Write the manifest, and return it."""
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "program": settings.VERSION,
            **facts,
            "members": self.members,
        }
        self.zip.writestr(MANIFEST, json.dumps(manifest, indent=1) + "\n")
        self.close()
        return manifest

    def close(self) -> None:
        self.zip.close()


# Reading


class Backup:
    """A backup that is open for reading. Raises UnusableBackup for other files and for another format."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        try:
            self.zip = zipfile.ZipFile(file)
            self.manifest = json.loads(self.zip.read(MANIFEST))
            self._check_version()
            self._check_facts()
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, NotImplementedError, zlib.error) as error:
            raise UnusableBackup(f"{name} is no whole backup of Idealist. Take another one.") from error

    def _check_version(self) -> None:
        kind, version = self.manifest["format"], self.manifest["version"]
        if kind == ARCHIVE_FORMAT:
            raise UnusableBackup(
                f"{self.name} is the archive of one collection. Import it with: python3 run.py manage"
                f" import_collection {self.name} --slug NAME"
            )
        if kind == FORMAT and version != VERSION:
            raise UnusableBackup(
                f"{self.name} was made by Idealist {self.manifest.get('program')} in format {version}; this is"
                f" {settings.VERSION} and reads format {VERSION}. Restore it with that version or a newer one."
            )

    def _check_facts(self) -> None:
        """Raises KeyError, ValueError or TypeError where the manifest is not that of a backup."""
        if self.manifest["format"] != FORMAT:
            raise ValueError(self.manifest["format"])
        for fact in FACTS:
            self.manifest[fact]
        for each in self.manifest["members"]:
            each["member"], each["bytes"], each["sha256"]

    @property
    def migrations(self) -> list[tuple[str, str]]:
        return [tuple(node) for node in self.manifest["migrations"]]

    def members(self, kind: str) -> dict[str, dict]:
        """{name: entry in the manifest} of the members in a folder of the ZIP."""
        members = {each["member"]: each for each in self.manifest["members"]}
        prefix = f"{kind}/"
        return {
            name.removeprefix(prefix).removesuffix(".arrow"): each
            for name, each in members.items()
            if name.startswith(prefix)
        }

    def keys(self) -> dict[str, str] | None:
        return json.loads(self.zip.read(KEYS)) if KEYS in self.zip.namelist() else None

    def check(self, progress: Callable[[str], None] = lambda name: None) -> None:
        """Read all members. Raises UnusableBackup where one differs from the manifest."""
        for member in self.manifest["members"]:
            progress(f"checking {member['member']}")
            try:
                size_and_hash = self._size_and_hash(member["member"])
            except (zipfile.BadZipFile, KeyError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
                raise UnusableBackup(
                    f"{self.name}: {member['member']} cannot be read. Take another backup."
                ) from error
            if size_and_hash != (member["bytes"], member["sha256"]):
                raise UnusableBackup(f"{self.name}: {member['member']} is damaged. Take another backup.")

    def _size_and_hash(self, member: str) -> tuple[int, str]:
        sha256, size = hashlib.sha256(), 0
        with self.zip.open(member) as file:
            while block := file.read(BLOCK_BYTES):
                sha256.update(block)
                size += len(block)
        return size, sha256.hexdigest()

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        with self.zip.open(f"{name}.arrow") as file, pa.ipc.open_stream(file) as stream:
            yield from stream


@contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """Yields the backup at a path. Raises UnusableBackup and OSError."""
    with path.open("rb") as file:
        yield Backup(file, path.name)
