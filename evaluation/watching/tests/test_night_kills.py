"""Workers are killed (-9) while they ask the engine of a night: it is asked once, and told once.

The full size: IDEALIST_KILLS=20 pytest -s, and this file.
"""

import random
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation.models import Night
from ratings.importing.tests.test_kills import KILLS, bury, worker  # noqa: F401
from ratings.models import Job
from ratings.tests.races import until

from .test_nights import QUERIES, Search, shop, watch  # noqa: F401

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]


class SlowSearch(Search):
    """It takes a while for each query, and counts how often each was asked."""

    def __init__(self, engine) -> None:
        super().__init__(engine)
        self.of_query: Counter = Counter()

    def __call__(self, handler) -> None:
        self.of_query[handler.given["q"]] += 1
        time.sleep(0.02)
        super().__call__(handler)


@pytest.fixture(autouse=True)
def _environment(settings, tmp_path, monkeypatch) -> None:
    """Of the workers, too."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv("IDEALIST_PULL_HOSTS", "127.0.0.1/32")


@pytest.fixture
def search(engine) -> SlowSearch:
    return SlowSearch(engine)


def test_a_night_survives_workers_that_die_and_two_at_once(watch, search, worker):  # noqa: F811
    watch.next_at = timezone.now() - timedelta(minutes=1)
    watch.save()
    drawn, deaths = random.Random(KILLS), 0
    for _ in range(KILLS):
        process, other = worker(), worker()
        until(lambda: Night.objects.exists())
        time.sleep(drawn.uniform(0.2, 1.5))
        for each in (process, other):
            each.kill()
            each.wait()
        deaths += 1
        bury()
        if Night.objects.get().state == "told":
            break
    worker(), worker()
    until(lambda: Night.objects.filter(state__in=["told", "gap"]).exists())
    night = Night.objects.get()
    assert night.means["mean"] == pytest.approx(1.0) and night.verdicts.count() == 1 and not night.failed
    assert Job.objects.filter(kind="night").count() == 1
    # A query is asked again only where a worker died before it stored the answer.
    asked = search.of_query
    assert set(asked) == {f"text of {key}" for key in QUERIES}
    assert asked.total() <= len(QUERIES) + 10 + deaths
