"""A frozen evaluation as one ZIP to cite: what it was computed from, the numbers, charts, and how to say it."""

from .archive import bundle, file_name
from .check import Checked, check

__all__ = ["Checked", "bundle", "check", "file_name"]
