"""The random order: rounds by equal chances from the record, rated through the queue, and their intervals."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluation.deciding.drawing import draw_due, draw_next
from evaluation.deciding.report import expected_of
from evaluation.deciding.state import State
from evaluation.measures import Options, parse_measure
from evaluation.scores import Asked
from ratings.desk import queue
from ratings.models import UNDRAWN, Assignment, Collection, Round
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import NOW, make_rater

from ...tests.judged_worlds import Judged, small_world, stored, true_means
from ...tests.worlds import World

pytestmark = pytest.mark.django_db

AIM = Asked(parse_measure("nDCG@5"), Options())


@pytest.fixture
def found() -> World:
    return small_world()


@pytest.fixture
def judged(found) -> Judged:
    # What a former aim named does not narrow what is drawn.
    return stored(found, order="random", aim={"measure": "nDCG@5", "systems": ["system0", "system1"]})


@pytest.mark.slow
def test_the_worker_draws_by_equal_chances_and_intervals_close_around_the_truth(found, judged):
    rater, truth, widths = make_rater(judged.collection), true_means(judged, found), []
    while draw_due():
        judged.rate(rater, 30)
        told = expected_of(judged.collection, AIM)
        rows = [told.of(f"system{place}") for place in range(3)]
        widths.append(np.mean([row.high - row.low for row in rows]))
        assert told.est == "design"
        for row, value in zip(rows, truth, strict=True):
            assert abs(row.mean - value) <= 1.5 * (row.high - row.low) + 1e-9
    judged.rate(rater, 1000)
    assert widths[-1] < widths[0] / 2 and expected_of(judged.collection, AIM).final
    first = Round.objects.get(number=1)
    assert (first.method, first.aim["systems"]) == ("random-1", ["system0", "system1", "system2"])
    assert [row.chance for row in first.drawn.all()] == pytest.approx([30 / first.frame] * 30, rel=1e-12)
    assert set(Round.objects.values_list("method", flat=True)) == {"random-1"}


def test_every_judgment_weighs_as_much_as_the_pool_has_pairs_for_it(judged):
    judged.play(make_rater(judged.collection), 3)
    state = State.of(judged.collection, AIM)
    weight = state.design().weight
    assert weight == pytest.approx(np.full(len(weight), state.pool.pairs / state.judged.sum()), rel=1e-9)


def test_without_a_worker_raters_get_work_that_tells_nothing_about_the_rest(judged):
    rater = make_rater(judged.collection)
    assert judged.rate(rater, 20) == 20
    told = expected_of(judged.collection, AIM)
    assert (told.est, told.rounds) == ("model", 0) and "no round was drawn" in told.without
    draw_due()
    state = State.of(judged.collection, AIM)
    assert len(state.newly_known) == 0 and Round.objects.get().frame == state.pool.pairs - 20


def test_gold_and_what_is_half_rated_come_with_rounds_by_the_same_chance(judged):
    pairs = {task.pair.pk: task.pair for task in queue.claim(make_rater(judged.collection), 20)}
    for pair in pairs.values():
        set_anchor(pair, use="gold", grade=judged.truth[pair.query_id, pair.document_id], explanation="", now=NOW)
    made = draw_next(judged.collection, least=100, seed=1)
    beside = Assignment.objects.filter(pair__in=pairs, round=made.number).count()
    assert not made.drawn.filter(pair__in=pairs).exists()
    assert abs(beside - 20 * 100 / made.frame) < 8 and 0 < beside < 20
    assert Assignment.objects.filter(pair__in=pairs, round=UNDRAWN).count() == 20 - beside
    while draw_next(judged.collection, least=100):
        pass
    assert not Assignment.objects.filter(collection=judged.collection.pk, round=UNDRAWN).exists()


def test_who_gives_first_ratings_alone_still_gets_drawn_pairs(judged):
    rater = make_rater(judged.collection)
    queue.want(list(Assignment.objects.values_list("pair", flat=True)), 2)
    for _ in range(4):
        draw_due()
        judged.rate(rater, 30)
    assert Round.objects.count() >= 4
    assert not rater.ratings.filter(pair__drawn__isnull=True).exists()


def test_the_command_draws_a_round_at_random(judged, capsys):
    Collection.objects.update(order="query")
    call_command("draw_round", "world", order="random", measure="nDCG@3", seed=4)
    assert "drawn by equal chances with seed 4" in capsys.readouterr().out
    collection = Collection.objects.get()
    assert (collection.order, collection.aim["measure"]) == ("random", "nDCG@3")
    with pytest.raises(CommandError, match="all systems"):
        call_command("draw_round", "world", order="random", system=["system0"])
