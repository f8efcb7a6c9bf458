"""Read an archive: its checksums and its lines. No database."""

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..formats import strict_json, values
from ..formats.budget import CURE, TooMuch
from ..formats.refusal import Refusal
from ..intake.opening import budget
from ..pictures.decoding import MOST_BYTES
from .members import (
    EVERY,
    FILES,
    FILES_OF_JUDGES,
    FORMAT,
    MANIFEST,
    PICTURE,
    VERSION,
    picture_file,
    snapshot_of,
)
from .shape import Member

PIECE = 1 << 20
LONGEST = 1 << 26  # bytes of a line
LARGEST_MANIFEST = 1 << 16
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
COPY_AGAIN = "Copy or download the archive again."
NOT_OURS = "Check that this is the file you meant; export_collection makes such archives."


class Unreadable(ValueError):
    """The file is not a complete archive. The error has the refusal."""

    def __init__(self, file: str, line: int, problem: str, cure: str) -> None:
        self.refusal = Refusal(file, line, problem, (cure,))
        super().__init__(str(self.refusal))


@dataclass(frozen=True)
class Archive:
    name: str
    snapshot: str
    lines: dict[str, int]  # by file
    pictures: frozenset[str]  # SHA-256 of each
    zip: zipfile.ZipFile

    @property
    def members(self) -> list[Member]:
        """The members of this archive, which may lack those of judges."""
        return [member for member in EVERY if member.file in self.lines]

    @property
    def file(self) -> str:
        """The name of the file that was sent, as in a Source."""
        return self.name

    def rows(self, member: Member) -> Iterator[tuple[int, int, list] | Refusal]:
        """The number, size in bytes and checked values of each line of a member, or its refusal."""
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

    def picture(self, digest: str) -> bytes:
        return self.zip.read(picture_file(digest))

    def refused(self, member: Member, number: int, problem: str) -> Refusal:
        cure = "Do not edit an archive by hand: export it again."
        return Refusal(f"{self.name}, {member.file}", number, problem, (cure,))

    def refusal(self, line: int, problem: str, cure: str) -> Refusal:
        return Refusal(self.name, line, problem, (cure,))


def _values(member: Member, line: bytes) -> list:
    if not line.endswith(b"\n"):
        too_long = f"the line is longer than {LONGEST >> 20} MB"
        raise ValueError(too_long if len(line) == LONGEST else "the line is cut off")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ValueError("the line is not UTF-8") from error
    # One level more than in an import, where the fields of a document are the line itself.
    return member.checked(strict_json.loaded(text, deepest=strict_json.DEEPEST + 1))


@contextmanager
def opened(path: str | Path, name: str = "") -> Iterator[Archive]:
    """The archive, after its checksums were checked. Raises OSError and Unreadable.

    `name`: its name in messages.
    """
    with open(path, "rb") as file, unpacked(file, name or str(path)) as archive:
        yield archive


@contextmanager
def unpacked(file: BinaryIO, name: str, *, ours: bool = False) -> Iterator[Archive]:
    """The archive in an open file, like `opened`. `ours`: the server made it, so no budget limits it."""
    try:
        zip = zipfile.ZipFile(file)
    except DAMAGED as error:
        raise Unreadable(name, 0, f"it is not a complete ZIP ({error})", NOT_OURS) from error
    with zip:
        files = _files(name, zip)
        if not ours:
            _refuse_too_much(name, zip, os.fstat(file.fileno()).st_size)
        manifest = _manifest(name, zip, files)
        sums = {file: _sum(name, zip, file) for file in files}
        _refuse_changed(name, manifest, sums)
        lines = {member["file"]: member["lines"] for member in manifest["members"]}
        yield Archive(name, manifest["snapshot"], lines, _pictures(name, zip), zip)


def _files(name: str, zip: zipfile.ZipFile) -> list[str]:
    """The files of the members, in their order. Raises Unreadable if one is missing or does not belong."""
    names = [entry.filename for entry in zip.infolist()]
    if MANIFEST not in names:
        raise Unreadable(name, 0, f"it has no {MANIFEST}", NOT_OURS)
    files = [*FILES, *FILES_OF_JUDGES] if any(each in FILES_OF_JUDGES for each in names) else FILES
    if odd := [each for each in names if each not in (*files, MANIFEST) and not PICTURE.fullmatch(each)]:
        raise Unreadable(name, 0, f"it has the file {values.quoted(odd[0])}, which no archive has", NOT_OURS)
    if missing := [each for each in files if each not in names]:
        raise Unreadable(f"{name}, {missing[0]}", 0, "the file is missing", COPY_AGAIN)
    if len(set(names)) < len(names):
        again = next(each for each in names if names.count(each) > 1)
        raise Unreadable(f"{name}, {again}", 0, "the file is in it twice", NOT_OURS)
    return files


def _refuse_too_much(name: str, zip: zipfile.ZipFile, size: int) -> None:
    """Raises Unreadable if the files unpack to more than the budget."""
    allowed = budget()
    allowed.receive(size)
    try:
        allowed.foresee(sum(entry.file_size for entry in zip.infolist()))
    except TooMuch as error:
        raise Unreadable(name, 0, str(error), CURE) from error


def _manifest(name: str, zip: zipfile.ZipFile, files: list[str]) -> dict[str, Any]:
    place = f"{name}, {MANIFEST}"
    try:
        with zip.open(MANIFEST) as file:
            manifest = strict_json.loaded(file.read(LARGEST_MANIFEST).decode())
    except (*DAMAGED, ValueError) as error:
        raise Unreadable(place, 0, f"it cannot be read ({error})", COPY_AGAIN) from error
    if manifest.get("format") != FORMAT:
        raise Unreadable(place, 0, f"the format is {values.quoted(manifest.get('format'))}", NOT_OURS)
    if manifest.get("version") != VERSION:
        version = values.quoted(manifest.get("version"))
        problem = f"the archive has version {version}, and this Idealist reads {VERSION}"
        raise Unreadable(place, 0, problem, "Import it into the Idealist that made it, or a later one.")
    members = manifest.get("members")
    shape = {"file": str, "lines": int, "sha256": str}
    if not isinstance(members, list) or not all(
        isinstance(each, dict) and {key: type(value) for key, value in each.items()} == shape for each in members
    ):
        raise Unreadable(place, 0, "it has no list of files", COPY_AGAIN)
    if [each["file"] for each in members] != files:
        raise Unreadable(place, 0, f"it does not list the files {', '.join(files)}", COPY_AGAIN)
    return manifest


def _pictures(name: str, zip: zipfile.ZipFile) -> frozenset[str]:
    """The digests of the pictures. Raises Unreadable if a picture's name is not its digest."""
    digests = frozenset(found[1] for each in zip.namelist() if (found := PICTURE.fullmatch(each)))
    for digest in digests:
        file = picture_file(digest)
        if zip.getinfo(file).file_size > MOST_BYTES or _sum(name, zip, file) != digest:
            raise Unreadable(f"{name}, {file}", 0, "its name is not the SHA-256 of its content", COPY_AGAIN)
    return digests


def _sum(name: str, zip: zipfile.ZipFile, file: str) -> str:
    digest = hashlib.sha256()
    try:
        with zip.open(file) as packed:
            while piece := packed.read(PIECE):
                digest.update(piece)
    except DAMAGED as error:
        raise Unreadable(f"{name}, {file}", 0, f"it is damaged ({error})", COPY_AGAIN) from error
    return digest.hexdigest()


def _refuse_changed(name: str, manifest: dict[str, Any], sums: dict[str, str]) -> None:
    for member in manifest["members"]:
        file, expected = member["file"], member["sha256"]
        if expected != sums[file]:
            changed = f"its SHA-256 is {sums[file][:12]}…, and {MANIFEST} says {expected[:12]}…"
            raise Unreadable(f"{name}, {file}", 0, changed, COPY_AGAIN)
    if snapshot_of(sums) != manifest.get("snapshot"):
        raise Unreadable(f"{name}, {MANIFEST}", 0, "the snapshot id is not that of the files", COPY_AGAIN)
