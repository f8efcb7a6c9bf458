"""The checks, each a function that yields a Problem for each fault. A new one also goes into the list CHECKS."""

import os
import pwd
import shutil
import socket
import sqlite3
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
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

MIN_FREE = 512 * 2**20  # bytes on the disk
MAX_SKEW = timedelta(seconds=30)  # largest difference between two clocks
LOCK_WAIT = 1.5  # seconds for which a lock may be held
CONNECTIONS_FULL = 0.9  # share of the connections of PostgreSQL that may be in use
OLDEST_POSTGRESQL = 140000
RATED = ["ratings_assignment", "ratings_rating", "ratings_ratingevent"]  # tables that grow while people rate
STALE = 50_000  # changed rows of such a table; autovacuum renews its statistics after 2,000
CERTIFICATE_SOON = 14 * 24 * 3600  # seconds before the end of a certificate at which it is a problem
CONNECT_TIMEOUT = 2.0  # seconds
TIMEOUT = 2.4  # seconds for all checks together, so that the doctor with its start takes less than five
AUTOVACUUM_ON = "ALTER SYSTEM SET autovacuum = on, then SELECT pg_reload_conf(). "
MAKE_ROOM = "Make room there, or make it writable."
PREPARE = "python3 run.py manage prepare"


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
    """The outcomes of the checks, in their order, within TIMEOUT seconds.

    Checks run in parallel, but those that use the database one after the other, on one connection.
    """
    futures = {check: future_of(check) for check in checks if not check.uses_database}
    end = time.monotonic() + TIMEOUT
    of_database = database_outcomes([check for check in checks if check.uses_database])
    results = {outcome.check: outcome for outcome in of_database}
    wait(futures.values(), timeout=max(0.0, end - time.monotonic()))
    results |= {check: future.result() if future.done() else timed_out(check) for check, future in futures.items()}
    return [results[check] for check in checks]


def database_outcomes(checks: list[Check]) -> list[Outcome]:
    """The outcomes of checks that use the database. After TIMEOUT seconds the connection is abandoned."""
    if not checks:
        return []
    results: list[Outcome] = []
    thread = Thread(target=run_in_order, args=(checks, connections[DEFAULT_DB_ALIAS], results), daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    ran = list(results)  # a copy: an abandoned thread still adds to `results` when its connection ends
    if len(ran) < len(checks):
        abandon(connections[DEFAULT_DB_ALIAS])
    remaining = checks[len(ran) :]
    return [*ran, *map(timed_out, remaining[:1]), *(Outcome(check, [], ran=False) for check in remaining[1:])]


def run_in_order(checks: list[Check], database_connection: BaseDatabaseWrapper, results: list[Outcome]) -> None:
    """Append the outcomes to `results`, using the connection of the thread that waits for them."""
    database_connection.inc_thread_sharing()
    connections[DEFAULT_DB_ALIAS] = database_connection
    is_down = False
    for check in checks:
        outcome = Outcome(check, [], ran=False) if is_down else outcome_of(check)
        is_down = is_down or (check.run is database and bool(outcome.problems))
        results.append(outcome)
    database_connection.dec_thread_sharing()


def abandon(database_connection: BaseDatabaseWrapper) -> None:
    """Leave the connection to the thread that waits on it, and shut down its socket to end that wait."""
    del connections[DEFAULT_DB_ALIAS]  # the next query of this thread makes a new one
    raw = database_connection.connection
    if database_connection.vendor == "postgresql" and raw:
        with suppress(OSError, DatabaseError), socket.socket(fileno=os.dup(raw.fileno())) as waiting_socket:
            waiting_socket.shutdown(socket.SHUT_RDWR)


futures_by_check: dict[Check, Future] = {}
start_lock = Lock()


def future_of(check: Check) -> Future:
    """The future outcome of a check. One that still runs is not started again, so that threads do not pile up."""
    with start_lock:
        if check not in futures_by_check or futures_by_check[check].done():
            futures_by_check[check] = Future()
            Thread(target=set_outcome, args=(check, futures_by_check[check]), daemon=True).start()
        return futures_by_check[check]


def set_outcome(check: Check, future: Future) -> None:
    future.set_result(outcome_of(check))


def timed_out(check: Check) -> Outcome:
    cure = "Start the service, or see what keeps this machine from reaching it: address, firewall, network."
    return Outcome(check, [Problem(f"There is no answer within {TIMEOUT:g} s.", cure)])


def outcome_of(check: Check) -> Outcome:
    try:
        return Outcome(check, list(check.run()))
    except Exception as error:
        return Outcome(check, [Problem(f"The check failed: {one_line(error)}", "See the log of the server.")])


def one_line(error: BaseException) -> str:
    """The message of an error in one line, at most 300 characters; the name of its class where it has none."""
    return " ".join(str(error).split())[:300] or type(error).__name__


# The database


def limit_connect_time() -> None:
    """Let this process wait at most CONNECT_TIMEOUT for a connection to PostgreSQL."""
    if connection.vendor == "postgresql":
        connection.settings_dict["OPTIONS"]["connect_timeout"] = int(CONNECT_TIMEOUT)


def database() -> Iterator[Problem]:
    """Whether the database answers and has tables, without which no other check of it means anything."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        yield Problem("There is no database yet.", "The first start makes it: python3 run.py")
        return
    try:
        has_tables = MigrationRecorder(connection).has_table()
    except DatabaseError as error:
        message = one_line(error)
        connection.close()
        if "too many c" in message or "connection slots" in message:
            yield Problem("PostgreSQL takes no more connections.", CONNECTIONS_CURE)
        elif trouble := disk.trouble(error):
            yield of_another_account(*files_of_sqlite()) or Problem(disk.MESSAGES[trouble], MAKE_ROOM)
        else:
            yield Problem(f"The database does not answer: {message}", "Start it, or correct DATABASE_URL.")
    else:
        if not has_tables:
            yield Problem("The database has no tables yet.", f"{PREPARE}. Or correct DATABASE_URL.")


CONNECTIONS_CURE = "Raise max_connections, or start fewer servers: each has eight connections."


def migrations() -> Iterator[Problem]:
    """Whether the database has the migrations of this version."""
    on_disk, applied = migrations_on_disk(), MigrationRecorder(connection).applied_migrations().keys()
    if missing := on_disk - applied:
        yield Problem(f"The database lacks {len(missing)} migrations, such as {'.'.join(min(missing))}.", PREPARE)
    apps = {app for app, _ in on_disk}
    if newer := {name for name in applied - on_disk if name[0] in apps}:
        message = f"The database is of a newer version, which has {'.'.join(min(newer))}."
        yield Problem(message, "Start the newer version, or restore a backup of before the upgrade.")


@cache
def migrations_on_disk() -> set[tuple[str, str]]:
    return set(MigrationLoader(None).disk_migrations)


def writing() -> Iterator[Problem]:
    """Whether the database can be written to, and no lock prevents it."""
    yield from writing_to_sqlite() if connection.vendor == "sqlite" else writing_to_postgresql()


def writing_to_sqlite() -> Iterator[Problem]:
    # A connection of its own: that of Django would wait for writers of this process, too.
    probe = sqlite3.connect(connection.settings_dict["NAME"], timeout=LOCK_WAIT, isolation_level=None)
    try:
        probe.execute("BEGIN IMMEDIATE")
        probe.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        django_error = DatabaseError()
        django_error.__cause__ = error
        if trouble := disk.trouble(django_error):
            yield of_another_account(*files_of_sqlite()) or Problem(disk.MESSAGES[trouble], MAKE_ROOM)
        else:
            message = f"Another program holds the lock of SQLite for more than {LOCK_WAIT:g} s."
            yield Problem(message, "Close programs that have the file open, such as sqlite3 or a copy.")
    finally:
        probe.close()


def files_of_sqlite() -> list[Path]:
    """The database and its log, as far as they exist; none with PostgreSQL."""
    names = ("", "-wal", "-shm") if connection.vendor == "sqlite" else ()
    paths = (Path(f"{connection.settings_dict['NAME']}{end}").absolute() for end in names)
    return [path for path in paths if path.exists()]


def writing_to_postgresql() -> Iterator[Problem]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        if cursor.fetchone()[0] == "on":
            cure = "Name the primary server in DATABASE_URL, or end default_transaction_read_only."
            yield Problem("PostgreSQL is read-only.", cure)
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND now() - query_start > make_interval(secs => %s)",
            [LOCK_WAIT],
        )
        if waiting := cursor.fetchone()[0]:
            message = f"{waiting} statements have waited for a lock for more than {LOCK_WAIT:g} s."
            yield Problem(
                message, "See who holds it: SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity"
            )


def limits() -> Iterator[Problem]:
    """Whether version, mode and limits of the database are as needed."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            if (mode := cursor.fetchone()[0]) not in ("wal", "memory"):
                message = f"SQLite is in the mode {mode}: whoever reads keeps others from writing."
                yield Problem(message, "Put the data folder on a disk of this machine, not of the network.")
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        if int(cursor.fetchone()[0]) < OLDEST_POSTGRESQL:
            yield Problem("PostgreSQL is older than 14.", "Upgrade it.")
        cursor.execute("SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity")
        used, most = cursor.fetchone()
        if used >= most * CONNECTIONS_FULL:
            yield Problem(f"{used} of {most} connections of PostgreSQL are in use.", CONNECTIONS_CURE)


def statistics() -> Iterator[Problem]:
    """Whether PostgreSQL has fresh statistics of the tables that grow while people rate."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_mod_since_analyze, current_setting('autovacuum') FROM pg_stat_user_tables"
            " WHERE relname = ANY(%s) AND n_mod_since_analyze >= %s ORDER BY n_mod_since_analyze DESC LIMIT 1",
            [RATED, STALE],
        )
        if found := cursor.fetchone():
            table, changed, autovacuum = found
            yield Problem(
                f"PostgreSQL's statistics of {table} are old: {changed:,} rows have changed since. Raters wait.",
                f"{AUTOVACUUM_ON if autovacuum == 'off' else ''}Run ANALYZE {table} once.",
            )


def clock() -> Iterator[Problem]:
    """Whether the clock agrees with that of the database, and no event lies in the future."""
    cure = "Set the clocks of both machines by NTP: leases and sessions depend on them."
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            apart = abs(cursor.fetchone()[0] - timezone.now())
        if apart > MAX_SKEW:
            yield Problem(f"The clock is {apart.total_seconds():.0f} s apart from that of the database.", cure)
            return
    try:
        latest = AuditEvent.objects.order_by("-at").values_list("at", flat=True).first()
    except DatabaseError:
        return  # there is no such table yet, which `migrations` reports
    if latest and latest - timezone.now() > MAX_SKEW:
        ahead = (latest - timezone.now()).total_seconds()
        yield Problem(f"The latest event of the audit lies {ahead:.0f} s in the future.", cure)


# The worker


def worker() -> Iterator[Problem]:
    """Whether a worker runs, by its heartbeat."""
    try:
        has_worker = jobs.has_worker()
    except ConnectionError as error:
        yield Problem(f"Whether a worker runs is unknown: {error}", services.START_CACHE)
        return
    if not has_worker:
        message = "No worker has run for half a minute: imports wait, and no round is drawn."
        yield Problem(message, f"Start one: {jobs.START}")


# The disk


def storage() -> Iterator[Problem]:
    """Whether files can be written to the folders of data, uploads and pictures."""
    pictures = Path(settings.STORAGES["pictures"].get("OPTIONS", {}).get("location", settings.DATA_DIR))
    for folder in {settings.DATA_DIR, Path(settings.FILE_UPLOAD_TEMP_DIR), pictures}:
        if folder is pictures and not folder.exists():
            continue  # it is made with the first picture
        try:
            disk.try_out(folder)
        except OSError as error:
            message = f"Nothing can be written into {folder}: {error.strerror}."
            cure = "Make room there, make it writable, or name another folder in IDEALIST_DATA."
            yield of_another_account(folder) or Problem(message, cure)


def of_another_account(*paths: Path) -> Problem | None:
    """The problem that one of the paths belongs to another account, and this one cannot write it."""
    account = os.geteuid()
    for path in paths:
        if path.exists() and path.stat().st_uid != account and not os.access(path, os.R_OK | os.W_OK):
            owner, me = name_of(path.stat().st_uid), name_of(account)
            message = f"{path} belongs to {owner}. This account, {me}, cannot write it."
            cure = f"As root, if Idealist runs as {me}: chown {me}: {path}. Do the same for the files beside it."
            return Problem(message, cure)
    return None


def name_of(account: int) -> str:
    """The name of the account, or its number where it has none, as in a container."""
    try:
        return pwd.getpwuid(account).pw_name
    except KeyError:
        return str(account)


def free_space() -> Iterator[Problem]:
    """Whether the disk has enough free space."""
    free = shutil.disk_usage(settings.DATA_DIR).free
    if free < MIN_FREE:
        message = f"The disk of {settings.DATA_DIR} has {free // 2**20} MB left."
        yield Problem(message, "Make room there: imports need twice the size of what is sent.")


def static_files() -> Iterator[Problem]:
    """Whether the folder of static files has them: without its manifest, every page ends in an error."""
    if isinstance(staticfiles_storage, ManifestFilesMixin) and not staticfiles_storage.hashed_files:
        own = Path(settings.STATIC_ROOT).is_relative_to(settings.DATA_DIR)
        yield Problem(
            f"There are no static files in {settings.STATIC_ROOT}.",
            PREPARE if own else "Correct IDEALIST_STATIC, or unset it: python3 run.py then collects them.",
        )


def secrets() -> Iterator[Problem]:
    """Whether other users of this machine cannot read secrets."""
    yield from open_to_others(settings.DATA_DIR)


def misspelt() -> Iterator[Problem]:
    """Whether a variable of the environment is nearly the name of a setting, and therefore without effect."""
    for name in sorted(set(os.environ) - set(settings.NAMES)):
        # 0.86 finds a letter more or less, and not the IDEALIST_PORT that Kubernetes sets for a service.
        if name.startswith("IDEALIST_") and (meant := get_close_matches(name, settings.NAMES, 1, 0.86)):
            yield Problem(f"{name} is no setting, and has no effect.", f"Write {meant[0]}, or leave it out.")


# The way from outside


def hosts() -> Iterator[Problem]:
    """Whether IDEALIST_HOSTS has the names to which the server answers."""
    here = {"localhost", "127.0.0.1", "[::1]"}
    names = set(settings.ALLOWED_HOSTS)
    if "*" in names:
        yield Problem(
            "IDEALIST_HOSTS has *: any name is answered, and links of invitations can be forged.", HOSTS_CURE
        )
    elif (settings.HTTPS or settings.PROXIES) and names <= here:
        yield Problem("It stands behind a proxy and answers to the names of this machine only.", HOSTS_CURE)


HOSTS_CURE = "Write the names that people use into IDEALIST_HOSTS."


def tls() -> Iterator[Problem]:
    """Whether people come by TLS where there is a proxy."""
    if settings.PROXIES and not settings.HTTPS:
        message = "There is a proxy and IDEALIST_HTTPS is 0: passwords and sessions travel as they are."
        yield Problem(message, "Have the proxy speak TLS, and set IDEALIST_HTTPS=1.")


def certificate() -> Iterator[Problem]:
    """Whether the certificate of the public address, where that is known, is valid and will be for 14 days."""
    host = public_host()
    if host:
        yield from certificate_of(host)


def public_host() -> str:
    """The first name in IDEALIST_HOSTS where TLS is used; "" where there is none that others can reach."""
    name = settings.ALLOWED_HOSTS[0] if settings.HTTPS else ""
    return "" if name in ("", "*", "localhost", "127.0.0.1", "[::1]") or name.startswith(".") else name


def certificate_of(host: str, port: int = 443) -> Iterator[Problem]:
    cure = f"Renew the certificate at the proxy, for {host}."
    try:
        with (
            socket.create_connection((host, port), CONNECT_TIMEOUT) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secure,
        ):
            ends = ssl.cert_time_to_seconds(secure.getpeercert()["notAfter"])
    except ssl.SSLCertVerificationError as error:
        yield Problem(f"The certificate of {host} is refused: {error.verify_message}.", cure)
    except OSError as error:
        message = f"https://{host}/ does not answer: {error.strerror or one_line(error)}."
        yield Problem(message, "Start the proxy, correct its name in the DNS, or correct IDEALIST_HOSTS.")
    else:
        if (left := ends - time.time()) < CERTIFICATE_SOON:
            yield Problem(f"The certificate of {host} ends in {left / 86400:.0f} days.", cure)


def second_factors() -> Iterator[Problem]:
    """Whether the secrets of second factors can be read with the present keys."""
    if number := second_factor.unreadable():
        yield Problem(
            f"Second factors that cannot be read: {number}. They were made with another SECRET_KEY.",
            "Name that key in SECRET_KEY_FORMER. If it is lost, for each person who cannot sign in: "
            "python3 run.py manage remove_second_factor NAME",
        )


CHECKS = [
    Check("database", database, in_readyz=True, blocks_pages=True),
    Check("migrations", migrations, in_readyz=True, blocks_pages=True),
    Check("writing", writing, in_readyz=True, blocks_pages=True),
    Check("storage", storage, in_readyz=True, blocks_pages=True, uses_database=False),
    Check("static files", static_files, in_readyz=True, blocks_pages=True, uses_database=False),
    Check("disk", free_space, in_readyz=True, uses_database=False),
    Check("worker", worker, in_readyz=True, uses_database=services.TRIES_IN_DATABASE),
    Check("database limits", limits),
    Check("statistics", statistics),
    Check("second factors", second_factors),
    Check("clock", clock),
    Check("secrets", secrets, in_readyz=True, uses_database=False),
    Check("names of settings", misspelt, uses_database=False),
    Check("hosts", hosts, uses_database=False),
    Check("tls", tls, uses_database=False),
    Check("certificate", certificate, uses_database=False),
    Check("store of files", services.store, in_readyz=True, uses_database=False),
    Check("tries", services.tries, in_readyz=True, uses_database=services.TRIES_IN_DATABASE),
    Check("mail", services.mail, uses_database=False),
    Check("provider", services.provider, uses_database=False),
    Check("backups", services.backups, uses_database=False),  # not for every probe, since it lists the store
]
