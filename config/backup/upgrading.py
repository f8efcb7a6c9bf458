"""Upgrade a database of an older version: show the plan, back up, migrate and check.

The backup makes it possible to go back to the former version.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from ratings.database import making

from . import locks, tables, writing
from .package import open_backup
from .writing import Progress


class UpgradeFailed(Exception):
    """The upgrade failed. The message is for the operator."""


class Step(NamedTuple):
    name: str
    operations: list[str]
    lock_warnings: list[str]  # a sentence for each operation that keeps pages waiting, with its cure


def pending_steps() -> list[Step]:
    """The migrations that the database lacks, in order.

    Raises tables.NoTables for a new database, and tables.UnknownMigrations for one of a newer version.
    """
    tables.apps_at(tables.migrations_in_use())
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [_step(executor, migration) for migration, _ in plan]


def _step(executor: MigrationExecutor, migration) -> Step:
    node = (migration.app_label, migration.name)
    state_before = executor.loader.project_state(node, at_end=False)
    operations = [operation.describe() for operation in migration.operations]
    return Step(".".join(node), operations, locks.lock_warnings(migration, state_before))


def default_path() -> Path:
    folder = settings.DATA_DIR / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"before-{settings.VERSION}-{datetime.strftime(timezone.now(), '%Y%m%dT%H%M%SZ')}.zip"


def back_up(path: Path, progress: Progress) -> dict:
    """Write a backup, read it again and return its manifest. Raises what `write` and `Backup.check` raise."""
    manifest = writing.write(path, progress=progress)
    with open_backup(path) as backup:
        backup.check(progress)
    return manifest


def upgrade(progress: Progress = lambda name: None) -> None:
    """Migrate the database and check it. Raises UpgradeFailed."""
    counts_before = _counts()
    progress("bringing tables up to date")
    with making.alone():
        call_command("migrate", verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
    progress("checking")
    if remaining := pending_steps():
        raise UpgradeFailed(f"The database still lacks {remaining[0].name}.")
    connection.check_constraints()
    now = _counts()
    if lost := [name for name in counts_before if now.get(name, 0) < counts_before[name]]:
        raise UpgradeFailed(f"After the migration there are fewer rows in {', '.join(lost)}.")


def _counts() -> dict[str, int]:
    """{table: number of rows} of the tables of this database that a backup contains."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor))
        kept_tables = [
            table.model._meta.db_table for table in tables.tables_of(tables.apps_at(tables.applied_migrations()))
        ]
        counts = {}
        for name in names & set(kept_tables):
            cursor.execute(f'SELECT COUNT(*) FROM "{name}"')
            (counts[name],) = cursor.fetchone()
    return counts
