"""Measures of binary relevance: P, R, AP, RR, Success, Rprec, Bpref.

A document is relevant if its grade is at least `rel`, by default the options' relevant_from.
"""

import numpy as np

from .arrays import quotient
from .grading import GradedRankings


def precision(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """P@k, the number of relevant documents down to rank k, divided by k, float64[queries].

    A ranking shorter than k is divided by k, too. Without a cutoff, the divisor is the length of the ranking; 0
    for an empty ranking.
    """
    depth = np.maximum(graded.length, 1) if cutoff is None else cutoff
    return graded.total(graded.relevant(rel), cutoff) / depth


def recall(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """R@k, the share of all relevant documents found down to rank k, float64[queries].

    nan if no document is relevant.
    """
    return _per_relevant(graded.total(graded.relevant(rel), cutoff), graded, rel)


def average_precision(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """AP@k, float64[queries]: the precisions at the relevant documents down to rank k, summed.

    The sum is divided by the number of all relevant documents. nan if no document is relevant.
    """
    relevant = graded.relevant(rel)
    precision_here = _so_far(relevant, graded) / graded.rank
    return _per_relevant(graded.total(relevant * precision_here, cutoff), graded, rel)


def reciprocal_rank(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """RR@k, 1 / rank of the first relevant document, 0 if there is none down to rank k, float64[queries].

    nan if no document is relevant.
    """
    hits = np.flatnonzero(graded.relevant(rel))
    # The queries with a relevant document, and for each the index in `hits` of the first one: rows are by rank.
    query, first = np.unique(graded.query[hits], return_index=True)
    rank = graded.rank[hits[first]]  # of these documents
    values = np.zeros(graded.queries)
    values[query] = 1 / rank if cutoff is None else np.where(rank <= cutoff, 1 / rank, 0)
    values[all_relevant(graded, rel) == 0] = np.nan
    return values


def success(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """Success@k, 1 if a document down to rank k is relevant, else 0, float64[queries].

    nan if no document is relevant.
    """
    return np.sign(reciprocal_rank(graded, cutoff, rel))


def r_precision(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """Rprec, the precision at rank R, where R is the number of all relevant documents, float64[queries].

    nan if no document is relevant.
    """
    down_to_rank_r = graded.rank <= all_relevant(graded, rel)[graded.query]
    return _per_relevant(graded.total(graded.relevant(rel) * down_to_rank_r, None), graded, rel)


def binary_preference(graded: GradedRankings, cutoff: int | None, rel: float | None = None) -> np.ndarray:
    """Bpref, float64[queries]: how rarely judged documents that are not relevant rank above relevant ones.

    The mean over all R relevant documents of 1 - min(n, R) / min(N, R), where N is the number of judged documents
    that are not relevant, and n is how many of these rank above the relevant one. A relevant document that is not
    returned adds 0 to the mean (Buckley & Voorhees, SIGIR 2004, as in trec_eval).
    Unjudged documents are ignored, whatever grade is assumed for them. Under negatives=clip, which follows
    trec_eval, documents with a grade below 0 are ignored, too. nan if no document is relevant.
    Bpref takes no cutoff: `cutoff`, which the functions of all measures have, is None.
    """
    threshold = graded.options.relevant_from if rel is None else rel
    lowest = 0.0 if graded.options.negatives == "clip" else -np.inf
    relevant = graded.judged & (graded.grade >= threshold)
    others_above = _so_far(graded.judged & ~relevant & (graded.grade >= lowest), graded)  # n of each row
    relevant_total = all_relevant(graded, rel)  # R
    # N: judged with a grade of at least `lowest`, but not relevant; 0 where the threshold is below `lowest`.
    others_total = graded.judgments.relevant(lowest) - graded.judgments.relevant(max(threshold, lowest))
    # min(N, R). Where it is 0, the dividend min(n, R) is 0, too: 1 avoids a division by 0.
    divisor = np.maximum(np.minimum(relevant_total, others_total), 1)
    # Of each row; only those of relevant documents count.
    preference = 1 - np.minimum(others_above, relevant_total[graded.query]) / divisor[graded.query]
    return _per_relevant(graded.total(relevant * preference, None), graded, rel)


def all_relevant(graded: GradedRankings, rel: float | None = None) -> np.ndarray:
    """How many judged documents are relevant, returned or not, int64[queries]."""
    return graded.judgments.relevant(graded.options.relevant_from if rel is None else rel)


def _so_far(values: np.ndarray, graded: GradedRankings) -> np.ndarray:
    """The running sum of whole numbers down to each row of its query, float64[rows]."""
    running = np.concatenate([[0.0], np.cumsum(values)])
    before_query = running[np.searchsorted(graded.query, np.arange(graded.queries))]
    return running[1:] - before_query[graded.query]


def _per_relevant(count: np.ndarray, graded: GradedRankings, rel: float | None) -> np.ndarray:
    return quotient(count, all_relevant(graded, rel))
