"""What rating costs at a rate: every number is worked out by hand."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings.desk import queue
from ratings.models import Check, Rater, RatingEvent
from ratings.pool.progress.cost import Part, Rate, costs, gold_lasts
from ratings.tests.cast import NOW, Imported, grade, record_imported

from .test_progress import HOUR, World, text


@pytest.fixture
def world(db) -> World:
    return World()


def found(world):
    return costs(world.collection, world.count())


def warmed(world, rater, document: str, took: float) -> None:
    facts = {"pair": world.pairs[document], "rater": rater}
    event = RatingEvent.objects.create(
        **facts, kind="warm_up", value=grade(world.collection, "1").value, scale_version=1, seconds=took,
        created_at=NOW,
    )  # fmt: skip
    Check.objects.create(**facts, kind="warm_up", created_at=NOW, event=event)


def imported(world, name: str, seconds: float | None, *documents: str, kind: str = "imported") -> None:
    rater = Rater.objects.create(collection=world.collection, name=name, kind=kind)
    pairs = (world.pairs[document] for document in documents)
    rows = [Imported(p.query_id, p.document_id, grade(world.collection, "1"), seconds=seconds) for p in pairs]
    record_imported(rater, rows)


@pytest.mark.parametrize(
    ("share", "gold", "pairs", "lasts"),
    [(0.5, 1, 2, None), (0.5, 10, 100, 20), (0.1, 47, 360, None), (0.2, 47, 360, 235), (0.1, 0, 360, 0)],
)
def test_gold_lasts_to_the_end_where_it_is_no_rarer_than_its_share(share, gold, pairs, lasts):
    assert gold_lasts(share, gold, pairs) == lasts


def test_a_rate_is_paid_by_the_hour_by_the_answer_or_both():
    assert Rate(hour=12).of(100, 2.0) == 24
    assert Rate(each=0.05).of(100, None) == 5
    assert Rate(hour=12, each=0.05).of(100, 2.0) == 29
    assert Rate(hour=12).of(100, None) is None


def test_each_kind_of_work_has_its_answers_and_its_time(world):
    world.gold("a", "2", at=NOW - HOUR)
    for document, took in (("a", 36), ("b", 72), ("c", 108)):
        world.grades(world.anna, document, "1", took=took)
    queue.save(world.boris, world.pairs["b"], queue.Submission(reason="language", seconds=180), now=NOW)
    world.repeats(world.anna, "b", "1")  # takes 1 s
    warmed(world, world.boris, "d", 35)
    cost = found(world)
    assert (cost.ratings, cost.gold) == (Part(3, 0.1, 0.1, 0.1), Part(1, 0.01, 0.01, 0.01))
    assert (cost.repeats.answers, cost.repeats.hours * 3600) == (1, pytest.approx(1))
    assert (cost.warm_ups.answers, cost.warm_ups.hours * 3600) == (1, pytest.approx(35))
    assert (cost.so_far.answers, cost.so_far.hours) == (6, pytest.approx(0.12))
    assert Rate(hour=20, each=0.5).of(cost.so_far.answers, cost.so_far.hours) == pytest.approx(2.4 + 3)


def test_what_was_undone_or_changed_took_its_time_and_is_no_second_answer(world):
    world.grades(world.anna, "a", "1", took=36)
    queue.save(
        world.anna,
        world.pairs["a"],
        queue.Submission(grade=grade(world.collection, "2"), base_revision=1, seconds=36),
        now=NOW,
    )
    world.grades(world.anna, "b", "1", took=72)
    queue.undo(world.anna, now=NOW)
    assert found(world).ratings == Part(1, 0.04, 0.04, 0.04)


def test_acts_without_a_time_count_as_the_mean_of_the_others(world):
    world.grades(world.anna, "a", "1", took=36)
    world.grades(world.anna, "b", "1", took=108)
    world.grades(world.anna, "c", "1")
    cost = found(world)
    assert (cost.ratings.answers, cost.ratings.hours, cost.untimed) == (3, pytest.approx(216 / 3600), 1)


def test_where_no_act_was_timed_nobody_knows_the_hours(world):
    world.grades(world.anna, "a", "1")
    cost = found(world)
    assert (cost.ratings.hours, cost.so_far.hours, cost.left, cost.whole.hours) == (
        None,
        None,
        Part(7, None),
        None,
    )
    assert (Rate(each=2).of(cost.whole.answers, cost.whole.hours), cost.untimed) == (16, 1)
    page = text(world.get(hour="10"))
    assert "So far – not known: no grade was timed" in page


@pytest.mark.both_databases
def test_imported_ratings_count_with_their_time_or_not_at_all(world):
    imported(world, "old", 36, "a", "b")
    imported(world, "qrels", None, "a", "b", "c")
    cost = found(world)
    assert (cost.ratings, cost.untimed, cost.imported) == (Part(2, 0.02, 0.02, 0.02), 0, 3)
    assert "3 imported ratings without a time are left out" in text(world.get(each="1"))


def test_an_answer_to_a_pair_before_it_was_gold_is_a_rating(world):
    world.grades(world.anna, "a", "1", took=36, at=NOW - HOUR)
    world.gold("a", "2")
    cost = found(world)
    assert (cost.ratings.answers, cost.gold.answers) == (1, 0)


def test_what_is_left_goes_by_the_mean_and_its_interval_and_gold_and_repeats_stand_beside(world):
    world.collection.gold_share, world.collection.repeat_share = "0.1", "0.1"
    world.collection.save()
    world.collection.refresh_from_db()
    counted = world.count()
    counted.works[world.anna.pk].seconds[:] = [5.0] * 19 + [85.0]  # mean 9, error 4
    cost = costs(world.collection, counted)
    # Eight are left; a fifth of the work is something else: 8 / 0.8 = 10.
    assert (cost.left.answers, cost.left.hours) == (8, pytest.approx(72 / 3600))
    assert (cost.left.least, cost.left.most) == pytest.approx((8 * 1.160144 / 3600, 8 * 16.839856 / 3600))
    assert (cost.mixed.answers, cost.remaining.answers) == (2, 10)
    assert cost.whole.most == pytest.approx(10 * 16.839856 / 3600)


def test_the_page_shows_cost_by_the_rate_of_its_address(world):
    world.grades(world.anna, "a", "1", took=36)
    page = world.get(hour="100", each="0.5", currency="<b>CHF")
    said = text(page)
    # One answer of 0.01 hours: 1 + 0.5. Seven are left: 7 + 3.5.
    assert "So far 1.50 &lt;b&gt;CHF 1 answer" in said
    assert "Left 10.50 &lt;b&gt;CHF 7 answers" in said
    assert "In all 12.00" in said
    assert "fewer than 20 grades have none" in said
    assert 'name="hour" value="100"' in page.content.decode()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"hour": "x"}, "An hour: Enter a number."),
        ({"hour": "-1"}, "An hour: Ensure this value is greater than or equal to 0."),
        ({"each": "NaN"}, "An answer: Enter a number."),
        ({"each": "1e30"}, "An answer: Ensure that there are no more than"),
        ({"hour": "1", "currency": "x" * 13}, "Currency: Ensure this value has at most 12 characters"),
    ],
)
def test_a_rate_that_makes_no_sense_is_refused_in_words(world, asked, said):
    page = world.get(**asked)
    assert (page.status_code, said in text(page)) == (400, True)
    assert "costs" not in page.context


@pytest.mark.parametrize("asked", [{}, {"hour": ""}, {"hour": "0", "each": "0"}, {"currency": "EUR"}])
def test_without_a_rate_nothing_is_counted(world, asked):
    page = world.get(**asked)
    assert (page.status_code, "costs" in page.context) == (200, False)
    assert "Enter what an hour or an answer costs" in text(page)


def test_the_number_of_queries_is_fixed(world):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            costs(world.collection, counted)
        return len(captured)

    counted = world.count()
    before = queries()
    for document in "abcd":
        world.grades(world.anna, document, "1", took=3)
    imported(world, "qrels", None, "a", "b", "c")
    assert (before, queries()) == (4, 4)
