"""The ZIP of an archive or a backup, read without trust: its manifest, its members and their hashes."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ..formats.refusal import Refusal

MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 1 << 24
# What zipfile raises for a ZIP that is damaged, encrypted, or compressed in a way that it does not know.
DAMAGE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, KeyError)
BLOCK_BYTES = 1 << 20
COPY_AGAIN = "Copy or download the file again."


class Unreadable(ValueError):
    """The file is not whole, or not what it should be. The error has the refusal."""

    def __init__(self, file: str, problem: str, cure: str) -> None:
        self.refusal = Refusal(file, line=0, problem=problem, cure=(cure,))  # 0: the file as a whole
        super().__init__(str(self.refusal))


def opened(file: BinaryIO, name: str, format: str, version: int, cure: str) -> tuple[zipfile.ZipFile, dict]:
    """The open ZIP and its manifest, whose "members" are {member: (number of its lines, its SHA-256)}.

    Raises Unreadable for any other file, and for another version of the format. `cure`: what helps where the file
    is no such ZIP. A damaged one is to be copied again.
    """
    try:
        package = zipfile.ZipFile(file)
    except DAMAGE_ERRORS as error:
        raise Unreadable(name, f"it is not a complete ZIP ({error})", cure) from error
    names = package.namelist()
    if MANIFEST not in names:
        raise Unreadable(name, f"it has no {MANIFEST}", cure)
    if len(set(names)) < len(names):
        repeated = next(member for member in names if names.count(member) > 1)
        raise Unreadable(name, f"{repeated} is in it twice", cure)
    try:
        with package.open(MANIFEST) as text:
            manifest = json.loads(text.read(MOST_MANIFEST_BYTES))
        its_format, its_version = manifest["format"], manifest["version"]  # DAMAGE_ERRORS has KeyError, too
        members = members_of(manifest)
    except (*DAMAGE_ERRORS, ValueError, TypeError) as error:
        raise Unreadable(f"{name}, {MANIFEST}", f"it cannot be read ({error})", COPY_AGAIN) from error
    if its_format != format:
        raise Unreadable(name, f"its format is {its_format!r}, not {format!r}", cure)
    if its_version != version:
        problem = f"it has version {its_version!r} of the format, and this Idealist reads {version}"
        raise Unreadable(name, problem, "Use the Idealist that made it, or a later one.")
    if missing := sorted(members.keys() - set(names)):
        raise Unreadable(f"{name}, {missing[0]}", "the file is missing", COPY_AGAIN)
    return package, manifest | {"members": members}


def members_of(manifest: dict) -> dict[str, tuple[int, str]]:
    """{member: (number of its lines, its SHA-256)} of a manifest as it is in the ZIP."""
    return {member["file"]: (member["lines"], member["sha256"]) for member in manifest["members"]}


def blocks(package: zipfile.ZipFile, name: str, member: str) -> Iterator[bytes]:
    """The content of a member, piece by piece. Raises Unreadable."""
    try:
        with package.open(member) as file:
            while block := file.read(BLOCK_BYTES):
                yield block
    except DAMAGE_ERRORS as error:
        raise Unreadable(f"{name}, {member}", f"it is damaged ({error})", COPY_AGAIN) from error


def sha256_of(pieces: Iterable[bytes]) -> str:
    sha256 = hashlib.sha256()
    for piece in pieces:
        sha256.update(piece)
    return sha256.hexdigest()


def check(package: zipfile.ZipFile, name: str, members: dict[str, Any]) -> None:
    """Read all members. Raises Unreadable where one differs from the manifest."""
    for member, (_, expected) in members.items():
        if sha256_of(blocks(package, name, member)) != expected:
            raise Unreadable(f"{name}, {member}", f"it is not the file that {MANIFEST} names", COPY_AGAIN)
