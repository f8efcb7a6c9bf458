import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def start(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess:
    """Import the settings in a new process, as a first start does."""
    code = "from config import settings; print(settings.SECRET_KEY)"
    clean = {k: v for k, v in os.environ.items() if k not in {"SECRET_KEY", "DATABASE_URL"}}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**clean, "IDEALIST_DATA": str(tmp_path / "data"), **environment},
        capture_output=True,
        text=True,
    )


def test_the_first_start_makes_a_secret_that_only_its_owner_can_read(tmp_path):
    first, second = start(tmp_path), start(tmp_path)
    file = tmp_path / "data" / "secret.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.stdout == second.stdout == file.read_text()
    assert len(first.stdout.strip()) >= 50


@pytest.mark.parametrize("key", ["secret", "django-insecure-" + "k3y" * 30, "a" * 80])
def test_a_short_or_known_key_is_refused(tmp_path, key):
    refused = start(tmp_path, SECRET_KEY=key)
    assert refused.returncode != 0
    assert "SECRET_KEY is short or a known placeholder" in refused.stderr


def test_a_boolean_that_is_none_is_refused_by_name(tmp_path):
    assert "IDEALIST_DEMO is 'maybe'" in start(tmp_path, IDEALIST_DEMO="maybe").stderr


def test_a_number_that_is_none_is_refused_by_name(tmp_path):
    assert "IDEALIST_LARGEST_UPLOAD is '4GB'" in start(tmp_path, IDEALIST_LARGEST_UPLOAD="4GB").stderr


def options(tmp_path: Path, module: str, **environment: str) -> dict:
    """The options of the database, in a new process that imports `module`."""
    code = f"import {module}; from django.conf import settings; print(settings.DATABASES['default']['OPTIONS'])"
    clean = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "IDEALIST_PATIENCE"}}
    clean |= {"IDEALIST_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings", **environment}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=clean, capture_output=True, text=True)
    return ast.literal_eval(done.stdout)


def test_a_page_waits_for_a_lock_for_a_few_seconds_and_a_command_for_longer(tmp_path):
    assert options(tmp_path, "config.wsgi")["timeout"] == 4
    assert options(tmp_path, "config.settings")["timeout"] == 20
    assert options(tmp_path, "config.wsgi", IDEALIST_PATIENCE="2.5")["timeout"] == 2.5


def test_on_postgresql_pages_have_limits_and_commands_none(tmp_path):
    url = "postgres://somebody@somewhere/idealist?options=-c search_path=mine&sslmode=require"
    page = options(tmp_path, "config.wsgi", DATABASE_URL=url)
    assert page["options"].startswith("-c search_path=mine -c lock_timeout=4s -c statement_timeout=30s ")
    assert (page["sslmode"], page["connect_timeout"]) == ("require", 4)
    command = options(tmp_path, "config.settings", DATABASE_URL=url)
    assert command == {"options": "-c search_path=mine", "sslmode": "require"}
