"""A ZIP of fixed bytes: the same files in the same order give the same bytes, wherever and whenever it is made."""

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping

# No clock has a part in the bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


class FixedZip:
    """Written as it is read, some of it at a time. `sums` has the SHA-256 of each file that is in it."""

    def __init__(self) -> None:
        self.sums: dict[str, str] = {}
        self._out = _Out()
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, parts: Iterable[bytes], *, large: bool = False) -> Iterator[bytes]:
        """What a further file adds to the ZIP. `large`: it may have 2 GB and more, and needs the long form."""
        digest = hashlib.sha256()
        with self._zip.open(_entry(name), "w", force_zip64=large) as entry:
            for part in parts:
                digest.update(part)
                entry.write(part)
                yield self._out.taken()
        self.sums[name] = digest.hexdigest()
        yield self._out.taken()

    def end(self) -> bytes:
        """The list of the files. Without it no reader takes the ZIP for a whole one."""
        self._zip.close()
        return self._out.taken()


def sums_as_text(sums: Mapping[str, str]) -> str:
    """As `sha256sum` prints and checks them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # or it depends on where it was made
    return entry


class _Out(io.RawIOBase):
    """Takes what is written and gives it on."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.waiting.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        data, self.waiting = b"".join(self.waiting), []
        return data
