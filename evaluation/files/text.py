"""The bytes of a file in chunks, padded so that eight bytes can be read at any place."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratings.formats.archives import files_of, is_tar, is_zip
from ratings.formats.cells import AFTER, BEFORE, NEWLINE, Irregular
from ratings.formats.refusal import Refusal, Refused
from ratings.formats.source import BOM, Source

PIECE = 1 << 19  # bytes of text whose arrays fit into the processor's cache
LONGEST_LINE = 1 << 16
GZIPPED = b"\x1f\x8b"


@dataclass(frozen=True, eq=False)
class Text:
    """A file that can be read more than once."""

    name: str  # in messages
    file: int  # descriptor
    content: bytes | None = None  # of a pipe, or decompressed; None: read from the descriptor

    @property
    def size(self) -> int:
        return os.fstat(self.file).st_size if self.content is None else len(self.content)

    def bytes(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`, or to the end of the file."""
        return os.pread(self.file, end - begin, begin) if self.content is None else self.content[begin:end]

    def read_into(self, room: memoryview, begin: int) -> int:
        """Fills `room` with the bytes from `begin` on, up to the end of the file. Returns their number."""
        if self.content is None:
            return os.preadv(self.file, [room], begin)
        part = self.content[begin : begin + len(room)]
        room[: len(part)] = part
        return len(part)

    def source(self) -> Source:
        """The file from its beginning, for the readers of `ratings.formats`, which report errors."""
        if self.content is not None:
            return Source(self.name, io.BytesIO(self.content))
        os.lseek(self.file, 0, os.SEEK_SET)
        return Source(self.name, open(self.file, "rb", closefd=False))


@dataclass(frozen=True, eq=False)
class PlainText:
    """Decompressed text of whole lines. Places are in bytes from the beginning of the file."""

    text: Text
    begin: int
    end: int  # where a further line would begin: one byte beyond a file that does not end with a newline

    def words(self, begin: int, end: int) -> np.ndarray:
        """The eight bytes at each place from `begin` to `end` as one number, with padding around: uint64[n]."""
        roomy = np.empty(BEFORE + end - begin + AFTER, np.uint8)
        count = self.text.read_into(memoryview(roomy)[BEFORE:-AFTER], begin)
        if count < end - begin:
            roomy[-AFTER - 1] = NEWLINE
        if count < end - begin - 1:
            raise Irregular  # somebody is writing to the file
        return np.ndarray(len(roomy) - 7, "<u8", roomy, strides=(1,))

    @cached_property
    def all_words(self) -> np.ndarray:
        return self.words(self.begin, self.end)

    def next_line(self, place: int) -> int:
        """The place where the next line begins after `place`. Raises Irregular for a line above LONGEST_LINE."""
        if place >= self.end:
            return self.end
        newline = self.text.bytes(place, place + LONGEST_LINE).find(b"\n")
        if newline < 0 and place + LONGEST_LINE < self.end:
            raise Irregular
        return place + newline + 1 if newline >= 0 else self.end

    def pieces(self, whole_queries: bool = False) -> Iterator[tuple[int, int]]:
        """The begin and end of each chunk of whole lines; with `whole_queries`, of whole queries."""
        begin = self.begin
        while begin < self.end:
            end = self.next_line(begin + PIECE)
            if whole_queries:
                end = self._after_query(end)
            yield begin, end
            begin = end

    def _after_query(self, line: int) -> int:
        """The place where the consecutive lines of this line's query end, by doubling steps and bisection."""
        start = self.text.bytes(line, line + LONGEST_LINE).replace(b"\t", b" ")
        key = start[: start.find(b" ") + 1]

        def has_key(place: int) -> bool:
            return place < self.end and self.text.bytes(place, place + len(key)).replace(b"\t", b" ") == key

        step = LONGEST_LINE
        while has_key(after := self.next_line(line + step)):
            line, step = after, 2 * step
        while (middle := self.next_line((line + after) // 2)) < after:
            line, after = (middle, after) if has_key(middle) else (line, middle)
        while has_key(line):
            line = self.next_line(line)
        return line


@contextmanager
def opened(path: str) -> Iterator[list[Text]]:
    """The file at `path`, or the files of the archive there; "-" is standard input. Raises OSError and Refused."""
    if path == "-":
        yield _files_in(Text("standard input", -1, sys.stdin.buffer.read()))
        return
    with open(path, "rb", buffering=0) as stream:
        plain_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        yield _files_in(Text(path, stream.fileno(), None if plain_file else stream.read()))


def _files_in(text: Text) -> list[Text]:
    """The files in this file: itself, or those of an archive. `plain_text` decompresses gzip."""
    source = text.source()
    if source.packing in ("", "gzip") and not is_zip(source.start) and not is_tar(source.start):
        return [text]
    with ExitStack() as stack:
        return [Text(file.name, -1, _content(file)) for file in files_of(source, stack)]


def _content(file: Source) -> bytes:
    pieces = list(file.pieces())
    if pieces and isinstance(pieces[-1], Refusal):
        raise Refused([pieces[-1]])
    return b"".join(pieces)


def plain_text(text: Text) -> PlainText:
    """The text decompressed, without a byte order mark or carriage returns. Raises Irregular."""
    if text.bytes(0, 2) == GZIPPED:
        try:
            text = replace(text, content=gzip.decompress(text.bytes(0, text.size)))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Irregular from error
    if b"\r\n" in text.bytes(0, LONGEST_LINE):
        text = replace(text, content=text.bytes(0, text.size).replace(b"\r\n", b"\n"))
    if text.size == 0:
        raise Irregular
    begin = len(BOM) if text.bytes(0, len(BOM)) == BOM else 0
    return PlainText(text, begin, text.size + (text.bytes(text.size - 1, text.size) != b"\n"))
