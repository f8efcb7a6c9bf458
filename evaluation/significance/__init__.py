"""Confidence intervals and significance tests of differences between systems. NumPy and SciPy only, no Django."""

from .bootstrap import bootstrap_interval
from .many import holm, tukey_hsd
from .pairs import (
    ALL_THE_SAME,
    ALPHA,
    CANNOT_TELL,
    FEWEST,
    HIGHER,
    LOWER,
    NONE_DIFFERS,
    TWO_SYSTEMS,
    Comparison,
    Comparisons,
    common_queries,
    compare,
)
from .power import POWER
