"""The page of progress, the page of a rater, and what they count: every number is worked out by hand."""

import re
from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ratings.desk import queue
from ratings.desk.figures import Pace, Share
from ratings.models import Anchor, Assignment, Check, Rating, RatingEvent, Role
from ratings.pool.progress.counts import Extent, pace, progress, ratings_left, work_of
from ratings.pool.progress.counts import Progress as Counted
from ratings.pool.progress.forecast import forecast
from ratings.pool.progress.stuck import stuck
from ratings.pool.views.progress import burn_up
from ratings.presentation.parts import Part, Presented
from ratings.presentation.versions import publish
from ratings.tests.cast import NOW, grade, make_collection, make_member, make_pair, make_rater

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


class World:
    """Two raters, anna and boris, an admin, and pairs of four documents for q1 that want two ratings each."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.anna, self.boris = (make_rater(self.collection, name) for name in ("anna", "boris"))
        self.pairs = {document: make_pair(self.collection, "q1", document, wanted=2) for document in "abcd"}
        self.client = Client()
        self.client.force_login(make_member(self.collection, "dora", Role.ADMIN))

    def grades(self, rater, document: str, value: str, *, took: float | None = None, at=NOW) -> None:
        queue.save(
            rater,
            self.pairs[document],
            queue.Submission(grade=grade(self.collection, value), seconds=took),
            now=at,
        )

    def get(self, name: str = "progress", *arguments, **asked):
        return self.client.get(reverse(name, args=["hills", *arguments]), asked)

    def post(self, name: str, *arguments, **sent):
        return self.client.post(reverse(name, args=["hills", *arguments]), sent)

    def count(self, now=NOW):
        return progress(self.collection, now=now)

    def stuck(self, now=NOW):
        return stuck(self.collection, self.count(now))

    def gold(self, document: str, value: str, at=NOW) -> Anchor:
        known = grade(self.collection, value)
        return Anchor.objects.create(pair=self.pairs[document], use="gold", grade=known, created_at=at)

    def repeats(self, rater, document: str, value: str) -> Check:
        event = RatingEvent.objects.create(
            pair=self.pairs[document],
            rater=rater,
            kind=RatingEvent.Kind.REPEAT,
            value=grade(self.collection, value).value,
            scale_version=1,
            seconds=1,
            created_at=NOW,
        )
        return Check.objects.create(
            rater=rater, pair=self.pairs[document], kind="repeat", created_at=NOW, event=event
        )


@pytest.fixture
def world(db) -> World:
    return World()


def text(response) -> str:
    """What a reader sees, blanks made one."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


# Arithmetic


def test_wilson_is_wide_for_few_answers_and_stays_within_0_and_1():
    # 8 of 10: middle (8 + 1.9207) / 13.8415 = 0.71674, half 1.95996 √(1.6 + 0.96036) / 13.8415 = 0.22658.
    low, high = Share(8, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert Share(10, 10).interval[1] == 1.0 and round(Share(10, 10).interval[0], 4) == 0.7225
    assert Share(0, 5).interval[0] == 0.0
    assert Share().interval is None and Share().value is None


def test_a_share_is_below_another_only_with_enough_answers():
    usual = Share(90, 100)
    assert not Share(2, 19).below(usual)
    assert Share(2, 20).below(usual)
    assert not Share(17, 20).below(usual)  # up to 95 %
    assert not Share(2, 20).below(Share())


def quartiles(pace: Pace) -> tuple:
    return pace.n, pace.low, pace.middle, pace.high


def test_quartiles_of_seconds_are_those_between_the_values():
    assert quartiles(Pace.of([4, 1, 2, 3, 5])) == (5, 2, 3, 4)
    assert quartiles(Pace.of([1, 2])) == (2, 1.25, 1.5, 1.75)
    assert quartiles(Pace.of([7])) == (1, 7, 7, 7)
    assert Pace.of([]) is None


def test_a_sum_of_times_goes_by_the_mean():
    # 19 of 5 s and one of 85 s: half take 5 s, and all together 9 s each.
    long = Pace.of([5] * 19 + [85])
    assert (long.middle, long.mean, long.hours(400)) == (5, 9, 1.0)
    # Deviations -4 (19 times) and 76: variance (19 · 16 + 5776) / 19 = 320, error √(320 / 20) = 4.
    assert long.error == pytest.approx(4)
    assert long.interval == pytest.approx((9 - 1.959964 * 4, 9 + 1.959964 * 4))
    assert Pace.of([5] * 18 + [85]).interval is None  # of fewer than 20


# Forecast: 12 left


def counted(by_day: dict, left: int = 12, surplus: int = 0) -> Counted:
    return Counted(Extent(sum(by_day.values()), 0, left), by_day, surplus, {}, {}, {})


TODAY = date(2026, 3, 20)


def back(*counts: int) -> dict:
    """Grades by day, the last of them yesterday."""
    return {TODAY - len(counts) * DAY + place * DAY: n for place, n in enumerate(counts) if n}


def test_a_forecast_spans_two_standard_errors_of_the_mean_day():
    # Mean 3, deviations −1 1 −1 1 0: standard deviation 1, error of the mean 1/√5 = 0.447, twice that 0.894.
    # 12 / 3.894 are 4 days, 12 / 2.106 are 6.
    assert forecast(counted(back(2, 4, 2, 4, 3)), TODAY) == (
        "At the pace of the last 5 days, 3 a day, the 12 left may be done between 24 March and 26 March."
    )


def test_days_without_a_grade_count_and_today_does_not():
    said = forecast(counted({TODAY: 100, TODAY - DAY: 10, TODAY - 10 * DAY: 10}), TODAY)
    assert said.startswith("At the pace of the last 10 days, 2 a day,")
    assert said.endswith("at the soonest; days differ too much to say the latest.")


def test_a_pause_before_the_work_of_these_weeks_is_no_part_of_its_pace():
    assert "last 5 days, 3 a day" in forecast(counted({date(2019, 5, 1): 500} | back(2, 4, 2, 4, 3)), TODAY)


def test_what_fills_no_wanted_rating_does_not_speed_up_the_forecast():
    assert "3 a day" in forecast(counted(back(4, 4, 4, 4, 4), surplus=5), TODAY)


@pytest.mark.parametrize(
    ("by_day", "left", "said"),
    [
        (back(3, 3, 3, 3, 3), 0, "Nothing is left"),
        ({}, 5, "nobody has graded anything"),
        (back(3, 3, 3, 3), 5, "No forecast before 5 complete days"),
        ({TODAY - 40 * DAY: 9}, 5, "nobody has graded anything in the last 28 days"),
        (back(1, 1, 1, 1, 1), 4_000, "more than ten years"),
    ],
)
def test_where_there_is_no_forecast_it_says_why(by_day, left, said):
    assert said in forecast(counted(by_day, left), TODAY)


def test_the_chart_begins_where_the_work_of_the_last_months_does():
    chart = burn_up(counted({date(2019, 5, 1): 40} | back(2, 4)), TODAY)
    assert (chart["first"], chart["before"], chart["top"]) == (TODAY - 2 * DAY, 40, 58)
    # 40, 42 and 46 of 58 grades on the three days.
    assert chart["line"].startswith("0.00,31.03 0.00,31.03 33.33,27.59") and chart["line"].endswith("100.00,20.69")
    assert burn_up(counted({date(2019, 5, 1): 4}), TODAY)["line"] == "0.00,75.00 100.00,75.00"


# What is counted


def test_wanted_ratings_are_done_held_or_open(world):
    world.grades(world.anna, "a", "2")
    [held] = queue.claim(world.boris, now=NOW)
    assert world.count().extent == Extent(done=1, held=1, open=6)
    later = NOW + HOUR  # the lease has run out
    assert world.count(later).extent == Extent(done=1, held=0, open=7)
    assert ratings_left(world.collection) == 7
    assert "7 ratings to go" in text(world.get())
    assert world.count().works[world.boris.pk].held == 1
    assert world.count(later).works[world.boris.pk].expired == 1


def test_gold_beside_the_number_wanted_is_counted_apart(world):
    pair = make_pair(world.collection, "q2", "a", wanted=1)
    facts = {"pair": pair, "query_id": pair.query_id, "collection": world.collection, "extra": True}
    Assignment.objects.create(**facts, rater=world.anna, state="leased", leased_until=NOW + HOUR)
    assert world.count().extent == Extent(done=0, held=0, open=9)
    assert ratings_left(world.collection) == 9
    queue.save(world.anna, pair, queue.Submission(grade=grade(world.collection, "2")), now=NOW)
    now = world.count()
    assert (now.extent, now.graded, now.surplus) == (Extent(done=0, held=0, open=9), 1, 1)


def test_surplus_stands_beside(world):
    clara = make_rater(world.collection, "clara")
    for rater in (world.anna, world.boris, clara):
        world.grades(rater, "a", "1")
    now = world.count()
    assert (now.extent.done, now.surplus, now.by_day) == (2, 1, {NOW.date(): 3})


def test_a_retired_pair_is_not_waited_for_and_its_ratings_stay(world):
    world.grades(world.anna, "a", "1")
    queue.retire([world.pairs["a"].pk, world.pairs["b"].pk])
    assert world.count().extent == Extent(done=1, held=0, open=4)


def test_who_did_how_much_and_how_fast(world):
    for document, took in zip("abcd", (2, 4, 6, 20), strict=True):
        world.grades(world.anna, document, "2", took=took)
    world.grades(world.boris, "b", "1")
    queue.save(world.boris, world.pairs["a"], queue.Submission(reason="language", seconds=90), now=NOW)
    queue.claim(world.boris, now=NOW)
    queue.skip(world.boris, queue.held(world.boris)[0], now=NOW)
    anna, boris = world.count().works.values()
    assert (anna.graded, anna.cannot, anna.put_off) == (4, 0, 0)
    assert quartiles(anna.pace) == quartiles(pace(world.collection)) == (4, 3.5, 5, 9.5)
    assert (boris.graded, boris.cannot, boris.put_off, boris.pace) == (1, 1, 1, None)
    assert (anna.last, boris.last) == (NOW, NOW)
    assert (work_of(world.boris).cannot, work_of(world.anna).pace.middle) == (1, 5)


def test_an_undone_rating_or_skip_counts_nowhere(world):
    world.grades(world.anna, "a", "2", took=3)
    queue.undo(world.anna, now=NOW)
    queue.claim(world.anna, now=NOW)
    queue.skip(world.anna, queue.held(world.anna)[0], now=NOW)
    queue.undo(world.anna, now=NOW)
    work = world.count().works[world.anna.pk]
    assert (work.graded, work.cannot, work.put_off) == (0, 0, 0)
    assert world.count().by_day == {}


def test_speed_is_that_of_the_latest_acts(world, monkeypatch):
    monkeypatch.setattr("ratings.pool.progress.counts.ACTS_FOR_PACE", 2)
    for document, took in zip("abcd", (100, 100, 3, 5), strict=True):
        world.grades(world.anna, document, "2", took=took)
    assert quartiles(world.count().pace) == (2, 3.5, 4, 4.5)


def test_gold_hits_are_answers_since_the_pair_is_gold(world):
    world.grades(world.anna, "a", "2", at=NOW - HOUR)  # before it became gold: one of those who made it so
    for document, known in [("a", "2"), ("b", "1"), ("c", "0")]:
        world.gold(document, known)
    world.grades(world.boris, "a", "2")
    world.grades(world.boris, "b", "3")
    queue.save(world.boris, world.pairs["c"], queue.Submission(reason="broken"), now=NOW)
    anna, boris = world.count().works.values()
    assert (anna.gold, boris.gold, world.count().gold) == (Share(), Share(1, 2), Share(1, 2))
    page = world.get("rater", world.boris.pk)
    assert "1 of 2, 95 % interval 9 % to 91 %" in text(page)
    assert [rating.pair for rating in page.context["missed"]] == [world.pairs["b"]]
    assert reverse("pair_life", args=["hills", world.pairs["b"].token]) in page.content.decode()


def test_a_repeat_agrees_with_the_rating_that_stands(world):
    for document, first in [("a", "1"), ("b", "2"), ("c", "3")]:
        world.grades(world.anna, document, first, took=8)
    world.repeats(world.anna, "a", "1")
    world.repeats(world.anna, "b", "0")
    queue.save(world.anna, world.pairs["c"], queue.Submission(reason="other", base_revision=1), now=NOW)
    world.repeats(world.anna, "c", "3")  # nothing to compare with any more
    assert world.count().works[world.anna.pk].repeats == Share(1, 2)
    assert world.count().works[world.anna.pk].pace.middle == 8  # a repeat is no measure of speed
    page = world.get("rater", world.anna.pk)
    assert [check.pair for check in page.context["differing"]] == [world.pairs["b"]]


def test_hints_need_twenty_answers(world):
    works = world.count().works
    anna, boris = works[world.anna.pk], works[world.boris.pk]
    anna.seconds, boris.seconds = [2.0] * 19, [10.0] * 60
    anna.gold, boris.gold = Share(5, 19), Share(60, 60)
    whole = Counted(Extent(0, 0, 0), {}, 0, works, {}, {})
    assert whole.hints(anna) == []
    anna.seconds, anna.gold = [2.0] * 20, Share(5, 20)
    assert whole.hints(anna) == ["fewer gold hits than all raters together", "less than a third of the usual time"]
    assert whole.hints(boris) == []


def test_raters_who_all_rush_are_told_by_their_time_alone(world):
    works = world.count().works
    for work in works.values():
        work.seconds, work.too_fast = [0.4] * 20, 11
    whole = Counted(Extent(0, 0, 0), {}, 0, works, {}, {})
    assert [whole.hints(work) for work in works.values()] == [["too fast to have read"]] * len(works)
    for work in works.values():
        work.rater.left_out_at = NOW
    assert Counted(Extent(0, 0, 0), {}, 0, works, {}, {}).hints(next(iter(works.values())))


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("body", "took", "how", "told"),
    [
        # With the 9 characters of "Title d07" 168 are shown: nobody reads those in less than 168 / 120 = 1.4 s.
        ("x" * 159, 1.39, {}, True),
        ("x" * 159, 1.4, {}, False),
        # No more than 240 characters count, or 2 s.
        ("x" * 9_999, 1.9, {}, True),
        ("x" * 9_999, 2.1, {}, False),
        ("", 0.59, {}, True),
        ("", 0.6, {}, False),
        ("x" * 9_999, 1.4, {"shown": "list"}, False),  # the others of the list were read meanwhile
        ("x" * 9_999, 1.4, {"presentation": 1}, False),  # which shows titles alone
    ],
)
def test_too_fast_to_have_read_goes_by_the_length_of_what_was_shown(db, body, took, how, told):
    collection = make_collection(documents=[f"d{place:02}" for place in range(20)])
    collection.documents.update(body=body)
    publish(collection, Presented((Part("title", "title"),)), base=0)
    publish(collection, Presented((Part("title", "title"), Part("rich", "body"))), base=1)
    rater, good = make_rater(collection, "anna"), grade(collection, "1")
    for place in range(20):
        pair = make_pair(collection, "q1", f"d{place:02}")
        queue.save(rater, pair, queue.Submission(grade=good, seconds=took, **how), now=NOW)
    counted = progress(collection, now=NOW)
    assert counted.hints(counted.works[rater.pk]) == (["too fast to have read"] if told else [])


# What is stuck


@pytest.mark.both_databases
def test_what_a_rater_holds_is_released(world):
    queue.claim(world.anna)
    for rater in ("x", "99999999", make_rater(make_collection("sea"), "eva").pk):
        assert world.post("release", rater=rater).status_code == 302 and queue.held(world.anna)
    response = world.post("release", rater=world.anna.pk, back="rater")
    assert response.url == reverse("rater", args=["hills", world.anna.pk])
    assert queue.held(world.anna) == []
    assert "1 given back, free for others" in text(world.client.get(response.url))
    assert world.post("release", rater=world.anna.pk).url == reverse("progress", args=["hills"])


@pytest.mark.both_databases
def test_pairs_that_two_raters_pass_are_listed_until_they_are_graded(world):
    clara = make_rater(world.collection, "clara")
    for rater in (world.anna, world.boris):
        queue.save(rater, world.pairs["a"], queue.Submission(reason="knowledge"), now=NOW)
    for rater in (world.anna, clara):
        skip(rater, world.pairs["b"])
    skip(clara, world.pairs["c"])
    assert [(pair, n) for pair, n in world.stuck()["passed"]] == [(world.pairs["a"], 2), (world.pairs["b"], 2)]
    world.grades(clara, "b", "1")
    assert [pair for pair, _ in world.stuck()["passed"]] == [world.pairs["a"]]
    response = world.post("retire", pair=world.pairs["a"].token, back="progress")
    assert response.url == reverse("progress", args=["hills"])
    assert world.stuck()["passed"] == []


def skip(rater, pair) -> None:
    """As `queue.skip`, of a pair that chance need not have given them."""
    RatingEvent.objects.create(
        pair=pair, rater=rater, kind=RatingEvent.Kind.SKIP, scale_version=1, client_key=uuid4(), created_at=NOW
    )


def test_a_pair_is_unreachable_when_every_rater_has_rated_it(world):
    queue.want([world.pairs["a"].pk], 3)
    world.grades(world.anna, "a", "1")
    assert world.stuck()["unreachable_count"] == 0
    world.grades(world.boris, "a", "1")
    assert (world.stuck()["unreachable"], world.stuck()["unreachable_count"]) == ([world.pairs["a"]], 1)
    assert "1 pair that nobody may rate" in text(world.get())
    make_rater(world.collection, "clara")
    assert world.stuck()["unreachable"] == []


def test_cannot_judge_uses_a_rater_up_too(world):
    queue.save(world.anna, world.pairs["a"], queue.Submission(reason="language"), now=NOW)
    queue.save(world.boris, world.pairs["a"], queue.Submission(reason="language"), now=NOW)
    assert world.stuck()["unreachable"] == [world.pairs["a"]]


@pytest.mark.both_databases
def test_a_set_of_queries_makes_the_others_unreachable(world):
    other = make_pair(world.collection, "q2", "a")
    world.anna.queries.add(world.collection.queries.get(key="q1"))
    assert world.stuck()["unreachable"] == []  # boris may rate all
    world.boris.queries.add(world.collection.queries.get(key="q1"))
    assert world.stuck()["unreachable"] == [other]
    queue.want([world.pairs["a"].pk], 3)
    for rater in (world.anna, world.boris):
        world.grades(rater, "a", "1")
    assert world.stuck()["unreachable"] == [world.pairs["a"], other]


@pytest.mark.both_databases
def test_without_a_rater_everything_waits_for_nobody(world):
    world.collection.raters.update(active=False)
    assert (world.stuck()["unreachable_count"], world.stuck()["raters"]) == (4, 0)
    assert "Nobody may rate now" in text(world.get())


def test_broken_documents_are_those_that_raters_report(world):
    queue.save(world.anna, world.pairs["a"], queue.Submission(reason="broken"), now=NOW)
    queue.save(world.boris, world.pairs["a"], queue.Submission(reason="broken"), now=NOW)
    queue.save(world.boris, world.pairs["b"], queue.Submission(reason="broken"), now=NOW)
    assert [(document.key, n) for document, n in world.stuck()["broken"]] == [("a", 2), ("b", 1)]
    queue.retire([world.pairs["a"].pk])
    assert [document.key for document, _ in world.stuck()["broken"]] == ["b"]


@pytest.mark.both_databases
def test_lists_name_the_first_and_count_all(world, monkeypatch):
    monkeypatch.setattr("ratings.pool.progress.stuck.MOST_LISTED", 1)
    for document in "ab":
        for rater in (world.anna, world.boris):
            queue.save(rater, world.pairs[document], queue.Submission(reason="broken"), now=NOW)
    found = world.stuck()
    assert (len(found["passed"]), found["passed_count"]) == (1, 2)
    assert (len(found["unreachable"]), found["unreachable_count"]) == (1, 2)
    assert (len(found["broken"]), found["broken_count"]) == (1, 2)
    assert "2 pairs that several raters put off or cannot judge" in text(world.get())


# The pages


def test_an_empty_collection_has_a_page_with_a_next_step(db):
    collection = make_collection("sea", scale={})
    client = Client()
    client.force_login(make_member(collection, "dora", Role.ADMIN))
    page = client.get(reverse("progress", args=["sea"]))
    assert page.status_code == 200
    assert "No rating is requested yet" in text(page)
    assert reverse("pool", args=["sea"]) in page.content.decode()


def test_the_page_shows_what_was_counted(world):
    now = timezone.now()
    for document, took in zip("abcd", (2, 4, 6, 20), strict=True):
        world.grades(world.anna, document, "2", took=took, at=now)
    page = world.get()
    assert "4 ratings to go" in text(page)
    assert "Done 4 of 8 50 % of the ratings requested" in text(page)
    assert "5.0 s median of 4, half within 3.5 s to 9.5 s" in text(page)
    assert "Gold hits no gold" not in text(page)  # a tile that says nothing
    parts = [b'id="stuck"', b'class="trust"', b'id="raters"', b'id="burn-up"', b'id="cost"']
    assert sorted(parts, key=page.content.index) == parts
    assert f"4 grades since {now:%-d %B %Y}; at 8 nothing is left." in text(page)
    assert "<polyline" in page.content.decode()
    assert f'<th scope="row">{now:%-d %b %Y}</th><td class="num">4</td>' in page.content.decode()


def test_a_fresh_pool_has_no_tile_without_a_number(world):
    titles = re.findall(r"<div><dt>(.*?)</dt>", world.get().content.decode())
    assert titles == ["Done", "Held now", "Open"]
    world.grades(world.anna, "a", "1", took=8)
    assert "<dt>Time per grade</dt>" in world.get().content.decode()
    assert "<dt>Gold hits</dt>" not in world.get("rater", world.anna.pk).content.decode()


def test_a_rater_of_another_collection_is_not_found(world):
    other = make_rater(make_collection("sea"), "eva")
    assert world.get("rater", other.pk).status_code == 404


QUERIES = {"progress": 23, "rater": 25}


@pytest.mark.parametrize("name", QUERIES)
def test_the_number_of_database_queries_is_pinned(world, name):
    arguments = [world.anna.pk] if name == "rater" else []

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert world.get(name, *arguments).status_code == 200
        return len(captured)

    for document in "abcd":
        make_pair(world.collection, "q2", document, wanted=9)
    world.gold("d", "2")
    queue.save(world.boris, world.pairs["a"], queue.Submission(reason="broken"), now=NOW)
    queue.save(world.anna, world.pairs["a"], queue.Submission(reason="broken"), now=NOW)
    world.grades(world.anna, "d", "1")
    queue.claim(world.anna, now=NOW - HOUR)
    few = queries()
    for name_of in ("clara", "emil", "flora"):
        rater = make_rater(world.collection, name_of)
        for document in "bcd":
            world.grades(rater, document, "1")
        queue.save(rater, world.pairs["a"], queue.Submission(reason="broken"), now=NOW)
        queue.claim(rater, 3, now=NOW - HOUR)
    for document in "bc":
        world.grades(world.anna, document, "3")
    assert (few, queries()) == (QUERIES[name], QUERIES[name])
    assert Rating.objects.count() > 15
