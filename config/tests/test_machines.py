"""Two machines without a shared folder: everything that is begun on one can go on on the other.

They are processes, as cluster.py starts them: two servers on two addresses and two workers, each machine
with a data folder of its own, on one PostgreSQL, with a store of files.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.client import BOUNDARY, MULTIPART_CONTENT, Client, encode_multipart
from django.urls import reverse
from django.utils import timezone

from bench._raters import PASSWORD, Browser
from bench._served import free_port
from config import machines
from config.machines import bucket as bucket_module
from config.machines.bucket import Body
from config.tests import cluster
from config.tests.bucket import Silent, Store, store
from ratings.formats.refusal import Refusal
from ratings.importing import uploads
from ratings.importing.pictures import store as pictures
from ratings.importing.preview import certain_kind
from ratings.importing.tests.test_pictures import SHOWING, picture_of
from ratings.models import Collection, Document, Job, Picture, Rating
from ratings.presentation import versions
from ratings.tests.races import until

DOCUMENTS = 30_000  # fewer would be imported before anybody is killed


def url_of_database() -> str:
    facts = connection.settings_dict
    host = quote(facts["HOST"], safe="") or "127.0.0.1"
    return f"postgres://{facts['USER'] or 'postgres'}@{host}:{facts['PORT'] or 5432}/{facts['NAME']}"


# The settings


@pytest.mark.parametrize("url", ["files", "s3://", "https://bucket", "s3://key:secret@bucket", "s3://b?secret=1"])
def test_a_storage_that_is_none_is_refused_and_not_repeated(url, tmp_path):
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL names no bucket. Write s3://BUCKET") as refused:
        machines.files(url, tmp_path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("endpoint", ["store.example.org:9000", "localhost", "//store.example.org"])
def test_a_store_of_files_without_a_scheme_is_refused_before_a_file_is_sent_there(endpoint, tmp_path):
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL has an endpoint without http:// or https://"):
        machines.files(f"s3://bucket?endpoint={endpoint}", tmp_path)


# A store of files


@pytest.fixture
def bucket(settings, tmp_path, monkeypatch) -> Iterator[Store]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    settings.DATA_DIR = tmp_path
    with store() as found:
        url = f"s3://idealist/files?endpoint={found.url}&region=local"
        settings.STORAGES = settings.STORAGES | machines.files(url, tmp_path)
        yield found


def test_an_upload_lies_in_the_bucket_and_is_read_from_there(bucket, tmp_path):
    file = uploads.keep(SimpleUploadedFile("q.tsv", b"q1\tred\n"))
    assert list(bucket.files) == [f"idealist/files/uploads/{file['stored']}"]
    assert not (tmp_path / "uploads").exists()
    with uploads.opened(file) as whole, uploads.streamed(file) as stream:
        assert whole.read() == stream.read() == b"q1\tred\n"
        assert whole.fileno() and whole.seek(0) == 0  # of a file on this machine
    assert [(each.name, each.size) for each in storages["uploads"].entries()] == [(file["stored"], 7)]
    uploads.forget([file])
    assert not bucket.files
    with pytest.raises(FileNotFoundError), uploads.opened(file):
        pass


def test_a_preview_fetches_no_more_than_it_shows(bucket, monkeypatch):
    fetched, readinto = [], Body.readinto
    monkeypatch.setattr(Body, "readinto", lambda *args: fetched.append(readinto(*args)) or fetched[-1])
    file = uploads.keep(SimpleUploadedFile("q.tsv", b"q1\tred\n" * 900_000))
    assert certain_kind([file]) == "queries"
    assert 0 < sum(fetched) < 2_000_000


def test_old_uploads_are_forgotten_there_too(bucket):
    old, new = (uploads.keep(SimpleUploadedFile("q.tsv", b"q1\tred\n")) for _ in range(2))
    name = f"idealist/files/uploads/{old['stored']}"
    bucket.files[name] = bucket.files[name][0], timezone.now() - timedelta(days=31)
    uploads.forget_old()
    assert [name.rpartition("/")[2] for name in bucket.files] == [new["stored"]]


@pytest.mark.django_db
def test_pictures_lie_in_the_bucket_and_are_swept_there(bucket, monkeypatch):
    digest = pictures.keep(b"a picture")
    assert pictures.keep(b"a picture") == digest and pictures.exists(digest)
    assert list(bucket.files) == [f"idealist/files/pictures/{pictures.name_of(digest)}"]
    assert pictures.opened(digest).read() == b"a picture"
    assert pictures.sweep() == 0
    monkeypatch.setattr(pictures, "UNUSED_KEPT_FOR", timedelta(seconds=-5))
    assert pictures.sweep() == 1 and not bucket.files


@pytest.fixture
def picture() -> str:
    """The address of a picture."""
    collection = Collection.objects.create(slug="shop", name="Shop")
    facts = {"state": "ready", "small": "ab" * 32, "large": "ab" * 32, "width": 1, "height": 1}
    token = Picture.objects.create(collection=collection, digest="cd" * 32, source="a.png", **facts).token
    return f"/pictures/{token}/small/"


def signed_in(account) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(account)
    return client


@pytest.mark.django_db
def test_where_the_store_is_away_pages_say_so_and_nothing_is_called_gone(bucket, settings, picture, tmp_path):
    """A picture that cannot be fetched now is not one that does not exist."""
    client = signed_in(get_user_model().objects.create_superuser("root"))
    assert client.get(picture).status_code == 404
    away = f"s3://idealist?endpoint=http://127.0.0.1:{free_port()}&region=local"
    settings.STORAGES = settings.STORAGES | machines.files(away, tmp_path)
    answer = client.get(picture)
    assert answer.status_code == 503 and answer["Retry-After"] == "5"
    with pytest.raises(ConnectionError):
        storages["uploads"].save("name", ContentFile(b"x"))


@pytest.fixture
def silent(bucket, settings, tmp_path, monkeypatch) -> Iterator[Silent]:
    """A silent store for a process that serves pages."""
    monkeypatch.setattr(bucket_module, "_silent_until", 0.0)
    settings.SHORT_WAITS = True
    with Silent() as found:
        url = f"s3://idealist?endpoint={found.url}&region=local"
        settings.STORAGES = settings.STORAGES | machines.files(url, tmp_path)
        yield found


@pytest.mark.django_db(transaction=True)
def test_ten_pictures_of_a_silent_store_leave_threads_to_everybody_else(silent, picture, monkeypatch):
    root = get_user_model().objects.create_superuser("root")
    monkeypatch.setitem(bucket_module.PAGE_WAITS, "read_timeout", 60)  # so that only `end` ends their wait
    clients = [signed_in(root) for _ in range(12)]

    def asked(client: Client, address: str):
        try:
            return client.get(address)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        try:
            pictures = [threads.submit(asked, client, picture) for client in clients[:10]]
            pages = [threads.submit(asked, clients[10], "/livez"), threads.submit(asked, clients[11], "/")]
            assert [page.result(timeout=60).status_code for page in pages] == [200, 200]
            until(lambda: [each.done() for each in pictures].count(False) == bucket_module.REQUESTS_AT_ONCE)
            until(lambda: len(silent.accepted) == bucket_module.REQUESTS_AT_ONCE)  # each of them reached the store
        finally:
            silent.end()
    assert {(each.result().status_code, each.result()["Retry-After"]) for each in pictures} == {(503, "5")}


@pytest.mark.parametrize("act", ["open", "stream", "exists", "save", "entries"])
def test_a_page_asks_a_silent_store_once_and_then_not_for_a_while(silent, act, monkeypatch):
    assert bucket_module.PAGE_WAITS["connect_timeout"] + bucket_module.PAGE_WAITS["read_timeout"] <= 4
    monkeypatch.setitem(bucket_module.PAGE_WAITS, "read_timeout", 0.2)
    store = storages["uploads"]
    acts = {"save": lambda: store.save("a", ContentFile(b"x")), "entries": lambda: list(store.entries())}
    for _ in range(3):
        with pytest.raises(ConnectionError):
            acts.get(act, lambda: getattr(store, act)("a"))()
    assert len(silent.accepted) == 1
    monkeypatch.setattr(bucket_module, "_silent_until", 0.0)  # as after a while
    with pytest.raises(ConnectionError):
        store.exists("a")
    assert len(silent.accepted) == 2


@pytest.mark.django_db
def test_an_import_asks_to_try_again_while_the_store_is_silent(silent, monkeypatch):
    """It says neither that its file is gone nor that it was refused. What needs no store is done."""
    monkeypatch.setitem(bucket_module.PAGE_WAITS, "read_timeout", 0.2)
    collection = Collection.objects.create(slug="shop", name="Shop")
    facts = {"files": [{"name": "r.csv", "stored": "a", "size": 1}], "kind": "ratings", "state": "checked"}
    facts["report"] = {"refused": 1, "refusals": [Refusal("r.csv", 2, "no grade", ()).as_parts()]}
    job = Job.objects.create(collection=collection, **facts)
    client = signed_in(get_user_model().objects.create_superuser("root"))
    page = f"/collections/shop/import/{job.pk}/"
    sent = {"kind": "queries", "files": ContentFile(b"q1\tred\n", name="q.tsv")}
    answers = [client.get(page), client.post("/collections/shop/import/send/", sent)]
    assert [(answer.status_code, answer.get("Retry-After")) for answer in answers] == [(503, "5")] * 2
    answer = client.post(reverse("cancel_job", args=["shop", job.pk]))
    assert answer.status_code == 302 and of(job).state == "cancelled"


# All of it


class Person(Browser):
    """Somebody who is signed in, and can send files."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        super().__init__(address)
        self.account = self.sign_in(name)

    def on(self, address: tuple[str, int]) -> "Person":
        """The same session on another machine."""
        other = Person.__new__(Person)
        Browser.__init__(other, address)
        other.cookies, other.csrf, other.account = self.cookies, self.csrf, self.account
        return other

    def get(self, path: str) -> tuple[int, bytes]:
        return self._asked("GET", path, None, {})

    def send(self, path: str, **fields) -> int:
        body = encode_multipart(BOUNDARY, fields)
        return self._asked("POST", path, body, {"Content-Type": MULTIPART_CONTENT})[0]

    def _asked(self, method: str, path: str, body: bytes | None, more: dict) -> tuple[int, bytes]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        # The server ends a connection that is idle for half a minute, as one is while a worker is killed.
        self.connection.close()
        self.connection.request(method, path, body, {"Cookie": cookies, "X-CSRFToken": self.csrf, **more})
        answer = self.connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_what_is_begun_on_one_machine_goes_on_on_the_other():
    from bench import _round  # its models need Django

    collection = _round.made("shop", raters=2, pairs=20, wanted=1)
    versions.publish(collection, SHOWING, base=0)
    Document.objects.filter(key="d1").update(fields={"image": "one.png"})
    root = get_user_model().objects.create_superuser("root")
    root.password = make_password(PASSWORD, hasher=Argon2PasswordHasher())
    root.save()
    with cluster.machines(url_of_database()) as found:
        first, second = found
        rated_on_both(first, second)
        admin = Person(first.address, "root")
        other = admin.on(second.address)
        imported_after_a_kill(first, second, admin)
        shown_on_both(admin, other)
        archived_and_restored(admin, other)
        for machine in found:
            assert not any((machine.data / name).exists() for name in ("pictures", "secret.key", "cache"))
            assert not list((machine.data / "uploads").iterdir())
            assert "Traceback" not in machine.web.said() + machine.worker.said()
    # After an import PostgreSQL counts its tables, even if the worker is dead. Emptying them would be a deadlock.
    until(nobody_else_is_at_work)


def nobody_else_is_at_work() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state = 'active'"
        )
        return cursor.fetchone() == (0,)


def rated_on_both(first, second) -> None:
    """A session of one is one of the other, and a press that comes to both is one rating."""
    here = Person(first.address, "shop-0")
    there = here.on(second.address)
    tasks = here.ask("/collections/shop/rate/next/", {"count": 8, "account": here.account})[1]["tasks"]
    for number, task in enumerate(tasks):
        fields = {"grade": "1", "base_revision": task["base_revision"], "client_key": str(uuid4())}
        fields["account"] = here.account
        address = f"/collections/shop/rate/{task['token']}/save/"
        ways = (here, there) if number % 2 else (there, here)
        assert [person.ask(address, fields)[0] for person in ways] == [200, 200]
    assert Rating.objects.count() == len(tasks) == 8


def imported_after_a_kill(first, second, admin: Person) -> None:
    """The file was sent to one machine, whose worker dies; the other machine never saw it."""
    lines = "".join(f"{json.dumps({'id': f'x{n}', 'title': 'A', 'text': 'B'})}\n" for n in range(DOCUMENTS))
    first.worker.start()
    file = ContentFile(lines.encode(), name="many.jsonl")
    assert admin.send("/collections/shop/import/send/", kind="documents", files=file) == 302
    job = Job.objects.get(kind="documents")
    until(lambda: of(job).state == "checked")
    assert admin.send(f"/collections/shop/import/{job.pk}/start/") == 302
    until(lambda: of(job).state != "queued")
    first.worker.kill()
    assert of(job).state == "running" and not Document.objects.filter(key="x1").exists()
    Job.objects.filter(pk=job.pk).update(beat_at=timezone.now() - timedelta(minutes=1))
    cache.clear()
    second.worker.start()
    until(lambda: of(job).is_over)
    assert (of(job).state, of(job).deaths) == ("published", 1)
    assert Document.objects.filter(key__startswith="x").count() == DOCUMENTS


def of(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def shown_on_both(admin: Person, other: Person) -> None:
    """Pictures sent to one machine and made small by the worker of the other."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip:
        zip.writestr("one.png", picture_of())
    sent = ContentFile(out.getvalue(), name="pictures.zip")
    assert admin.send("/collections/shop/pictures/send/", files=sent) == 302
    until(lambda: Picture.objects.filter(source="one.png", state="ready").exists())
    until(lambda: not Job.objects.filter(kind="pictures", state__in=["queued", "running"]).exists())
    address = f"/pictures/{Picture.objects.get(source='one.png').token}/small/"
    (here, content), (there, same) = admin.get(address), other.get(address)
    assert (here, there) == (200, 200) and content == same and content[8:12] == b"WEBP"


def archived_and_restored(admin: Person, other: Person) -> None:
    status, archive = admin.get("/collections/shop/export/archive/")
    assert status == 200
    assert other.send("/archives/send/", file=ContentFile(archive, name="shop.zip"), slug="again") == 302
    job = Job.objects.get(kind="archive")
    until(lambda: of(job).is_over)
    again = Collection.objects.get(slug="again")
    assert (of(job).state, again.documents.count()) == ("published", DOCUMENTS + 100)
    assert Rating.objects.filter(pair__query__collection=again).count() == 8
