"""A backup is everything at one moment, and a restore brings all of it back or leaves all as it was."""

import gc
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from django.apps import apps
from django.conf import settings as usual
from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from config.backup import columns, files, package, replacement, restoring, tables, writing
from ratings.models import Collection, Document, Grade, Job, Picture, Query, Rating, RatingEvent
from ratings.pictures import store

from . import release
from .places import empty_place, rows_of

pytestmark = [pytest.mark.slow, pytest.mark.both_databases]

RELEASES = sorted(release.FOLDER.glob("*.zip"))
LAST = RELEASES[-1]


@pytest.fixture(autouse=True)
def own_files(settings, tmp_path) -> None:
    """Folders of files that no other test knows."""
    settings.DATA_DIR = tmp_path
    (tmp_path / "uploads").mkdir()
    pictures = settings.STORAGES["pictures"] | {"OPTIONS": {"location": tmp_path / "pictures"}}
    settings.STORAGES = settings.STORAGES | {"pictures": pictures}


# What is in it


@pytest.mark.django_db
def test_all_of_every_table_and_file_comes_back_on_sqlite(tmp_path):
    """On PostgreSQL this is the way across. The restore compares, too; this compares what a second backup has."""
    release.everything()
    gone = Collection.objects.create(name="gone").pk
    Collection.written.filter(pk=gone).delete()
    manifest = writing.write(tmp_path / "one.zip", with_keys=True)
    assert [each["member"] for each in manifest["members"] if each.get("rows") == 0] == []
    assert manifest["missing"] == [] and manifest["database"] == connection.vendor
    assert stat.S_IMODE((tmp_path / "one.zip").stat().st_mode) == 0o600
    before = rows_of(tmp_path / "one.zip")
    shutil.rmtree(tmp_path / "pictures")
    shutil.rmtree(tmp_path / "uploads")
    (tmp_path / "lite").mkdir()
    with replacement._sqlite_in(tmp_path / "lite"), package.open_backup(tmp_path / "one.zip") as backup:
        restoring._load_database(backup, print)
        restoring._store_files(backup, print)
        writing.write(tmp_path / "two.zip")
        assert Collection.objects.create(name="new").pk > gone  # no id is given twice
    assert rows_of(tmp_path / "two.zip") == before
    picture = Picture.objects.get()
    assert store.opened(picture.small).read()[:4] == b"RIFF"
    assert (tmp_path / "uploads" / Job.objects.get(state="queued").files[0]["stored"]).read_bytes() == b"q9\tnew\n"


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
@pytest.mark.django_db(transaction=True)
def test_a_backup_of_each_release_is_restored_and_brought_up_to_date(path, tmp_path):
    """On PostgreSQL this is the way across: all of them were made on SQLite."""
    usual_schema = schema()
    with empty_place(tmp_path):
        restoring.restore(path)
        assert schema() == usual_schema
        call_command("migrate", check_unapplied=True, verbosity=0)
        writing.write(tmp_path / "again.zip")
        before, now = rows_of(path), rows_of(tmp_path / "again.zip")
        assert {name: now[name] for name in before} == before or before.keys() != now.keys()
        assert len(before["ratings.rating"]) == Rating.objects.count() > 500
        # What the database holds, holds again.
        grade = Grade.objects.first()
        with pytest.raises(IntegrityError), transaction.atomic():
            Grade.objects.create(collection=grade.collection, value=grade.value)
        with pytest.raises(IntegrityError), transaction.atomic():
            Query.objects.create(collection_id=10**9, key="x", text="x")
        with pytest.raises(TypeError):
            RatingEvent.objects.first().delete()
        last = RatingEvent.objects.order_by("-pk").first().pk
        assert Collection.objects.create(slug="new", name="new").pk > Collection.written.order_by("pk")[0].pk
        assert RatingEvent.objects.bulk_create([_like(RatingEvent.objects.first())])[0].pk > last
        with pytest.raises(replacement.InUse, match="holds something already"):
            restoring.restore(path)


@pytest.mark.django_db(transaction=True)
def test_numbers_that_postgresql_writes_in_another_form_come_across(tmp_path):
    numbers = [1e23, -1e23, 1e308, 1e-7, 12345678901234567890.1, 12345678901234567890, -0.0, 1.50, 0.1]
    with replacement._sqlite_in(tmp_path):
        call_command("migrate", verbosity=0)
        one = Collection.objects.create(name="c", slug="c")
        Document.objects.create(collection=one, key="d", fields={"numbers": numbers})
        writing.write(tmp_path / "one.zip")
    restoring.dry_run(tmp_path / "one.zip")
    (tmp_path / "place").mkdir()
    with empty_place(tmp_path / "place"):
        restoring.restore(tmp_path / "one.zip")
        assert list(map(float, Document.objects.get().fields["numbers"])) == list(map(float, numbers))


@pytest.mark.django_db(transaction=True)
def test_what_only_sqlite_stores_is_refused_by_a_restore_and_a_dry_one(tmp_path):
    """A name that is too long for PostgreSQL. SQLite does not look at lengths."""
    with replacement._sqlite_in(tmp_path):
        call_command("migrate", verbosity=0)
        get_user_model().objects.create(username="x" * 200)
        writing.write(tmp_path / "one.zip")
    (tmp_path / "place").mkdir()
    accepted = connection.vendor == "sqlite"
    with empty_place(tmp_path / "place"):
        for arguments in (["--dry"], []):
            refused = pytest.raises(CommandError, match="too long.* Nothing was restored")
            with nullcontext() if accepted else refused:
                call_command("restore", str(tmp_path / "one.zip"), *arguments)
        assert bool(connection.introspection.table_names()) == accepted


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_dry_restore_names_the_kind_of_database_and_leaves_nothing_there(tmp_path, capsys):
    with empty_place(tmp_path):
        call_command("restore", str(LAST), "--dry")
        assert "into PostgreSQL" in capsys.readouterr().out
        with connection.cursor() as cursor:
            cursor.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'restoring%'")
            assert cursor.fetchall() == []
        assert connection.introspection.table_names() == []


@pytest.mark.parametrize(
    ("one", "other"), [("1e23", "1e24"), ("[1]", "[2]"), ("0.1", "0.10000000000000001"), ("1", '"1"')]
)
def test_json_of_another_value_is_another_row(one, other):
    table = tables.Table(Document)
    row = {field.column: None for field in table.fields}
    first, second = (
        pa.RecordBatch.from_pylist([row | {"fields": text}], schema=table.schema) for text in (one, other)
    )
    assert tables._equal_but_for_json(table, first, first) and not tables._equal_but_for_json(table, first, second)


def schema() -> dict[str, dict]:
    """The constraints and indexes of each table."""
    with connection.cursor() as cursor:
        names = connection.introspection.django_table_names()
        return {name: connection.introspection.get_constraints(cursor, name) for name in names}


def _like(event: RatingEvent) -> RatingEvent:
    event.pk, event.client_key = None, None
    return event


def test_every_column_of_every_table_can_be_kept():
    models = [m for m in apps.get_models(include_auto_created=True) if m._meta.managed and not m._meta.proxy]
    for table in map(tables.Table, models):
        if table.name not in tables.LEFT_OUT:
            assert table.schema
            assert columns.kind_of(table.model._meta.pk) in {
                *columns.INTEGER_FIELDS,
                "UUIDField",
            }  # the same order anywhere
    assert {model._meta.label_lower for model in models} >= tables.LEFT_OUT


@pytest.mark.django_db
def test_who_has_a_backup_has_neither_sessions_nor_keys(client, tmp_path):
    client.force_login(get_user_model().objects.create_user("anna"))
    writing.write(tmp_path / "one.zip")
    content = (tmp_path / "one.zip").read_bytes()
    assert client.session.session_key.encode() not in content and usual.SECRET_KEY.encode() not in content
    with package.open_backup(tmp_path / "one.zip") as backup:
        assert backup.keys() is None and "ratings.session" not in backup.members("tables")
    writing.write(tmp_path / "two.zip", with_keys=True)
    with package.open_backup(tmp_path / "two.zip") as backup:
        assert backup.keys() == {"SECRET_KEY": usual.SECRET_KEY}


def test_a_key_comes_back_and_the_one_before_is_kept(tmp_path):
    (tmp_path / "secret.key").write_text("old\n")
    restoring.restore_secret_key("new")
    assert (tmp_path / "secret.key").read_text() == "new\n"
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    (kept,) = tmp_path.glob("secret.key.before_*")
    assert kept.read_text() == "old\n"


@pytest.mark.django_db
@pytest.mark.parametrize(("in_environment", "warns"), [("another", True), ("new", False), ("", False)])
def test_a_key_that_the_environment_overrides_is_said_to_have_no_effect(
    tmp_path, monkeypatch, in_environment, warns
):
    monkeypatch.setenv("SECRET_KEY", in_environment)
    (tmp_path / "secret.key").write_text("new\n")
    manifest = {"members": [], "made_at": "2026-03-02T09:00", "program": "0.1.0"}
    monkeypatch.setattr(restoring, "restore", lambda *args, **options: manifest)
    told = io.StringIO()
    call_command("restore", tmp_path / "one.zip", with_keys=True, stdout=io.StringIO(), stderr=told)
    assert ("SECRET_KEY" in told.getvalue()) == warns


# One moment


@pytest.mark.parametrize("at_one_moment", [True, False])
@pytest.mark.django_db(transaction=True)
def test_a_backup_beside_writers_is_of_one_moment(at_one_moment, tmp_path, monkeypatch):
    """Each transaction writes one row into each of three tables. Its twin reads without a snapshot."""
    if not at_one_moment:
        monkeypatch.setattr(writing, "snapshot", nullcontext)
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
        writing.write(tmp_path / "one.zip", progress=slowly)
    finally:
        stop.set()
        thread.join()
    found = rows_of(tmp_path / "one.zip")
    counts = {len(found[f"ratings.{name}"]) for name in ("collection", "document", "grade")}
    assert (len(counts) == 1) == at_one_moment


@pytest.mark.django_db(transaction=True)
def test_what_was_confirmed_by_the_time_that_it_names_is_in_it(tmp_path, monkeypatch):
    """That time is not after the moment that it shows."""
    snapshot, before = writing.snapshot, []

    @contextmanager
    def noted():
        before.append(timezone.now())
        with snapshot():
            yield

    monkeypatch.setattr(writing, "snapshot", noted)
    manifest = writing.write(tmp_path / "one.zip")
    assert datetime.fromisoformat(manifest["made_at"]) <= before[0]


@pytest.mark.django_db(transaction=True)
def test_a_file_that_goes_while_it_is_copied_is_needed_by_no_row_of_the_backup(tmp_path, monkeypatch):
    collection = Collection.objects.create(slug="c", name="c")
    digest = store.keep(b"a picture")
    shown = {"state": "ready", "small": digest, "large": digest}
    Picture.objects.create(collection=collection, digest="0" * 64, source="data:", **shown)
    rows, gone = files.referenced_files, []

    def somebody_deletes() -> None:
        Picture.objects.all().delete()
        storages["pictures"].delete(store.name_of(digest))
        connection.close()

    def named(apps, name):
        """The names as they were, and then one of them goes."""
        found = list(rows(apps, name))
        if found and not gone:
            gone.append(found)
            other = Thread(target=somebody_deletes)
            other.start()
            other.join()
        return iter(found)

    monkeypatch.setattr(files, "referenced_files", named)
    manifest = writing.write(tmp_path / "one.zip")
    assert gone and manifest["missing"] == []
    assert rows_of(tmp_path / "one.zip")["ratings.picture"] == []


@pytest.mark.django_db
def test_a_file_that_was_lost_before_is_named_and_keeps_nothing_from_being_kept(tmp_path):
    release.everything()
    name = store.name_of(Picture.objects.get().small)
    (tmp_path / "pictures" / name).unlink()
    assert writing.write(tmp_path / "one.zip")["missing"] == [f"pictures/{name}"]


@pytest.mark.django_db
def test_a_large_file_is_kept_in_pieces(tmp_path):
    content = random.Random(7).randbytes(2 * files.CHUNK_BYTES + 1)
    names = {"large": content, "even": content[: files.CHUNK_BYTES], "empty": b""}
    for name, own in names.items():
        (tmp_path / "uploads" / name).write_bytes(own)
    Job.objects.create(collection=Collection.objects.create(name="c"), files=[{"stored": name} for name in names])
    writing.write(tmp_path / "one.zip")
    shutil.rmtree(tmp_path / "uploads")
    with package.open_backup(tmp_path / "one.zip") as backup:
        files.restore_files("uploads", backup.batches("files/uploads"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "uploads").iterdir()} == names


# What is refused


def changed(tmp_path, **facts) -> Path:
    """The last release's backup with other facts in its manifest."""
    path = tmp_path / "changed.zip"
    with zipfile.ZipFile(LAST) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == package.MANIFEST:
                content = json.dumps(json.loads(content) | facts)
            new.writestr(name, content)
    return path


def test_one_changed_byte_anywhere_in_the_content_is_refused(tmp_path):
    content, chance, path = LAST.read_bytes(), random.Random(7), tmp_path / "one.zip"
    with zipfile.ZipFile(LAST) as whole:
        # A header is 30 bytes and the name; 20 more where a member may be large.
        heads = [(info, info.header_offset + 30 + len(info.filename)) for info in whole.infolist()]
        places = [(info.filename, chance.randrange(head + 20, head + info.file_size)) for info, head in heads]
    for name, place in places:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        words = "no whole backup" if name == package.MANIFEST else name
        with pytest.raises(package.UnusableBackup, match=words), path.open("rb") as file:
            package.Backup(file, path.name).check()


def test_a_hash_that_is_not_that_of_its_member_is_refused(tmp_path):
    """What the checksum of a ZIP would let pass: a member that was written anew."""
    with package.open_backup(LAST) as backup:
        members = [dict(each) for each in backup.manifest["members"]]
    members[-1]["sha256"] = "0" * 64
    with (
        package.open_backup(changed(tmp_path, members=members)) as backup,
        pytest.raises(package.UnusableBackup, match="damaged"),
    ):
        backup.check()


@pytest.mark.parametrize("content", [b"", b"text", LAST.read_bytes()[:-30], LAST.read_bytes()[:999]])
def test_what_is_no_whole_backup_is_refused(tmp_path, content):
    with pytest.raises(package.UnusableBackup, match="no whole backup"):
        package.Backup(io.BytesIO(content), "it")


@pytest.mark.parametrize("fact", package.FACTS)
def test_a_manifest_without_a_fact_is_that_of_no_whole_backup(tmp_path, fact):
    path = tmp_path / "changed.zip"
    with package.open_backup(LAST) as backup, zipfile.ZipFile(path, "w") as new:
        new.writestr(package.MANIFEST, json.dumps({k: v for k, v in backup.manifest.items() if k != fact}))
    with pytest.raises(package.UnusableBackup, match="no whole backup"), package.open_backup(path):
        pass


def test_a_manifest_of_another_program_is_that_of_no_backup(tmp_path):
    path = changed(tmp_path, format="something else")
    with pytest.raises(package.UnusableBackup, match="no whole backup"), package.open_backup(path):
        pass


@pytest.mark.django_db
def test_the_archive_of_a_collection_is_told_from_a_backup_with_the_command_that_imports_it(tmp_path):
    Collection.objects.create(slug="c", name="c")
    call_command("export_collection", "c", output=str(tmp_path / "c.zip"))
    with pytest.raises(CommandError, match="import_collection c.zip"):
        call_command("restore", str(tmp_path / "c.zip"))


@pytest.mark.django_db
def test_a_backup_through_a_link_writes_the_file_that_it_names(tmp_path):
    (tmp_path / "one.zip").write_text("old")
    for name, target in {"link.zip": "one.zip", "dangling.zip": "two.zip"}.items():
        (tmp_path / name).symlink_to(target)
        writing.write(tmp_path / name)
        assert (tmp_path / name).is_symlink() and zipfile.is_zipfile(tmp_path / target)


@pytest.mark.django_db
def test_what_is_no_ordinary_file_is_not_replaced_by_a_backup(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("-", "pipe", "folder"):
        with pytest.raises(CommandError, match="Nothing was written"):
            call_command("backup", name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe", "uploads"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.django_db
def test_a_backup_that_fails_says_nothing_but_why(tmp_path, monkeypatch):
    """A ZIP that nobody closes complains when it is collected."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(tables, "batches", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path / "one.zip"))
    gc.collect()
    assert complaints == []


@pytest.mark.django_db
def test_a_backup_of_a_newer_version_is_refused_in_words(tmp_path):
    with package.open_backup(LAST) as backup:
        migrations = [*backup.manifest["migrations"], ["ratings", "9999_later"]]
    path = changed(tmp_path, program="9.1.0", migrations=migrations)
    with pytest.raises(
        CommandError, match=r"made by Idealist 9\.1\.0.* \(ratings\.9999_later\)\. Install 9\.1\.0"
    ):
        call_command("restore", str(path), "--dry")
    path = changed(tmp_path, program="9.1.0", version=2)
    with pytest.raises(CommandError, match=r"format 2; this is .* reads format 1"):
        call_command("restore", str(path), "--dry")


@pytest.mark.django_db(transaction=True)
def test_rows_that_do_not_arrive_as_they_were_are_noticed(tmp_path, monkeypatch):
    """Without a word from the database: a text that came shorter."""
    original = columns.rows

    def shorter(batch):
        for row in original(batch):
            yield [value.removesuffix(".") if isinstance(value, str) else value for value in row]

    monkeypatch.setattr(columns, "rows", shorter)
    with pytest.raises(package.UnusableBackup, match="after loading, .* holds other rows"):
        restoring.dry_run(LAST)


@pytest.mark.django_db(transaction=True)
def test_a_backup_without_the_file_of_a_row_is_refused(monkeypatch):
    monkeypatch.setattr(files, "referenced_files", lambda apps, store: iter([("ab/absent", True)]))
    with pytest.raises(package.UnusableBackup, match="lacks pictures/ab/absent"):
        restoring.dry_run(LAST)


# Nothing half


@pytest.mark.django_db(transaction=True)
def test_a_database_that_somebody_has_open_is_not_replaced(tmp_path):
    path = tmp_path / "db.sqlite3"
    with replacement._sqlite_in(tmp_path), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE t (a)")
        with pytest.raises(replacement.InUse, match="Stop the server"):
            restoring.restore(LAST, replace=True)
        other.execute("INSERT INTO t VALUES (1)")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["a superuser", "an owner"])
def test_a_server_with_an_account_of_its_own_is_seen_and_a_program_that_only_watches_may_go_on(by):
    """PostgreSQL shows an owner less about sessions of other accounts than a superuser."""
    with connected("idealist_watches"), restoring_as(by):
        until_nobody_is_seen()
    with (
        connected("idealist_serves", "GRANT INSERT ON ratings_rating TO idealist_serves"),
        restoring_as(by),
        pytest.raises(replacement.InUse, match="1 other connections, of idealist_serves. Stop .* pooler .* PAUSE"),
    ):
        replacement._refuse_others()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["a superuser", "an owner"])
def test_the_sessions_of_a_restore_and_of_other_databases_are_not_those_of_a_server(by):
    grant = "GRANT INSERT ON ratings_rating TO idealist_serves"
    with connected("idealist_serves", grant, database="postgres"), restoring_as(by):
        until_nobody_is_seen()
        own = connection.copy()
        own.settings_dict["OPTIONS"] = {"application_name": replacement.REPLACEMENT_SCHEMA}
        with closing(own):
            own.ensure_connection()
            replacement._refuse_others()


@contextmanager
def restoring_as(account: str):
    """The usual connection becomes that of a superuser, or of an account like the owner of a database."""
    if account == "a superuser":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE idealist_owns LOGIN; GRANT ALL ON ratings_rating TO idealist_owns")
    connection.close()
    try:
        with replacement.default_connection(USER="idealist_owns"):
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP OWNED BY idealist_owns; DROP ROLE idealist_owns")


def until_nobody_is_seen() -> None:
    """Connections of tests before may be closing."""
    begun = time.monotonic()
    while True:
        try:
            return replacement._refuse_others()
        except replacement.InUse:
            assert time.monotonic() < begun + 30


@contextmanager
def connected(account: str, grant: str = "", database: str = ""):
    """A connection to the database, or to another one, by a new account of PostgreSQL."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {account} LOGIN; {grant}")
    other = connection.copy()
    other.settings_dict |= {"USER": account, "NAME": database or connection.settings_dict["NAME"]}
    try:
        other.ensure_connection()
        yield
    finally:
        other.close()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP OWNED BY {account}; DROP ROLE {account}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write for another account")
@pytest.mark.django_db(transaction=True)
def test_what_root_restores_belongs_to_whom_the_data_folder_belongs(settings):
    with tempfile.TemporaryDirectory(dir="/tmp") as name, writing_for(settings, Path(name)):
        for replace in (False, True):
            restoring.restore(LAST, replace=replace, with_keys=False)
            (Path(name) / "db.sqlite3").chmod(0o640)
        restoring.restore(LAST, replace=True)
        assert stat.S_IMODE((Path(name) / "db.sqlite3").stat().st_mode) == 0o640
        assert {path.stat().st_uid for path in Path(name).rglob("*")} == {65534}
    assert os.geteuid() == 0


@contextmanager
def writing_for(settings, folder: Path):
    """The data folder is this one, and that of another account."""
    os.chown(folder, 65534, 65534)
    settings.DATA_DIR = folder
    facts = {"ENGINE": "config.sqlite", "NAME": folder / "db.sqlite3"}
    pictures = settings.STORAGES["pictures"] | {"OPTIONS": {"location": folder / "pictures"}}
    settings.STORAGES = settings.STORAGES | {"pictures": pictures}
    with replacement.default_connection(**facts, OPTIONS={"transaction_mode": "IMMEDIATE"}):
        yield


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import django
django.setup()
from config.backup import restoring, writing

def killed(act, path, point, **options):
    if not (child := os.fork()):
        reached = []
        def progress(name):
            reached.append(name)
            if name == point:
                os.kill(os.getpid(), signal.SIGKILL)
        try:
            act(path, progress=progress, **options)
        finally:
            print("never reached:", point, file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1]
"""


def test_a_backup_or_a_restore_that_is_killed_leaves_all_as_it_was(tmp_path):
    """kill -9 at points of both. The bench does it at 20 points of each, on both databases, under writes."""
    code = KILLED + (
        "release, own = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "restoring.restore(release)\n"
        "from django.db import connection\n"
        "connection.close()\n"
        "writing.write(own)\n"
        "shutil.copy(own, own.with_name('before.zip'))\n"
        "connection.close()\n"
        "print(killed(writing.write, own, 'pictures'), killed(writing.write, own, 'ratings.rating'))\n"
        "for point in ('loading ratings.rating', 'storing uploads'):\n"
        "    print(killed(restoring.restore, own, point, replace=True))\n"
        "restoring.dry_run(own)\n"
        "writing.write(own.with_name('after.zip'))\n"
    )
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path / "data"), "DATABASE_URL": ""}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", code, str(LAST), str(tmp_path / "own.zip")]
    done = subprocess.run(command, cwd=usual.BASE_DIR, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(int(signal.SIGKILL))] * 4, done.stderr
    before, *others = (rows_of(tmp_path / f"{name}.zip") for name in ("before", "own", "after"))
    assert others == [before, before]
    assert len(list((tmp_path / "data").glob("db.sqlite3*"))) == 1
    assert len(list(tmp_path.glob(".own.zip.*"))) <= 1  # what the last one left, which the next removes
