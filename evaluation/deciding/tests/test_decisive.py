"""The decisive order from the record: rounds drawn, rated through the queue, and what is expected meanwhile."""

import numpy as np
import pytest

from evaluation.deciding.drawing import draw_next
from evaluation.deciding.report import expected_of
from evaluation.deciding.state import State
from evaluation.measures import Options, parse_measure
from evaluation.scores import Asked
from ratings.desk import queue
from ratings.models import Drawn, Round
from ratings.tests.cast import make_rater

from ...tests.judged_worlds import Judged, small_world, stored, true_means
from ...tests.worlds import World

pytestmark = pytest.mark.django_db

NDCG = parse_measure("nDCG@5")


@pytest.fixture
def found() -> World:
    return small_world()


@pytest.fixture
def judged(found) -> Judged:
    return stored(found, aim={"measure": "nDCG@5"})


@pytest.mark.slow
def test_intervals_close_around_the_truth(found, judged):
    rater, truth, widths = make_rater(judged.collection), true_means(judged, found), []
    for _ in range(5):
        judged.play(rater, 2)
        told = expected_of(judged.collection, Asked(NDCG, Options()))
        rows = [told.of(f"system{place}") for place in range(3)]
        widths.append(np.mean([row.high - row.low for row in rows]))
        assert told.est == "design" and told.options.endswith("est=design")
        assert all(
            abs(row.mean - value) <= 1.5 * (row.high - row.low) + 1e-9
            for row, value in zip(rows, truth, strict=True)
        )
    assert widths[-1] < widths[0] / 2


@pytest.mark.slow
def test_when_all_is_judged_the_expected_means_are_the_plain_ones(found, judged):
    rater = make_rater(judged.collection)
    judged.play(rater, 100)
    told = expected_of(judged.collection, Asked(NDCG, Options()))
    assert told.final and told.wrong == 0
    for place, value in enumerate(true_means(judged, found)):
        row = told.of(f"system{place}")
        assert (row.mean, row.low, row.high) == pytest.approx([value] * 3, abs=1e-12)
        assert row.mean == row.plain


def test_a_stored_round_is_the_one_that_was_drawn(judged):
    """Chances that are computed from the log are those of the draw."""
    first = draw_next(judged.collection, seed=7)
    state = State.of(judged.collection, Asked(NDCG, Options()))
    (back,) = state.rounds
    stored_rows = Drawn.objects.filter(round=first, kind="random").order_by("place")
    chances = dict(zip(state.pair[back.drawn].tolist(), back.chance().tolist(), strict=True))
    assert len(chances) == stored_rows.count() > 0
    for row in stored_rows:
        expected = -np.expm1(-row.rate * first.threshold) * row.within
        assert chances[row.pair_id] == pytest.approx(expected, rel=1e-14)
    assert not state.eligible[np.concatenate([back.greedy, back.drawn])].any()
    assert first.frame == state.eligible.sum() + len(back.greedy) + len(back.drawn)


def test_raters_get_what_was_drawn_one_query_after_the_other(judged):
    first = draw_next(judged.collection, seed=1)
    rater, order = make_rater(judged.collection), []
    for _ in range(first.drawn.count()):
        (task,) = queue.claim(rater)[:1]
        order.append((task.pair.query_id, task.pair.pk))
        queue.save(
            rater, task.pair, queue.Submission(grade=judged.truth[task.pair.query_id, task.pair.document_id])
        )
    assert {pair for _, pair in order} == set(first.drawn.values_list("pair", flat=True))
    queries = [query for query, _ in order]
    changes = sum(before != after for before, after in zip(queries, queries[1:], strict=False))
    assert changes == len(set(queries)) - 1


def test_what_is_judged_outside_counts_as_known_from_then_on(judged):
    rater = make_rater(judged.collection)
    judged.rate(rater, 3)  # before the first round
    judged.play(rater, 1)
    judged.rate(rater, 2)  # no round is ready
    before = State.of(judged.collection, Asked(NDCG, Options()))
    assert sorted(before.known[before.known > 0].tolist()) == [1, 1]
    judged.play(rater, 1)
    after = State.of(judged.collection, Asked(NDCG, Options()))
    assert len(after.rounds) == 2
    outside = after.design()
    late = after.known[outside.rows] == 1
    precision = [each.precision for each in after.rounds]
    assert outside.weight[late] == pytest.approx([precision[1] / sum(precision)] * 2)


def test_a_pool_that_grows_has_later_births(found):
    played = stored(found, depth=2)
    rater = make_rater(played.collection)
    played.play(rater, 1)
    from ratings.pool.pooling import pool

    pool(played.collection, depth=20, wanted=1)
    state = State.of(played.collection, Asked(NDCG, Options()))
    drawn = np.concatenate([state.rounds[0].greedy, state.rounds[0].drawn])
    assert not state.born[drawn].any() and set(state.born.tolist()) == {0, 1}
    second = draw_next(played.collection)
    assert 1 in second.drawn.values_list("born", flat=True)


def test_pairs_that_nobody_can_judge_do_not_hold_a_round_up(judged):
    first, rater = draw_next(judged.collection, seed=2), make_rater(judged.collection)
    pairs = list(first.drawn.filter(kind="random").values_list("pair", flat=True))
    queue.retire(pairs[:1])
    judged.rate(rater, first.drawn.count() - 1)
    state = State.of(judged.collection, Asked(NDCG, Options()))
    assert state.pair[state.skipped].tolist() == pairs[:1]
    assert state.design().evidence == first.precision


def test_without_rounds_there_is_no_interval_and_the_reason(judged):
    judged.rate(make_rater(judged.collection), 12)
    told = expected_of(judged.collection, Asked(NDCG, Options()))
    assert (told.est, told.wrong, told.leader) == ("model", None, None)
    assert "no round was drawn" in told.without
    assert all(row.low is None and row.mean is not None for row in told.means)


def test_the_log_serves_another_measure(judged):
    rater = make_rater(judged.collection)
    judged.play(rater, 3)
    for measure, options in (("nDCG@3", Options()), ("nDCG@10", Options(gain="exponential"))):
        told = expected_of(judged.collection, Asked(parse_measure(measure), options))
        assert told.est == "design" and all(row.low < row.mean < row.high for row in told.means)


def test_one_of_two_workers_stores_a_round(judged, monkeypatch):
    """The other one read the same state: the number of its round is taken."""
    state = State.of(judged.collection, Asked(NDCG, Options()))
    monkeypatch.setattr(State, "of", classmethod(lambda cls, *args, **kwargs: state))
    assert draw_next(judged.collection).number == 1
    assert draw_next(judged.collection) is None
    assert Round.objects.count() == 1
