"""The import desk in a real browser: without a script, as axe sees it, and while a worker is at work."""

import time
from threading import Thread

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from ratings.importing import signs
from ratings.management.commands.work import work
from ratings.models import Job, Rating, Role
from ratings.tests.cast import make_collection, make_member

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RATINGS = "query,docid,who,label\nq1,a,Ann,3\nq1,b,Ann,7\nq2,a,Ben,0\n"


@pytest.fixture
def collection(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    collection = make_collection()
    make_member(collection, "admin", Role.ADMIN)
    return collection


def sent(page: Page, text: str = RATINGS) -> None:
    page.goto("/collections/hills/import/")
    file = {"name": "march.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)
    follow(page.get_by_role("button", name="Send and check"))


@pytest.mark.walk
def test_without_a_script_from_a_file_to_the_record(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False), "admin")
    sent(page, RATINGS.replace("7", "2"))
    expect(page.locator("#running")).to_contain_text("It waits for a worker.")
    work()
    follow(page.get_by_role("link", name="Refresh"))
    expect(page.locator("h1")).to_have_text("Check: ratings from march.csv")
    follow(page.get_by_role("button", name="Import"))
    work()
    follow(page.get_by_role("link", name="Refresh"))
    expect(page.locator("h1")).to_have_text("Import finished: ratings from march.csv")
    assert Rating.objects.count() == 3


def test_axe_finds_nothing_in_any_state(visit, collection):
    page = visit.sign_in(visit.page(), "admin")
    page.goto("/collections/hills/import/")
    examine(page, "imports")
    sent(page)
    examine(page, "waiting")
    work()
    expect(page.locator("h1")).to_have_text("Check: ratings from march.csv")  # the script noticed
    examine(page, "checked")
    job = Job.objects.get()
    for state in ("refused", "published"):
        Job.objects.filter(pk=job.pk).update(state=state, message="Why.")
        page.reload()
        examine(page, state)


def test_the_script_tells_how_far_it_is_and_what_became_of_it(visit, collection):
    page = visit.sign_in(visit.page(), "admin")
    job = Job.objects.create(collection=collection, kind="results", state="running", files=[{"name": "x.run"}])
    over = []

    def go_on() -> None:
        for done in range(1, 10_000):
            if over:
                break
            step = signs.Step("writing", min(0.99, done / 200), done * 100)
            signs.show_step(job, step)
            time.sleep(0.1)
        connection.close()

    thread = Thread(target=go_on)
    thread.start()
    try:
        page.goto(f"/collections/hills/import/{job.pk}/")
        expect(page.locator("[data-left]")).to_contain_text("rows a second, about")
        expect(page.locator("[data-message]")).to_have_text("writing")
    finally:
        over.append(True)
        thread.join()
    Job.objects.filter(pk=job.pk).update(state="cancelled")
    expect(page.locator("h1")).to_have_text("Cancelled: runs from x.run")


def test_what_a_file_does_not_show_is_asked(visit, collection):
    page = visit.sign_in(visit.page(), "admin")
    page.goto("/collections/hills/import/")
    text = "id,title,brand,price,image url\nd1,Red shoe,Ace,9.5,x.png\nd2,Hat,Bo,3,y.png\n"
    file = {"name": "products.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)
    follow(page.get_by_role("button", name="Send and check"))
    expect(page.locator("h1")).to_have_text("Say what is in products.csv")
    examine(page, "asked")
    page.get_by_label("documents: titles and texts").check()
    follow(page.get_by_role("button", name="Check"))
    work()
    expect(page.locator("h1")).to_have_text("Check: documents from products.csv")
    examine(page, "asked and checked")
    expect(page.locator("main")).to_contain_text("2 documents: 2 new")
