"""A worker is killed (-9) at random points of an import: nobody sees any of it, and the next worker ends it.

The full size: IDEALIST_KILLS=50 IDEALIST_RESULTS=1000000 IDEALIST_DOCUMENTS=100000 pytest -s, and this file.
"""

import io
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from ratings.collection import deleting
from ratings.copies.tests.test_copies import from_elsewhere, members_of, packed, written
from ratings.importing import jobs, signs, uploads
from ratings.models import (
    Collection,
    Deletion,
    Document,
    Grade,
    Job,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    StagedRating,
    System,
)
from ratings.tests.races import until

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("IDEALIST_KILLS", "2"))
RESULTS = int(os.environ.get("IDEALIST_RESULTS", "60000"))  # less would be over before anybody is killed
ROWS = int(os.environ.get("IDEALIST_RESULTS", "10000"))  # of ratings and archives, which take longer
DOCUMENTS = int(os.environ.get("IDEALIST_DOCUMENTS", RESULTS))
LONGEST = RESULTS / 80_000  # seconds of a worker's life, some of which it reads and some of which it writes
DEPTH = 100
QUERIES = 50
RANKINGS = RESULTS // DEPTH

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]


@pytest.fixture
def collection(settings, tmp_path) -> Collection:
    settings.DATA_DIR = tmp_path
    collection = Collection.objects.create(slug="kills", name="Kills")
    Query.objects.bulk_create(Query(collection=collection, key=f"q{i}", text="x") for i in range(QUERIES))
    return collection


def asked(collection: Collection, kind: str, lines: Iterator[str], **options) -> Job:
    file = uploads.keep(SimpleUploadedFile("many", "".join(lines).encode()))
    facts = {"files": [file], "options": options, "beat_at": timezone.now()}
    job = Job.objects.create(collection=collection, kind=kind, **facts)
    jobs.look_at.enqueue(job.pk)
    return job


@pytest.fixture
def worker(settings, tmp_path) -> Iterator:
    """Starts `manage.py work`, or another program, on the database of the test. Ends what is left of it."""
    facts = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{facts['NAME']}"
    else:
        host = quote(facts["HOST"], safe="")
        url = f"postgres://{facts['USER']}@{host}:{facts['PORT'] or 5432}/{facts['NAME']}"
    environment = os.environ | {"DATABASE_URL": url, "IDEALIST_DATA": str(tmp_path), "PYTHONPATH": str(ROOT)}
    if connection.vendor == "sqlite":
        settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": tmp_path / "cache"}}
    started = []

    def start(*program: str) -> subprocess.Popen:
        command = [sys.executable, *(program or (str(ROOT / "manage.py"), "work"))]
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def killed(job: Job, worker, seen: Callable[[], tuple[int, ...]]) -> Job:
    """The job as the last worker left it, after some that were killed at random moments of their work."""
    drawn, where = random.Random(RESULTS), []
    for _ in range(KILLS):
        process = worker()
        attempt = Job.objects.get(pk=job.pk).attempt
        until(lambda attempt=attempt: Job.objects.get(pk=job.pk).attempt > attempt)
        time.sleep(drawn.uniform(0, LONGEST))
        process.kill()
        process.wait()
        now = Job.objects.get(pk=job.pk)
        where.append((now.state, signs.step_of(now)))
        if now.state == "published":
            break
        assert not any(seen())
        bury()
    print(*where, sep="\n")
    assert len(where) > 1, "it was over before anybody was killed"
    worker()
    until(lambda: Job.objects.get(pk=job.pk).is_over)
    done = Job.objects.get(pk=job.pk)
    assert done.state == "published"
    return done


def bury() -> None:
    """As if half a minute had passed, and it were not the fifth death."""
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=1), deaths=0)
    cache.clear()
    jobs.reap()


def test_a_worker_that_is_asked_to_end_does_so_by_itself(collection, worker):
    """By a handler: the first process of a container does not get a signal that it has none for."""
    cache.clear()  # a former worker's sign would be taken for its own
    process = worker()
    until(signs.has_worker)
    process.terminate()
    assert process.wait(10) == 0


def test_who_is_killed_at_any_point_leaves_nothing_to_see_and_the_next_goes_on(collection, worker):
    """A run of many systems, of documents that nobody knows."""
    lines = (
        f"q{n % QUERIES} Q0 d{(n * DEPTH + rank) % DOCUMENTS} {rank} {DEPTH - rank} s{n // QUERIES}\n"
        for n in range(RANKINGS)
        for rank in range(1, DEPTH + 1)
    )

    def seen() -> tuple[int, int, int]:
        return Document.objects.count(), System.objects.count(), Ranking.objects.count()

    job = killed(asked(collection, "results", lines), worker, seen)
    assert seen() == (DOCUMENTS, -(-RANKINGS // QUERIES), RANKINGS)
    assert collection.documents.filter(job=job).values("key").distinct().count() == DOCUMENTS


def test_the_same_of_ratings(collection, worker):
    """Each of another pair, and its document not known."""
    lines = (f"q{number % QUERIES} 0 d{number} {number % 4}\n" for number in range(ROWS))

    def seen() -> tuple[int, ...]:
        return tuple(kind.objects.count() for kind in (Document, Pair, Rating, RatingEvent, Rater, Grade))

    job = killed(asked(collection, "ratings", lines, rater="qrels"), worker, seen)
    assert seen() == (ROWS, ROWS, ROWS, ROWS, 1, 4)
    assert job.events.filter(kind="import").values("pair").distinct().count() == ROWS
    assert not StagedRating.objects.exists()


def test_of_an_archive_whose_maker_is_killed_nothing_is_seen_and_the_next_makes_it(settings, tmp_path, worker):
    settings.DATA_DIR = tmp_path
    folder = {"OPTIONS": {"location": tmp_path / "pictures"}}  # that of the worker
    settings.STORAGES = settings.STORAGES | {"pictures": settings.STORAGES["pictures"] | folder}
    good = from_elsewhere()
    line = '{"body":"","fields":{},"key":"x%d","title":"","url":""}\n'
    members = members_of(good)
    members["document.jsonl"] += "".join(line % number for number in range(ROWS))
    with zipfile.ZipFile(io.BytesIO(good)) as found:
        pictures = {name: found.read(name) for name in found.namelist() if name.startswith("pictures/")}
    content = packed(members, pictures)
    file = uploads.keep(SimpleUploadedFile("hills.zip", content))
    options = {"slug": "there"}
    job = Job.objects.create(kind="archive", files=[file], options=options, beat_at=timezone.now())
    jobs.look_at.enqueue(job.pk)
    drawn = random.Random(ROWS)
    for _ in range(KILLS):
        process = worker()
        until(lambda: Job.objects.get(pk=job.pk).state != "queued")
        time.sleep(drawn.uniform(0, 1))
        process.kill()
        process.wait()
        if Job.objects.get(pk=job.pk).state == "published":
            break
        assert not Collection.written.exists() and not Document.objects.exists()
        bury()
    worker()
    until(lambda: Job.objects.get(pk=job.pk).is_over)
    assert Job.objects.get(pk=job.pk).state == "published"
    assert (Collection.written.count(), Document.objects.count()) == (1, ROWS + 4)
    assert members_of(written()) == members


def test_a_removal_whose_worker_is_killed_goes_on_with_the_next(collection, worker):
    Document.objects.bulk_create(
        (Document(collection=collection, key=f"d{n}", body="x" * 200) for n in range(DOCUMENTS)), batch_size=5000
    )
    deleting.remove_now(deleting.delete(collection))
    drawn, left, killed = random.Random(DOCUMENTS), DOCUMENTS, 0
    for _ in range(KILLS):
        process, point = worker(), left - drawn.uniform(0, 0.2) * DOCUMENTS
        until(lambda point=point: Document.objects.count() < point)
        process.kill()
        process.wait()
        left = Document.objects.count()
        assert not Collection.objects.exists()
        if not left:
            break
        killed += 1
        assert left < DOCUMENTS and Deletion.objects.get().removing
    assert killed
    worker()
    until(lambda: not Collection.written.exists())
    assert not Document.objects.exists() and not Query.objects.exists() and not Deletion.objects.exists()


def made(folder: Path, content: bytes) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.zip"
    path.write_bytes(content)
    return path
