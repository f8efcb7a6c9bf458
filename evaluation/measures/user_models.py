"""Measures with a model of a reader who may stop after each document: ERR, RBP and its residual.

The gain of a document is its grade relative to gmax, the highest grade of the scale, whatever the option gain; a
grade below 0 has gain 0.
"""

import numpy as np

from .decimals import decimal_text
from .grading import GradedRankings


def expected_reciprocal_rank(graded: GradedRankings, cutoff: int | None, gmax: float) -> np.ndarray:
    """ERR@k, float64[queries]: the expected 1 / rank of satisfaction (Chapelle et al., CIKM 2009).

    A document satisfies a reader who comes to it with the probability (2^grade - 1) / 2^gmax. nan if no document
    has a grade above 0; ValueError for a grade above gmax.
    """
    _refuse_above(gmax, graded)
    # The chance of satisfaction, (2^grade - 1) / 2^gmax: below 0 for a grade below 0, nan for an unjudged one.
    chance = np.exp2(graded.grade - gmax) - np.exp2(-gmax)
    hits = np.flatnonzero((chance > 0) if cutoff is None else (chance > 0) & (graded.rank <= cutoff))
    query = graded.query[hits]
    # The number of each hit within its query, from 0. Hits are by query and then by rank, as all rows are.
    first_hit = np.searchsorted(query, np.arange(graded.queries))  # of each query
    nth_hit = np.arange(len(hits)) - first_hit[query]
    values = np.zeros(graded.queries)
    still_reading = np.ones(graded.queries)  # the chance that no document so far satisfied the reader
    # The first hit of every query, then the second, and so on: each step needs the chance after the one before.
    hits_by_nth = hits[np.argsort(nth_hit)]
    ends = np.cumsum(np.bincount(nth_hit))  # where in `hits_by_nth` the first hits end, then the second ones, ...
    for rows in np.split(hits_by_nth, ends[:-1]):
        query = graded.query[rows]
        values[query] += still_reading[query] * chance[rows] / graded.rank[rows]
        still_reading[query] *= 1 - chance[rows]
    # Judged documents that can satisfy.
    satisfying = np.bincount(graded.judgments.query[graded.judgments.grade > 0], minlength=graded.queries)
    values[satisfying == 0] = np.nan
    return values


def rank_biased_precision(
    graded: GradedRankings, cutoff: int | None, p: float, rel: float | None = None, gmax: float | None = None
) -> np.ndarray:
    """RBP@k = (1 - p) × sum of g p^(rank - 1) (Moffat & Zobel, TOIS 2008), float64[queries], within [0, 1].

    With `rel`, g is 1 for grades of at least `rel`, else 0. Without it, g = grade / gmax, and a grade above gmax
    is a ValueError. `evaluate` refuses an RBP with neither. Where nothing is relevant, RBP is 0 and not undefined,
    like P.
    """
    if rel is None:
        _refuse_above(gmax, graded)
        # 0 for a grade below 0, and for nan, an unjudged document.
        # `expected` takes the mean over tied documents under ties=average.
        gain = graded.expected(np.fmax(graded.grade, 0) / gmax)
    else:
        gain = graded.relevant(rel)
    return _weighed(graded, gain, p, cutoff)


def rank_biased_residual(
    graded: GradedRankings, cutoff: int | None, p: float, rel: float | None = None, gmax: float | None = None
) -> np.ndarray:
    """The residual of RBP@k: the weight of unjudged ranks and of all ranks after the last, float64[queries].

    RBP + residual <= 1. Without unjudged documents the residual is p^n, where n is the number of ranks read. It is
    also p^n under unjudged=condensed or an assumed grade, since RBP then leaves unjudged documents out, or counts
    them. `rel` and `gmax` have no effect; they are accepted so that the parameters of RBP fit.
    """
    known = graded.expected(~np.isnan(graded.grade))
    return 1 - _weighed(graded, known, p, cutoff)


def _weighed(graded: GradedRankings, gain: np.ndarray, p: float, cutoff: int | None) -> np.ndarray:
    return (1 - p) * graded.total(gain * p ** (graded.rank - 1), cutoff)


def _refuse_above(gmax: float, graded: GradedRankings) -> None:
    assumed = graded.options.assumed_grade
    highest = max(graded.judgments.grade.max(initial=0), 0 if assumed is None else assumed)
    if highest > gmax:
        raise ValueError(
            f"grade {decimal_text(highest)} is above gmax={decimal_text(gmax)}, the highest grade of the scale."
        )
