"""The orders by rounds: which documents to judge next, and what is expected of the systems meanwhile.

`state` makes the arrays of `expected` from the record; `drawing` draws rounds, in the worker; `report` tells how
the systems stand.
"""

from .aims import Aim, systems_of
from .drawing import ORDERS, draw_due, draw_next
from .report import Difference, Expected, Mean, expected_of, not_expected, with_expected
from .state import State

__all__ = [
    "ORDERS",
    "Aim",
    "Difference",
    "Expected",
    "Mean",
    "State",
    "draw_due",
    "draw_next",
    "expected_of",
    "not_expected",
    "systems_of",
    "with_expected",
]
