"""A worker is killed (-9) at random points of an import: nobody sees any of it, and the next worker ends it.

The full size: IDEALIST_KILLS=50 IDEALIST_RESULTS=1000000 IDEALIST_DOCUMENTS=100000 pytest -s, and this file.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from ratings import archive, jobs, uploads
from ratings.models import Collection, Document, Job, Query, Ranking, System

from .test_archive import HILLS, packed, written

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("IDEALIST_KILLS", "2"))
RESULTS = int(os.environ.get("IDEALIST_RESULTS", "10000"))
DEPTH = 100
QUERIES = 50
DOCUMENTS = int(os.environ.get("IDEALIST_DOCUMENTS", RESULTS))
RANKINGS = RESULTS // DEPTH

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(settings, tmp_path) -> Job:
    """A run of many systems, of documents that nobody knows."""
    settings.DATA_DIR = tmp_path
    collection = Collection.objects.create(slug="kills", name="Kills")
    Query.objects.bulk_create(Query(collection=collection, key=f"q{i}", text="x") for i in range(QUERIES))
    places = range(1, DEPTH + 1)
    lines = (
        f"q{n % QUERIES} Q0 d{(n * DEPTH + rank) % DOCUMENTS} {rank} {DEPTH - rank} s{n // QUERIES}\n"
        for n in range(RANKINGS)
        for rank in places
    )
    file = uploads.keep(SimpleUploadedFile("many.run", "".join(lines).encode()))
    job = Job.objects.create(collection=collection, kind="results", files=[file], beat_at=timezone.now())
    jobs.look_at.enqueue(job.pk)
    return job


@pytest.fixture
def worker(tmp_path) -> Iterator:
    """Starts `manage.py work` on the database of the test. Ends what is left of it."""
    facts = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{facts['NAME']}"
    else:
        host = quote(facts["HOST"], safe="")
        url = f"postgres://{facts['USER']}@{host}:{facts['PORT'] or 5432}/{facts['NAME']}"
    environment = os.environ | {"DATABASE_URL": url, "IDEALIST_DATA": str(tmp_path)}
    started = []

    def start() -> subprocess.Popen:
        command = [sys.executable, str(ROOT / "manage.py"), "work"]
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def until(true, seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def share() -> float:
    """How much is written: documents first, and then rankings."""
    return (Document.written.count() / DOCUMENTS + Ranking.written.count() / RANKINGS) / 2


def seen() -> tuple[int, int, int]:
    return Document.objects.count(), System.objects.count(), Ranking.objects.count()


def test_who_is_killed_at_any_point_leaves_nothing_to_see_and_the_next_goes_on(job, worker):
    drawn, where = random.Random(RESULTS), []
    for _ in range(KILLS):
        process = worker()
        attempt = Job.objects.get(pk=job.pk).attempt
        until(lambda attempt=attempt: Job.objects.get(pk=job.pk).attempt > attempt)
        # Some while it removes what the one before it left, or reads; most while it writes.
        point = drawn.uniform(-0.2, 0.95)
        if point > 0:
            until(lambda: not Job.objects.get(pk=job.pk).staging)
            until(lambda point=point: share() >= point or Job.objects.get(pk=job.pk).is_over)
        else:
            time.sleep(drawn.uniform(0, 0.5))
        process.kill()
        process.wait()
        now = Job.objects.get(pk=job.pk)
        where.append((now.state, now.message, Document.written.count(), Ranking.written.count()))
        if now.state == "published":
            break
        assert seen() == (0, 0, 0)
        # Half a minute passes, and it is not the fifth death.
        Job.objects.update(beat_at=timezone.now() - timedelta(minutes=1), deaths=0)
        jobs.reap()
    print(*where, sep="\n")
    assert len(where) > 1, "it was over before anybody was killed"
    worker()
    until(lambda: Job.objects.get(pk=job.pk).is_over)
    done = Job.objects.get(pk=job.pk)
    assert (done.state, done.staging) == ("published", False)
    assert seen() == (DOCUMENTS, -(-RANKINGS // QUERIES), RANKINGS)
    assert (Document.written.count(), Ranking.written.count()) == (DOCUMENTS, RANKINGS)
    assert done.collection.documents.filter(job=job).values("key").distinct().count() == DOCUMENTS


def test_of_an_archive_whose_maker_is_killed_nothing_is_seen_and_the_next_makes_it(settings, tmp_path, worker):
    settings.DATA_DIR = tmp_path
    count = RESULTS // 2
    documents = (f'{{"key":"x{n}","title":"","body":"","url":"","fields":{{}}}}\n' for n in range(count))
    content = packed(HILLS | {"documents": HILLS["documents"] + "".join(documents)})
    file = uploads.keep(SimpleUploadedFile("hills.zip", content))
    options = {"slug": "there"}
    job = Job.objects.create(kind="archive", files=[file], options=options, beat_at=timezone.now())
    jobs.look_at.enqueue(job.pk)
    drawn, killed = random.Random(count), 0
    for _ in range(KILLS):
        process = worker()
        point = drawn.uniform(0, 0.7) * count
        until(lambda point=point: Document.written.count() >= point or Job.objects.get(pk=job.pk).is_over)
        process.kill()
        process.wait()
        if Job.objects.get(pk=job.pk).state == "published":
            break
        killed += 1
        assert Collection.written.count() <= 1
        assert not Collection.objects.exists()
        Job.objects.update(beat_at=timezone.now() - timedelta(minutes=1), deaths=0)
        jobs.reap()
    assert killed
    worker()
    until(lambda: Job.objects.get(pk=job.pk).is_over)
    assert Job.objects.get(pk=job.pk).state == "published"
    assert (Collection.written.count(), Document.written.count()) == (1, count + 2)
    with archive.opened(made(tmp_path, written())) as again, archive.opened(made(tmp_path, content)) as before:
        assert again.snapshot == before.snapshot


def made(folder: Path, content: bytes) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.zip"
    path.write_bytes(content)
    return path
