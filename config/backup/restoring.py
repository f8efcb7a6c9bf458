"""Restore a backup into an empty database, or into a temporary one to see whether it can be restored."""

import os
from contextlib import nullcontext, suppress
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ratings.management.whole_file import sync_folder

from . import files, tables
from .package import Backup, UnusableBackup, open_backup
from .replacement import as_owner_of, name_of_replaced, refuse_used, replacement_database, temporary_database
from .writing import Progress


def dry_run(path: Path, *, progress: Progress = lambda name: None) -> dict:
    """Returns the manifest, once all was read, loaded and compared. Raises UnusableBackup and OSError."""
    with open_backup(path) as backup, temporary_database():
        backup.check(progress)
        _load_database(backup, progress)
        return backup.manifest


def restore(
    path: Path, *, replace: bool = False, with_keys: bool = False, progress: Progress = lambda name: None
) -> dict:
    """Returns the manifest of the restored backup. Raises UnusableBackup, InUse and OSError.

    If it fails or is killed, the database is unchanged: the new one replaces it last.
    """
    # PostgreSQL may know an operator by the account of the process.
    in_file = connection.vendor == "sqlite"
    with open_backup(path) as backup, as_owner_of(settings.DATA_DIR) if in_file else nullcontext():
        refuse_used(replace=replace)
        backup.check(progress)
        if with_keys and not backup.keys():
            raise UnusableBackup(f"{path.name} has no keys. Leave --with-keys out, and copy secret.key yourself.")
        with replacement_database(replace=replace):
            _load_database(backup, progress)
            with as_owner_of(settings.DATA_DIR):
                _store_files(backup, progress)
        if with_keys:
            with as_owner_of(settings.DATA_DIR):
                restore_secret_key(backup.keys()["SECRET_KEY"])
        return backup.manifest


def _load_database(backup: Backup, progress: Progress) -> None:
    """Make the tables of the backup, load and compare all rows, and migrate to this version."""
    try:
        apps = tables.apps_at(backup.migrations)
    except tables.UnknownMigrations as error:
        raise UnusableBackup(
            f"{backup.name} was made by Idealist {backup.manifest['program']}, whose database is newer than this"
            f" version, {settings.VERSION}, knows ({error}). Install {backup.manifest['program']} or newer."
        ) from error
    progress("making tables")
    _migrate(set(backup.migrations))
    members, table_list = backup.members("tables"), tables.tables_of(apps)
    if members.keys() != {table.name for table in table_list}:
        raise UnusableBackup(f"{backup.name} has other tables than its migrations make. Take another backup.")
    with tables.without_indexes():
        for table in table_list:
            progress(f"loading {table.name}")
            tables.load(table, backup.batches(f"tables/{table.name}"))
            tables.set_last_id(table, members[table.name]["last_id"])
    _compare(backup, table_list, progress)
    _check_files(backup, apps)
    progress("bringing tables up to date")
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)


def _migrate(nodes: set[tables.Node]) -> None:
    executor = MigrationExecutor(connection)
    full_plan = executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)
    plan = [step for step in full_plan if (step[0].app_label, step[0].name) in nodes]
    executor.migrate(sorted(nodes), plan)


def _compare(backup: Backup, table_list: list[tables.Table], progress: Progress) -> None:
    for table in table_list:
        progress(f"comparing {table.name}")
        if difference := tables.difference(table, backup.batches(f"tables/{table.name}")):
            raise UnusableBackup(f"{backup.name}: after loading, {difference}. Nothing was restored.")


def compare(path: Path) -> None:
    """Raises UnusableBackup where the database, at the migrations of the backup, has other rows than it."""
    with open_backup(path) as backup:
        table_list = tables.tables_of(tables.apps_at(backup.migrations))
        _compare(backup, table_list, lambda name: None)


def _check_files(backup: Backup, apps) -> None:
    """Raises UnusableBackup where it lacks a file that a row needs and that was not lost before the backup."""
    lost_before = set(backup.manifest["missing"])
    for store in files.STORES:
        present = {name for batch in backup.batches(f"files/{store}") for name in batch.column("name").to_pylist()}
        for name, needed in files.referenced_files(apps, store):
            if needed and name not in present and f"{store}/{name}" not in lost_before:
                raise UnusableBackup(
                    f"{backup.name} lacks {store}/{name}, which a row needs. Take another backup."
                )


def _store_files(backup: Backup, progress: Progress) -> None:
    for store in files.STORES:
        progress(f"storing {store}")
        files.restore_files(store, backup.batches(f"files/{store}"))


def restore_secret_key(key: str) -> None:
    """Write the secret key that the next start uses. The current one is kept under another name."""
    path = settings.DATA_DIR / "secret.key"
    if path.exists() and path.read_text().strip() == key:
        return
    with suppress(FileNotFoundError):
        os.link(path, path.with_name(f"{path.name}.{name_of_replaced()}"))
    new_path = path.with_name("secret.key.new")
    new_path.unlink(missing_ok=True)
    with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(new_path, path)
    sync_folder(path.parent)
