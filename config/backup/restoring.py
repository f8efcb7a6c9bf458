"""Restore a backup into an empty database, or try that out in one that is thrown away."""

import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ratings.management.whole_file import sync_folder

from . import files, tables
from .beside import beside, kept_name, refuse_used, throwaway
from .package import Backup, Unfit, opened, program
from .writing import Progress


def try_out(path: Path, *, progress: Progress = lambda name: None) -> dict:
    """Returns the manifest, after all was read, loaded and compared. Raises Unfit and OSError."""
    with opened(path) as backup, throwaway():
        backup.check(progress)
        _build(backup, progress)
        return backup.manifest


def restore(
    path: Path, *, replace: bool = False, with_keys: bool = False, progress: Progress = lambda name: None
) -> dict:
    """Returns the manifest of the restored backup. Raises Unfit, InUse and OSError.

    If it fails or is killed, the database is unchanged: the new one is built beside it.
    """
    with opened(path) as backup:
        refuse_used(replace=replace)
        backup.check(progress)
        if with_keys and not backup.keys():
            raise Unfit(f"{path.name} has no keys. Leave --with-keys out, and bring secret.key yourself.")
        with beside(replace=replace):
            _build(backup, progress)
            _store_files(backup, progress)
        if with_keys:
            put_back_secret(backup.keys()["SECRET_KEY"])
        return backup.manifest


def _build(backup: Backup, progress: Progress) -> None:
    """Make the tables as they were, load and compare all rows, and bring the tables up to date."""
    try:
        apps = tables.apps_at(backup.migrations)
    except tables.Unknown as unknown:
        raise Unfit(
            f"{backup.name} was made by Idealist {backup.manifest['program']}, whose database is newer than this"
            f" version, {program()}, knows ({unknown}). Install {backup.manifest['program']} or newer."
        ) from unknown
    progress("making tables")
    _migrate(set(backup.migrations))
    kept, found = backup.members("tables"), tables.tables_of(apps)
    if kept.keys() != {table.name for table in found}:
        raise Unfit(f"{backup.name} has other tables than its migrations make. Take another backup.")
    with tables.unhindered():
        for table in found:
            progress(f"loading {table.name}")
            tables.load(table, backup.batches(f"tables/{table.name}"))
            tables.go_on_from(table, kept[table.name]["last_id"])
    _compare(backup, found, progress)
    _find_files(backup, apps)
    progress("bringing tables up to date")
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)


def _migrate(nodes: set[tables.Node]) -> None:
    executor = MigrationExecutor(connection)
    whole = executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)
    plan = [step for step in whole if (step[0].app_label, step[0].name) in nodes]
    executor.migrate(sorted(nodes), plan)


def _compare(backup: Backup, found: list[tables.Table], progress: Progress) -> None:
    for table in found:
        progress(f"comparing {table.name}")
        if wrong := tables.difference(table, backup.batches(f"tables/{table.name}")):
            raise Unfit(f"{backup.name}: after loading, {wrong}. Nothing was restored.")


def compare(path: Path) -> None:
    """Raises Unfit where the database, at the migrations of the backup, does not hold its rows."""
    with opened(path) as backup:
        found = tables.tables_of(tables.apps_at(backup.migrations))
        _compare(backup, found, lambda name: None)


def _find_files(backup: Backup, apps) -> None:
    """Raises Unfit where rows need files that the backup has not. It says itself which were lost before."""
    known = set(backup.manifest["missing"])
    for store in files.STORES:
        there = {name for batch in backup.batches(f"files/{store}") for name in batch.column("name").to_pylist()}
        for name, needed in files.named(apps, store):
            if needed and name not in there and f"{store}/{name}" not in known:
                raise Unfit(f"{backup.name} lacks {store}/{name}, which a row needs. Take another backup.")


def _store_files(backup: Backup, progress: Progress) -> None:
    for store in files.STORES:
        progress(f"storing {store}")
        files.put_back(store, backup.batches(f"files/{store}"))


def put_back_secret(key: str) -> None:
    """Let the next start take this key. The one that was there is kept under another name."""
    path = settings.DATA_DIR / "secret.key"
    if path.exists() and path.read_text().strip() == key:
        return
    with suppress(FileNotFoundError):
        os.link(path, path.with_name(f"{path.name}.{kept_name()}"))
    beside_it = path.with_name("secret.key.new")
    beside_it.unlink(missing_ok=True)
    with os.fdopen(os.open(beside_it, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside_it, path)
    sync_folder(path.parent)
