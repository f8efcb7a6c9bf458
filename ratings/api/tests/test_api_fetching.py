"""A system fetched from a connected engine by a program."""

import pytest

from ratings.importing import jobs
from ratings.importing.pull.engines import proposed
from ratings.importing.tests.test_pull import moody
from ratings.models import Job, Role
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_collection, make_member

pytestmark = pytest.mark.django_db


def test_a_fetch_is_started_once_and_tells_how_far_it_is_and_its_gaps(engine, settings):
    settings.PULL_HOSTS = ["127.0.0.1/32"]
    collection = make_collection()
    shop = proposed("elasticsearch")
    shop.collection, shop.name, shop.address = collection, "Shop", engine(moody).url
    shop.save()
    caller = make_caller(make_member(collection, "lead", Role.ADMIN), collection, "import")
    assert caller.get("/collections/hills/engines").json() == [{"name": "Shop", "dialect": "elasticsearch"}]
    sent = {"engine": "Shop", "system": "live", "depth": 5, "twice": True}
    first = caller.post("/collections/hills/fetches", sent, key="night-1").json()
    assert first["state"] == "queued" and first["gaps"] == []
    assert caller.post("/collections/hills/fetches", sent, key="night-1").json()["id"] == first["id"]
    jobs.look_at.func(Job.objects.get().pk)
    over = caller.get(f"/collections/hills/fetches/{first['id']}").json()
    assert (over["state"], over["rankings"], over["twice"]["queries"]) == ("published", 1, 1)
    (gap,) = over["gaps"]
    assert gap["query"] == "q1" and gap["problem"].startswith("it answers 500")


def test_what_cannot_be_fetched_is_refused(settings):
    collection = make_collection()
    caller = make_caller(make_member(collection, "lead", Role.ADMIN), collection, "import")
    unknown = caller.post("/collections/hills/fetches", {"engine": "none", "system": "live"})
    assert unknown.status_code == 422 and "No engine 'none' is connected" in unknown.json()["detail"]
    assert not Job.objects.exists()
