"""Guidelines: a new text is a new version, and a rater sees what changed since they read them."""

import re
import threading

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings.database import versions
from ratings.guidelines import versions as guidelines
from ratings.models import Guidelines, Role

from .cast import make_collection, make_member, make_rater
from .races import race

pytestmark = pytest.mark.django_db

FIRST = "# How to grade\n\nRead the page.\n\n## 3 Perfect\n\nNothing is missing.\n"
SECOND = FIRST.replace("Read the page.", "Read the whole page.")


class World:
    def __init__(self) -> None:
        self.collection = make_collection()
        self.rater = make_rater(self.collection, "anna")
        self.admin = self.client_of(make_member(self.collection, "dora", Role.ADMIN))
        self.reader = self.client_of(self.rater.user)

    def client_of(self, user) -> Client:
        client = Client()
        client.force_login(user)
        return client

    def save(self, text: str, base: int, **sent):
        return self.admin.post(address("edit_guidelines"), {"text": text, "base": base} | sent)

    def read(self, version) -> int:
        return self.reader.post(address("read_guidelines"), {"version": version}).status_code

    def versions(self) -> dict[int, str]:
        return dict(self.collection.guidelines.order_by("version").values_list("version", "text"))


@pytest.fixture
def world() -> World:
    return World()


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def text(response) -> str:
    """What a reader sees, blanks made one."""
    html = response.content.decode().split("<main")[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_new_text_is_a_new_version_and_the_old_one_stays(world):
    assert world.save(FIRST, 0).url == address("guidelines")
    world.save(SECOND, 1)
    assert world.versions() == {1: FIRST, 2: SECOND}
    assert "Read the whole page." in text(world.admin.get(address("guidelines")))
    assert "Read the page." in text(world.admin.get(address("guidelines_version", 1)))


def test_lines_end_as_they_do_everywhere(world):
    world.save("one\r\n\r\ntwo  \r\n\r\n", 0)
    assert world.versions() == {1: "one\n\ntwo\n"}


def test_a_preview_saves_nothing_and_keeps_what_was_typed(world):
    world.save(FIRST, 0)
    page = world.save(SECOND, 1, preview="1")
    assert page.status_code == 200
    assert world.versions() == {1: FIRST}
    assert "Read the whole page." in page.context["form"]["text"].value()
    assert "[added: whole ] page" in text(page)
    assert '<h3 id="guide-grade-3">' in page.content.decode()


def test_an_unchanged_text_makes_no_version(world):
    world.save(FIRST, 0)
    page = world.admin.post(address("edit_guidelines"), {"text": FIRST, "base": 1}, follow=True)
    assert "Nothing was changed" in page.content.decode()
    assert list(world.versions()) == [1]


@pytest.mark.parametrize("sent, told", [("", "Write a text"), (" \n ", "Write a text"), ("x" * 50_001, "50000")])
def test_a_text_without_a_word_or_without_end_is_refused(world, sent, told):
    page = world.save(sent, 0)
    assert page.status_code == 400
    assert told in text(page)
    assert world.versions() == {}


def test_who_saves_after_somebody_else_loses_no_word_and_sees_what_they_would_undo(world):
    world.save(FIRST, 0)
    world.save(SECOND, 1)
    mine = FIRST.replace("Nothing", "Not a thing")
    page = world.save(mine, 1)
    assert page.status_code == 409
    assert "Somebody saved version 2 while you wrote" in text(page)
    assert "[removed: whole ]" in text(page)
    assert page.context["form"]["text"].value() == mine
    assert list(world.versions()) == [1, 2]
    # What the page gives back can be saved: it builds on theirs now.
    world.save(page.context["form"]["text"].value(), page.context["form"]["base"].value())
    assert world.versions()[3] == mine


def test_versions_have_no_gap_whatever_a_form_says(world):
    world.save(FIRST, 5)
    assert world.save(SECOND, 7).status_code == 409
    assert list(world.versions()) == [1]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told():
    collection = make_collection()
    got = race(["one", "two"], lambda words: guidelines.publish(collection, words, base=0))
    assert sorted(type(result).__name__ for result in got) == ["Guidelines", "Outdated"]
    assert Guidelines.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_number_of_a_version_being_unique_both_would_be_saved(monkeypatch):
    """The twin of the test above: each takes the next number that it finds free."""
    barrier = threading.Barrier(2)
    latest = versions.latest_of

    def seen_together(rows):
        found = latest(rows)
        barrier.wait(timeout=20)
        return found

    collection, numbers = make_collection(), iter([1, 2])
    monkeypatch.setattr(versions, "latest_of", seen_together)
    monkeypatch.setattr(versions, "number_after", lambda latest: next(numbers))
    race(["one", "two"], lambda words: guidelines.publish(collection, words, base=0))
    assert Guidelines.objects.count() == 2


def test_the_first_text_has_a_heading_for_each_grade(world):
    suggested = world.admin.get(address("edit_guidelines")).context["form"]["text"].value()
    assert re.findall(r"^## (.+)$", suggested, re.MULTILINE) == [
        "3 Perfect",
        "2 Good",
        "1 Related",
        "0 Irrelevant",
        "-1 Harmful",
        "When you cannot judge",
    ]


def test_without_guidelines_a_rater_reads_the_scale(world):
    assert "No guidelines are written yet." in text(world.reader.get(address("guidelines")))


def test_a_rater_is_shown_what_changed_since_they_read(world):
    world.save(FIRST, 0)
    assert "I have read it" in text(world.reader.get(address("guidelines")))
    assert world.read(1) == 302
    page = text(world.reader.get(address("guidelines")))
    assert "Changed" not in page
    assert "I have read it" not in page
    world.save(SECOND, 1)
    page = text(world.reader.get(address("guidelines")))
    assert "Changed since you read version 1" in page
    assert "[added: whole ] page" in page
    world.read(2)
    assert "Changed" not in text(world.reader.get(address("guidelines")))


def test_to_look_is_not_to_have_read(world):
    world.save(FIRST, 0)
    world.reader.get(address("guidelines"))
    world.rater.refresh_from_db()
    assert world.rater.guidelines_read == 0


def test_who_has_read_a_later_version_stays_there_and_nobody_reads_one_that_is_not_written(world):
    world.save(FIRST, 0)
    world.save(SECOND, 1)
    for version in (2, 1, 7):
        world.read(version)
        world.rater.refresh_from_db()
        assert world.rater.guidelines_read == 2


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 30, "١"])
def test_a_version_that_is_no_number_is_not_there(world, version):
    assert world.read(version) in {302, 404}


def test_a_script_gets_no_page_for_having_read(world):
    world.save(FIRST, 0)
    asked = {"headers": {"Accept": "application/json"}}
    response = world.reader.post(address("read_guidelines"), {"version": 1}, **asked)
    assert response.status_code == 204
    world.rater.refresh_from_db()
    assert world.rater.guidelines_read == 1


def test_versions_are_listed_and_lead_to_what_each_changed(world):
    world.save(FIRST, 0)
    world.save(SECOND, 1)
    listed = world.reader.get(address("guidelines_versions")).content.decode()
    assert listed.index("Version 2") < listed.index("Version 1")
    second = text(world.reader.get(address("guidelines_version", 2)))
    assert "What changed since version 1" in second
    assert "in force now" in second
    assert "replaced by a later version" in text(world.reader.get(address("guidelines_version", 1)))
    assert world.reader.get(address("guidelines_version", 3)).status_code == 404


def test_a_rater_cannot_write_guidelines(world):
    assert world.reader.get(address("edit_guidelines")).status_code == 404
    assert world.reader.post(address("edit_guidelines"), {"text": "x", "base": 0}).status_code == 404
    assert world.versions() == {}


def test_a_script_in_the_text_is_text_in_the_page_the_preview_and_the_changes(world):
    bad = "<script>alert(1)</script> [x](javascript:alert(1))"
    world.save("fine", 0)
    pages = [world.save(bad, 1, preview="1"), world.save("other", 0)]
    world.save(bad, 1)
    pages += [world.reader.get(address("guidelines")), world.reader.get(address("guidelines_version", 2))]
    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert 'href="javascript' not in page.content.decode()


def test_the_number_of_queries_does_not_grow_with_the_versions(world):
    def count(name: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            world.reader.get(address(name))
        return len(captured)

    world.save(FIRST, 0)
    before = [count("guidelines"), count("guidelines_versions")]
    for base in range(1, 12):
        world.save(f"{FIRST}\n{base}", base)
    assert [count("guidelines"), count("guidelines_versions")] == before == [8, 6]
