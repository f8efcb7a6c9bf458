"""An upgrade says what it will do, backs up, migrates and checks, while others read and write."""

import sys
from contextlib import contextmanager
from io import StringIO
from threading import Event, Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from config.backup import replacement, restoring, upgrading
from config.backup.package import open_backup
from ratings.database import making
from ratings.management.commands import prepare

from .places import empty_place, rows_of
from .release import FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.both_databases]

RELEASES = sorted(FOLDER.glob("*.zip"))
PLANTED = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("evaluation", "{before}")]
    operations = [{operations}]
"""
QUICK = "migrations.AddField('frozenpart', 'planted', models.TextField(null=True))"
LOSING = QUICK + ", migrations.RunSQL('DELETE FROM evaluation_frozenpart')"


@pytest.fixture
def later(tmp_path, settings, monkeypatch):
    """Makes this the version after the last: with a migration more, of these operations."""

    def made(operations: str) -> None:
        package = tmp_path / "later_migrations"
        package.mkdir()
        original = settings.BASE_DIR / "evaluation" / "migrations"
        names = sorted(path.stem for path in original.glob("0*.py"))
        for name in ("__init__", *names):
            (package / f"{name}.py").write_text((original / f"{name}.py").read_text())
        (package / "9999_planted.py").write_text(PLANTED.format(before=names[-1], operations=operations))
        monkeypatch.syspath_prepend(tmp_path)
        settings.MIGRATION_MODULES = {"evaluation": "later_migrations"}

    settings.DATA_DIR = tmp_path
    yield made
    for name in [name for name in sys.modules if name.startswith("later_migrations")]:
        del sys.modules[name]


@contextmanager
def load():
    """Somebody who signs up and counts ratings, again and again; yields their acts."""
    stop, acts = Event(), []
    settings = connection.settings_dict

    def work() -> None:
        with replacement.default_connection(**settings) as own:
            while not stop.is_set():
                with own.cursor() as cursor:
                    cursor.execute("INSERT INTO auth_group (name) VALUES (%s)", [f"g{len(acts)}"])
                    cursor.execute("SELECT COUNT(*) FROM ratings_rating")
                    acts.append(cursor.fetchone()[0])

    thread = Thread(target=work)
    thread.start()
    try:
        while len(acts) < 3 and thread.is_alive():
            stop.wait(0.01)
        yield acts
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
@pytest.mark.django_db(transaction=True)
def test_the_database_of_a_release_is_migrated_under_load(path, tmp_path, later):
    with empty_place(tmp_path):
        restoring.restore(path)
        later(QUICK)
        said, groups = StringIO(), len(rows_of(path)["auth.group"])
        with load() as acts:
            before = len(acts)
            call_command("upgrade", stdout=said)
            while len(acts) == before:
                pass
        lines = said.getvalue().splitlines()
        assert "  evaluation.9999_planted" in lines and "    Add field planted to frozenpart" in lines
        assert lines[-1].startswith("To go back: install the former version, and python3 run.py restore /")
        assert upgrading.pending_steps() == []
        (kept,) = (tmp_path / "backups").glob("before-*.zip")
        assert len(rows_of(kept)["ratings.rating"]) == len(rows_of(path)["ratings.rating"])
        with open_backup(kept) as backup, connection.cursor() as cursor:
            assert set(opened_migrations(path)) <= set(backup.migrations)
            cursor.execute("SELECT COUNT(*) FROM auth_group")
            assert cursor.fetchone()[0] == groups + len(acts) > groups
        call_command("upgrade", stdout=said)
        assert said.getvalue().splitlines()[-1].endswith("There is nothing to do.")


def opened_migrations(path) -> list[tuple[str, str]]:
    with open_backup(path) as backup:
        return backup.migrations


@pytest.mark.parametrize("command", [["upgrade", "--plan"], ["upgrade"], ["backup", "one.zip"]])
@pytest.mark.django_db(transaction=True)
def test_a_new_database_is_neither_upgraded_nor_backed_up(tmp_path, settings, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    settings.DATA_DIR = tmp_path
    with empty_place(tmp_path):
        name = str(connection.settings_dict["NAME"])
        with pytest.raises(CommandError, match=f"{name} has no tables.*IDEALIST_DATA"):
            call_command(*command, stdout=StringIO())
        assert connection.introspection.table_names() == []
    assert list(tmp_path.rglob("*.zip")) == []


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [lambda: prepare.Command().handle(), upgrading.upgrade])
def test_machines_make_tables_one_after_the_other(tmp_path, settings, monkeypatch, make):
    settings.DATA_DIR, made = tmp_path, []
    for module in (prepare, upgrading):
        monkeypatch.setattr(module, "call_command", lambda *args, **options: made.append(args[0]))

    def on_another_machine() -> None:
        with replacement.default_connection():
            make()

    thread = Thread(target=on_another_machine)
    with making.alone():
        thread.start()
        thread.join(1)
        assert thread.is_alive() and made == []
    thread.join(30)
    assert made[:2] == ["migrate", "createcachetable"]
    with making.alone():
        pass


@pytest.mark.django_db
def test_a_plan_changes_nothing_and_says_what_keeps_pages_waiting(later):
    later(LOSING)
    said = StringIO()
    call_command("upgrade", "--plan", stdout=said)
    assert "Stop the server first, since pages would wait: evaluation.9999_planted" in said.getvalue()
    assert [step.name for step in upgrading.pending_steps()] == ["evaluation.9999_planted"]


@pytest.mark.django_db(transaction=True)
def test_rows_that_are_gone_afterwards_are_noticed_and_the_way_back_is_said(tmp_path, later, monkeypatch):
    counts = iter([{"ratings_rating": 3}, {"ratings_rating": 2}])
    monkeypatch.setattr(upgrading, "_counts", lambda: next(counts))
    monkeypatch.setattr(upgrading, "pending_steps", iter([[upgrading.Step("a.b", [], [])], []]).__next__)
    with pytest.raises(CommandError, match="fewer rows in ratings_rating. To go back: install the former version"):
        call_command("upgrade", stdout=StringIO())


@pytest.mark.django_db
def test_without_a_backup_nothing_is_migrated(tmp_path, later, monkeypatch):
    later(QUICK)
    absent = tmp_path / "absent" / "one.zip"
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("upgrade", "--backup", str(absent), stdout=StringIO())
    assert len(upgrading.pending_steps()) == 1


@pytest.mark.django_db
def test_what_the_database_says_is_said(tmp_path, later, monkeypatch):
    def fails(progress):
        raise OperationalError("canceling statement due to lock timeout")

    later(QUICK)
    monkeypatch.setattr(upgrading, "upgrade", fails)
    with pytest.raises(CommandError, match="failed: canceling statement due to lock timeout To go back"):
        call_command("upgrade", "--backup", str(tmp_path / "one.zip"), stdout=StringIO())
