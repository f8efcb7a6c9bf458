"""Ties: the order of documents with equal scores, or the ranks that they share."""

from dataclasses import replace

import numpy as np

from .arrays import Rankings, distinct, groups, pair_key, pair_of
from .matching import Table


def ranks_by_score(rankings: Rankings, row: np.ndarray, query: np.ndarray, ties: str) -> np.ndarray:
    """The ranks of some rows as in trec_eval, int64[rows] from 1: by score, then by tiebreak.

    `row` has rows of the rankings; `query` is the query of each, ascending; `ties` is one of BY_SCORE. All rows
    have a score, and those with equal scores a tiebreak. Scores are sorted instead of rows, for speed: a rank is
    the place of the row's score among those of its query.
    """
    if ties == "trec_eval_9":  # it compares scores in 32 bits; too large ones become infinite
        with np.errstate(over="ignore"):
            rankings = replace(rankings, scores=rankings.scores.astype(np.float32))
    negated = -rankings.scores  # so that the best score sorts first; sorted below within each query
    sought = negated[row]  # a copy, which stays in the order of the rows
    rises = (rankings.scores[1:] > rankings.scores[:-1]) & (rankings.query[1:] == rankings.query[:-1])
    is_unsorted = rises.any()
    starts = rankings.offsets.tolist()  # of the queries in the rankings, then their end
    starts_in_row = np.searchsorted(query, np.arange(rankings.queries + 1)).tolist()  # of the queries in `row`
    first = np.empty(len(row), np.int64)  # the first place with the score that is sought
    for number in range(rankings.queries):
        of_query = negated[starts[number] : starts[number + 1]]
        if is_unsorted:
            of_query.sort()  # a view: this sorts the query's part of `negated`
        rows = slice(starts_in_row[number], starts_in_row[number + 1])
        first[rows] = starts[number] + of_query.searchsorted(sought[rows])
    rank = first - rankings.offsets[query] + 1
    # Tied are rows whose score stands at the next place as well.
    has_next = np.flatnonzero(first + 1 < rankings.offsets[query + 1])
    tied = has_next[negated[first[has_next] + 1] == sought[has_next]]
    if tied.size:
        rank[tied] += _number_before_by_tiebreak(rankings, row[tied], query[tied])
    return rank


def by_score(rankings: Rankings, ties: str) -> Rankings:
    """The rankings in the order of `ranks_by_score`."""
    rank = ranks_by_score(rankings, np.arange(len(rankings.documents)), rankings.query, ties)
    order = np.empty(len(rank), np.intp)
    order[rankings.offsets[rankings.query] + rank - 1] = np.arange(len(rank))
    return _reordered(rankings, order)


def _number_before_by_tiebreak(rankings: Rankings, row: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The number of documents with the same score that come before each of these rows by tiebreak, int64[rows]."""
    # A hash table finds the rows of the rankings with one of the wanted scores. It takes numbers of 32 bits, to
    # which the 64 bits of a score are folded.
    bits = (rankings.scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0: the two have different bits
    folded = (bits ^ bits >> np.uint64(32)).astype(np.uint32)
    wanted_query, wanted = pair_of(distinct(pair_key(query, folded[row])))
    table = Table.of(rankings.queries, wanted_query, wanted.astype(np.uint32))
    sharing, number = table.meet(rankings.offsets, folded)  # rows, and which query and folded score each has
    score = rankings.scores[sharing]  # scores that differ may be folded to one number
    # ~x reverses the order of integers without the overflow of -x.
    order = np.lexsort((~np.asarray(rankings.tiebreak)[sharing], score, number))
    starts, size = groups(number[order], score[order])  # of equal scores of one query, the largest tiebreak first
    # For each of `sharing`: its place in `order` less the first place of its group.
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - np.repeat(starts, size)
    return before[np.searchsorted(sharing, row)]  # `sharing` ascends, and has every one of `row`


def by_score_only(rankings: Rankings) -> tuple[Rankings, np.ndarray]:
    """The rankings by score descending, and the number of the tie group of each row, int64[n]."""
    order = np.lexsort((-np.asarray(rankings.scores), rankings.query))
    rankings = _reordered(rankings, order)
    starts, size = groups(rankings.query, np.asarray(rankings.scores))
    return rankings, np.repeat(np.arange(len(starts)), size)


def _reordered(rankings: Rankings, order: np.ndarray) -> Rankings:
    return replace(
        rankings,
        documents=rankings.documents[order],
        scores=rankings.scores[order],
        tiebreak=None,  # applied to the order already, or not needed
    )
