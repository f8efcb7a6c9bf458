"""A new database that is built out of sight of the one in use, and replaces it atomically once it is complete."""

import copy
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend
from django.utils import timezone

from ratings.management.whole_file import sync_folder

REPLACEMENT_SCHEMA, TEMPORARY_SCHEMA = "restoring", "restoring_dry"
# The tables that have rows in a database that was created and never used.
INITIAL_TABLES = {"django_migrations", "django_content_type", "auth_permission", "tries", "sqlite_sequence"}
CHANGED_MEANWHILE = "Somebody wrote into the database meanwhile. Nothing was restored."
STOP_SERVER = "Stop the server and all workers first."
STOP_POOLER = "A pooler keeps connections that nobody uses: stop it, too, or PAUSE this database in its console."


class InUse(Exception):
    """Others have the database open, or it has rows already. The message is for the operator, with a cure."""


@contextmanager
def default_connection(**changes) -> Iterator[BaseDatabaseWrapper]:
    """Yields a connection with changed settings, which is the default connection of this thread during the block.

    A further alias would not do: migrations of other packages may ignore which database they run on.
    """
    settings = copy.deepcopy(connection.settings_dict) | changes
    current = connections[DEFAULT_DB_ALIAS]
    database = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = database
    try:
        yield database
    finally:
        connections[DEFAULT_DB_ALIAS] = current
        database.close()


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """During the block, root acts as the owner of the folder, whose server can then use what is written."""
    owner = folder.stat()
    if os.geteuid() or not owner.st_uid:
        yield
        return
    group = os.getegid()
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)


@contextmanager
def temporary_database() -> Iterator[BaseDatabaseWrapper]:
    """Yields an empty database of the kind in use, on PostgreSQL a schema, which is deleted after the block."""
    if connection.vendor == "sqlite":
        with tempfile.TemporaryDirectory(prefix="idealist-dry-") as folder, _sqlite_in(Path(folder)) as database:
            yield database
    else:
        with _new_schema(TEMPORARY_SCHEMA) as options, default_connection(OPTIONS=options) as database:
            yield database


@contextmanager
def _sqlite_in(folder: Path) -> Iterator[BaseDatabaseWrapper]:
    # Nobody reads it before it is complete, so it need not wait for the disk until then.
    speed = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000;"
    options = {"timeout": 20.0, "transaction_mode": "IMMEDIATE", "init_command": speed}
    with default_connection(ENGINE="config.sqlite", NAME=folder / "db.sqlite3", OPTIONS=options) as database:
        yield database


@contextmanager
def replacement_database(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    """Yields an empty database, which replaces the one in use at the end of the block.

    If the block fails or is killed, nothing changes. `replace`: also replace a database that has rows, and keep it
    under another name. Raises InUse.
    """
    refuse_used(replace=replace)
    replacement = _file_replacement if connection.vendor == "sqlite" else _schema_replacement
    with replacement(replace=replace) as database:
        yield database


def refuse_used(*, replace: bool) -> None:
    """Raises InUse where others use the database or, without `replace`, where it has rows."""
    if not replace and (table := table_with_rows()):
        raise InUse(
            f"The database holds something already (in {table}), and a restore mixes nothing. Name an empty one in"
            " IDEALIST_DATA or DATABASE_URL, or give --replace: then this one is kept under another name."
        )
    if connection.vendor == "sqlite":
        with _exclusive(_path_of_file()):
            pass
    else:
        _refuse_others()


def table_with_rows() -> str | None:
    """The name of a table with rows that people or programs have written; None if there is none."""
    with connection.cursor() as cursor:
        for table in sorted(set(connection.introspection.table_names(cursor)) - INITIAL_TABLES):
            cursor.execute(f'SELECT 1 FROM "{table}" LIMIT 1')
            if cursor.fetchone():
                return table
    return None


def name_of_replaced() -> str:
    """The name under which the replaced database or key is kept."""
    return datetime.strftime(timezone.now(), "before_%Y%m%d_%H%M%S")


# SQLite: a file, which is renamed


def _path_of_file() -> Path:
    return Path(connection.settings_dict["NAME"])


@contextmanager
def _file_replacement(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    path, mark = _path_of_file(), ".restoring-"
    for leftover in path.parent.glob(f"{mark}*"):  # by a process that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=mark, dir=path.parent) as folder:
        with _sqlite_in(Path(folder)) as database:
            yield database
        new_path = Path(database.settings_dict["NAME"])
        if path.exists():
            shutil.copymode(path, new_path)
        with new_path.open("rb+") as file:
            os.fsync(file.fileno())
        has_rows = table_with_rows()
        if has_rows and not replace:
            raise InUse(CHANGED_MEANWHILE)
        with _exclusive(path):
            if has_rows:
                os.link(path, path.with_name(f"{path.name}.{name_of_replaced()}"))
            os.replace(new_path, path)
            sync_folder(path.parent)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of this SQLite file, with its journal merged into it. Raises InUse."""
    connection.close()
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as exclusive:
        try:
            exclusive.execute("PRAGMA journal_mode=DELETE")
            exclusive.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise InUse(f"{path} is in use ({error}). {STOP_SERVER}") from error
        yield


# PostgreSQL: a schema, whose tables are moved


def _refuse_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*), string_agg(DISTINCT usename, ', ' ORDER BY usename) FROM pg_stat_activity"
            # PostgreSQL shows kind and name of sessions of other accounts to few: to an ordinary owner, NULL.
            " WHERE datname = current_database() AND COALESCE(backend_type, 'client backend') = 'client backend'"
            " AND pid <> pg_backend_pid() AND application_name IS DISTINCT FROM %s"
            # The server may have an account of its own. Programs that only watch may go on.
            " AND (usename = current_user"
            " OR has_table_privilege(usesysid, to_regclass('ratings_rating'), 'INSERT'))",
            [REPLACEMENT_SCHEMA],
        )
        others, accounts = cursor.fetchone()
    if others:
        raise InUse(f"The database has {others} other connections, of {accounts}. {STOP_SERVER} {STOP_POOLER}")


@contextmanager
def _new_schema(name: str) -> Iterator[dict]:
    """Yields the options of a connection that has its tables in a new schema. What the block leaves is deleted."""
    options = copy.deepcopy(connection.settings_dict["OPTIONS"])
    options["options"] = f"{options.get('options', '')} -c search_path={name}".strip()
    options["application_name"] = name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")  # of a process that was killed
        cursor.execute(f"CREATE SCHEMA {name}")
    try:
        yield options
    finally:
        with suppress(Exception), connection.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@contextmanager
def _schema_replacement(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    with _new_schema(REPLACEMENT_SCHEMA) as options:
        with default_connection(OPTIONS=options) as database:
            yield database
        with transaction.atomic():
            _refuse_others()
            _swap_tables(replace=replace)


def _swap_tables(*, replace: bool) -> None:
    """Move the tables in use to a schema of their own, and the new tables to their place.

    Tables are moved, not schemas: the owner of a database may not have the right to rename `public`.
    """
    has_rows, kept_schema = bool(table_with_rows()), name_of_replaced()
    if has_rows and not replace:
        raise InUse(CHANGED_MEANWHILE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (current,) = cursor.fetchone()
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [REPLACEMENT_SCHEMA])
        new_tables = {name for (name,) in cursor.fetchall()}
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [current])
        ours = new_tables | set(connection.introspection.django_table_names())
        old = {name for (name,) in cursor.fetchall()} & ours
        cursor.execute(f"CREATE SCHEMA {kept_schema}")
        for table in sorted(old):
            cursor.execute(f'ALTER TABLE "{current}"."{table}" SET SCHEMA {kept_schema}')
        for table in sorted(new_tables):
            cursor.execute(f'ALTER TABLE {REPLACEMENT_SCHEMA}."{table}" SET SCHEMA "{current}"')
        cursor.execute(f"DROP SCHEMA {REPLACEMENT_SCHEMA}")
        if not has_rows:
            cursor.execute(f"DROP SCHEMA {kept_schema} CASCADE")
