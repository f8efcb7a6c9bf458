"""A disk that is full or read-only is told as that, wherever somebody writes, and nothing saved is lost."""

import errno
import os
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from ratings.database import disk
from ratings.importing import uploads
from ratings.models import Job, Rating, Role
from ratings.tests.cast import make_collection, make_member, make_pair, make_rater, make_user

RIGHT = {"username": "anna", "password": "a pass phrase"}
JSON = {"accept": "application/json"}
ROOM = "PRAGMA max_page_count = 1073741823"
FULL, READ_ONLY = disk.MESSAGES.values()


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.fixture
def read_only():
    """A function after which the database of the test takes no more writing."""

    def shut() -> None:
        with connection.cursor() as cursor:
            on = "PRAGMA query_only = ON" if connection.vendor == "sqlite" else SESSION + "READ ONLY"
            cursor.execute(on)

    SESSION = "SET SESSION CHARACTERISTICS AS TRANSACTION "
    yield shut
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = OFF" if connection.vendor == "sqlite" else SESSION + "READ WRITE")


FILL = """INSERT INTO ratings_session
    (session_key, session_data, expire_date, browser, provider_person, provider_session)
    VALUES (%s, %s, '2026-01-01', '', '', '')"""


@pytest.fixture
def full():
    """A function after which the database of the test cannot grow: it has no page left, as on a full disk."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL can be given no limit; that its error is known, another test shows")

    def fill() -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
            for size in (4000, 400, 40, 0):  # whatever room there is in its pages
                for number in range(10_000):
                    row = [f"{size}-{number}", "x" * size]
                    try:
                        cursor.execute(FILL, row)
                    except OperationalError:
                        break

    yield fill
    with connection.cursor() as cursor:
        cursor.execute(ROOM)


@pytest.mark.django_db(transaction=True)
def test_who_signs_in_on_a_full_disk_reads_that_it_is_full(client, full):
    make_user("anna")
    full()
    answer = client.post(reverse("sign_in"), RIGHT)
    page = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert FULL in page and "Too many" not in page and RIGHT["password"] not in page


@pytest.mark.django_db(transaction=True)
def test_who_signs_in_on_a_read_only_database_reads_that(client, read_only):
    make_user("anna")
    read_only()
    answer = client.post(reverse("sign_in"), RIGHT)
    assert answer.status_code == 503 and READ_ONLY in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_session_that_cannot_be_written_is_not_called_deleted(client, read_only, monkeypatch):
    """Django writes it after the page is made, and takes every error of the database for a sign-out elsewhere."""
    client.force_login(make_user("anna"))

    def change(request) -> str:
        request.session["more"] = "x"
        read_only()
        return ""

    monkeypatch.setattr("ratings.desk.views.session.get_token", change)
    answer = client.get(reverse("session"), headers=JSON)
    assert (answer.status_code, answer.json()) == (503, {"error": READ_ONLY})


@pytest.mark.django_db(transaction=True)
def test_a_rating_on_a_full_disk_is_refused_in_words_and_counts_once_there_is_room(client, full):
    collection = make_collection()
    rater = make_rater(collection, "anna")
    pair = make_pair(collection, "q1", "a")
    client.force_login(rater.user)
    task = client.post(reverse("claim", args=["hills"]), {"count": 1}, headers=JSON).json()["tasks"][0]
    address = reverse("save_rating", args=["hills", task["token"]])
    sent = {"grade": "2", "base_revision": 0, "client_key": str(uuid4())}
    full()
    sent["comment"] = "c" * 4900
    for _ in range(2):
        answer = client.post(address, sent, headers=JSON)
        assert (answer.status_code, answer.json()) == (503, {"error": FULL})
    assert not Rating.objects.filter(pair=pair).exists()
    with connection.cursor() as cursor:
        cursor.execute(ROOM)
    assert client.post(address, sent, headers=JSON).status_code == 200
    assert Rating.objects.filter(pair=pair).count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["imports", "archives"])
def test_a_file_that_the_disk_has_no_room_for_is_not_kept_and_the_page_says_why(
    client, settings, tmp_path, monkeypatch, page
):
    settings.DATA_DIR = tmp_path
    user = make_member(make_collection(), "ada", Role.ADMIN)
    user.is_superuser = True
    user.save()
    client.force_login(user)

    class Sent(SimpleUploadedFile):
        def chunks(self, *args):
            yield b"x"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept = uploads.keep
    monkeypatch.setattr(uploads, "keep", lambda sent: kept(Sent(sent.name, b"")))
    files = {"kind": "queries", "files": SimpleUploadedFile("q.tsv", b"q1\tx\n")}
    file = {"file": SimpleUploadedFile("hills.zip", b"PK"), "slug": "new"}
    address = reverse("send_files", args=["hills"]) if page == "imports" else reverse("send_archive")
    answer = client.post(address, files if page == "imports" else file)
    assert answer.status_code == 503
    assert FULL in answer.content.decode() and "choose them again" in answer.content.decode()
    assert list((tmp_path / "uploads").iterdir()) == [] and not Job.objects.exists()


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"sqlite_errorname": "SQLITE_FULL"}, disk.Trouble.FULL),
        ({"sqlite_errorname": "SQLITE_IOERR_SHMSIZE"}, disk.Trouble.FULL),
        ({"sqlite_errorname": "SQLITE_READONLY_DBMOVED"}, disk.Trouble.READ_ONLY),
        ({"sqlite_errorname": "SQLITE_CANTOPEN"}, disk.Trouble.READ_ONLY),
        ({"sqlite_errorname": "SQLITE_BUSY"}, None),
        ({"sqlstate": "53100"}, disk.Trouble.FULL),
        ({"sqlstate": "25006"}, disk.Trouble.READ_ONLY),
        ({"sqlstate": "55P03"}, None),
        ({}, None),
    ],
)
def test_what_the_drivers_say_is_understood(about, told):
    error, error.__cause__ = OperationalError("x"), RuntimeError("of the driver")
    vars(error.__cause__).update(about)
    assert disk.trouble(error) == told
