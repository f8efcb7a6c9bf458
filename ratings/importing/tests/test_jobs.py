"""Imports that a worker does: what becomes of one whose worker dies, waits, is cancelled or is asked for twice."""

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from django_tasks_db.management.commands import db_worker
from django_tasks_db.models import DBTaskResult

from ratings.importing import intake, jobs, signs, uploads
from ratings.importing.intake.publishing import Superseded
from ratings.management.commands import work as command
from ratings.management.commands.work import work
from ratings.models import Document, EngineAnswer, Job, Ranking, System
from ratings.tests.cast import make_collection
from ratings.tests.races import until

RUN = "q1 Q0 x 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 b 1 9 bm25\n"

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path, monkeypatch) -> None:
    settings.DATA_DIR = tmp_path
    # A worker looks after its connection; that of a test has the test's transaction.
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


def asked(collection, text: str = RUN, kind: str = "results", **options) -> Job:
    file = uploads.keep(SimpleUploadedFile("../bm25\x07.run", text.encode()))
    return jobs.check(collection, kind, [file], options, None)


def now_of(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_a_file_is_kept_under_a_random_name_that_only_its_owner_reads():
    job = asked(make_collection())
    (file,) = job.files
    assert (file["name"], file["size"]) == ("bm25?.run", len(RUN))
    path = uploads.folder() / file["stored"]
    assert path.read_text() == RUN and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700 and "bm25" not in path.name


def test_a_file_is_checked_then_imported_and_then_forgotten():
    collection = make_collection(documents="b")
    job = asked(collection)
    work()
    checked = now_of(job)
    assert (checked.state, checked.report["counts"]["documents"]) == ("checked", 1)
    assert not Ranking.objects.exists()
    assert jobs.start(checked)
    work()
    done = now_of(job)
    assert (done.state, done.attempt) == ("published", 2)
    assert done.report["facts"][0] == "bm25: 2 rankings with 3 results; 2 new, 0 unchanged."
    assert Ranking.objects.filter(job=job).count() == 2
    assert not (uploads.folder() / job.files[0]["stored"]).exists()


def test_a_message_that_comes_twice_does_no_work_twice():
    job = asked(make_collection())
    jobs.look_at.enqueue(job.pk)
    work()
    assert (now_of(job).attempt, DBTaskResult.objects.filter(status="SUCCESSFUL").count()) == (1, 2)


def test_a_job_whose_worker_died_is_taken_up_by_the_next_which_begins_anew():
    collection = make_collection(documents="b")
    job = asked(collection)
    Job.objects.update(state="running", checking=False, attempt=1, beat_at=timezone.now())
    DBTaskResult.objects.update(status="RUNNING")
    jobs.reap()
    assert now_of(job).state == "running"  # it may be alive
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=1))
    signs.show_step(now_of(job), signs.Step("writing", None, 1))
    jobs.reap()
    assert now_of(job).state == "running"  # it gives signs of life
    cache.clear()
    jobs.reap()
    jobs.reap()
    assert (now_of(job).state, now_of(job).deaths) == ("queued", 1)
    assert DBTaskResult.objects.ready().count() == 1
    work()
    assert (now_of(job).state, now_of(job).attempt) == ("published", 2)
    assert sorted(collection.documents.values_list("key", flat=True)) == ["b", "x"]


def test_what_kills_every_worker_is_given_up():
    job = asked(make_collection())
    Job.objects.update(deaths=5)
    work()
    said = "It was started 5 times, and each time the worker died."
    assert (now_of(job).state, now_of(job).message) == ("failed", said)


def test_what_was_cancelled_while_it_waited_is_not_done():
    job = asked(make_collection())
    assert jobs.cancel(job) and not jobs.cancel(job)
    work()
    assert (now_of(job).state, now_of(job).attempt) == ("cancelled", 0)
    assert not (uploads.folder() / job.files[0]["stored"]).exists()
    assert not jobs.start(job) and not jobs.check_again(job, "results", {})


def test_a_mistake_of_ours_is_told_and_leaves_nothing(monkeypatch, caplog):
    collection = make_collection(documents="b")
    job = asked(collection)
    work()

    def broken(*args, **kwargs):
        raise KeyError("oh")

    monkeypatch.setattr(Ranking.objects, "bulk_create", broken)
    jobs.start(job)
    work()
    done = now_of(job)
    assert done.state == "failed"
    assert done.message == "Idealist made a mistake here. Its log tells more."
    assert "KeyError" in caplog.text
    assert (System.objects.count(), Document.objects.count()) == (0, 1)


def test_files_that_nobody_came_back_to_are_forgotten_and_the_import_says_so():
    old, new = asked(make_collection()), asked(make_collection("sea"))
    work()
    long_ago = time.time() - 31 * 24 * 60 * 60
    os.utime(uploads.folder() / old.files[0]["stored"], (long_ago, long_ago))
    uploads.forget_old()
    assert [(uploads.folder() / job.files[0]["stored"]).exists() for job in (old, new)] == [False, True]
    jobs.start(old)
    work()
    assert (now_of(old).state, now_of(old).message) == ("failed", "The file is no longer stored. Send it again.")


def running(**facts) -> Job:
    facts = {"kind": "results", "state": "running", "attempt": 1, "beat_at": timezone.now()} | facts
    return Job.objects.create(collection=make_collection(), **facts)


@pytest.mark.django_db(transaction=True)
def test_what_a_job_does_is_seen_while_its_transaction_is_open(monkeypatch):
    monkeypatch.setattr(signs, "SECONDS_BETWEEN_SIGNS", 0.02)
    job = running()
    with signs.shown(job) as progress, transaction.atomic():
        Job.objects.filter(pk=job.pk).update(message="nobody sees this yet")
        progress("writing", 0.5, 7)
        until(lambda: signs.step_of(job) == ("writing", 0.5, 7))
    assert signs.step_of(job) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [{"state": "cancelled"}, {"attempt": 2}, {}])
def test_a_job_that_somebody_cancels_or_takes_over_learns_it(monkeypatch, change):
    monkeypatch.setattr(signs, "SECONDS_BETWEEN_SIGNS", 0.02)
    job = running()
    with signs.shown(job) as progress:
        progress("checking", None, 1)
        if change:
            Job.objects.filter(pk=job.pk).update(**change)
        else:
            signs.ask_to_end(job)
        until(lambda: progress.superseded)
        with pytest.raises(Superseded):
            progress("checking", None, 2)


@pytest.mark.parametrize("state", ["running", "queued", "cancelled"])
def test_a_worker_that_lost_its_job_leaves_the_files_and_answers_to_the_next(monkeypatch, state):
    def lose(job, progress):
        change = {"state": state} | ({"attempt": job.attempt + 1} if state == "running" else {})
        Job.objects.filter(pk=job.pk).update(**change)
        raise Superseded

    monkeypatch.setattr(jobs, "_run", lose)
    job = asked(make_collection())
    query = job.collection.queries.first()
    EngineAnswer.objects.create(job=job, query=query)
    job.take_up()
    jobs.work_on(job)
    assert now_of(job).state == state
    assert (uploads.folder() / job.files[0]["stored"]).exists() == (state != "cancelled")
    assert now_of(job).answers.exists() == (state != "cancelled")


@pytest.mark.django_db(transaction=True)
def test_a_job_that_holds_the_database_is_cancelled(monkeypatch):
    """On SQLite nothing can be written meanwhile, so the worker learns it by a sign, and writes it."""
    monkeypatch.setattr(signs, "SECONDS_BETWEEN_SIGNS", 0.02)
    job = running(state="queued", files=[])
    began = threading.Event()

    def hold(job, progress):
        with transaction.atomic():
            System.objects.create(collection=job.collection, name="bm25")
            began.set()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                progress("writing", None, 1)
                time.sleep(0.01)

    def act() -> None:
        jobs.look_at.func(job.pk)
        connection.close()

    monkeypatch.setattr(jobs, "_run", hold)
    worker = threading.Thread(target=act)
    worker.start()
    assert began.wait(20)
    jobs.cancel(now_of(job))  # False where the worker was faster
    worker.join()
    assert now_of(job).state == "cancelled"
    assert not signs.is_to_end(job) and not System.objects.exists()


def test_a_job_that_finds_the_database_locked_is_tried_again(monkeypatch):
    def locked(*_):
        raise OperationalError("database is locked")

    job = asked(make_collection())
    work()
    jobs.start(job)
    with monkeypatch.context() as patched:
        patched.setattr(intake.stage, "land", locked)
        work()
    assert now_of(job).state == "queued" and "waits for the database" in now_of(job).message
    DBTaskResult.objects.update(run_after=timezone.now())
    work()
    assert now_of(job).state == "published"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_up_a_job_one_gets_it():
    job = asked(make_collection())
    start, got = threading.Barrier(2), []

    def take() -> None:
        mine = Job.objects.get(pk=job.pk)
        start.wait(timeout=20)
        got.append(mine.take_up())
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False, True]


def test_a_worker_ends_with_its_parent():
    """The parent is a shell that starts it and is gone: the worker must not outlive it."""
    program = (
        "import os, sys, threading; sys.path.insert(0, os.getcwd());"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings';"
        "from ratings.management.commands.work import end_with;"
        "threading.Thread(target=end_with, args=[int(sys.argv[1])]).start()"
    )
    shell = f'{sys.executable} -c "{program}" $$ & sleep 0.2'
    # It holds the pipe of its output open: run() returns when it has ended.
    subprocess.run(["sh", "-c", shell], capture_output=True, timeout=20, check=True)


def test_a_database_that_is_away_is_told_once_a_minute(monkeypatch, caplog):
    monkeypatch.setattr(command, "_told_at", time.monotonic() - command.SECONDS_BETWEEN_TELLS)
    for _ in range(3):
        command.tell_of_wait(OperationalError("connection refused"))
    assert caplog.text.count("waits for the database: connection refused") == 1
    monkeypatch.setattr(command, "_told_at", time.monotonic() - command.SECONDS_BETWEEN_TELLS)
    command.tell_of_wait(OperationalError("connection refused"))
    assert caplog.text.count("connection refused") == 2
