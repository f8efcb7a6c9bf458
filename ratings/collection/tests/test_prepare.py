import os
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from ratings.management.commands.prepare import static_files_are_collected
from ratings.models import Collection
from ratings.people import visits


@pytest.mark.django_db
@pytest.mark.slow
def test_the_first_preparation_does_everything_and_the_second_finds_nothing_to_do(settings, tmp_path, capsys):
    settings.DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "config.storage.Storage"},
    }
    settings.DEMO = True
    call_command("prepare")
    assert get_user_model().objects.filter(username__in=visits.SAMPLE_USERNAMES, is_active=True).count() == 3
    assert Collection.objects.count() == 1
    assert static_files_are_collected()
    call_command("prepare")
    assert capsys.readouterr().out == ""
    # The twin: a sheet that was touched later is collected again.
    os.utime(Path(settings.STATIC_ROOT, "staticfiles.json"), (0, 0))
    assert not static_files_are_collected()
