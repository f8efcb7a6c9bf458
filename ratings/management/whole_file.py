"""Write a file so that it appears only when it is complete."""

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

READABLE_BY_ALL, OWNER_ONLY = 0o644, 0o600


@contextmanager
def whole_file(path: Path, mode: int = READABLE_BY_ALL) -> Iterator[BinaryIO]:
    """A file that appears at `path` when it is complete and on the disk, or not at all. Raises OSError."""
    try:
        # `part` is the name of the file while it is written, in the same folder so that it can be renamed.
        handle, part = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
    except OSError as error:
        error.filename = str(path)  # not that of the part, since the message is for who named the path
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, mode)
        os.replace(part, path)
        sync_folder(path.parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def forget_parts(path: Path) -> None:
    """Delete the parts of `path` that killed writers left. No other process may be writing it."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
