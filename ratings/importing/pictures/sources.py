"""Where the bytes of a picture come from: an address, a file of a ZIP, or the document itself. No database."""

import base64
import binascii
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from unicodedata import normalize
from urllib.parse import quote, unquote, unquote_to_bytes, urldefrag, urljoin, urlsplit

from ..pull.fetching import Limits, Redirected, fetched
from ..pull.places import checked_place
from .decoding import MOST_BYTES, Unusable

SECONDS_PER_REQUEST = 20.0
SECONDS_WITH_RETRIES = 60.0
MOST_REQUESTS = 4  # for one picture, each to a checked host: all but the first follow a redirect
HEADERS = {"Accept": "image/avif,image/webp,image/*", "User-Agent": "Idealist"}
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


def is_address(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def is_inside(source: str) -> bool:
    """Whether the source is a data: address, which holds the picture itself."""
    return source[:5].lower() == "data:"


def host_of(source: str) -> str:
    try:
        return urlsplit(source).hostname or ""
    except ValueError:
        return ""


def from_web(source: str, allowed: Sequence[str]) -> bytes:
    """The bytes at an address, after redirects. All hosts on the way must be listed. Raises ValueError."""
    url = source
    for _ in range(MOST_REQUESTS):
        try:
            return _at(url, allowed)
        except Redirected as redirect:
            url = urljoin(url, redirect.location)
    raise ValueError(f"it is redirected {MOST_REQUESTS} times, at last to {url!r:.200}")


def _at(url: str, allowed: Sequence[str]) -> bytes:
    place = checked_place(quote(urldefrag(url).url, safe="%/:=&?~+!$,;'@()*[]"), allowed)
    target = f"{place.path}?{place.query}" if place.query else place.path
    limits = Limits(seconds=SECONDS_PER_REQUEST, bytes=MOST_BYTES, total_seconds=SECONDS_WITH_RETRIES)
    return fetched(place, "GET", target, None, HEADERS, limits)


def from_inside(source: str) -> bytes:
    """The bytes of a data: address. Raises ValueError."""
    head, comma, content = source.partition(",")
    if not comma:
        raise Unusable("the data: address has no comma")
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(content)
    try:
        return base64.b64decode(unquote_to_bytes(content), validate=True)
    except binascii.Error as error:
        raise Unusable("the data: address is not base64") from error


class Zipped:
    """The files of open ZIPs, by the sources of pictures that name them.

    The path of a file is the source; that of an address is the address without https://. The file of a source
    without a folder may be in any folder if its name is unique. Where no path is exactly so, escapes such as %20
    and the form of accents make no difference: wget decodes escapes, and Macs part accents from letters.

    Where no file is named so, a file is `near` the source: the only file that has the last name of the source, or
    else the only one whose name is the id of the document.
    """

    def __init__(self, zips: Iterable[zipfile.ZipFile]) -> None:
        self.entries: dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]] = {}  # by path
        for zip in zips:
            for entry in zip.infolist():
                if not entry.is_dir():
                    self.entries[entry.filename.removeprefix("./")] = (zip, entry)
        # The keys of both are `_comparable`: without escapes such as %20, and with accents in one form.
        self.paths_by_name: dict[str, list[str]] = defaultdict(list)  # by the path, and by its last name
        self.paths_by_stem: dict[str, list[str]] = defaultdict(list)  # by its last name without the ending
        for path in self.entries:
            for name in {_comparable(path), _comparable(path.rpartition("/")[2])}:
                self.paths_by_name[name].append(path)
            self.paths_by_stem[_comparable(PurePosixPath(path).stem)].append(path)

    def fits(self, source: str, key: str) -> list[str]:
        """The paths of the files that fit a source that the document `key` names, or else the one near it."""
        return self.paths(source) or self.near(source, key)

    def near(self, source: str, key: str) -> list[str]:
        """The path of the file near the source; [] if there is none or are several."""
        if is_inside(source):
            return []
        last_name = PurePosixPath(urlsplit(source).path if is_address(source) else source).name
        with_last_name = self.paths_by_name.get(_comparable(last_name), [])
        with_key = self.paths_by_stem.get(_comparable(key), []) if key else []
        for paths in (with_last_name, with_key):
            if len(paths) == 1:
                return paths
        return []

    def paths(self, source: str) -> list[str]:
        """The paths of the files that the source names: one if it is clear."""
        path = source.partition("://")[2] if is_address(source) else source.removeprefix("./").lstrip("/")
        if path in self.entries:
            return [path]
        return self.paths_by_name.get(_comparable(path), [])

    def uses_of(self, named: Iterable[tuple[str, str]]) -> Counter[str]:
        """Path of a file -> how many of the sources it fits. named: each source, and the key of its document."""
        return Counter(path for source, key in named for path in self.fits(source, key))

    def content(self, source: str, key: str, uses: Counter[str]) -> bytes | None:
        """The bytes of the file; None if there is none. `uses`: those of `uses_of`. Raises Unusable.

        A file near the source is only taken if it fits nothing else: it could show the wrong picture.
        """
        paths = self.paths(source) or [path for path in self.near(source, key) if uses[path] == 1]
        if len(paths) > 1:
            quoted_paths = " and ".join(f"{path!r:.80}" for path in paths[:2])
            problem = f"Several files of this name were sent, such as {quoted_paths}"
            raise Unusable(f"{problem}. Send a ZIP that has one of them")
        return _unpacked(*self.entries[paths[0]]) if paths else None


def _comparable(path: str) -> str:
    return normalize("NFC", unquote(path))


@contextmanager
def zipped(files: Iterable[tuple[str, Path | BinaryIO]]) -> Iterator[Zipped]:
    """The files of these ZIPs. Raises ValueError for a file that is not a ZIP."""
    with ExitStack() as stack:
        zips = []
        for name, file in files:
            try:
                zips.append(stack.enter_context(zipfile.ZipFile(file)))
            except DAMAGED as error:
                raise ValueError(f"{name} is not a complete ZIP ({error}). Send the pictures as a ZIP") from error
        yield Zipped(zips)


def _unpacked(zip: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of a file. No more than MOST_BYTES are unpacked, whatever the ZIP says. Raises Unusable."""
    try:
        with zip.open(entry) as file:
            content = file.read(MOST_BYTES + 1)
    except DAMAGED as error:
        raise Unusable(f"its file in the ZIP is damaged ({error})") from error
    if len(content) > MOST_BYTES:
        raise Unusable(f"it has more than {MOST_BYTES / 1e6:g} MB")
    return content
