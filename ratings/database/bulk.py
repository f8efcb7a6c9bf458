"""Read and write thousands of rows without model instances, in the fastest way that each database has."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.expressions import RawSQL


def among(values: list, kind: str) -> RawSQL:
    """The values as one parameter, for the right side of a filter `…__in`. `kind` is their type in PostgreSQL."""
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(values)])
    return RawSQL(f"SELECT unnest(%s::{kind}[])", [values])


def read(rows: QuerySet, columns: Iterable[str]) -> Iterator[tuple]:
    """The columns as the database gives them, without Django's conversion."""
    sql, params = rows.values_list(*columns).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        yield from cursor.fetchall()


def check_foreign_keys() -> None:
    """Check the foreign keys of this transaction now.

    PostgreSQL would otherwise check every row at the commit, when locks are held for which raters wait.
    """
    if connection.vendor == "postgresql":
        connection.check_constraints()


def without_time_limit() -> None:
    """Let the statements of this transaction take as long as they need: the limit suits pages."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")


def new_ids(model: type[Model], count: int) -> Sequence[int]:
    """Primary keys for rows that are inserted in this transaction; no other transaction gets them."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # `seq` is the last id that the table had. Nothing is reserved: SQLite has one writer at a time, so
            # nobody else inserts meanwhile. The caller inserts its rows before the next call: that raises `seq`.
            cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = %s", [table])
            (last,) = cursor.fetchone()
            return range(last + 1, last + count + 1)
        # Materialized, so that the name of the sequence is looked up once: a look-up takes longer than nextval.
        cursor.execute(
            "WITH of AS MATERIALIZED (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids)"
            " SELECT array_agg(nextval(ids)) FROM of, generate_series(1, %s)",
            [table, count],
        )
        return cursor.fetchone()[0]


def insert(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows whose values are in SQLite's form, which PostgreSQL's COPY accepts too. Raises DatabaseError."""
    table = model._meta.db_table
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            placeholders = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({placeholders})", rows)
            return
        # Django does not wrap the errors of the driver's `copy`, as it does those of `execute`.
        with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
