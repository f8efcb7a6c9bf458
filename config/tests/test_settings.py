import ast
import os
import re
import stat
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import secret_files, settings

ROOT = Path(__file__).resolve().parents[2]


SET_ELSEWHERE = {"SECRET_KEY", "DATABASE_URL", "IDEALIST_HTTPS", "IDEALIST_HOSTS", "IDEALIST_SHORT_WAITS"}
SET_ELSEWHERE |= {"IDEALIST_BACKUP_EVERY"}


def clean_environment(tmp_path: Path, **more: str) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in SET_ELSEWHERE}
    return environment | {"IDEALIST_DATA": str(tmp_path / "data"), **more}


def start(tmp_path: Path, **environment: str) -> ModuleType:
    """The settings of this environment alone, read anew. The process keeps its own."""
    specification = spec_from_file_location("config.settings_read_anew", settings.__file__)
    read_anew = module_from_spec(specification)
    with patch.dict(os.environ, clean_environment(tmp_path, **environment), clear=True):
        specification.loader.exec_module(read_anew)
    return read_anew


def printed(tmp_path: Path, code: str, **environment: str) -> str:
    """What the code prints in a new process, with the settings of this environment alone."""
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, cwd=ROOT, env=clean_environment(tmp_path, **environment), text=True)


def test_the_first_start_makes_a_secret_that_only_its_owner_can_read(tmp_path):
    first, second = start(tmp_path), start(tmp_path)
    file = tmp_path / "data" / "secret.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.SECRET_KEY == second.SECRET_KEY == file.read_text().strip()
    assert len(first.SECRET_KEY) >= 50


def test_a_process_that_starts_while_another_makes_the_secret_gets_the_same_whole_one(tmp_path, monkeypatch):
    path, link, of_the_other = tmp_path / "secret.key", os.link, []

    def link_after_the_other(*paths):
        monkeypatch.setattr(os, "link", link)
        of_the_other.append(settings.secret_key_in(path))
        link(*paths)

    monkeypatch.setattr(os, "link", link_after_the_other)
    key = settings.secret_key_in(path)
    assert [key] == of_the_other == [path.read_text().strip()] and len(key) >= 50
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_has_its_name_only_when_it_is_whole(tmp_path, monkeypatch):
    """A process that is killed while it makes the secret leaves none that stops the next start."""
    path = tmp_path / "secret.key"

    def killed(*paths):
        raise SystemExit

    monkeypatch.setattr(os, "link", killed)
    with pytest.raises(SystemExit):
        settings.secret_key_in(path)
    assert not path.exists()


def test_a_secret_that_cannot_be_read_is_refused_by_its_path(tmp_path):
    path = tmp_path / "data" / "secret.key"
    path.mkdir(parents=True, mode=0o700)  # as unreadable as a file of root, to root as well
    path.parent.chmod(0o700)
    with pytest.raises(ImproperlyConfigured, match=f"{path} cannot be read"):
        start(tmp_path)


def test_blanks_and_ends_of_lines_around_a_value_are_no_part_of_it(tmp_path):
    url = {"DATABASE_URL": "postgres://anna@db.example.org/ideal \r"}
    assert start(tmp_path, **url).DATABASES["default"]["NAME"] == "ideal"
    folder = {"IDEALIST_DATA": f"{tmp_path}/data ", "IDEALIST_BACKUPS": " /backups"}
    read = start(tmp_path, **folder)
    assert (read.DATA_DIR.name, str(read.STORAGES["backups"]["OPTIONS"]["location"])) == ("data", "/backups")
    assert start(tmp_path, IDEALIST_METRICS_TOKEN=" ").METRICS_TOKEN == ""


def test_a_database_is_a_file_a_server_or_a_service_and_another_is_refused_without_its_password():
    for url, name in (
        ("postgresql://somebody@%2Ftmp%2Fhere/idealist", "idealist"),
        ("postgres://?service=mine", ""),
        ("sqlite:///rel.db", "rel.db"),
        ("sqlite:////srv/idealist.sqlite3", "/srv/idealist.sqlite3"),
    ):
        assert settings.checked_database(url)["NAME"] == name
    odd = ["foo", "mysql://u:sesame@h/db", "pgsql://h/db", "sqlite://", "sqlite://:memory:"]
    ends = ["sesame@h:port/db", "se#same@h/db", "sesame@h:99999/db", "sesame@h"]
    for url in [*odd, *(f"postgres://u:{end}" for end in ends)]:
        with pytest.raises(ImproperlyConfigured) as refused:
            settings.checked_database(url)
        assert "same" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", "django-insecure-" + "k3y" * 30),
        ("DATABASE_URL", "mysql://u:sesame@h/db"),
        ("IDEALIST_DEMO", "maybe"),
        ("IDEALIST_LARGEST_UPLOAD", "4GB"),
        ("IDEALIST_PROXIES", "one"),
        ("IDEALIST_OIDC_RSA_BITS", "1024"),
        ("IDEALIST_HOSTS", "a.example.org,http://b"),
        ("IDEALIST_PASSWORDS", "0"),
        ("IDEALIST_MAIL", "x"),
        ("IDEALIST_LOG", "xml"),
        ("IDEALIST_BREACHED_PASSWORDS", "/nowhere/none"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_its_setting(tmp_path, name, value):
    with pytest.raises(ImproperlyConfigured, match=f"^{name}") as refused:
        start(tmp_path, **{name: value})
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("hosts", "starts"), [("*", False), (".a.example,a.example", False), ("a.example,*", True)]
)
def test_links_in_mail_lead_to_a_host(tmp_path, hosts, starts):
    mail = {"IDEALIST_MAIL": "smtp://mail.example.org", "IDEALIST_MAIL_FROM": "me@example.org"}
    with nullcontext() if starts else pytest.raises(ImproperlyConfigured, match="IDEALIST_MAIL: links"):
        start(tmp_path, IDEALIST_HOSTS=hosts, **mail)


def test_a_key_a_number_of_proxies_or_a_host_that_cannot_be_is_refused():
    for check, wrong in (
        (settings.checked_secret, ["secret", "django-insecure-" + "k3y" * 30, "a" * 80]),
        (lambda number: settings.checked_proxies(number, True), [0]),  # every page would lead to itself for ever
        (settings.checked_hosts, ["a:b", "a:", "*:80", "http://a", "a/", "::1", "*.a", "example.org.", "."]),
    ):
        for each in wrong:
            with pytest.raises(ImproperlyConfigured):
                check(each)


def test_behind_tls_it_holds_for_a_year_and_for_names_below(tmp_path):
    assert start(tmp_path).PROXIES == 0
    for more, proxies in (({}, 1), ({"IDEALIST_PROXIES": "2"}, 2)):
        read = start(tmp_path, IDEALIST_HTTPS="1", **more)
        assert proxies == read.PROXIES
        assert (read.SECURE_HSTS_SECONDS, read.SECURE_HSTS_INCLUDE_SUBDOMAINS) == (31_536_000, True)


COOKIES = """
import django
django.setup()
from django.conf import settings
from django.contrib.messages.storage import default_storage
from django.test import RequestFactory
from ratings.web import preferences
from ratings.people import throttle
print(settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)
print(preferences.PREFERENCES_COOKIE, throttle.DEVICE_COOKIE)
request = RequestFactory().get("/")
request.session = {}
print(default_storage(request).storages[0].cookie_name)
print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SESSION_COOKIE_PATH)
print(settings.CSRF_COOKIE_PATH, settings.SESSION_COOKIE_DOMAIN, settings.CSRF_COOKIE_DOMAIN)
"""


@pytest.mark.slow
def test_behind_tls_no_other_host_can_plant_a_cookie(tmp_path):
    said = printed(tmp_path, COOKIES, IDEALIST_HTTPS="1").split()
    names = ["sessionid", "csrftoken", "preferences", "device", "messages"]
    assert said[:5] == [f"__Host-{name}" for name in names]
    # Without these a browser refuses cookies of such names.
    assert said[5:] == ["True", "True", "/", "/", "None", "None"]


def test_a_host_may_be_an_address_a_domain_or_any():
    names = ["192.0.2.7", "[2001:db8::7]", ".example.org", "*"]
    assert settings.checked_hosts(", ".join(names) + " ,") == [(name, "") for name in names]
    for nothing in ("", " ", ","):
        assert settings.checked_hosts(nothing) == [(name, "") for name in ("localhost", "127.0.0.1", "[::1]")]


def test_a_port_of_a_host_is_part_of_its_address_and_of_the_origin_of_its_forms(tmp_path):
    hosts = {
        "IDEALIST_HTTPS": "1",
        "IDEALIST_HOSTS": "a.example.org:8443,.b.example.org:444,c.example.org,[::1]:80",
    }
    read = start(tmp_path, **hosts)
    assert read.ALLOWED_HOSTS == ["a.example.org", ".b.example.org", "c.example.org", "[::1]"]
    sites = ["https://a.example.org:8443", "https://.b.example.org:444", "https://c.example.org"]
    assert read.SITES[:3] == sites
    origins = ["https://a.example.org:8443", "https://*.b.example.org:444", "https://[::1]:80"]
    assert origins == read.CSRF_TRUSTED_ORIGINS


@pytest.mark.parametrize(
    ("given", "hours"),
    [
        ({}, 0),
        ({"IDEALIST_HOSTS": "ratings.example.org"}, 24),
        ({"DATABASE_URL": "postgres://somebody@somewhere/idealist"}, 24),
        ({"IDEALIST_HTTPS": "1", "IDEALIST_BACKUP_EVERY": "0"}, 0),
    ],
)
def test_backups_are_made_daily_where_others_are_served(tmp_path, given, hours):
    assert hours == start(tmp_path, **given).BACKUP_EVERY


@pytest.mark.slow
def test_a_page_waits_for_a_lock_for_a_few_seconds_and_a_command_for_longer(tmp_path):
    code = "import config.wsgi; from config import settings; print(settings.DATABASES['default']['OPTIONS'])"
    assert ast.literal_eval(printed(tmp_path, code))["timeout"] == 2
    assert start(tmp_path).DATABASES["default"]["OPTIONS"]["timeout"] == 20


def test_on_postgresql_pages_have_limits_and_commands_none(tmp_path):
    url = "postgres://somebody@somewhere/idealist?options=-c search_path=mine&sslmode=require"
    page = start(tmp_path, DATABASE_URL=url, IDEALIST_SHORT_WAITS="1").DATABASES["default"]["OPTIONS"]
    assert page["options"].startswith("-c search_path=mine -c lock_timeout=4s -c statement_timeout=30s ")
    assert page["options"].endswith(" -c jit=off")
    assert (page["sslmode"], page["connect_timeout"]) == ("require", 4)
    command = start(tmp_path, DATABASE_URL=url).DATABASES["default"]["OPTIONS"]
    assert command == {"options": "-c search_path=mine", "sslmode": "require"}


@pytest.mark.parametrize(
    "given",
    [
        {"DATABASE_URL": "postgres://somebody@somewhere/idealist"},
        {"DATABASE_URL": "sqlite:////nowhere/idealist.sqlite3"},
        {"IDEALIST_HOSTS": "ratings.example.org"},
        {"IDEALIST_HTTPS": "1"},
    ],
)
def test_there_is_no_sample_for_others_nor_in_a_named_database_whatever_the_switch_says(tmp_path, given):
    assert start(tmp_path, IDEALIST_DEMO="1").DEMO
    assert not start(tmp_path, IDEALIST_DEMO="1", **given).DEMO


def test_a_secret_can_come_from_a_file(tmp_path):
    key = tmp_path / "key"
    key.write_text("k3y-of-the-vault-" * 4 + "\n")
    assert key.read_text().strip() == start(tmp_path, SECRET_KEY_FILE=str(key)).SECRET_KEY
    assert not (tmp_path / "data" / "secret.key").exists()


def test_every_secret_can_come_from_a_file():
    """What is secret is what the settings read and a name of it says."""
    told = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    row = next(line for line in told.splitlines() if line.startswith("| `NAME_FILE`"))
    assert set(re.findall(r"`([A-Z_]+)`", row)) - {"NAME_FILE"} == set(secret_files.NAMES)


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), (b"", "is empty"), (b"\xff", "is no text")])
def test_a_secret_that_cannot_be_read_is_refused_by_the_name_of_its_setting(tmp_path, content, said):
    path = tmp_path / "url"
    if content is not None:
        path.write_bytes(content)
    environment = {"DATABASE_URL_FILE": str(path)}
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL_FILE: .*" + said):
        secret_files.read(environment)
    assert environment.keys() == {"DATABASE_URL_FILE"}
