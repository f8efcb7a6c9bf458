"""Tables as batches of rows: read by primary key, and loaded into an empty database."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow as pa
from django.apps.registry import Apps
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, Model

from ratings.database.bulk import insert

from . import columns

PIECE = 8 << 20  # bytes of a batch, about
FIRST, MOST = 100, 20_000  # rows of the first batch, and of any
# Who has a backup must not get into open sessions. A worker asks again for tasks that are lost.
LEFT_OUT = {"ratings.session", "django_tasks_database.dbtaskresult"}
Node = tuple[str, str]  # a migration: its app and its name


class Unknown(Exception):
    """The database has migrations that this program does not know: it is that of a newer version."""

    def __init__(self, nodes: Collection[Node]) -> None:
        self.nodes = sorted(nodes)
        super().__init__(", ".join(map(".".join, self.nodes)))


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


def applied() -> list[Node]:
    """The migrations of the database."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def apps_at(nodes: Collection[Node]) -> Apps:
    """All models as they are after these migrations. Raises Unknown."""
    loader = MigrationExecutor(connection).loader
    if unknown := set(nodes) - loader.graph.nodes.keys():
        raise Unknown(unknown)
    return loader.project_state(list(nodes)).apps


def tables_of(apps: Apps) -> list[Table]:
    """The tables that a backup keeps, by name."""
    models = apps.get_models(include_auto_created=True)
    kept = [model for model in models if model._meta.managed and not model._meta.proxy]
    tables = sorted(map(Table, kept), key=lambda table: table.name)
    return [table for table in tables if table.name not in LEFT_OUT]


# Reading


def batches(table: Table) -> Iterator[pa.RecordBatch]:
    """All rows, in the order of their primary keys."""
    number, last = FIRST, None
    while (batch := piece(table, last, number)).num_rows:
        yield batch
        last = last_of(table, batch)
        # Rows of documents can be large: the next batch is as many as fit, but no sudden leap.
        number = max(1, min(MOST, 4 * number, batch.num_rows * PIECE // (batch.nbytes + 1)))


def piece(table: Table, last, number: int) -> pa.RecordBatch:
    """The next rows after the one with the primary key `last`; from the beginning where that is None."""
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


def last_of(table: Table, batch: pa.RecordBatch):
    return batch.column(table.model._meta.pk.column)[-1].as_py()


def last_id(table: Table) -> int | None:
    """The last id that the database gave to a row, which may be gone. None: it gave none."""
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
def unhindered() -> Iterator[None]:
    """Foreign keys and indexes are away while rows are loaded, and are made again at the end.

    So tables come in any order, rows in any order of what they refer to, and an index is made once, sorted.
    """
    take, put_back = (_sqlite if connection.vendor == "sqlite" else _postgres)()
    with connection.constraint_checks_disabled():
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in take:
                cursor.execute(statement)
        yield
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in put_back:
                cursor.execute(statement)
    connection.check_constraints()


def _sqlite() -> tuple[list[str], list[str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        found = cursor.fetchall()
    return [f'DROP INDEX "{name}"' for name, _ in found], [sql for _, sql in found]


def _postgres() -> tuple[list[str], list[str]]:
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
    take = [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys]
    take += [f"DROP INDEX {name}" for name, _ in indexes]
    put_back = [sql for _, sql in indexes]
    return take, put_back + [f"ALTER TABLE {table} ADD CONSTRAINT {name} {sql}" for table, name, sql in keys]


def load(table: Table, found: Iterable[pa.RecordBatch]) -> None:
    """Write all rows of a table, in one transaction."""
    with transaction.atomic():
        for batch in found:
            insert(table.model, table.columns, columns.rows(batch.select(table.columns)))


def go_on_from(table: Table, last: int | None) -> None:
    """Let the database give ids after this one."""
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
    """The difference between the table and these batches, in words; None if there is none."""
    last = None
    for batch in (each.select(table.columns) for each in found):
        stored = piece(table, last, batch.num_rows)
        if not (stored.equals(batch) or _same(table, stored, batch)):
            return f"{table.name} holds other rows after id {last}"
        last = last_of(table, batch)
    more = piece(table, last, 1).num_rows
    return f"{table.name} holds more rows than the backup" if more else None


def _same(table: Table, one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Whether they differ in the spelling of JSON alone: PostgreSQL keeps its meaning, not its order of names."""
    if one.num_rows != other.num_rows:
        return False
    for field, here, there in zip(table.fields, one.columns, other.columns, strict=True):
        if here.equals(there):
            continue
        if columns.kind_of(field) != "JSONField" or list(map(_parsed, here)) != list(map(_parsed, there)):
            return False
    return True


def _parsed(value: pa.Scalar):
    return None if value.as_py() is None else json.loads(value.as_py())
