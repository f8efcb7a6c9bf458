"""Files in a folder of the data folder. Another storage of uploads must have `stream` and `entries`, too."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.conf import settings
from django.core.files.storage import FileSystemStorage


class Entry(NamedTuple):
    """A file in a storage."""

    name: str
    size: int
    changed_at: float  # as time.time()


class Folder(FileSystemStorage):
    def __init__(self, name: str) -> None:
        super().__init__(file_permissions_mode=0o600, directory_permissions_mode=0o700)
        self.name = name

    @property
    def base_location(self) -> Path:
        return settings.DATA_DIR / self.name

    @property
    def location(self) -> str:
        return str(self.base_location)

    def stream(self, name: str) -> BinaryIO:
        """The bytes, to be read once."""
        return self.open(name).file

    def entries(self) -> Iterator[Entry]:
        """The files. Other processes may remove one at any moment."""
        for path in self.base_location.iterdir() if self.base_location.is_dir() else ():
            try:
                about = path.stat()
            except FileNotFoundError:
                continue
            yield Entry(path.name, about.st_size, about.st_mtime)
