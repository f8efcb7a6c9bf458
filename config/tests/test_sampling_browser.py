"""The pages of logs and samples in every state, as axe and a ruler see them."""

from io import BytesIO

import pytest

from ratings.formats.source import Reading, Source
from ratings.importing.sampling.samples import Design, sample_log
from ratings.models import Collection, Job, Role
from ratings.tests.cast import make_collection, make_member

from .looks import examine

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The search with an address is so frequent that every seed draws it.
LINES = ["query,count,market", "Red shoes,900,de", "RED SHOES,12,de", "mail anna@example.org,2000,fr"]
LINES += [f"a query of a customer {n},{9_000 // n},{('de', 'fr')[n % 2]}" for n in range(5, 900)]


def read(collection: Collection, design: Design | None = None, **columns) -> Job:
    """A job of the log: counted and waiting for the design, or after its draw."""
    source = Source("searches.csv", BytesIO("\n".join(LINES).encode()), Reading(columns=columns))
    report = sample_log(collection, [source], design)
    if design:
        return Job.objects.get(pk=report.job)
    files = [{"name": "searches.csv"}]
    facts = {"kind": "log", "state": "checked", "checking": True, "files": files, "report": report.as_json()}
    return Job.objects.create(collection=collection, **facts)


def test_from_a_log_to_a_sample(visit):
    collection = make_collection(queries=())
    make_member(collection, "admin", Role.ADMIN)
    page = visit.sign_in(visit.page(), "admin")

    def look(address: str) -> None:
        page.goto(f"/collections/{collection.slug}/{address}")
        examine(page, address)

    look("sampling/")
    for state in ("queued", "running", "failed", "cancelled"):
        files = [{"name": "searches.csv"}]
        job = Job.objects.create(collection=collection, kind="log", state=state, files=files, checking=True)
        look(f"sampling/{job.pk}/")
    look(f"sampling/{read(collection).pk}/")
    look(f"sampling/{read(collection, stratum='market').pk}/")
    drawn = read(collection, Design(60, days="May 2026"))
    look(f"sampling/{drawn.pk}/")
    counted = read(collection)
    look(f"sampling/{counted.pk}/")
    look("sampling/")
    page.get_by_role("link", name="1: searches.csv").click()
    examine(page, "a sample")
    page.get_by_role("button", name="Leave out: not a search").first.click()
    page.wait_for_selector("text=still counted among the drawn")
    examine(page, "a sample with a query that is left out")
    page.set_viewport_size({"width": 1280, "height": 900})
