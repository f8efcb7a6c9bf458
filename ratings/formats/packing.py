"""Compression of a single file: gzip or Zstandard, recognised by the first bytes."""

import gzip
import io
import zipfile
import zlib
from typing import BinaryIO

HEAD_BYTES = 10  # bytes that show the compression
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Damaged(Exception):
    """Packed data that cannot be unpacked."""


DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, Damaged)


def unpacked(stream: io.BufferedReader, head: bytes) -> tuple[BinaryIO, str]:
    """A stream of the unpacked bytes, and the name of the compression, "" for none. `head`: the first bytes."""
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stream), "gzip"
    if head.startswith(_ZSTD):
        import pyarrow as pa  # takes a fifth of a second, and few files need it

        of_arrow = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
        return io.BufferedReader(_Checked(of_arrow)), "Zstandard"
    return stream, ""


class Taken(io.RawIOBase):
    """A stream that gives what `take` of a subclass returns: up to so many bytes, b"" at the end."""

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        data = self.take(len(room))
        room[: len(data)] = data
        return len(data)


class _Checked(Taken):
    """Raises Damaged for damaged data, and OSError only for an error of the disk."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def take(self, most: int) -> bytes:
        try:
            return self.stream.read(most)
        except OSError as error:
            if error.errno is None:
                raise Damaged(f"{error}") from error
            raise
