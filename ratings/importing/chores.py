"""What a worker does beside imports: chores, and jobs of other kinds. Apps add theirs when they are loaded."""

from collections.abc import Callable
from typing import NamedTuple


class Chore(NamedTuple):
    do: Callable[[], object]  # several workers may run it at once, and it may be cut off at any moment
    every: float  # seconds between two runs


of_apps: list[Chore] = []
of_jobs: dict[str, Callable] = {}  # kind → what does such a job and reports it, from the job and its progress
