"""Which rows of the rankings are judged: the join of rankings and judgments."""

import numpy as np

from .arrays import Judgments, Rankings, pair_key

SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, with well mixed bits: sends neighbouring numbers far apart
ROWS_AT_A_TIME = 1 << 17  # what they need stays in the processor's cache


def match(judgments: Judgments, rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """The judged rows of the rankings, ascending, and the row of the judgments that each one meets.

    A judged document that a ranking names twice is a ValueError.
    """
    if judgments.queries != rankings.queries:
        raise ValueError(f"judgments of {judgments.queries} queries, rankings of {rankings.queries}")
    row = _likely(judgments, rankings)
    query, document = rankings.query[row], rankings.documents[row]
    found = np.searchsorted(judgments.key, pair_key(query, document))
    # The pair and not the key: a document number beyond the key's bits would look like another query's.
    found = np.minimum(found, len(judgments.key) - 1)
    same = (judgments.document[found] == document) & (judgments.query[found] == query)
    row, found = row[same], found[same]
    if found.size and np.bincount(found).max() > 1:
        twice = np.bincount(found).argmax()
        raise ValueError(
            f"the ranking of query {judgments.query[twice]} names document {judgments.document[twice]} twice"
        )
    return row, found


def _likely(judgments: Judgments, rankings: Rankings) -> np.ndarray:
    """The rows that may be judged: all that are, and about one in thirty of the others.

    Most documents of a deep ranking are unjudged. A table of flags, some for each query, sends those away
    without a search; as rows come query by query, the part of the table in use is small and near.
    """
    if judgments.key.size == 0:
        return np.empty(0, np.intp)
    bits, flags = judgments.remember("flags", lambda: _flags(judgments))
    likely = []
    for start in range(0, len(rankings.documents), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        place = _place(rankings.query[rows], rankings.documents[rows], bits)
        likely.append(np.flatnonzero(flags.take(place)) + start)
    return np.concatenate(likely) if likely else np.empty(0, np.intp)


def _flags(judgments: Judgments) -> tuple[int, np.ndarray]:
    """Flags at the place of every judged pair, 2**bits for each query, some 32 for each judgment."""
    judged_each = judgments.key.size / judgments.queries
    bits = int(np.clip(np.ceil(np.log2(judged_each * 32)), 4, 13))
    flags = np.zeros(judgments.queries << bits, bool)
    flags[_place(judgments.query, judgments.document, bits)] = True
    return bits, flags


def _place(query: np.ndarray, document: np.ndarray, bits: int) -> np.ndarray:
    mixed = document.astype(np.uint64) * SPREAD
    mixed >>= np.uint64(64 - bits)
    place = mixed.view(np.int64)
    place += query << bits
    return place
