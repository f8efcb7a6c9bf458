"""The log as JSON lines: one a record, with the id of its request, and without keys."""

import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.db import OperationalError
from django.http import HttpResponse
from django.test import RequestFactory

from config.logs import REQUEST_ID_HEADER, JsonFormatter, Outages, RequestIds, TextFormatter

ROOT = Path(__file__).resolve().parents[2]


def line(message: str, **more) -> dict:
    record = logging.makeLogRecord({"name": "django.request", "levelname": "WARNING", "msg": message, **more})
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_a_record_is_one_line():
    told = line('two\nlines and a "quote"')
    assert told.pop("at").endswith("+00:00")
    assert told == {"level": "WARNING", "logger": "django.request", "message": 'two\nlines and a "quote"'}


def test_keys_are_removed_wherever_they_stand():
    event = {"about": "see /join/Secret-3 and idl_Secret-4"}
    try:
        raise ValueError("at /accounts/link/Secret-5")
    except ValueError:
        told = line("GET /join/Secret-1 with idl_Secret-2", exc_info=sys.exc_info(), event=event)
    assert "Secret" not in json.dumps(told)
    assert "ValueError" in told["error"] and told["event"] == {"about": "see /join/… and idl_…"}


@pytest.mark.parametrize(
    ("proxies", "sent", "kept"),
    [
        (1, "a1b2-c3", True),
        (0, "a1b2-c3", False),  # no proxy that could be believed
        (1, "", False),
        (1, "two words", False),
        (1, "x" * 65, False),
        (1, 'a"\n{"level": "INFO"}', False),
    ],
)
def test_the_id_of_a_request(settings, proxies, sent, kept):
    settings.PROXIES, settings.LOG = proxies, "json"
    within = []

    def view(request) -> HttpResponse:
        within.append(line("within").get("request"))
        return HttpResponse()

    answer = RequestIds(view)(RequestFactory().get("/", headers={REQUEST_ID_HEADER: sent} if sent else {}))
    assert within == [answer[REQUEST_ID_HEADER]]
    assert (answer[REQUEST_ID_HEADER] == sent) == kept and answer[REQUEST_ID_HEADER]
    assert "request" not in line("after")


def test_a_log_of_text_has_no_ids(settings):
    settings.LOG = "text"
    with pytest.raises(MiddlewareNotUsed):
        RequestIds(HttpResponse)


COMMAND = """
import django, logging
django.setup()
logging.getLogger("idealist.audit").info("noted", extra={"event": {"act": "role"}})
logging.getLogger("django").warning("a warning")
"""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.slow
def test_the_setting_decides(form, tmp_path):
    environment = {**os.environ, "IDEALIST_LOG": form, "IDEALIST_DATA": str(tmp_path)}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", COMMAND]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    if form == "text":
        assert "a warning" in done.stderr and "noted" not in done.stderr
        return
    noted, warned = map(json.loads, done.stderr.splitlines())
    assert noted["event"] == {"act": "role"} and warned["message"] == "a warning"


@pytest.mark.django_db
def test_a_refusal_names_address_and_account_and_asks_no_database(client, django_user_model, caplog):
    anna = django_user_model.objects.create_user("anna")
    client.force_login(anna)
    client.get("/collections/none/", REMOTE_ADDR="192.0.2.7")
    (record,) = [record for record in caplog.records if record.name == "django.request"]
    assert json.loads(JsonFormatter().format(record)) | {"address": "192.0.2.7", "account": anna.pk} == json.loads(
        JsonFormatter().format(record)
    )
    assert TextFormatter("{message}", style="{").format(record).endswith(f" address=192.0.2.7 account={anna.pk}")
    nobody = RequestFactory().get("/", REMOTE_ADDR="192.0.2.8")
    assert line("refused", request=nobody)["address"] == "192.0.2.8"
    assert "account" not in line("refused", request=nobody)


def test_an_unknown_host_is_one_line_that_names_the_setting(client, settings, caplog):
    settings.ALLOWED_HOSTS = ["ratings.example.org"]
    assert client.get("/", headers={"host": "other.example.org"}).status_code == 400
    (record,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    (text,) = TextFormatter("{message}", style="{").format(record).splitlines()
    assert "'other.example.org'" in text and "IDEALIST_HOSTS" in text and "ALLOWED_HOSTS" not in text
    assert "error" not in json.loads(JsonFormatter().format(record))


def test_requests_while_the_database_is_away_are_one_line_a_minute_without_tracebacks(caplog):
    """Each had 8 KB of traceback, and raters ask again every few seconds."""
    logger = logging.getLogger("django.request")
    outages = next(each for each in logger.filters if isinstance(each, Outages))
    outages.last_line_at = -1e9

    def fail(error: Exception) -> None:
        try:
            raise error
        except type(error) as caught:
            logger.error(
                "%s: %s", "Service Unavailable", "/desk/", exc_info=(type(caught), caught, caught.__traceback__)
            )

    for _ in range(3):
        fail(OperationalError("connection refused"))
    (record,) = caplog.records
    assert record.exc_info is None and "Service Unavailable: /desk/ (connection refused)" in record.getMessage()
    outages.last_line_at -= 60
    fail(OSError(errno.ENOSPC, "No space left on device"))
    assert "No space left" in caplog.records[1].getMessage()
    fail(ValueError("a fault of the program"))
    assert caplog.records[2].exc_info[1].args == ("a fault of the program",)
