"""Lines of text from a path or from standard input, gzipped or not, in any encoding, in bounded memory."""

import codecs
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import BinaryIO, NamedTuple

from .refusal import Refusal

BLOCK = 1 << 20
START = 1 << 16
LONGEST_LINE = 10_000_000
BOM = b"\xef\xbb\xbf"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Those that people meet. Nothing but a mark at its start tells an encoding, so any other than UTF-8 must be told.
ENCODINGS = (
    "utf-8", "utf-16", "windows-1252", "windows-1250", "windows-1251", "iso-8859-1", "iso-8859-15",
    "shift_jis", "euc-kr", "gb18030", "big5",
)  # fmt: skip
# What is packed tighter than this is no text; and only where it is large does that matter.
TIGHTEST, HARMLESS = 200, 100_000_000
ENCODING_CURE = "Unpack the file, save it as UTF-8 text, or say with --encoding what it is."
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


class Line(NamedTuple):
    number: int
    text: str  # without the final \n; a \r stays, because a cell of a CSV file may hold one


class Block(NamedTuple):
    first: int  # the number of its first line
    lines: bytes  # whole lines, without the final \n


class Start(NamedTuple):
    """The first 64 kB of a file, by which its format is known."""

    name: str  # in small letters, without .gz
    data: bytes
    text: str


class Source:
    """A file to read once, and what was said about how to read it.

    `stream` is any binary stream; gzip is known by its first two bytes. Of a table, `columns` says which column
    holds what, `grades` which grade a word is, and `raw` that an apostrophe is always a part of its cell.
    """

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        *,
        encoding: str | None = None,
        columns: Mapping[str, str] | None = None,
        grades: Mapping[str, Decimal] | None = None,
        raw: bool = False,
    ) -> None:
        self.name, self.raw = name, raw
        self.columns, self.grades = columns or {}, grades or {}
        self.comments = 0  # comment lines that a reader passed over
        self.stopped = False  # something kept its reader from reading on
        self.told: list[str] = []  # what else a reader has to say, one sentence each
        self._encoding = encoding
        self._raw = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self._size = os.fstat(stream.fileno()).st_size if is_file(stream) else None
        self._packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
        self._text = gzip.GzipFile(fileobj=self._raw) if self._packed else self._raw
        self._ahead, self._damage = b"", None
        self._taken = 0

    @property
    def share(self) -> float | None:
        """How much was read, 0 to 1. None where the size cannot be known, as for a pipe."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None

    @property
    def start(self) -> Start:
        """To be asked for before reading. What is damaged is told when it is read."""
        try:
            while len(self._ahead) < START and (more := self._text.read1(START)):
                self._ahead += more
        except DAMAGED as error:
            self._damage = error
        data = self._ahead
        encoding = self._encoding or ("utf-16" if data.startswith(UTF_16) else "utf-8")
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
        return Start(self.name.lower().removesuffix(".gz"), data, text)

    def lines(self) -> Iterator[Line | Refusal]:
        """Lines in order. A line that is no text comes as a Refusal; after one that cannot be read, nothing."""
        for block in self.blocks():
            if isinstance(block, Refusal):
                yield block
            else:
                yield from lines_of(self, block)

    def blocks(self) -> Iterator[Block | Refusal]:
        """The same some thousand lines at a time, and not yet as text."""
        number, rest = 0, b""
        try:
            for block in self._blocks():
                whole, newline, rest = (rest + block).rpartition(b"\n")
                if newline:
                    yield Block(number + 1, whole)
                    number += whole.count(b"\n") + 1
                if len(rest) > LONGEST_LINE:
                    yield self.stop(
                        number + 1,
                        f"the line is longer than {LONGEST_LINE // 1_000_000} MB",
                        "Check that this is a text file with one record on each line.",
                    )
                    return
        except (*DAMAGED, ValueError) as error:
            yield self._broken(number + 1, error)
            return
        if rest:
            yield Block(number + 1, rest)

    def text(self) -> Iterator[str | Refusal]:
        """All of it in pieces, for what has no lines. Ends with a Refusal where it cannot be read."""
        decoder, number = codecs.getincrementaldecoder("utf-8")(), 1
        try:
            for block in self._blocks():
                piece = decoder.decode(block)
                number += piece.count("\n")
                yield piece
            yield decoder.decode(b"", final=True)
        except (*DAMAGED, ValueError) as error:
            if isinstance(error, UnicodeDecodeError):
                number += error.object.count(b"\n", 0, error.start)
            yield self._broken(number, error)

    def copied(self) -> BinaryIO:
        """The unpacked bytes as a temporary file, for what cannot be read from front to back.

        Raises DAMAGED, and ValueError where they grow beyond all measure.
        """
        copy = tempfile.TemporaryFile()  # noqa: SIM115, its reader closes it
        while block := self._read():
            copy.write(block)
        copy.seek(0)
        return copy

    def _blocks(self) -> Iterator[bytes]:
        """The bytes as UTF-8, or as what was taken for it, without a byte order mark."""
        data = self.start.data
        encoding = self._encoding or ("utf-16" if data.startswith(UTF_16) else "utf-8")
        self._ahead = self._ahead.removeprefix(BOM)
        if encoding == "utf-8":
            while block := self._read():
                yield block
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        while block := self._read():
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()

    def _read(self) -> bytes:
        """The next bytes, b"" at the end. Raises DAMAGED, and ValueError for what is packed too tightly."""
        if self._damage:
            raise self._damage
        block, self._ahead = self._ahead, b""
        block = block or self._text.read(BLOCK)
        self._taken += len(block)
        if self._packed and self._taken > max(HARMLESS, TIGHTEST * self._raw.tell()):
            raise _TooTight(f"the gzip data grow to more than {TIGHTEST} times their size")
        return block

    def _broken(self, line: int, error: Exception) -> Refusal:
        if isinstance(error, UnicodeError):
            problem = f"from here on it cannot be read as {getattr(error, 'encoding', 'utf-16')} ({error})"
            return self.stop(line, problem, ENCODING_CURE)
        if isinstance(error, _TooTight):
            return self.stop(line, str(error), "Check that this is the file you meant.")
        problem = f"the gzip data are cut off or damaged here ({error})"
        return self.stop(line, problem, "Copy or download the file again.")

    def refusal(self, line: int, problem: str, cure: str) -> Refusal:
        return Refusal(self.name, line, problem, cure)

    def stop(self, line: int, problem: str, cure: str) -> Refusal:
        """The refusal behind which nothing more of it is read."""
        self.stopped = True
        return self.refusal(line, problem, cure)


def lines_of(source: Source, block: Block) -> Iterator[Line | Refusal]:
    """The lines of a block of `source`, each that is no text as a Refusal."""
    try:
        text = block.lines.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        yield from map(Line, range(block.first, block.first + text.count("\n") + 1), text.split("\n"))
        return
    for number, line in enumerate(block.lines.split(b"\n"), block.first):
        yield _decoded(source, line, number)


def _decoded(source: Source, line: bytes, number: int) -> Line | Refusal:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{line[error.start]:02x}"
        problem = f"byte {error.start + 1} of the line, {byte}, is not UTF-8"
        return source.refusal(number, problem, ENCODING_CURE)
    if "\0" in text:
        problem = f"character {text.index(chr(0)) + 1} of the line is a NUL"
        return source.refusal(number, problem, ENCODING_CURE)
    return Line(number, text)


class _TooTight(ValueError):
    """Gzip data that would fill the disk."""


@contextmanager
def opened(path: str, **said) -> Iterator[Source]:
    """The source at `path`; - is standard input. `said` as for Source. Raises OSError."""
    if path == "-":
        yield Source("standard input", sys.stdin.buffer, **said)
        return
    with open(path, "rb") as stream:
        yield Source(path, stream, **said)


def place(sources: Sequence[Source], file: int, line: int, *, seen_from: int) -> str:
    """A line of one of the files as a message about another, or about the same, names it."""
    return f"line {line}" if file == seen_from else f"line {line} of {sources[file].name}"


def is_file(stream: BinaryIO) -> bool:
    try:
        return stream.seekable() and stream.fileno() >= 0
    except (AttributeError, io.UnsupportedOperation):
        return False
