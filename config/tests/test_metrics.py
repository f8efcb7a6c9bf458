"""The figures: without names, and all that dashboard and alerts ask for."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parsed

from config.health import metrics
from ratings.copies import schedule
from ratings.desk import happenings, queue
from ratings.desk.queue import leases
from ratings.models import Role
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"


def figures(text: bytes | None = None) -> dict[tuple, float]:
    """{(name, labels): value}"""
    families = parsed((text or generate_latest(metrics.registry)).decode())
    return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}


@pytest.mark.django_db
def test_every_figure_of_the_dashboard_and_of_the_alerts_exists():
    make_collection()
    Client().get("/")
    metrics.signs.show_worker()
    known = {name for name, *_ in figures()}
    dashboard = (MONITORING / "grafana.json").read_text()
    json.loads(dashboard)
    named = set(re.findall(r"\bidealist_\w+", dashboard + (MONITORING / "alerts.yml").read_text()))
    assert len(named) > 8 and named - known == set()
    acts = re.findall(r'act=~?\\?"([\w|]+)', dashboard + (MONITORING / "alerts.yml").read_text())
    assert {act for text in acts for act in text.split("|")} <= happenings.NAMES.keys()


@pytest.mark.django_db
def test_a_backup_that_is_overdue_is_a_figure(settings, tmp_path, monkeypatch):
    settings.DATA_DIR, settings.BACKUP_EVERY, settings.FOR_OTHERS = tmp_path, 24, False
    backups = settings.STORAGES["backups"] | {"OPTIONS": {"location": tmp_path / "backups"}}
    settings.STORAGES = settings.STORAGES | {"backups": backups}
    assert figures()["idealist_backup_overdue",] == 1
    schedule.make_backup(now=timezone.now())
    assert figures()["idealist_backup_overdue",] == 0
    monkeypatch.setattr(schedule, "last_backup_at", lambda **when: 1 / 0)  # a store that is away
    assert figures()["idealist_backup_overdue",] == 1
    settings.BACKUP_EVERY = 0
    assert figures()["idealist_backup_overdue",] == 0
    settings.FOR_OTHERS = True
    assert figures()["idealist_backup_overdue",] == 1
    assert figures()["idealist_info", settings.VERSION] == 1


@pytest.mark.django_db
def test_requests_are_counted_by_view_and_never_by_address():
    before = figures().get(("idealist_requests_total", "200", "help_page"), 0)
    Client().get("/help/glossary/")
    for place in ("/nowhere/at/all", "/join/a-secret-key/"):
        Client().get(place)
    now = figures()
    assert now["idealist_requests_total", "200", "help_page"] == before + 1
    assert now["idealist_request_seconds_count", "help_page"] >= 1
    text = generate_latest(metrics.registry).decode()
    assert "secret-key" not in text and 'view="other"' in text


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.slow
def test_what_raters_do_is_counted_once(django_capture_on_commit_callbacks):
    collection = make_collection()
    make_pair(collection, "q1", "a")
    make_pair(collection, "q1", "b")
    alice = make_rater(collection)

    def counted(act) -> dict[str, float]:
        before = figures()
        with django_capture_on_commit_callbacks(execute=True):
            act()
        now = figures()
        of_acts = {name: now["idealist_acts_total", name] for name in happenings.NAMES}
        new = {name: value - before["idealist_acts_total", name] for name, value in of_acts.items()}
        return {name: number for name, number in new.items() if number}

    assert counted(lambda: queue.claim(alice, 2)) == {"claim": 1}
    first, second = queue.held(alice)
    key = "00000000-0000-4000-8000-000000000001"
    sent = queue.Submission(grade=grade(collection, "1"), base_revision=0, client_key=key)
    assert counted(lambda: queue.save(alice, first, sent)) == {"save": 1}
    assert counted(lambda: queue.save(alice, first, sent)) == {"doubled": 1}

    def from_another_window() -> None:
        with pytest.raises(queue.Conflict):
            queue.save(alice, first, queue.Submission(grade=grade(collection, "2"), base_revision=0))

    assert counted(from_another_window) == {"conflict": 1}
    assert counted(lambda: leases.record_lost([(alice.pk, second.pair.pk)])) == {"lost": 1}


@pytest.mark.django_db
def test_a_queue_is_named_by_number_and_nobody_is():
    collection = make_collection()
    make_pair(collection, "q1", "a", wanted=3)
    make_member(collection, "Zenobia", Role.ADMIN)
    assert figures()["idealist_queue", str(collection.pk), "open"] == 3
    text = generate_latest(metrics.registry).decode()
    assert "Zenobia" not in text and "hills" not in text
