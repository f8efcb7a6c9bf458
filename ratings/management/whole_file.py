"""A file that is there when it is whole, or not at all."""

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

READABLE, CLOSED = 0o644, 0o600  # for all, and for its owner alone


@contextmanager
def whole_file(path: Path, mode: int = READABLE) -> Iterator[BinaryIO]:
    """A file that appears at `path` when it is whole and on the disk, or not at all. Raises OSError."""
    handle, beside = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode)
        os.replace(beside, path)
        synced(path.parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def forget_parts(path: Path) -> None:
    """Delete what writers of `path` left that were killed. Nobody else may write it now."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        left.unlink(missing_ok=True)


def synced(folder: Path) -> None:
    """The names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
