"""The checks, each a function that yields a Problem for each fault. A new one also goes into the list CHECKS."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from ratings.database import disk
from ratings.importing import jobs, signs
from ratings.people.sign_in import second_factor
from ratings.words import counted, nearest

from . import services
from .services import Problem

MIN_FREE_BYTES = 512 * 2**20  # on the disk
LOCK_SECONDS = 1.5  # for which a lock may be held
CHECKS_SECONDS = 2.4  # for all checks together, so that the doctor with its start takes less than five
NAMES_NOT_OF_OPERATORS = {"IDEALIST_SHORT_WAITS"}
# Names without IDEALIST_ that are less like a setting, as difflib compares them, are of other programs.
LEAST_SIMILARITY = 0.9
DAMAGE_SECONDS = 1.5  # for which pages of SQLite are read
# Cures of several checks. That of a disk is for one that is full, read-only or closed to the account.
RIGHTS = 'Give its account the rights that "Two accounts" in docs/operating.md lists, or name another account.'
CURE_OF_DISK = "Make room there, or let the account of Idealist write there: see who owns it."
PREPARE = f"{settings.PROGRAM} manage prepare"
UPGRADE = f"{settings.PROGRAM} manage upgrade"
# Part of a message of a driver → its cure.
CURES = {
    "unsupported startup parameter": "Name PostgreSQL itself in DATABASE_URL, not a pooler such as PgBouncer.",
    "permission denied": RIGHTS,
    "malformed": "Stop Idealist, and restore the last backup into a new folder. Keep this one until that is done.",
    "not a database": "Correct DATABASE_URL or IDEALIST_DATA, or restore the last backup into a new folder.",
}


class Check(NamedTuple):
    name: str
    run: Callable[[], Iterator[Problem]]
    in_readyz: bool = False  # whether /readyz runs it, too
    blocks_pages: bool = False  # whether its problems keep pages from being served: /readyz answers 503
    uses_database: bool = True  # then it runs in turn with the others that do


class Outcome(NamedTuple):
    """The problems that a check found. Without a database, checks that use it are not run."""

    check: Check
    problems: list[Problem]
    ran: bool = True


def outcomes(checks: list[Check]) -> list[Outcome]:
    """The outcomes of the checks, in their order, within CHECKS_SECONDS.

    Each check has a thread, and all that use the database have one, with a connection of its own.
    """
    groups = [[check] for check in checks if not check.uses_database]
    groups.append([check for check in checks if check.uses_database])
    results: dict[Check, Outcome] = {}  # which the threads fill
    threads = [Thread(target=run_in_order, args=(group, results), daemon=True) for group in groups]
    deadline = time.monotonic() + CHECKS_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    in_time = dict(results)  # a copy: a late thread still adds to `results`
    cure = "Start the service, or see what keeps this machine from reaching it: address, firewall, network."
    no_answer = [Problem(f"There is no answer within {CHECKS_SECONDS:g} s.", cure)]
    return [in_time.get(check) or Outcome(check, no_answer) for check in checks]


def run_in_order(checks: list[Check], results: dict[Check, Outcome]) -> None:
    """Put the outcome of each check into `results`. None runs any more once the check of the database failed."""
    is_down = False
    for check in checks:
        results[check] = Outcome(check, [], ran=False) if is_down else outcome_of(check)
        is_down = is_down or (check.run is database and bool(results[check].problems))
    connection.close()


def outcome_of(check: Check) -> Outcome:
    try:
        return Outcome(check, list(check.run()))
    except Exception as error:
        cure = cure_of(error, "See the log of the server.")
        return Outcome(check, [Problem(f"The check failed: {one_line(error)}", cure)])


def cure_of(error: Exception, otherwise: str) -> str:
    return next((cure for part, cure in CURES.items() if part in str(error)), otherwise)


def one_line(error: BaseException) -> str:
    """The message of an error in one line, at most 300 characters; the name of its class where it has none."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def database() -> Iterator[Problem]:
    """Whether the database answers and has tables, without which no other check of it means anything."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        yield Problem("There is no database yet.", f"The first start makes it: {settings.PROGRAM}")
        return
    try:
        has_tables = MigrationRecorder(connection).has_table()
    except DatabaseError as error:
        if trouble := disk.trouble(error):
            yield Problem(disk.MESSAGES[trouble], CURE_OF_DISK)
        else:
            cure = "Start it, correct DATABASE_URL, or raise its max_connections: each server has eight."
            yield Problem(f"The database does not answer: {one_line(error)}", cure_of(error, cure))
    else:
        if not has_tables:
            yield Problem("The database has no tables yet.", f"{PREPARE}. Or correct DATABASE_URL.")


def rights() -> Iterator[Problem]:
    """Whether the account may read and write every table of PostgreSQL."""
    if connection.vendor != "postgresql":
        return
    tables = connection.introspection.django_table_names(only_existing=True)
    acts = ("SELECT", "INSERT", "UPDATE", "DELETE")
    has_all_rights = " AND ".join(f"has_table_privilege(name, '{act}')" for act in acts)
    query = f"SELECT name FROM unnest(%s::text[]) name WHERE NOT ({has_all_rights}) ORDER BY name"
    with connection.cursor() as cursor:
        cursor.execute(query, [tables])
        refused = [name for (name,) in cursor.fetchall()]
    if refused:
        message = f"The account may not read and write {counted(len(refused), 'table')}, such as {refused[0]}."
        yield Problem(message, RIGHTS)


def damage() -> Iterator[Problem]:
    """Whether the file of SQLite is whole. What takes longer than DAMAGE_SECONDS counts as whole."""
    if connection.vendor != "sqlite" or not Path(connection.settings_dict["NAME"]).exists():
        return
    findings: list[str] = []
    thread = Thread(target=look_for_damage, args=[connection.settings_dict["NAME"], findings], daemon=True)
    thread.start()  # a thread, since older versions of SQLite do not let this be interrupted
    thread.join(DAMAGE_SECONDS)
    if findings and findings[0] != "ok":
        yield Problem(f"The file of the database is damaged: {' '.join(findings[0].split())}.", CURES["malformed"])


def look_for_damage(path: str, findings: list[str]) -> None:
    """Add SQLite's first finding to `findings`, "ok" for a whole file; nothing if it cannot be read now."""
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as file:
            findings += file.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:  # it is locked, closed, or its disk is read-only: see `writing`
        pass
    except sqlite3.DatabaseError as error:
        findings.append(str(error))


def migrations() -> Iterator[Problem]:
    """Whether the database has the migrations of this version, and no other."""
    on_disk = migrations_on_disk()
    applied = MigrationRecorder(connection).applied_migrations().keys()
    missing = on_disk - applied  # (app, name) of each
    if missing:
        yield Problem(f"The database lacks {len(missing)} migrations, such as {'.'.join(min(missing))}.", UPGRADE)
    apps = {app for app, _ in on_disk}
    newer = {(app, name) for app, name in applied - on_disk if app in apps}
    if newer:
        message = f"The database is of another version, which has {'.'.join(min(newer))}."
        yield Problem(message, "Start that version, or restore a backup that this version made.")


@cache
def migrations_on_disk() -> set[tuple[str, str]]:
    return set(MigrationLoader(None).disk_migrations)


def writing() -> Iterator[Problem]:
    """A problem where a lock, or the mode of its file, keeps SQLite from being written to."""
    if connection.vendor != "sqlite":
        return
    # A connection of its own, with a short timeout: Django's waits for a lock of this process first.
    probe = sqlite3.connect(connection.settings_dict["NAME"], timeout=LOCK_SECONDS, isolation_level=None)
    try:
        probe.execute("BEGIN IMMEDIATE")
        probe.execute("DELETE FROM django_migrations WHERE 0")  # BEGIN alone also succeeds on a read-only file
        probe.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if trouble := disk.trouble(error):  # the disk is full, or it or the file is read-only
            yield Problem(disk.MESSAGES[trouble], CURE_OF_DISK)
        else:
            message = f"An import or another program holds the lock of SQLite for more than {LOCK_SECONDS:g} s."
            cure = "Wait for the import, or close programs that have the file open, such as sqlite3 or a copy."
            yield Problem(message, cure)
    finally:
        probe.close()


def tls() -> Iterator[Problem]:
    """Whether people elsewhere sign in over TLS."""
    elsewhere = [
        name for name in settings.ALLOWED_HOSTS if name.strip("[]") not in ("localhost", "127.0.0.1", "::1")
    ]
    if elsewhere and not settings.HTTPS:
        message = f"{elsewhere[0]} is served without TLS: others can read passwords and sessions on their way."
        yield Problem(message, 'Put a proxy with TLS in front, and set IDEALIST_HTTPS=1: see "Proxy and TLS".')


def setting_names() -> Iterator[Problem]:
    """Whether each setting in the environment has a name that Idealist knows."""
    for name in sorted(os.environ.keys() - {*settings.NAMES, *NAMES_NOT_OF_OPERATORS}):
        if not (name.startswith("IDEALIST_") or get_close_matches(name, settings.NAMES, cutoff=LEAST_SIMILARITY)):
            continue
        near = nearest(name, settings.NAMES) or "see the table in docs/operating.md."
        yield Problem(f"{name} is set, and is no setting.", f"Correct or remove it: {near}")


def worker() -> Iterator[Problem]:
    """Whether a worker runs, by its heartbeat."""
    if not signs.has_worker():
        message = "No worker has run for half a minute: imports wait, and no round is drawn."
        yield Problem(message, f"Start one: {jobs.START_COMMAND}")


def storage() -> Iterator[Problem]:
    """Whether files can be written to the folders of data, uploads and pictures."""
    folders = [settings.DATA_DIR, Path(settings.FILE_UPLOAD_TEMP_DIR)]
    pictures = Path(settings.STORAGES["pictures"].get("OPTIONS", {}).get("location", settings.DATA_DIR))
    if pictures.exists():  # it is made with the first picture
        folders.append(pictures)
    for folder in dict.fromkeys(folders):  # each once, in order
        try:
            disk.try_out(folder)
        except OSError as error:
            yield Problem(f"Nothing can be written into {folder}: {error.strerror}.", CURE_OF_DISK)


def free_space() -> Iterator[Problem]:
    """Whether the disk has enough free space."""
    free = shutil.disk_usage(settings.DATA_DIR).free
    if free < MIN_FREE_BYTES:
        message = f"The disk of {settings.DATA_DIR} has {free // 2**20} MB left."
        yield Problem(message, "Make room there: imports need twice the size of what is sent.")


def static_files() -> Iterator[Problem]:
    """Whether the folder of static files has them: without its manifest, every page ends in an error."""
    if isinstance(staticfiles_storage, ManifestFilesMixin) and not staticfiles_storage.hashed_files:
        yield Problem(f"There are no static files in {settings.STATIC_ROOT}.", PREPARE)


def second_factors() -> Iterator[Problem]:
    """Whether the secrets of second factors can be read with the present keys."""
    if number := second_factor.unreadable():
        message = f"Second factors that cannot be read: {number}. They were made with another SECRET_KEY."
        yield Problem(message, "Name that key in SECRET_KEY_FORMER, or remove_second_factor of each person.")


# Heartbeats of the worker are in the cache, which may be a table of the database.
CHECKS = [
    Check("settings", setting_names, uses_database=False),
    Check("database", database, in_readyz=True, blocks_pages=True),
    Check("migrations", migrations, in_readyz=True, blocks_pages=True),
    Check("writing", writing, in_readyz=True, blocks_pages=True),
    Check("damage", damage, uses_database=False),
    Check("rights", rights),
    Check("storage", storage, in_readyz=True, blocks_pages=True, uses_database=False),
    Check("static files", static_files, in_readyz=True, blocks_pages=True, uses_database=False),
    Check("disk", free_space, in_readyz=True, uses_database=False),
    Check("worker", worker, in_readyz=True, uses_database=services.CACHE_IN_DATABASE),
    Check("tls", tls, uses_database=False),
    Check("second factors", second_factors),
    Check("store of files", services.store, in_readyz=True, uses_database=False),
    Check("cache", services.shared_cache, in_readyz=True, uses_database=services.CACHE_IN_DATABASE),
    Check("mail", services.mail, uses_database=False),
    Check("backups", services.backups, uses_database=False),  # not for every probe, since it lists the store
]
