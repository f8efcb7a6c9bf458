"""A backup is everything at one moment; a restore brings all of it back, or leaves all as it was."""

import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import pytest
from django.conf import settings as usual
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from ratings.copies import backup, package
from ratings.importing.pictures import store
from ratings.management.commands import upgrade
from ratings.models import Collection, Document, Grade, Job, Picture, Rating, RatingEvent

from .everything import everything
from .places import empty_place, instead, make_tables


@pytest.fixture(autouse=True)
def own_files(settings, tmp_path) -> None:
    """Folders of files that no other test knows."""
    settings.DATA_DIR = tmp_path
    (tmp_path / "uploads").mkdir()
    pictures = settings.STORAGES["pictures"] | {"OPTIONS": {"location": tmp_path / "pictures"}}
    settings.STORAGES = settings.STORAGES | {"pictures": pictures}


def content(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as found:
        return {name: found.read(name) for name in found.namelist() if name != package.MANIFEST}


def rows(path: Path, table: str) -> list[list]:
    return [json.loads(line) for line in content(path)[f"tables/{table}.jsonl"].splitlines()[1:]]


# All of it


@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_all_of_every_table_and_file_comes_back_to_the_byte(tmp_path):
    """Into SQLite, and from PostgreSQL back again: the way across."""
    everything()
    gone = Collection.objects.create(name="gone").pk
    Collection.written.filter(pk=gone).delete()
    given = tmp_path / "given.zip"
    manifest = backup.write(given)
    empty = [name for name, (lines, _) in manifest["members"].items() if name.startswith("tables/") and lines < 2]
    assert empty == [] and manifest["missing"] == []
    assert stat.S_IMODE(given.stat().st_mode) == 0o600
    source = given
    for vendor in ["sqlite"] if connection.vendor == "sqlite" else ["sqlite", ""]:
        shutil.rmtree(tmp_path / "pictures")
        shutil.rmtree(tmp_path / "uploads")
        with empty_place(tmp_path, vendor):
            backup.restore(source)
            call_command("migrate", check_unapplied=True, verbosity=0)
            source = tmp_path / f"of {connection.vendor}.zip"
            backup.write(source)
            assert content(source) == content(given)
            assert store.opened(Picture.objects.get().small).read()[:4] == b"RIFF"
            waiting = Job.objects.get(state="queued").files[0]["stored"]
            assert (tmp_path / "uploads" / waiting).read_bytes() == b"q9\tnew\n"
            assert Rating.objects.count() > 500
            # No id is given twice.
            last = RatingEvent.objects.order_by("-pk").first().pk
            assert Collection.objects.create(name="new").pk > gone
            event = RatingEvent(**RatingEvent.objects.values().first() | {"id": None, "client_key": None})
            event.save()
            assert event.pk > last
            with pytest.raises(CommandError, match="holds something already"):
                call_command("restore", str(given))


@pytest.mark.django_db
def test_who_has_a_backup_has_neither_sessions_nor_keys(client, tmp_path):
    client.force_login(get_user_model().objects.create_user("anna"))
    backup.write(tmp_path / "one.zip")
    found = b"".join(content(tmp_path / "one.zip").values())
    assert client.session.session_key.encode() not in found and usual.SECRET_KEY.encode() not in found
    assert "tables/ratings.session.jsonl" not in content(tmp_path / "one.zip")


# One moment


@pytest.mark.both_databases
@pytest.mark.parametrize("at_one_moment", [True, False])
@pytest.mark.django_db(transaction=True)
def test_a_backup_beside_writers_is_of_one_moment(at_one_moment, tmp_path, monkeypatch):
    """Each transaction writes one row into each of three tables. Its twin reads without a snapshot."""
    if not at_one_moment:
        # Without a transaction, PostgreSQL has no cursor either.
        monkeypatch.setattr(backup, "snapshot", nullcontext)
    stop, begun = Event(), Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            with transaction.atomic():
                one = Collection.objects.create(slug=f"c{number}", name="c")
                Document.objects.create(collection=one, key="d")
                Grade.objects.create(collection=one, value=1)
            number += 1
            if number == 5:
                begun.set()
        connection.close()

    def slowly(name: str) -> None:
        """A backup that begins a table goes on when somebody has written."""
        seen = Grade.objects.count()
        if not at_one_moment and name.startswith("ratings."):
            while Grade.objects.count() == seen:
                pass

    thread = Thread(target=write)
    thread.start()
    try:
        assert begun.wait(30)
        backup.write(tmp_path / "one.zip", progress=slowly)
    finally:
        stop.set()
        thread.join()
    counts = {len(rows(tmp_path / "one.zip", f"ratings.{name}")) for name in ("collection", "document", "grade")}
    assert (len(counts) == 1) == at_one_moment


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_what_was_confirmed_by_the_time_that_it_names_is_in_it(tmp_path, monkeypatch):
    """That time is not after the moment that it shows."""
    snapshot, before = backup.snapshot, []

    @contextmanager
    def noted():
        before.append(timezone.now())
        with snapshot():
            yield

    monkeypatch.setattr(backup, "snapshot", noted)
    manifest = backup.write(tmp_path / "one.zip")
    assert datetime.fromisoformat(manifest["made_at"]) <= before[0]


def with_picture() -> str:
    """The file of a picture that a row names."""
    digest = store.keep(b"a picture")
    shown = {"state": "ready", "small": digest, "large": digest}
    collection = Collection.objects.create(slug="c", name="c")
    Picture.objects.create(collection=collection, digest="0" * 64, source="data:", **shown)
    return store.name_of(digest)


@pytest.mark.django_db
def test_a_file_that_was_lost_before_is_named_and_keeps_nothing_from_being_kept(tmp_path):
    name = with_picture()
    (tmp_path / "pictures" / name).unlink()
    assert backup.write(tmp_path / "one.zip")["missing"] == [f"pictures/{name}"]


# What is refused


def changed(path: Path, **facts) -> Path:
    """The same file with another manifest."""
    with zipfile.ZipFile(path) as found:
        members = {name: found.read(name) for name in found.namelist()}
    members[package.MANIFEST] = json.dumps(json.loads(members[package.MANIFEST]) | facts).encode()
    with zipfile.ZipFile(path, "w") as made:
        for name, text in members.items():
            made.writestr(name, text)
    return path


WRONG = {
    "No such file": lambda path: path.unlink(),
    "it is not a complete ZIP": lambda path: path.write_bytes(path.read_bytes()[:-500]),
    "is damaged": lambda path: path.write_bytes(path.read_bytes().replace(b"PK\x03\x04", b"PK\x03\x05", 3)),
    "its format is 'zoo'": lambda path: changed(path, format="zoo"),
    "it has version 9 of the format": lambda path: changed(path, version=9),
    "whose database has other migrations. Restore it with that version": lambda path: changed(path, migrations=[]),
    "import_collection reads archives": lambda path: call_command("export_collection", "c", output=str(path)),
    "it is not the file that": lambda path: changed(path, members=[other_hash(path)]),
}


def other_hash(path: Path) -> dict:
    with zipfile.ZipFile(path) as found:
        return json.loads(found.read(package.MANIFEST))["members"][0] | {"sha256": "0" * 64}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_whole_backup_is_refused_with_a_cure_and_nothing_is_restored(tmp_path, said):
    Collection.objects.create(slug="c", name="c")
    path = tmp_path / "one.zip"
    backup.write(path)
    WRONG[said](path)
    with empty_place(tmp_path), pytest.raises(CommandError, match=said) as refused:
        if "migrations" in said:  # a restore would first make the tables
            make_tables()
        call_command("restore", str(path))
    assert str(refused.value).endswith("Nothing was restored.")


@pytest.mark.django_db(transaction=True)
def test_rows_that_do_not_arrive_as_they_were_are_noticed_and_nothing_stays(tmp_path, monkeypatch):
    Collection.objects.create(slug="c", name="c")
    backup.write(tmp_path / "one.zip")
    stored = backup.stored
    monkeypatch.setattr(backup, "stored", lambda *args, **how: "d" if args[1] == "c" else stored(*args, **how))
    with empty_place(tmp_path):
        with pytest.raises(CommandError, match="ratings.collection.jsonl: the database keeps other rows"):
            call_command("restore", str(tmp_path / "one.zip"))
        assert not Collection.written.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_database_in_which_somebody_writes_is_not_restored_into(tmp_path, monkeypatch):
    backup.write(tmp_path / "one.zip")
    with empty_place(tmp_path):
        make_tables()
        facts, locked, done = connection.settings_dict, Event(), Event()

        def somebody() -> None:
            with instead(NAME=facts["NAME"], OPTIONS=facts["OPTIONS"]), transaction.atomic():
                Collection.objects.create(name="theirs")
                locked.set()
                done.wait(30)
                transaction.set_rollback(True)

        if connection.vendor == "sqlite":
            facts["OPTIONS"]["timeout"] = 0.5
            connection.close()
        thread = Thread(target=somebody)
        thread.start()
        assert locked.wait(30)
        try:
            with pytest.raises(CommandError, match="Stop the server and all workers first"):
                call_command("restore", str(tmp_path / "one.zip"))
        finally:
            done.set()
            thread.join()


@pytest.mark.django_db
def test_a_backup_is_written_through_a_link_and_onto_ordinary_files_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.zip").write_text("old")
    for name, target in {"link.zip": "one.zip", "dangling.zip": "two.zip"}.items():
        (tmp_path / name).symlink_to(target)
        backup.write(tmp_path / name)
        assert (tmp_path / name).is_symlink() and zipfile.is_zipfile(tmp_path / target)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("-", "pipe", "folder"):
        with pytest.raises(CommandError, match="Nothing was written"):
            call_command("backup", name)


KILLED = """
import os, signal, sys
from pathlib import Path
import django
django.setup()
from django.db import connection
from ratings.copies import backup
from ratings.models import Rating

def killed(act, path, point):
    connection.close()
    if not (child := os.fork()):
        try:
            act(path, progress=lambda name: name == point and os.kill(os.getpid(), signal.SIGKILL))
        finally:
            print("never reached:", point, file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1]

given, own = Path(sys.argv[1]), Path(sys.argv[2])
for point in ("loading ratings.rating", "comparing ratings.query"):
    print(killed(backup.restore, given, point))
print(Rating.objects.exists())
backup.restore(given)
backup.write(own)
print(killed(backup.write, own, "ratings.rating"))
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_backup_or_a_restore_that_is_killed_leaves_all_as_it_was(tmp_path):
    """kill -9, and then a rehearsal of a restore in a new data folder."""
    everything()
    backup.write(tmp_path / "given.zip")
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path / "data"), "DATABASE_URL": ""}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    (tmp_path / "data").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "given.zip"), str(tmp_path / "own.zip")]
    done = subprocess.run(command, cwd=usual.BASE_DIR, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(int(signal.SIGKILL))] * 2 + ["False", str(int(signal.SIGKILL))], done.stderr
    assert content(tmp_path / "own.zip") == content(tmp_path / "given.zip")
    assert len(list(tmp_path.glob(".own.zip.*"))) <= 1  # what the last one left, which the next removes


# Upgrades


@pytest.mark.both_databases
@pytest.mark.parametrize("command", [["upgrade", "--plan"], ["upgrade"], ["backup", "one.zip"]])
@pytest.mark.django_db(transaction=True)
def test_a_new_database_is_neither_upgraded_nor_backed_up(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with empty_place(tmp_path):
        with pytest.raises(CommandError, match=r"has no tables.*IDEALIST_DATA"):
            call_command(*command, stdout=io.StringIO())
        assert connection.introspection.table_names() == []
    assert list(tmp_path.rglob("*.zip")) == []


@pytest.mark.django_db(transaction=True)
def test_an_upgrade_says_its_plan_backs_up_and_migrates(tmp_path):
    with empty_place(tmp_path):
        make_tables()
        call_command("migrate", "evaluation", "zero", verbosity=0)
        said = io.StringIO()
        call_command("upgrade", "--plan", stdout=said)
        assert "evaluation.0001_version_1" in said.getvalue() and not list(tmp_path.rglob("*.zip"))
        with pytest.raises(CommandError, match="Nothing was changed"):
            call_command("upgrade", "--backup", str(tmp_path / "absent" / "one.zip"), stdout=io.StringIO())
        call_command("upgrade", stdout=said)
        call_command("migrate", check_unapplied=True, verbosity=0)
        assert "Backed up and read again" in said.getvalue() and len(list(tmp_path.rglob("before-*.zip"))) == 1
        call_command("upgrade", stdout=said)
        assert said.getvalue().endswith("There is nothing to do.\n")


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_start_on_the_database_of_another_version_is_refused_in_a_sentence(tmp_path):
    with empty_place(tmp_path):
        MigrationRecorder(connection).record_applied("ratings", "0042_of_before")
        before = connection.introspection.table_names()
        for command in ("prepare", "upgrade"):
            with pytest.raises(
                CommandError, match=r"another version.*0042_of_before.*Start that version.*Nothing was"
            ):
                call_command(command, stdout=io.StringIO())
        assert connection.introspection.table_names() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kept", [0, -1], ids=["a table", "a column"])
def test_a_backup_that_lacks_a_table_or_a_column_is_refused_and_nothing_is_restored(tmp_path, monkeypatch, kept):
    def former(apps) -> dict:
        model, fields = (tables := tables_at(apps)).pop("ratings.system")
        return tables | ({"ratings.system": (model, fields[:kept])} if kept else {})

    tables_at = backup.tables_at
    with monkeypatch.context() as before:
        before.setattr(backup, "tables_at", former)
        backup.write(tmp_path / "one.zip")
    with empty_place(tmp_path), pytest.raises(CommandError, match=r"ratings\.system.*Nothing was restored\."):
        call_command("restore", str(tmp_path / "one.zip"))


def test_the_newest_backups_of_upgrades_are_kept(settings, tmp_path):
    settings.DATA_DIR, settings.BACKUP_KEEP = tmp_path, 2
    for number, name in enumerate(("before-0.2.0.zip", "before-0.1.0.zip", "before-0.10.0.zip", "idealist-1.zip")):
        path = tmp_path / "backups" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (number, number))
    upgrade.forget_old_backups()
    left = {path.name for path in path.parent.iterdir()}
    assert left == {"before-0.1.0.zip", "before-0.10.0.zip", "idealist-1.zip"}
