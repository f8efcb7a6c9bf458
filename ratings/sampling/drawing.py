"""Draws of queries from a log with known chances, as pure functions of counts. NumPy and SciPy only, no Django.

The design: queries so frequent that they would be drawn more than once are taken for certain. The others are drawn
systematically: all queries lie on a line, about the most frequent first, each as long as its chance. Points at a
distance of 1 from a random start hit those that are drawn. So exactly as many are drawn as the chances add up to.
Neighbours on the line change places at random. Without that the only chance is in the start, and for some logs the
intervals of means hold .92 of the time in place of .95.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SPREAD = 0.3  # the standard deviation of nDCG over queries that is usual; a score between 0 and 1 has at most 0.5
LEVEL = 0.95
WIDEST = 0.5  # half of all that a score can be: nothing is known
STARTS = 1 << 30  # from which a start is chosen
MIXED = 3.0  # how far a query may move on the line, in points
THIRDS = ("head", "torso", "tail")


@dataclass(frozen=True)
class Stratum:
    """The queries of a log, or of a part of it, the most frequent first: how many of them have each count.

    So its size does not grow with the log. A query is meant by its place in this order, from 0.
    """

    name: str
    counts: np.ndarray  # of searches, falling; a count may stand twice
    queries: np.ndarray  # how many queries have that count

    @property
    def size(self) -> int:
        return int(self.queries.sum())

    @property
    def searches(self) -> int:
        return int((self.counts * self.queries).sum())


def stratum_of(counts: Iterable[int], name: str = "") -> Stratum:
    """The stratum of queries with these counts, in any order."""
    values, queries = np.unique(np.fromiter(counts, np.int64), return_counts=True)
    return Stratum(name, values[::-1], queries[::-1])


def thirds(log: Stratum) -> list[Stratum]:
    """The log in three strata: the most frequent queries with a third of the searches, the next ones, the rest.

    A stratum without queries is left out.
    """
    ends = np.cumsum(log.counts * log.queries)
    # The place of the first query with which the searches so far reach one third, and two thirds.
    bounds = [0]
    for share in (1 / 3, 2 / 3):
        run = int(np.searchsorted(ends, share * log.searches))
        left = share * log.searches - (ends[run - 1] if run else 0)
        place = int(log.queries[:run].sum() + np.ceil(left / log.counts[run]))
        bounds.append(max(place, bounds[-1]))
    bounds.append(log.size)
    cuts = zip(THIRDS, bounds, bounds[1:], strict=False)
    return [_between(log, name, first, last) for name, first, last in cuts if last > first]


def _between(log: Stratum, name: str, first: int, last: int) -> Stratum:
    """The queries from place `first` until before `last`."""
    ends = np.cumsum(log.queries)
    kept = np.minimum(ends, last) - np.maximum(ends - log.queries, first)
    return Stratum(name, log.counts[kept > 0], kept[kept > 0])


def chances(stratum: Stratum, size: int, *, even: bool = False) -> np.ndarray:
    """The chance of a query of each count, if `size` queries of the stratum are drawn. They add up to `size`.

    By default a chance is proportional to the count: 1 for each query that would be drawn once or more often. What
    they leave is shared out anew, until no further query would be. `even`: all chances are equal.
    """
    if size >= stratum.size:
        return np.ones(len(stratum.counts))
    if even:
        return np.full(len(stratum.counts), size / stratum.size)
    head = 0  # the first so many counts are certain
    while True:
        places = size - int(stratum.queries[:head].sum())
        searches = (stratum.counts[head:] * stratum.queries[head:]).sum()
        shares = places * stratum.counts[head:] / searches
        certain = int(np.searchsorted(-shares, -1, side="right"))  # those of at least 1
        if not certain:
            return np.concatenate([np.ones(head), shares])
        head += certain


def mixed(stratum: Stratum, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An order of the counts on the line: falling, but each moves up to MIXED points. int64[counts]"""
    lengths = chance * stratum.queries
    return np.argsort(np.cumsum(lengths) - lengths / 2 + rng.uniform(-MIXED, MIXED, len(lengths)), kind="stable")


def drawn(stratum: Stratum, chance: np.ndarray, start: float, order: np.ndarray | None = None) -> np.ndarray:
    """The places that are drawn with this chance for each count, sorted.

    start: random, from 0 until below 1; order: as from `mixed`; None: the counts fall.
    """
    return _hit(stratum.queries, chance, start, order)


def drawn_more(
    stratum: Stratum,
    before: np.ndarray,
    former: np.ndarray,
    chance: np.ndarray,
    start: float,
    order: np.ndarray | None = None,
) -> np.ndarray:
    """The places that are drawn in addition to those `before`, which had the chance `former`, sorted.

    A query that was not drawn then is drawn now with (chance - former) / (1 - former). So each has just `chance`
    to be among the old and the new ones together. There are about as many as were asked for: the number depends on
    which queries were drawn before, and differs by one or two.
    """
    ends = np.cumsum(stratum.queries)
    before = np.sort(before)
    of_run = np.searchsorted(ends, before, side="right")
    left = stratum.queries - np.bincount(of_run, minlength=len(ends))
    missing = np.where(former < 1, (chance - former) / np.where(former < 1, 1 - former, 1), 0)
    among_left = _hit(left, np.clip(missing, 0, 1), start, order)
    # The k-th query that was not drawn before stands behind all drawn ones that have at most k such before them.
    return among_left + np.searchsorted(before - np.arange(len(before)), among_left, side="right")


def _hit(queries: np.ndarray, chance: np.ndarray, start: float, order: np.ndarray | None = None) -> np.ndarray:
    """The places of the queries, from 0, that are hit by points at start, start + 1, …, sorted.

    order: of the counts on the line; None: as they are.
    """
    firsts = np.cumsum(queries) - queries
    if order is not None:
        queries, chance, firsts = queries[order], chance[order], firsts[order]
    ends = np.cumsum(chance * queries)
    total = ends[-1] if len(ends) else 0.0
    whole = np.rint(total)
    total = whole if abs(total - whole) < 1e-6 else total  # a sum of millions is not exact
    # A start with few digits, so that adding whole numbers to it loses none and it never reaches 1.
    start = (np.floor(start * STARTS) + 0.5) / STARTS
    points = start + np.arange(int(np.ceil(total - start)))
    run = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
    begins = ends - chance * queries
    within = ((points - begins[run]) / chance[run]).astype(np.int64)
    return np.sort(firsts[run] + np.clip(within, 0, queries[run] - 1))


def shared_out(places: int, shares: Sequence[float], room: Sequence[int]) -> list[int]:
    """How many of the places each stratum gets: by its share, whole numbers, and no more than its room.

    What a full stratum leaves goes to the others.
    """
    given = np.zeros(len(shares), np.int64)
    limits, weights = np.array(room), np.array(shares, float)
    left = min(places, int(limits[weights > 0].sum()))
    while left:
        open_ones = (weights > 0) & (given < limits)
        exact = left * np.where(open_ones, weights, 0) / weights[open_ones].sum()
        more = np.minimum(np.floor(exact), limits - given).astype(np.int64)
        if not more.any():  # one by one, the largest remainder first
            first = int(np.argmax(np.where(open_ones, exact, -1)))
            more[first] = 1
        given += more
        left -= int(more.sum())
    return given.tolist()


class Outlook(NamedTuple):
    """What can be said of a sample before any query is rated."""

    size: int
    certain: int  # queries that are taken for certain
    certain_share: float  # of the searches that those are
    searches_each: float  # for how many searches each of the others stands, on average; 0 without others
    margin: float  # the likely half width of the 95 % interval of a mean over the searches; nan with one other


def outlook(parts: Sequence[tuple[Stratum, np.ndarray]]) -> Outlook:
    """What a sample of these strata, with the chance of each count, will tell of a mean over all searches.

    Scores are taken to spread by SPREAD, whatever the counts of the queries. The variance of the mean is that of
    independent draws: the sum of count² / chance over all queries that are not certain, times SPREAD², divided by
    the square of all searches.
    """
    from scipy.special import stdtrit  # imported late: it takes a fifth of a second

    parts = [(stratum, chance) for stratum, chance in parts if chance.any()]  # of others nothing will be known
    searches = sum(stratum.searches for stratum, _ in parts)
    size = uncertain = variance = uncertain_searches = degrees = 0.0
    for stratum, chance in parts:
        drawn_ones = chance < 1
        counts, queries, chance_of = stratum.counts[drawn_ones], stratum.queries[drawn_ones], chance[drawn_ones]
        size += (chance * stratum.queries).sum()
        expected = (chance_of * queries).sum()
        uncertain += expected
        degrees += max(expected - 1, 0)  # each stratum takes one
        uncertain_searches += (counts * queries).sum()
        variance += SPREAD**2 * (queries * counts.astype(float) ** 2 / chance_of).sum() / searches**2
    uncertain = round(uncertain)
    margin = 0.0 if not uncertain else float("nan")
    if round(degrees) >= 1:
        margin = min(float(stdtrit(round(degrees), (1 + LEVEL) / 2) * np.sqrt(variance)), WIDEST)
    searches_each = uncertain_searches / uncertain if uncertain else 0.0
    return Outlook(
        size=round(size),
        certain=round(size) - uncertain,
        certain_share=1 - uncertain_searches / searches,
        searches_each=searches_each,
        margin=margin,
    )
