import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from ratings.database import making
from ratings.management.commands.prepare import static_files_are_collected
from ratings.models import Collection
from ratings.people import visits


@pytest.mark.django_db
@pytest.mark.slow
def test_the_first_preparation_does_everything_and_the_second_finds_nothing_to_do(
    settings, tmp_path, capfd, monkeypatch
):
    settings.DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "config.storage.Storage"},
    }
    settings.DEMO = True
    # Static files are collected by a process of their own.
    for name, value in {"DJANGO_SETTINGS_MODULE": "config.settings", "IDEALIST_DATA": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    call_command("prepare")
    assert get_user_model().objects.filter(username__in=visits.SAMPLE_USERNAMES, is_active=True).count() == 3
    assert Collection.objects.count() == 1
    assert static_files_are_collected()
    call_command("prepare")
    assert capfd.readouterr().out == ""
    # The twin: a sheet that was touched later is collected again.
    os.utime(Path(settings.STATIC_ROOT, "staticfiles.json"), (0, 0))
    assert not static_files_are_collected()


@pytest.mark.django_db
def test_no_two_processes_make_tables_at_a_time(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    with making.alone(), opened(tmp_path) as second, pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with opened(tmp_path) as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)
