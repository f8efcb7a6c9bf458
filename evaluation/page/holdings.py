"""What a collection has, and the first step that is missing before it has scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, Value

from ratings.models import Assignment, Collection, Document, Pair, Rating

from .. import record
from ..record import Version, cache
from ..record.sql import columns_of

_ZERO = Value(0)


def holdings(collection: Collection) -> dict[str, int]:
    """What the collection has, as counts by name: those returned below, and those of `imported_counts`.

    At most fourteen database queries. Counts by query are made again only for queries that changed.
    """
    # Ratings change `version`, but not `version.unrated`.
    version = record.version(collection)
    # PostgreSQL uses the index of done assignments, which is by rater, only with a list of raters.
    raters = list(collection.raters.order_by().values_list("pk", flat=True))
    done = Assignment.objects.filter(rater__in=raters, state=Assignment.State.DONE).count()
    waiting = Assignment.objects.filter(collection=collection).waiting().count()
    counts = cache.by_query(collection, version, "judged", lambda queries: _counts_by_query(collection, queries))
    # The first row has the pks of the queries, whose sum means nothing.
    _, grades, cannot_judge, judged_pairs = counts.sum(axis=1).tolist()
    has_grade = Exists(Rating.objects.filter(rater=OuterRef("pk"), grade__isnull=False))
    raters_with_grades = collection.raters.counted().filter(has_grade)
    without_text = collection.documents.filter(body="")
    # `small_value` returns the number that it has for the version, or else calls the `count` of the query set.
    return imported_counts(collection, version) | {
        "textless": cache.small_value(collection, version.unrated, "textless", without_text.count),  # documents
        "judged": judged_pairs,  # with a grade or an adjudication
        "ratings": grades,
        "cannot": cannot_judge,  # answers of raters that they cannot judge
        "raters": cache.small_value(collection, version, "raters", raters_with_grades.count),
        "pairs": Pair.objects.filter(query__collection=collection).count(),
        "wanted": waiting + done,  # assignments
        "done": done,
    }


def imported_counts(collection: Collection, version: Version) -> dict[str, int]:
    """The numbers of queries, documents and systems, by these names. Three database queries, or none."""

    def counted() -> dict[str, int]:
        return {name: getattr(collection, name).count() for name in ("queries", "documents", "systems")}

    return cache.small_value(collection, version.unrated, "brought", counted)


def _counts_by_query(collection: Collection, queries: list[int] | None) -> np.ndarray:
    """Counts by query, int64[4, n]. Its rows: the pk of the query, grades, "cannot judge" answers, judged pairs.

    A query can have two columns, one of its ratings and one of its pairs, each with 0 for what the other counts;
    the caller adds them up. queries: pks; None: all of the collection.
    """
    ratings, pairs = Rating.objects.counted(), Pair.objects.order_by()
    # Ratings are found by their rater or pair, since their column `query` is a copy without an index.
    if queries is None:
        ratings, pairs = ratings.filter(rater__collection=collection), pairs.filter(query__collection=collection)
    else:
        ratings, pairs = ratings.filter(pair__query__in=queries), pairs.filter(query__in=queries)
    has_grade = Exists(Rating.objects.counted().filter(pair=OuterRef("pk"), grade__isnull=False))
    judged_pairs = pairs.filter(has_grade | Q(adjudication__isnull=False))
    of_ratings = ratings.values_list("query").annotate(
        grades=Count("grade"), cannot=Count("pk") - Count("grade"), pairs=_ZERO
    )
    of_pairs = judged_pairs.values_list("query").annotate(grades=_ZERO, cannot=_ZERO, pairs=Count("pk"))
    statements = [counts.query.sql_with_params() for counts in (of_ratings, of_pairs)]
    return np.hstack([columns_of(statement, params, columns=4) for statement, params in statements])


@dataclass(frozen=True)
class NextStep:
    """What is missing before there are scores, and what to do."""

    lack: str
    cure: str
    commands: Sequence[str] = ()


def next_step(collection: Collection, held: dict[str, int]) -> NextStep | None:
    """What is missing before there are scores, and how to get it; None where nothing is.

    held: what the collection has, as from `holdings`. The steps come in the order in which they are done.
    """
    nothing_judged = "Nothing has been judged yet, so there is no score."
    if not held["queries"]:
        lack = "This collection has no queries yet."
        cure = "Import a file with one query a line: its id, its text, and what the person wanted."
        commands = ["import_queries SLUG queries.tsv"]
    elif not held["systems"]:
        lack, cure = "No system has rankings yet.", "Import what your systems returned, one file a system."
        commands = ["import_run SLUG system.run"]
    elif held["judged"]:
        return None
    elif held["wanted"]:
        lack = nothing_judged
        cure = f"{held['wanted']:,} ratings wait for raters. Tell them. Numbers appear here with the first rating."
        commands = ["add_member SLUG NAME rater"]
    else:
        lack = nothing_judged
        cure = "Ask raters for the documents at the top of the rankings, or import judgments that you have."
        commands = ["pool SLUG", "add_member SLUG NAME rater", "import_qrels SLUG judgments.qrels"]
    commands = [f"{settings.PROGRAM} manage {command.replace('SLUG', collection.slug)}" for command in commands]
    return NextStep(lack, cure, commands)


def documents_by_pk(pks: set[int]) -> dict[int, Document]:
    """The documents by pk, without their texts. One database query."""
    return {document.pk: document for document in Document.objects.filter(pk__in=pks).only("pk", "key", "title")}
