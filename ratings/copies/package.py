"""The ZIP of an archive or a backup, read without trust: its manifest, its members and their hashes."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..formats.refusal import Refusal

MANIFEST = "manifest.json"
LARGEST_MANIFEST = 1 << 24
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, KeyError)
BLOCK = 1 << 20
COPY_AGAIN = "Copy or download the file again."


class Unreadable(ValueError):
    """The file is not whole, or not what it should be. The error has the refusal."""

    def __init__(self, file: str, line: int, problem: str, cure: str) -> None:
        self.refusal = Refusal(file, line, problem, (cure,))
        super().__init__(str(self.refusal))


def opened(file: BinaryIO, name: str, format: str, version: int, cure: str) -> tuple[zipfile.ZipFile, dict]:
    """The ZIP and its manifest. Raises Unreadable for another file, and for another version of the format."""
    try:
        package = zipfile.ZipFile(file)
    except DAMAGED as error:
        raise Unreadable(name, 0, f"it is not a complete ZIP ({error})", cure) from error
    names = package.namelist()
    if MANIFEST not in names:
        raise Unreadable(name, 0, f"it has no {MANIFEST}", cure)
    if len(set(names)) < len(names):
        again = next(each for each in names if names.count(each) > 1)
        raise Unreadable(name, 0, f"{again} is in it twice", cure)
    try:
        with package.open(MANIFEST) as text:
            manifest = json.loads(text.read(LARGEST_MANIFEST))
        found, of_file = manifest["format"], manifest["version"]
        members = {each["file"]: (each["lines"], each["sha256"]) for each in manifest["members"]}
    except (*DAMAGED, ValueError, TypeError) as error:
        raise Unreadable(f"{name}, {MANIFEST}", 0, f"it cannot be read ({error})", COPY_AGAIN) from error
    if found != format:
        raise Unreadable(name, 0, f"its format is {found!r}, not {format!r}", cure)
    if of_file != version:
        problem = f"it has version {of_file!r} of the format, and this Idealist reads {version}"
        raise Unreadable(name, 0, problem, "Use the Idealist that made it, or a later one.")
    if missing := sorted(members.keys() - set(names)):
        raise Unreadable(f"{name}, {missing[0]}", 0, "the file is missing", COPY_AGAIN)
    return package, manifest | {"members": members}


def blocks(package: zipfile.ZipFile, name: str, member: str) -> Iterator[bytes]:
    """The content of a member, piece by piece. Raises Unreadable."""
    try:
        with package.open(member) as file:
            while block := file.read(BLOCK):
                yield block
    except DAMAGED as error:
        raise Unreadable(f"{name}, {member}", 0, f"it is damaged ({error})", COPY_AGAIN) from error


def digest(package: zipfile.ZipFile, name: str, member: str) -> str:
    found = hashlib.sha256()
    for block in blocks(package, name, member):
        found.update(block)
    return found.hexdigest()


def check(package: zipfile.ZipFile, name: str, members: dict[str, Any]) -> None:
    """Read all members. Raises Unreadable where one differs from the manifest."""
    for member, (_, expected) in members.items():
        if digest(package, name, member) != expected:
            raise Unreadable(f"{name}, {member}", 0, f"it is not the file that {MANIFEST} names", COPY_AGAIN)
