"""Commands that the database refuses: one line for the operator, and no traceback."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError, ProgrammingError

import manage
from ratings.people import mail

ROOT = Path(__file__).resolve().parents[2]


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess:
    """A command for a PostgreSQL that is not there."""
    url = {"DATABASE_URL": f"postgres://nobody@{str(tmp_path).replace('/', '%2F')}/none"}
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", *arguments],
        env=os.environ | url | {"IDEALIST_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_database_that_is_not_there_is_one_line_with_its_reason(tmp_path):
    ran = run(tmp_path, "create_collection", "shop", "--grades", "0:No,1:Yes")
    (line,) = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert str(tmp_path) in line and "No such file" in line and "doctor" in line


@pytest.mark.slow
def test_an_option_of_every_command_shows_all_of_the_error(tmp_path):
    assert "Traceback" in run(tmp_path, "prepare", "--traceback").stderr


def caused(kind: type[DatabaseError], cause: Exception) -> DatabaseError:
    error = kind("it refused")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("cause", [psycopg.errors.InsufficientPrivilege(), psycopg.errors.UndefinedTable()])
def test_a_missing_right_or_table_has_its_cure_outside_of_the_program(cause):
    assert manage.is_curable(caused(ProgrammingError, cause))


def test_a_damaged_file_of_sqlite_has_its_cure_outside_of_the_program(tmp_path):
    (tmp_path / "db.sqlite3").write_bytes(b"x" * 4096)
    with closing(sqlite3.connect(tmp_path / "db.sqlite3")) as file, pytest.raises(sqlite3.DatabaseError) as raised:
        file.execute("SELECT 1 FROM t")
    assert manage.is_curable(caused(DatabaseError, raised.value))


def test_a_fault_of_the_program_keeps_its_traceback():
    assert not manage.is_curable(caused(ProgrammingError, psycopg.errors.SyntaxError()))
    assert manage.is_curable(OperationalError("database is locked"))


def test_the_version_is_that_of_idealist_and_needs_no_setting(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["manage.py", "--version"])
    with pytest.raises(SystemExit) as ended:
        manage.main()
    assert not ended.value.code
    assert capsys.readouterr().out == f"Idealist {settings.VERSION}\n"


@pytest.mark.django_db
def test_links_of_commands_lead_to_the_server_that_started_last_on_this_machine(settings):
    settings.HTTPS, settings.FOR_OTHERS, settings.HOSTS = False, False, [("localhost", "")]
    settings.SITES = ["http://localhost"]
    assert mail.usual_site() == "http://localhost:8000"
    for host, site in (("127.0.0.1", "http://127.0.0.1:8001"), ("::1", "http://[::1]:8001")):
        mail.note_site(host, 8001)
        assert mail.usual_site() == site
    settings.FOR_OTHERS, settings.SITES = True, ["http://ratings.example.org"]
    assert mail.usual_site() == "http://ratings.example.org:8000"
    settings.HTTPS, settings.SITES = True, ["https://ratings.example.org:8443"]
    assert mail.usual_site() == "https://ratings.example.org:8443"
