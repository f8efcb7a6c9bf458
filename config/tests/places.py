"""Other databases than that of the tests, empty, which are the usual one for a while."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from django.db import connection, connections

from config.backup import replacement
from config.backup.package import Backup, open_backup


@contextmanager
def empty_place(folder: Path) -> Iterator[None]:
    """An empty database of the kind that the tests run on."""
    if connection.vendor == "sqlite":
        facts = {"ENGINE": "config.sqlite", "NAME": folder / "db.sqlite3"}
        with replacement.default_connection(**facts, OPTIONS=connection.settings_dict["OPTIONS"]):
            yield
        return
    name = f"place_{uuid4().hex[:12]}"
    administered(f"CREATE DATABASE {name}")
    try:
        with replacement.default_connection(NAME=name):
            yield
    finally:
        administered(f"DROP DATABASE {name} WITH (FORCE)")


def administered(statement: str) -> None:
    """By a connection of its own, since the test may be in a transaction."""
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(statement)
    finally:
        other.close()


def rows_of(path: Path) -> dict[str, list[dict]]:
    """All rows of all tables of a backup, with JSON as what it means."""
    with open_backup(path) as backup:
        return {name: _rows(backup, name) for name in backup.members("tables")}


def _rows(backup: Backup, name: str) -> list[dict]:
    found = [row for batch in backup.batches(f"tables/{name}") for row in batch.to_pylist()]
    for row in found:
        for column, value in row.items():
            if isinstance(value, str) and value.startswith(("[", "{")):
                row[column] = json.loads(value)
    return found
