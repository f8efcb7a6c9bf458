"""The version of a collection's data, and which queries changed between two versions.

There is no counter that every act raises: the raters of a collection would wait for each other to raise it.
Instead, a version holds the id of each rater's last act. The acts of one rater become visible in the order of
their ids, since each locks the row of the rater. Decisions lock the row of the collection.
"""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.db import connection
from django.db.models import OuterRef, Q, QuerySet, Subquery

from ratings.models import Collection, RatingEvent

MOST_RATERS = 500  # where more acted, changed queries are not looked up
MOST_ACTS = 10_000  # of which queries are looked up; likewise


class Version(NamedTuple):
    """The identity of a state of a collection."""

    collection: int
    created_at: datetime  # tells the collection from one with the same pk whose creation was rolled back
    slug: str
    collection_version: int  # rises with every change but those of judgments of single queries
    acts: dict[int | None, int]  # the id of the last act by rater; under None, of the last decision

    @property
    def basis(self) -> tuple:
        """Equal for two versions that differ only in the judgments of some queries."""
        return self[:-1]

    @property
    def unrated(self) -> "Version":
        """The version without its acts: ratings do not change it."""
        return self._replace(acts={})

    @property
    def number(self) -> int:
        """A number that rises with every change."""
        return self.collection_version + sum(self.acts.values())


def version(collection: Collection) -> Version:
    """The present version. One database query, to be made before the rows are read.

    Then rows can only be newer than the version they are cached under, and the next request sees a new version.
    """
    with connection.cursor() as cursor:
        cursor.execute(_version_statement(), [collection.pk])
        rows = cursor.fetchall()
    if not rows:
        raise Collection.DoesNotExist
    # A row for each rater: five columns of the collection, the same in all rows, the rater, and their last act.
    pk, created_at, slug, collection_version, last_decision, _, _ = rows[0]
    last_acts = {rater: act for *_, rater, act in rows if act}
    acts = {None: last_decision, **last_acts}  # decisions have no rater
    return Version(pk, created_at, slug, collection_version, acts)


def changed_queries(collection: Collection, since: Version, now: Version) -> list[int] | None:
    """The queries (pks) whose judgments may have changed between two versions; None where too much happened.

    `Version.acts` has the pk of the latest act of each rater. At most two database queries.
    """
    # By rater with new acts (None: decisions) the last act in `since`; 0 where there was none.
    last_known = {
        rater: since.acts.get(rater, 0) for rater, act in now.acts.items() if act > since.acts.get(rater, 0)
    }
    if len(last_known) > MOST_RATERS:
        return None
    queries = []  # one for each act
    if None in last_known:  # decisions have no rater
        last_decision = last_known.pop(None)
        queries += _queries_of(Q(rater=None, pair__query__collection=collection, pk__gt=last_decision))
    if last_known:
        new_acts = (Q(rater=rater, pk__gt=act) for rater, act in last_known.items())
        queries += _queries_of(Q(*new_acts, _connector=Q.OR))
    return None if len(queries) > MOST_ACTS else sorted(set(queries))


def _queries_of(acts: Q) -> list[int]:
    """The queries (pks) of these acts; one more than MOST_ACTS tells that there are too many."""
    queries = RatingEvent.objects.order_by().filter(acts).values_list("pair__query", flat=True)
    return list(queries[: MOST_ACTS + 1])


@cache
def _version_statement() -> str:
    """SQL for the rows that `version` reads. Its parameter is the pk of the collection."""
    acts = RatingEvent.objects.filter(rater=OuterRef("raters")).order_by("-pk").values("pk")
    states = Collection.objects.order_by().filter(pk=0).annotate(last_act=Subquery(acts[:1]))
    return sql_of(states.values_list("pk", "created_at", "slug", "version", "decided", "raters", "last_act"))


def sql_of(rows: QuerySet) -> str:
    return rows.query.sql_with_params()[0]
