"""Ties: the order of documents with equal scores, or the ranks that they share."""

from dataclasses import replace

import numpy as np

from .arrays import Rankings
from .matching import Table
from .refusal import WrongOption

WIDEST_TABLE = 4  # times as many cells as there are rows


def ranks_by_score(rankings: Rankings, row: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The ranks of some rows as in trec_eval, int64[rows] from 1: by score as a 32-bit float, then by tiebreak.

    `query` is the query of each row. Scores are sorted instead of rows, which is several times faster; only
    documents with equal scores are sorted by tiebreak. ValueError for missing scores or tiebreak.
    """
    _require_scores(rankings, "score")
    score = _descending_numbers(rankings)
    key = _keys(rankings, score)
    in_order = key if (key[1:] >= key[:-1]).all() else _keys(rankings, _sorted_within_queries(rankings, score))
    mine = key[row]
    first = np.searchsorted(in_order, mine)
    rank = first - rankings.offsets[query] + 1
    shared = np.flatnonzero(in_order[np.minimum(first + 1, len(key) - 1)] == mine)
    shared = shared[first[shared] + 1 < len(key)]
    if shared.size:
        rank[shared] += _before(rankings, score, row[shared], mine[shared])
    return rank


def by_score(rankings: Rankings) -> Rankings:
    """The rankings in the order of `ranks_by_score`."""
    rank = ranks_by_score(rankings, np.arange(len(rankings.documents)), rankings.query)
    order = np.empty(len(rank), np.intp)
    order[rankings.offsets[rankings.query] + rank - 1] = np.arange(len(rank))
    return _reordered(rankings, order)


def _descending_numbers(rankings: Rankings) -> np.ndarray:
    """A number for each score as a 32-bit float: the greater the score, the smaller; uint32[n]."""
    with np.errstate(over="ignore"):
        score = rankings.scores.astype(np.float32)
    score += np.float32(0)  # turns -0, which has other bits, into 0
    # Of floats from 0 up, the greater has the greater bits; of those below 0, the smaller.
    turn = ~(score.view(np.int32) >> 31) & np.int32(0x7FFFFFFF)
    return score.view(np.uint32) ^ turn.view(np.uint32)


def _keys(rankings: Rankings, score: np.ndarray) -> np.ndarray:
    """One number for the query and the score of each row, uint64[n]."""
    key = np.repeat(np.arange(rankings.queries, dtype=np.uint64) << np.uint64(32), rankings.length)
    key |= score
    return key


def _sorted_within_queries(rankings: Rankings, score: np.ndarray) -> np.ndarray:
    """The numbers of each query in ascending order, uint32[n].

    A table with one row a query is sorted: short rows of 32 bits take a fraction of the time of one long sort.
    Rows are filled up at their end with the greatest number. Rankings whose lengths differ too much for a table
    are sorted by query and score instead.
    """
    length = rankings.length
    shape = rankings.queries, length.max()
    if shape[0] * shape[1] > WIDEST_TABLE * len(score):
        return np.sort(_keys(rankings, score)).astype(np.uint32)
    scored = np.arange(shape[1]) < length[:, np.newaxis]
    table = np.full(shape, np.iinfo(np.uint32).max, np.uint32)
    table[scored] = score
    table.sort(axis=1)
    return table[scored]


def _before(rankings: Rankings, score: np.ndarray, row: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The number of documents with the same score that come before each row, int64[rows]; `key` is of the rows."""
    groups = np.unique(key)
    query, shared = (groups >> np.uint64(32)).astype(np.int64), groups.astype(np.uint32)
    if rankings.tiebreak is None:
        raise WrongOption("ties", f"ties=score needs a tiebreak: documents of query {query[0]} have equal scores.")
    sharing, group = Table.of(rankings.queries, query, shared).meet(rankings.offsets, score)
    # ~x reverses the order of integers without the overflow of -x.
    order = np.lexsort((~rankings.tiebreak[sharing], group))
    size = np.bincount(group)
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - (np.cumsum(size) - size)[group[order]]
    return before[np.searchsorted(sharing, row)]


def by_score_only(rankings: Rankings) -> tuple[Rankings, np.ndarray]:
    """The rankings by score descending, and the number of the tie group of each row, int64[n]."""
    _require_scores(rankings, "average")
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


def _require_scores(rankings: Rankings, ties: str) -> None:
    if rankings.scores is None:
        lacking = np.flatnonzero(rankings.length)
    else:
        lacking = np.unique(rankings.query[np.isnan(rankings.scores)])
    if lacking.size:
        some = ", ".join(map(str, lacking[:5])) + (" and more" if lacking.size > 5 else "")
        raise WrongOption("ties", f"ties={ties} needs scores; {lacking.size} rankings lack them: queries {some}.")
