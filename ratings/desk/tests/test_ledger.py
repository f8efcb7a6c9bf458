"""The real server, killed while raters are at work: what was acknowledged is in the record, once."""

import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection, transaction

import run
from bench import _raters, _round
from bench._raters import Browser, Habits, Ledger, rating, read
from bench._served import Server, free_port, serving
from ratings.models import Collection, Rater, Rating, RatingEvent
from ratings.tests.thorough import examples

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]

RATERS = 6
AGAIN_WITHIN = 120  # seconds
HABITS = Habits(pause=0.05, again=0, first_wait=0.1)
# Sent twice at once. Many, to be sure once in a while: IDEALIST_DOUBLES=1000
DOUBLES = int(os.environ.get("IDEALIST_DOUBLES", "20"))


def database_url() -> str:
    """That of the database of this test, for another process."""
    facts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{facts['NAME']}"
    name, secret, host = (quote(str(facts[part]), safe="") for part in ("USER", "PASSWORD", "HOST"))
    return f"postgres://{name}:{secret}@{host}:{facts['PORT']}/{facts['NAME']}"


@pytest.fixture
def server(tmp_path) -> Server:
    """As run.py starts it, on the database of the test."""
    address = ("127.0.0.1", free_port())
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "IDEALIST_DATA": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(run.ROOT), str(tmp_path)]),
    }
    # By the Python of the tests, wherever that was installed.
    command = [sys.executable, "-P", "-m", "config.server", f"127.0.0.1:{address[1]}"]
    return Server(command, environment, address, tmp_path / "log")


@pytest.fixture(autouse=True)
def impatient(monkeypatch) -> None:
    """Raters who try again soon, however long the server was away, and not for ever."""
    monkeypatch.setattr("bench._raters.LONGEST", 2)
    monkeypatch.setattr("bench._raters.ENOUGH", 180)


@pytest.fixture
def collection() -> Collection:
    return _round.made("hills", raters=RATERS, pairs=max(400, DOUBLES + 200), wanted=2)


def killed(server: Server, collection: Collection, path: Path) -> tuple[_round.Findings, Counter]:
    """What a ledger finds after some kills, a second or so apart, and what answers there were."""
    chance, stopping, book = random.Random(7), threading.Event(), Ledger(path)
    facts = {"grades": ["0", "1", "2", "3"], "ledger": book, "habits": HABITS, "stopping": stopping}
    raters = [_raters.Rater(server.address, collection.slug, f"hills-{n}", **facts) for n in range(RATERS)]
    try:
        with serving(server), rating(raters):
            wait_for_all(raters)
            for _ in range(examples(2)):
                time.sleep(chance.uniform(0, 1.5))
                server.kill()
                server.start()
                server.wait()
                wait_for_all(raters)
    finally:
        book.close()
    answers = sum((Counter(rater.statuses) for rater in raters), Counter())
    return _round.compared(collection, read(path)), answers


def wait_for_all(raters: Sequence[_raters.Rater]) -> None:
    """Until each rater had an act confirmed from now on. Of one who gave up, `rating` tells the reason."""
    since = time.monotonic()
    while any(rater.last_confirmed < since for rater in raters):
        if time.monotonic() > since + AGAIN_WITHIN or any(rater.failure for rater in raters):
            return
        time.sleep(0.01)


def test_a_killed_server_has_lost_and_doubled_nothing(server, collection, tmp_path):
    found, answers = killed(server, collection, tmp_path / "ledger")
    assert found.acknowledged > RATERS
    assert found.wrong == 0, found
    assert not [status for status in answers if status.startswith("5")], answers
    assert "database is locked" not in server.said()


class Asker:
    """A rater with a page open."""

    def __init__(self, server: Server, collection: Collection) -> None:
        self.browser = Browser(server.address)
        self.browser.sign_in(f"{collection.slug}-0")
        self.base = f"/collections/{collection.slug}/rate/"

    def claim(self, count: int) -> list[dict]:
        return self.browser.ask(f"{self.base}next/", {"count": count})[1]["tasks"]

    def save(self, task: dict, key: str) -> tuple[int, dict, float]:
        sent = {"grade": "2", "base_revision": task["base_revision"], "client_key": key}
        return self.browser.ask(f"{self.base}{task['token']}/save/", sent)


def test_a_rating_that_is_sent_twice_at_once_is_one_rating(server, collection):
    with serving(server):
        one, other = Asker(server, collection), Asker(server, collection)
        at_once = threading.Barrier(2)

        def save(asker: Asker, task: dict, key: str):
            at_once.wait()
            return asker.save(task, key)

        with ThreadPoolExecutor(2) as pool:
            for _ in range(DOUBLES):
                (task,), key = one.claim(1), str(uuid4())
                answers = [pool.submit(save, asker, task, key) for asker in (one, other)]
                first, second = (answer.result() for answer in answers)
                assert first[0] == 200
                assert first == second
    assert RatingEvent.objects.count() == Rating.objects.count() == DOUBLES


@contextmanager
def locked(rater: Rater) -> Iterator[None]:
    """Another act of the rater that does not come to an end; on SQLite, anything that writes."""
    with transaction.atomic():
        Rater.objects.select_for_update().get(pk=rater.pk)
        yield


def test_a_save_that_may_not_write_for_too_long_is_asked_for_again(server, collection):
    key = str(uuid4())
    with serving(server):
        asker = Asker(server, collection)
        (task,) = asker.claim(1)
        with locked(Rater.objects.get(name="hills-0")):
            status, told, wait = asker.save(task, key)
        assert (status, told, wait) == (503, {"error": "The server cannot write at this moment."}, 5)
        assert not Rating.objects.exists()
        assert asker.save(task, key)[0] == 200
    assert RatingEvent.objects.count() == Rating.objects.count() == 1
