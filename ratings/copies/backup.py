"""Back up all data into one file while others work, and restore them into an empty database of either kind.

A backup is a ZIP with the rows of each table as JSON, by their ids, the files of each store, and a manifest as its
last member. The tables are those of the migrations that the database has, so that an upgrade can back up first.
"""

import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import File
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, Model
from django.utils import timezone

from ..database.bulk import insert
from ..database.snapshot import snapshot
from ..formats.zipped import FixedZip
from ..management.whole_file import OWNER_ONLY, forget_parts, whole_file
from ..words import first_keys
from . import package, stores
from .package import MANIFEST, Unreadable
from .tables import LEFT_OUT
from .values import as_json, plain, stored

FORMAT, VERSION = "idealist backup", 1
ROWS_AT_ONCE = 500
NOT_OURS_CURE = "Check that this is the file you meant: backup makes such files, import_collection reads archives."
MADE_BY_MIGRATE = (Permission, ContentType)  # models that have rows even in an empty database
Progress = Callable[[str], object]
Migration = tuple[str, str]  # a migration: its app and its name


class Refused(ValueError):
    """The database is not one that can be backed up or restored into. The message has the cure."""


def silent(name: str) -> None:
    """Show no progress."""


def lower_priority() -> None:
    """Lower the priority of this thread, so that requests of raters come first."""
    with suppress(OSError):  # only Linux has a priority for each thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


# What is in it


def applied_migrations() -> list[Migration]:
    """The migrations that the database has. Raises Refused where it is empty or of another version of Idealist."""
    migrations = sorted(MigrationRecorder(connection).applied_migrations())
    if not migrations:
        raise Refused(
            f"{connection.settings_dict['NAME']} has no tables, so it is no database of Idealist yet. Set"
            " IDEALIST_DATA to the data folder, or DATABASE_URL to the database"
        )
    migrations_of_program = MigrationExecutor(connection).loader.graph.nodes.keys()
    if unknown := set(migrations) - migrations_of_program:
        raise Refused(
            f"The database is of another version of Idealist: this one, {settings.VERSION}, does not know"
            f" {first_keys(map('.'.join, sorted(unknown)))}. Start that version, or restore a backup of this one"
        )
    return migrations


def tables_at(apps: Apps) -> dict[str, tuple[type[Model], list[Field]]]:
    """The tables of a backup by name, each with its columns in an order that does not depend on the migrations."""
    tables = {}
    for model in apps.get_models(include_auto_created=True):
        meta = model._meta
        if meta.managed and not meta.proxy and meta.label not in LEFT_OUT:
            fields = sorted(meta.local_concrete_fields, key=lambda field: (not field.primary_key, field.attname))
            tables[meta.label_lower] = model, fields
    return dict(sorted(tables.items()))


def rows(model: type[Model], fields: Sequence[Field]) -> Iterator[bytes]:
    """The names of the columns, and then all rows by their ids, as lines of JSON."""
    yield (as_json([field.attname for field in fields]) + "\n").encode()
    all_rows = model._base_manager.order_by("pk").values_list(*(field.attname for field in fields))
    for row in all_rows.iterator(chunk_size=ROWS_AT_ONCE):
        yield (as_json([plain(value) for value in row]) + "\n").encode()


def member_of(table: str) -> str:
    return f"tables/{table}.jsonl"


def summary(manifest: dict) -> str:
    """A text with the size, the moment and the version of a backup, from its manifest."""
    tables = [lines - 1 for name, (lines, _) in manifest["members"].items() if name.startswith("tables/")]
    made_at = manifest["made_at"][:16].replace("T", " ")
    return f"{sum(tables):,} rows of {len(tables)} tables, of {made_at} UTC, by Idealist {manifest['program']}"


# Write


def write(path: Path, *, progress: Progress = silent) -> dict:
    """Write a backup to `path`, where it appears once it is complete, and return its manifest.

    A link stays, and the file that it names is written. Raises OSError and Refused.
    """
    if path == Path("-"):
        raise OSError("A backup is a file, and cannot go to standard output. Name a file, such as idealist.zip")
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no ordinary file. Name another one, such as idealist.zip")
    forget_parts(path)  # unfinished files of earlier backups to this path that were killed
    with whole_file(path, OWNER_ONLY) as file:
        made_at = timezone.now()  # before the snapshot, which therefore has all that was confirmed by then
        with snapshot():
            return _write(file, made_at, progress)


def _write(file: BinaryIO, made_at: datetime, progress: Progress) -> dict:
    """Write the files of the stores and the tables, and return the manifest.

    Its "missing" names the files that rows need, such as pictures, and that their store does not have.
    """
    migrations = applied_migrations()
    apps = MigrationExecutor(connection).loader.project_state(migrations).apps
    archive = FixedZip()
    last_ids = {}
    missing = []
    # Files come first: the older the snapshot, the more of its files may have been deleted meanwhile. `is_needed`:
    # whether a row still needs the file; an import that is over needs its own no more.
    for store, referenced in stores.REFERENCED.items():
        progress(store)
        for name, is_needed in sorted(referenced(apps).items()):
            if storages[store].exists(name):
                file.writelines(archive.add(f"files/{store}/{name}", stores.blocks(store, name), large=True))
            elif is_needed:
                missing.append(f"{store}/{name}")
    for table, (model, fields) in tables_at(apps).items():
        progress(table)
        file.writelines(archive.add(member_of(table), rows(model, fields), large=True))
        last_ids[table] = last_id(model)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "program": settings.VERSION,
        "made_at": made_at.isoformat(),
        "database": connection.vendor,
        "migrations": migrations,
        "last_ids": last_ids,
        "missing": missing,
        "members": archive.members(),
    }
    file.writelines(archive.add(MANIFEST, [(json.dumps(manifest, indent=1) + "\n").encode()]))
    file.write(archive.end())
    return manifest | {"members": package.members_of(manifest)}  # in the form that `opened` returns, too


def last_id(model: type[Model]) -> int | None:
    """The last id that the database gave to a row, which may be deleted since; None if it gave none."""
    name, pk = model._meta.db_table, model._meta.pk.column
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [name])
        else:
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [f'"{name}"', pk])
            (sequence,) = cursor.fetchone()
            if sequence is None:  # the database gives no ids to this table
                return None
            # A sequence that was never called has given no id: then this query returns no row.
            cursor.execute(f"SELECT last_value FROM {sequence} WHERE is_called")
        (last,) = cursor.fetchone() or (None,)
    return last or None  # SQLite keeps a 0 where an insert gave no id


# Read


def opened(file: BinaryIO, name: str) -> tuple[zipfile.ZipFile, dict]:
    """The ZIP of a backup, and its manifest, once all was read. Raises Unreadable."""
    zip_file, manifest = package.opened(file, name, FORMAT, VERSION, NOT_OURS_CURE)
    package.check(zip_file, name, manifest["members"])
    return zip_file, manifest


def restore(path: Path, *, progress: Progress = silent) -> dict:
    """Restore a backup into an empty database, in one transaction, and return its manifest.

    What is written is read again and compared by its hashes. Raises Unreadable, Refused and OSError.
    """
    with path.open("rb") as file:
        progress("checking")
        zip_file, manifest = opened(file, path.name)
        if not MigrationRecorder(connection).applied_migrations():
            progress("making tables")
            call_command("migrate", verbosity=0, interactive=False)
            call_command("createcachetable", verbosity=0)
        if applied_migrations() != [tuple(migration) for migration in manifest["migrations"]]:
            problem = f"it was made by Idealist {manifest['program']}, whose database has other migrations"
            cure = "Restore it with that version, and then run `upgrade` with this one."
            raise Unreadable(path.name, problem, cure)
        try:
            with transaction.atomic():
                _restore(zip_file, path.name, manifest, progress)
        except DatabaseError as error:
            message = " ".join(str(error).split())
            raise Refused(f"The database refuses: {message}. Stop the server and all workers first") from error
    return manifest


def _restore(zip_file: zipfile.ZipFile, name: str, manifest: dict, progress: Progress) -> None:
    """Load all tables and files.

    Raises Refused if the database has rows already, and Unreadable if it then has other rows than the backup.
    """
    tables = tables_at(current_apps)
    if lacking := sorted(set(map(member_of, tables)) - manifest["members"].keys()):
        raise Unreadable(f"{name}, {lacking[0]}", "the file is missing", NOT_OURS_CURE)
    models = [model for model, _ in tables.values()]
    _lock(models)
    _refuse_rows(models)
    for model in MADE_BY_MIGRATE:  # the backup has these rows, too
        model._base_manager.all()._raw_delete("default")
    for table, (model, fields) in tables.items():
        progress(f"loading {table}")
        _load(zip_file, member_of(table), model, fields)
        _set_last_id(model, manifest["last_ids"][table])
    for table, (model, fields) in tables.items():
        progress(f"comparing {table}")
        _, expected_sha256 = manifest["members"][member_of(table)]
        if package.sha256_of(rows(model, fields)) != expected_sha256:
            raise Unreadable(f"{name}, {member_of(table)}", "the database keeps other rows", package.COPY_AGAIN)
    for member in manifest["members"]:
        if member.startswith("files/"):
            progress(member)
            _store_file(zip_file, name, member)


def _lock(models: Sequence[type[Model]]) -> None:
    """Keep everybody else out until the end of the transaction. SQLite's transactions do so by themselves."""
    if connection.vendor == "postgresql":
        names = ", ".join(f'"{model._meta.db_table}"' for model in models)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE NOWAIT")


def _refuse_rows(models: Sequence[type[Model]]) -> None:
    for model in models:
        if model not in MADE_BY_MIGRATE and model._base_manager.exists():
            raise Refused(
                f"The database holds something already (in {model._meta.db_table}), and a restore mixes nothing."
                " Name an empty one in IDEALIST_DATA or DATABASE_URL"
            )


def _load(zip_file: zipfile.ZipFile, member: str, model: type[Model], fields: Sequence[Field]) -> None:
    """Load the rows of a table from a member of a backup. Raises Unreadable if it has other columns."""
    with zip_file.open(member) as file:
        names = json.loads(next(file))
        fields_by_name = {field.attname: field for field in fields}
        if set(names) != fields_by_name.keys():
            problem = "it has other columns than the table"
            raise Unreadable(f"{Path(str(zip_file.filename)).name}, {member}", problem, NOT_OURS_CURE)
        fields_of_file = [fields_by_name[name] for name in names]

        def rows_of_file() -> Iterator[list[Any]]:
            for line in file:
                values = zip(fields_of_file, json.loads(line), strict=True)
                # They were in a database of Idealist, so that no validator checks them again.
                yield [stored(field, value, ours=True) for field, value in values]

        insert(model, [field.column for field in fields_of_file], rows_of_file())


def _set_last_id(model: type[Model], last: int | None) -> None:
    """Let the database continue its ids after `last`. None: it gave none."""
    name, pk = model._meta.db_table, model._meta.pk.column
    if last is None:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [name])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [name, last])
        else:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [f'"{name}"', pk, last])


def _store_file(zip_file: zipfile.ZipFile, name: str, member: str) -> None:
    """Store the file of a member, files/STORE/FILE, if it is missing. Names are unique: hashes, or random."""
    _, store, file = member.split("/", 2)
    if storages[store].exists(file):
        return
    with TemporaryFile() as content:
        for block in package.blocks(zip_file, name, member):
            content.write(block)
        content.seek(0)
        storages[store].save(file, File(content, file))
