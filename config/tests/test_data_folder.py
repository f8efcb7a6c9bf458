"""What Idealist keeps is its owner's alone, at every start; a folder that others need is never closed to them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import data_folder

ROOT = Path(__file__).resolve().parents[2]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def put(path: Path, permissions: int) -> Path:
    path.write_text("x")
    path.chmod(permissions)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


@pytest.mark.slow
def test_what_a_start_makes_in_an_existing_open_folder_is_its_owners_alone(folder):
    code = "import os; os.umask(0); import django; django.setup()\n"
    code += "from django.db import connection; connection.cursor().execute('CREATE TABLE t (i)')\n"
    code += "from django.conf import settings\n"
    code += "print(*(oct(os.stat(p).st_mode & 0o777) for p in sorted(settings.DATA_DIR.iterdir())))"
    environment = os.environ | {"IDEALIST_DATA": str(folder)}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": "", "SECRET_KEY": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert mode(folder) == 0o700
    # The database, its -shm and -wal, the key, the folders of static files and of files that are sent.
    assert done.stdout.split() == ["0o600"] * 4 + ["0o700"] * 2 and done.stderr == ""


def test_what_was_open_is_closed_and_told(folder, capsys):
    database, key = put(folder / "db.sqlite3", 0o644), put(folder / "secret.key", 0o640)
    (folder / "uploads").mkdir(mode=0o755)
    data_folder.private_folder(folder)
    assert [mode(path) for path in (folder, folder / "uploads", database, key)] == [0o700, 0o700, 0o600, 0o600]
    assert "db.sqlite3, secret.key" in capsys.readouterr().err
    data_folder.private_folder(folder)
    assert capsys.readouterr().err == ""


def test_a_file_in_a_closed_folder_is_closed_too(folder):
    folder.chmod(0o700)
    database = put(folder / "db.sqlite3", 0o644)
    data_folder.private_folder(folder)
    assert mode(database) == 0o600


@pytest.mark.parametrize("permissions", [0o755, 0o1777])
def test_a_folder_that_others_may_need_is_refused_and_left_as_it_is(folder, permissions):
    folder.chmod(permissions)
    other = put(folder / "letters.txt", 0o644)
    with pytest.raises(ImproperlyConfigured, match="IDEALIST_DATA"):
        data_folder.private_folder(folder)
    assert (folder.stat().st_mode & 0o7777, mode(other)) == (permissions, 0o644)


def test_an_empty_folder_for_everybody_is_refused(folder):
    folder.chmod(0o1777)
    with pytest.raises(ImproperlyConfigured, match="IDEALIST_DATA"):
        data_folder.private_folder(folder)


def test_what_a_link_leads_to_is_not_touched(folder, tmp_path):
    target = put(tmp_path / "elsewhere", 0o644)
    put(folder / "secret.key", 0o600)
    (folder / "link").symlink_to(target)
    data_folder.private_folder(folder)
    assert mode(target) == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_key_that_somebody_else_put_there_is_refused(folder):
    os.chown(put(folder / "secret.key", 0o644), 12345, 12345)
    with pytest.raises(ImproperlyConfigured, match="secret.key belongs to another user"):
        data_folder.private_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_root_makes_nothing_in_the_folder_of_another_account(folder):
    os.chown(folder, 12345, 12345)
    with pytest.raises(ImproperlyConfigured, match=r"belongs to #12345.*runuser -u"):
        data_folder.private_folder(folder)
    os.chown(folder, 0, 0)
    data_folder.private_folder(folder)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    put(tmp_path / "file", 0o600)
    with pytest.raises(ImproperlyConfigured, match=f"{tmp_path}/file/data"):
        data_folder.private_folder(tmp_path / "file" / "data")
