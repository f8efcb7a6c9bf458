"""Rules: how several ratings of a pair become one judgment. NumPy only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..measures import Judgments
from ..measures.arrays import groups, pair_key
from ..measures.refusal import refuse_unknown
from .dawid_skene import estimate, most_probable

# Grades have at most nine decimals and weights three: multiplied by these, they are whole numbers.
BILLION = 1_000_000_000
THOUSAND = 1_000
EXACT_UP_TO = 1 << 53  # up to here a float holds every whole number


@dataclass(frozen=True, eq=False)
class Ratings:
    """The grades that raters gave, a row each. "Cannot judge" is not a grade and has no row."""

    queries: int
    query: np.ndarray  # int64[n], from 0 to queries - 1
    document: np.ndarray  # int64[n]
    rater: np.ndarray  # int64[n]
    grade: np.ndarray  # float64[n]
    weight: np.ndarray | None = None  # float64[n], the rater's, at most three decimals; None: all weigh the same
    adjudicated: Judgments | None = None  # adjudicated pairs, with or without ratings

    def subset(self, rows: np.ndarray) -> "Ratings":
        """The ratings in these rows, which may repeat. Adjudicated pairs stay."""
        columns = ("query", "document", "rater", "grade", "weight")
        named = {name: getattr(self, name) for name in columns if getattr(self, name) is not None}
        return replace(self, **{name: column[rows] for name, column in named.items()})

    def renewed(self, queries: np.ndarray, part: "Ratings") -> "Ratings":
        """These ratings with those of some queries replaced: query i of `part` is queries[i] here."""
        kept = ~np.isin(self.query, queries)
        columns = {
            name: np.concatenate([getattr(self, name)[kept], getattr(part, name)])
            for name in ("document", "rater", "grade", "weight")
            if getattr(self, name) is not None
        }
        query = np.concatenate([self.query[kept], queries[part.query]])
        adjudicated = self.adjudicated and self.adjudicated.renewed(queries, part.adjudicated)
        return replace(self, query=query, adjudicated=adjudicated, **columns)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Ratings sorted by pair, and within a pair by ascending grade: pair i holds rows start[i] to end[i] - 1."""

    grade: np.ndarray
    rater: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def pair(self) -> np.ndarray:
        """The pair of each row."""
        return np.repeat(np.arange(len(self.start)), self.end - self.start)


def stacked(several: Sequence[Ratings]) -> Ratings:
    """Several sets of ratings of the same queries in one set: query q of set i becomes query i * queries + q.

    All or none of the sets have weights, and all or none have adjudicated pairs.
    """
    queries = several[0].queries

    def joined(tables: Sequence, *names: str) -> dict[str, np.ndarray]:
        """The columns `names` and "query" of several ratings, or several judgments, one table after another."""
        columns = {name: np.concatenate([getattr(table, name) for table in tables]) for name in names}
        columns["query"] = np.concatenate([table.query + place * queries for place, table in enumerate(tables)])
        return columns

    total = len(several) * queries
    adjudicated = None
    if several[0].adjudicated is not None:
        adjudicated = Judgments(total, **joined([each.adjudicated for each in several], "document", "grade"))
    weight = [] if several[0].weight is None else ["weight"]  # the name of the column, if there is one
    return Ratings(total, **joined(several, "document", "rater", "grade", *weight), adjudicated=adjudicated)


def combine(ratings: Ratings, rule: str = "mean", *, adjudications: str = "use") -> Judgments:
    """One judgment for each (query, document) with a rating or an adjudication. `rule` is a name in RULES.

    mean         the mean grade, correctly rounded: the mean of three times 0.7 is 0.7
    median       the middle grade; of an even number, the lower of the two in the middle, a grade of the scale
    min, max     the lowest, the highest grade
    majority     the most frequent grade; of equally frequent ones, the lowest
    weighted     the mean weighted by rater; a pair whose raters all have weight 0 is unjudged
    dawid_skene  the most probable grade under an error model for each rater: see `dawid_skene.estimate`

    An adjudicated grade, by which an admin decided the pair, replaces the result of the rule; the rule does not
    read it. With adjudications="ignore" the ratings alone count. ValueError for an unknown rule, and for more
    ratings than dawid_skene can process.
    """
    refuse_unknown("rule", rule, RULES)
    refuse_unknown("adjudications", adjudications, ADJUDICATIONS)
    ruled = _ruled(ratings, rule)
    if adjudications == "ignore" or ratings.adjudicated is None:
        return ruled
    adjudicated = ratings.adjudicated
    by_rule = ~np.isin(ruled.key, adjudicated.key)  # bool: the pairs without an adjudicated grade
    return Judgments(
        ratings.queries,
        np.concatenate([ruled.query[by_rule], adjudicated.query]),
        np.concatenate([ruled.document[by_rule], adjudicated.document]),
        np.concatenate([ruled.grade[by_rule], adjudicated.grade]),
    )


def _ruled(ratings: Ratings, rule: str) -> Judgments:
    """The judgments by the rule, without adjudications."""
    order = _by_pair(ratings)
    query, document = ratings.query[order], ratings.document[order]
    start, length = groups(query, document)
    weight = np.ones(len(order)) if ratings.weight is None else ratings.weight[order]
    pairs = _Pairs(ratings.grade[order], ratings.rater[order], weight, start, start + length)
    grade = RULES[rule](pairs) if len(start) else np.empty(0)
    judged = ~np.isnan(grade)
    return Judgments(ratings.queries, query[start[judged]], document[start[judged]], grade[judged])


def _by_pair(ratings: Ratings) -> np.ndarray:
    """The order of ratings by pair, then by grade, int64[n]. Pairs with one rating are not sorted by grade."""
    key = pair_key(ratings.query, ratings.document)
    order = np.argsort(key)
    equals_next = key[order[1:]] == key[order[:-1]]
    of_several = np.flatnonzero(np.append(equals_next, False) | np.append(False, equals_next))
    rows = order[of_several]
    order[of_several] = rows[np.lexsort((ratings.grade[rows], key[rows]))]
    return order


def _average(pairs: _Pairs, weight: np.ndarray) -> np.ndarray:
    """The weighted mean of each pair, float64[pairs], correctly rounded; nan where its weights sum to 0.

    weight: int64[ratings], of each rating, from 0.
    """
    # Integers, because a sum of floats can be just below a grade that all raters gave.
    grade = np.rint(pairs.grade * BILLION).astype(np.int64)
    total_weight = np.add.reduceat(weight, pairs.start)
    # The mean is a quotient of integers: (sum of grades times weights) / (sum of weights times BILLION). The left
    # side below is the largest size that either can have. Up to the right side both are exact as floats, so that
    # only the quotient is rounded.
    if max(int(np.abs(grade).max()), BILLION) * int(total_weight.max()) > EXACT_UP_TO:
        # Python integers do not overflow, and their quotient is correctly rounded at any size.
        grade, total_weight = grade.astype(object), total_weight.astype(object)
    total = np.add.reduceat(grade * weight, pairs.start)
    mean = np.full(len(total_weight), np.nan)
    has_weight = total_weight > 0
    mean[has_weight] = total[has_weight] / (total_weight[has_weight] * BILLION)
    return mean


def _majority(pairs: _Pairs) -> np.ndarray:
    """The most frequent grade of each pair, float64[pairs]; of equally frequent ones the lowest."""
    start, votes = groups(pairs.pair, pairs.grade)
    pair, grade = pairs.pair[start], pairs.grade[start]  # a row for each grade of a pair
    best_first = np.lexsort((grade, -votes, pair))
    _, first = np.unique(pair[best_first], return_index=True)
    return grade[best_first[first]]


def _dawid_skene(pairs: _Pairs) -> np.ndarray:
    # A fixed order, independent of the database: between equally probable grades rounding can decide.
    order = np.lexsort((pairs.rater, pairs.grade, pairs.pair))
    scale, label = np.unique(pairs.grade[order], return_inverse=True)
    return scale[most_probable(estimate(pairs.pair, pairs.rater[order], label, len(scale)))]


# Each function takes ratings sorted by pair and then by grade, and returns a grade for each pair, nan for none.
RULES: dict[str, Callable[[_Pairs], np.ndarray]] = {
    "mean": lambda pairs: _average(pairs, np.ones(len(pairs.grade), np.int64)),
    "median": lambda pairs: pairs.grade[(pairs.start + pairs.end - 1) // 2],  # of two in the middle, the lower
    "min": lambda pairs: pairs.grade[pairs.start],
    "max": lambda pairs: pairs.grade[pairs.end - 1],
    "majority": _majority,
    "weighted": lambda pairs: _average(pairs, np.rint(pairs.weight * THOUSAND).astype(np.int64)),
    "dawid_skene": _dawid_skene,
}

# Rules in which any rating can change every judgment.
RULES_OF_ALL = {"dawid_skene"}

# The description of each rule.
RULE_DESCRIPTIONS: dict[str, str] = {
    "mean": "The mean of the grades.",
    "median": "The middle grade; of an even number the lower of the two in the middle.",
    "min": "The lowest grade that a rater gave.",
    "max": "The highest grade that a rater gave.",
    "majority": "The most frequent grade; of equally frequent ones the lowest.",
    "weighted": "The mean of the grades, each as heavy as its rater's weight; weight 0 does not count.",
    "dawid_skene": "The most probable grade; each rater's errors are learnt from all ratings, and smoothed.",
}

# The smoothing of dawid_skene, for the panel of options and the methods paragraph.
SMOOTHING_NOTE = (
    "In dawid_skene the errors of a rater are smoothed towards those of all raters: for each true grade as many"
    " imagined ratings as there are different grades, spread as the ratings of all raters, join the rater's own."
)

# The options for adjudicated grades, each with its description.
ADJUDICATIONS: dict[str, str] = {
    "use": "An adjudicated grade stands above the rule.",
    "ignore": "The ratings alone count.",
}
