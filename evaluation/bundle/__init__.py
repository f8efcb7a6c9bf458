"""A frozen evaluation as one ZIP to cite: what it was computed from, the numbers, charts, and how to say it."""

from .archive import bundle, file_name
from .check import Checked, check
from .comparisons import comparisons

__all__ = ["Checked", "bundle", "check", "comparisons", "file_name"]
