"""How far raters agree, what tells them apart, and whether it matters for systems. No database, no Django."""

from .drift import FEWEST, Course, Period, courses
from .kappa import cohen, confusion, fleiss, percent
from .krippendorff import DRAWS as ALPHA_DRAWS
from .krippendorff import KINDS, alpha, alpha_interval
from .order import DRAWS, FEWEST_FOR_TAU, Stability, stability
from .raters import disputed, each_rater
from .table import Table, table

__all__ = [
    "ALPHA_DRAWS",
    "DRAWS",
    "FEWEST",
    "FEWEST_FOR_TAU",
    "KINDS",
    "Course",
    "Period",
    "Stability",
    "Table",
    "alpha",
    "alpha_interval",
    "cohen",
    "confusion",
    "courses",
    "disputed",
    "each_rater",
    "fleiss",
    "percent",
    "stability",
    "table",
]
