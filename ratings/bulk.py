"""Rows by the thousand, as they are and not as models. Each database has its own way."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.expressions import RawSQL


def among(values: list, kind: str) -> RawSQL:
    """For a filter `…__in`: values of a kind that PostgreSQL knows, as one parameter and not one for each."""
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(values)])
    return RawSQL(f"SELECT unnest(%s::{kind}[])", [values])


def read(rows: QuerySet, columns: Iterable[str]) -> Iterator[tuple]:
    """Values as the database gives them."""
    sql, given = rows.values_list(*columns).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        yield from cursor.fetchall()


def new_ids(model: type[Model], count: int) -> Sequence[int]:
    """For rows to insert, in a transaction: nobody else gets them."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # Who writes is alone there, and an insert notes the last of its ids.
            cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = %s", [table])
            (last,) = cursor.fetchone()
            return range(last + 1, last + count + 1)
        # The sequence is looked up once, which takes longer than to draw from it.
        cursor.execute(
            "WITH of AS MATERIALIZED (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids)"
            " SELECT array_agg(nextval(ids)) FROM of, generate_series(1, %s)",
            [table, count],
        )
        return cursor.fetchone()[0]


def insert(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Values as SQLite keeps them, which PostgreSQL reads, too."""
    table, names = model._meta.db_table, ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
            return
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
