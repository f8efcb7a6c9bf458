"""The periodic chores of a worker, beside its jobs. Apps add theirs when they are loaded."""

from collections.abc import Callable
from typing import NamedTuple


class Chore(NamedTuple):
    do: Callable[[], object]  # several workers may run it at once, and it may be cut off at any moment
    every: float  # seconds between two runs


of_apps: list[Chore] = []
