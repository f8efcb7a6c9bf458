"""The orders by rounds: which documents to judge next, and the expected values meanwhile.

`state` makes the arrays of `expected` from the record, `drawing` draws rounds in the worker, and `report` has the
expected values of the systems.
"""

from .aims import aim_of, stored, systems_of
from .drawing import ORDERS, draw_due, draw_next
from .report import (
    Difference,
    Expected,
    Mean,
    expected_of,
    highest_expected,
    not_expected,
    with_expected,
)
from .state import State

__all__ = [
    "ORDERS",
    "Difference",
    "Expected",
    "Mean",
    "State",
    "aim_of",
    "draw_due",
    "draw_next",
    "expected_of",
    "highest_expected",
    "not_expected",
    "stored",
    "systems_of",
    "with_expected",
]
