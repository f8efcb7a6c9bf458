"""A worker is killed (-9) at random points of a judge's run: nothing that was stored is asked again.

Twenty points: IDEALIST_KILLS=20 pytest, and this file.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from django.utils import timezone

from ratings.judges import runs
from ratings.models import JudgeRun
from ratings.models.job import LEASE

from .model_server import ModelServer
from .test_judges import free, judge_of, pool_of

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("IDEALIST_KILLS", "2"))
PAIRS = 600
CODE = "import django; django.setup(); from ratings.judges import runs; "
CODE += "runs.SECONDS_BETWEEN_STORES = 0.05; runs.work_due()"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]


def environment(tmp_path) -> dict:
    facts = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{facts['NAME']}"
    else:
        host = quote(facts["HOST"], safe="")
        url = f"postgres://{facts['USER']}@{host}:{facts['PORT'] or 5432}/{facts['NAME']}"
    more = {"DJANGO_SETTINGS_MODULE": "config.settings", "IDEALIST_PULL_HOSTS": "127.0.0.1/32"}
    return os.environ | more | {"DATABASE_URL": url, "IDEALIST_DATA": str(tmp_path)}


def test_a_killed_run_goes_on_and_asks_nothing_twice_that_was_stored(tmp_path, settings):
    settings.PULL_HOSTS = ["127.0.0.1/32"]

    def answer(handler, _) -> None:
        time.sleep(0.005)
        handler.say('{"grade": 1}')

    server = ModelServer(answer)
    try:
        version = judge_of(pool_of({f"d{i}": str(i) for i in range(PAIRS)}), server.url)
        free(version.judge)
        run = runs.start(version, "pool", {}, {"most_calls": 2 * PAIRS + 8 * KILLS, "concurrency": 4})
        drawn, lost = random.Random(19), 0
        for _ in range(KILLS):
            before, begun = set(stored(run)), server.asked.total()
            process = subprocess.Popen([sys.executable, "-c", CODE], cwd=ROOT, env=environment(tmp_path))
            while server.asked.total() == begun:
                assert process.poll() is None
                time.sleep(0.005)
            asked = server.asked.copy()
            time.sleep(drawn.uniform(0, 0.15))
            process.kill()
            process.wait()
            time.sleep(0.05)  # a call that had been sent is counted by the server
            now = set(stored(run))
            assert before <= now
            # Nothing that was stored before this worker began was asked by it.
            new = server.asked - asked
            assert not {document for _, document in new} & before
            lost = server.asked.total() - len(now)
            run.refresh_from_db()
            assert run.graded == len(now) and run.calls >= server.asked.total()
            JudgeRun.objects.filter(state="running").update(beat_at=timezone.now() - 2 * LEASE)
        runs.work_due()
        run.refresh_from_db()
        assert (run.state, run.graded, len(set(stored(run)))) == ("done", PAIRS, PAIRS)
        assert lost > 0  # some were killed with calls under way, or this shows nothing
        assert server.asked.total() <= run.calls <= run.most_calls
    finally:
        server.stop()


def stored(run: JudgeRun) -> list[str]:
    """What the server knows each answered pair by."""
    return list(run.grades.filter(state="graded").values_list("document__body", flat=True))
