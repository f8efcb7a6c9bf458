"""Database rows as arrays, without model instances."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
from django.db import connection
from django.db.models import BigIntegerField, Func, QuerySet

ROWS_AT_A_TIME = 10_000
RANKINGS_AT_A_TIME = 500


class Seconds(Func):
    """A time as whole seconds since 1970, computed by the database: faster than Python's datetime."""

    template = "CAST(EXTRACT(EPOCH FROM %(expressions)s) AS bigint)"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler, connection, **extra):
        return self.as_sql(
            compiler, connection, template="CAST(strftime('%%%%s', %(expressions)s) AS integer)", **extra
        )


def rating_rows(ratings: QuerySet, adjudications: QuerySet) -> tuple[QuerySet, QuerySet]:
    """Both querysets, limited to graded ratings and to the columns that are read."""
    ratings = ratings.filter(grade__isnull=False).values_list("query_id", "document_id", "rater_id", "grade_id")
    return ratings, adjudications.values_list("pair__query_id", "pair__document_id", "grade_id")


def looked_up(keys: np.ndarray, values: dict[int, float]) -> np.ndarray:
    """The value of each key, nan where there is none."""
    # `index_of` is -1 for a missing key: that is the place of the nan at the end.
    return np.append(np.array(list(values.values()), np.float64), np.nan)[index_of(keys, list(values))]


def columns_of(statement: str, params: Sequence, columns: int, kind: type = np.int64) -> np.ndarray:
    """The result of SQL that selects so many columns of numbers, [columns, n] of type `kind`.

    It is read without the ORM's work for each row.
    With kind=float64, ids below 2**53 stay exact.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        chunks = iter(lambda: cursor.fetchmany(ROWS_AT_A_TIME), [])
        numbers = np.fromiter(chain.from_iterable(chain.from_iterable(chunks)), kind)
    return numbers.reshape(-1, columns).T


def index_of(pks: np.ndarray, known: Iterable[int]) -> np.ndarray:
    """The place of each of `pks` in `known`; -1 for a missing one."""
    known = np.asarray(known, np.int64)
    if not known.size:
        return np.full(len(pks), -1)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, pks, sorter=order), known.size - 1)]
    return np.where(known[place] == pks, place, -1)


def byte_rows(rows: QuerySet) -> Iterator[tuple]:
    """The rows as the driver returns them, fetched in chunks."""
    with connection.chunked_cursor() as cursor:
        if connection.vendor == "postgresql":
            # Its binary mode sends bytes as they are and not as hex.
            cursor.cursor.execute = partial(cursor.cursor.execute, binary=True)
        cursor.execute(*rows.query.sql_with_params())
        yield from chain.from_iterable(iter(lambda: cursor.fetchmany(RANKINGS_AT_A_TIME), []))
