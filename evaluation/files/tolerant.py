"""The slow reader of runs and qrels, by line: any blanks between cells, several systems, error reports."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.measures import Judgments, Rankings
from ratings.formats import values
from ratings.formats.rankings import FoundRanking, all_contradictions, best_first, contradictions, repeats
from ratings.formats.refusal import KEEP_ONE, Refusal, Refused
from ratings.formats.source import Source
from ratings.formats.trec import is_qrels, is_run
from ratings.formats.trec import read_qrels as qrels_lines
from ratings.formats.trec import read_run as run_lines
from ratings.words import counted

QRELS_FIRST = "The qrels come first, and the runs behind them."


@dataclass(frozen=True, eq=False)
class Grades:
    """Qrels by key. The document of line i has the number i."""

    queries: tuple[str, ...]  # by number, in their natural order
    index: dict[str, int]  # the number of each query, by key
    line: dict[tuple[int, str], int]  # by number of the query and key of the document
    grade: np.ndarray  # float64[n], by line
    notes: list[str]
    others: dict[str, int] = field(default_factory=dict)  # numbers of unjudged documents, by key

    @property
    def judgments(self) -> Judgments:
        query = np.fromiter((query for query, _ in self.line), np.int64, len(self.line))
        return Judgments(len(self.queries), query, np.arange(len(query)), self.grade)

    def as_text(self) -> bytes:
        """The qrels in the usual form, which `regular` reads."""
        pairs = zip(self.line, self.grade.tolist(), strict=True)
        return "".join(f"{self.queries[query]} 0 {key} {grade}\n" for (query, key), grade in pairs).encode()

    def number(self, key: str) -> int:
        """The number of an unjudged document in all runs."""
        return self.others.setdefault(key, len(self.line) + len(self.others))


def read_qrels(source: Source) -> Grades:
    """The judgments in a file of qrels. Raises Refused."""
    looks_like_run = is_run(source.start)
    refusals, rows, same = [], {}, 0
    for row in _rows(source, qrels_lines, refusals):
        earlier = rows.setdefault((row.query, row.document), row)
        if earlier.grade != row.grade:
            problem = f"document {row.document} has another grade for the same query"
            refusals.append(source.refusal(row.line, problem, KEEP_ONE, other=source.at(earlier.line)))
        same += earlier is not row and earlier.grade == row.grade
    if looks_like_run and not rows:
        raise Refused([source.refusal(0, "it looks like a run, and should be qrels", QRELS_FIRST)])
    _refuse(refusals)
    queries = tuple(sorted({query for query, _ in rows}, key=values.natural))
    index = {key: number for number, key in enumerate(queries)}
    notes = _comments(source)
    if same:
        notes.append(f"{source.name}: {counted(same, 'line repeats', 'lines repeat')} an earlier one.")
    return Grades(
        queries,
        index,
        {(index[query], document): line for line, (query, document) in enumerate(rows)},
        np.array([float(row.grade) for row in rows.values()]),
        notes,
    )


def read_run(
    source: Source, grades: Grades, order: str | None, tiebreak: bool, same_numbers: bool = False
) -> tuple[dict[str, Rankings], Counter, list[str]]:
    """The rankings by run tag, the numbers of lines for queries not in the qrels, and notes. Raises Refused.

    order, tiebreak, same_numbers: as in `files.load`.
    """
    looks_like_qrels = is_qrels(source.start)
    refusals, systems, skipped, extra = [], {}, Counter(), 0
    for row in _rows(source, run_lines, refusals):
        extra += row.extra
        query = grades.index.get(row.query)
        lists = systems.setdefault(row.system, {})
        if query is None:
            skipped[row.query] += 1
            continue
        for cells, cell in zip(
            lists.setdefault(query, ([], [], [], [])), (row.line, row.rank, row.score, row.document), strict=True
        ):
            cells.append(cell)
    if looks_like_qrels and not systems:
        raise Refused([source.refusal(0, "it looks like qrels, and should be a run", QRELS_FIRST)])
    rankings = {}
    for system, lists in systems.items():
        in_file = [_ranking(system, query, *cells) for query, cells in sorted(lists.items())]
        _check(in_file, source, order, refusals)
        rankings[system] = in_file
    _refuse(refusals)
    notes = _comments(source)
    if extra:
        notes.append(f"{source.name}: {counted(extra, 'line')} with more than six columns; the rest was ignored.")
    near = [tie for lists in rankings.values() for ranking in lists if (tie := ranking.near_tie)]
    notes += [tie.warning(source.name) for tie in sorted(near)[:1]]
    packed = {system: _packed(lists, grades, order, tiebreak, same_numbers) for system, lists in rankings.items()}
    return packed, skipped, notes


def _rows(source: Source, read: Callable, refusals: list[Refusal]) -> Iterator[Any]:
    """The rows of the file. Its refusals are added to `refusals`, with one for an empty file."""
    empty = True
    for row in read(source):
        empty = False
        if isinstance(row, Refusal):
            refusals.append(row)
        else:
            yield row
    if empty:
        refusals.append(source.refusal(0, "it holds nothing to import", "Check that this is the file you meant."))


def _refuse(refusals: list[Refusal]) -> None:
    if refusals:
        raise Refused(sorted(refusals, key=lambda refusal: refusal.line))


def _comments(source: Source) -> list[str]:
    if not source.comments:
        return []
    lines = counted(source.comments, "comment (line that begins with #)", "comments (lines that begin with #)")
    return [f"{source.name}: {lines} skipped."]


def _ranking(system: str, query: int, lines: list, ranks: list, scores: list, documents: list) -> FoundRanking:
    return FoundRanking(
        system,
        query,
        np.zeros(len(lines), np.int64),
        np.array(lines),
        np.array(ranks, np.int64),
        np.array(scores, np.float64),
        documents,
    )


def _check(rankings: list[FoundRanking], source: Source, order: str | None, refusals: list[Refusal]) -> None:
    """Adds to `refusals` those that an import has for the rankings of one system."""
    contradicting = []
    for ranking in rankings:
        refusals += repeats(ranking, [source])
        if order != "score" and (each := contradictions(ranking, [source], agree=order is None)):
            contradicting.append(each)
    if contradicting:
        count = sum(each.count for each in contradicting)
        first, system = contradicting[0].first, rankings[0].system
        refusals.append(all_contradictions(first, system, count, len(contradicting), len(rankings)))


def _packed(
    rankings: list[FoundRanking], grades: Grades, order: str | None, tiebreak: bool, same_numbers: bool
) -> Rankings:
    length = np.zeros(len(grades.queries), np.int64)
    lines, scores, keys = [], [np.empty(0)], []
    for ranking in rankings:
        in_order = best_first(ranking, order)
        length[ranking.query] = len(in_order)
        scores.append(ranking.scores[in_order])
        listed = [ranking.documents[i] for i in in_order.tolist()]
        lines += [grades.line.get((ranking.query, key), -1) for key in listed]
        keys += listed
    line = np.array(lines, np.int64)
    own = (
        np.array([grades.number(key) for key in keys], np.int64)
        if same_numbers
        else np.arange(len(line)) + len(grades.line)
    )
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=np.where(line < 0, own, line),
        scores=np.concatenate(scores),
        tiebreak=_tiebreak(keys) if tiebreak else None,
    )


def _tiebreak(keys: list[str]) -> np.ndarray:
    """The place of each key in the order of trec_eval, by bytes, which is that of code points: int64[n]."""
    place = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], np.int64)
