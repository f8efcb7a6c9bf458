"""A frozen evaluation as one ZIP to cite: its inputs, numbers, charts, and texts for a paper."""

from .archive import bundle, file_name
from .check import check
from .comparisons import comparisons
