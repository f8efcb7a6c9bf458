"""Measures that only ask whether a document is relevant: P, R, AP, RR.

A document is relevant from the grade `rel` on, by default from the options' relevant_from.
"""

import numpy as np

from .grading import GradedRankings


def precision(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """P@k, relevant documents down to rank k per k, however short the ranking, float64[queries].

    Without a cutoff, per document of the ranking; 0 for an empty ranking.
    """
    depth = np.maximum(graded.length, 1) if cutoff is None else cutoff
    return graded.total(graded.relevant(rel), cutoff) / depth


def recall(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """R@k, the share of all relevant documents found down to rank k, float64[queries].

    nan if no document is relevant.
    """
    return _per_relevant(graded.total(graded.relevant(rel), cutoff), graded, rel)


def average_precision(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """AP@k, the sum of the precision at each relevant document per all relevant documents, float64[queries].

    nan if no document is relevant.
    """
    relevant = graded.relevant(rel)
    so_far = np.concatenate([[0.0], np.cumsum(relevant)])
    before_query = so_far[np.searchsorted(graded.query, np.arange(graded.queries))]
    found = so_far[1:] - before_query[graded.query]
    return _per_relevant(graded.total(relevant * found / graded.rank, cutoff), graded, rel)


def reciprocal_rank(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """RR@k, 1 / rank of the first relevant document, 0 if it is below k, float64[queries].

    nan if no document is relevant.
    """
    hits = np.flatnonzero(graded.relevant(rel))
    query, first = np.unique(graded.query[hits], return_index=True)
    rank = graded.rank[hits[first]]
    values = np.zeros(graded.queries)
    values[query] = 1 / rank if cutoff is None else np.where(rank <= cutoff, 1 / rank, 0)
    values[_all_relevant(graded, rel) == 0] = np.nan
    return values


def _all_relevant(graded: GradedRankings, rel: float | None) -> np.ndarray:
    return graded.judgments.relevant(graded.options.relevant_from if rel is None else rel)


def _per_relevant(found: np.ndarray, graded: GradedRankings, rel: float | None) -> np.ndarray:
    relevant = _all_relevant(graded, rel)
    return np.divide(found, relevant, out=np.full(graded.queries, np.nan), where=relevant > 0)
