"""Lines of text from a path or from standard input, packed or not, in any encoding, in bounded memory."""

import codecs
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from . import budget
from .budget import Budget, TooMuch
from .packing import DAMAGED, HEAD_BYTES, Taken, unpacked
from .refusal import Cure, Option, Place, Refusal

BLOCK_BYTES = 1 << 20  # that are read at once
START_BYTES = 1 << 16  # that show the format
LONGEST_LINE = 10_000_000  # bytes or characters; also of a record or cell that runs over lines
MOST_COLUMNS = 1_000  # of a table
LONGEST_NAME = 1_000  # of a column
BOM = b"\xef\xbb\xbf"
HEADERS = {None: None, "yes": True, "no": False}  # the option of commands and pages -> Reading.header
LAST_HEADER_LINE = 20  # the last line that may name columns
NOT_UTF_8 = "Unpack the file, or save it as UTF-8 text.", Option("encoding", when="it is text in another encoding")
# In which Excel saves CSV where people write Latin letters. Its bytes are seldom UTF-8, and never a NUL.
EXCEL_ENCODING = Option("encoding", "windows-1252", "it is CSV of Excel")


class Line(NamedTuple):
    number: int
    text: str  # without the final \n; a \r stays, because a cell of a CSV file may hold one


class Block(NamedTuple):
    first: int  # the number of its first line
    lines: bytes  # whole lines, without the final \n


class Start(NamedTuple):
    """The first 64 kB of a file, by which its format is recognised."""

    data: bytes
    text: str  # from the line of the header on
    unquoted: bool = False  # quotation marks are text


class Unopened(Exception):
    """Nothing of the file can be read. Its arguments are the problem and the cure."""


@dataclass(frozen=True)
class Reading:
    """What people chose about reading a file. Where they chose nothing its content decides."""

    encoding: str | None = None
    # Of a table:
    # Role -> column, or the columns of a role of several, as `columns.layout_of` takes it.
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    # The grades that words stand for; None: "cannot judge".
    grades: Mapping[str, Decimal | None] = field(default_factory=dict)
    header: bool | None = None  # whether the first record names the columns
    header_line: int = 1  # what stands above is not read
    quoting: str | bool | None = None  # "none", or True on a page: quotation marks are text
    fill_down: bool = False  # an empty cell of the query is that of the row above
    raw: bool = False  # an apostrophe is always a part of its cell
    sheet: str | None = None  # of a workbook
    raters: Collection[str] = frozenset()  # those of the collection, whose names columns may have


def checked_encoding(name: str) -> str:
    """The name of an encoding of text that Python knows. Raises ValueError."""
    try:
        codecs.getincrementaldecoder(name)
        "".encode(name)  # some codecs are not of text
    except (LookupError, ValueError) as error:
        raise ValueError(f"no encoding has the name {name!r}, as windows-1252 and shift_jis have") from error
    return name


class Source:
    """A file that is read once.

    `stream` is any binary stream; its first bytes show how it is packed. `whole` is the budget of all files that
    belong together.
    """

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        reading: Reading | None = None,
        *,
        whole: Budget | None = None,
        archive: "Source | None" = None,
    ) -> None:
        """Reads the first bytes of `stream`, to know how it is packed.

        `archive`: the source that this file is a member of; `member` calls this, and counts the bytes as received.
        """
        self.name = name
        self.file = archive.file if archive else name  # the file that people gave, which may be an archive
        self.reading = reading or Reading()
        self.budget = (whole or Budget()).part()
        self.comments = 0  # comment lines that a reader skipped
        self.stopped = False  # the reader could not read to the end
        self.lines_with_more_columns = 0  # than the six of a run
        self.results_so_far: Counter = Counter()  # number by (query, system), counted by a reader of tables
        self.has_decimal_commas = False  # a comma before three digits is for decimals
        self.of_pairs = False  # a table of queries with documents, read for its documents
        self.notes: list[str] = []  # of its reader, for the report of the import; one sentence each
        self._size: int | None = None  # bytes as they were sent; None: not known
        self._raw: Any = stream  # the bytes as they were sent, still packed
        if not hasattr(stream, "peek"):
            self._raw = io.BufferedReader(self._raw)
        if archive is None and is_file(stream):
            self._size = os.fstat(stream.fileno()).st_size
            self.budget.receive(self._size)
        elif archive is None:  # such as a pipe, whose bytes are counted as they come
            self._raw = io.BufferedReader(_Counted(self._raw, self.budget))
        self._damage: Exception | None = None  # raised by the next `read`
        self._unread = b""  # the first bytes, once `start` has taken them from the stream `_unpacked`
        self._copy: BinaryIO | None = None  # of the unpacked bytes, for `seekable_file`
        self.workbook: Any = None  # once `xlsx` has opened it, for its sheets and for its rows
        # Damage at the beginning raises nothing yet, so that a source can always be made: `read` raises it.
        try:
            head = self._raw.peek(HEAD_BYTES)[:HEAD_BYTES]
        except DAMAGED as error:
            head = b""
            self._damage = error
        self._unpacked, self.packing = unpacked(self._raw, head)  # the packing is "gzip" and the like

    def member(self, name: str, stream: BinaryIO, size: int, packing: str, packed_size: int) -> "Source":
        """A file in this archive, to be read in the same way. `packed_size`: its bytes in the archive."""
        member = Source(f"{self.name}/{name}", stream, self.reading, whole=self.budget, archive=self)
        member._size = size
        member.packing = member.packing or packing
        member.budget.receive(packed_size, counted_before=True)
        return member

    def unopened(self, problem: str, cure: str, name: str = "") -> "Source":
        """A source that only yields this refusal, in place of this one or of the file `name` in it."""
        source = self.member(name, io.BytesIO(), size=0, packing="", packed_size=0)
        source.name = source.name.rstrip("/")  # without a name, `member` leaves a slash at the end
        source._damage = Unopened(problem, cure)
        return source

    @property
    def why_unopened(self) -> tuple[Cure, ...]:
        """The problem and the cure of an `unopened` source; () of another."""
        return self._damage.args if isinstance(self._damage, Unopened) else ()

    @property
    def share(self) -> float | None:
        """The share of the bytes that was read, 0 to 1. None where the size is unknown, as for a pipe."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None

    @cached_property
    def start(self) -> Start:
        """The first bytes, by which the format is recognised. To be asked for before any `read`.

        Damaged data raise nothing here: the next `read` raises it.
        """
        try:
            while len(self._unread) < START_BYTES and (more := self._unpacked.read1(START_BYTES)):
                self._unread += more
        except DAMAGED as error:
            self._damage = self._damage or error
        data = self._unread
        text = data.decode(self._encoding_of(data), "replace").removeprefix("\ufeff")  # the byte order mark
        text = text.split("\n", self.reading.header_line - 1)[-1]  # without the lines above the header
        # `quoting` is "none" or True where people chose that quotation marks are text, and None otherwise.
        return Start(data, text, unquoted=bool(self.reading.quoting))

    @property
    def begins_in_other_encoding(self) -> bool:
        """Whether the first bytes are text, but not in UTF-8."""
        data = self.start.data
        try:
            data.decode(self._encoding_of(data))
        except UnicodeDecodeError as error:
            return error.start < len(data) - 3 and b"\0" not in data  # the last character may be cut
        return False

    def _encoding_of(self, data: bytes) -> str:
        is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return self.reading.encoding or ("utf-16" if is_utf_16 else "utf-8")

    def lines(self) -> Iterator[Line | Refusal]:
        """The lines, in order. A line that is not text is a Refusal; where reading fails, a last Refusal."""
        for block in self.blocks():
            if isinstance(block, Refusal):
                yield block
            else:
                yield from lines_of(self, block)

    def blocks(self) -> Iterator[Block | Refusal]:
        """The whole lines in blocks of about 1 MB, in UTF-8; where reading fails, a last Refusal.

        The first line is that of the header; a title above it is left out.
        """
        first_line = 1  # the number of the first line that was not yet given
        rest = b""  # the beginning of a line whose end was not yet read
        try:
            for data in self._in_utf_8():
                whole_lines, newline, rest = (rest + data).rpartition(b"\n")
                if newline:  # at least one line ends in these bytes
                    yield from self._below_title(Block(first_line, whole_lines))
                    # One more than the line ends inside, as `whole_lines` is without the last one.
                    first_line += int(np.count_nonzero(np.frombuffer(whole_lines, np.uint8) == ord("\n"))) + 1
                if len(rest) > LONGEST_LINE:
                    problem = f"the line is longer than {LONGEST_LINE // 1_000_000} MB"
                    cure = "Check that this is a text file with one record on each line."
                    yield self.stop(first_line, problem, cure)
                    return
        except (*DAMAGED, Unopened, ValueError) as error:
            yield self._broken(first_line, error)
            return
        if rest:  # a last line without \n
            yield from self._below_title(Block(first_line, rest))

    def _below_title(self, block: Block) -> Iterator[Block]:
        """The block without lines above the header."""
        above = max(0, self.reading.header_line - block.first)
        lines = block.lines.split(b"\n", above)
        if len(lines) > above:
            yield Block(block.first + above, lines[above])

    def text(self, most_bytes: int) -> str | Refusal:
        """The whole text, for formats without lines; a Refusal if it is too long, damaged or not text."""
        content = bytearray()
        try:
            for block in self._in_utf_8():
                content += block
                if len(content) > most_bytes:
                    problem = f"it is longer than {most_bytes // 1_000_000} MB"
                    return self.stop(0, problem, "Split it into several files.")
            return content.decode()
        except (*DAMAGED, Unopened, ValueError) as error:
            # The refusal names the line of the byte that is no text, or of the end of what could be read.
            position = error.start if isinstance(error, UnicodeDecodeError) else len(content)
            return self._broken(content.count(b"\n", 0, position) + 1, error)

    def seekable_file(self) -> BinaryIO:
        """The unpacked bytes as a file that can seek. The source closes it. Raises DAMAGED, Unopened, TooMuch."""
        if self._copy is None and not self.packing and is_file(self._raw):
            self._copy = self._raw
        if self._copy is None:
            self._copy = tempfile.TemporaryFile()  # noqa: SIM115, closed with the source
            while block := self.read():
                self._copy.write(block)
        self._copy.seek(0)
        return self._copy

    def _in_utf_8(self) -> Iterator[bytes]:
        """The unpacked bytes in blocks, in UTF-8 whatever their encoding, without a byte order mark."""
        encoding = self._encoding_of(self.start.data)
        self._unread = self._unread.removeprefix(BOM)  # the first bytes, which `read` returns first
        if encoding == "utf-8":
            while block := self.read():
                yield block
            return
        decoder = codecs.getincrementaldecoder(encoding)()  # a character may run over two blocks
        mark = "\ufeff"  # the byte order mark, which is removed from the first block alone
        while block := self.read():
            yield decoder.decode(block).removeprefix(mark).encode()
            mark = ""
        yield decoder.decode(b"", final=True).encode()

    def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises DAMAGED, Unopened and TooMuch."""
        if self._damage:
            raise self._damage
        block, self._unread = self._unread, b""
        block = block or self._unpacked.read(BLOCK_BYTES)
        if self.packing:
            self.budget.unpack(len(block))
        return block

    def _broken(self, line: int, error: Exception) -> Refusal:
        if isinstance(error, UnicodeError):
            problem = f"from here on it cannot be read as {getattr(error, 'encoding', 'utf-16')} ({error})"
            return self.stop(line, problem, *NOT_UTF_8)
        if isinstance(error, TooMuch):
            return self.stop(line, str(error), budget.CURE)
        if isinstance(error, Unopened):
            return self.stop(0, *error.args)
        problem = f"the {self.packing} data are cut off or damaged here ({error})"
        return self.stop(line, problem, "Copy or download the file again.")

    def note_once(self, sentence: str) -> None:
        """Add the sentence to the notes, behind the name of the file, unless it is there."""
        note = f"{self.name}: {sentence}"
        if note not in self.notes:
            self.notes.append(note)

    def refusal(self, line: int, problem: str, *cure: Cure, other: Place | None = None) -> Refusal:
        """The refusal of a line, 0 for the file as a whole. `other`: a second line that the problem is about."""
        return Refusal(self.name, line, problem, cure, other)

    def stop(self, line: int, problem: str, *cure: Cure) -> Refusal:
        """The refusal, as `refusal` makes it, after which the rest of the source is not read."""
        self.stopped = True
        return self.refusal(line, problem, *cure)

    def at(self, line: int) -> Place:
        """A line of this source, for a refusal of another one."""
        return Place(self.name, line)


def lines_of(source: Source, block: Block) -> Iterator[Line | Refusal]:
    """The lines of a block of `source`; a Refusal for each that is not text."""
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
        return source.refusal(number, problem, EXCEL_ENCODING, *NOT_UTF_8)
    if "\0" in text:
        problem = f"character {text.index(chr(0)) + 1} of the line is a NUL"
        return source.refusal(number, problem, *NOT_UTF_8)
    return Line(number, text)


class _Counted(Taken):
    """A stream of unknown size that counts what is read from it as sent."""

    def __init__(self, stream: BinaryIO, budget: Budget) -> None:
        self.stream, self.budget = stream, budget

    def take(self, most: int) -> bytes:
        data = self.stream.read1(most)
        self.budget.receive(len(data))
        return data


@contextmanager
def stream_at(path: str) -> Iterator[tuple[str, BinaryIO]]:
    """The name for messages and the binary stream; "-" is standard input. Raises OSError."""
    if path == "-":
        yield "standard input", sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield path, stream


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """The source at `path`. Raises OSError."""
    with stream_at(path) as (name, stream):
        yield Source(name, stream)


def is_file(stream: BinaryIO) -> bool:
    try:
        return stream.seekable() and stream.fileno() >= 0
    except (AttributeError, io.UnsupportedOperation):
        return False
