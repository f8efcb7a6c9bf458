"""A test over many nights of the same queries, with a stated chance of a false alarm. NumPy only.

Nights are no independent observations: the same queries come every night, and what a change did to a query stays
until the next change. If the search is as good as its baseline, the differences of a query in night 1, 2, ... are
as likely as the same differences with the other sign. So one random sign for each query, the same in all nights,
gives the joint distribution of the statistics of all nights, whatever their correlation.

path       the nights that are tested together: they are compared with the same baseline in the same way
flip       one set of random signs, one for each query. Flip 0 changes nothing: it is what was observed
statistic  of a flip in a night, how much the search would have lost with these signs
crossed    a flip has crossed once its statistic was above the threshold in some night of the path. If flip 0
           crosses, that is an alarm
spent      of the budget, which is the chance of a false alarm: the share of the flips that have crossed

The threshold of each night lets as many flips cross as the budget allows so far. This makes the chance of a false
alarm exact, as in a group-sequential permutation test with an alpha-spending function (Lan, DeMets, Discrete
sequential boundaries for clinical trials, Biometrika 70, 1983).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

FLIPS = 20_000  # with fewer, the budget of one night would be less than one flip
FLIPS_AT_ONCE = 2_000  # flips whose signs are in memory together; a multiple of 8
DAYS_A_YEAR = 365.0
LEAST_VARIANCE = 1e-6  # relative to the mean square: a smaller one is a rounding error, of equal differences
SMALLEST_VARIANCE = 1e-30  # in place of 0 where all differences are 0
# With a skewness above this, few queries gain much and many lose a little. With fewer queries than these, an alarm
# is then false more often: in most samples the few that gain are missing, so that they are less skewed than the
# truth.
SKEWED_ABOVE, ENOUGH_QUERIES = 0.5, 100


@dataclass(frozen=True, eq=False)
class Look:
    """What one night added to a path of nights. The module docstring defines the terms."""

    crossed: np.ndarray  # bool[flips]: whether each has crossed so far. Flip 0, the observed signs, is the alarm
    threshold: float  # of the statistic tonight; inf where the budget let no flip cross
    drop: float  # the statistic of flip 0, which is what was observed: above 0 where the search lost
    p: float  # the share of the flips that crossed in an earlier night, or whose statistic is at least `drop`

    @property
    def is_alarm(self) -> bool:
        return bool(self.crossed[0])

    @property
    def spent(self) -> float:
        """The part of the budget that is spent: the share of flips that have crossed."""
        return float(self.crossed.mean())

    def without_alarm(self) -> "Look":
        """The same look after its alarm was not confirmed. The budget stays spent."""
        crossed = self.crossed.copy()
        crossed[0] = False
        return Look(crossed, self.threshold, self.drop, self.p)


def budget(alpha: float, days: float) -> float:
    """The chance of a false alarm that may be spent in so many days since a watch began: alpha accrues a year."""
    return alpha * days / DAYS_A_YEAR


def look(readings: Sequence[np.ndarray], signs: "Signs", crossed: np.ndarray | None, may_spend: float) -> Look:
    """The look of a night: which flips have crossed, the threshold, the observed statistic, and its p value.

    readings: the differences to the baseline plus the margin, float64[queries] without nan each. There is one for
    each way to read documents that nobody judged, and an alarm has to hold in all of them. signs: of these
    queries, by the same seed in all nights. A flip is one set of signs, and flip 0 changes none: it is what was
    observed. crossed: bool[flips], of the look of the night before; None in the first night. may_spend: the share
    of the flips that may have crossed after this night, a part of the budget.
    """
    crossed_before = np.zeros(signs.flips, bool) if crossed is None else crossed
    drops = drops_of(readings, signs)  # the statistic of each flip: the least one of all readings
    observed_drop = drops[0]
    largest_first = np.sort(drops[~crossed_before])[::-1]
    may_cross = int(may_spend * signs.flips) - int(crossed_before.sum())  # how many flips, tonight
    # The threshold is the statistic behind the `may_cross` largest ones. Only those strictly above it cross, which
    # are at most so many. It is inf where none may cross, and -inf where all may.
    threshold = np.inf
    if may_cross > 0:
        threshold = largest_first[may_cross] if may_cross < len(largest_first) else -np.inf
    crosses_now = drops > threshold  # flips that crossed before may be among them: they stay crossed in any case
    # What was observed is no alarm unless the search lost more than the margin.
    crosses_now[0] &= all(reading.mean() < 0 for reading in readings)
    # Flips that crossed on an earlier night count as at least as extreme as what was observed.
    p = float((crossed_before | (drops >= observed_drop)).mean())
    return Look(crossed_before | crosses_now, float(threshold), float(observed_drop), p)


def drop_of(readings: Sequence[np.ndarray]) -> float:
    """The statistic of what was observed in these readings: see `look`."""
    return float(min(_hall(*_moments(each), np.ones((1, len(each)), np.float32))[0] for each in readings))


def skewness(difference: np.ndarray) -> float:
    """The skewness of these differences; 0 where there is none, or all are equal."""
    if not len(difference):
        return 0.0
    deviation = difference - difference.mean()
    variance = float(np.mean(deviation**2))
    varies = variance > LEAST_VARIANCE * float(np.mean(difference**2))
    return float(np.mean(deviation**3) / variance**1.5) if varies else 0.0


def is_skewed(difference: np.ndarray) -> bool:
    """Whether so few queries with so skewed differences give more false alarms than the budget says.

    Few large losses give fewer.
    """
    return len(difference) < ENOUGH_QUERIES and skewness(difference) > SKEWED_ABOVE


@dataclass(frozen=True, eq=False)
class Signs:
    """The random signs of flips by query. A query has the same signs whichever other queries there are."""

    seed: Sequence[int]  # decides the signs, with the keys; the same in all nights
    keys: Sequence[int]  # of the queries, such as their numbers in the database
    flips: int = FLIPS

    @cached_property
    def _bits(self) -> np.ndarray:
        """uint8[queries, flips / 8]"""
        size = -(-self.flips // 8)
        rows = [np.frombuffer(np.random.default_rng([*self.seed, key]).bytes(size), np.uint8) for key in self.keys]
        return np.array(rows, np.uint8).reshape(len(self.keys), size)

    def part(self, start: int) -> np.ndarray:
        """The signs of up to FLIPS_AT_ONCE flips from `start` on, float32[flips, queries] of 1 and -1."""
        end = min(start + FLIPS_AT_ONCE, self.flips)
        bits = np.unpackbits(self._bits[:, start // 8 : -(-end // 8)], axis=1)[:, : end - start]
        signs = np.ascontiguousarray(bits.T, np.float32) * 2 - 1
        if start == 0:
            signs[0] = 1  # what was observed
        return signs


def drops_of(readings: Sequence[np.ndarray], signs: Signs) -> np.ndarray:
    """The statistic of each flip, float64[flips]: the least over the readings."""
    all_moments = [_moments(reading) for reading in readings]
    parts = []
    for start in range(0, signs.flips, FLIPS_AT_ONCE):
        some_signs = signs.part(start)
        drops = [_hall(*moments, some_signs) for moments in all_moments]
        parts.append(np.min(drops, axis=0))
    return np.concatenate(parts)


def _moments(difference: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The differences and their cubes, float32[queries] each, and the mean square, which no sign changes."""
    return (
        difference.astype(np.float32),
        (difference**3).astype(np.float32),
        float(np.mean(difference**2)) if len(difference) else 0.0,
    )


def _hall(values: np.ndarray, cubes: np.ndarray, square: float, signs: np.ndarray) -> np.ndarray:
    """The statistic of each flip, float64[flips]: minus Hall's transformed t, so that it is large for a loss.

    It is -(t + s t²/3 + s² t³/27 + s/6), where s is the skewness divided by the root of the number of queries.

    values, cubes: float32[queries], the differences and their cubes; square: their mean square. signs:
    float32[flips, queries], of 1 and -1. There are two queries or more.

    Without the terms of skewness, few large gains beside many small losses would alarm too often. Johnson's t has
    no cubic term, and so does not rise with t everywhere: a single query that loses a little, among many that lose
    nothing, would be an alarm. (Hall, On the removal of skewness by transformation, JRSS B 54, 1992.)
    """
    n = len(values)
    mean = (signs @ values).astype(np.float64) / n  # of the flipped differences, [flips], like all that follows
    variance = square - mean**2
    # The third central moment, from the mean, the mean square and the mean cube.
    third = (signs @ cubes).astype(np.float64) / n - 3 * mean * square + 2 * mean**3
    least = max(LEAST_VARIANCE * square, SMALLEST_VARIANCE)
    third[variance <= least] = 0  # with these signs all differences are equal, up to rounding errors
    variance = np.maximum(variance, least)
    skew = third / variance**1.5 / np.sqrt(n)
    t = mean / np.sqrt(variance / (n - 1))
    return -(t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6)
