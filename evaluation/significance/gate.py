"""Whether a release is worse than an anchor by more than a margin: three verdicts from one-sided t limits.

A paired test of non-inferiority and its mirror image, each at the level alpha. SciPy. (Schuirmann, A comparison of
the two one-sided tests procedure and the power approach, 1987.)
"""

from dataclasses import dataclass

import numpy as np

from . import paired, power
from .pairs import FEWEST
from .sampled import Sampled, mean_of_searches, pseudo_values

WORSE, NOT_WORSE, UNDECIDED = GATE_VERDICTS = ("worse", "not worse", "cannot tell")


@dataclass(frozen=True)
class Limits:
    """A mean difference with its one-sided limits, each at the level alpha. None: there is none."""

    difference: float | None
    low: float | None
    high: float | None
    queries: int
    verdict: str  # of GATE_VERDICTS
    needed: int | None = None  # about how many queries would decide, if the difference stays


def limits(difference: np.ndarray, margin: float, alpha: float, sampled: Sampled | None = None) -> Limits:
    """The verdict on these differences, float64[queries] without nan, a release minus its anchor.

    Worse: the difference lies below -margin; not worse: above it. Where no query differs, a release is not worse,
    however few queries there are, unless a stratum of a log has none; else a verdict takes FEWEST of them.

    sampled: what these queries stand for, where they were drawn from a log. The difference is then that over all
    searches, and a verdict takes FEWEST drawn queries, or none where every query was taken for certain. Queries
    outside the sample decide nothing. ValueError for a margin below 0, and for a level that is no chance.
    """
    if not margin >= 0:
        raise ValueError(f"the margin must be 0 or more, not {margin:g}.")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must be above 0 and below 0.5, not {alpha:g}.")
    n = len(difference)
    column = difference[:, np.newaxis]
    if not n or (sampled is not None and not sampled.searches.any()):
        return Limits(None, None, None, n, UNDECIDED)
    mean = float((paired.mean(column) if sampled is None else mean_of_searches(column, sampled))[0])
    if sampled is not None and sampled.left_out:  # a whole stratum has no value, and may differ by anything
        return Limits(mean, None, None, n, UNDECIDED)
    if not difference.any():
        return Limits(0.0, 0.0, 0.0, n, NOT_WORSE)
    # A row for each query with sampling error: not for those that were taken for certain from the log.
    rows = column if sampled is None else pseudo_values(column, sampled)
    if not len(rows):  # the difference has no sampling error
        return Limits(mean, mean, mean, n, WORSE if mean < -margin else NOT_WORSE)
    if len(rows) < FEWEST:
        return Limits(mean, None, None, n, UNDECIDED, needed=n - len(rows) + FEWEST)
    degrees = None if sampled is None else sampled.degrees
    half = float(paired.t_margin(rows, 1 - 2 * alpha, degrees)[0])
    low, high = mean - half, mean + half
    verdict = WORSE if high < -margin else NOT_WORSE if low > -margin else UNDECIDED
    if verdict != UNDECIDED:
        return Limits(mean, low, high, n, verdict)
    # One-sided at alpha is two-sided at twice alpha. Where all queries lose just the margin, no number decides.
    spread = float(paired.deviation(rows)[0])
    needed_rows = power.queries_needed((mean + margin) / spread, 2 * alpha) if spread else None
    not_tested = n - len(rows)
    needed = None if needed_rows is None else not_tested + needed_rows
    return Limits(mean, low, high, n, verdict, needed=needed)


def agreed(verdicts: list[str]) -> str:
    """The verdict that holds in every reading of the unjudged documents; else there is none."""
    return verdicts[0] if len(set(verdicts)) == 1 else UNDECIDED


def overall(verdicts: list[str]) -> str:
    """The verdict against several anchors: worse than one is worse, not worse than all is not worse."""
    if WORSE in verdicts:
        return WORSE
    return NOT_WORSE if all(verdict == NOT_WORSE for verdict in verdicts) else UNDECIDED
