"""Archives: a whole collection as one file, and back. The file is the same on every server and database."""

from .copying import copy
from .reading import Unreadable, opened, unpacked
from .restoring import restore, wrong_slug
from .writing import file_name, write

__all__ = ["Unreadable", "copy", "file_name", "opened", "restore", "unpacked", "write", "wrong_slug"]
