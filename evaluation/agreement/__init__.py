"""Agreement of raters, bias and drift of each, and stability of the order of systems. No database, no Django."""

from .drift import FEWEST_GRADES, Course, Period, courses
from .kappa import cohen, confusion, fleiss, percent
from .krippendorff import KINDS, alpha, alpha_interval
from .order import FEWEST_FOR_TAU, Stability, stability, worlds
from .raters import disputed, each_rater
from .table import Table, table
