"""Lines of text from a path or from standard input, gzipped or not, in bounded memory."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from .refusal import Refusal

BLOCK = 1 << 20
LONGEST_LINE = 10_000_000
BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    number: int
    text: str  # without the final \n; a \r stays, because a cell of a CSV file may hold one


class Source:
    """A file to read once. `stream` is any binary stream; gzip is known by its first two bytes."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.name = name
        self.comments = 0  # comment lines that a reader passed over
        self._raw = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self._size = os.fstat(stream.fileno()).st_size if is_file(stream) else None
        packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
        self._text = gzip.GzipFile(fileobj=self._raw) if packed else self._raw

    @property
    def share(self) -> float | None:
        """How much was read, 0 to 1. None where the size cannot be known, as for a pipe."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None

    def lines(self) -> Iterator[Line | Refusal]:
        """Lines in order. A line that is no text comes as a Refusal; after one that cannot be read, nothing."""
        number, rest = 0, b""
        try:
            while block := self._text.read(BLOCK):
                if number == 0 and not rest:
                    block = block.removeprefix(BOM)
                whole, newline, rest = (rest + block).rpartition(b"\n")
                if newline:
                    for line in self._decoded(whole, number + 1):
                        number += 1
                        yield line
                if len(rest) > LONGEST_LINE:
                    yield self.refusal(
                        number + 1,
                        f"the line is longer than {LONGEST_LINE // 1_000_000} MB",
                        "Check that this is a text file with one record on each line.",
                    )
                    return
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield self.refusal(
                number + 1,
                f"the gzip data are cut off or damaged here ({error})",
                "Copy or download the file again.",
            )
            return
        if rest:
            yield from self._decoded(rest, number + 1)

    def refusal(self, line: int, problem: str, cure: str) -> Refusal:
        return Refusal(self.name, line, problem, cure)

    def _decoded(self, lines: bytes, first: int) -> Iterator[Line | Refusal]:
        try:
            text = lines.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" not in text:
            yield from map(Line, range(first, first + text.count("\n") + 1), text.split("\n"))
            return
        for number, line in enumerate(lines.split(b"\n"), first):
            yield self._decoded_line(line, number)

    def _decoded_line(self, line: bytes, number: int) -> Line | Refusal:
        cure = "Unpack the file or save it as UTF-8 text."
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            byte = f"0x{line[error.start]:02x}"
            return self.refusal(number, f"byte {error.start + 1} of the line, {byte}, is not UTF-8", cure)
        if "\0" in text:
            return self.refusal(number, f"character {text.index(chr(0)) + 1} of the line is a NUL", cure)
        return Line(number, text)


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """The source at `path`; - is standard input. Raises OSError."""
    if path == "-":
        yield Source("standard input", sys.stdin.buffer)
        return
    with open(path, "rb") as stream:
        yield Source(path, stream)


def place(sources: Sequence[Source], file: int, line: int, *, seen_from: int) -> str:
    """A line of one of the files as a message about another, or about the same, names it."""
    return f"line {line}" if file == seen_from else f"line {line} of {sources[file].name}"


def is_file(stream: BinaryIO) -> bool:
    try:
        return stream.seekable() and stream.fileno() >= 0
    except (AttributeError, io.UnsupportedOperation):
        return False
