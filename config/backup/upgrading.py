"""Upgrade a database of an older version: show the plan, back up, migrate and check.

The upgrade takes a backup first, so that one can go back to the former version.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from . import locks, tables, writing
from .package import opened, program
from .writing import Progress


class Failed(Exception):
    """The upgrade did not end well. The message is for people."""


class Step(NamedTuple):
    name: str
    does: list[str]
    waits: list[str]  # the reasons why pages would wait


def steps() -> list[Step]:
    """The migrations that the database lacks, in order. Raises tables.Unknown for a newer database."""
    tables.apps_at(tables.applied())
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [_step(executor, migration) for migration, _ in plan]


def _step(executor: MigrationExecutor, migration) -> Step:
    node = (migration.app_label, migration.name)
    before = executor.loader.project_state(node, at_end=False)
    does = [operation.describe() for operation in migration.operations]
    return Step(".".join(node), does, locks.complaints(migration, before))


def default_path() -> Path:
    folder = settings.DATA_DIR / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"before-{program()}-{datetime.strftime(timezone.now(), '%Y%m%dT%H%M%SZ')}.zip"


def back_up(path: Path, progress: Progress) -> dict:
    """Write a backup, read it again and return its manifest. Raises what writing and checking raise."""
    manifest = writing.write(path, progress=progress)
    with opened(path) as backup:
        backup.check(progress)
    return manifest


def upgrade(progress: Progress = lambda name: None) -> None:
    """Migrate the database and check it. Raises Failed."""
    before = _counts()
    progress("bringing tables up to date")
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)
    progress("checking")
    if left := steps():
        raise Failed(f"The database still lacks {left[0].name}.")
    connection.check_constraints()
    now = _counts()
    if fewer := [name for name in before if now.get(name, 0) < before[name]]:
        raise Failed(f"After the migration there are fewer rows in {', '.join(fewer)}.")


def _counts() -> dict[str, int]:
    """The number of rows of each table that the database has and this version keeps."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor))
        kept = [table.model._meta.db_table for table in tables.tables_of(tables.apps_at(tables.applied()))]
        found = {}
        for name in names & set(kept):
            cursor.execute(f'SELECT COUNT(*) FROM "{name}"')
            (found[name],) = cursor.fetchone()
    return found
