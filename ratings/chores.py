"""What a worker does again and again beside imports. Apps add theirs when they are loaded."""

from collections.abc import Callable
from typing import NamedTuple


class Chore(NamedTuple):
    do: Callable[[], object]  # may be done by several workers at once, and may be broken off at any moment
    every: float  # seconds between two times


of_apps: list[Chore] = []
