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
from ratings.models import Collection, Job, Query
from ratings.tests.cast import make_collection, signed_in

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


def sent(client: Client, content: bytes, slug: str = "there") -> Job:
    """The job of an archive that was sent and worked on."""
    file = SimpleUploadedFile("hills-0123456789ab.zip", content)
    response = client.post("/archives/send/", {"file": file, "slug": slug})
    job = Job.objects.first()
    assert (response.status_code, response.url) == (302, f"/archives/{job.pk}/")
    work()
    return Job.objects.get(pk=job.pk)


def page(client: Client, job: Job) -> str:
    response = client.get(f"/archives/{job.pk}/")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_an_archive_is_sent_and_made(root, good):
    job = sent(root, good)
    assert (job.state, job.collection.slug) == ("published", "there")
    shown = page(root, job)
    assert "Collection there made, with 2 queries, 4 documents, 2 systems, 3 raters" in shown
    assert 'href="/collections/there/"' in shown
    assert members_of(written()) == members_of(good)
    assert not list(uploads.folder().iterdir())
    # It is no import that could be undone. It is told with the data that are kept about a person.
    assert root.get(f"/collections/there/import/{job.pk}/").status_code == 404
    assert "hills-0123456789ab.zip" not in root.get("/collections/there/import/").content.decode()
    assert "whole collection" in " ".join(undo_import(job))
    assert '"kind": "archive"' in "".join(person.export(get_user_model().objects.get()))


@pytest.mark.parametrize("slug", ["hills", "a b", "~1", "", "x" * 81])
def test_a_slug_that_is_taken_or_invalid_is_refused_before_anything_is_kept(root, good, slug):
    make_collection("hills")
    sent_again = {"file": SimpleUploadedFile("a.zip", good), "slug": slug}
    assert root.post("/archives/send/", sent_again).status_code == 400
    assert Collection.written.count() == 1 and not Job.objects.exists()


def test_a_slug_that_is_taken_later_ends_it(root, good):
    root.post("/archives/send/", {"file": SimpleUploadedFile("a.zip", good), "slug": "late"})
    make_collection("late")
    work()
    assert "There is a collection &#x27;late&#x27; already." in page(root, Job.objects.get())


WRONG = {
    "It is not a complete ZIP": lambda good: b"PK no zip",
    "It unpacks to more than 200 times": lambda good: packed(members_of(good) | BOMB),
    "check.jsonl": lambda good: packed(members_of(good) | {"check.jsonl": "[]\n"}),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_archive_of_ours_is_refused_with_its_place(root, good, said):
    job = sent(root, WRONG[said](good))
    shown = page(root, job)
    assert said in shown and "hills-0123456789ab.zip" in shown and str(uploads.folder()) not in shown
    assert job.state == "refused" and not Collection.written.exists()


def test_what_was_cancelled_half_way_leaves_nothing(root, good, monkeypatch):
    check = Restoring.check

    def cancelled(self, progress) -> None:
        check(self, progress)
        jobs.cancel(Job.objects.get())

    monkeypatch.setattr(Restoring, "check", cancelled)
    job = sent(root, good)
    assert (job.state, job.collection) == ("cancelled", None)
    assert not Collection.written.exists() and not Query.objects.exists()
    assert "Nothing of it is in the record" in page(root, job)
    assert not list(uploads.folder().iterdir())


def test_without_a_file_or_with_an_empty_one_nothing_is_kept(root, good):
    for given in ({}, {"file": SimpleUploadedFile("a.zip", b"")}):
        assert root.post("/archives/send/", given | {"slug": "there"}).status_code == 400
    assert not Job.objects.exists()
    root.post("/archives/send/", {"file": SimpleUploadedFile("a.zip", good), "slug": "there"})
    assert root.get(f"/archives/{Job.objects.get().pk}/progress/").json()["state"] == "queued"


def test_no_other_job_is_there(root):
    job = Job.objects.create(collection=make_collection(), kind="queries", files=[{"name": "q.tsv"}])
    assert root.get(f"/archives/{job.pk}/").status_code == 404
