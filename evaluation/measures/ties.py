"""Ties: the order of documents with equal scores, or the ranks that they share."""

from dataclasses import replace

import numpy as np

from .arrays import Rankings, distinct, groups, pair_key, pair_of
from .matching import Table


def ranks_by_score(rankings: Rankings, row: np.ndarray, query: np.ndarray, ties: str) -> np.ndarray:
    """The ranks of some rows as in trec_eval, int64[rows] from 1: by score, then by tiebreak.

    `query` is the query of each row, ascending; `ties` is one of BY_SCORE. All rows have a score,
    and those with equal scores a tiebreak. Scores are sorted instead of rows, for speed.
    """
    if ties == "trec_eval_9":
        with np.errstate(over="ignore"):
            rankings = replace(rankings, scores=rankings.scores.astype(np.float32))
    in_order = -rankings.scores
    edges = rankings.offsets.tolist()  # of the queries in the rankings
    edges_in_row = np.searchsorted(query, np.arange(rankings.queries + 1)).tolist()
    unsorted = _steps(rankings)[0].any()
    sought, first = in_order[row], np.empty(len(row), np.int64)  # the first place with the score that is sought
    for start, end, begin, stop in zip(edges, edges[1:], edges_in_row, edges_in_row[1:], strict=False):
        if unsorted:
            in_order[start:end].sort()
        first[begin:stop] = start + in_order[start:end].searchsorted(sought[begin:stop])
    rank = first - rankings.offsets[query] + 1
    has_next = np.flatnonzero(first + 1 < rankings.offsets[query + 1])
    shared = has_next[in_order[first[has_next] + 1] == sought[has_next]]
    if shared.size:
        rank[shared] += _before(rankings, row[shared], query[shared])
    return rank


def by_score(rankings: Rankings, ties: str) -> Rankings:
    """The rankings in the order of `ranks_by_score`."""
    rank = ranks_by_score(rankings, np.arange(len(rankings.documents)), rankings.query, ties)
    order = np.empty(len(rank), np.intp)
    order[rankings.offsets[rankings.query] + rank - 1] = np.arange(len(rank))
    return _reordered(rankings, order)


def _before(rankings: Rankings, row: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The number of documents with the same score that come before each of these rows, int64[rows]."""
    # A table finds the rows with the same score, folded to the 32 bits that it takes.
    bits = (rankings.scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0, which has other bits
    folded = (bits ^ bits >> np.uint64(32)).astype(np.uint32)
    wanted, numbers = pair_of(distinct(pair_key(query, folded[row])))
    sharing, alike = Table.of(rankings.queries, wanted, numbers.astype(np.uint32)).meet(rankings.offsets, folded)
    score = rankings.scores[sharing]  # scores that differ may be folded to one number
    # ~x reverses the order of integers without the overflow of -x.
    order = np.lexsort((~np.asarray(rankings.tiebreak)[sharing], score, alike))
    starts, size = groups(alike[order], score[order])
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - np.repeat(starts, size)
    return before[np.searchsorted(sharing, row)]


def by_score_only(rankings: Rankings) -> tuple[Rankings, np.ndarray]:
    """The rankings by score descending, and the number of the tie group of each row, int64[n]."""
    rankings = _descending(rankings)
    return rankings, _groups(_steps(rankings)[1])[: len(rankings.documents)]


def _descending(rankings: Rankings) -> Rankings:
    """The rankings by score, descending. Most are in order already, so only the others are sorted."""
    rises = _steps(rankings)[0]
    if not rises.any():
        return rankings
    unsorted = np.zeros(rankings.queries, bool)
    unsorted[rankings.query[1:][rises]] = True
    rows = np.flatnonzero(unsorted[rankings.query])
    order = np.arange(len(rankings.documents))
    order[rows] = rows[np.lexsort((-rankings.scores[rows], rankings.query[rows]))]
    return _reordered(rankings, order)


def _steps(rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """Whether a row scores higher than the row before it in its query, and whether equally; bool[n - 1] each."""
    score, within = rankings.scores, rankings.query[1:] == rankings.query[:-1]
    return within & (score[1:] > score[:-1]), within & (score[1:] == score[:-1])


def _groups(equal: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(~equal))


def _reordered(rankings: Rankings, order: np.ndarray) -> Rankings:
    return replace(
        rankings,
        documents=rankings.documents[order],
        scores=rankings.scores[order],
        tiebreak=None,  # applied to the order already, or not needed
    )
