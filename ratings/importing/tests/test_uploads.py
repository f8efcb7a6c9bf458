"""How much can be sent at once, and by whom. What becomes of it: test_imports_page."""

import os
import time

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.test import Client

from ratings.importing import uploads
from ratings.models import Job, Role
from ratings.people import throttle
from ratings.tests import clocks
from ratings.tests.cast import make_collection, make_member

pytestmark = pytest.mark.django_db
SEND = "/collections/hills/import/send/"


@pytest.fixture
def received(settings, tmp_path, monkeypatch) -> list:
    """The limits are a kilobyte and ten. Holds what came so far that a file was made of it."""
    settings.DATA_DIR, settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.LARGEST_UPLOAD = tmp_path, 1_000, 10_000
    seen, init = [], UploadedFile.__init__

    def told(self, *args, **kwargs) -> None:
        seen.append(self)
        init(self, *args, **kwargs)

    monkeypatch.setattr(UploadedFile, "__init__", told)
    return seen


def file(size: int) -> dict:
    return {"kind": "queries", "files": [SimpleUploadedFile("file", b"q1\tone\n" + b"#" * size)]}


def test_a_file_above_the_limit_is_not_read_and_one_below_it_is(received):
    client = Client()
    client.force_login(make_member(make_collection(), "ada", Role.ADMIN))
    sent = file(10_000)
    received.clear()
    refused = client.post(SEND, sent)
    assert refused.status_code == 413 and not received and not Job.objects.exists()
    assert "The limit is 0 MB" in refused.content.decode()
    sent = file(9_000)
    received.clear()
    assert client.post(SEND, sent).status_code == 302
    assert received and Job.objects.count() == 1


@pytest.mark.parametrize(
    "path, size, status",
    [
        (SEND, 2_000, 404),  # a rater imports nothing
        ("/archives/send/", 2_000, 404),
        ("/collections/hills/rate/", 2_000, 413),
        ("/accounts/password/", 20_000, 413),
        ("/nowhere/", 2_000, 404),
    ],
)
def test_files_are_read_only_where_they_belong_and_from_who_may_send_them(received, path, size, status):
    client = Client()
    client.force_login(make_member(make_collection(), "bob", Role.RATER))
    sent = file(size)
    received.clear()
    assert client.post(path, sent).status_code == status
    assert not received


def test_a_form_may_be_as_long_as_django_lets_it(received, settings):
    settings.SMALL_BODY = 100
    client = Client()
    client.force_login(make_member(make_collection(), "bob", Role.RATER))
    assert client.post("/accounts/password/", {"old_password": "x" * 500}).status_code == 200


def test_what_a_dead_process_took_out_of_a_body_is_forgotten(received):
    place = uploads.folder()
    place.mkdir()
    for name, age in [("tmp1.upload.csv", 2), ("tmp2.upload.csv", 0), ("ab12", 2)]:
        (place / name).touch()
        os.utime(place / name, (time.time() - age * 3600,) * 2)
    uploads.forget_old()
    assert {path.name for path in place.iterdir()} == {"tmp2.upload.csv", "ab12"}


@pytest.mark.parametrize("size, status", [(2_000, 413), (10, 403)])
def test_who_is_not_signed_in_sends_no_files(received, size, status):
    make_collection()
    sent = file(size)
    received.clear()
    client = Client(enforce_csrf_checks=True)  # which reads what was sent where there is a cookie, true or made up
    client.cookies["csrftoken"] = 32 * "a"
    assert client.post(SEND, sent).status_code == status
    assert bool(received) == (status == 403)


def test_wrong_tokens_with_large_bodies_are_counted_as_those_with_small_ones(received, monkeypatch):
    clocks.stopped(monkeypatch, 1_000_000)
    calls = range(throttle.CALLS_PER_ADDRESS + 1)
    headers = {"Authorization": "Bearer wrong"}
    found = [call_with_body(headers, "192.0.2.77") for _ in calls]
    assert [answer.status_code for answer in found] == [401] * (len(calls) - 1) + [429]
    assert (found[0]["WWW-Authenticate"], found[0]["Content-Type"]) == ("Bearer", "application/problem+json")
    assert found[-1].json()["type"] == "urn:idealist:problem:too-many-calls" and found[-1]["Retry-After"]


def call_with_body(headers: dict, address: str = "127.0.0.1", size: int = 2_000, **more):
    sent = {"content_type": "application/json", "headers": headers, "REMOTE_ADDR": address}
    return Client().post("/api/v1/collections/hills/queries", b" " * size, **sent, **more)
