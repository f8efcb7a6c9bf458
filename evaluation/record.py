"""The one door to `ratings`: rows of the database become arrays. Reads only, and knows no measure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain

import numpy as np
import pandas as pd

from ratings.models import Collection, Document, Grade, Query, Ranking, Rater, Rating, System

from .judgments import Ratings
from .measures import Rankings

# SQLite takes at most 32,766 parameters in one statement.
KEYS_AT_A_TIME = 20_000


@dataclass(frozen=True, eq=False)
class Record:
    """A collection as arrays. A query's index is its row in `queries`; a document's number is its pk."""

    collection: str  # slug
    queries: pd.DataFrame  # pk, key, text, weight; in the natural order of keys: q2 before q10
    systems: tuple[str, ...]  # in the order of names
    ratings: Ratings
    rankings: dict[str, Rankings]  # by system


def load(collection: Collection, systems: Iterable[str] | None = None, ties: str = "rank") -> Record:
    """Queries, grades of human raters, and rankings of the named systems (None: all of them).

    Five database queries. Scores are read only where `ties` wants them, and for ties="score" also, with one
    query for each 20,000, the keys of the documents that share a score. ValueError for an unknown system, or
    for one without the scores that `ties` needs.
    """
    queries = _queries(collection)
    names = _systems(collection, systems)
    rankings = _rankings(names, queries, with_scores=ties != "rank")
    if ties != "rank":
        _refuse_unscored(rankings, queries, ties)
    return Record(
        collection=collection.slug,
        queries=queries,
        systems=tuple(names.values()),
        ratings=_ratings(collection, queries),
        rankings=_with_tiebreak(rankings) if ties == "score" else rankings,
    )


def version(collection: Collection) -> tuple:
    """What tells a state of the record from every other. One database query, always before the rows are read.

    Rows can then only be newer than the version they are kept under, and who comes after them asks for the
    next version. The time of creation tells a collection from one whose making was rolled back.
    """
    return Collection.objects.values_list("pk", "created_at", "version", "slug").get(pk=collection.pk)


def document_keys(pks: Iterable[int]) -> dict[int, str]:
    """The key of each document. One database query for each 20,000 of them."""
    pks = list(pks)
    keys = {}
    for start in range(0, len(pks), KEYS_AT_A_TIME):
        chunk = Document.objects.filter(pk__in=pks[start : start + KEYS_AT_A_TIME])
        keys.update(chunk.values_list("pk", "key"))
    return keys


def unknown_system(name: str, known: Sequence[str]) -> str:
    """What to say of a system that is not there, with the nearest names."""
    near = get_close_matches(name, known)
    if near:
        return f"unknown system {name!r}; did you mean {' or '.join(near)}?"
    return f"unknown system {name!r}; " + (f"known are {', '.join(known)}" if known else "there are none yet")


def natural(key: str) -> tuple:
    """What to sort keys by, so that numbers in them count as numbers: 2 before 10, q2 before q10."""
    return (*(int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", key))), key)


def _queries(collection: Collection) -> pd.DataFrame:
    rows = Query.objects.filter(collection=collection).values_list("pk", "key", "text", "weight")
    return pd.DataFrame(sorted(rows, key=lambda row: natural(row[1])), columns=["pk", "key", "text", "weight"])


def _systems(collection: Collection, chosen: Iterable[str] | None) -> dict[int, str]:
    """Names by pk, in the order of names: as Python sorts them, for databases differ in that."""
    rows = System.objects.filter(collection=collection).values_list("pk", "name")
    known = dict(sorted(rows, key=lambda row: row[1]))
    if chosen is None:
        return known
    chosen = set(chosen)
    unknown = sorted(chosen - set(known.values()))
    if unknown:
        raise ValueError(unknown_system(unknown[0], list(known.values())))
    return {pk: name for pk, name in known.items() if name in chosen}


def _ratings(collection: Collection, queries: pd.DataFrame) -> Ratings:
    """Machine raters are left out: their grades are not human judgments."""
    rows = (
        Rating.objects.filter(rater__collection=collection, grade__isnull=False)
        .exclude(rater__kind=Rater.Kind.MACHINE)
        .values_list("pair__query_id", "pair__document_id", "rater_id", "grade_id")
    )
    numbers = np.fromiter(chain.from_iterable(rows.iterator()), np.int64)
    query, document, rater, grade = numbers.reshape(-1, 4).T
    scale = dict(Grade.objects.filter(collection=collection).values_list("pk", "value"))
    query = _index(query, queries["pk"])
    grade = _index(grade, list(scale))
    # A query or grade can go between two reads; the version that went up with it brings the next reader here.
    there = (query >= 0) & (grade >= 0)
    values = np.array(list(scale.values()), np.float64)
    return Ratings(len(queries), query[there], document[there], rater[there], values[grade[there]])


def _index(pks: np.ndarray, known: Iterable[int]) -> np.ndarray:
    """The place of each of `pks` in `known`, -1 for those that are not there."""
    known = np.asarray(known, np.int64)
    if not known.size:
        return np.full(len(pks), -1)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, pks, sorter=order), known.size - 1)]
    return np.where(known[place] == pks, place, -1)


def _rankings(systems: dict[int, str], queries: pd.DataFrame, with_scores: bool) -> dict[str, Rankings]:
    columns = ["system_id", "query_id", "documents"] + ["scores"] * with_scores
    index = {pk: place for place, pk in enumerate(queries["pk"].tolist())}
    lists = {pk: {} for pk in systems}
    for system, query, *arrays in Ranking.objects.filter(system__in=systems).values_list(*columns).iterator():
        if query in index:
            lists[system][index[query]] = arrays
    return {name: _packed(lists[pk], len(queries)) for pk, name in systems.items()}


def _packed(lists: dict[int, list[np.ndarray]], queries: int) -> Rankings:
    """One system's rankings, by query index, in one piece; nan where a ranking came without scores."""
    order = sorted(lists)
    length = np.zeros(queries, np.int64)
    length[order] = [len(lists[query][0]) for query in order]
    present = np.zeros(queries, bool)
    present[order] = True
    documents, *scores = zip(*(lists[query] for query in order), strict=True) if order else ([],)
    if scores:
        filled = (np.full(len(d), np.nan) if s is None else s for d, s in zip(documents, *scores, strict=True))
        scores = [np.concatenate([np.empty(0), *filled])]
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=np.concatenate([np.empty(0, np.uint32), *documents]),
        scores=scores[0] if scores else None,
        present=present,
    )


def _refuse_unscored(rankings: dict[str, Rankings], queries: pd.DataFrame, ties: str) -> None:
    for name, ranking in rankings.items():
        if ranking.scores is None or not np.isnan(ranking.scores).any():
            continue
        lacking = queries["key"].iloc[np.unique(ranking.query[np.isnan(ranking.scores)])]
        some = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
        raise ValueError(
            f"ties={ties} needs scores, and {name} has none for {len(lacking)} queries: {some}. Use ties=rank"
        )


def _with_tiebreak(rankings: dict[str, Rankings]) -> dict[str, Rankings]:
    """The rankings with the order of document keys beside every document that shares its score with another."""
    tied = {name: _tied(ranking) for name, ranking in rankings.items()}
    among = [rankings[name].documents[rows] for name, rows in tied.items()]
    shared = np.unique(np.concatenate([np.empty(0, np.uint32), *among]))
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
    """Rows whose score another row of the same query has, as 32-bit numbers, which trec_eval keeps."""
    rows = np.arange(len(ranking.documents))
    if not rows.size:
        return rows
    with np.errstate(over="ignore"):
        score = ranking.scores.astype(np.float32)
    query = ranking.query
    within = query[1:] == query[:-1]
    if (within & (score[1:] > score[:-1])).any():
        rows = np.lexsort((score, query))
        score = score[rows]
    equal = within & (score[1:] == score[:-1])
    return rows[np.append(equal, False) | np.append(False, equal)]
