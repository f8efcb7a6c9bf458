"""Reproducible ZIPs: the same files in the same order give the same bytes, on any machine at any time."""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping

FILE_TIME = (1980, 1, 1, 0, 0, 0)  # the time of all files


class FixedZip:
    """A ZIP that is written as a stream.

    `sums` has the SHA-256 of each file by its name, `counts` the number of the parts it was written in.
    """

    def __init__(self) -> None:
        self.sums: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self._out = _Out()
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, parts: Iterable[bytes], *, large: bool = False) -> Iterator[bytes]:
        """The bytes that one more file adds to the ZIP, in pieces. Sets `sums` and `counts` of its name.

        `parts`: the content of the file, such as one line each. `large`: it may have 2 GB or more (ZIP64).
        """
        digest = hashlib.sha256()
        self.counts[name] = 0
        entry = zipfile.ZipInfo(name, FILE_TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system, entry.external_attr = 3, 0o644 << 16  # Unix, rw-r--r--: else by platform
        with self._zip.open(entry, "w", force_zip64=large) as file:
            for part in parts:
                digest.update(part)
                file.write(part)
                self.counts[name] += 1
                yield self._out.drain()  # what the ZIP has written since the last time, which may be nothing
        self.sums[name] = digest.hexdigest()
        yield self._out.drain()

    def members(self) -> list[dict]:
        """The files so far, for a manifest. `lines` are the parts that each had."""
        return [{"file": name, "lines": self.counts[name], "sha256": digest} for name, digest in self.sums.items()]

    def end(self) -> bytes:
        """The last bytes: the list of the files, without which no program opens the ZIP."""
        self._zip.close()
        return self._out.drain()


def sums_as_text(sums: Mapping[str, str]) -> str:
    """The sums as `sha256sum` prints and checks them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


class _Out:
    """A buffer of written bytes. It has no close(), because zipfile also writes when it is garbage-collected."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def flush(self) -> None:
        pass

    def write(self, data) -> int:
        self.waiting.append(bytes(data))
        return len(data)

    def drain(self) -> bytes:
        data, self.waiting = b"".join(self.waiting), []
        return data
