"""The checks. Each yields a Problem for each thing that is wrong; to add one, write it and name it in CHECKS."""

import os
import shutil
import socket
import sqlite3
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from ratings.database import disk
from ratings.imports import jobs
from ratings.models import AuditEvent
from ratings.sign_in import second_factor

from . import services
from .modes import Problem, open_to_others

ROOM = 512 * 2**20  # bytes that the disk should have
SKEW = timedelta(seconds=30)  # between two clocks
LOCKED = 1.5  # seconds: who holds a lock for longer keeps pages waiting
FULL = 0.9  # of the connections of PostgreSQL
OLDEST_POSTGRESQL = 140000
SOON = 14 * 24 * 3600  # seconds before a certificate ends
CONNECT = 2.0  # seconds
WAIT = 2.4  # seconds for all answers together: with its start the doctor has named every fault within five
MAKE_ROOM = "Make room there, or make it writable."
PREPARE = "python3 run.py manage prepare"


class Check(NamedTuple):
    name: str
    look: Callable[[], Iterator[Problem]]
    ready: bool = False  # whether /readyz looks, too
    serves: bool = False  # whether pages cannot be served while it is wrong: /readyz is 503 then
    asks: bool = True  # whether it asks the database


class Outcome(NamedTuple):
    check: Check
    problems: list[Problem]
    looked: bool = True


def outcomes(checks: list[Check]) -> list[Outcome]:
    """Of all checks, in their order, within WAIT seconds: side by side, those that ask the database one by one."""
    begun = {check: beside(check) for check in checks if not check.asks}
    end = time.monotonic() + WAIT
    found = {outcome.check: outcome for outcome in of_database([check for check in checks if check.asks])}
    wait(begun.values(), timeout=max(0.0, end - time.monotonic()))
    found |= {check: future.result() if future.done() else silent(check) for check, future in begun.items()}
    return [found[check] for check in checks]


def of_database(checks: list[Check]) -> list[Outcome]:
    """Of the checks that ask the database. A connection that is silent for WAIT seconds is given up."""
    if not checks:
        return []
    found: list[Outcome] = []
    thread = Thread(target=in_turn, args=(checks, connections[DEFAULT_DB_ALIAS], found), daemon=True)
    thread.start()
    thread.join(WAIT)
    looked = list(found)  # to which a thread that is given up adds what the end of its connection says
    if len(looked) < len(checks):
        give_up(connections[DEFAULT_DB_ALIAS])
    rest = checks[len(looked) :]
    return [*looked, *map(silent, rest[:1]), *(Outcome(check, [], looked=False) for check in rest[1:])]


def in_turn(checks: list[Check], shared: BaseDatabaseWrapper, found: list[Outcome]) -> None:
    """Put what is found into `found`, by the connection of the thread that waits for it."""
    shared.inc_thread_sharing()
    connections[DEFAULT_DB_ALIAS] = shared
    away = False
    for check in checks:
        outcome = Outcome(check, [], looked=False) if away else outcome_of(check)
        away = away or (check.look is database and bool(outcome.problems))
        found.append(outcome)
    shared.dec_thread_sharing()


def give_up(silent: BaseDatabaseWrapper) -> None:
    """Leave the connection to the thread that waits for it, and end that wait where there is a socket."""
    del connections[DEFAULT_DB_ALIAS]  # the next request of this thread makes a new one
    if silent.vendor == "postgresql" and silent.connection:
        with suppress(OSError, DatabaseError), socket.socket(fileno=os.dup(silent.connection.fileno())) as cut:
            cut.shutdown(socket.SHUT_RDWR)


running: dict[Check, Future] = {}
starting = Lock()


def beside(check: Check) -> Future:
    """The outcome to come. A check that still waits is not begun again, so that no probe piles up threads."""
    with starting:
        if check not in running or running[check].done():
            running[check] = Future()
            Thread(target=answer, args=(check, running[check]), daemon=True).start()
        return running[check]


def answer(check: Check, future: Future) -> None:
    future.set_result(outcome_of(check))


def silent(check: Check) -> Outcome:
    cure = "Start what it asks, or see what keeps this machine from reaching it: address, firewall, network."
    return Outcome(check, [Problem(f"There is no answer within {WAIT:g} s.", cure)])


def outcome_of(check: Check) -> Outcome:
    try:
        return Outcome(check, list(check.look()))
    except Exception as error:
        return Outcome(
            check, [Problem(f"It cannot be looked at: {one_line(error)}", "See the log of the server.")]
        )


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


# The database


def hurry() -> None:
    """Let this process wait for a connection no longer than a doctor should."""
    if connection.vendor == "postgresql":
        connection.settings_dict["OPTIONS"]["connect_timeout"] = int(CONNECT)


def database() -> Iterator[Problem]:
    """Whether it answers."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        yield Problem("There is no database yet.", "The first start makes it: python3 run.py")
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        said = one_line(error)
        connection.close()
        if "too many c" in said or "connection slots" in said:
            yield Problem("PostgreSQL takes no more connections.", FEWER)
        elif trouble := disk.trouble(error):
            yield Problem(disk.MESSAGES[trouble], MAKE_ROOM)
        else:
            yield Problem(f"The database does not answer: {said}", "Start it, or correct DATABASE_URL.")


FEWER = "Raise max_connections, or lower WEB_CONCURRENCY: each of its processes has up to 40 connections."


def migrations() -> Iterator[Problem]:
    """Whether the tables are those of this version."""
    known, applied = on_disk(), MigrationRecorder(connection).applied_migrations().keys()
    if missing := known - applied:
        yield Problem(f"The database lacks {len(missing)} migrations, such as {'.'.join(min(missing))}.", PREPARE)
    apps = {app for app, _ in known}
    if newer := {name for name in applied - known if name[0] in apps}:
        said = f"The database is of a newer version, which has {'.'.join(min(newer))}."
        yield Problem(said, "Start the newer version, or restore a backup of before the upgrade.")


@cache
def on_disk() -> set[tuple[str, str]]:
    return set(MigrationLoader(None).disk_migrations)


def writing() -> Iterator[Problem]:
    """Whether the database can be written, or a lock prevents it."""
    yield from writing_to_sqlite() if connection.vendor == "sqlite" else writing_to_postgresql()


def writing_to_sqlite() -> Iterator[Problem]:
    # A connection of its own: that of Django would wait for the writers of this process.
    beside = sqlite3.connect(connection.settings_dict["NAME"], timeout=LOCKED, isolation_level=None)
    try:
        beside.execute("BEGIN IMMEDIATE")
        beside.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        of_django = DatabaseError()
        of_django.__cause__ = error
        if trouble := disk.trouble(of_django):
            yield Problem(disk.MESSAGES[trouble], MAKE_ROOM)
        else:
            said = f"Another program holds the lock of SQLite for more than {LOCKED:g} s."
            yield Problem(said, "Close programs that have the file open, such as sqlite3 or a copy.")
    finally:
        beside.close()


def writing_to_postgresql() -> Iterator[Problem]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        if cursor.fetchone()[0] == "on":
            cure = "Name the primary server in DATABASE_URL, or end default_transaction_read_only."
            yield Problem("PostgreSQL only reads.", cure)
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND now() - query_start > make_interval(secs => %s)",
            [LOCKED],
        )
        if waiting := cursor.fetchone()[0]:
            said = f"{waiting} statements have waited for a lock for more than {LOCKED:g} s."
            yield Problem(said, "See who holds it: SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity")


def limits() -> Iterator[Problem]:
    """Version, mode and limits of the database."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            if (mode := cursor.fetchone()[0]) not in ("wal", "memory"):
                said = f"SQLite is in the mode {mode}: whoever reads keeps others from writing."
                yield Problem(said, "Put the data folder on a disk of this machine, not of the network.")
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        if int(cursor.fetchone()[0]) < OLDEST_POSTGRESQL:
            yield Problem("PostgreSQL is older than 14.", "Upgrade it.")
        cursor.execute("SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity")
        used, most = cursor.fetchone()
        if used >= most * FULL:
            yield Problem(f"{used} of {most} connections of PostgreSQL are in use.", FEWER)


def clock() -> Iterator[Problem]:
    """Whether this machine has the time of the database, and no event lies in the future."""
    cure = "Set the clocks of both machines by NTP: leases and sessions depend on them."
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            apart = abs(cursor.fetchone()[0] - timezone.now())
        if apart > SKEW:
            yield Problem(f"The clock is {apart.total_seconds():.0f} s apart from that of the database.", cure)
            return
    try:
        latest = AuditEvent.objects.order_by("-at").values_list("at", flat=True).first()
    except DatabaseError:
        return  # there is no such table yet, as `migrations` says
    if latest and latest - timezone.now() > SKEW:
        ahead = (latest - timezone.now()).total_seconds()
        yield Problem(f"The latest event of the audit lies {ahead:.0f} s in the future.", cure)


# The worker


def worker() -> Iterator[Problem]:
    """Whether one was heard of."""
    if not jobs.has_worker():
        said = "No worker was heard of for half a minute: imports wait, and no round is drawn."
        yield Problem(said, f"Start one: {jobs.START}")


# The disk


def storage() -> Iterator[Problem]:
    """Whether files can be written where data, uploads and pictures lie."""
    pictures = Path(settings.STORAGES["pictures"].get("OPTIONS", {}).get("location", settings.DATA_DIR))
    for folder in {settings.DATA_DIR, Path(settings.FILE_UPLOAD_TEMP_DIR), pictures}:
        if folder is pictures and not folder.exists():
            continue  # it is made with the first picture
        try:
            disk.try_out(folder)
        except OSError as error:
            said = f"Nothing can be written into {folder}: {error.strerror}."
            yield Problem(said, "Make room there, make it writable, or name another folder in IDEALIST_DATA.")


def room() -> Iterator[Problem]:
    """Whether the disk has room."""
    free = shutil.disk_usage(settings.DATA_DIR).free
    if free < ROOM:
        said = f"The disk of {settings.DATA_DIR} has {free // 2**20} MB left."
        yield Problem(said, "Make room there: imports need twice the size of what is sent.")


def secrets() -> Iterator[Problem]:
    """Whether others on this machine can read what is secret."""
    yield from open_to_others(settings.DATA_DIR)


# The way from outside


def hosts() -> Iterator[Problem]:
    """Whether the names are set to which it answers."""
    here = {"localhost", "127.0.0.1", "[::1]", "::1"}
    names = {name.strip() for name in settings.ALLOWED_HOSTS}
    if "*" in names:
        yield Problem("IDEALIST_HOSTS has *: any name is answered, and links of invitations can be forged.", HOSTS)
    elif (settings.HTTPS or settings.PROXIES) and names <= here:
        yield Problem("It stands behind a proxy and answers to the names of this machine only.", HOSTS)
    elif "" in names:
        yield Problem("IDEALIST_HOSTS has an empty name.", HOSTS)


HOSTS = "Write the names that people use into IDEALIST_HOSTS."


def tls() -> Iterator[Problem]:
    """Whether others come by TLS."""
    if settings.PROXIES and not settings.HTTPS:
        said = "There is a proxy and IDEALIST_HTTPS is 0: passwords and sessions travel as they are."
        yield Problem(said, "Have the proxy speak TLS, and set IDEALIST_HTTPS=1.")


def certificate() -> Iterator[Problem]:
    """Whether the public address has a valid certificate, where it is known."""
    host = public_host()
    if host:
        yield from certificate_of(host)


def public_host() -> str:
    """The first name of IDEALIST_HOSTS behind TLS; "" where it is not known."""
    name = settings.ALLOWED_HOSTS[0].strip() if settings.HTTPS else ""
    return "" if name in ("", "*", "localhost", "127.0.0.1", "[::1]") or name.startswith(".") else name


def certificate_of(host: str, port: int = 443) -> Iterator[Problem]:
    cure = f"Renew the certificate at the proxy, for {host}."
    try:
        with (
            socket.create_connection((host, port), CONNECT) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secure,
        ):
            ends = ssl.cert_time_to_seconds(secure.getpeercert()["notAfter"])
    except ssl.SSLCertVerificationError as error:
        yield Problem(f"The certificate of {host} is refused: {error.verify_message}.", cure)
    except OSError as error:
        said = f"https://{host}/ does not answer: {error.strerror or one_line(error)}."
        yield Problem(said, "Start the proxy, correct its name in the DNS, or correct IDEALIST_HOSTS.")
    else:
        if (left := ends - time.time()) < SOON:
            yield Problem(f"The certificate of {host} ends in {left / 86400:.0f} days.", cure)


def second_factors() -> Iterator[Problem]:
    """Whether the secrets of second factors can be read with the present keys."""
    if number := second_factor.unreadable():
        yield Problem(
            f"Second factors that cannot be read: {number}. They were made with another SECRET_KEY.",
            "Name that key in SECRET_KEY_FORMER. If it is lost, for each person who cannot sign in: "
            "python3 run.py manage remove_second_factor NAME",
        )


# Tries and the heartbeat of the worker lie in the database, or where CACHE_URL says.
IN_DATABASE = settings.CACHES["tries"]["BACKEND"].endswith(".DatabaseCache")

CHECKS = [
    Check("database", database, ready=True, serves=True),
    Check("migrations", migrations, ready=True, serves=True),
    Check("writing", writing, ready=True, serves=True),
    Check("storage", storage, ready=True, serves=True, asks=False),
    Check("disk", room, ready=True, asks=False),
    Check("worker", worker, ready=True, asks=IN_DATABASE),
    Check("database limits", limits),
    Check("second factors", second_factors),
    Check("clock", clock),
    Check("secrets", secrets, ready=True, asks=False),
    Check("hosts", hosts, asks=False),
    Check("tls", tls, asks=False),
    Check("certificate", certificate, asks=False),
    Check("store of files", services.store, ready=True, asks=False),
    Check("tries", services.tries, ready=True, asks=IN_DATABASE),
    Check("mail", services.mail, asks=False),
    Check("provider", services.provider, asks=False),
    Check("backups", services.backups, asks=False),  # lists the store: too much for every probe
]
