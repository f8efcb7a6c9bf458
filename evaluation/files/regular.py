"""The fast reader of runs and qrels in the usual form: NumPy on chunks of a file, in several threads.

It reports no errors: for a file in another form, or with a possible error, it raises Irregular, and `tolerant`
reads the file line by line. Documents are identified by 64-bit hashes of their keys; where hashes agree, the keys
are compared.
"""

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluation.measures import Judgments, Rankings
from ratings.formats import values
from ratings.formats.cells import (
    COMMENT,
    Column,
    Irregular,
    columns,
    decimals,
    equal,
    hashed,
    order_of_keys,
    same_as_before,
    whole_numbers,
)
from ratings.formats.plain_run import refuse_long
from ratings.formats.rankings import as_trec_eval
from ratings.formats.source import BOM

from .text import Plain

THREADS = 8
FLAGS_EACH = 32  # flags for each judgment: one unjudged document in 32 passes the filter by chance


@dataclass(frozen=True, eq=False)
class Judged:
    """Qrels as arrays. Line i judges `document[i]`, whose number among the documents is i too."""

    queries: tuple[str, ...]  # in their natural order, which numbers them
    judgments: Judgments
    index: dict[bytes, int]  # the number of each query
    query: np.ndarray  # int64[n], line by line
    document: Column
    pair: np.ndarray  # uint64[n], ascending: query and document in one
    line: np.ndarray  # int64[n]: the line of each pair
    flags: np.ndarray  # bool[1 << bits]: whether a judged pair has these leading bits
    bits: int

    def pairs(self, query: np.ndarray, document: Column) -> np.ndarray:
        return _pairs(query, document, len(self.queries))

    def lines_of(self, query: np.ndarray, document: Column, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows that are judged, ascending, and the line that judges each."""
        rows = np.flatnonzero(self.flags.take((pair >> np.uint64(64 - self.bits)).view(np.int64)))
        found = np.minimum(np.searchsorted(self.pair, pair[rows]), len(self.pair) - 1)
        same = self.pair[found] == pair[rows]
        rows, line = rows[same], self.line[found[same]]
        if not (np.array_equal(query[rows], self.query[line]) and equal(document[rows], self.document[line])):
            raise Irregular  # other keys with the same bits
        return rows, line


@dataclass(frozen=True, eq=False)
class Rows:
    """Results for queries of the qrels, sorted by query and, once they are in order, best first."""

    query: np.ndarray
    line: np.ndarray  # the line of the qrels that judges the document, -1 for none
    pair: np.ndarray
    rank: np.ndarray
    score: np.ndarray
    start: np.ndarray  # where the key of the document begins
    length: np.ndarray

    def take(self, order: np.ndarray) -> "Rows":
        return Rows(*(array[order] for array in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Piece:
    """The columns of a chunk of a run that the rankings need, to save memory."""

    query: np.ndarray  # the number of each query in it, ascending
    length: np.ndarray  # results for each of them
    judged: np.ndarray  # rows
    line: np.ndarray  # that judges each of them
    score: np.ndarray  # of every row
    tiebreak: np.ndarray | None  # of every row
    strangers: Counter  # lines for each query that the qrels lack


def read_qrels(text: Plain) -> Judged:
    """The judgments of qrels. Raises Irregular."""
    query, _, document, grade = columns(text.all_words, 4)
    refuse_long(query=query, document=document)
    keys, count = _groups(query)
    queries = sorted({key.decode() for key in keys}, key=values.natural)
    index = {key.encode(): number for number, key in enumerate(queries)}
    number = np.repeat([index[key] for key in keys], count)
    pair = _pairs(number, document, len(queries))
    line = np.argsort(pair)
    in_order = pair[line]
    if (in_order[1:] == in_order[:-1]).any():
        raise Irregular
    bits = _bits(len(queries)) + int(np.clip(np.ceil(np.log2(len(line) / len(queries) * FLAGS_EACH)), 4, 13))
    flags = np.zeros(1 << bits, bool)
    flags[pair >> np.uint64(64 - bits)] = True
    judgments = Judgments(len(queries), number, np.arange(len(number)), _grades(grade))
    return Judged(tuple(queries), judgments, index, number, document, in_order, line, flags, bits)


def read_run(text: Plain, judged: Judged, order: str | None, tiebreak: bool) -> tuple[str, Rankings, Counter]:
    """The tag and the rankings of a run with one system, and its lines for each query that the qrels lack.

    The rank column orders the results where it agrees with the scores up to ties, or `order` says what does.
    `tiebreak` adds the order of the keys of documents that share a score. Raises Irregular.
    """
    tag = columns(text.words(text.begin, text.next_line(text.begin)), 6)[5].text(0)
    read = partial(_read_piece, text, judged, tag, order, tiebreak)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, THREADS)) as pool:
        pieces = list(pool.map(read, text.pieces(whole_queries=True)))
        queries = np.concatenate([piece.query for piece in pieces])
        if len(np.unique(queries)) < len(queries):  # the lines of a query stand apart
            pieces = [read((text.begin, text.end))]
        rankings = _joined(pieces, judged, pool)
    return tag.decode(), rankings, sum((piece.strangers for piece in pieces), Counter())


def _read_piece(
    text: Plain, judged: Judged, tag: bytes, order: str | None, tiebreak: bool, place: tuple[int, int]
) -> Piece:
    words = text.words(*place)
    rows, strangers = _read_rows(words, judged, tag)
    if order == "score":
        rows = _by_score(rows, words)
    elif not _in_order(rows, order):
        rows = rows.take(np.lexsort((rows.rank, rows.query)))
        if not _in_order(rows, order):
            raise Irregular
    pair = np.sort(rows.pair)
    if (pair[1:] == pair[:-1]).any():  # a document may stand twice
        raise Irregular
    first = np.flatnonzero(np.append(True, rows.query[1:] != rows.query[:-1])[: len(rows.query)])
    at = np.flatnonzero(rows.line >= 0)
    return Piece(
        query=rows.query[first],
        length=np.diff(np.append(first, len(rows.query))),
        judged=at,
        line=rows.line[at],
        score=rows.score,
        tiebreak=_tiebreak(rows, words) if tiebreak else None,
        strangers=strangers,
    )


def _read_rows(words: np.ndarray, judged: Judged, tag: bytes) -> tuple[Rows, Counter]:
    """The results for queries of the qrels, in the order of the lines, and the lines for each other query."""
    query, _, document, rank, score, system = columns(words, 6)
    if system.text(0) != tag or not same_as_before(system).all():
        raise Irregular
    refuse_long(query=query, document=document, system=system)
    keys, count = _groups(query)
    number = np.repeat([judged.index.get(key, -1) for key in keys], count)
    rank, score = whole_numbers(rank), decimals(score)
    strangers = Counter()
    if number.min() < 0:
        for key, lines in zip(keys, count.tolist(), strict=True):
            if key not in judged.index:
                strangers[key.decode()] += lines
        known = number >= 0
        number, document, rank, score = number[known], document[known], rank[known], score[known]
    pair = judged.pairs(number, document)
    line = np.full(len(number), -1)
    at, judging = judged.lines_of(number, document, pair)
    line[at] = judging
    return Rows(number, line, pair, rank, score, document.start, document.length), strangers


def _in_order(rows: Rows, order: str | None) -> bool:
    """Whether queries and, in each of them, ranks rise, and scores with them do not."""
    query, rank = rows.query, rows.rank
    same = query[1:] == query[:-1]
    if (query[1:] < query[:-1]).any() or (same & (rank[1:] <= rank[:-1])).any():
        return False
    narrow = as_trec_eval(rows.score)
    return order == "rank" or not (same & (narrow[1:] > narrow[:-1])).any()


def _by_score(rows: Rows, words: np.ndarray) -> Rows:
    """The rows in the order of trec_eval: by score, equal scores by document key, descending in bytes."""
    rows = rows.take(np.lexsort((-as_trec_eval(rows.score), rows.query)))
    equal = _equal_to_before(rows)
    tied = _tied(equal)
    group = np.append(0, np.cumsum(~equal))[tied]
    order = np.arange(len(rows.query))
    order[tied] = tied[np.lexsort((-_order_of_documents(rows, words, tied), group))]
    return rows.take(order)


def _tiebreak(rows: Rows, words: np.ndarray) -> np.ndarray:
    """The order of the keys where scores are equal, int64[n]; 0 elsewhere."""
    by_score = np.lexsort((-as_trec_eval(rows.score), rows.query))
    tied = by_score[_tied(_equal_to_before(rows.take(by_score)))]
    tiebreak = np.zeros(len(rows.query), np.int64)
    tiebreak[tied] = _order_of_documents(rows, words, tied)
    return tiebreak


def _equal_to_before(rows: Rows) -> np.ndarray:
    """Whether a row has the query and, in the precision of trec_eval, the score of the row before it."""
    narrow = as_trec_eval(rows.score)
    return (narrow[1:] == narrow[:-1]) & (rows.query[1:] == rows.query[:-1])


def _tied(equal: np.ndarray) -> np.ndarray:
    """Rows that are equal to the one before or to the one after them."""
    return np.flatnonzero(np.append(equal, False) | np.append(False, equal))


def _order_of_documents(rows: Rows, words: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return order_of_keys(Column(words, rows.start[chosen], rows.length[chosen]))


def _joined(pieces: Sequence[Piece], judged: Judged, pool: ThreadPoolExecutor) -> Rankings:
    """The rankings of all chunks. Each unjudged document gets a number of its own."""
    length = np.zeros(len(judged.queries), np.int64)
    for piece in pieces:
        length[piece.query] = piece.length
    offsets = np.append(0, np.cumsum(length))
    numbers = np.uint32 if offsets[-1] + len(judged.line) <= 1 << 32 else np.int64
    documents, scores = np.empty(offsets[-1], numbers), np.empty(offsets[-1], np.float64)
    tiebreak = np.empty(offsets[-1], np.int64) if pieces[0].tiebreak is not None else None

    def put(piece: Piece) -> None:
        first = np.cumsum(piece.length) - piece.length
        rows = np.arange(piece.score.size) + np.repeat(offsets[piece.query] - first, piece.length)
        documents[rows] = rows + len(judged.line)
        documents[rows[piece.judged]] = piece.line
        scores[rows] = piece.score
        if tiebreak is not None:
            tiebreak[rows] = piece.tiebreak

    list(pool.map(put, pieces))
    return Rankings(offsets, documents, scores, tiebreak=tiebreak)


def _groups(query: Column) -> tuple[list[bytes], np.ndarray]:
    """The keys of consecutive queries, and how many consecutive lines each has."""
    first = np.append(0, np.flatnonzero(~same_as_before(query)) + 1)
    keys = [query.text(row) for row in first.tolist()]
    if any(key[0] == COMMENT or key.startswith(BOM) for key in keys):
        raise Irregular
    return keys, np.diff(np.append(first, len(query)))


def _bits(queries: int) -> int:
    return max(1, (queries - 1).bit_length())


def _pairs(query: np.ndarray, document: Column, queries: int) -> np.ndarray:
    """Query and document hash in one number, the query first: lookups of one query are then local."""
    bits = np.uint64(_bits(queries))
    pair = hashed(document)
    pair >>= bits
    pair |= query.view(np.uint64) << (np.uint64(64) - bits)
    return pair


def _grades(column: Column) -> np.ndarray:
    if column.longest > 8:
        raise Irregular
    _, first, which = np.unique(column.word(0), return_index=True, return_inverse=True)
    try:
        grades = np.array([float(values.grade(column.text(row).decode())) for row in first.tolist()])
    except ValueError as error:
        raise Irregular from error
    return grades[which]
