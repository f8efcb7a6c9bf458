"""Several ratings of a document become one judgment. NumPy only; nothing is stored, so nothing goes stale."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from .measures import Judgments

# A scale has at most nine decimals, so that in billionths every grade is a whole number.
BILLION = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Ratings:
    """The grades that raters gave, row by row. "Cannot judge" is no grade and has no row."""

    queries: int
    query: np.ndarray  # int64[n], from 0 to queries - 1
    document: np.ndarray  # int64[n]
    rater: np.ndarray  # int64[n]
    grade: np.ndarray  # float64[n]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Grades sorted by pair, and within a pair ascending: pair i holds rows start[i] to end[i] - 1."""

    grade: np.ndarray
    start: np.ndarray
    end: np.ndarray


def combine(ratings: Ratings, rule: str = "mean") -> Judgments:
    """One judgment for each rated (query, document), by the rule: a name in RULES.

    mean      the mean grade, correct to the last bit: three times 0.7 is 0.7
    median    the middle grade; of an even number the lower middle, so that the judgment is a grade of the scale
    min, max  the lowest, the highest grade
    majority  the most frequent grade; of equally frequent ones the lowest
    """
    if rule not in RULES:
        near = get_close_matches(rule, RULES)
        raise ValueError(f"unknown rule {rule!r}; " + (f"did you mean {near[0]}?" if near else _known()))
    order = np.lexsort((ratings.grade, ratings.document, ratings.query))
    query, document = ratings.query[order], ratings.document[order]
    new = np.ones(len(order), bool)
    new[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
    start = np.flatnonzero(new)
    pairs = _Pairs(ratings.grade[order], start, np.append(start[1:], len(order)))
    grade = RULES[rule](pairs) if len(start) else np.empty(0)
    return Judgments(ratings.queries, query[start], document[start], grade)


def _mean(pairs: _Pairs) -> np.ndarray:
    # Whole numbers add up without rounding; a sum of floats can fall just below a grade that all raters gave.
    total = np.add.reduceat(np.rint(pairs.grade * BILLION).astype(np.int64), pairs.start)
    return total / ((pairs.end - pairs.start) * BILLION)


def _median(pairs: _Pairs) -> np.ndarray:
    return pairs.grade[(pairs.start + pairs.end - 1) // 2]


def _min(pairs: _Pairs) -> np.ndarray:
    return pairs.grade[pairs.start]


def _max(pairs: _Pairs) -> np.ndarray:
    return pairs.grade[pairs.end - 1]


def _majority(pairs: _Pairs) -> np.ndarray:
    pair = np.repeat(np.arange(len(pairs.start)), pairs.end - pairs.start)
    new = np.ones(len(pair), bool)
    new[1:] = (pair[1:] != pair[:-1]) | (pairs.grade[1:] != pairs.grade[:-1])
    run = np.flatnonzero(new)
    votes = np.diff(np.append(run, len(pair)))
    best_first = np.lexsort((pairs.grade[run], -votes, pair[run]))
    _, first = np.unique(pair[run[best_first]], return_index=True)
    return pairs.grade[run[best_first[first]]]


RULES: dict[str, Callable[[_Pairs], np.ndarray]] = {
    "mean": _mean,
    "median": _median,
    "min": _min,
    "max": _max,
    "majority": _majority,
}


def _known() -> str:
    return "known are " + ", ".join(RULES)
