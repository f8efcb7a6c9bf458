"""The settings of tests: those of the server, with a data folder for each process of the tests."""

import atexit
import os
import shutil
import tempfile

os.environ["IDEALIST_DATA"] = tempfile.mkdtemp(prefix="idealist-test-")
os.environ.setdefault("IDEALIST_BACKUP_EVERY", "0")  # workers of tests make none by themselves
atexit.register(shutil.rmtree, os.environ["IDEALIST_DATA"], ignore_errors=True)

from config.settings import *  # noqa: E402, F403
from config.settings import STORAGES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast
# Without the manifest, which only collectstatic makes.
STORAGES |= {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
# Programs that tests start have the settings of the server.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
