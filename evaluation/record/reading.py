"""Reads a collection, or some of its queries, from the database into arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

import numpy as np
import pandas as pd
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Coalesce

from ratings.models import (
    Adjudication,
    Baseline,
    Collection,
    Grade,
    Pair,
    Query,
    Rating,
    Sample,
    SampledQuery,
    System,
)
from ratings.words import natural

from ..judgments.rules import Ratings
from ..measures import Judgments
from ..measures.options import BY_SCORE
from ..measures.refusal import refuse_unknown
from .arrays import GradeValues, Opinions, Record, Terms
from .rankings import rankings_of, refuse_unscored, with_tiebreak
from .sql import Seconds, columns_of, index_of, looked_up, rating_rows
from .versions import sql_of

NO_GRADE = NO_RATER = 0  # no row has this primary key

FEW_QUERIES = 500  # up to this number a filter by query is faster than reading all pairs


# Cached, because the ORM takes longer to write this SQL than the database to run it.


@cache
def _statement(queries: int) -> str:
    """SQL for the ratings of this number of queries, and their adjudications as if by NO_RATER.

    Its parameters are the pks of the queries, NO_RATER, and the pks again.
    """
    some = range(queries)  # any pks: only their number shows in the SQL
    ratings, adjudications = rating_rows(
        *(rows.filter(pair__query__in=some) for rows in (Rating.objects.counted(), Adjudication.objects))
    )
    by_nobody = adjudications.values_list("pair__query_id", "pair__document_id", Value(NO_RATER), "grade_id")
    return f"{sql_of(ratings)} UNION ALL {sql_of(by_nobody)}"


def load(collection: Collection, systems: Iterable[str] | None = None, ties: str = "rank") -> Record:
    """The record of a collection with the rankings of the named systems (None: all).

    ties: the option; "rank" needs no scores, "average" needs scores, and those in BY_SCORE need scores and the
    keys of documents with equal ones. Only what it needs is read.

    Eight database queries, or nine where the queries were drawn from a log, and one for each 20,000 of these keys.
    ValueError for an unknown system, and for one without the scores that `ties` needs.
    """
    # Queries of a sample drawn from a log may not be in the collection. They are apart, in `left_out_queries`: a
    # mean over all searches needs them, too.
    queries, left_out_queries = with_draw(collection, queries_of(collection))
    chosen = _systems(collection, systems)
    rankings = rankings_of(chosen, queries, with_scores=ties != "rank")
    refuse_unscored(rankings, queries, ties)  # nothing where no scores were read
    rows = _Rows.of(collection)
    # Grades and raters after the rows, so that they include those of all rows, unless deleted meanwhile.
    values = GradeValues.of(collection)
    return Record(
        collection=collection.slug,
        queries=queries,
        systems=tuple(rankings),
        ratings=rows.ratings_of(queries["pk"].to_numpy(), values),
        values=values,
        rankings=with_tiebreak(rankings) if ties in BY_SCORE else rankings,
        system_pks={system.name: system.pk for system in chosen},
        left_out_queries=left_out_queries,
    )


def part(collection: Collection, whole: Record, queries: Sequence[int]) -> Record:
    """The record of a few queries (pks) of `whole`, with ratings and adjudications read again.

    Rankings stay as in `whole`, and so do its `values`, those of all grades and raters, unless a row has one that
    they lack. One database query, and two more for such a rater or grade.
    """
    places = whole.places(queries)
    rows = _Rows.of(collection, queries)  # ratings and adjudications
    values = whole.values if rows.known_to(whole.values) else GradeValues.of(collection)
    return replace(
        whole,
        queries=whole.queries.iloc[places],
        ratings=rows.ratings_of(whole.queries["pk"].to_numpy()[places], values),
        values=values,
        rankings={name: rankings.of(places) for name, rankings in whole.rankings.items()},
    )


def ratings_in(collection: Collection, whole: Record, ratings: QuerySet) -> Ratings:
    """These ratings, of whomever, with the adjudications, for the queries of `whole`. Two database queries."""
    return _Rows.of(collection, ratings=ratings).ratings_of(whole.queries["pk"].to_numpy(), whole.values)


def opinions_in(collection: Collection, queries: pd.DataFrame, rows: np.ndarray) -> Opinions:
    """The opinions from the results of `queries_of` and `opinion_rows`. Two more database queries."""
    query, document, rater, grade, moment = rows
    # Grades and raters are read after the rows, so that they include those of all rows, unless deleted meanwhile.
    grades = dict(Grade.objects.filter(collection=collection).values_list("pk", "value"))
    raters = {pk: name for name, pk in sorted(collection.raters.values_list("name", "pk"))}
    row = index_of(query, queries["pk"])
    value = looked_up(grade, {pk: float(value) for pk, value in grades.items()})
    # Without rows whose query, rater or grade was deleted between two reads: the index is -1, or the value nan.
    # "Cannot judge" (NO_GRADE) has the value nan, too, and stays.
    kept = (row >= 0) & (index_of(rater, list(raters)) >= 0)
    kept &= ~np.isnan(value) | (grade == NO_GRADE)
    return Opinions(
        collection=collection.slug,
        queries=queries,
        scale=sorted(map(float, grades.values())),
        raters=raters,
        query=row[kept],
        document=document[kept],
        rater=rater[kept],
        grade=value[kept],
        moment=moment[kept],
        left_out=collection.left_out,
    )


def opinion_rows(collection: Collection, queries: Sequence[int] | None = None) -> np.ndarray:
    """Ratings by people, int64[5, n]: query, document, rater, grade (pks; NO_GRADE for "cannot judge") and time.

    `queries`: the pks of some queries; None: all. One database query.
    """
    rated = Rating.objects.counted().filter(rater__collection=collection)
    if queries is not None:
        rated = rated.filter(query__in=queries)
    at = Seconds("created_at")
    rows = rated.values_list("query_id", "document_id", "rater_id", Coalesce("grade_id", NO_GRADE), at)
    return columns_of(*rows.query.sql_with_params(), columns=5)


def scale(collection: Collection) -> list[float]:
    """The values of the grades, lowest first. One database query."""
    return sorted(map(float, Grade.objects.filter(collection=collection).values_list("value", flat=True)))


def pool(collection: Collection, queries: pd.DataFrame, adjudications: str) -> tuple[np.ndarray, np.ndarray]:
    """The pairs without a judgment: (row of the query in `queries`, document), int64[n] each.

    A judgment is a grade by a rater with a weight above 0, or with adjudications="use" an adjudication. So a pair
    whose raters all have weight 0 is included, though some rules judge it. One database query.
    """
    grades = Rating.objects.counted().filter(pair=OuterRef("pk"), grade__isnull=False, rater__weight__gt=0)
    pairs = Pair.objects.filter(query__collection=collection).filter(~Exists(grades))
    if adjudications == "use":
        pairs = pairs.filter(adjudication__isnull=True)
    if 0 < len(queries) <= FEW_QUERIES:  # for none, Django would make no SQL of the filter, and raise instead
        pairs = pairs.filter(query__in=queries["pk"].tolist())
    query, document = columns_of(*pairs.values_list("query_id", "document_id").query.sql_with_params(), columns=2)
    row = index_of(query, queries["pk"])  # -1: not among `queries`
    return row[row >= 0], document[row >= 0]


def terms(collection: Collection) -> Terms:
    """The present versions of scale, guidelines and presentation, and the grades. Four database queries."""
    version = Collection.objects.values_list("scale_version", flat=True).get(pk=collection.pk)
    guidelines, presentation = collection.latest_guidelines(), collection.latest_presentation()
    grades = Grade.objects.filter(collection=collection).order_by("value")
    return Terms(
        scale_version=version,
        guidelines_version=guidelines.version if guidelines else 0,
        presentation_version=presentation.version if presentation else 0,
        grades=[(grade.plain, grade.label) for grade in grades],
    )


def baselines(collection: Collection) -> list[str]:
    """The names of the systems that a person made the fixed baseline and the last release; none where nobody did.

    ValueError, with a message for the user, where one of them was deleted.
    """
    last = {baseline.kind: baseline for baseline in collection.baselines.select_related("system")}
    for baseline in last.values():
        if baseline.system is None:
            label = baseline.get_kind_display()
            raise ValueError(f"{label}, {baseline.name}, was deleted: make another system {label} on its page.")
    return [last[kind].system.name for kind in Baseline.Kind.values if kind in last]


def queries_of(collection: Collection) -> pd.DataFrame:
    """The queries as in Record, without what the draw from a log says of them. One database query."""
    columns = ["pk", "key", "text", "weight", "tags"]
    rows = Query.objects.filter(collection=collection).values_list(*columns)
    frame = pd.DataFrame(sorted(rows, key=lambda row: natural(row[1])), columns=columns)
    return frame.assign(tags=[_tags(value) for value in frame["tags"]])


def with_draw(
    collection: Collection, queries: pd.DataFrame, until: datetime | None = None
) -> tuple[pd.DataFrame, list[dict]]:
    """The queries with count, chance and stratum in a sample, and the queries of the sample that are not in them.

    The columns are those of `Record.queries`, and the second value is `Record.left_out_queries`. The sample is the
    last one, or the one that was the last at `until`.

    Where there is no sample, or it was drawn evenly, queries get nan, nan and "". All means are then over queries,
    not over the searches of the log. After an even draw, a few frequent queries would decide a mean over searches,
    and its interval would promise too much.
    """
    samples = collection.samples.filter(created_at__lte=until) if until else collection.samples
    sample = samples.order_by("number").last()
    if sample is None or sample.method == Sample.Method.EVEN:
        return queries.assign(count=np.nan, chance=np.nan, stratum=""), []
    columns = ["query", "count", "chance", "stratum"]
    rows = SampledQuery.objects.filter(sample=sample).order_by("place").values_list(*columns)
    drawn = pd.DataFrame(rows, columns=columns).set_index("query")
    has_query = drawn.index.isin(queries["pk"])
    queries = queries.join(drawn[has_query].astype({"count": np.float64}), "pk").fillna({"stratum": ""})
    return queries, drawn[~has_query].to_dict("records")


def _tags(value) -> tuple[str, ...]:
    """The texts of a list of tags; others are left out, since the admin site accepts any JSON."""
    return tuple(tag for tag in value if isinstance(tag, str) and tag) if isinstance(value, list) else ()


def _systems(collection: Collection, chosen: Iterable[str] | None) -> list[System]:
    """The systems, sorted by Python, because databases sort text differently. ValueError for an unknown name."""
    systems = System.objects.filter(collection=collection).only("name", "gaps")
    known = {system.name: system for system in sorted(systems, key=str)}
    if chosen is None:
        return list(known.values())
    chosen = set(chosen)
    for name in sorted(chosen):
        refuse_unknown("system", name, known)
    return [system for name, system in known.items() if name in chosen]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Ratings and adjudications as foreign keys, int64[columns, n] each."""

    ratings: np.ndarray  # query, document, rater, grade
    adjudications: np.ndarray  # query, document, grade

    @classmethod
    def of(
        cls, collection: Collection, queries: Sequence[int] | None = None, ratings: QuerySet | None = None
    ) -> "_Rows":
        """The rows of these queries (pks); None: of the whole collection.

        ratings: which ratings to read, None for those that count; it has a meaning for the whole collection only.
        """
        if queries is None:
            rated = Rating.objects.counted() if ratings is None else ratings
            ratings, adjudications = rating_rows(
                rated.filter(rater__collection=collection),
                Adjudication.objects.filter(pair__query__collection=collection),
            )
            return cls(
                ratings=columns_of(*ratings.query.sql_with_params(), columns=4),
                adjudications=columns_of(*adjudications.query.sql_with_params(), columns=3),
            )
        # One statement for ratings and adjudications. Its SQL is cached by the number of queries.
        rows = columns_of(_statement(len(queries)), [*queries, NO_RATER, *queries], columns=4)
        is_adjudication = rows[2] == NO_RATER
        # Adjudications without the column of raters.
        return cls(ratings=rows[:, ~is_adjudication], adjudications=rows[:, is_adjudication][[0, 1, 3]])

    def known_to(self, values: GradeValues) -> bool:
        """Whether `values` has all grades and raters of these rows."""
        grades = {*self.ratings[3].tolist(), *self.adjudications[2].tolist()}
        return values.weights.keys() >= set(self.ratings[2].tolist()) and values.grades.keys() >= grades

    def ratings_of(self, queries: np.ndarray, values: GradeValues) -> Ratings:
        """The ratings of these queries (pks), with the values of grades and the weights of raters.

        Queries are numbered from 0, in the order given. Rows whose query, grade or rater was deleted between two
        reads are left out. The deletion raises the version, so the next request reads again.
        """
        query, document, rater, grade = self.ratings
        place = index_of(query, queries)
        value = looked_up(grade, values.grades)
        weight = looked_up(rater, values.weights)
        kept = (place >= 0) & ~np.isnan(value) & ~np.isnan(weight)
        return Ratings(
            queries=len(queries),
            query=place[kept],
            document=document[kept],
            rater=rater[kept],
            grade=value[kept],
            weight=weight[kept],
            adjudicated=self.decided(queries, values),
        )

    def decided(self, queries: np.ndarray, values: GradeValues) -> Judgments:
        """The adjudications of these queries, numbered from 0, without those deleted between two reads."""
        query, document, grade = self.adjudications
        place = index_of(query, queries)
        value = looked_up(grade, values.grades)
        kept = (place >= 0) & ~np.isnan(value)
        return Judgments(len(queries), place[kept], document[kept], value[kept])
