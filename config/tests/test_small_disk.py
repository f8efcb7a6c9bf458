"""A real disk of eight megabytes, in a namespace of its own: full, with room again, and read-only."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MOUNT = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$0" && exec "$@"'
SCRIPT = """
import json, os, subprocess, sys
from pathlib import Path
import django
from django.conf import settings
plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
django.setup()
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from config.health import checks
from ratings.database import disk
from ratings.models import Collection, Document, Query, Ranking, System

def signed_in() -> list:
    right = {"username": "anna", "password": "a pass phrase"}
    answer = Client(raise_request_exception=False, headers={"host": "localhost"}).post("/accounts/sign-in/", right)
    page = answer.content.decode()
    return [answer.status_code, "disk is full" in page, "Too many" in page]

told = {}
call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)
get_user_model().objects.create_user("anna", password="a pass phrase")
call_command("create_collection", "hills", grades="0:No,1:Yes", verbosity=0, stdout=sys.stderr)
Query.objects.bulk_create(Query(collection=Collection.objects.get(), key=f"q{n}", text="x") for n in range(20))
ballast = settings.DATA_DIR / "ballast"
with ballast.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
told["full"] = signed_in()
told["check of a full disk"] = [problem.wrong for problem in checks.storage()]
try:
    call_command("work")
except Exception as error:
    told["start on a full disk"] = str(error)
os.truncate(ballast, ballast.stat().st_size - 200_000)  # so that an import begins, and does not end
try:
    call_command("import_run", "hills", os.environ["RUN"])
except Exception as error:
    trouble = disk.trouble(error.__cause__ or error)
    told["import"] = [trouble, *(rows.objects.count() for rows in (Ranking, Document, System))]
ballast.unlink()
told["with room"] = signed_in()
call_command("import_run", "hills", os.environ["RUN"], verbosity=0)
told["import with room"] = Ranking.objects.count()
connection.close()
subprocess.run(["mount", "-o", "remount,ro", settings.DATA_DIR], check=True)
told["checks of a read-only disk"] = [o.check.name for o in checks.outcomes(checks.CHECKS) if o.problems]
try:
    call_command("work")
except Exception as error:
    told["start on a read-only disk"] = str(error)
print(json.dumps(told))
"""


BACKUPS = """
import os, sys
from pathlib import Path
import django
django.setup()
from datetime import UTC, datetime
from django.core.management import call_command
from ratings.copies import schedule

call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)
disk = Path(os.environ["IDEALIST_BACKUPS"])
(disk / "ballast").write_bytes(bytes(8 * 2**20 - 12_000))
now = datetime(2026, 3, 2, tzinfo=UTC)
schedule.back_up_if_due(now=now)
print([path.name for path in disk.iterdir()])
(disk / "ballast").unlink()
schedule.make_backup(now=now)
print([oct(path.stat().st_mode)[-3:] for path in sorted(disk.iterdir())], schedule.last_backup_at() == now)
"""


def on_small_disk(disk: Path, code: str, **settings: str) -> str:
    """What the code prints, with a disk of eight megabytes in this folder."""
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, str(disk)]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a disk be mounted in a namespace")
    environment = {**os.environ, "DATABASE_URL": "", "SECRET_KEY": "", **settings}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [*alone, sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_and_a_read_only_disk_are_told_as_what_they_are(tmp_path):
    data, run = tmp_path / "data", tmp_path / "bm25.run"
    data.mkdir()
    run.write_text(
        "".join(f"q{q} Q0 d{q}-{rank} {rank + 1} {-rank} bm25\n" for q in range(20) for rank in range(500))
    )
    told = json.loads(on_small_disk(data, SCRIPT, IDEALIST_DATA=str(data), RUN=str(run)).splitlines()[-1])
    assert told["import"] == ["full", 0, 0, 0] and told["import with room"] == 20
    assert told["full"] == [503, True, False]
    assert told["with room"] == [302, False, False]
    assert str(data) in told["start on a full disk"]
    assert "No space left" in told["start on a full disk"]
    assert "Read-only" in told["start on a read-only disk"]
    assert "No space left" in told["check of a full disk"][0]
    assert {"storage", "database"} <= set(told["checks of a read-only disk"])


def test_a_backup_that_does_not_fit_leaves_nothing_on_the_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    places = {"IDEALIST_DATA": str(tmp_path / "data"), "IDEALIST_BACKUPS": str(disk)}
    said = on_small_disk(disk, BACKUPS, **places, IDEALIST_BACKUP_EVERY="24")
    assert said.splitlines() == ["['ballast']", "['600'] True"]
