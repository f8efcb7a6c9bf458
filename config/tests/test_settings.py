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
