"""The worker makes backups when it is time, reads each again, keeps some, and says when it could not."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import caches
from django.core.files.storage import FileSystemStorage

from config.backup import package, schedule, writing
from ratings import chores

pytestmark = [pytest.mark.django_db, pytest.mark.same_everywhere]
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def daily(settings, tmp_path, django_db_setup):
    settings.DATA_DIR, settings.BACKUP_EVERY, settings.BACKUP_KEEP = tmp_path, 24, 2
    backups = settings.STORAGES["backups"] | {"OPTIONS": {"location": tmp_path / "backups"}}
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "claims"}
    settings.STORAGES = settings.STORAGES | {"backups": backups}
    settings.CACHES = settings.CACHES | {"tries": memory}
    caches["tries"].clear()


def names(tmp_path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "backups").iterdir())


def test_the_worker_looks_after_it():
    assert any(chore.do is schedule.run for chore in chores.of_apps)


def test_it_is_made_when_it_is_time_and_the_newest_are_kept(tmp_path):
    for hours in (0, 23, 24, 47, 48, 72):
        schedule.back_up_if_due(now=NOW + timedelta(hours=hours))
    kept = ["idealist-20260304T090000Z.zip", "idealist-20260305T090000Z.zip"]
    assert names(tmp_path) == sorted([*kept, *(name + ".sha256" for name in kept)])
    assert schedule.last_backup_at() == NOW + 3 * DAY
    assert not (tmp_path / ".backup.zip").exists()


def test_without_the_setting_none_is_made_and_none_is_missed(settings, tmp_path):
    settings.BACKUP_EVERY = 0
    schedule.back_up_if_due(now=NOW)
    assert not (tmp_path / "backups").exists() and schedule.overdue_problem() == ""


def test_who_has_not_got_the_claim_makes_none(tmp_path):
    caches["tries"].add(schedule.CLAIM, 1, 60)
    schedule.back_up_if_due(now=NOW)
    assert not (tmp_path / "backups").exists()


def test_a_failure_is_logged_seen_and_not_tried_again_at_once(monkeypatch, caplog):
    schedule.back_up_if_due(now=NOW)
    assert schedule.overdue_problem(now=NOW + DAY) == ""
    tries = []

    def fails(path):
        tries.append(path)
        raise OSError("No space left on device")

    monkeypatch.setattr(writing, "write", fails)
    for hours in (24, 25, 49):
        schedule.back_up_if_due(now=NOW + timedelta(hours=hours))
    assert len(tries) == 1
    assert (
        "The backup failed (No space left on device), and the last good one is of 2026-03-02 09:00" in caplog.text
    )
    assert "last good backup is of 2026-03-02 09:00" in schedule.overdue_problem(now=NOW + 3 * DAY)


def test_one_that_does_not_lie_there_whole_does_not_count(monkeypatch, tmp_path, caplog):
    """Its twin: the same storage, and nobody reads again."""
    original = FileSystemStorage._save

    def damaged(self, name, content):
        saved = original(self, name, content)
        path = tmp_path / "backups" / saved
        whole = path.read_bytes()
        path.write_bytes(whole[:2000] + b"?" + whole[2001:])
        return saved

    monkeypatch.setattr(FileSystemStorage, "_save", damaged)
    schedule.back_up_if_due(now=NOW)
    assert schedule.last_backup_at() is None and "cannot be read" in caplog.text
    caches["tries"].clear()
    monkeypatch.setattr(package.Backup, "check", lambda self: None)
    schedule.back_up_if_due(now=NOW + DAY)
    assert schedule.last_backup_at() == NOW + DAY


def test_one_whose_worker_was_killed_before_it_counted_goes_with_the_next(tmp_path):
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "idealist-20260301T000000Z.zip").write_bytes(b"half")
    (tmp_path / "backups" / "mine.zip").write_bytes(b"another's")
    schedule.back_up_if_due(now=NOW)
    made = "idealist-20260302T090000Z.zip"
    assert names(tmp_path) == [made, made + ".sha256", "mine.zip"]
