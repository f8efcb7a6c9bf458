"""Which differences between systems are more than chance. NumPy and SciPy only: no database, no Django."""

from .bootstrap import SEED, bootstrap_interval
from .many import holm, tukey_hsd
from .pairs import (
    ALPHA,
    CANNOT_TELL,
    CORRECTIONS,
    DRAWS,
    FEWEST,
    HIGHER,
    LOWER,
    Comparison,
    Comparisons,
    common_queries,
    compare,
)
from .power import POWER

__all__ = [
    "ALPHA",
    "CANNOT_TELL",
    "CORRECTIONS",
    "DRAWS",
    "FEWEST",
    "HIGHER",
    "LOWER",
    "POWER",
    "SEED",
    "Comparison",
    "Comparisons",
    "bootstrap_interval",
    "common_queries",
    "compare",
    "holm",
    "tukey_hsd",
]
