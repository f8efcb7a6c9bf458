"""Measures with a model of a reader who may stop after each document: ERR, RBP and its residual.

The gain of a document is its grade relative to gmax, the highest grade of the scale, whatever the option gain; a
grade below 0 has gain 0.
"""

import numpy as np

from .decimals import plain
from .grading import GradedRankings


def expected_reciprocal_rank(graded: GradedRankings, cutoff: int | None, gmax: float) -> np.ndarray:
    """ERR@k, the mean of 1 / rank where the reader is satisfied (Chapelle et al., CIKM 2009), float64[queries].

    A document satisfies with the chance (2^grade - 1) / 2^gmax. nan if no document has a grade above 0;
    ValueError for a grade above gmax.
    """
    _refuse_above(gmax, graded)
    chance = np.exp2(graded.grade - gmax) - np.exp2(-gmax)  # below 0 or nan: no chance
    hits = np.flatnonzero((chance > 0) if cutoff is None else (chance > 0) & (graded.rank <= cutoff))
    query = graded.query[hits]
    place = np.arange(len(hits)) - np.searchsorted(query, np.arange(graded.queries))[query]
    values, reading = np.zeros(graded.queries), np.ones(graded.queries)
    # All first hits of their queries, then all second ones: each step knows who has read so far.
    for rows in np.split(hits[np.argsort(place)], np.cumsum(np.bincount(place))[:-1]):
        query = graded.query[rows]
        values[query] += reading[query] * chance[rows] / graded.rank[rows]
        reading[query] *= 1 - chance[rows]
    judgments = graded.judgments
    values[np.bincount(judgments.query[judgments.grade > 0], minlength=graded.queries) == 0] = np.nan
    return values


def rank_biased_precision(
    graded: GradedRankings, cutoff: int | None, p: float, rel: float | None = None, gmax: float | None = None
) -> np.ndarray:
    """RBP@k = (1 - p) sum of g p^(rank - 1) (Moffat & Zobel, TOIS 2008), float64[queries], within [0, 1].

    With `rel`, g is 1 from that grade on and 0 below; else g = grade / gmax, and a grade above gmax is a
    ValueError. Like P it is 0, not undefined, where nothing is relevant: the residual says what may come.
    """
    if rel is None:
        _refuse_above(gmax, graded)
        gain = graded.expected(np.fmax(graded.grade, 0) / gmax)
    else:
        gain = graded.relevant(rel)
    return _weighed(graded, gain, p, cutoff)


def rank_biased_residual(
    graded: GradedRankings, cutoff: int | None, p: float, rel: float | None = None, gmax: float | None = None
) -> np.ndarray:
    """The residual of RBP@k: the weight of unjudged ranks and of all ranks after the last, float64[queries].

    RBP + residual <= 1; without unjudged documents the residual is p^n, n the ranks looked at. Under
    unjudged=condensed or an assumed grade only that tail is left, because RBP has then left the unjudged
    documents out, or counted them. `rel` and `gmax` change nothing; they are taken so that RBP's fit.
    """
    known = graded.expected(~np.isnan(graded.grade))
    return 1 - _weighed(graded, known, p, cutoff)


def _weighed(graded: GradedRankings, gain: np.ndarray, p: float, cutoff: int | None) -> np.ndarray:
    return (1 - p) * graded.total(gain * p ** (graded.rank - 1), cutoff)


def _refuse_above(gmax: float, graded: GradedRankings) -> None:
    assumed = graded.options.assumed_grade
    highest = max(graded.judgments.grade.max(initial=0), 0 if assumed is None else assumed)
    if highest > gmax:
        raise ValueError(f"grade {plain(highest)} is above gmax={plain(gmax)}, the highest grade of the scale.")
