"""Ties: the order of documents with equal scores, or the ranks that they share."""

from dataclasses import replace

import numpy as np

from .arrays import Rankings, distinct, groups, pair_key, pair_of
from .matching import HashTable


def ranks_by_score(rankings: Rankings, row: np.ndarray, query: np.ndarray, ties: str) -> np.ndarray:
    """The ranks of some rows as in trec_eval, int64[rows] from 1: by score, then by tiebreak.

    `row` has rows of the rankings; `query` is the query of each, ascending; `ties` is one of BY_SCORE. All rows
    have a score, and those with equal scores a tiebreak. Scores are sorted instead of rows, for speed: a rank is
    the place of the row's score among those of its query.
    """
    if ties == "trec_eval_9":  # it compares scores in 32 bits; too large ones become infinite
        with np.errstate(over="ignore"):
            rankings = replace(rankings, scores=rankings.scores.astype(np.float32))
    negated = -rankings.scores  # so that the best score sorts first
    sought = negated[row]  # a copy, which stays in the order of the rows when `negated` is sorted
    rises = (rankings.scores[1:] > rankings.scores[:-1]) & (rankings.query[1:] == rankings.query[:-1])
    is_unsorted = rises.any()
    # Where each query begins in the rankings and in `row`, and the ends.
    edges = rankings.offsets.tolist()
    row_edges = np.searchsorted(query, np.arange(rankings.queries + 1)).tolist()
    first_place = np.empty(len(row), np.int64)  # for each of `row`, the first place in `negated` with its score
    for number in range(rankings.queries):
        of_query = negated[edges[number] : edges[number + 1]]  # a view
        if is_unsorted:
            of_query.sort()  # sorts this query's part of `negated`
        rows = slice(row_edges[number], row_edges[number + 1])
        first_place[rows] = edges[number] + of_query.searchsorted(sought[rows])
    rank = first_place - rankings.offsets[query] + 1
    # `negated` is sorted within each query by now, so equal scores stand side by side. A row is tied if the place
    # after the first one with its score is of the same query and has its score, too.
    next_place = first_place + 1
    has_next = np.flatnonzero(next_place < rankings.offsets[query + 1])
    tied = has_next[negated[next_place[has_next]] == sought[has_next]]
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
    sharing, number = _rows_with_scores_of(rankings, row, query)
    score = rankings.scores[sharing]
    # ~x reverses the order of integers without the overflow of -x.
    order = np.lexsort((~np.asarray(rankings.tiebreak)[sharing], score, number))
    starts, size = groups(number[order], score[order])  # of equal scores of one query, the largest tiebreak first
    place_in_group = np.arange(len(order)) - np.repeat(starts, size)
    before = np.empty(len(order), np.int64)
    before[order] = place_in_group  # of each of `sharing`
    return before[np.searchsorted(sharing, row)]  # `sharing` ascends, and has every one of `row`


def _rows_with_scores_of(rankings: Rankings, row: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows with the score of one of `row` in the same query, ascending, and a number for each: int64[n] both.

    The number is the same for equal scores of one query. Two different scores of a query can have the same number,
    as a number stands for a score folded to 32 bits. So a few rows can be there without a score of `row`: the
    caller compares the scores themselves. query: of each of `row`.
    """
    bits = (rankings.scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0: the two have different bits
    # The hash table takes numbers of 32 bits, so both halves of a score are folded into one.
    folded = (bits ^ bits >> np.uint64(32)).astype(np.uint32)
    # The folded scores of `row` by query, ascending, each once, as the hash table needs them.
    wanted_query, wanted = pair_of(distinct(pair_key(query, folded[row])))
    table = HashTable.of(rankings.queries, wanted_query, wanted.astype(np.uint32))
    return table.rows_with(rankings.offsets, folded)


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
