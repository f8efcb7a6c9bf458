"""Documents with equal scores: which comes first, or who shares which ranks."""

from dataclasses import replace

import numpy as np

from .arrays import Rankings


def by_score(rankings: Rankings) -> Rankings:
    """The rankings as trec_eval reads them: scores as 32-bit floats descending, then tiebreak descending."""
    _require_scores(rankings, "score")
    with np.errstate(over="ignore"):
        rankings = _descending(replace(rankings, scores=rankings.scores.astype(np.float32)))
    equal = _steps(rankings)[1]
    if not equal.any():
        return rankings
    if rankings.tiebreak is None:
        query = rankings.query[np.flatnonzero(equal)[0]]
        raise ValueError(f"ties=score needs a tiebreak: documents of query {query} have equal scores")
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    # ~x turns the order of integers around without the overflow of -x.
    order = np.arange(len(rankings.documents))
    order[tied] = tied[np.lexsort((~rankings.tiebreak[tied], _groups(equal)[tied]))]
    return _reordered(rankings, order)


def by_score_only(rankings: Rankings) -> tuple[Rankings, np.ndarray]:
    """The rankings by score descending, and the number of the tie group of each row, int64[n]."""
    _require_scores(rankings, "average")
    rankings = _descending(rankings)
    return rankings, _groups(_steps(rankings)[1])[: len(rankings.documents)]


def _descending(rankings: Rankings) -> Rankings:
    """The rankings by score. Most are in order as they come, so that only the others are sorted."""
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
    """Where a row scores more than the row before it in its query, and where just as much; bool[n - 1]."""
    score, within = rankings.scores, rankings.query[1:] == rankings.query[:-1]
    return within & (score[1:] > score[:-1]), within & (score[1:] == score[:-1])


def _groups(equal: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(~equal))


def _reordered(rankings: Rankings, order: np.ndarray) -> Rankings:
    return replace(
        rankings,
        documents=rankings.documents[order],
        scores=rankings.scores[order],
        tiebreak=None if rankings.tiebreak is None else rankings.tiebreak[order],
    )


def _require_scores(rankings: Rankings, ties: str) -> None:
    if rankings.scores is None:
        lacking = np.flatnonzero(rankings.length)
    else:
        lacking = np.unique(rankings.query[np.isnan(rankings.scores)])
    if lacking.size:
        some = ", ".join(map(str, lacking[:5])) + (", ..." if lacking.size > 5 else "")
        raise ValueError(f"ties={ties} needs scores; {lacking.size} rankings lack them: queries {some}")
