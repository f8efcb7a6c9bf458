"""Rankings as arrays, and the results of a system query by query."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd

from ratings.formats.rankings import FoundRanking, in_32_bits
from ratings.importing.intake.document_keys import known_ids
from ratings.models import Collection, Ranking, System
from ratings.models.fields import PackedArrayField

from ..measures import Rankings
from ..measures.arrays import distinct
from ..measures.refusal import WrongOption
from .arrays import Record
from .keys import document_keys
from .sql import byte_rows

QUERIES_AT_A_TIME = 100  # whose rankings are read together
FIRST_UNSTORED = 1 << 32  # of the numbers of documents that are not stored: a ranking has 32 bits for an id


def results(collection: Collection, record: Record, system: str) -> Iterator[tuple[int, np.ndarray, list[float]]]:
    """The results of a system: (row in `record.queries`, documents best first, their scores) for each query.

    One database query for each chunk of queries. Results without scores get 1 / rank, as in an exported run.
    Queries without a document are skipped. ValueError where the rankings are no longer those of `record`.
    """
    rankings, pks = record.rankings[system], record.queries["pk"].tolist()
    rows_with_documents = np.flatnonzero(rankings.length).tolist()
    of_system = Ranking.objects.filter(system__collection=collection, system__name=system)
    for start in range(0, len(rows_with_documents), QUERIES_AT_A_TIME):
        chunk = rows_with_documents[start : start + QUERIES_AT_A_TIME]
        stored = of_system.filter(query__in=[pks[row] for row in chunk])
        # By the pk of the query: [documents, scores], scores None for a ranking without any.
        lists = {pk: arrays for pk, *arrays in stored.values_list("query_id", "documents", "scores")}
        for row in chunk:
            expected = rankings.documents[rankings.offsets[row] : rankings.offsets[row + 1]]
            # A ranking that was deleted meanwhile counts as an empty list, which is not the expected one.
            documents, scores = lists.get(pks[row], (expected[:0], None))
            if not np.array_equal(documents, expected):
                raise ValueError(f"the rankings of {system} were changed meanwhile; do it again.")
            if scores is None:
                scores = 1 / np.arange(1, len(documents) + 1)
            yield row, documents, scores.tolist()


def rankings_of(systems: Sequence[System], queries: pd.DataFrame, with_scores: bool) -> dict[str, Rankings]:
    """The rankings by the name of their system. One database query."""
    columns = ["documents", "scores"] if with_scores else ["documents"]
    # The driver returns packed bytes, which the fields turn into arrays.
    fields = [cast(PackedArrayField, Ranking._meta.get_field(name)) for name in columns]
    row_of_query = {pk: row for row, pk in enumerate(queries["pk"].tolist())}
    lists: dict[int, dict[int, dict]] = {system.pk: {} for system in systems}
    found = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", *columns)
    # Without systems, Django makes no SQL of `found`, and raises instead.
    for system, query, *packed in byte_rows(found) if systems else ():
        if query in row_of_query:
            arrays = {field.name: field.unpacked(value) for field, value in zip(fields, packed, strict=True)}
            lists[system][row_of_query[query]] = arrays
    return {system.name: _joined(lists[system.pk], len(queries), system.gaps) for system in systems}


def _joined(lists: dict[int, dict], queries: int, gaps: bool) -> Rankings:
    """The rankings of one system as one `Rankings`.

    lists: by the row of the query, the arrays of a ranking: `documents`, and `scores` if these were read, None for
    a ranking without scores. In the result these scores are nan; scores that were not read are None as a whole.
    queries: the number of all queries, also of those without a ranking.
    gaps: whether a query without a ranking was not answered, rather than with an empty list: see `System.gaps`.
    """
    rows = sorted(lists)
    documents = [lists[row]["documents"] for row in rows]
    length = np.zeros(queries, np.int64)
    length[rows] = list(map(len, documents))
    scores = []
    for row in rows:
        if "scores" in lists[row]:
            of_row = lists[row]["scores"]
            scores.append(np.full(length[row], np.nan) if of_row is None else of_row)
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=np.concatenate([np.empty(0, np.uint32), *documents]),
        scores=np.concatenate([np.empty(0), *scores]) if scores else None,
        present=np.isin(np.arange(queries), rows),
        gaps=gaps,
    )


def rankings_of_run(collection: Collection, queries: pd.DataFrame, found: Sequence[FoundRanking]) -> Rankings:
    """The rankings of a run that is not imported, from those that were `found`, each with its best result first.

    A document that is not stored has the same number in all of them, from FIRST_UNSTORED.
    """
    row_of_query = {pk: row for row, pk in enumerate(queries["pk"].tolist())}
    by_row = {row_of_query[ranking.query]: ranking for ranking in found}
    rankings = [by_row[row] for row in sorted(by_row)]
    # The keys sorted, each once, and of each result the place of its key among them.
    keys, key_place = np.unique([key for ranking in rankings for key in ranking.documents], return_inverse=True)
    ids = known_ids(collection, keys.tolist())  # 0 for a document that is not stored
    unstored = np.flatnonzero(ids == 0)
    ids[unstored] = FIRST_UNSTORED + np.arange(len(unstored))
    length = np.zeros(len(queries), np.int64)
    length[sorted(by_row)] = list(map(len, rankings))
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=ids[key_place],
        scores=np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)]),  # there may be none
        tiebreak=key_place,  # of equal scores the larger key is first, as in trec_eval
    )


def refuse_unscored(rankings: dict[str, Rankings], queries: pd.DataFrame, ties: str) -> None:
    """Raises WrongOption, a ValueError, for a system with a ranking without scores."""
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
    """The rankings with the order of document keys as tiebreak: of equal scores the larger key is first."""
    tied_rows = {name: _tied_rows(ranking) for name, ranking in rankings.items()}
    tied_documents = [rankings[name].documents[rows] for name, rows in tied_rows.items()]
    pks = distinct(np.concatenate([np.empty(0, np.uint32), *tied_documents]))
    keys = document_keys(pks.tolist())
    # Code points sort as their bytes in UTF-8 do, which is how trec_eval compares keys.
    index = np.searchsorted(pks, sorted(keys, key=keys.get))  # in `pks`, of the first key, the second, and so on
    # For each of `pks`, the place of its key in their order; 0 for a document that was deleted meanwhile.
    place_of_key = np.zeros(len(pks), np.int64)
    place_of_key[index] = np.arange(len(index))
    with_tiebreaks = {}
    for name, ranking in rankings.items():
        tiebreak = np.zeros(len(ranking.documents), np.int64)  # 0 where no other row has the score
        rows = tied_rows[name]
        tiebreak[rows] = place_of_key[np.searchsorted(pks, ranking.documents[rows])]
        with_tiebreaks[name] = replace(ranking, tiebreak=tiebreak)
    return with_tiebreaks


def _tied_rows(ranking: Rankings) -> np.ndarray:
    """The rows, in any order, whose score as a 32-bit float equals that of another row of the same query.

    Scores that are equal in 64 bits are among them. So the rows serve ties=score, and ties=trec_eval_9, which
    compares 32 bits.
    """
    rows = np.arange(len(ranking.documents))
    if not rows.size:
        return rows
    score = in_32_bits(ranking.scores)
    query = ranking.query
    # Each row but the last is compared with the next one.
    same_query = query[1:] == query[:-1]
    if (same_query & (score[1:] > score[:-1])).any():
        # A ranking does not descend: sort by score within each query, so that equal scores are neighbours. The
        # order by query stays, and so does `same_query`.
        rows = np.lexsort((score, query))
        score = score[rows]
    tied_with_next = same_query & (score[1:] == score[:-1])
    return rows[np.append(tied_with_next, False) | np.append(False, tied_with_next)]
