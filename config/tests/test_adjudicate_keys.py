"""The keys on the page of a pair to decide."""

import pytest
from playwright.sync_api import expect

from ratings.desk import queue
from ratings.models import Adjudication, Role
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.walk
def test_a_key_chooses_the_grade_and_enter_saves_it_and_shows_the_next_pair(visit):
    collection = make_collection()
    make_member(collection, "admin", Role.ADMIN)
    raters = [make_rater(collection, name) for name in ("alice", "bob")]
    for document in "ab":
        pair = make_pair(collection, document=document, wanted=2)
        for rater, value in zip(raters, ("0", "3"), strict=True):
            queue.save(rater, pair, queue.Submission(grade(collection, value)))
    page = visit.sign_in(visit.page(), "admin")
    page.goto("/collections/hills/adjudicate/")
    page.get_by_role("link", name="Title a").click()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("2")
    expect(page.get_by_label("2 Good")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Title b")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert Adjudication.objects.get().grade == grade(collection, "2")
    page.keyboard.press("-")
    page.get_by_label("Why?").fill("It harms: 3 of 3 said so")  # typed text chooses no grade
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="No pair to decide")).to_be_visible()
    assert Adjudication.objects.last().grade == grade(collection, "-1")
