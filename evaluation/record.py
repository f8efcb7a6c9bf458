"""The one door to `ratings`: rows of the database become arrays. Reads only, and knows no measure."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from functools import cache, cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from django.db import connection
from django.db.models import BigIntegerField, Exists, Func, OuterRef, QuerySet, Value
from django.db.models.functions import Coalesce

from ratings.formats.values import natural
from ratings.models import (
    Adjudication,
    Collection,
    Document,
    Grade,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    System,
)

from .judgments import Ratings
from .measures import Judgments, Rankings
from .measures.arrays import distinct

# SQLite takes at most 32,766 parameters in one statement.
KEYS_AT_A_TIME = 20_000
ROWS_AT_A_TIME = 10_000

NO_GRADE = NO_RATER = 0  # a key that none has
RANKINGS_AT_A_TIME = 500

# Of a few queries it is quicker to name them than to read the pairs of all.
FEW_QUERIES = 500


@dataclass(frozen=True, eq=False)
class Record:
    """A collection as arrays. A query's index is its row in `queries`; a document's number is its pk."""

    collection: str  # slug
    queries: pd.DataFrame  # pk, key, text, weight, tags; in the natural order of keys: q2 before q10
    systems: tuple[str, ...]  # in the order of names
    ratings: Ratings | None  # None where they were let go of
    values: "_Values"
    rankings: dict[str, Rankings]  # by system

    @cached_property
    def unrated(self) -> "Record":
        """The same without ratings, which are what changes most: to be kept for long."""
        return replace(self, ratings=None)

    def places(self, queries: Iterable[int]) -> np.ndarray:
        """The rows of some queries, given by pk; those that are not there are left out."""
        pk = self.queries["pk"].to_numpy()
        return np.flatnonzero(np.isin(pk, list(queries), kind="sort"))  # the quickest for a few


@dataclass(frozen=True, eq=False)
class Opinions:
    """All that people said of pairs, row by row, "cannot judge" among it. Machines' ratings are no part of it."""

    queries: pd.DataFrame  # as in Record
    scale: list[float]  # the grades, lowest first
    raters: dict[int, str]  # names by pk, in the order of names; those without a rating, too
    machines: int  # raters that were left out
    query: np.ndarray  # int64[n], a row in `queries`
    document: np.ndarray  # int64[n], pks
    rater: np.ndarray  # int64[n], pks
    grade: np.ndarray  # float64[n], nan for "cannot judge"
    moment: np.ndarray  # int64[n], when it was first said, in seconds since 1970


class Terms(NamedTuple):
    """What raters are told: the versions of scale and guidelines (0: there are none), and the grades."""

    scale_version: int
    guidelines_version: int
    grades: list[tuple[str, str]]  # value and label, lowest first


class Version(NamedTuple):
    """What tells a state of the record from every other."""

    collection: int
    created_at: datetime  # tells a collection from one whose making was rolled back
    slug: str
    of_all: int  # goes up where more changes than the judgments of single queries
    number: int  # goes up with every change

    @property
    def basis(self) -> tuple:
        """What is the same in two states that differ only in the judgments of some queries."""
        return self[:-1]


def version(collection: Collection) -> Version:
    """The present state. One database query, always before the rows are read.

    Rows can then only be newer than the version they are kept under, and who comes after them asks for the
    next version.
    """
    with connection.cursor() as cursor:
        cursor.execute(_version_statement(), [collection.pk])
        row = cursor.fetchone()
    if row is None:
        raise Collection.DoesNotExist
    return Version(*row)


def changed_queries(collection: Collection, since: int) -> list[int]:
    """The queries whose judgments changed after the version `since`, by pk. One database query."""
    with connection.cursor() as cursor:
        cursor.execute(_changed_statement(), [collection.pk, since])
        return [pk for (pk,) in cursor.fetchall()]


# Every page asks for these. To write their SQL takes longer than to run it, so that it is written once.


@cache
def _version_statement() -> str:
    columns = ("pk", "created_at", "slug", "version_of_all", "version")
    return _sql(Collection.objects.order_by().filter(pk=0).values_list(*columns))


@cache
def _changed_statement() -> str:
    acts = RatingEvent.objects.order_by().filter(collection_id=0, version__gt=0)
    return _sql(acts.values_list("pair__query").distinct())


@cache
def _statement(queries: int) -> str:
    """The ratings of so many queries and, as if by NO_RATER, their adjudications: one trip to the database.

    The parameters are the keys of the queries, NO_RATER, and the keys again.
    """
    some = range(queries)
    ratings, adjudications = _rows(
        *(model.objects.filter(pair__query__in=some) for model in (Rating, Adjudication))
    )
    by_nobody = adjudications.values_list("pair__query_id", "pair__document_id", Value(NO_RATER), "grade_id")
    return f"{_sql(ratings)} UNION ALL {_sql(by_nobody)}"


def _sql(rows: QuerySet) -> str:
    return rows.query.sql_with_params()[0]


def load(
    collection: Collection,
    systems: Iterable[str] | None = None,
    ties: str = "rank",
) -> Record:
    """Queries, grades of human raters, adjudications, and rankings of the named systems (None: all of them).

    Seven database queries. Scores are read only where `ties` wants them, and for ties="score" also, with one
    query for each 20,000, the keys of the documents that share a score. ValueError for an unknown system, or for
    one without the scores that `ties` needs.
    """
    queries, names = _queries(collection), _systems(collection, systems)
    rankings = _rankings(names, queries, with_scores=ties != "rank")
    if ties != "rank":
        _refuse_unscored(rankings, queries, ties)
    # What the keys stand for comes last: what was read before is then known, if it was not deleted meanwhile.
    rows, values = _Rows.of(collection), _Values.of(collection)
    return Record(
        collection=collection.slug,
        queries=queries,
        systems=tuple(names.values()),
        ratings=rows.combined(queries["pk"].to_numpy(), values),
        values=values,
        rankings=_with_tiebreak(rankings) if ties == "score" else rankings,
    )


def part(collection: Collection, whole: Record, queries: Sequence[int]) -> Record:
    """Of what was read, some queries (pks, not many) with their ratings and adjudications read anew.

    Two database queries, and two more if there is a rater who was not known.
    """
    places, rows, values = whole.places(queries), _Rows.of(collection, queries), whole.values
    if not rows.known_to(values):
        values = _Values.of(collection)
    return Record(
        collection=whole.collection,
        queries=whole.queries.iloc[places],
        systems=whole.systems,
        ratings=rows.combined(whole.queries["pk"].to_numpy()[places], values),
        values=values,
        rankings={name: rankings.of(places) for name, rankings in whole.rankings.items()},
    )


def opinions(collection: Collection) -> Opinions:
    """What the raters of a collection said. Four database queries."""
    queries = _queries(collection)
    rated = Rating.objects.filter(rater__collection=collection)
    at = _Seconds("created_at")
    rows = rated.values_list("query_id", "document_id", "rater_id", Coalesce("grade_id", NO_GRADE), at)
    query, document, rater, grade, moment = _columns(*rows.query.sql_with_params(), 5)
    # What the keys stand for comes last, as in `load`.
    grades = dict(Grade.objects.filter(collection=collection).values_list("pk", "value"))
    raters = sorted(Rater.objects.filter(collection=collection).values_list("name", "pk", "kind"))
    people = {pk: name for name, pk, kind in raters if kind != Rater.Kind.MACHINE}
    query = _index(query, queries["pk"])
    value = _looked_up(grade, {pk: float(value) for pk, value in grades.items()})
    there = (query >= 0) & (_index(rater, list(people)) >= 0)
    there &= ~np.isnan(value) | (grade == NO_GRADE)
    return Opinions(
        queries=queries,
        scale=sorted(map(float, grades.values())),
        raters=people,
        machines=len(raters) - len(people),
        query=query[there],
        document=document[there],
        rater=rater[there],
        grade=value[there],
        moment=moment[there],
    )


class _Seconds(Func):
    """A time as whole seconds since 1970. As a time, each would be made by Python."""

    template = "CAST(EXTRACT(EPOCH FROM %(expressions)s) AS bigint)"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler, connection, **extra):
        return self.as_sql(
            compiler, connection, template="CAST(strftime('%%%%s', %(expressions)s) AS integer)", **extra
        )


def scale(collection: Collection) -> list[float]:
    """The grades, lowest first. One database query."""
    return sorted(map(float, Grade.objects.filter(collection=collection).values_list("value", flat=True)))


def document_keys(pks: Iterable[int]) -> dict[int, str]:
    """The key of each document. One database query for each 20,000 of them."""
    pks = list(pks)
    keys = {}
    for start in range(0, len(pks), KEYS_AT_A_TIME):
        chunk = Document.objects.filter(pk__in=pks[start : start + KEYS_AT_A_TIME])
        keys.update(chunk.values_list("pk", "key"))
    return keys


def pool(collection: Collection, queries: pd.DataFrame, adjudications: str) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are yet to be judged: (query by its row in `queries`, document), int64[n] each.

    Some of them can be judged all the same, by raters who weigh nothing. With adjudications="ignore" an
    adjudicated pair without ratings is yet to be judged. One database query.
    """
    graded = Rating.objects.filter(pair=OuterRef("pk"), grade__isnull=False, rater__weight__gt=0)
    graded = graded.exclude(rater__kind=Rater.Kind.MACHINE)
    pairs = Pair.objects.filter(query__collection=collection).filter(~Exists(graded))
    if adjudications == "use":
        pairs = pairs.filter(adjudication__isnull=True)
    if 0 < len(queries) <= FEW_QUERIES:
        pairs = pairs.filter(query__in=queries["pk"].tolist())
    query, document = _columns(*pairs.values_list("query_id", "document_id").query.sql_with_params(), 2)
    query = _index(query, queries["pk"])
    return query[query >= 0], document[query >= 0]


def terms(collection: Collection) -> Terms:
    """What raters are told now. Three database queries."""
    version = Collection.objects.values_list("scale_version", flat=True).get(pk=collection.pk)
    latest = collection.latest_guidelines()
    grades = Grade.objects.filter(collection=collection).order_by("value")
    return Terms(version, latest.version if latest else 0, [(grade.plain, grade.label) for grade in grades])


class Keys:
    """The keys of many documents, in as many bytes as they have. One database query for each 20,000."""

    def __init__(self, pks: Iterable[np.ndarray]) -> None:
        self._pks = distinct(np.concatenate([np.empty(0, np.int64), *map(distinct, pks)]))
        keys, ends = [], []
        for start in range(0, len(self._pks), KEYS_AT_A_TIME):
            chunk = self._pks[start : start + KEYS_AT_A_TIME].tolist()
            known = document_keys(chunk)
            if len(known) < len(chunk):
                raise ValueError("documents were deleted meanwhile; do it again")
            encoded = [known[pk].encode() for pk in chunk]
            keys.append(b"".join(encoded))
            ends.append(np.array([*map(len, encoded)], np.int64))
        self._text = b"".join(keys)
        self._ends = np.append(0, np.cumsum(np.concatenate([np.empty(0, np.int64), *ends])))

    def of(self, pks: np.ndarray) -> list[str]:
        """The key of each document, all of which must be among those that were asked for."""
        places = np.searchsorted(self._pks, pks)
        begin, end = self._ends[places].tolist(), self._ends[places + 1].tolist()
        return [self._text[first:last].decode() for first, last in zip(begin, end, strict=True)]


def results(collection: Collection, found: Record, system: str) -> Iterator[tuple[int, np.ndarray, list[float]]]:
    """What a system returned: (row in `found.queries`, documents best first, their scores) by query.

    Some queries at a time, with a database query for them. Results without scores get 1 / rank, as in an exported
    run. Queries without a document are passed over. ValueError where the rankings are no longer those of `found`.
    """
    rankings, queries = found.rankings[system], found.queries["pk"].tolist()
    for places in _by_size(rankings.length):
        rows = Ranking.objects.filter(
            system__collection=collection,
            system__name=system,
            query__in=[queries[place] for place in places],
        )
        read = {query: lists for query, *lists in rows.values_list("query_id", "documents", "scores")}
        for place in places:
            expected = rankings.documents[slice(*rankings.offsets[place : place + 2])]
            documents, scores = read.get(queries[place], (expected[:0], None))
            if not np.array_equal(documents, expected):
                raise ValueError(f"the rankings of {system} were changed meanwhile; do it again")
            if scores is None:
                scores = 1 / np.arange(1, len(documents) + 1)
            yield place, documents, scores.tolist()


def _by_size(length: np.ndarray) -> Iterator[list[int]]:
    """Queries with a document in their order, so many at a time that they have some 20,000 documents."""
    places, size = [], 0
    for place in np.flatnonzero(length).tolist():
        places.append(place)
        size += int(length[place])
        if size >= KEYS_AT_A_TIME or len(places) == RANKINGS_AT_A_TIME:
            yield places
            places, size = [], 0
    if places:
        yield places


def unknown_system(name: str, known: Sequence[str]) -> str:
    """What to say of a system that is not there, with the nearest names."""
    near = get_close_matches(name, known)
    if near:
        return f"unknown system {name!r}; did you mean {' or '.join(near)}?"
    return f"unknown system {name!r}; " + (f"known are {', '.join(known)}" if known else "there are none yet")


def _queries(collection: Collection) -> pd.DataFrame:
    columns = ["pk", "key", "text", "weight", "tags"]
    rows = Query.objects.filter(collection=collection).values_list(*columns)
    frame = pd.DataFrame(sorted(rows, key=lambda row: natural(row[1])), columns=columns)
    return frame.assign(tags=[_tags(given) for given in frame["tags"]])


def _tags(given) -> tuple[str, ...]:
    """What is text among them: the admin takes whatever is JSON."""
    return tuple(tag for tag in given if isinstance(tag, str) and tag) if isinstance(given, list) else ()


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


@dataclass(frozen=True)
class _Values:
    """What the keys in rows of ratings stand for."""

    grades: dict[int, float]
    weights: dict[int, float]  # of raters; nan for machines, whose grades are not human judgments

    @classmethod
    def of(cls, collection: Collection) -> "_Values":
        grades = Grade.objects.filter(collection=collection).values_list("pk", "value")
        raters = Rater.objects.filter(collection=collection).values_list("pk", "kind", "weight")
        weights = {pk: np.nan if kind == Rater.Kind.MACHINE else float(weight) for pk, kind, weight in raters}
        return cls({pk: float(value) for pk, value in grades}, weights)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Ratings and adjudications as the database keeps them: int64[columns, n] of keys."""

    ratings: np.ndarray  # query, document, rater, grade
    adjudications: np.ndarray  # query, document, grade

    @classmethod
    def of(cls, collection: Collection, queries: Sequence[int] | None = None) -> "_Rows":
        """Of all queries of the collection, or of a few."""
        if queries is None:
            of_collection = Adjudication.objects.filter(pair__query__collection=collection)
            both = _rows(Rating.objects.filter(rater__collection=collection), of_collection)
            (ratings, adjudications) = (rows.query.sql_with_params() for rows in both)
            return cls(_long_columns(*ratings, 4), _columns(*adjudications, 3))
        found = _columns(_statement(len(queries)), [*queries, NO_RATER, *queries], 4)
        adjudicated = found[2] == NO_RATER
        return cls(found[:, ~adjudicated], found[:, adjudicated][[0, 1, 3]])

    def known_to(self, values: _Values) -> bool:
        """Whether all keys have a value."""
        grades = {*self.ratings[3].tolist(), *self.adjudications[2].tolist()}
        return values.weights.keys() >= set(self.ratings[2].tolist()) and values.grades.keys() >= grades

    def combined(self, queries: np.ndarray, values: _Values) -> Ratings:
        """The ratings of these queries, which then count from 0.

        What was read first can be gone from what was read later; the version that went up with it brings the
        next reader here.
        """
        (query, document, rater, grade), decided = self.ratings, self.adjudications
        query, grade, weight = (
            _index(query, queries),
            _looked_up(grade, values.grades),
            _looked_up(rater, values.weights),
        )
        there = (query >= 0) & ~np.isnan(grade) & ~np.isnan(weight)
        place, decision = _index(decided[0], queries), _looked_up(decided[2], values.grades)
        stands = (place >= 0) & ~np.isnan(decision)
        return Ratings(
            queries=len(queries),
            query=query[there],
            document=document[there],
            rater=rater[there],
            grade=grade[there],
            weight=weight[there],
            adjudicated=Judgments(len(queries), place[stands], decided[1][stands], decision[stands]),
        )


def _rows(ratings: QuerySet, adjudications: QuerySet) -> tuple[QuerySet, QuerySet]:
    """The columns of both that are read."""
    ratings = ratings.filter(grade__isnull=False).values_list("query_id", "document_id", "rater_id", "grade_id")
    return ratings, adjudications.values_list("pair__query_id", "pair__document_id", "grade_id")


def _looked_up(keys: np.ndarray, values: dict[int, float]) -> np.ndarray:
    """The value of each key, nan where there is none."""
    return np.append(np.array(list(values.values()), np.float64), np.nan)[_index(keys, list(values))]


def _columns(statement: str, params: Sequence, columns: int) -> np.ndarray:
    """int64[columns, n] of SQL for whole numbers, without what the ORM does to each row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        chunks = iter(lambda: cursor.fetchmany(ROWS_AT_A_TIME), [])
        numbers = np.fromiter(chain.from_iterable(chain.from_iterable(chunks)), np.int64)
    return numbers.reshape(-1, columns).T


def _long_columns(statement: str, params: Sequence, columns: int) -> np.ndarray:
    """The same of hundreds of thousands of rows. PostgreSQL makes one row of them, in two thirds of the time."""
    if connection.vendor != "postgresql":
        return _columns(statement, params, columns)
    names = [f"column{place}" for place in range(columns)]
    packed = ", ".join(f"string_agg(int8send({name}), '')" for name in names)
    with _cursor_for_bytes() as cursor:
        cursor.execute(f"SELECT {packed} FROM ({statement}) AS found ({', '.join(names)})", params)
        return np.array([np.frombuffer(column or b"", ">i8") for column in cursor.fetchone()], np.int64)


@contextmanager
def _cursor_for_bytes() -> Iterator:
    """A chunked cursor. PostgreSQL sends bytes as they are, not twice as long in hex, only if it is asked to."""
    with connection.chunked_cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.cursor.execute = partial(cursor.cursor.execute, binary=True)
        yield cursor


def _index(pks: np.ndarray, known: Iterable[int]) -> np.ndarray:
    """The place of each of `pks` in `known`, -1 for those that are not there."""
    known = np.asarray(known, np.int64)
    if not known.size:
        return np.full(len(pks), -1)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, pks, sorter=order), known.size - 1)]
    return np.where(known[place] == pks, place, -1)


def _rankings(systems: dict[int, str], queries: pd.DataFrame, with_scores: bool) -> dict[str, Rankings]:
    columns = ["documents"] + ["scores"] * with_scores
    unpack = [Ranking._meta.get_field(name).to_python for name in columns]
    index = {pk: place for place, pk in enumerate(queries["pk"].tolist())}
    lists = {pk: {} for pk in systems}
    rows = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", *columns)
    for system, query, *packed in _as_bytes(rows) if systems else ():
        if query in index:
            lists[system][index[query]] = [array(value) for array, value in zip(unpack, packed, strict=True)]
    return {name: _packed(lists[pk], len(queries)) for pk, name in systems.items()}


def _as_bytes(rows: QuerySet) -> Iterator[tuple]:
    """Rows as the driver gives them, some at a time."""
    with _cursor_for_bytes() as cursor:
        cursor.execute(*rows.query.sql_with_params())
        yield from chain.from_iterable(iter(lambda: cursor.fetchmany(RANKINGS_AT_A_TIME), []))


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
