"""A real disk of eight megabytes, in a namespace of its own: full, with room again, and read-only."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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

def signed_in() -> list:
    right = {"username": "anna", "password": "a pass phrase"}
    answer = Client(raise_request_exception=False, headers={"host": "localhost"}).post("/accounts/sign-in/", right)
    page = answer.content.decode()
    return [answer.status_code, "disk is full" in page, "Too many" in page]

told = {}
call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)
get_user_model().objects.create_user("anna", password="a pass phrase")
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
ballast.unlink()
told["with room"] = signed_in()
connection.close()
subprocess.run(["mount", "-o", "remount,ro", settings.DATA_DIR], check=True)
told["checks of a read-only disk"] = [o.check.name for o in checks.outcomes(checks.CHECKS) if o.problems]
try:
    call_command("work")
except Exception as error:
    told["start on a read-only disk"] = str(error)
print(json.dumps(told))
"""


def test_a_full_and_a_read_only_disk_are_told_as_what_they_are(tmp_path):
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, str(tmp_path)]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a disk be mounted in a namespace")
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path), "DATABASE_URL": "", "SECRET_KEY": ""}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [*alone, sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["full"] == [503, True, False]
    assert told["with room"] == [302, False, False]
    assert str(tmp_path) in told["start on a full disk"]
    assert "No space left" in told["start on a full disk"]
    assert "Read-only" in told["start on a read-only disk"]
    assert "No space left" in told["check of a full disk"][0]
    assert {"storage", "database"} <= set(told["checks of a read-only disk"])
