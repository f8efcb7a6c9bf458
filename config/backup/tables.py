"""Tables as Arrow batches of rows: read by primary key, loaded into an empty database, and compared."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
from django.apps.registry import Apps
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, Model

from ratings.database.bulk import insert

from . import columns

BATCH_BYTES = 8 << 20  # about so many in a batch
FIRST_ROWS, MAX_ROWS = 100, 20_000  # rows in the first batch, and in any
# Whoever has a backup must not be able to use open sessions. A worker enqueues lost tasks again.
LEFT_OUT = {"ratings.session", "django_tasks_database.dbtaskresult"}
Node = tuple[str, str]  # a migration: its app and its name


class UnknownMigrations(Exception):
    """The database has migrations that this program does not have, so it is of a newer version."""

    def __init__(self, nodes: Collection[Node]) -> None:
        self.nodes = sorted(nodes)
        super().__init__(", ".join(map(".".join, self.nodes)))


class NoTables(Exception):
    """The database is new: it has no tables yet."""


class Table(NamedTuple):
    model: type[Model]

    @property
    def name(self) -> str:
        return self.model._meta.label_lower

    @property
    def fields(self) -> list[Field]:
        return self.model._meta.local_concrete_fields

    @property
    def columns(self) -> list[str]:
        return [field.column for field in self.fields]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(field.column, columns.type_of(field)) for field in self.fields])


def applied_migrations() -> list[Node]:
    """The migrations that the database has, sorted."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def migrations_in_use() -> list[Node]:
    """The migrations of a database that was made before. Raises NoTables."""
    if not (nodes := applied_migrations()):
        raise NoTables
    return nodes


def apps_at(nodes: Collection[Node]) -> Apps:
    """All models as they are after these migrations. Raises UnknownMigrations."""
    loader = MigrationExecutor(connection).loader
    if unknown := set(nodes) - loader.graph.nodes.keys():
        raise UnknownMigrations(unknown)
    return loader.project_state(list(nodes)).apps


def tables_of(apps: Apps) -> list[Table]:
    """The tables that a backup contains, sorted by name."""
    models = apps.get_models(include_auto_created=True)
    kept = [model for model in models if model._meta.managed and not model._meta.proxy]
    tables = sorted(map(Table, kept), key=lambda table: table.name)
    return [table for table in tables if table.name not in LEFT_OUT]


# Reading


def batches(table: Table) -> Iterator[pa.RecordBatch]:
    """Yields all rows in batches, in the order of their primary keys."""
    number, last = FIRST_ROWS, None
    while (batch := rows_after(table, last, number)).num_rows:
        yield batch
        last = last_key(table, batch)
        # Rows of documents can be large: the next batch has as many as fit, at most four times as many.
        number = max(1, min(MAX_ROWS, 4 * number, batch.num_rows * BATCH_BYTES // (batch.nbytes + 1)))


def rows_after(table: Table, last, number: int) -> pa.RecordBatch:
    """The next `number` rows after the primary key `last`, or the first rows where that is None."""
    pk = f'"{table.model._meta.pk.column}"'
    names = ", ".join(f'"{name}"' for name in table.columns)
    where, params = (f"WHERE {pk} > %s", [last]) if last is not None else ("", [])
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT {names} FROM "{table.model._meta.db_table}" {where} ORDER BY {pk} LIMIT {number}', params
        )
        found = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(table.fields)
    arrays = [columns.array(*each) for each in zip(table.fields, found, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def last_key(table: Table, batch: pa.RecordBatch):
    return batch.column(table.model._meta.pk.column)[-1].as_py()


def last_id(table: Table) -> int | None:
    """The last id that the database gave to a row, which may be deleted since; None if it gave none."""
    name, pk = table.model._meta.db_table, table.model._meta.pk.column
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [name])
        else:
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [f'"{name}"', pk])
            (sequence,) = cursor.fetchone()
            if sequence is None:
                return None
            cursor.execute(f"SELECT last_value FROM {sequence} WHERE is_called")
        found = cursor.fetchone()
    return found[0] or None if found else None


# Loading


@contextmanager
def without_indexes() -> Iterator[None]:
    """Drop foreign keys and indexes for the block, and make them again after it.

    So tables and rows can be loaded in any order, and each index is built once, from sorted rows.
    """
    drop, restore = (_sqlite_statements if connection.vendor == "sqlite" else _postgres_statements)()
    with connection.constraint_checks_disabled():
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in drop:
                cursor.execute(statement)
        yield
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in restore:
                cursor.execute(statement)
    connection.check_constraints()


def _sqlite_statements() -> tuple[list[str], list[str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        found = cursor.fetchall()
    return [f'DROP INDEX "{name}"' for name, _ in found], [sql for _, sql in found]


def _postgres_statements() -> tuple[list[str], list[str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT quote_ident(relname), quote_ident(conname), pg_get_constraintdef(c.oid)"
            " FROM pg_constraint c JOIN pg_class t ON t.oid = conrelid"
            " WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
        )
        keys = cursor.fetchall()
        cursor.execute(
            "SELECT quote_ident(i.relname), pg_get_indexdef(i.oid) FROM pg_index x"
            " JOIN pg_class i ON i.oid = x.indexrelid WHERE i.relnamespace = current_schema()::regnamespace"
            " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.oid AND contype IN ('p', 'u', 'x'))"
        )
        indexes = cursor.fetchall()
    drop = [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys]
    drop += [f"DROP INDEX {name}" for name, _ in indexes]
    restore = [sql for _, sql in indexes]
    return drop, restore + [f"ALTER TABLE {table} ADD CONSTRAINT {name} {sql}" for table, name, sql in keys]


def load(table: Table, found: Iterable[pa.RecordBatch]) -> None:
    """Insert all rows of a table, in one transaction."""
    with transaction.atomic():
        for batch in found:
            insert(table.model, table.columns, columns.rows(batch.select(table.columns)))


def set_last_id(table: Table, last: int | None) -> None:
    """Let the database continue its ids after this one. None: it gave none."""
    name, pk = table.model._meta.db_table, table.model._meta.pk.column
    if last is None:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [name])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [name, last])
        else:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [f'"{name}"', pk, last])


# Comparing


def difference(table: Table, found: Iterable[pa.RecordBatch]) -> str | None:
    """The first difference between the table and these batches, in words; None if there is none."""
    last = None
    for batch in (each.select(table.columns) for each in found):
        stored = rows_after(table, last, batch.num_rows)
        if not (stored.equals(batch) or _equal_but_for_json(table, stored, batch)):
            return f"{table.name} holds other rows after id {last}"
        last = last_key(table, batch)
    extra = rows_after(table, last, 1).num_rows
    return f"{table.name} holds more rows than the backup" if extra else None


def _equal_but_for_json(table: Table, one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Whether two batches are equal but for the text of JSON: PostgreSQL keeps neither its order nor exponents."""
    if one.num_rows != other.num_rows:
        return False
    for field, here, there in zip(table.fields, one.columns, other.columns, strict=True):
        if here.equals(there):
            continue
        if columns.kind_of(field) != "JSONField" or list(map(_parsed, here)) != list(map(_parsed, there)):
            return False
    return True


def _parsed(value: pa.Scalar):
    """The value of JSON text. Its numbers are decimals, because PostgreSQL writes 1e+23 with all its digits."""
    text = value.as_py()
    return None if text is None else json.loads(text, parse_float=Decimal, parse_int=Decimal)
