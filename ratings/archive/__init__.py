"""A whole collection as one file, and a collection made of one: the same on every server and database."""

from .reading import opened
from .restoring import restore
from .writing import file_name, write

__all__ = ["file_name", "opened", "restore", "write"]
