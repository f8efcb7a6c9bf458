"""Damaged files of every format at the import desk: each is imported or refused, and a refused one leaves no row.

IDEALIST_FUZZ=10000 pytest -s ratings/importing/tests/test_imports_fuzz.py  # the full number, and what it took
"""

import os
import random
import resource
import time
from collections import Counter

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django_tasks_db.management.commands import db_worker

from ratings.formats.tests.test_registry import SAMPLES, mutated
from ratings.management.commands.work import work
from ratings.models import (
    Document,
    FormerText,
    Grade,
    Job,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Role,
    System,
)
from ratings.tests.cast import make_collection, make_member

FILES = int(os.environ.get("IDEALIST_FUZZ", "84"))
KINDS = ["", "", "queries", "documents", "results", "ratings"]  # mostly what is seen
ENDS = {"published", "refused", "checked"}

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def admin(settings, tmp_path, monkeypatch) -> Client:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)
    client = Client()
    collection = make_collection(queries=("q", "q1", "1", "7"), documents="d")
    client.force_login(make_member(collection, "ada", Role.ADMIN))
    return client


def written() -> list[int]:
    """How many rows there are of all that an import may write."""
    content = (Document, System, Ranking, Query, FormerText, Grade)
    return [model.objects.count() for model in (*content, Rater, Pair, Rating, RatingEvent)]


def test_a_damaged_file_is_imported_or_refused_and_never_in_part(admin):
    ends, slowest = Counter(), (0.0, "")
    for number in range(FILES):
        name = list(SAMPLES)[number % len(SAMPLES)]
        chance = random.Random(f"desk {number}")
        content = SAMPLES[name]
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            content = mutated(content, chance)
        begun = time.perf_counter()
        with transaction.atomic():
            end = sent_and_imported(admin, chance.choice(KINDS), content, (number, name))
            transaction.set_rollback(True)
        ends[end] += 1
        if end != "published":
            slowest = max(slowest, (time.perf_counter() - begun, f"{number} {name}"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{dict(ends)}; slowest refusal {slowest}; peak of this process {memory} MB")
    assert ends.keys() >= {"published", "refused"}


def sent_and_imported(admin: Client, kind: str, content: bytes, which: tuple[int, str]) -> str:
    before = written()
    file = SimpleUploadedFile("file", content)
    response = admin.post("/collections/hills/import/send/", {"kind": kind, "files": [file]})
    if response.status_code == 400:
        assert not Job.objects.exists() and written() == before, which
        return "not kept"
    work()
    job = Job.objects.get()
    assert job.state in ENDS and written() == before, (which, job.state, job.message)
    assert admin.get(response.url).status_code == 200, which
    admin.post(f"{response.url}start/")
    work()
    job = Job.objects.get()
    assert job.state in ENDS, (which, job.state, job.message)
    assert job.state == "published" or written() == before, (which, job.state)
    assert admin.get(response.url).status_code == 200, which
    return job.state
