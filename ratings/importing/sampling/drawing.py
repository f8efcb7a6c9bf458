"""Draws of queries from a log with known chances, as pure functions of counts. NumPy and SciPy only, no Django.

The design: queries so frequent that they would be drawn more than once are taken for certain. The others are drawn
systematically: all queries lie on a line, about the most frequent first, each as long as its chance. Points at a
distance of 1 from a random start hit those that are drawn. So exactly as many are drawn as the chances add up to.
Neighbours on the line change places at random. Without that the only chance is in the start, and for some logs the
intervals of means hold .92 of the time in place of .95.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

# The usual standard deviation of nDCG over queries. That of scores between 0 and 1 is at most 0.5.
USUAL_SPREAD = 0.3
CONFIDENCE = 0.95
WIDEST_MARGIN = 0.5  # half of what a score can be: nothing is known
POSSIBLE_STARTS = 1 << 30  # between 0 and 1
POINTS_MOVED = 3.0  # how far a query may move on the line; points are at a distance of 1
THIRDS = ("head", "torso", "tail")


@dataclass(frozen=True)
class Stratum:
    """The queries of a log, or of a part of it, the most frequent first: how many of them have each count.

    So its size does not grow with the log. A query is meant by its place in this order, from 0.
    """

    name: str
    search_counts: np.ndarray  # int64[counts], falling; a count may stand twice
    queries_per_count: np.ndarray  # int64[counts]: how many queries were searched for so often

    @property
    def size(self) -> int:
        return int(self.queries_per_count.sum())

    @property
    def searches(self) -> int:
        return int((self.search_counts * self.queries_per_count).sum())


def thirds(log: Stratum) -> list[Stratum]:
    """The log in three strata, each with about a third of the searches, the most frequent queries first.

    `log`: all of its queries as one stratum. A third without queries is left out.
    """
    # The searches of the queries with each count or a higher one, int64[counts].
    searches_so_far = np.cumsum(log.search_counts * log.queries_per_count)
    bounds = [0]  # the first place of each stratum, and the end
    for share in (1 / 3, 2 / 3):
        wanted = share * log.searches
        # The fewest queries that have the wanted searches together: all before those with the count at this index,
        # and some of these.
        index = int(np.searchsorted(searches_so_far, wanted))
        searches_before = searches_so_far[index - 1] if index else 0
        some_with_count = np.ceil((wanted - searches_before) / log.search_counts[index])
        end = int(log.queries_per_count[:index].sum() + some_with_count)
        bounds.append(max(end, bounds[-1]))  # never before the former bound, even where numbers are rounded
    bounds.append(log.size)
    pieces = zip(THIRDS, bounds[:-1], bounds[1:], strict=True)
    return [_between(log, name, first, end) for name, first, end in pieces if end > first]


def _between(log: Stratum, name: str, first: int, end: int) -> Stratum:
    """The queries from place `first` until before `end`."""
    ends = np.cumsum(log.queries_per_count)
    kept = np.minimum(ends, end) - np.maximum(ends - log.queries_per_count, first)  # queries of each count
    return Stratum(name, log.search_counts[kept > 0], kept[kept > 0])


def chances(stratum: Stratum, size: int, *, even: bool = False) -> np.ndarray:
    """The chance of a query of each count, if `size` queries of the stratum are drawn: float[counts].

    The chances of all queries add up to `size`. By default a chance is proportional to the count. A query whose
    chance would be 1 or more is drawn for certain, with the chance 1. The places that are left are then shared out
    among the others in the same way, until no chance is 1 or more. `even`: all chances are equal.
    """
    if size >= stratum.size:
        return np.ones(len(stratum.search_counts))
    if even:
        return np.full(len(stratum.search_counts), size / stratum.size)
    head = 0  # how many of the counts, from the largest on, have queries with the chance 1
    while True:
        places_left = size - int(stratum.queries_per_count[:head].sum())
        searches_left = (stratum.search_counts[head:] * stratum.queries_per_count[head:]).sum()
        tail_chances = places_left * stratum.search_counts[head:] / searches_left
        too_large = int(np.count_nonzero(tail_chances >= 1))
        if not too_large:
            return np.concatenate([np.ones(head), tail_chances])
        head += too_large


def mixed_order(stratum: Stratum, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An order of the counts on the line: falling, but each moves up to POINTS_MOVED points. int64[counts]"""
    lengths = chance * stratum.queries_per_count
    moves = rng.uniform(-POINTS_MOVED, POINTS_MOVED, len(lengths))
    return np.argsort(np.cumsum(lengths) - lengths / 2 + moves, kind="stable")  # by the middle of each count


def drawn(stratum: Stratum, chance: np.ndarray, start: float, order: np.ndarray) -> np.ndarray:
    """The places of the queries that are drawn, sorted: int64[drawn].

    On the line each query is as long as its chance. Points at start, start + 1, … hit those that are drawn.
    chance: float[counts], of a query with each count. start: a random number, 0 <= start < 1.
    order: int64[counts], of the counts on the line, as from `mixed_order`.
    """
    # The place of the first query with each count.
    first_places = np.cumsum(stratum.queries_per_count) - stratum.queries_per_count
    # From here on, all arrays are in the order of the line.
    queries, chance, first_places = stratum.queries_per_count[order], chance[order], first_places[order]
    lengths = chance * queries
    ends = np.cumsum(lengths)
    total = ends[-1]  # the length of the line
    if abs(total - np.rint(total)) < 1e-6:  # a sum of millions is not exact
        total = np.rint(total)
    # The middle of one of POSSIBLE_STARTS equal steps from 0 to 1. It is never 0 or 1, and has so few digits that
    # adding whole numbers loses none.
    start = (np.floor(start * POSSIBLE_STARTS) + 0.5) / POSSIBLE_STARTS
    points = start + np.arange(int(np.ceil(total - start)))
    # Of each point: the count that it hits, as an index; how far it is from where the queries with this count
    # begin; the place among them of the query that it hits. The limits matter where rounding carries a point
    # beyond the end of the line, or of its count.
    index = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
    distance = points - (ends - lengths)[index]
    place_in_count = (distance / chance[index]).astype(np.int64)  # each of these queries is `chance` long
    return np.sort(first_places[index] + np.clip(place_in_count, 0, queries[index] - 1))


def drawn_more(
    stratum: Stratum,
    old_places: np.ndarray,
    old_chance: np.ndarray,
    chance: np.ndarray,
    start: float,
    order: np.ndarray,
) -> np.ndarray:
    """The places that are drawn in addition to the old ones, sorted: int64[drawn].

    A place is that of a query in the stratum, from 0, the most frequent first. A query that was not drawn then is
    drawn now with (chance - old_chance) / (1 - old_chance). So it has just `chance` to be among the old and the
    new ones together. Both are float[counts], of a query with each count of searches. The number of places depends
    on which queries were drawn before. It differs by one or two from the size that `chance` was made for.
    `start`: a random number, 0 <= start < 1. `order`: int64[counts], of the counts on the line of the draw, as
    from `mixed_order`.
    """
    old_places = np.sort(old_places)
    # The index of the count of each old place: those with the first count come first.
    index = np.searchsorted(np.cumsum(stratum.queries_per_count), old_places, side="right")
    old_queries = np.bincount(index, minlength=len(stratum.search_counts))  # int64[counts]: how many were drawn
    # It keeps the counts of which no query is left, so that the chances and `order` have one entry for each.
    undrawn = replace(stratum, queries_per_count=stratum.queries_per_count - old_queries)
    # Where the old chance is 1 all were drawn, and none can be added: the chance there stays 0.
    added_chance = np.divide(chance - old_chance, 1 - old_chance, out=np.zeros(len(chance)), where=old_chance < 1)
    places_among_undrawn = drawn(undrawn, np.clip(added_chance, 0, 1), start, order)
    # The place of a query in the stratum is that among the undrawn ones plus the number of old places before it.
    # At place 3 among the undrawn ones, the old places before it have at most 3 undrawn queries before them.
    undrawn_before_old = old_places - np.arange(len(old_places))
    old_before = np.searchsorted(undrawn_before_old, places_among_undrawn, side="right")
    return places_among_undrawn + old_before


def shared_out(places: int, shares: Sequence[float], room: Sequence[int]) -> list[int]:
    """How many of the places each stratum gets: by its share, whole numbers, and no more than its room.

    `shares`: such as 2, 1, 1; only their ratios count. `room`: the most places that each stratum can take. What a
    full stratum leaves goes to the others. A stratum with the share 0 gets nothing.
    """
    sizes = np.zeros(len(shares), np.int64)
    limits = np.array(room)
    places_left = min(places, int(limits[np.array(shares) > 0].sum()))
    while places_left:
        open_shares = np.where(sizes < limits, shares, 0.0)  # a full stratum gets no more
        exact = places_left * open_shares / open_shares.sum()  # places with fractions
        more = np.minimum(np.floor(exact), limits - sizes).astype(np.int64)
        if not more.any():  # less than one place for each: one place goes to the largest of them
            more[np.argmax(exact)] = 1
        sizes += more
        places_left -= int(more.sum())
    return sizes.tolist()


class Outlook(NamedTuple):
    """What can be said of a sample before any query is rated."""

    size: int
    certain: int  # queries that are taken for certain
    certain_share: float  # of the searches that those are
    searches_each: float  # for how many searches each of the others stands, on average; 0 without others
    # The likely half width of the 95 % interval of a mean over the searches; 0 without others; None if no stratum
    # has more than one of them, so that nothing tells how far scores spread.
    margin: float | None


def outlook(parts: Sequence[tuple[Stratum, np.ndarray]]) -> Outlook:
    """What a sample of these strata will tell of a mean over all searches.

    `parts`: strata, each with float[counts]: the chance of a query with each of its counts of searches. One
    stratum at least must have chances above 0. Queries with the chance 1 are certain, all others are not. Scores
    are taken to spread by USUAL_SPREAD, whatever the counts of the queries. The variance of the mean is the sum of
    count² / chance over all queries that are not certain, times USUAL_SPREAD², divided by the square of all
    searches. It leaves out the factor 1 - chance of each query, so that it is rather too large.
    """
    # Of a stratum without draws nothing will be known.
    parts = [(stratum, chance) for stratum, chance in parts if chance.any()]
    searches = sum(stratum.searches for stratum, _ in parts)
    certain = certain_searches = expected_others = degrees = sum_of_squares = 0.0  # over the strata
    for stratum, chance in parts:
        # Both are as long as `chance`.
        counts, queries_per_count = stratum.search_counts, stratum.queries_per_count
        is_certain = chance == 1  # bool[counts]
        certain += queries_per_count[is_certain].sum()
        certain_searches += (counts * queries_per_count)[is_certain].sum()
        expected = (chance * queries_per_count)[~is_certain].sum()  # how many of the others will be drawn
        expected_others += expected
        # Degrees of freedom: the mean of each stratum takes one. A stratum of certain queries alone adds none.
        degrees += max(expected - 1, 0)
        # The sum of count² / chance. No chance is 0 here: in a stratum either all are, or none is.
        sum_of_squares += (queries_per_count * counts.astype(float) ** 2 / chance)[~is_certain].sum()
    others = round(expected_others)  # drawn ones: together they stand for all searches that are not certain
    standard_error = USUAL_SPREAD * np.sqrt(sum_of_squares) / searches
    return Outlook(
        size=round(certain + expected_others),
        certain=int(certain),
        certain_share=certain_searches / searches,
        searches_each=(searches - certain_searches) / others if others else 0.0,
        margin=_margin(standard_error, round(degrees)) if others else 0.0,
    )


def _margin(error: float, degrees: int) -> float | None:
    """The half width of a mean's interval with this standard error, up to WIDEST_MARGIN; None without degrees."""
    from scipy.special import stdtrit  # imported late: it takes a fifth of a second

    return min(float(stdtrit(degrees, (1 + CONFIDENCE) / 2) * error), WIDEST_MARGIN) if degrees else None
