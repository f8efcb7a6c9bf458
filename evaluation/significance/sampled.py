"""Means over all searches of a log, from a sample of its queries. NumPy and SciPy only.

The most frequent queries of a log, its head, are taken for certain. The others are drawn with known chances, in
one stratum or several. A query then stands for count / chance searches of the log, and the mean over all searches
is the mean weighted by them. Only drawn queries have sampling error: the variance is that of the linearised mean
by stratum, as of a draw with replacement, which is a little too large. (Särndal, Swensson, Wretman, Model Assisted
Survey Sampling, 1992, sections 5.5 and 5.7.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from . import paired

OUTSIDE, CERTAIN = -2, -1  # instead of the number of a stratum


@dataclass(frozen=True, eq=False)
class Sampled:
    """What each query stands for."""

    stratum: np.ndarray  # int64[queries]: of a drawn query 0, 1, ...; CERTAIN; OUTSIDE of the sample
    searches: np.ndarray  # float64[queries]: how many searches of the log the query stands for; 0 outside
    # By stratum, the searches of the other queries of the sample, which have no value: an admin left them out.
    left_out: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, count: np.ndarray, chance: np.ndarray, stratum: np.ndarray) -> "Sampled":
        """The sample of queries with these counts in the log and chances, float64[queries], nan outside.

        stratum: object[queries], names. A query with chance 1 was taken for certain.
        """
        number = np.unique(stratum.astype(str), return_inverse=True)[1]
        number = np.where(np.isnan(chance), OUTSIDE, np.where(chance >= 1, CERTAIN, number))
        return cls(number, np.nan_to_num(count / chance))

    @classmethod
    def by_weight(cls, weights: np.ndarray) -> "Sampled":
        """One stratum of all queries with a weight above 0, which stand for that many searches."""
        return cls(np.where(weights > 0, 0, OUTSIDE), np.maximum(weights, 0.0))

    def within(self, members: np.ndarray) -> "Sampled":
        """The sample of a part of the log, bool[queries], such as of all searches with a tag.

        What is left out has no tag, so it is not in any part.
        """
        return Sampled(self.stratum[members], self.searches[members])

    def without(self, dropped: np.ndarray) -> "Sampled":
        """The sample with these queries left out, bool[queries]."""
        left_out = dict(self.left_out)
        for stratum, searches in zip(self.stratum[dropped].tolist(), self.searches[dropped], strict=True):
            if searches:
                left_out[stratum] = left_out.get(stratum, 0.0) + float(searches)
        return Sampled(self.stratum[~dropped], self.searches[~dropped], left_out)

    def answered(self, has_value: np.ndarray) -> "Sampled":
        """The sample of the queries with a value, bool[queries]. They stand for all queries of their stratum.

        A stratum without such a query stays left out.
        """
        rest = self.without(~has_value)
        searches, left_out = rest.searches.copy(), dict(rest.left_out)
        for stratum in rest.left_out:
            members = rest.stratum == stratum
            if members.any():
                # They grow in proportion, so that they stand for what is left out as well.
                searches[members] *= 1 + left_out.pop(stratum) / searches[members].sum()
        return Sampled(rest.stratum, searches, left_out)

    def share(self, has_value: np.ndarray) -> float:
        """The share of the searches whose queries have a value, bool[queries]; nan without a search."""
        total = self.searches.sum() + sum(self.left_out.values())
        return float(self.searches[has_value].sum() / total) if total else float("nan")

    @property
    def drawn(self) -> int:
        """The number of queries that were drawn, and not taken for certain."""
        return int((self.stratum >= 0).sum())

    @property
    def joined_strata(self) -> np.ndarray:
        """The stratum of each drawn query, int64[drawn]; one with a single query is joined to the one before it.

        A single query shows no variance. If the first of several strata has one, the second is joined to it.
        """
        drawn = self.stratum[self.stratum >= 0]
        groups = drawn.copy()
        group = None  # the last group so far
        for stratum in np.unique(drawn):
            members = drawn == stratum
            is_single = members.sum() == 1
            if group is not None and (is_single or (groups == group).sum() == 1):
                groups[members] = group  # joined to the one before it
            else:
                group = stratum  # stays a group of its own
        return groups

    @property
    def degrees(self) -> int:
        """The degrees of freedom of the standard error: drawn queries less their strata."""
        return self.drawn - len(np.unique(self.joined_strata))


@dataclass(frozen=True)
class Estimate:
    """The mean over all searches of a log. nan = no value."""

    mean: float
    low: float  # the interval is about which queries were drawn
    high: float


def estimate(values: np.ndarray, sampled: Sampled, level: float = 0.95) -> Estimate:
    """The mean over all searches with its t interval. values: float64[queries], nan without a value.

    A query without a value is left out of its stratum. There is no mean without a value, and no interval where no
    query of a stratum has one, or only one query was drawn. Where every query was taken for certain, the interval
    is the mean itself.
    """
    has_value = ~np.isnan(values)
    answered = sampled.answered(has_value)
    column = values[has_value, np.newaxis]
    mean = float(mean_of_searches(column, answered)[0])
    if answered.left_out:  # strata in which no query has a value
        margin = float("nan")
    elif not answered.drawn:  # every query was taken for certain
        margin = 0.0
    else:
        margin = float(paired.t_margin(pseudo_values(column, answered), level, answered.degrees)[0])
    return Estimate(mean, mean - margin, mean + margin)


def pseudo_values(values: np.ndarray, sampled: Sampled) -> np.ndarray:
    """A row for each drawn query: the plain mean of the rows is the mean over all searches.

    values: float64[queries, columns] without nan; the result is float64[drawn, columns]. The standard deviation of
    the rows divided by the square root of their number is the standard error. So tests and intervals of plain
    means hold for these rows, with `Sampled.degrees` of freedom. Differences of columns are the pseudo values of
    the differences. A single row is the mean itself, and shows no error. There is no row where a stratum is left
    out as a whole, because nobody knows its error.
    """
    mean = mean_of_searches(values, sampled)
    n = sampled.drawn
    if not n or sampled.left_out:
        return np.empty((0, values.shape[1]))
    # By linearisation the error of the mean is the sum over drawn queries of searches / all searches × (value -
    # mean). `searches` is a sampling weight: what the query stands for. n times, as the rows are averaged, not
    # added up.
    parts = n * (sampled.searches / sampled.searches.sum())[:, np.newaxis] * (values - mean)
    is_drawn = sampled.stratum >= 0  # neither taken for certain nor outside the sample
    parts, strata = parts[is_drawn], sampled.joined_strata
    rows = np.empty((n, values.shape[1]))
    for stratum in np.unique(strata):
        members = strata == stratum
        of_stratum, size = parts[members], int(members.sum())
        # The variance within a stratum needs the factor size / (size - 1); that of all rows has n / (n - 1).
        # A stratum of size 1 was joined to another one, unless it is the only one: its row becomes the mean.
        correction = np.sqrt(size / max(size - 1, 1) * (n - 1) / n)
        rows[members] = mean + correction * (of_stratum - of_stratum.mean(axis=0))
    return rows


def bounds_of_estimate(
    low: np.ndarray, high: np.ndarray, certain: np.ndarray, possible: np.ndarray, sampled: Sampled
) -> tuple[float, float]:
    """The least and the greatest mean over all searches, as `measures.bounds_of_mean` has them for plain means.

    low, high: float64[queries], the bounds of each value once all is judged; certain, possible: whether a query
    will and may have a value then, bool[queries] (not whether it was sampled with chance 1). A query that only may
    have one is in the mean or not, whichever gives the wider bounds. A query that an admin left out of the
    collection never has one, so the others of its stratum stand for it. (nan, nan) where a bound of a possible
    query is nan, and where a stratum may be left without a value.
    """
    # A stratum weighs as much as it has searches. Queries that were drawn with chance 1 are a stratum here, too;
    # those OUTSIDE the sample stand for no search.
    ends, total_weight = np.zeros(2), 0.0  # the sums over strata of weight x (least, greatest), and of the weights
    searches = sampled.searches
    for stratum in sorted({*sampled.stratum.tolist(), *sampled.left_out} - {OUTSIDE}):
        members = sampled.stratum == stratum
        must = members & certain
        may = members & possible & ~certain
        # It is possible that no query of the stratum will have a value. A query of 0 searches is as good as none.
        if not searches[must].any():
            return float("nan"), float("nan")
        weight = searches[members].sum() + sampled.left_out.get(stratum, 0.0)  # with those that are left out
        # The greatest mean is the least one of the values with the other sign.
        least = _least_mean(low[must], searches[must], low[may], searches[may])
        greatest = -_least_mean(-high[must], searches[must], -high[may], searches[may])
        ends = ends + weight * np.array([least, greatest])
        total_weight += weight
    return tuple((ends / total_weight).tolist()) if total_weight else (float("nan"), float("nan"))


def _least_mean(must: np.ndarray, of_must: np.ndarray, may: np.ndarray, of_may: np.ndarray) -> float:
    """The least weighted mean of all values of `must` and any of `may`. of_must, of_may: their weights."""
    lowest_first = np.argsort(may)
    sums = of_must @ must + np.append(0.0, np.cumsum((of_may * may)[lowest_first]))
    return float((sums / (of_must.sum() + np.append(0.0, np.cumsum(of_may[lowest_first])))).min())


def mean_of_searches(values: np.ndarray, sampled: Sampled) -> np.ndarray:
    """The mean over all searches. values: float64[queries, columns] without nan; nan without a search."""
    total = sampled.searches.sum()
    if not total:
        return np.full(values.shape[1], np.nan)
    center = sampled.searches @ values / total
    # A second pass: else rounding can carry the mean of values that are equal, or nearly so, past all of them.
    return center + sampled.searches @ (values - center) / total
