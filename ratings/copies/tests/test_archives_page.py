"""Bring a collection by page: its archive is sent, checked, named and made by a worker, refused or cancelled."""

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django_tasks_db.management.commands import db_worker

from ratings.copies import person
from ratings.copies.restoring import Restoring
from ratings.importing import jobs, uploads
from ratings.importing.intake.undoing import undo_import
from ratings.management.commands.work import work
from ratings.models import Collection, Job, Query, Role
from ratings.tests.cast import make_collection, make_member, signed_in

from .test_copies import BOMB, from_elsewhere, members_of, packed, written

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path, monkeypatch) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


@pytest.fixture
def good() -> bytes:
    return from_elsewhere()


@pytest.fixture
def root(good) -> Client:
    return signed_in(get_user_model().objects.create_superuser("root", password="a pass phrase"))


def sent(client: Client, content: bytes, name: str = "hills-0123456789ab.zip") -> Job:
    """Sent and checked."""
    response = client.post("/archives/send/", {"file": SimpleUploadedFile(name, content)})
    job = Job.objects.first()
    assert (response.status_code, response.url) == (302, f"/archives/{job.pk}/")
    work()
    return Job.objects.get(pk=job.pk)


def page(client: Client, job: Job) -> str:
    response = client.get(f"/archives/{job.pk}/")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def made(client: Client, job: Job, slug: str = "there") -> Job:
    assert client.post(f"/archives/{job.pk}/start/", {"slug": slug}).status_code == 302
    work()
    return Job.objects.get(pk=job.pk)


def test_an_archive_is_sent_shown_and_made(root, good):
    job = sent(root, good)
    assert (job.state, job.collection, Collection.written.count()) == ("checked", None, 0)
    shown = page(root, job)
    assert "Collection Hills, with 2 queries, 4 documents, 2 systems, 3 raters" in shown
    assert 'value="hills"' in shown  # suggested
    job = made(root, job)
    assert (job.state, job.collection.slug) == ("published", "there")
    assert 'href="/collections/there/"' in page(root, job)
    assert members_of(written()) == members_of(good)
    assert not list(uploads.folder().iterdir())
    # It is no import that could be undone. It is told with the data that are kept about a person.
    assert root.get(f"/collections/there/import/{job.pk}/").status_code == 404
    assert "hills-0123456789ab.zip" not in root.get("/collections/there/import/").content.decode()
    assert "whole collection" in " ".join(undo_import(job))
    assert '"kind": "archive"' in "".join(person.export(get_user_model().objects.get()))


def test_a_slug_that_is_taken_is_told_and_another_can_be_given(root, good):
    job = sent(root, good)
    make_collection("hills")
    assert "There is a collection &#x27;hills&#x27; already. Choose another name." in page(root, job)
    for given in ({"slug": "hills"}, {"slug": "a b"}, {"slug": "~1"}, {"slug": ""}, {"slug": "x" * 81}, {}):
        assert root.post(f"/archives/{job.pk}/start/", given).status_code == 400
    assert Collection.written.count() == 1
    assert made(root, job, "hills-2").state == "published"


def test_a_slug_that_is_taken_later_ends_it_and_it_can_be_tried_again(root, good):
    late = sent(root, good)
    root.post(f"/archives/{late.pk}/start/", {"slug": "late"})
    make_collection("late")
    work()
    assert "There is a collection &#x27;late&#x27; already." in page(root, late)
    assert made(root, late, "later").state == "published"


WRONG = {
    "It is not a complete ZIP": lambda good: b"PK no zip",
    "It unpacks to more than 200 times": lambda good: packed(members_of(good) | BOMB),
    "check.jsonl": lambda good: packed(members_of(good) | {"check.jsonl": "[]\n"}),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_archive_of_ours_is_refused_with_its_place_and_cannot_be_started(root, good, said):
    job = sent(root, WRONG[said](good))
    shown = page(root, job)
    assert said in shown and "hills-0123456789ab.zip" in shown
    assert str(uploads.folder()) not in shown and "/start/" not in shown
    root.post(f"/archives/{job.pk}/start/", {"slug": "there"})
    work()
    assert Job.objects.get(pk=job.pk).state == "refused"
    assert not Collection.written.exists()


def test_what_was_cancelled_half_way_leaves_nothing(root, good, monkeypatch):
    job, check = sent(root, good), Restoring.check

    def cancelled(self, progress) -> None:
        check(self, progress)
        jobs.cancel(job)

    monkeypatch.setattr(Restoring, "check", cancelled)
    job = made(root, job)
    assert (job.state, job.collection) == ("cancelled", None)
    assert not Collection.written.exists() and not Query.objects.exists()
    assert "Nothing of it is in the record" in page(root, job)
    assert not list(uploads.folder().iterdir())


def test_without_a_file_or_with_an_empty_one_nothing_is_kept(root, good):
    for given in ({}, {"file": SimpleUploadedFile("a.zip", b"")}):
        assert root.post("/archives/send/", given).status_code == 400
    assert not Job.objects.exists()
    root.post("/archives/send/", {"file": SimpleUploadedFile("a.zip", good)})
    assert root.get(f"/archives/{Job.objects.get().pk}/progress/").json()["state"] == "queued"


def test_only_who_makes_collections_brings_them(root, good):
    job = sent(root, good)
    make_collection()
    client = signed_in(make_member(Collection.objects.get(), "ada", Role.ADMIN))
    assert "/archives/" not in client.get("/").content.decode()
    for address in ("/archives/", f"/archives/{job.pk}/", f"/archives/{job.pk}/progress/"):
        assert client.get(address).status_code == 404
        assert root.get(address).status_code == 200
    for act in ("send/", f"{job.pk}/start/", f"{job.pk}/cancel/"):
        assert client.post(f"/archives/{act}", {"slug": "there"}).status_code == 404
    assert Job.objects.get().state == "checked"


def test_no_other_job_is_there(root):
    job = Job.objects.create(collection=make_collection(), kind="queries", files=[{"name": "q.tsv"}])
    assert root.get(f"/archives/{job.pk}/").status_code == 404
