"""Faults that are put in, each named with its cure by /readyz or by the doctor; and no page is a 500."""

import errno
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest import mock
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings as of_project
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.cache import cache
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from django.urls import reverse

from config import machines
from config.health import checks, doctor, endpoints, services
from config.tests.bucket import Silent, Store, store
from ratings.importing import signs
from ratings.models import Rating
from ratings.people.sign_in import secrets_at_rest
from ratings.tests.cast import make_collection, make_pair, make_rater, make_user

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a token of twenty-four letters"
SEES = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"accept": "application/json"}
BUCKET = "s3://idealist?endpoint={}&region=local"

sqlite_only = pytest.mark.skipif(
    of_project.DATABASES["default"]["ENGINE"] != "config.sqlite", reason="SQLite alone has it"
)


@pytest.fixture
def bucket() -> Iterator[Store]:
    keys = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    with mock.patch.dict(os.environ, keys), store() as found:
        yield found


@pytest.fixture(autouse=True)
def sound(settings, tmp_path, monkeypatch) -> Iterator[None]:
    """An installation with nothing wrong, and looks that wait for a slow machine."""
    tmp_path.chmod(0o700)
    settings.DATA_DIR = settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    settings.METRICS_TOKEN = TOKEN
    settings.HTTPS, settings.FOR_OTHERS = True, False
    monkeypatch.setattr(endpoints.readiness, "checked_at", float("-inf"))
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda folder: Usage(checks.MIN_FREE_BYTES))
    signs.show_worker()
    known = {name: value for name, value in os.environ.items() if not name.startswith("IDEALIST_")}
    with mock.patch.object(checks, "CHECKS_SECONDS", 60), mock.patch.dict(os.environ, known, clear=True):
        yield


WAIT = checks.CHECKS_SECONDS
Usage = namedtuple("Usage", "free")


def no_worker(data: Path) -> None:
    """Forget the heartbeat."""
    cache.delete(signs.WORKER_KEY)


class Away:
    """A cache that is not there."""

    def get(self, name: str) -> bool:
        raise ConnectionError("it cannot be used")


class Desk:
    """A rater who saves a rating at each call of `rate`, and sends again what was not confirmed."""

    def __init__(self) -> None:
        collection = make_collection(queries=["q1"], documents="abcdefghijklmnopqrst")
        for document in "abcdefghijklmnopqrst":
            make_pair(collection, "q1", document)
        self.client = Client(raise_request_exception=False, headers={"host": "localhost"} | JSON)
        self.client.force_login(make_rater(collection).user)
        claimed = self.client.post(reverse("claim", args=["hills"]), {"count": 20}).json()
        self.tokens, self.sent = iter(claimed["order"]), []

    def rate(self) -> None:
        self.sent.append((next(self.tokens), {"grade": "2", "base_revision": "0", "client_key": uuid4()}))
        assert self.send(*self.sent[-1]) in (200, 503)

    def send(self, token: str, fields: dict) -> int:
        return self.client.post(reverse("save_rating", args=["hills", token]), fields).status_code

    def lost(self) -> int:
        """How many ratings are lost once everything is sent again with its key, as the outbox does."""
        assert {self.send(*act) for act in self.sent} <= {200}
        return len(self.sent) - Rating.objects.count()


def wrong() -> dict[str, str]:
    """What is wrong, by check; each has a cure."""
    found = {o.check.name: o.problems for o in checks.outcomes(checks.CHECKS) if o.problems}
    assert all(problem.cure for problems in found.values() for problem in problems)
    return {name: " ".join(problem.wrong for problem in problems) for name, problems in found.items()}


def told(**headers) -> tuple[int, dict]:
    answer = Client(headers={"host": "10.0.0.9", **headers}).get("/readyz")
    return answer.status_code, answer.json()


# Faults of the database, which no test may leave to the next one


def migration_missing() -> None:
    MigrationRecorder(connection).record_unapplied("evaluation", "0001_version_1")


def database_newer() -> None:
    MigrationRecorder(connection).record_applied("ratings", "9999_later")


def key_lost() -> None:
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[]):
        secret = secrets_at_rest.encrypt("JBSWY3DPEHPK3PXP")
    Authenticator.objects.create(user=make_user("anna"), type="totp", data={"secret": secret})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("fault", "check", "said", "status"),
    [
        (migration_missing, "migrations", "lacks 1 migrations, such as evaluation.0001_version_1", 503),
        (database_newer, "migrations", "another version, which has ratings.9999_later", 503),
        (key_lost, "second factors", "cannot be read: 1. They were made with another SECRET_KEY", 200),
    ],
)
def test_a_fault_in_the_database(fault, check, said, status):
    assert wrong() == {}
    desk = Desk()
    try:
        fault()
        assert said in wrong()[check]
        assert told()[0] == status
        assert Client(raise_request_exception=False).get("/").status_code < 500
        desk.rate()
        assert desk.lost() == 0
    finally:
        MigrationRecorder(connection).record_unapplied("ratings", "9999_later")
        MigrationRecorder(connection).record_applied("evaluation", "0001_version_1")


# Faults of one machine


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_each_fault_of_the_machine_is_named_alone_and_loses_no_rating(
    settings, tmp_path, monkeypatch, capsys, bucket
):
    def dead_worker() -> None:
        no_worker(tmp_path)

    def full_soon() -> None:
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda folder: Usage(checks.MIN_FREE_BYTES - 1))

    def storage_away() -> None:
        settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "gone"

    def no_mail() -> None:
        settings.MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = {"EMAIL_HOST": "127.0.0.1"}, "127.0.0.1", 9
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"

    def store_away() -> None:
        settings.STORAGES = settings.STORAGES | machines.files(BUCKET.format("http://127.0.0.1:9"), tmp_path)

    def bucket_away() -> None:
        settings.STORAGES = settings.STORAGES | machines.files(BUCKET.format(bucket.url), tmp_path)
        bucket.removed.add("idealist")

    def over_quota() -> None:
        def full(folder: Path) -> None:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

        monkeypatch.setattr(checks.disk, "try_out", full)

    def old_backup() -> None:
        settings.BACKUP_EVERY = 24
        folder = tmp_path / "backups"
        folder.mkdir()
        for name in ("idealist-20260101T000000Z.zip", "idealist-20260101T000000Z.zip.sha256"):
            (folder / name).touch()
        backups = settings.STORAGES | {"backups": machines.backups(str(folder), tmp_path)}
        settings.STORAGES = backups

    def tries_away() -> None:
        monkeypatch.setattr(services, "cache", Away())

    def no_backup() -> None:
        settings.BACKUP_EVERY = 24

    def no_backups_of_others() -> None:
        settings.FOR_OTHERS = True

    def no_tls() -> None:
        settings.HTTPS, settings.ALLOWED_HOSTS = False, ["localhost", "ratings.example.org"]

    def misspelt() -> None:
        monkeypatch.setenv("IDEALIST_BACKUP_EVRY", "24")

    faults = {
        no_mail: ("mail", "refuses the connection"),
        store_away: ("store of files", "cannot be used"),
        bucket_away: ("store of files", "no bucket of this name"),
        over_quota: ("storage", "quota"),
        tries_away: ("cache", "cannot be counted: it cannot be used"),
        no_backup: ("backups", "There is no backup yet"),
        no_backups_of_others: ("backups", "nobody makes backups"),
        no_tls: ("tls", "ratings.example.org is served without TLS"),
        misspelt: ("settings", "IDEALIST_BACKUP_EVRY is set, and is no setting"),
        old_backup: ("backups", "The last good backup is of 2026-01-01"),
        dead_worker: ("worker", "No worker has run"),
        full_soon: ("disk", "MB left"),
        storage_away: ("storage", "No such file"),
    }
    settings.ALLOWED_HOSTS = ["localhost"]
    before = {name: getattr(settings, name) for name in ("FILE_UPLOAD_TEMP_DIR", "MAIL", "STORAGES")} | {
        "BACKUP_EVERY": 0,
        "FOR_OTHERS": False,
        "HTTPS": True,
    }
    desk = Desk()
    for fault, (check, said) in faults.items():
        assert wrong() == {}, fault.__name__
        with monkeypatch.context():
            fault()
            found = wrong()
            assert list(found) == [check] and said in found[check], (fault.__name__, found)
            assert doctor.report(checks.outcomes(checks.CHECKS)) == 1
            assert f"WRONG    {check}: " in capsys.readouterr().out
            page = Client(raise_request_exception=False, headers={"host": "localhost"}).get("/")
            assert page.status_code < 500, fault.__name__
            desk.rate()
        for name, value in before.items():
            setattr(settings, name, value)
        signs.show_worker()
        monkeypatch.undo()
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda folder: Usage(checks.MIN_FREE_BYTES))
    assert doctor.report(checks.outcomes(checks.CHECKS)) == 0
    assert desk.lost() == 0


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away(monkeypatch):
    def away(*args, **kwargs):
        raise OperationalError("connection refused")

    desk = Desk()
    monkeypatch.setattr(connection, "cursor", away)
    monkeypatch.setattr(MigrationRecorder, "has_table", away)
    assert wrong()["database"] == "The database does not answer: connection refused"
    status, answer = told()
    assert status == 503 and answer["checks"]["migrations"] == "not looked at"
    client = Client(raise_request_exception=False)
    assert client.get("/livez").content == b"ok\n"
    assert client.get("/").status_code < 500 or client.get("/").status_code == 503
    assert b"idealist_database_up 0.0" in client.get("/metrics", headers=SEES).content
    desk.rate()
    monkeypatch.undo()
    assert Rating.objects.count() == 0 and desk.lost() == 0


@pytest.mark.django_db
def test_a_database_without_tables(monkeypatch):
    monkeypatch.setattr(MigrationRecorder, "has_table", lambda self: False)
    assert wrong() == {"database": "The database has no tables yet."}
    status, answer = told(**SEES)
    assert status == 503 and answer["checks"]["migrations"] == "not looked at"
    assert "run.py manage prepare" in answer["problems"][0]["cure"]


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ("connection failed: FATAL:  unsupported startup parameter: options", "not a pooler"),
        ("permission denied for table django_migrations", "rights"),
        ("file is not a database", "restore the last backup"),
        ("connection refused", "Start it"),
    ],
)
@pytest.mark.django_db
def test_what_a_driver_says_has_its_own_cure(monkeypatch, said, cure):
    monkeypatch.setattr(MigrationRecorder, "has_table", mock.Mock(side_effect=OperationalError(said)))
    (problem,) = checks.database()
    assert said.split()[-1] in problem.wrong and cure in problem.cure


@pytest.mark.django_db
def test_a_database_of_before_an_upgrade_is_cured_by_the_upgrade_that_backs_up(monkeypatch):
    monkeypatch.setattr(checks, "migrations_on_disk", lambda: {("ratings", "0002_later")})
    assert next(checks.migrations()).cure == "python3 run.py manage upgrade"


@sqlite_only
@pytest.mark.django_db(transaction=True)
def test_sqlite_that_another_program_locks(monkeypatch):
    monkeypatch.setattr(checks, "LOCK_SECONDS", 0.1)
    connection.ensure_connection()
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert "holds the lock of SQLite" in wrong()["writing"]
        assert told()[0] == 503
        assert Client(raise_request_exception=False).get("/").status_code == 200
    finally:
        other.close()
    assert wrong() == {}


@sqlite_only
@pytest.mark.django_db(transaction=True)
def test_sqlite_in_a_file_that_is_read_only(monkeypatch):
    """As where its mode lets nobody write. Tests may run as root, whom no mode keeps away."""

    def read_only(path: str, **how) -> sqlite3.Connection:
        return connect(f"file:{path}?mode=ro", uri=True, **how)

    connect = sqlite3.connect
    connection.ensure_connection()
    monkeypatch.setattr(checks.sqlite3, "connect", read_only)
    (problem,) = checks.writing()
    assert "read-only" in problem.wrong


@pytest.mark.parametrize(
    ("name", "unknown"),
    [("DATABSE_URL", True), ("IDEALST_HTTPS", True), ("SECRET_KEY_BASE", False), ("DATABASE_HOST", False)],
)
def test_a_misspelt_setting_is_told_from_one_of_another_program(monkeypatch, name, unknown):
    monkeypatch.setenv(name, "1")
    assert [problem.wrong for problem in checks.setting_names()] == [
        f"{name} is set, and is no setting."
    ] * unknown


def test_backups_in_a_closed_folder(monkeypatch):
    closed = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/backups")
    monkeypatch.setattr(services.schedule, "overdue_problem", mock.Mock(side_effect=closed))
    (problem,) = services.backups()
    assert "/backups" in problem.wrong and "IDEALIST_BACKUPS" in problem.cure


@sqlite_only
def test_a_missing_file_of_sqlite_is_not_made(monkeypatch, tmp_path):
    monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "db.sqlite3")
    assert [problem.wrong for problem in checks.database()] == ["There is no database yet."]
    assert not (tmp_path / "db.sqlite3").exists()


# Faults that keep settings from being read


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"SECRET_KEY": "short"}, "SECRET_KEY is short"),
        ({"DATABASE_URL": "postgres://nobody:sesame@127.0.0.1:1/none"}, "The database does not answer"),
    ],
)
@pytest.mark.slow
def test_the_doctor_names_what_keeps_it_from_starting(environment, said, tmp_path):
    clean = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "SECRET_KEY")}
    command = [sys.executable, "-m", "config.health.doctor"]
    known = {"env": clean | {"IDEALIST_DATA": str(tmp_path)} | environment, "cwd": ROOT, "timeout": 120}
    done = subprocess.run(command, **known, capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stdout and "Traceback" not in done.stderr
    if "DATABASE_URL" in environment:
        begins = rf"Idealist {of_project.VERSION}( \(\w+\))?, database none@127.0.0.1, data folder {tmp_path}\n"
        assert re.match(begins, done.stdout) and "sesame" not in done.stdout


# Hosts that accept and never answer


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_all_silent_hosts_at_once_are_named_within_the_limit(settings, bucket, tmp_path):
    """With the real limits. Each alone would be waited for longer."""
    with Silent() as mail, Silent() as files:
        settings.MAIL, settings.EMAIL_HOST = {"EMAIL_HOST": "127.0.0.1"}, "127.0.0.1"
        settings.EMAIL_PORT = int(mail.url.rpartition(":")[2])
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        before = settings.STORAGES
        away = before | machines.files(BUCKET.format(files.url), tmp_path)
        away["backups"] = machines.backups(BUCKET.format(files.url), tmp_path)
        settings.STORAGES, settings.BACKUP_EVERY = away, 24
        begun = time.monotonic()
        with mock.patch.object(checks, "CHECKS_SECONDS", WAIT):
            first = wrong()
        assert time.monotonic() - begun < 5
        silent = ("store of files", "mail", "backups")
        assert first == dict.fromkeys(silent, "There is no answer within 2.4 s.")
        settings.MAIL, settings.STORAGES, settings.BACKUP_EVERY = {}, before, 0
    assert wrong() == {}


@pytest.mark.django_db(transaction=True)
def test_a_database_that_falls_silent_keeps_nobody_waiting(monkeypatch):
    may_end = threading.Event()

    def silent() -> Iterator[None]:
        may_end.wait(30)
        yield from ()

    monkeypatch.setattr(checks, "CHECKS_SECONDS", 0.3)
    seen = [checks.Check("silent", silent), checks.Check("later", checks.database)]
    try:
        problems = [problem.wrong for each in checks.outcomes(seen) for problem in each.problems]
        assert problems == ["There is no answer within 0.3 s."] * 2
    finally:
        may_end.set()


# The addresses


@pytest.mark.django_db(transaction=True)
def test_who_sees_what(settings):
    no_worker(settings.DATA_DIR)
    status, answer = told()
    found = status, answer["ready"], answer["checks"]["worker"], "problems" in answer
    assert found == (200, True, "wrong", False)
    assert [problem["check"] for problem in told(**SEES)[1]["problems"]] == ["worker"]
    for headers, status in (({}, 404), ({"Authorization": "Bearer wrong"}, 404), (SEES, 200)):
        assert Client().get("/metrics", headers=headers).status_code == status
    settings.METRICS_TOKEN = ""
    assert Client(headers={"Authorization": "Bearer "}).get("/metrics").status_code == 404


def test_a_probe_needs_no_host_no_tls_and_no_database(settings):
    """pytest-django would refuse a query here."""
    settings.SECURE_SSL_REDIRECT, settings.ALLOWED_HOSTS = True, ["ratings.example.org"]
    answer = Client(headers={"host": "10.0.0.9"}).get("/livez")
    assert (answer.status_code, answer.content, dict(answer.cookies)) == (200, b"ok\n", {})
    assert (answer["X-Content-Type-Options"], answer["Cache-Control"]) == ("nosniff", "no-store")
    assert Client().post("/livez").status_code == 405


@pytest.mark.django_db(transaction=True)
def test_asking_often_looks_once(monkeypatch):
    looked = []
    monkeypatch.setattr(endpoints, "outcomes", lambda checks: looked.append(1) or [])
    for _ in range(5):
        told()
    assert len(looked) == 1


def test_a_folder_without_static_files(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path / "static"
    backend = {"BACKEND": "config.storage.Storage", "OPTIONS": {"location": settings.STATIC_ROOT}}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": backend}
    (problem,) = checks.static_files()
    assert str(settings.STATIC_ROOT) in problem.wrong and "manage prepare" in problem.cure
    staticfiles_storage.hashed_files["site.css"] = "site.0.css"
    assert not list(checks.static_files())


@sqlite_only
@pytest.mark.parametrize("place", [0.5, 0.0])
def test_a_damaged_file_of_sqlite_is_named_with_the_way_back(monkeypatch, tmp_path, place):
    path = tmp_path / "db.sqlite3"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE t (a TEXT)")
        file.executemany("INSERT INTO t VALUES (?)", [(f"{number:0500d}",) for number in range(1000)])
        file.commit()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(path))
    assert list(checks.damage()) == []
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * place) // 4096 * 4096)
        file.write(b"x" * 4096)
    (problem,) = checks.damage()
    assert "damaged" in problem.wrong and "restore the last backup" in problem.cure


@sqlite_only
def test_a_file_of_sqlite_that_cannot_be_opened_is_not_called_damaged(tmp_path):
    found: list[str] = []
    checks.look_for_damage(str(tmp_path), found)  # a folder, which sqlite3.connect itself refuses
    assert found == []


@sqlite_only
def test_a_large_file_of_sqlite_does_not_hold_up_the_doctor(monkeypatch, tmp_path):
    (tmp_path / "db.sqlite3").touch()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "db.sqlite3"))
    monkeypatch.setattr(checks, "DAMAGE_SECONDS", 0.05)
    monkeypatch.setattr(checks, "look_for_damage", lambda path, found: time.sleep(60))
    began = time.monotonic()
    assert list(checks.damage()) == [] and time.monotonic() - began < 30
