"""Rankings as arrays, and the results of a system query by query."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from ratings.formats.rankings import in_32_bits
from ratings.models import Collection, Ranking

from ..measures import Rankings
from ..measures.arrays import distinct
from ..measures.refusal import WrongOption
from .arrays import Record
from .keys import document_keys
from .sql import byte_rows

QUERIES_AT_A_TIME = 100  # whose rankings are read together


def results(collection: Collection, record: Record, system: str) -> Iterator[tuple[int, np.ndarray, list[float]]]:
    """The results of a system: (row in `record.queries`, documents best first, their scores) for each query.

    One database query for each chunk of queries. Results without scores get 1 / rank, as in an exported run.
    Queries without a document are skipped. ValueError where the rankings are no longer those of `record`.
    """
    rankings, queries = record.rankings[system], record.queries["pk"].tolist()
    with_documents = np.flatnonzero(rankings.length).tolist()
    for start in range(0, len(with_documents), QUERIES_AT_A_TIME):
        places = with_documents[start : start + QUERIES_AT_A_TIME]
        of_system = Ranking.objects.filter(system__collection=collection, system__name=system)
        rows = of_system.filter(query__in=[queries[place] for place in places])
        read = {query: lists for query, *lists in rows.values_list("query_id", "documents", "scores")}
        for place in places:
            expected = rankings.documents[slice(*rankings.offsets[place : place + 2])]
            documents, scores = read.get(queries[place], (expected[:0], None))
            if not np.array_equal(documents, expected):
                raise ValueError(f"the rankings of {system} were changed meanwhile; do it again.")
            if scores is None:
                scores = 1 / np.arange(1, len(documents) + 1)
            yield place, documents, scores.tolist()


def rankings_of(systems: dict[int, str], queries: pd.DataFrame, with_scores: bool) -> dict[str, Rankings]:
    """The rankings by system; `systems` has names by pk. One database query."""
    columns = ["documents"] + ["scores"] * with_scores
    unpack = [Ranking._meta.get_field(name).to_python for name in columns]
    index = {pk: place for place, pk in enumerate(queries["pk"].tolist())}
    lists = {pk: {} for pk in systems}
    rows = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", *columns)
    for system, query, *packed in byte_rows(rows) if systems else ():
        if query in index:
            lists[system][index[query]] = [array(value) for array, value in zip(unpack, packed, strict=True)]
    return {name: _packed(lists[pk], len(queries)) for pk, name in systems.items()}


def _packed(lists: dict[int, list[np.ndarray]], queries: int) -> Rankings:
    """One system's rankings; scores are nan where a ranking has none.

    lists: by query number, the documents of the ranking, and its scores if these were read.
    """
    order = sorted(lists)
    documents = [lists[query][0] for query in order]
    length = np.zeros(queries, np.int64)
    length[order] = [len(each) for each in documents]
    present = np.zeros(queries, bool)
    present[order] = True
    scores = []
    for ranked, *read in (lists[query] for query in order):
        scores += [np.full(len(ranked), np.nan) if each is None else each for each in read]
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=np.concatenate([np.empty(0, np.uint32), *documents]),
        scores=np.concatenate([np.empty(0), *scores]) if scores else None,
        present=present,
    )


def refuse_unscored(rankings: dict[str, Rankings], queries: pd.DataFrame, ties: str) -> None:
    """ValueError for a system with a ranking without scores."""
    for name, ranking in rankings.items():
        if ranking.scores is None or not np.isnan(ranking.scores).any():
            continue
        lacking = queries["key"].iloc[np.unique(ranking.query[np.isnan(ranking.scores)])]
        some = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
        raise WrongOption(
            "ties",
            f"ties={ties} needs scores, and {name} has none for {len(lacking)} queries: {some}. Use ties=rank.",
        )


def with_tiebreak(rankings: dict[str, Rankings]) -> dict[str, Rankings]:
    """The rankings with the order of document keys as tiebreak, for documents with equal scores."""
    tied = {name: _tied(ranking) for name, ranking in rankings.items()}
    among = [rankings[name].documents[rows] for name, rows in tied.items()]
    shared = distinct(np.concatenate([np.empty(0, np.uint32), *among]))
    keys = document_keys(shared.tolist())
    # Code points sort as their bytes in UTF-8 do, which is how trec_eval compares keys.
    place = np.zeros(len(shared), np.int64)
    place[np.searchsorted(shared, sorted(keys, key=keys.get))] = np.arange(len(keys))
    broken = {}
    for name, ranking in rankings.items():
        tiebreak = np.zeros(len(ranking.documents), np.int64)
        tiebreak[tied[name]] = place[np.searchsorted(shared, ranking.documents[tied[name]])]
        broken[name] = replace(ranking, tiebreak=tiebreak)
    return broken


def _tied(ranking: Rankings) -> np.ndarray:
    """Rows whose score equals that of another row of the query in 32 bits. No others are equal in 64 bits."""
    rows = np.arange(len(ranking.documents))
    if not rows.size:
        return rows
    score = in_32_bits(ranking.scores)
    query = ranking.query
    within = query[1:] == query[:-1]
    if (within & (score[1:] > score[:-1])).any():
        rows = np.lexsort((score, query))
        score = score[rows]
    equal = within & (score[1:] == score[:-1])
    return rows[np.append(equal, False) | np.append(False, equal)]
