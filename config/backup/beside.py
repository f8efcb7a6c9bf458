"""A new database, built unseen beside the one in use. When it is complete, it replaces that one atomically."""

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

SCHEMA = "restoring"
# What a database has that was made and never used.
MADE = {"django_migrations", "django_content_type", "auth_permission", "tries", "sqlite_sequence"}
MEANWHILE = "Somebody wrote into the database meanwhile. Nothing was restored."
STOP = "Stop the server and all workers first."


class InUse(Exception):
    """Others have the database open, or it holds something. The message is for people."""


@contextmanager
def _instead(**facts) -> Iterator[BaseDatabaseWrapper]:
    """A connection with some settings changed, which replaces the default connection of this thread meanwhile.

    An alias of its own would not do: migrations of other packages may not ask which database they are run on.
    """
    settings = copy.deepcopy(connection.settings_dict) | facts
    usual = connections[DEFAULT_DB_ALIAS]
    made = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = made
    try:
        yield made
    finally:
        connections[DEFAULT_DB_ALIAS] = usual
        made.close()


@contextmanager
def throwaway() -> Iterator[BaseDatabaseWrapper]:
    """An empty SQLite database that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="idealist-dry-") as folder, _sqlite(Path(folder)) as made:
        yield made


@contextmanager
def _sqlite(folder: Path) -> Iterator[BaseDatabaseWrapper]:
    # Nobody reads it before it is whole, so it waits for no disk until then.
    speed = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000;"
    options = {"timeout": 20.0, "transaction_mode": "IMMEDIATE", "init_command": speed}
    with _instead(ENGINE="config.sqlite", NAME=folder / "db.sqlite3", OPTIONS=options) as made:
        yield made


@contextmanager
def beside(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    """Yields an empty database beside the one in use, and replaces that one at the end of the block.

    If the block fails or is killed, nothing changes. `replace`: replace a database that is not empty, too, and
    keep it under another name. Raises InUse.
    """
    refuse_used(replace=replace)
    kind = _file_beside if connection.vendor == "sqlite" else _schema_beside
    with kind(replace=replace) as made:
        yield made


def refuse_used(*, replace: bool) -> None:
    """Raises InUse where others use the database, or where it holds something."""
    if not replace and (table := held()):
        raise InUse(
            f"The database holds something already (in {table}), and a restore mixes nothing. Name an empty one in"
            " IDEALIST_DATA or DATABASE_URL, or give --replace: then this one is kept under another name."
        )
    if connection.vendor == "sqlite":
        with _alone(_file()):
            pass
    else:
        _refuse_others()


def held() -> str | None:
    """A table with rows that people or programs have written; None if there are none."""
    with connection.cursor() as cursor:
        for table in sorted(set(connection.introspection.table_names(cursor)) - MADE):
            cursor.execute(f'SELECT 1 FROM "{table}" LIMIT 1')
            if cursor.fetchone():
                return table
    return None


def kept_name() -> str:
    """The name under which the replaced database or key is kept."""
    return datetime.strftime(timezone.now(), "before_%Y%m%d_%H%M%S")


# SQLite: a file, renamed


def _file() -> Path:
    return Path(connection.settings_dict["NAME"])


@contextmanager
def _file_beside(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    path, mark = _file(), ".restoring-"
    for left in path.parent.glob(f"{mark}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=mark, dir=path.parent) as folder:
        with _sqlite(Path(folder)) as made:
            yield made
        new = Path(made.settings_dict["NAME"])
        with new.open("rb+") as whole:
            os.fsync(whole.fileno())
        holds = held()
        if holds and not replace:
            raise InUse(MEANWHILE)
        with _alone(path):
            if holds:
                os.link(path, path.with_name(f"{path.name}.{kept_name()}"))
            os.replace(new, path)
            sync_folder(path.parent)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Ensure that nobody else has this file open, and merge its journal into it. Raises InUse."""
    connection.close()
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as only:
        try:
            only.execute("PRAGMA journal_mode=DELETE")
            only.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise InUse(f"{path} is in use ({error}). {STOP}") from error
        yield


# PostgreSQL: a schema, whose tables move


def _refuse_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> %s",
            [SCHEMA],
        )
        (others,) = cursor.fetchone()
    if others:
        raise InUse(f"The database has {others} other connections. {STOP}")


@contextmanager
def _schema_beside(*, replace: bool) -> Iterator[BaseDatabaseWrapper]:
    options = copy.deepcopy(connection.settings_dict["OPTIONS"])
    options["options"] = f"{options.get('options', '')} -c search_path={SCHEMA}".strip()
    options["application_name"] = SCHEMA
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")  # of a process that was killed
        cursor.execute(f"CREATE SCHEMA {SCHEMA}")
    try:
        with _instead(OPTIONS=options) as made:
            yield made
        with transaction.atomic():
            _refuse_others()
            _swap(replace=replace)
    except BaseException:
        with suppress(Exception), connection.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        raise


def _swap(*, replace: bool) -> None:
    """Move the tables that are in use away, and those beside to their place.

    Tables, not schemas: to rename `public` takes rights that the owner of a database may not have.
    """
    holds, kept = bool(held()), kept_name()
    if holds and not replace:
        raise InUse(MEANWHILE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (usual,) = cursor.fetchone()
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA])
        new = {name for (name,) in cursor.fetchall()}
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [usual])
        ours = new | set(connection.introspection.django_table_names())
        old = {name for (name,) in cursor.fetchall()} & ours
        cursor.execute(f"CREATE SCHEMA {kept}")
        for table in sorted(old):
            cursor.execute(f'ALTER TABLE "{usual}"."{table}" SET SCHEMA {kept}')
        for table in sorted(new):
            cursor.execute(f'ALTER TABLE {SCHEMA}."{table}" SET SCHEMA "{usual}"')
        cursor.execute(f"DROP SCHEMA {SCHEMA}")
        if not holds:
            cursor.execute(f"DROP SCHEMA {kept} CASCADE")
