"""One file of qrels or runs as arrays, from the rows that an import reads, with the same refusals."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from evaluation.measures import Judgments, Rankings
from ratings.formats import trec
from ratings.formats.rankings import (
    FoundRanking,
    all_contradictions,
    best_first,
    contradictions,
    in_32_bits,
    near_tie,
    places_by_key,
    repeats,
    without_copies,
)
from ratings.formats.refusal import KEEP_ONE, Refusal, Refused
from ratings.formats.rows import Stretch, taken
from ratings.formats.source import Source
from ratings.words import counted, natural

QRELS_FIRST = "The qrels come first, and the runs behind them."


@dataclass(frozen=True, eq=False)
class Qrels:
    """Qrels by query: `documents[begin[i]:begin[i + 1]]` are those of query i. Document i has the number i."""

    queries: dict[str, int]  # the number of each key, in their natural order
    begin: np.ndarray  # int64[queries + 1]
    documents: Any  # an Arrow array of strings
    judgments: Judgments
    notes: list[str]
    # The number of each document of a run, by key, for the queries that it is not judged for.
    unjudged: dict[str, int] = field(default_factory=dict)

    def ranking(self, query: int, results: Stretch) -> "Ranking":
        """These results for the query, with the numbers of their documents."""
        import pyarrow as pa

        begin, end = self.begin[query : query + 2].tolist()
        # The judged documents come first, so their codes are the first.
        coded = pa.concat_arrays([self.documents[begin:end], results.documents]).dictionary_encode()
        codes = _codes(coded)[end - begin :].astype(np.int64)
        numbers = np.where(codes < end - begin, codes + begin, -1)
        return Ranking(results, numbers, has_repeats=np.bincount(codes).max(initial=0) > 1)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The results of one query by one system, in the order of their lines."""

    results: Stretch
    numbers: np.ndarray  # of the documents, -1 for those that are not judged for the query: int64[results]
    has_repeats: bool  # a document is in it twice

    @property
    def has_no_faults(self) -> bool:
        """Whether the ranks rise, the scores never rise and no document is repeated: then nothing is refused."""
        ranks, scores = self.results.ranks, self.results.scores
        in_order = (ranks[1:] > ranks[:-1]).all() and (scores[1:] <= scores[:-1]).all()
        return bool(in_order) and not self.has_repeats


def read_qrels(source: Source) -> Qrels:
    """The judgments in a file of qrels. Raises Refused."""
    import pyarrow as pa

    looks_like_run = trec.is_run(source.start)  # source.start: the beginning of the file
    refusals = []
    blocks = list(_rows(source, trec.read_grades, refusals))  # of lines: a dict of columns each
    if looks_like_run and not blocks:
        raise Refused([source.refusal(0, "it looks like a run, and should be qrels", QRELS_FIRST)])
    if not blocks:
        _refuse(refusals)  # `_rows` has added one at least
    # From here on arrays over all lines: the number of the line, its grade, its document, the number of its query.
    # In a block "grade" is dictionary-encoded: `_codes` gives the code of each line, "grades" the grade of a code.
    line = np.concatenate([block["line"] for block in blocks])
    grade = np.concatenate([np.array(block["grades"], float)[_codes(block["grade"])] for block in blocks])
    documents = pa.concat_arrays([block["document"] for block in blocks])
    # `unify_dictionaries` gives a key the same code in all blocks, an index in `keys`. Queries are numbered in the
    # natural order of their keys instead.
    coded_keys = pa.chunked_array([block["query"] for block in blocks]).unify_dictionaries().combine_chunks()
    keys = coded_keys.dictionary.to_pylist()
    queries = {key: number for number, key in enumerate(sorted(keys, key=natural))}
    number_of_code = np.array([queries[key] for key in keys])
    query = number_of_code[_codes(coded_keys)]
    first = _first_of_pair(query, documents)  # for each line, the position of the first line with its pair
    is_repeat = first != np.arange(len(first))  # whether an earlier line has the same query and document
    is_conflict = is_repeat & (grade != grade[first])
    for place in np.flatnonzero(is_conflict).tolist():
        problem = f"document {documents[place]} has another grade for the same query"
        other = source.at(int(line[first[place]]))
        refusals.append(source.refusal(int(line[place]), problem, KEEP_ONE, other=other))
    _refuse(refusals)  # raises Refused if there are any
    kept = np.flatnonzero(~is_repeat)
    # By query, since `Qrels` has the documents of a query together.
    kept = kept[np.argsort(query[kept], kind="stable")]
    notes = _comments(source)
    if repeat_count := int(np.count_nonzero(is_repeat)):
        notes.append(f"{source.name}: {counted(repeat_count, 'line repeats', 'lines repeat')} an earlier one.")
    begin = np.searchsorted(query[kept], np.arange(len(queries) + 1))  # where each query begins, and the end
    # Each judgment has a document number of its own: its place in `Qrels.documents`.
    judgments = Judgments(len(queries), query[kept], np.arange(len(kept)), grade[kept])
    return Qrels(queries, begin, taken(documents, kept), judgments, notes)


def _codes(coded: Any) -> np.ndarray:
    """The code of each element of a dictionary-encoded Arrow array, an index in its `dictionary`: int32[n]."""
    return np.from_dlpack(coded.indices)  # `to_numpy` would first import pandas


def _first_of_pair(query: np.ndarray, documents: Any) -> np.ndarray:
    """The position of the first line with the same query and document, for each line: int64[lines]."""
    # A number for each pair: the code of a document is less than the number of documents.
    pair = query * len(documents) + _codes(documents.dictionary_encode())
    by_pair = np.argsort(pair, kind="stable")  # lines of one pair together, the first line first
    is_repeat = np.append(False, pair[by_pair][1:] == pair[by_pair][:-1])
    first = np.empty(len(pair), np.int64)
    first[by_pair] = by_pair[np.maximum.accumulate(np.where(is_repeat, 0, np.arange(len(pair))))]
    return first


def read_run(
    source: Source,
    qrels: Qrels,
    order: str | None,
    tiebreak: bool,
    same_numbers: bool,
    keep_first: bool = False,
    without_own: bool = False,
) -> tuple[dict[str, Rankings], Counter, list[str]]:
    """(rankings by run tag, number of lines by query that the qrels lack, notes) of a run file. Raises Refused.

    order, tiebreak, same_numbers, keep_first, without_own: as in `files.load`.
    """
    looks_like_qrels = trec.is_qrels(source.start)
    refusals: list[Refusal] = []
    systems: dict[str, dict[int, list[Stretch]]] = {}  # by run tag, then by the number of the query
    skipped: Counter = Counter()
    for stretch in _rows(source, trec.read_run, refusals):
        stretches_of_query = systems.setdefault(stretch.system, {})
        query = qrels.queries.get(stretch.query)
        if query is None:
            skipped[stretch.query] += len(stretch)
        else:
            stretches_of_query.setdefault(query, []).append(stretch)
    if looks_like_qrels and not systems:
        raise Refused([source.refusal(0, "it looks like qrels, and should be a run", QRELS_FIRST)])
    joined = {
        system: {query: _joined(stretches[query]) for query in sorted(stretches)}
        for system, stretches in systems.items()
    }
    notes = _comments(source)
    if without_own:
        notes += _thin_out(joined, _without_own, source, "results that are the query itself")
    if keep_first:
        keep = partial(without_copies, order=order)
        notes += _thin_out(joined, keep, source, "results whose document has a better place")
    rankings = {
        system: {query: qrels.ranking(query, results) for query, results in of_system.items()}
        for system, of_system in joined.items()
    }
    for of_system in rankings.values():
        refusals += _refusals(of_system, source, order)
    _refuse(refusals)
    notes += source.notes
    all_results = [results for of_system in joined.values() for results in of_system.values()]
    near_ties = [near_tie(results.lines, results.scores) for results in all_results]
    if any(near_ties):
        notes.append(min(filter(None, near_ties)).warning(source.name))
    packed = {
        system: _packed(of_system, qrels, order, tiebreak, same_numbers) for system, of_system in rankings.items()
    }
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
    lines = counted(source.comments, "comment (line that begins with #)", "comments (lines that begin with #)")
    return [f"{source.name}: {lines} skipped."] if source.comments else []


def _joined(parts: list[Stretch]) -> Stretch:
    """The stretches of one ranking as one, in their order."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    lines, ranks, scores = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lines", "ranks", "scores")
    )
    documents = pa.concat_arrays([part.documents for part in parts])
    return Stretch(parts[0].query, parts[0].system, lines, documents, ranks, scores)


def _without_own(ranking: Stretch) -> np.ndarray:
    """The positions of all results but the document that has the key of the query."""
    return np.flatnonzero([key != ranking.query for key in ranking.documents.to_pylist()])


def _thin_out(
    rankings: dict[str, dict[int, Stretch]], keep: Callable[[Stretch], np.ndarray], source: Source, what: str
) -> list[str]:
    """Replaces each ranking in `rankings` by its results at the positions that `keep` returns.

    rankings: by run tag and query. Returns a list of one note on how many results were left out; [] where none
    was. what: these results in words, in the plural.
    """
    left_out = 0
    for of_system in rankings.values():
        for query, results in of_system.items():
            kept = keep(results)
            left_out += len(results) - len(kept)
            columns = {name: getattr(results, name)[kept] for name in ("lines", "ranks", "scores")}
            of_system[query] = replace(results, documents=taken(results.documents, kept), **columns)
    return [f"{source.name}: {what}: {left_out:,} left out."] if left_out else []


def _refusals(rankings: dict[int, Ranking], source: Source, order: str | None) -> Iterator[Refusal]:
    """The refusals that an import has for the rankings of one system, by the number of their query.

    One for each repeated document, and one for all contradictions between ranks and scores together.
    """
    contradictory = []  # for each ranking with contradictions (their number, the refusal of the first of them)
    for query, ranking in rankings.items():
        if ranking.has_no_faults:
            continue
        results = ranking.results
        found = FoundRanking(
            results.system,
            query,
            files=np.zeros(len(results), np.int64),  # the first and only source
            lines=results.lines,
            ranks=results.ranks,
            scores=results.scores,
            documents=results.documents.to_pylist(),
        )
        yield from repeats(found, [source])
        # With the order "score" ranks do not count. Scores have to agree with the ranks only where `order` does
        # not say which of them counts.
        if order != "score" and (in_ranking := contradictions(found, [source], agree=order is None)):
            contradictory.append(in_ranking)
    if contradictory:
        counts, refusals = zip(*contradictory, strict=True)
        # `results` comes from the loop: all rankings are of the same system.
        yield all_contradictions(refusals[0], results.system, sum(counts), len(counts), rankings=len(rankings))


def _packed(
    rankings: dict[int, Ranking], qrels: Qrels, order: str | None, tiebreak: bool, same_numbers: bool
) -> Rankings:
    """These rankings of one system, by the number of their query, as arrays with the best result first.

    A document that is judged for the query has its number in `qrels`, an unjudged one a higher number. With
    `same_numbers` that is the number of its key in `qrels.unjudged`, the same in all rankings of all systems;
    without, each result has a number of its own. order: "score" puts the highest score first, "rank" and None the
    lowest rank. tiebreak: whether to add the order of documents with equal scores.
    """
    length = np.zeros(len(qrels.queries), np.int64)  # results by query; 0 where the system has no ranking
    length[list(rankings)] = [len(ranking.results) for ranking in rankings.values()]
    offsets = np.append(0, np.cumsum(length))
    judged_count, size = len(qrels.documents), int(offsets[-1])
    end = judged_count + size
    # A number for each result. It is replaced below, but for unjudged documents without `same_numbers`. With it,
    # numbers go beyond `end`, yet not beyond 32 bits: `qrels.unjudged` cannot hold so many keys in memory.
    documents = np.arange(judged_count, end, dtype=np.uint32 if end < 1 << 32 else np.int64)
    scores = np.empty(size)
    ties = np.empty(size, np.int64) if tiebreak else None
    for query, ranking in rankings.items():
        results = ranking.results
        positions = best_first(results, order)
        rows = slice(offsets[query], offsets[query + 1])  # of this ranking in the arrays of all
        if same_numbers:
            # A key that no ranking had before gets the next number, also that of a judged document: it can be
            # unjudged for another query. For this query its number is replaced below.
            keys = taken(results.documents, positions).to_pylist()
            documents[rows] = [qrels.unjudged.setdefault(key, judged_count + len(qrels.unjudged)) for key in keys]
        numbers = ranking.numbers[positions]  # in the qrels; -1: unjudged
        documents[rows] = np.where(numbers >= 0, numbers, documents[rows])
        scores[rows] = results.scores[positions]
        if tiebreak:
            # By the key of the document, among scores that are equal as trec_eval compares them.
            ties[rows] = places_by_key(results, in_32_bits(results.scores))[positions]
    return Rankings(offsets, documents, scores, tiebreak=ties)
