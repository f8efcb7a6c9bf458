"""A collection that an archive is making: nobody sees it before all of it is in, and what died is removed."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from ratings import queue
from ratings.archive import checking
from ratings.imports import jobs
from ratings.intake import publishing
from ratings.intake.publishing import Landing
from ratings.models import Adjudication, Collection, Job, Pair, Rating

from .cast import grade, make_collection, make_pair, make_rater
from .test_archive import HILLS, Rolled, packed, restored, written
from .test_publishing import Died


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """One line in each: an undo is in another piece than what it undoes."""
    monkeypatch.setattr(checking, "AT_ONCE", 1)


def left() -> dict[str, int]:
    """Rows by table, of those that have any. Sessions and the audit are no part of a collection."""
    found, others = {}, {"ratings_job", "ratings_session", "ratings_auditevent"}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith("ratings_") and table not in others:
                cursor.execute(f"SELECT COUNT(*) FROM {table}")
                found[table] = cursor.fetchone()[0]
    return {table: count for table, count in found.items() if count}


def look_at_each_piece(monkeypatch, look) -> list:
    """`look` is called before each piece; what it gives is collected."""
    piece, seen = Landing.piece, []

    def watched(self, rows):
        seen.append(look())
        return piece(self, rows)

    monkeypatch.setattr(Landing, "piece", watched)
    return seen


@pytest.mark.django_db
@pytest.mark.slow
def test_nobody_sees_it_before_all_of_it_is_in(monkeypatch, tmp_path):
    root = get_user_model().objects.create_superuser("root", password="a pass phrase")
    make_collection("sea", documents="")
    client = Client()
    client.force_login(root)

    def found() -> tuple:
        return (
            Collection.objects.count(),
            Collection.objects.visible_to(root).count(),
            client.get("/collections/there/").status_code,
            b"Walks" in client.get("/").content,
        )

    seen = look_at_each_piece(monkeypatch, found)
    assert restored(tmp_path, packed(HILLS)) == []
    assert len(seen) > 15
    assert set(seen) == {(1, 1, 404, False)}
    assert found() == (2, 2, 200, True)


@pytest.mark.django_db
@pytest.mark.parametrize("pieces", [0, 3, 6, 12, 20, 26, 30])
def test_what_a_command_left_that_died_is_removed_by_the_next(monkeypatch, tmp_path, pieces):
    path = tmp_path / "hills.zip"
    path.write_bytes(packed(HILLS))
    with monkeypatch.context() as dying:
        begun = look_at_each_piece(dying, lambda: None)
        piece = Landing.piece

        def fatal(self, rows):
            if len(begun) == pieces:
                raise Died
            return piece(self, rows)

        dying.setattr(Landing, "piece", fatal)
        dying.setattr(publishing, "_end", lambda job: None)
        with pytest.raises(Died):
            call_command("import_collection", str(path), slug="there")
    assert "ratings_collection" in left()
    assert not Collection.objects.exists()
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=2))
    call_command("import_collection", str(path), slug="there")
    assert len(left()) == 20
    assert (left()["ratings_collection"], left()["ratings_ratingevent"]) == (1, 7)
    call_command("export_collection", "there", output=str(path))
    assert restored(tmp_path, path.read_bytes(), "again") == []


@pytest.mark.django_db
@pytest.mark.parametrize("forgotten", [None, Adjudication])
def test_no_table_is_forgotten_when_it_is_removed(monkeypatch, tmp_path, forgotten):
    """And the rows of others stay. The twin forgets one."""
    make_collection()
    before, every = left(), publishing.everything_of
    monkeypatch.setattr(Landing, "published", _fails)
    remembered = lambda collection: (rows for rows in every(collection) if rows.model is not forgotten)  # noqa: E731
    monkeypatch.setattr(publishing, "everything_of", remembered)
    with pytest.raises(Rolled), transaction.atomic():
        with pytest.raises(RuntimeError):
            restored(tmp_path, packed(HILLS))
        assert left() == before | ({"ratings_adjudication": 1} if forgotten else {})
        assert not Job.objects.exists()
        raise Rolled


def _fails(self, report):
    raise RuntimeError


@pytest.mark.both_databases
@pytest.mark.django_db
def test_a_slug_that_somebody_takes_meanwhile_is_refused_and_nothing_stays(monkeypatch, tmp_path):
    def taken() -> None:
        Collection.objects.get_or_create(slug="there", name="Another")

    look_at_each_piece(monkeypatch, taken)
    refused = restored(tmp_path, packed(HILLS))
    assert "somebody made a collection 'there' meanwhile. Choose another name." in refused[0]
    assert left() == {"ratings_collection": 1}
    assert Collection.objects.get().name == "Another"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("in_pieces", [True, False])
@pytest.mark.slow
def test_raters_of_other_collections_save_meanwhile(monkeypatch, tmp_path, settings, in_pieces):
    """The twin does all of it in one transaction, as SQLite knows but one writer at a time."""
    if connection.vendor != "sqlite" and not in_pieces:
        pytest.skip("PostgreSQL knows several writers")
    collection = make_collection(documents="abcdefgh")
    alice, pairs = make_rater(collection), [make_pair(collection, "q1", document) for document in "abcdefgh"]
    step = grade(collection, "2")
    tried = []

    def save() -> None:
        try:
            with connection.cursor() as cursor:
                if connection.vendor == "sqlite":
                    cursor.execute("PRAGMA busy_timeout = 200")
                    connection.settings_dict["OPTIONS"]["timeout"] = 0.2
            queue.save(alice, pairs[len(tried)], queue.Submission(grade=step))
        finally:
            connection.close()

    def saved_by_another() -> None:
        if len(tried) < len(pairs):
            other = threading.Thread(target=save)
            other.start()
            other.join(20)
            tried.append(Rating.objects.filter(rater=alice).count())

    look_at_each_piece(monkeypatch, saved_by_another)
    if in_pieces:
        assert restored(tmp_path, packed(HILLS)) == []
    else:
        monkeypatch.setattr(threading, "excepthook", lambda told: None)
        with transaction.atomic():
            assert restored(tmp_path, packed(HILLS)) == []
    assert len(tried) == 8
    assert tried == ([1, 2, 3, 4, 5, 6, 7, 8] if in_pieces else [0] * 8)
    assert Pair.objects.filter(query__collection__slug="there").count() == 2
    assert written()


@pytest.mark.django_db(transaction=True)
def test_the_reaper_removes_what_a_dead_command_left(monkeypatch, tmp_path):
    """In pieces that are each whole for the database: what refers to a row goes before it."""
    monkeypatch.setattr(publishing, "PIECE", 1)
    monkeypatch.setattr(publishing, "_end", lambda job: None)
    monkeypatch.setattr(Landing, "published", _fails)
    with pytest.raises(RuntimeError):
        restored(tmp_path, packed(HILLS))
    jobs.reap()
    assert left()  # it may be alive
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=2))
    jobs.reap()
    assert left() == {}
    job = Job.objects.get()
    assert (job.state, job.staging, job.collection) == ("failed", False, None)
