"""Other databases than that of the tests, empty, which are the usual one for a while."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.utils import load_backend


@contextmanager
def empty_place(folder: Path, vendor: str = "") -> Iterator[None]:
    """An empty database of the kind that the tests run on, or SQLite."""
    if "sqlite" in (vendor, connection.vendor):
        options = {"timeout": 20.0, "transaction_mode": "IMMEDIATE"}
        with instead(ENGINE="config.sqlite", NAME=folder / "db.sqlite3", OPTIONS=options):
            yield
        return
    name = f"place_{uuid4().hex[:12]}"
    administered(f"CREATE DATABASE {name}")
    try:
        with instead(NAME=name):
            yield
    finally:
        administered(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def instead(**changes) -> Iterator[None]:
    """A connection with other settings is the default connection of this thread during the block."""
    settings = copy.deepcopy(connection.settings_dict) | changes
    current = connections[DEFAULT_DB_ALIAS]
    database = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = database
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = current
        database.close()


def administered(statement: str) -> None:
    """By a connection of its own, since the test may be in a transaction."""
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(statement)
    finally:
        other.close()


_migrated: list[bytes] = []  # a database of SQLite with all tables and no row, once one was made


def make_tables() -> None:
    """All tables in a place that is empty. To migrate takes seconds, so SQLite does it once in a process."""
    if connection.vendor == "sqlite" and _migrated:
        connection.close()
        Path(connection.settings_dict["NAME"]).write_bytes(_migrated[0])
        return
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    if connection.vendor == "sqlite":
        _migrated.append(connection.connection.serialize())
