"""The page of the scale: what rests on a grade, what a change would do, and what it does."""

import re
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings.collection import changing, scales
from ratings.desk import queue
from ratings.models import Collection, Grade, RatingEvent, Role
from ratings.pool.adjudication import adjudicate
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import NOW, grade, make_collection, make_member, make_pair, make_rater, signed_in


class World:
    """The usual scale, −1 to 3, with three ratings of 2, one of 1, a gold pair of 3 and a decision for −1."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.rater = make_rater(self.collection)
        for document, value in (("a", "2"), ("b", "2"), ("c", "2"), ("d", "1")):
            self.rated(make_pair(self.collection, "q1", document), value)
        set_anchor(make_pair(self.collection, "q2", "a"), use="gold", grade=grade(self.collection, "3"))
        decided = make_pair(self.collection, "q2", "b")
        adjudicate(decided, grade(self.collection, "-1"), reason="Clear.", actor=None)
        self.client = signed_in(make_member(self.collection, "dora", Role.ADMIN))

    def rated(self, pair, value: str) -> None:
        queue.save(self.rater, pair, queue.Submission(grade=grade(self.collection, value)), now=NOW)

    def get(self):
        return self.client.get(reverse("scale", args=["hills"]))

    def post(self, name: str, sent: dict):
        return self.client.post(reverse(name, args=["hills"]), sent)

    def form(self, *, relevant: str = "1", new=(), **changes: dict) -> dict:
        """As the browser sends it: all fields, those of `changes` (of_2, and of__1 for −1) otherwise filled in."""
        version = re.search(r'name="version" value="(\w+)"', self.get().content.decode())[1]
        sent = {"relevant_from": relevant, "version": version}
        for step in self.collection.grades.all():
            row = {"label": step.label, "meaning": step.meaning} | changes.get(
                f"of_{step.plain.replace('-', '_')}", {}
            )
            sent |= {f"grade-{step.pk}-{name}": value for name, value in row.items()}
        for place, row in enumerate(new):
            sent |= {f"new-{place}-{name}": value for name, value in row.items()}
        return sent

    def scale(self) -> list[str]:
        return [str(step) for step in Grade.objects.filter(collection=self.collection)]

    def now(self) -> Collection:
        return Collection.objects.get(slug="hills")


@pytest.fixture
def world(db) -> World:
    return World()


def text(response) -> str:
    """What a reader sees, blanks made one."""
    html = response.content.decode().split("<main")[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


# What is there


# What it would do


def test_a_check_writes_nothing_and_what_is_confirmed_is_what_was_shown(world):
    new = [{"value": "4", "label": "Ideal", "meaning": "Nothing better."}]
    page = world.post("check_scale", world.form(of_2={"label": "Fine"}, of_0={"meaning": "Of no use."}, new=new))
    assert page.status_code == 200 and "2 Good is called 2 Fine from now on: 3 ratings" in text(page)
    assert world.now().scale_version == 1 and "2 Good" in world.scale()
    confirm = page.content.decode().partition('action="/collections/hills/scale/save/"')[2].partition("</form>")[0]
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', confirm))
    assert world.post("save_scale", hidden).status_code == 302
    assert world.scale() == ["−1 Harmful", "0 Irrelevant", "1 Related", "2 Fine", "3 Perfect", "4 Ideal"]
    assert sorted(r.grade.plain for r in world.rater.ratings.all()) == ["1", "2", "2", "2"]  # they keep theirs


def test_what_counts_as_relevant_is_told_with_the_ratings_between(world):
    for relevant, number in (("3", "4 ratings with 1 Related, 2 Good"), ("-1", "0 ratings with −1 Harmful")):
        assert number in text(world.post("check_scale", world.form(relevant=relevant)))
    assert "No grade lies between" in text(world.post("check_scale", world.form(relevant="0.5")))


# What it does


@pytest.mark.both_databases
def test_a_changed_scale_is_a_new_version_and_numbers_are_computed_anew(world):
    before = world.now().version
    sent = world.form(
        of_0={"remove": "on"},
        of_1={"label": "Near", "meaning": "One.\r\nTwo."},
        new=[{"value": "0.5", "label": "Half"}, {"value": "−2"}],
    )
    assert world.post("save_scale", sent).url == reverse("scale", args=["hills"])
    assert world.scale() == ["−2", "−1 Harmful", "0.5 Half", "1 Near", "2 Good", "3 Perfect"]
    assert grade(world.collection, "1").meaning == "One.\nTwo."
    assert (world.now().scale_version, world.now().version) == (2, before + 1)
    world.rated(make_pair(world.collection, "q2", "d"), "0.5")
    assert RatingEvent.objects.last().scale_version == 2


# What is refused


@pytest.mark.parametrize("act", ["check_scale", "save_scale"])
def test_what_cannot_be_is_refused_and_what_was_typed_stays(world, act):
    removed = [{f"of_{used}": {"remove": "on"}} for used in ("2", "3", "_1")]  # a rating, an anchor, a decision
    values = [{"new": [{"value": value}]} for value in ("low", "2.0")]
    more = {"new": [{"label": "No value"}]}, {"new": [{"value": "4"}, {"value": "4.0"}]}
    rest = {"of_2": {"label": "x" * 61}}, {"relevant": "4"}, {"relevant": ""}
    for sent in (*removed, *values, *more, *rest):
        page = world.post(act, world.form(**{"of_1": {"label": "Typed & kept"}} | sent))
        assert page.status_code == 400 and "Typed &amp; kept" in page.content.decode()
    assert world.now().scale_version == 1 and len(world.scale()) == 5


@pytest.mark.both_databases
@pytest.mark.parametrize("act", ["check_scale", "save_scale"])
def test_a_form_of_an_earlier_scale_comes_back_as_one_of_the_scale_now(world, act):
    """Meanwhile a label and what is relevant are changed, a grade is removed and another one is new."""
    sent = world.form(of_2={"label": "Fine"}, of_3={"label": "Mine"}, new=[{"value": "5", "label": "Best"}])
    zero = grade(world.collection, "0").pk
    first = world.form(relevant="2", of_1={"label": "First"}, of_3={"label": "Theirs"}, new=[{"value": "4"}])
    world.post("save_scale", first | {f"grade-{zero}-remove": "on"})
    theirs = world.scale()

    answer = world.post(act, sent)
    page = answer.content.decode()
    assert answer.status_code == 400 and "Somebody else changed the scale meanwhile." in page
    for stored in ("“First”", "“Theirs”", "“2”"):
        assert page.count(f"has changed this meanwhile: {stored}.") == 1
    assert "0 Irrelevant" not in page and world.scale() == theirs

    wanted = {"of_2": {"label": "Fine"}, "new": [{"value": "5", "label": "Best"}]}
    page = world.post("check_scale", world.form(**wanted)).content.decode()
    confirm = page.partition("What it would do")[2].partition("</form>")[0]
    shown = {name: unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', confirm)}
    assert world.post("save_scale", shown).status_code == 302
    assert world.scale() == ["−1 Harmful", "1 First", "2 Fine", "3 Theirs", "4", "5 Best"]
    assert world.now().relevant_from == 1


@pytest.mark.both_databases
def test_a_grade_that_is_given_before_it_is_removed_stays(world):
    """Between the check of the form and the act."""
    zero = grade(world.collection, "0")
    wanted = changing.Change({}, (zero,), (scales.step("9"),), Decimal(1))
    world.rated(make_pair(world.collection, "q2", "d"), "0")
    with pytest.raises(changing.Outdated):
        changing.change(world.collection, wanted, base=1)
    assert "0 Irrelevant" in world.scale() and "9" not in world.scale()
    assert world.now().scale_version == 1


def test_the_number_of_database_queries_is_pinned(world):
    def queries(ask) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert ask().status_code == 200
        return len(captured)

    few = queries(world.get), queries(lambda: world.post("check_scale", world.form(of_1={"label": "x"})))
    Grade.objects.bulk_create(Grade(collection=world.collection, value=value) for value in range(10, 40))
    for document in "cd":
        world.rated(make_pair(world.collection, "q2", document), "30")
    many = queries(world.get), queries(lambda: world.post("check_scale", world.form(of_1={"label": "x"})))
    assert few == many
