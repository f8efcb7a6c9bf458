"""Standings: the mean of a system with its interval, bounds and judged share."""

from dataclasses import dataclass

from ratings.models import System

NUMBERS = ("mean", "low", "high", "judged", "lowest", "highest", "weighted", "total")  # columns of a summary


@dataclass(frozen=True)
class Standing:
    """A row of the summary for one system. None = no value."""

    system: System
    measure: str
    mean: float | None
    low: float | None
    high: float | None
    queries: int  # how many count
    undefined: int
    why: str
    judged: float | None  # mean Judged@k
    lowest: float | None = None  # the bounds of the mean
    highest: float | None = None
    weighted: float | None = None  # by query weight
    total: float | None = None  # of a count
