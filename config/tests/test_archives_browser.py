"""Bringing a collection in a real browser: every state as axe sees it."""

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect

from ratings.copies.tests.test_copies import from_elsewhere
from ratings.importing import signs
from ratings.management.commands.work import work
from ratings.models import Job

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def archive(settings, tmp_path) -> bytes:
    settings.DATA_DIR = tmp_path
    content = from_elsewhere()
    signs.show_worker()
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    return content


def sent(page: Page, archive: bytes) -> None:
    page.goto("/")
    follow(page.get_by_role("link", name="Import a collection"))
    file = {"name": "hills.zip", "mimeType": "application/zip", "buffer": archive}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Web address").fill("hills")
    follow(page.get_by_role("button", name="Create collection"))


def test_axe_finds_nothing_in_any_state(visit, archive):
    page = visit.sign_in(visit.page(), "root")
    page.goto("/archives/")
    examine(page, "archives")
    sent(page, archive)
    examine(page, "waiting")
    work()
    expect(page.locator("h1")).to_have_text("Made: collection from hills.zip")  # the script noticed
    examine(page, "made")
    Job.objects.filter(kind="archive").update(state="refused", message="Why.")
    page.reload()
    examine(page, "refused")
