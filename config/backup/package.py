"""The file: members with their hashes, and the manifest that names them."""

import hashlib
import json
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from django.conf import settings

FORMAT, VERSION = "idealist-backup", 1
MANIFEST, KEYS = "manifest.json", "keys.json"
BLOCK = 1 << 20  # bytes


class Unfit(Exception):
    """The file is no backup, it is damaged, or it is one of a newer version. The message is for people."""


def program() -> str:
    """The version of this program."""
    return tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]["version"]


# Writing


class Sink:
    """A member that is being written. It counts and hashes what it gets."""

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

    def add(self, name: str, schema: pa.Schema, found: Iterable[pa.RecordBatch], **facts) -> int:
        """Write a member of these batches; returns how many rows."""
        rows, options = 0, pa.ipc.IpcWriteOptions(compression="zstd")
        with self.zip.open(f"{name}.arrow", "w", force_zip64=True) as file:
            sink = Sink(file)
            with pa.ipc.new_stream(pa.PythonFile(sink, "w"), schema, options=options) as stream:
                for batch in found:
                    stream.write_batch(batch)
                    rows += batch.num_rows
        self._note(f"{name}.arrow", sink.bytes, sink.sha256.hexdigest(), rows=rows, **facts)
        return rows

    def add_json(self, name: str, content: dict) -> None:
        text = (json.dumps(content, indent=1) + "\n").encode()
        self.zip.writestr(name, text)
        self._note(name, len(text), hashlib.sha256(text).hexdigest())

    def _note(self, name: str, size: int, sha256: str, **facts) -> None:
        self.members.append({"member": name, **facts, "bytes": size, "sha256": sha256})

    def end(self, **facts) -> dict:
        """Write the manifest, and return it."""
        manifest = {"format": FORMAT, "version": VERSION, "program": program(), **facts, "members": self.members}
        self.zip.writestr(MANIFEST, json.dumps(manifest, indent=1) + "\n")
        self.zip.close()
        return manifest


# Reading


class Backup:
    """A backup that is open for reading. Raises Unfit where it is none, or one of a later format."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        try:
            self.zip = zipfile.ZipFile(file)
            self.manifest = json.loads(self.zip.read(MANIFEST))
            self.version = (self.manifest["format"], self.manifest["version"])
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, NotImplementedError, zlib.error) as error:
            raise Unfit(f"{name} is no whole backup of Idealist. Take another one.") from error
        if self.version != (FORMAT, VERSION):
            raise Unfit(
                f"{name} was made by Idealist {self.manifest.get('program')} in format {self.version[1]}; this is"
                f" {program()} and reads format {VERSION}. Restore it with that version or a newer one."
            )

    @property
    def migrations(self) -> list[tuple[str, str]]:
        return [tuple(node) for node in self.manifest["migrations"]]

    def members(self, kind: str) -> dict[str, dict]:
        """{name: facts} of the members in a folder of the ZIP."""
        found = {each["member"]: each for each in self.manifest["members"]}
        begin = f"{kind}/"
        return {
            name.removeprefix(begin).removesuffix(".arrow"): each
            for name, each in found.items()
            if name.startswith(begin)
        }

    def keys(self) -> dict[str, str] | None:
        return json.loads(self.zip.read(KEYS)) if KEYS in self.zip.namelist() else None

    def check(self, progress: Callable[[str], None] = lambda name: None) -> None:
        """Read everything. Raises Unfit where a member is not as the manifest says."""
        for member in self.manifest["members"]:
            progress(f"checking {member['member']}")
            try:
                found = self._sum(member["member"])
            except (zipfile.BadZipFile, KeyError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
                raise Unfit(f"{self.name}: {member['member']} cannot be read. Take another backup.") from error
            if found != (member["bytes"], member["sha256"]):
                raise Unfit(f"{self.name}: {member['member']} is damaged. Take another backup.")

    def _sum(self, member: str) -> tuple[int, str]:
        sha256, size = hashlib.sha256(), 0
        with self.zip.open(member) as file:
            while block := file.read(BLOCK):
                sha256.update(block)
                size += len(block)
        return size, sha256.hexdigest()

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        with self.zip.open(f"{name}.arrow") as file, pa.ipc.open_stream(file) as stream:
            yield from stream


@contextmanager
def opened(path: Path) -> Iterator[Backup]:
    """The backup at a path. Raises Unfit and OSError."""
    with path.open("rb") as file:
        yield Backup(file, path.name)
