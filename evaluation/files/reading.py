"""One file of qrels or runs as arrays, from the rows that an import reads, with the same refusals."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from evaluation.measures import Judgments, Rankings
from ratings.formats import trec, values
from ratings.formats.rankings import (
    FoundRanking,
    all_contradictions,
    best_first,
    by_key,
    contradictions,
    in_32_bits,
    near_tie,
    repeats,
    without_copies,
)
from ratings.formats.refusal import KEEP_ONE, Refusal, Refused
from ratings.formats.rows import Stretch, taken
from ratings.formats.source import Source
from ratings.words import counted

QRELS_FIRST = "The qrels come first, and the runs behind them."


@dataclass(frozen=True, eq=False)
class Qrels:
    """Qrels by query: `documents[begin[i]:begin[i + 1]]` are those of query i. Document i has the number i."""

    queries: dict[str, int]  # the number of each key, in their natural order
    begin: np.ndarray  # int64[queries + 1]
    documents: Any  # an Arrow array of strings
    judgments: Judgments
    notes: list[str]
    others: dict[str, int] = field(default_factory=dict)  # numbers of unjudged documents, by key

    def judged(self, query: int, documents: Any) -> np.ndarray:
        """The numbers of these documents, -1 for those that are not judged for the query: int64[n]."""
        from pyarrow import compute

        begin, end = self.begin[query : query + 2].tolist()
        place = compute.index_in(documents, self.documents[begin:end])
        # By its buffers: fill_null and to_numpy would first import pandas.
        found, places = place.buffers()
        places = np.frombuffer(places, np.int32, len(place)) + np.int64(begin)
        if found is None:
            return places
        found = np.unpackbits(np.frombuffer(found, np.uint8), count=len(place), bitorder="little")
        return np.where(found, places, -1)


def read_qrels(source: Source) -> Qrels:
    """The judgments in a file of qrels. Raises Refused."""
    import pyarrow as pa

    looks_like_run, refusals = trec.is_run(source.start), []
    parts = list(_rows(source, trec.read_grades, refusals))
    if looks_like_run and not parts:
        raise Refused([source.refusal(0, "it looks like a run, and should be qrels", QRELS_FIRST)])
    if not parts:
        _refuse(refusals)
    lines = np.concatenate([part["line"] for part in parts])
    grade = np.array([float(grade) for part in parts for grade in part["grade"]])
    documents = pa.concat_arrays([part["document"] for part in parts])
    coded = pa.chunked_array([part["query"] for part in parts]).unify_dictionaries().combine_chunks()
    keys = coded.dictionary.to_pylist()
    queries = {key: number for number, key in enumerate(sorted(keys, key=values.natural))}
    query = np.array([queries[key] for key in keys])[np.from_dlpack(coded.indices)]
    # Equal pairs come together, the first line first.
    pair = query * len(documents) + np.from_dlpack(documents.dictionary_encode().indices)
    order = np.argsort(pair, kind="stable")
    again = np.append(False, pair[order][1:] == pair[order][:-1])
    first = order[np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))]
    same = again & (grade[order] == grade[first])
    conflicting = again & ~same
    for row, first_row in zip(order[conflicting].tolist(), first[conflicting].tolist(), strict=True):
        problem = f"document {documents[row]} has another grade for the same query"
        other = source.at(int(lines[first_row]))
        refusals.append(source.refusal(int(lines[row]), problem, KEEP_ONE, other=other))
    _refuse(refusals)
    kept = np.sort(order[~again])
    kept = kept[np.argsort(query[kept], kind="stable")]
    notes = _comments(source)
    if repeated := int(same.sum()):
        notes.append(f"{source.name}: {counted(repeated, 'line repeats', 'lines repeat')} an earlier one.")
    begin = np.searchsorted(query[kept], np.arange(len(queries) + 1))
    judgments = Judgments(len(queries), query[kept], np.arange(len(kept)), grade[kept])
    return Qrels(queries, begin, taken(documents, kept), judgments, notes)


def read_run(
    source: Source,
    qrels: Qrels,
    order: str | None,
    tiebreak: bool,
    same_numbers: bool,
    keep_first: bool = False,
    without_own: bool = False,
) -> tuple[dict[str, Rankings], Counter, list[str]]:
    """The rankings by run tag, the numbers of lines for queries not in the qrels, and notes. Raises Refused.

    order, tiebreak, same_numbers, keep_first, without_own: as in `files.load`.
    """
    looks_like_qrels = trec.is_qrels(source.start)
    refusals, systems, skipped = [], {}, Counter()
    for row in _rows(source, trec.read_run, refusals):
        found = systems.setdefault(row.system, {})
        if row.query in qrels.queries:
            found.setdefault(qrels.queries[row.query], []).append(row)
        else:
            skipped[row.query] += len(row)
    if looks_like_qrels and not systems:
        raise Refused([source.refusal(0, "it looks like qrels, and should be a run", QRELS_FIRST)])
    rankings = {
        system: {query: _joined(found[query]) for query in sorted(found)} for system, found in systems.items()
    }
    notes = _comments(source)
    if without_own:
        notes += _thinned(rankings, _without_own, source, "results that are the query itself")
    if keep_first:
        keep = partial(without_copies, order=order)
        notes += _thinned(rankings, keep, source, "results whose document has a better place")
    for each in rankings.values():
        refusals += _refusals(each, source, order)
    _refuse(refusals)
    notes += source.notes
    every = [ranking for each in rankings.values() for ranking in each.values()]
    if near := list(filter(None, (near_tie(ranking.lines, ranking.scores) for ranking in every))):
        notes.append(min(near).warning(source.name))
    packed = {system: _packed(each, qrels, order, tiebreak, same_numbers) for system, each in rankings.items()}
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


def _joined(parts: list[Stretch]) -> Stretch:
    """One ranking, of which the file has these parts."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    lines, ranks, scores = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lines", "ranks", "scores")
    )
    documents = pa.concat_arrays([part.documents for part in parts])
    return Stretch(parts[0].query, parts[0].system, lines, documents, ranks, scores)


def _without_own(ranking: Stretch) -> np.ndarray:
    """The positions of the results, without the document that has the key of the query."""
    return np.flatnonzero([key != ranking.query for key in ranking.documents.to_pylist()])


def _thinned(
    rankings: dict[str, dict[int, Stretch]], keep: Callable[[Stretch], np.ndarray], source: Source, what: str
) -> list[str]:
    """The note on how many results are left out, after keeping those at the positions that `keep` returns."""
    before = after = 0
    for of_system in rankings.values():
        for query, each in of_system.items():
            kept = keep(each)
            before, after = before + len(each), after + len(kept)
            columns = {name: getattr(each, name)[kept] for name in ("lines", "ranks", "scores")}
            of_system[query] = replace(each, documents=taken(each.documents, kept), **columns)
    return [f"{source.name}: {what}: {before - after:,} left out."] if after < before else []


def _refusals(rankings: dict[int, Stretch], source: Source, order: str | None) -> Iterator[Refusal]:
    """Those that an import has for the rankings of one system."""
    contradicting = []
    for query, each in rankings.items():
        if _is_plain(each):
            continue
        found = _found(query, each)
        yield from repeats(found, [source])
        if order != "score" and (wrong := contradictions(found, [source], agree=order is None)):
            contradicting.append(wrong)
    if contradicting:
        count, first = sum(count for count, _ in contradicting), contradicting[0][1]
        yield all_contradictions(first, found.system, count, len(contradicting), len(rankings))


def _is_plain(ranking: Stretch) -> bool:
    """Whether the lines are in the order of ranks and scores, and no document is repeated: nothing is refused."""
    in_order = (ranking.ranks[1:] > ranking.ranks[:-1]).all() and (ranking.scores[1:] <= ranking.scores[:-1]).all()
    return bool(in_order) and len(ranking.documents.unique()) == len(ranking)


def _found(query: int, each: Stretch) -> FoundRanking:
    files, documents = np.zeros(len(each), np.int64), each.documents.to_pylist()
    return FoundRanking(each.system, query, files, each.lines, each.ranks, each.scores, documents)


def _packed(
    rankings: dict[int, Stretch], qrels: Qrels, order: str | None, tiebreak: bool, same_numbers: bool
) -> Rankings:
    length = np.zeros(len(qrels.queries), np.int64)
    length[list(rankings)] = [len(each) for each in rankings.values()]
    offsets = np.append(0, np.cumsum(length))
    judged, size = len(qrels.judgments.grade), int(offsets[-1])
    # An unjudged result has a number of its own.
    documents = np.arange(judged, judged + size, dtype=np.uint32 if judged + size < 1 << 32 else np.int64)
    scores, ties = np.empty(size), np.empty(size, np.int64) if tiebreak else None
    for query, each in rankings.items():
        part, in_order = slice(*offsets[query : query + 2].tolist()), best_first(each, order)
        line = qrels.judged(query, each.documents)[in_order]
        if same_numbers:
            keys = taken(each.documents, in_order).to_pylist()
            documents[part] = [qrels.others.setdefault(key, judged + len(qrels.others)) for key in keys]
        np.copyto(documents[part], line, where=line >= 0, casting="unsafe")
        scores[part] = each.scores[in_order]
        if tiebreak:
            ties[part] = by_key(each, in_32_bits(each.scores))[in_order]
    return Rankings(offsets, documents, scores, tiebreak=ties)
