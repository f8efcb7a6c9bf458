"""Intervals and significance tests of differences between systems. NumPy and SciPy only, no Django."""

from .bootstrap import bootstrap_interval
from .many import holm, tukey_hsd
from .pairs import (
    ALPHA,
    CANNOT_TELL,
    CORRECTIONS,
    FEWEST,
    HIGHER,
    LOWER,
    Comparison,
    Comparisons,
    common_queries,
    compare,
)
from .power import POWER
