"""The page of drift and pace: what it says, on what it rests, and who reads whose name."""

import csv
import io
from datetime import timedelta

import numpy as np
import pytest

from evaluation.agreeing.drift import Checked, hints, seconds_of
from evaluation.agreeing.views import drift
from evaluation.tests.hills import analyst, spec_of, text_of
from ratings.models import Check, Rater, RatingEvent, Role
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import NOW, Imported, grade, make_collection, make_member, make_pair, record_imported

pytestmark = pytest.mark.django_db
URL = "/collections/hills/agreement/drift/"
MINUTE = timedelta(minutes=1)


class World:
    """anna, boris and clara graded documents, one a minute: anna with 1, then 3; the others always with 1."""

    def __init__(self, half: int = 30) -> None:
        self.documents = [f"d{place:02}" for place in range(2 * half)]
        self.collection = make_collection(documents=self.documents)
        self.ids = dict(self.collection.documents.values_list("key", "pk"))
        self.query = self.collection.queries.get(key="q1").pk
        self.grades("canary-anna", ["1"] * half + ["3"] * half, seconds=2)
        self.grades("canary-boris", ["1"] * 2 * half, seconds=10)
        self.grades("canary-clara", ["1"] * 2 * half, seconds=10)

    def grades(self, name: str, values: list[str], *, seconds: float | None = None, at_once=False) -> None:
        rater, _ = Rater.objects.get_or_create(collection=self.collection, name=name, kind="imported")
        rows = [
            Imported(
                self.query,
                self.ids[self.documents[place]],
                grade(self.collection, value),
                seconds=seconds,
                at=NOW if at_once else NOW + place * MINUTE,
            )
            for place, value in enumerate(values)
        ]
        record_imported(rater, rows)
        self.collection.touch()


@pytest.fixture
def world() -> World:
    return World()


def admin(client, world: World):
    client.force_login(make_member(world.collection, "eva", Role.ADMIN))
    return client


def rows_of(client) -> dict[str, dict]:
    return {row["rater"]: row for row in client.get("/collections/hills/agreement/drift.json").json()["raters"]}


def test_who_moves_is_told_with_what_that_rests_on(client, world):
    page = text_of(admin(client, world).get(URL))
    # Of the others the mean is 1: anna goes from 0 to 2 above it; for the two others it goes from 1 to 2.
    assert "grades 2.00 higher in the later half (30 and 30 shared grades)" in page
    assert "grades 1.00 lower in the later half (30 and 30 shared grades)" in page
    anna = rows_of(client)["canary-anna"]
    assert (anna["early"], anna["late"], anna["moved"], anna["told"]) == (0, 2, 2, True)
    assert [each["given"] for each in anna["periods"]] == [[0, 0, 20, 0, 0], [0, 0, 10, 0, 10], [0, 0, 0, 0, 20]]


def test_who_rushes_is_told_grade_by_grade(client, world):
    # anna takes 2 s and the others 10 s; for 3 there are no others.
    assert text_of(admin(client, world).get(URL)).count("less than a third of the others’ time for") == 1
    rows = {row["grade"]: row for row in rows_of(client)["canary-anna"]["seconds"]}
    found = {value: [rows[value][name] for name in ("n", "middle", "n_others", "rushed")] for value in (1, 2, 3)}
    assert found == {1: [30, 2, 120, True], 2: [0, None, 0, False], 3: [30, 2, 0, False]}


def test_a_cheat_who_gives_every_grade_is_found_by_haste_and_by_chance(client, world):
    # Eight, seven or six of each grade: no grade has the 20 that a mark of its own needs.
    world.grades("dora", [str(place % 4) for place in range(29)], seconds=1)
    [dora] = [row for row in rows_of(admin(client, world)).values() if row["rater"] == "dora"]
    assert dora["hints"] == [
        "agrees with the others no more than by chance (29 shared grades)",
        "less than a third of the others’ time over all grades (29 timed)",
    ]
    assert not any("by chance" in hint for hint in rows_of(client)["canary-boris"]["hints"])


@pytest.mark.parametrize(("took", "n", "told"), [(0.4, 20, True), (0.4, 19, False), (0.7, 20, False)])
def test_a_median_in_which_nobody_reads_is_told_even_where_all_are_as_fast(took, n, told):
    raters, seconds = np.repeat([1, 2, 3], n), np.full(3 * n, took)
    checked = Checked({}, {}, {1.0: (raters, seconds)}, {1: n * (took < 0.6)})
    row = {"told": False, "by_chance": False, "seconds": [seconds_of(1, 1.0, checked)]}
    assert hints(1, row, checked, {1.0: "Good"}) == (
        [f"median 0.4 s a grade: too fast to have read ({n} timed)"] if told else []
    )


def test_fewer_than_twenty_grades_clear_nobody(client):
    page = admin(client, World(half=9)).get(URL)
    assert (page.context["cleared"], page.context["untold"], page.context["noted"]) == (0, 3, [])
    assert text_of(page).count("too few to say: 18 timed, 18 shared") == 3


def test_gold_and_repeats_stand_with_their_interval_and_no_verdict_on_few(client, world):
    clara = world.collection.raters.get(name="canary-clara")
    for place, document in enumerate(world.documents[:20]):
        pair = make_pair(world.collection, "q1", document, wanted=0)
        set_anchor(pair, use="gold", grade=grade(world.collection, "0" if place < 15 else "1"), now=NOW - MINUTE)
    facts = {"pair": pair, "rater": clara}
    value = grade(world.collection, "0").value
    event = RatingEvent.objects.create(**facts, kind="repeat", value=value, scale_version=1, created_at=NOW)
    Check.objects.create(**facts, kind="repeat", created_at=NOW, event=event)
    page = text_of(admin(client, world).get(URL))
    # All three gave 1 to these: 5 of 20 each, 15 of 60 together.
    assert "5 of 20 (11 % to 47 %)" in page and "fewer gold hits" not in page
    row = rows_of(client)["canary-clara"]
    assert (row["repeats"]["hits"], row["repeats"]["n"], row["repeats"]["few"]) == (0, 1, True)
    assert row["gold"]["share"] == 0.25 and not row["gold"]["few"]
    assert rows_of(client)["canary-anna"]["repeats"]["why"] == {"share": "no such pair was answered"}
    # Checks make no new version of the collection: they are read each time.
    for place in range(15):
        pair = make_pair(world.collection, "q1", world.documents[place], wanted=0)
        set_anchor(pair, use="gold", grade=grade(world.collection, "1"), now=NOW - MINUTE)
    assert rows_of(client)["canary-clara"]["gold"]["hits"] == 20


def test_ratings_without_times_have_no_course(client, world):
    world.grades("dora", ["1"] * 60, at_once=True)
    row = rows_of(admin(client, world))["dora"]
    assert (row["periods"], row["moved"], row["ratings"]) == ([], None, 60)


def test_pictures_have_the_numbers_of_the_file(client, world):
    response = admin(client, world).get(URL)
    names, rows = sorted(rows_of(client)), rows_of(client)
    for dot in spec_of(response, "course-spec")["datasets"]["dots"]:
        each = rows[names[dot["place"]]]["periods"][dot["period"] - 1]
        assert all(dot[name] == each[name] for name in ("bias", "low", "high", "shared"))


def test_the_csv_has_every_number_with_its_n(client, world):
    body = admin(client, world).get("/collections/hills/agreement/drift.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(body)))
    anna = [row for row in rows if row["rater"] == "canary-anna"]
    moved = next(row for row in anna if row["name"] == "moved")
    assert (moved["value"], moved["n"], moved["why"]) == ("2.0", "60", "")
    assert sum(int(row["value"]) for row in anna if row["part"] == "period" and row["name"] == "given") == 60
    gold = next(row for row in anna if row["part"] == "gold")
    assert (gold["value"], gold["n"], gold["why"]) == ("", "0", "no such pair was answered")


def test_an_analyst_reads_no_name_anywhere(client, world):
    analyst(client, world.collection)
    for address in (URL, "/collections/hills/agreement/drift.csv", "/collections/hills/agreement/drift.json"):
        body = client.get(address).content.decode()
        assert "canary" not in body and body.count("rater ") > 2
    assert "canary-anna" in admin(client, world).get(URL).content.decode()


def test_raters_come_in_pages_those_worth_a_look_first(client, world, monkeypatch):
    world.grades("aaa", ["1"] * 10)
    monkeypatch.setattr(drift, "RATERS_ON_PAGE", 3)
    admin(client, world)
    assert [row["rater"] for row in client.get(URL).context["raters"]][:1] == ["canary-anna"]
    assert [row["rater"] for row in client.get(URL, {"page": 2}).context["raters"]] == ["aaa"]
