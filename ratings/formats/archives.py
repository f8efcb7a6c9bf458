"""The files in a ZIP or tar archive. A name in an archive is only shown in messages and never used as a path."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import BinaryIO

from . import budget
from .budget import TooMuch
from .packing import DAMAGED, Damaged, Taken
from .source import Source, Start, Unopened

MOST_FILES = 500
MOST_ENTRIES = 10_000  # of a tar, with its folders
LARGEST_LIST = 1 << 24  # bytes of the names in a ZIP
LARGEST_HEADER = 1 << 14  # bytes before a file of a tar: some versions of tarfile search them in quadratic time
LONGEST_NAME = 200
ZIP = b"PK\x03\x04"
_OFFICE = ("xl/", "word/", "ppt/", "mimetype")  # in office documents, which are ZIPs but no archives
_LITTER = (".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini")
COPY_AGAIN = "Copy or download the file again."
UNPACK = "Unpack it, and import what lies in it."
ELSEWHERE = "Pack the file itself."


def is_zip(start: Start) -> bool:
    return start.data.startswith((ZIP, b"PK\x05\x06"))  # the second one of an empty ZIP


def is_tar(start: Start) -> bool:
    return start.data.startswith(b"ustar", 257)


def files_of(source: Source, stack: ExitStack) -> Iterator[Source]:
    """The source itself, or each file in it where it is an archive. `stack`: closes what is opened here.

    The files can be read in any order. In place of a file or an archive that cannot be read comes a source that
    gives only a refusal (`Source.unopened`). An archive in an archive stays a file, which no format reads.
    """
    if is_zip(source.start):
        files = _in_zip(source, stack)
    elif is_tar(source.start):
        files = _in_tar(source, stack)
    else:
        yield source
        return
    earlier_names = set()
    try:
        for file in files:
            if file is source:  # a ZIP that is one file, such as a spreadsheet
                yield source
                return
            if file.name in earlier_names:
                yield file.unopened("the archive has two files of that name", "Give each file its own name.")
            elif len(earlier_names) == MOST_FILES:
                yield source.unopened(f"it holds more than {MOST_FILES} files", "Pack fewer together.")
                return
            else:
                yield file
            earlier_names.add(file.name)
    # From here on the archive cannot be read; earlier files were given. (TooMuch is a ValueError, too.)
    except TooMuch as error:
        yield source.unopened(str(error), budget.CURE)
    except Unopened as error:
        yield source.unopened(*error.args)
    except (*DAMAGED, ValueError, NotImplementedError, OverflowError, tarfile.TarError) as error:
        yield source.unopened(f"the archive is cut off or damaged ({error})", COPY_AGAIN)
    else:
        if not earlier_names:
            yield source.unopened("there is no file in the archive", "Check that this is the file you meant.")


def _is_content(name: str) -> bool:
    """False for the files that macOS and Windows add to archives by themselves."""
    *folders, last = PurePosixPath(name).parts or ("",)
    return "__MACOSX" not in folders and not last.startswith("._") and last.lower() not in _LITTER


def _printable(name: str) -> str:
    """The name for a message: its end, with ? for characters that cannot be printed."""
    name = "".join(c if c.isprintable() else "?" for c in name)
    return name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"


# ZIP


def _in_zip(source: Source, stack: ExitStack) -> Iterator[Source]:
    """The files in a ZIP, or `source` itself where the ZIP is an office document."""
    # zipfile reads the list of all entries, at the end of a ZIP, at once.
    file = BoundedReads(source.seekable_file(), largest_read=LARGEST_LIST)
    archive = stack.enter_context(zipfile.ZipFile(file))
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and _is_content(entry.filename)]
    if any(entry.filename.startswith(_OFFICE) for entry in entries):
        yield source
        return
    source.budget.check_unpacking(sum(entry.file_size for entry in entries))  # before anything is unpacked
    for entry in entries:
        name = _printable(entry.filename)
        if problem_and_cure := _wrong_in_zip(entry):
            yield source.unopened(*problem_and_cure, name=name)
            continue
        try:
            stream = archive.open(entry)
        except (*DAMAGED, NotImplementedError, RuntimeError) as error:
            yield source.unopened(f"it is damaged ({error})", COPY_AGAIN, name=name)
            continue
        yield source.member(name, stream, entry.file_size, packing="ZIP", packed_size=entry.compress_size)


def _wrong_in_zip(entry: zipfile.ZipInfo) -> tuple[str, str] | None:
    """The problem and the cure of a file in a ZIP that cannot be read; None for any other."""
    if entry.flag_bits & 0x1:
        return "it is encrypted", "Pack it without a password."
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "it is a link", ELSEWHERE
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"it is packed in a way that is not known here (method {entry.compress_type})", UNPACK
    return None


class BoundedReads:
    """A file of any size that refuses to read more than `largest_read` bytes at once.

    zipfile and tarfile read lists of names at once, however long. Large files in them are read in smaller pieces.
    """

    def __init__(self, file: BinaryIO, *, largest_read: int) -> None:
        self.file, self.largest_read = file, largest_read
        self.tell = file.tell

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and place < 0:
            raise Damaged("it refers to a place before its beginning")
        return self.file.seek(place, whence)

    def read(self, size: int = -1) -> bytes:
        most = self.largest_read + 1  # one more than is allowed, to notice a read that is too large
        data = self.file.read(min(size, most) if size >= 0 else most)
        if len(data) > self.largest_read:
            raise Unopened("its list of files is too long", UNPACK)
        return data


# Tar


def _in_tar(source: Source, stack: ExitStack) -> Iterator[Source]:
    """The files in a tar, each as a window of its bytes, since a tar only joins files and does not pack them.

    Raises Unopened for too many entries, and TooMuch for files that are too large.
    """
    file = source.seekable_file()
    archive = stack.enter_context(tarfile.TarFile(fileobj=BoundedReads(file, largest_read=LARGEST_HEADER)))
    for number, entry in enumerate(archive):
        if number == MOST_ENTRIES:
            raise Unopened(f"it holds more than {MOST_ENTRIES:,} files and folders", "Pack fewer together.")
        if entry.isdir() or not _is_content(entry.name):
            continue
        name = _printable(entry.name)
        # A sparse file, whose bytes are not in one piece, is refused in the same words as a device.
        if not entry.isreg() or entry.issparse():
            what = "a link" if entry.islnk() or entry.issym() else "no file, but a device or the like"
            yield source.unopened(f"it is {what}", ELSEWHERE, name=name)
            continue
        source.budget.check_unpacking(entry.size)
        stream = _Window(file, entry.offset_data, entry.size)
        yield source.member(name, stream, entry.size, packing="", packed_size=entry.size)


class _Window(Taken):
    """`size` bytes of a file from `begin`."""

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        self.file, self.begin, self.size, self.at = file, begin, size, 0

    def tell(self) -> int:
        return self.at

    def take(self, most: int) -> bytes:
        self.file.seek(self.begin + self.at)
        data = self.file.read(min(most, self.size - self.at))
        if self.at < self.size and not data:
            raise EOFError("it ends within a file")
        self.at += len(data)
        return data
