"""Workers are killed (-9) at each step of a night: the engine is asked once, and the night told once.

The full size: IDEALIST_KILLS=20 pytest -s, and this file.
"""

import random
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation.models import Night, NightRanking
from ratings.importing.tests.test_kills import KILLS, bury, worker  # noqa: F401
from ratings.models import Job
from ratings.tests.races import until

from . import slow_worker
from .slow_worker import STEPS
from .test_nights import QUERIES, Search, shop, watch  # noqa: F401

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]


class SlowSearch(Search):
    """It takes a while for each query, and counts how often each was asked."""

    def __init__(self, engine) -> None:
        super().__init__(engine)
        self.of_query: Counter = Counter()

    def __call__(self, handler) -> None:
        self.of_query[handler.given["q"]] += 1
        time.sleep(0.05)
        super().__call__(handler)


@pytest.fixture(autouse=True)
def _environment(settings, tmp_path, monkeypatch) -> None:
    """Of the workers, too."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv("IDEALIST_PULL_HOSTS", "127.0.0.1/32")


@pytest.fixture
def search(engine) -> SlowSearch:
    return SlowSearch(engine)


def test_a_night_survives_workers_that_die_at_each_step_and_two_at_once(watch, search, worker, tmp_path):  # noqa: F811
    watch.next_at = timezone.now() - timedelta(minutes=1)
    watch.save()
    said, drawn = tmp_path / "steps", random.Random(KILLS)
    kills = sorted((STEPS[number % len(STEPS)] for number in range(max(KILLS, len(STEPS)))), key=STEPS.index)
    for step in kills:
        said.write_text("")
        workers = [worker(slow_worker.__file__, str(said)) for _ in range(2)]
        until(lambda step=step: step in said.read_text().split())
        time.sleep(drawn.uniform(0, 0.7 * slow_worker.SECONDS_OF_STEP))
        for process in workers:
            process.kill()
            process.wait()
        night = Night.objects.get()
        # What a step did is seen once all of it was done.
        assert night.state == ("asking" if step in ("ask", "store") else "fetched") and not night.verdicts.exists()
        assert NightRanking.objects.exists() == (night.state == "fetched")
        bury()
    worker(), worker()
    until(lambda: Night.objects.get().state in ("told", "gap"))
    night = Night.objects.get()
    assert night.means["mean"] == pytest.approx(1.0) and night.verdicts.count() == 1 and not night.failed
    assert Job.objects.filter(kind="night").count() == 1
    # A query is asked again only where a worker died before it stored the answer.
    asked = search.of_query
    assert set(asked) == {f"text of {key}" for key in QUERIES}
    assert asked.total() <= len(QUERIES) + 10 + kills.count("ask")
