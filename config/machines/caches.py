"""The cache of all processes: Django's, exact where two ask at once, and true where nothing can be written."""

import os
import tempfile

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.filebased import FileBasedCache
from django.db import connection


class Files(FileBasedCache):
    """Beside SQLite: files in the data folder, which no import locks."""

    def add(self, key, value, timeout=DEFAULT_TIMEOUT, version=None) -> bool:
        """Whether there was no such key, and there is now. Django's would let two who ask at once both have it."""
        if self.has_key(key, version):  # this also deletes an expired one
            return False
        self._createdir()
        self._cull()
        handle, path = tempfile.mkstemp(dir=self._dir)
        try:
            with open(handle, "wb") as file:  # under another name first, so that nobody reads a part of it
                self._write_content(file, timeout, value)
            os.link(path, self._key_to_file(key, version))  # fails for the second of two who write at once
            return True
        except FileExistsError:
            return False
        finally:
            os.remove(path)


class Table(DatabaseCache):
    """Beside PostgreSQL."""

    def add(self, key, value, timeout=DEFAULT_TIMEOUT, version=None) -> bool:
        """Whether there was no such key, and there is now. Raises DatabaseError, which Django's hides."""
        added = super().add(key, value, timeout, version)
        if not added and self.get(key, version=version) is None:  # it was deleted just now, or cannot be written
            with connection.cursor() as cursor:  # deletes nothing, and raises what kept Django from writing
                cursor.execute(f"DELETE FROM {self._table} WHERE cache_key = ''")
        return added
