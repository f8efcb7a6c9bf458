"""The fast reader of runs and qrels in the usual form: NumPy on chunks of a file, in several threads.

It reports no errors. For a file in another form, or with a possible error, it raises Irregular, and `tolerant`
reads the file line by line. Documents are identified by 64-bit hashes of their keys; the keys of equal hashes are
compared.
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
    BEFORE,
    COMMENT,
    NEWLINE,
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
from ratings.formats.rankings import NearTie, in_32_bits, near_tie
from ratings.formats.source import BOM

from .text import PlainText

THREADS = 8
FLAGS_EACH = 32  # flags for each judgment: one unjudged document in 32 passes the filter by chance


@dataclass(frozen=True, eq=False)
class Judged:
    """Qrels as arrays. Line i judges `document[i]`, which has the number i."""

    queries: tuple[str, ...]  # by number, in their natural order
    judgments: Judgments
    index: dict[bytes, int]  # the number of each query, by key
    query: np.ndarray  # int64[n], by line
    document: Column  # by line
    pair: np.ndarray  # uint64[n], keys of pairs, ascending: see `_pairs`
    line: np.ndarray  # int64[n], the line of each pair
    flags: np.ndarray  # bool[1 << bits], whether a judged pair has these leading bits
    bits: int

    def pairs(self, query: np.ndarray, document: Column) -> np.ndarray:
        """The keys of these pairs, uint64[n]."""
        return _pairs(query, document, len(self.queries))

    def lines_of(self, query: np.ndarray, document: Column, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The judged rows, ascending, and the line that judges each. pair: the keys of the rows."""
        rows = np.flatnonzero(self.flags.take((pair >> np.uint64(64 - self.bits)).view(np.int64)))
        place = np.minimum(np.searchsorted(self.pair, pair[rows]), len(self.pair) - 1)
        same = self.pair[place] == pair[rows]
        rows, line = rows[same], self.line[place[same]]
        if not (np.array_equal(query[rows], self.query[line]) and equal(document[rows], self.document[line])):
            raise Irregular  # different keys with the same hash
        return rows, line


@dataclass(frozen=True, eq=False)
class Rows:
    """Results for queries of the qrels: by query and, once they are in order, best first."""

    query: np.ndarray  # number of the query
    line: np.ndarray  # line of the qrels that judges the document, -1 for none
    pair: np.ndarray  # key of the pair
    rank: np.ndarray
    score: np.ndarray
    start: np.ndarray  # place of the document's key in the text
    length: np.ndarray  # of the key, in bytes

    def take(self, order: np.ndarray) -> "Rows":
        """The rows at these places, in this order."""
        return Rows(*(array[order] for array in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Piece:
    """The columns of a chunk of a run that rankings need, without the others to save memory."""

    query: np.ndarray  # numbers of the queries in it, ascending
    length: np.ndarray  # number of results for each query
    judged: np.ndarray  # places of judged rows
    line: np.ndarray  # line that judges each of them
    score: np.ndarray  # of every row
    tiebreak: np.ndarray | None  # of every row
    skipped: Counter  # number of lines for each query that is not in the qrels
    lines: int
    near_tie: NearTie | None  # its line counts from the first of the chunk


def read_qrels(text: PlainText) -> Judged:
    """The judgments in a file of qrels. Raises Irregular."""
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


def read_run(
    text: PlainText, judged: Judged, order: str | None, tiebreak: bool
) -> tuple[str, Rankings, Counter, list[str]]:
    """The tag and the rankings in a run of one system, the numbers of lines for queries not in the qrels, notes.

    order, tiebreak: as in `files.load`. Raises Irregular.
    """
    tag = columns(text.words(text.begin, text.next_line(text.begin)), 6)[5].text(0)
    read = partial(_read_piece, text, judged, tag, order, tiebreak)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, THREADS)) as pool:
        pieces = list(pool.map(read, text.pieces(whole_queries=True)))
        queries = np.concatenate([piece.query for piece in pieces])
        if len(np.unique(queries)) < len(queries):  # the lines of a query are not consecutive
            pieces = [read((text.begin, text.end))]
        rankings = _joined(pieces, judged, pool)
    notes = [tie.warning(text.text.name) for tie in _near_ties(pieces)[:1]]
    return tag.decode(), rankings, sum((piece.skipped for piece in pieces), Counter()), notes


def _read_piece(
    text: PlainText, judged: Judged, tag: bytes, order: str | None, tiebreak: bool, place: tuple[int, int]
) -> Piece:
    words = text.words(*place)
    rows, skipped, lines = _read_rows(words, judged, tag)
    if order == "score":
        rows = _by_score(rows, words)
    elif not _in_order(rows, order):
        rows = rows.take(np.lexsort((rows.rank, rows.query)))
        if not _in_order(rows, order):
            raise Irregular
    pair = np.sort(rows.pair)
    if (pair[1:] == pair[:-1]).any():  # a document may be there twice
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
        skipped=skipped,
        lines=lines,
        near_tie=_near_tie(rows, words),
    )


def _read_rows(words: np.ndarray, judged: Judged, tag: bytes) -> tuple[Rows, Counter, int]:
    """The results for queries of the qrels, by line; the number of lines for each other query, and of all."""
    query, _, document, rank, score, system = columns(words, 6)
    if system.text(0) != tag or not same_as_before(system).all():
        raise Irregular
    refuse_long(query=query, document=document, system=system)
    keys, count = _groups(query)
    number = np.repeat([judged.index.get(key, -1) for key in keys], count)
    rank, score = whole_numbers(rank), decimals(score)
    skipped, lines = Counter(), len(query)
    if number.min() < 0:
        for key, lines in zip(keys, count.tolist(), strict=True):
            if key not in judged.index:
                skipped[key.decode()] += lines
        known = number >= 0
        number, document, rank, score = number[known], document[known], rank[known], score[known]
    pair = judged.pairs(number, document)
    line = np.full(len(number), -1)
    at, judging = judged.lines_of(number, document, pair)
    line[at] = judging
    return Rows(number, line, pair, rank, score, document.start, document.length), skipped, lines


def _in_order(rows: Rows, order: str | None) -> bool:
    """Whether queries ascend, ranks ascend within each query and, unless `order` is "rank", scores descend."""
    query, rank = rows.query, rows.rank
    same = query[1:] == query[:-1]
    if (query[1:] < query[:-1]).any() or (same & (rank[1:] <= rank[:-1])).any():
        return False
    return order == "rank" or not (same & (rows.score[1:] > rows.score[:-1])).any()


def _by_score(rows: Rows, words: np.ndarray) -> Rows:
    """The rows in the order of trec_eval: by score, then by the bytes of the document's key, both descending."""
    rows = rows.take(np.lexsort((-rows.score, rows.query)))
    equal = _equal_to_before(rows.query, rows.score)
    tied = _tied(equal)
    group = np.append(0, np.cumsum(~equal))[tied]
    order = np.arange(len(rows.query))
    order[tied] = tied[np.lexsort((-_order_of_documents(rows, words, tied), group))]
    return rows.take(order)


def _tiebreak(rows: Rows, words: np.ndarray) -> np.ndarray:
    """The tiebreak: the order of the keys of documents with scores equal in 32 bits, int64[n]; 0 for others."""
    score = in_32_bits(rows.score)
    by_score = np.lexsort((-score, rows.query))
    tied = by_score[_tied(_equal_to_before(rows.query[by_score], score[by_score]))]
    tiebreak = np.zeros(len(rows.query), np.int64)
    tiebreak[tied] = _order_of_documents(rows, words, tied)
    return tiebreak


def _equal_to_before(query: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Whether a row has the query and the score of the row before: bool[n - 1]."""
    return (score[1:] == score[:-1]) & (query[1:] == query[:-1])


def _near_tie(rows: Rows, words: np.ndarray) -> NearTie | None:
    """The first near tie in the lines of the chunk."""
    found = near_tie(rows.query, rows.start, rows.score)
    if found is None:
        return None
    line = np.count_nonzero(words.base[BEFORE : rows.start[found[0]]] == NEWLINE) + 1
    return NearTie(line, *rows.score[[*found]].tolist())


def _near_ties(pieces: Sequence[Piece]) -> list[NearTie]:
    """The first near tie of each chunk, with its line in the file."""
    before = np.cumsum([0, *(piece.lines for piece in pieces)]).tolist()
    found = zip(before, (piece.near_tie for piece in pieces), strict=False)
    return [tie._replace(line=lines + tie.line) for lines, tie in found if tie]


def _tied(equal: np.ndarray) -> np.ndarray:
    """The rows equal to the one before or after, int64[any]. equal: as from `_equal_to_before`."""
    return np.flatnonzero(np.append(equal, False) | np.append(False, equal))


def _order_of_documents(rows: Rows, words: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The order of the document keys of the chosen rows."""
    return order_of_keys(Column(words, rows.start[chosen], rows.length[chosen]))


def _joined(pieces: Sequence[Piece], judged: Judged, pool: ThreadPoolExecutor) -> Rankings:
    """The rankings of all chunks. Each unjudged result has a number of its own as its document."""
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
    """The key of each group of consecutive lines with the same query, and the number of its lines."""
    first = np.append(0, np.flatnonzero(~same_as_before(query)) + 1)
    keys = [query.text(row) for row in first.tolist()]
    if any(key[0] == COMMENT or key.startswith(BOM) for key in keys):
        raise Irregular
    return keys, np.diff(np.append(first, len(query)))


def _bits(queries: int) -> int:
    return max(1, (queries - 1).bit_length())


def _pairs(query: np.ndarray, document: Column, queries: int) -> np.ndarray:
    """The keys of pairs, uint64[n]: the query in the leading bits, for locality, then the document's hash."""
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
