"""The version of a collection's data, and which queries changed between two versions."""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet

from ratings.models import Collection, RatingEvent


class Version(NamedTuple):
    """Identifies a state of a collection."""

    collection: int
    created_at: datetime  # differs from that of a collection with the same pk whose creation was rolled back
    slug: str
    of_all: int  # rises with every change that is not of the judgments of single queries
    number: int  # rises with every change

    @property
    def basis(self) -> tuple:
        """Equal for two versions that differ only in the judgments of some queries."""
        return self[:-1]


def version(collection: Collection) -> Version:
    """The present version. One database query, to be made before the rows are read.

    Rows are then at most newer than the version they are cached under, and the next request sees a new version.
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


@cache
def _version_statement() -> str:
    columns = ("pk", "created_at", "slug", "version_of_all", "version")
    return sql_of(Collection.objects.order_by().filter(pk=0).values_list(*columns))


@cache
def _changed_statement() -> str:
    acts = RatingEvent.objects.order_by().filter(collection_id=0, version__gt=0)
    return sql_of(acts.values_list("pair__query").distinct())


def sql_of(rows: QuerySet) -> str:
    return rows.query.sql_with_params()[0]
