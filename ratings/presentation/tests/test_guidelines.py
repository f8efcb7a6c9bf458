"""Guidelines: a new text is a new version, and a rater sees what changed since they read them."""

import re

import pytest
from django.urls import reverse

from ratings.models import Guidelines, Role
from ratings.presentation.guidelines import versions as guidelines
from ratings.tests.cast import make_collection, make_member, make_rater, signed_in
from ratings.tests.races import race

pytestmark = pytest.mark.django_db

FIRST = "# How to grade\n\nRead the page.\n\n## 3 Perfect\n\nNothing is missing.\n"
SECOND = FIRST.replace("Read the page.", "Read the whole page.")


class World:
    def __init__(self) -> None:
        self.collection = make_collection()
        self.rater = make_rater(self.collection, "anna")
        self.admin = signed_in(make_member(self.collection, "dora", Role.ADMIN))
        self.reader = signed_in(self.rater.user)

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
    world.save(SECOND, 2)  # unchanged
    world.save("one\r\n\r\ntwo  \r\n\r\n", 2)  # lines end as they do everywhere
    assert world.versions() == {1: FIRST, 2: SECOND, 3: "one\n\ntwo\n"}
    assert "Read the whole page." in text(world.admin.get(address("guidelines_version", 2)))
    assert "Read the page." in text(world.admin.get(address("guidelines_version", 1)))
    assert world.reader.get(address("guidelines_version", 4)).status_code == 404
    listed = world.reader.get(address("guidelines_versions")).content.decode()
    assert listed.index("Version 2") < listed.index("Version 1")


def test_a_preview_saves_nothing_and_keeps_what_was_typed(world):
    world.save(FIRST, 0)
    page = world.save(SECOND, 1, preview="1")
    assert page.status_code == 200 and world.versions() == {1: FIRST}
    assert page.context["form"]["text"].value() == SECOND
    assert "[added: whole ] page" in text(page)


def test_a_text_without_a_word_or_without_end_is_refused(world):
    for sent in ("", " \n ", "x" * 50_001):
        assert world.save(sent, 0).status_code == 400
    assert world.versions() == {}


def test_who_saves_after_somebody_else_loses_no_word_and_sees_what_they_would_undo(world):
    world.save(FIRST, 5)  # versions have no gap, whatever a form says
    world.save(SECOND, 1)
    mine = FIRST.replace("Nothing", "Not a thing")
    for base in (7, 1):
        page = world.save(mine, base)
        assert page.status_code == 409 and "[removed: whole ]" in text(page)
        assert page.context["form"]["text"].value() == mine
    assert list(world.versions()) == [1, 2]
    # What the page gives back can be saved: it builds on theirs now.
    world.save(page.context["form"]["text"].value(), page.context["form"]["base"].value())
    assert world.versions()[3] == mine


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told():
    collection = make_collection()
    got = race(["one", "two"], lambda words: guidelines.publish(collection, words, base=0))
    assert sorted(type(result).__name__ for result in got) == ["Guidelines", "Outdated"]
    assert Guidelines.objects.count() == 1


def test_the_first_text_has_a_heading_for_each_grade(world):
    suggested = world.admin.get(address("edit_guidelines")).context["form"]["text"].value()
    grades = ["3 Perfect", "2 Good", "1 Related", "0 Irrelevant", "-1 Harmful"]
    assert re.findall(r"^## (.+)$", suggested, re.MULTILINE) == [*grades, "When you cannot judge"]


def test_a_rater_is_shown_what_changed_since_they_read(world):
    world.save(FIRST, 0)
    assert world.reader.get(address("guidelines")).status_code == 200
    world.rater.refresh_from_db()
    assert world.rater.guidelines_read == 0  # to look is not to have read
    read = world.reader.post(address("read_guidelines"), {"version": 1}, headers={"Accept": "application/json"})
    assert read.status_code == 204  # a script gets no page
    assert "Changed" not in text(world.reader.get(address("guidelines")))
    world.save(SECOND, 1)
    page = text(world.reader.get(address("guidelines")))
    assert "Changed since you read version 1" in page and "[added: whole ] page" in page
    # Who has read a later version stays there, and nobody reads one that is not written.
    for version in (2, 1, 7):
        world.read(version)
        world.rater.refresh_from_db()
        assert world.rater.guidelines_read == 2
    assert "Changed" not in text(world.reader.get(address("guidelines")))
    for version in ("", "x", "-1", "9" * 30, "١"):
        assert world.read(version) in {302, 404}


def test_a_rater_cannot_write_guidelines(world):
    assert world.reader.get(address("edit_guidelines")).status_code == 404
    assert world.reader.post(address("edit_guidelines"), {"text": "x", "base": 0}).status_code == 404
    assert world.versions() == {}


def test_the_number_of_queries_does_not_grow_with_the_versions(world, django_assert_num_queries):
    world.save(FIRST, 0)
    for last in (1, 12):
        for base in range(1, last):
            world.save(f"{FIRST}\n{base}", base)
        for name, count in (("guidelines", 8), ("guidelines_versions", 6)):
            with django_assert_num_queries(count):
                world.reader.get(address(name))
