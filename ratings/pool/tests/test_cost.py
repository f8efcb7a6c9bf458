"""What rating costs: every number is worked out by hand."""

import pytest

from ratings.desk import queue
from ratings.desk.figures import Pace
from ratings.models import Check, Rater, RatingEvent
from ratings.pool.progress.cost import Work, work_ahead, work_so_far
from ratings.tests.cast import NOW, Imported, grade, record_imported

from .test_progress import HOUR, World, text


@pytest.fixture
def world(db) -> World:
    return World()


def so_far(world) -> tuple[int, float | None]:
    work = work_so_far(world.count())
    return work.answers, work.hours


def warmed(world, rater, document: str, took: float) -> None:
    facts = {"pair": world.pairs[document], "rater": rater}
    event = RatingEvent.objects.create(
        **facts, kind="warm_up", value=grade(world.collection, "1").value, scale_version=1, seconds=took,
        created_at=NOW,
    )  # fmt: skip
    Check.objects.create(**facts, kind="warm_up", created_at=NOW, event=event)


def imported(world, name: str, seconds: float | None, *documents: str) -> None:
    rater = Rater.objects.create(collection=world.collection, name=name, kind="imported")
    pairs = (world.pairs[document] for document in documents)
    rows = [Imported(p.query_id, p.document_id, grade(world.collection, "1"), seconds=seconds) for p in pairs]
    record_imported(rater, rows)


def test_every_kind_of_work_has_its_answers_and_its_time(world):
    world.gold("a", "2", at=NOW - HOUR)
    for document, took in (("a", 36), ("b", 72), ("c", 108)):
        world.grades(world.anna, document, "1", took=took)
    queue.save(world.boris, world.pairs["b"], queue.Submission(reason="language", seconds=180), now=NOW)
    world.repeats(world.anna, "b", "1")  # takes 1 s
    warmed(world, world.boris, "d", 35)
    assert so_far(world) == (6, pytest.approx(432 / 3600))


def test_what_was_undone_or_changed_took_its_time_and_is_no_second_answer(world):
    world.grades(world.anna, "a", "1", took=36)
    changed = queue.Submission(grade=grade(world.collection, "2"), base_revision=1, seconds=36)
    queue.save(world.anna, world.pairs["a"], changed, now=NOW)
    world.grades(world.anna, "b", "1", took=72)
    queue.undo(world.anna, now=NOW)
    assert so_far(world) == (1, pytest.approx(0.04))


def test_acts_without_a_time_count_as_the_mean_of_the_others(world):
    world.grades(world.anna, "c", "1")
    assert so_far(world) == (1, None)
    assert "So far – 1 answer, not known: no grade was timed" in text(world.get(hour="10"))
    world.grades(world.anna, "a", "1", took=36)
    world.grades(world.anna, "b", "1", took=108)
    assert so_far(world) == (3, pytest.approx(216 / 3600))


@pytest.mark.both_databases
def test_imported_ratings_count_with_their_time_or_not_at_all(world):
    imported(world, "old", 36, "a", "b")
    imported(world, "qrels", None, "a", "b", "c")
    assert so_far(world) == (2, pytest.approx(0.02))


def test_what_is_left_goes_by_the_mean_and_its_interval():
    pace = Pace.of([5.0] * 19 + [85.0])  # mean 9, error 4
    left = work_ahead(8, pace)
    assert (left.hours, left.least, left.most) == pytest.approx(
        (72 / 3600, 8 * 1.160144 / 3600, 8 * 16.839856 / 3600)
    )
    assert work_ahead(8, None) == Work(8, None) and work_ahead(0, None) + Work(2, 0.5) == Work(2, 0.5)


def test_the_page_shows_costs_at_the_price_of_its_address(world):
    world.collection.gold_share, world.collection.repeat_share = "0.1", "0.1"
    world.collection.save()
    world.grades(world.anna, "a", "1", took=36)
    page = world.get(hour="100", each="0.5", currency="<b>CHF")
    said = text(page)
    # One answer of 0.01 hours: 1 + 0.5. Seven are left, a fifth of the work is something else: 9 + 4.5.
    assert "So far 1.50 &lt;b&gt;CHF 1 answer" in said
    assert "Left 13.50 &lt;b&gt;CHF 9 answers" in said
    assert "In all 15.00" in said
    assert 'name="hour" value="100"' in page.content.decode()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"hour": "x"}, "An hour: Enter a number."),
        ({"hour": "-1"}, "An hour: Ensure this value is greater than or equal to 0."),
        ({"each": "1e30"}, "An answer: Ensure that there are no more than"),
    ],
)
def test_a_price_that_makes_no_sense_is_refused_in_words(world, asked, said):
    page = world.get(**asked)
    assert (page.status_code, said in text(page), page.context["costs"]) == (400, True, None)


@pytest.mark.parametrize("asked", [{}, {"hour": "0", "each": "0"}, {"currency": "EUR"}])
def test_without_a_price_nothing_is_counted(world, asked):
    page = world.get(**asked)
    assert (page.status_code, page.context["costs"]) == (200, None)
