"""The worker makes backups when it is time, keeps some, and says when it could not."""

import errno
import os
import signal
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from django.core.cache import cache

from ratings.copies import backup, schedule
from ratings.importing import chores

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def daily(settings, tmp_path, django_db_setup):
    settings.DATA_DIR, settings.BACKUP_EVERY, settings.BACKUP_KEEP = tmp_path, 24, 2
    backups = settings.STORAGES["backups"] | {"OPTIONS": {"location": tmp_path / "backups"}}
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "claims"}
    settings.STORAGES = settings.STORAGES | {"backups": backups}
    settings.CACHES = {"default": memory}
    cache.clear()


def names(tmp_path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "backups").iterdir())


def test_the_worker_looks_after_it():
    assert "back_up_slowly" in [chore.do.__name__ for chore in chores.of_apps]


def test_it_is_made_when_it_is_time_and_the_newest_are_kept(tmp_path):
    for hours in (0, 23, 24, 47, 48, 72):
        schedule.back_up_if_due(now=NOW + timedelta(hours=hours))
    kept = ["idealist-20260304T090000Z.zip", "idealist-20260305T090000Z.zip"]
    assert names(tmp_path) == kept
    assert schedule.last_backup_at() == NOW + 3 * DAY
    assert not (tmp_path / ".backup.zip").exists()


def test_without_the_setting_none_is_made_and_none_is_missed(settings, tmp_path):
    settings.BACKUP_EVERY = 0
    schedule.back_up_if_due(now=NOW)
    assert not (tmp_path / "backups").exists() and schedule.overdue_problem() == ""


def test_who_has_not_got_the_claim_makes_none(tmp_path):
    cache.add(schedule.CLAIM_KEY, 1, 60)
    schedule.back_up_if_due(now=NOW)
    assert not (tmp_path / "backups").exists()


def test_a_failure_is_logged_seen_and_not_tried_again_at_once(monkeypatch, caplog):
    schedule.back_up_if_due(now=NOW)
    assert schedule.overdue_problem(now=NOW + DAY) == ""
    tries = []

    def fails(path):
        tries.append(path)
        raise OSError("No space left on device")

    monkeypatch.setattr(backup, "write", fails)
    for hours in (24, 25, 49):
        schedule.back_up_if_due(now=NOW + timedelta(hours=hours))
    assert len(tries) == 1
    assert (
        "The backup failed (No space left on device), and the last good one is of 2026-03-02 09:00" in caplog.text
    )
    assert "last good backup is of 2026-03-02 09:00" in schedule.overdue_problem(now=NOW + 3 * DAY)


def test_a_folder_that_cannot_be_read_is_one_line_of_the_log(monkeypatch, caplog):
    closed = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/backups")
    monkeypatch.setattr(schedule, "_names", mock.Mock(side_effect=closed))
    schedule.back_up_if_due(now=NOW)
    (record,) = caplog.records
    assert "/backups" in record.message and not record.exc_info


def test_a_worker_that_is_killed_leaves_nothing_that_the_next_does_not_remove(tmp_path):
    """kill -9 while it writes."""
    if not (child := os.fork()):
        try:
            backup._write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            schedule.make_backup(now=NOW)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    (part,) = names(tmp_path)
    assert part.endswith(".part")
    schedule.back_up_if_due(now=NOW + DAY)
    assert names(tmp_path) == ["idealist-20260303T090000Z.zip"]
