"""An archive as a file -> its lines, after a look at every byte of it. Knows no database."""

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..formats import strict_json, values
from ..formats.refusal import Refusal
from ..formats.source import HARMLESS, TIGHTEST
from .members import FILES, FORMAT, MANIFEST, VERSION, Member, snapshot_of

PIECE = 1 << 20
LONGEST = 1 << 26  # bytes of a line
LARGEST_MANIFEST = 1 << 16
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
COPY_AGAIN = "Copy or download the archive again."
NOT_OURS = "Check that this is the file you meant; export_collection makes such archives."


class Unreadable(ValueError):
    """It is no whole archive. Says the place, what is wrong and the cure."""

    def __init__(self, file: str, line: int, problem: str, cure: str) -> None:
        self.refusal = Refusal(file, line, problem, cure)
        super().__init__(str(self.refusal))


@dataclass(frozen=True)
class Archive:
    name: str
    snapshot: str
    lines: dict[str, int]  # by file
    zip: zipfile.ZipFile

    def rows(self, member: Member) -> Iterator[tuple[int, int, list] | Refusal]:
        """Number, bytes and checked values of each line of a member, or what is wrong with it."""
        with self.zip.open(member.file) as packed, io.BufferedReader(packed, PIECE) as file:
            number = 0
            while line := file.readline(LONGEST):
                number += 1
                try:
                    yield number, len(line), _values(member, line)
                except ValueError as error:
                    yield self.refused(member, number, str(error))
                    if len(line) == LONGEST:
                        return

    def refused(self, member: Member, number: int, problem: str) -> Refusal:
        cure = "An archive is not to be edited by hand: export it again."
        return Refusal(f"{self.name}, {member.file}", number, problem, cure)

    def refusal(self, line: int, problem: str, cure: str) -> Refusal:
        return Refusal(self.name, line, problem, cure)


def _values(member: Member, line: bytes) -> list:
    if not line.endswith(b"\n"):
        too_long = f"the line is longer than {LONGEST >> 20} MB"
        raise ValueError(too_long if len(line) == LONGEST else "the line is cut off")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ValueError("the line is not UTF-8") from error
    # A document is a line of its own where it comes from, and a part of one here.
    return member.checked(strict_json.loaded(text, deepest=strict_json.DEEPEST + 1))


@contextmanager
def opened(path: str | Path, name: str = "") -> Iterator[Archive]:
    """The archive, every file of which has the sum that the manifest gives it. Raises OSError and Unreadable.

    `name`: what messages call it.
    """
    name = name or str(path)
    with open(path, "rb") as file:
        try:
            found = zipfile.ZipFile(file)
        except DAMAGED as error:
            raise Unreadable(name, 0, f"it is no whole ZIP ({error})", NOT_OURS) from error
        with found:
            _refuse_odd_files(name, found, os.fstat(file.fileno()).st_size)
            manifest = _manifest(name, found)
            sums = {file: _sum(name, found, file) for file in FILES}
            _refuse_changed(name, manifest, sums)
            lines = {told["file"]: told["lines"] for told in manifest["members"]}
            yield Archive(name, manifest["snapshot"], lines, found)


def _refuse_odd_files(name: str, found: zipfile.ZipFile, size: int) -> None:
    """Nothing is unpacked into the file system; but what has other files, or grows beyond measure, is not ours."""
    entries = found.infolist()
    names = [entry.filename for entry in entries]
    if MANIFEST not in names:
        raise Unreadable(name, 0, f"it has no {MANIFEST}", NOT_OURS)
    if odd := [each for each in names if each not in (*FILES, MANIFEST)]:
        raise Unreadable(name, 0, f"it holds {values.shown(odd[0])}, which no such archive does", NOT_OURS)
    if missing := [each for each in FILES if each not in names]:
        raise Unreadable(f"{name}, {missing[0]}", 0, "the file is missing", COPY_AGAIN)
    if len(set(names)) < len(names):
        again = next(each for each in names if names.count(each) > 1)
        raise Unreadable(f"{name}, {again}", 0, "the file is in it twice", NOT_OURS)
    if (unpacked := sum(entry.file_size for entry in entries)) > max(HARMLESS, TIGHTEST * size):
        grows = f"it would grow to {unpacked:,} bytes, more than {TIGHTEST} times its size"
        raise Unreadable(name, 0, grows, NOT_OURS)


def _manifest(name: str, found: zipfile.ZipFile) -> dict[str, Any]:
    place = f"{name}, {MANIFEST}"
    try:
        with found.open(MANIFEST) as file:
            manifest = strict_json.loaded(file.read(LARGEST_MANIFEST).decode())
    except (*DAMAGED, ValueError) as error:
        raise Unreadable(place, 0, f"it cannot be read ({error})", COPY_AGAIN) from error
    if manifest.get("format") != FORMAT:
        raise Unreadable(place, 0, f"the format is {values.shown(manifest.get('format'))}", NOT_OURS)
    if manifest.get("version") != VERSION:
        told = (
            f"the archive has version {values.shown(manifest.get('version'))}, and this Idealist reads {VERSION}"
        )
        raise Unreadable(place, 0, told, "Import it with the Idealist that it comes from, or a later one.")
    told = manifest.get("members")
    shape = {"file": str, "lines": int, "sha256": str}
    if not isinstance(told, list) or not all(
        isinstance(each, dict) and {key: type(value) for key, value in each.items()} == shape for each in told
    ):
        raise Unreadable(place, 0, "it does not list the files", COPY_AGAIN)
    if [each["file"] for each in told] != FILES:
        raise Unreadable(place, 0, f"it does not list the files {', '.join(FILES)}", COPY_AGAIN)
    return manifest


def _sum(name: str, found: zipfile.ZipFile, file: str) -> str:
    digest = hashlib.sha256()
    try:
        with found.open(file) as packed:
            while piece := packed.read(PIECE):
                digest.update(piece)
    except DAMAGED as error:
        raise Unreadable(f"{name}, {file}", 0, f"it is damaged ({error})", COPY_AGAIN) from error
    return digest.hexdigest()


def _refuse_changed(name: str, manifest: dict[str, Any], sums: dict[str, str]) -> None:
    for told in manifest["members"]:
        if told["sha256"] != sums[told["file"]]:
            changed = f"its SHA-256 is {sums[told['file']][:12]}…, and {MANIFEST} says {told['sha256'][:12]}…"
            raise Unreadable(f"{name}, {told['file']}", 0, changed, COPY_AGAIN)
    if snapshot_of(sums) != manifest.get("snapshot"):
        raise Unreadable(f"{name}, {MANIFEST}", 0, "the snapshot id is not that of the files", COPY_AGAIN)
