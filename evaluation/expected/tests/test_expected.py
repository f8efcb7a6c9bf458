"""Expected values worked out by hand, where nothing is missing, and where they must refuse or know no interval."""

from dataclasses import replace
from math import log2
from random import Random

import numpy as np
import pytest

from evaluation.expected import (
    MOST_LEVELS,
    UNJUDGED,
    WITHOUT_CHANCES,
    Pool,
    design,
    estimate,
    expect,
    fit,
    forecast_of_variance,
    judgments_to_settle,
    order_chances,
    pool_of,
)
from evaluation.expected import model as models
from evaluation.expected.estimate import means
from evaluation.measures import Options, evaluate
from evaluation.tests.packing import pack

from ...tests import random_collections
from ...tests.worlds import play, world

SECOND = 1 / log2(3)  # the discount of rank 2


def pool(rank: list[list[int]], gains=(0, 1), cutoff: int = 2, query=None) -> Pool:
    return Pool(np.array(query or [0] * len(rank)), np.array(rank), np.array(gains, float), cutoff)


# By hand


def test_two_documents_and_one_of_them_unjudged():
    """Both orders of two documents, the first relevant: only the second system depends on the other document."""
    found, level = pool([[1, 2], [2, 1]]), np.array([1, UNJUDGED])
    answer = estimate(found, level)
    relevant = fit(found, level).draw(np.array([1]), answer.draws, np.random.default_rng(answer.seed)).mean()
    assert 0 < relevant < 1
    assert answer.mean == pytest.approx([1, relevant + (1 - relevant) * SECOND], abs=1e-12)


def test_a_draw_in_which_nothing_is_found_counts_in_no_mean():
    """The unjudged document is at rank 2: where it is relevant the value is its discount, else there is none."""
    found, level = pool([[1], [2]]), np.array([0, UNJUDGED])
    drawn = means(found, level, np.array([[1, 0]], np.int8))
    assert drawn[:, 0] == pytest.approx([SECOND, np.nan], nan_ok=True)
    assert estimate(found, level).mean == pytest.approx([SECOND])


def test_queries_count_in_the_mean_by_their_weight():
    """Query 0 has the value 1, query 1 that of its only document at rank 2; the third has nothing to find."""
    even = pool([[1], [2], [1]], query=[0, 1, 2])
    weighted, level = replace(even, weight=np.array([3.0, 1.0, 6.0])), np.array([1, 1, 0])
    assert estimate(even, level).mean == pytest.approx([(1 + SECOND) / 2])
    assert estimate(weighted, level).mean == pytest.approx([(3 + SECOND) / 4])
    level, chances, spread = np.array([UNJUDGED, 1, 0]), np.full((3, 1), 0.5), np.zeros(3)
    plain, by_weight = (expect(found, level, chances, spread).influence[0, :2, 0] for found in (even, weighted))
    assert by_weight == pytest.approx(plain * [2 * 3 / 4, 2 * 1 / 4])


def test_the_best_and_the_worst_list_are_functions_of_counts():
    """Gains -1, 0, 2 of three documents at cutoff 2."""
    found = pool([[1], [2], [3]], gains=(-1, 0, 2))
    for levels, best, worst in (
        ([0, 1, 2], 2, -1),
        ([0, 0, 2], 2, -1 - SECOND),
        ([2, 2, 2], 2 + 2 * SECOND, 0),
        ([1, 1, 1], 0, 0),
    ):
        count = found.sum_by_query(found.steps_taken(np.array(levels)).astype(int))
        assert [each.item() for each in found.extremes(count)] == pytest.approx([best, worst])


def test_scales_without_a_gain_of_0():
    """Above 0 every document can stand in the ideal, and below 0 every one in the worst list."""
    high, low = pool([[1], [2], [3]], gains=(1, 3)), pool([[1], [2], [3]], gains=(-2, -1))
    count = np.array([[1]])
    assert [each.item() for each in high.extremes(count)] == pytest.approx([3 + SECOND, 0])
    assert [each.item() for each in low.extremes(count)] == pytest.approx([0, -2 - 2 * SECOND])


def test_influence_by_hand():
    """At cutoff 1 with one relevant document elsewhere the ideal is 1 whatever comes: the first rank decides."""
    found, level = pool([[1], [2]], cutoff=1), np.array([UNJUDGED, 1])
    answer = expect(found, level, np.array([[0.3], [0.9]]), np.zeros(1))
    assert answer.value.tolist() == [[0.3]]
    assert answer.influence[0].tolist() == [[1], [0]]
    assert answer.covariance(np.array([0]), np.array([[0.3]])).tolist() == [[pytest.approx(0.3 * 0.7)]]


def test_a_cutoff_deeper_than_all_rankings_takes_no_room_and_changes_no_digit():
    rank = [[1, 2], [2, 1], [3, 4], [1, 3]]
    level, query = np.array([1, 0, UNJUDGED, UNJUDGED]), [0, 0, 0, 1]
    deep, deepest = (replace(pool(rank, query=query), cutoff=cutoff) for cutoff in (200, 5_000))
    assert len(deepest.rank_discounts) == len(deepest.cumulative_discounts) == 5  # 3 pairs, one more, and 0
    answers = [estimate(each, level).mean for each in (deep, deepest)]
    assert answers[0].tolist() == answers[1].tolist()
    chances, variance = np.full((4, 1), 0.5), np.full(2, 0.1)
    influence = [expect(each, level, chances, variance).influence for each in (deep, deepest)]
    assert influence[0].tolist() == influence[1].tolist()


def test_leaving_a_judgment_out_lowers_the_chance_of_a_relevant_document():
    found, level = pool([[1], [2], [3], [4]]), np.array([1, 0, 1, UNJUDGED])
    model = fit(found, level)
    difference = (model.chances() - model.chances(left_out=True))[:, 0]
    assert np.sign(difference).tolist() == [1, -1, 1, 0]


def test_a_model_that_begins_from_fewer_judgments_ends_where_others_do():
    generator = np.random.default_rng(9)
    found = world(generator)
    some, more = (found.judged(np.arange(0, found.pool.pairs, step)) for step in (4, 2))
    begun = fit(found.pool, more, start=fit(found.pool, some))
    assert begun.chances() == pytest.approx(fit(found.pool, more).chances(), abs=0.03)


# Nothing is missing


@pytest.mark.parametrize("kind", ["whole", "labels"])
@pytest.mark.parametrize(
    "options",
    [{}, {"gain": "exponential"}, {"negatives": "clip"}, {"discount": "jk2002"}, {"ties": "score"}],
)
def test_without_missing_judgments_it_is_plain_ndcg(kind, options):
    random = Random(3)
    judged, first = random_collections.collection(random, 60, kind)
    _, second = random_collections.collection(random, 60, kind)
    for ranking in (first, second):
        for query, listed in ranking.items():
            for key in listed:
                judged[query].setdefault(key, random_collections.GRADES[kind](random))
    options = Options(**options)
    packed = [pack(judged, {query: each.get(query, {}) for query in judged}) for each in (first, second)]
    judgments, rankings = packed[0][0], [rankings for _, rankings in packed]
    answer = estimate(*pool_of(judgments, rankings, "nDCG@5", options, np.unique(judgments.grade)))
    plain = [evaluate(["nDCG@5"], judgments, each, options) for each in rankings]
    assert answer.mean == pytest.approx([each.mean(*each.values) for each in plain], abs=1e-12)
    assert not answer.covariance.any()
    assert np.array(answer.interval()).tolist() == [answer.mean.tolist()] * 2


def test_where_nothing_can_be_found_there_is_no_mean():
    found = pool([[1], [2]])
    assert np.isnan(estimate(found, np.array([0, 0])).mean).all()


def test_a_query_with_nothing_to_find_does_not_count():
    found = pool([[1], [2], [1], [2]], query=[0, 0, 1, 1])
    answer = estimate(found, np.array([0, 1, 0, 0]))
    assert answer.mean == pytest.approx([SECOND])
    level, chances = np.array([0, UNJUDGED, 0, 0]), np.full((4, 1), 0.5)
    alone = expect(pool([[1], [2]]), level[:2], chances[:2], np.zeros(1))
    both = expect(found, level, chances, np.zeros(2))
    assert both.influence[:, :2].tolist() == alone.influence.tolist()


# No interval


def test_without_known_chances_there_is_a_mean_and_no_interval():
    found = world(np.random.default_rng(5))
    answer = estimate(found.pool, found.judged(np.arange(20)))
    assert np.isfinite(answer.mean).all()
    assert (answer.covariance, answer.interval(), answer.difference(0, 1)) == (None, None, None)
    assert answer.without == WITHOUT_CHANCES


def test_without_any_judgment_ranks_alone_decide():
    found = world(np.random.default_rng(6))
    none = np.zeros(found.pool.pairs, bool)
    answer = estimate(found.pool, found.judged([]), design([], none, none, none.astype(int)))
    assert ((answer.mean > 0) & (answer.mean < 1)).all()
    assert answer.covariance is None


def test_one_system_has_an_interval_too():
    generator = np.random.default_rng(7)
    found = world(generator, systems=1, gains=[0, 1])
    level, rounds = play(found, [8, 8], generator)
    none = np.zeros(found.pool.pairs, bool)
    answer = estimate(found.pool, level, design(rounds, level >= 0, none, none.astype(int)))
    (low,), (high,) = answer.interval()
    assert low < answer.mean[0] < high
    assert answer.difference(0, 0) == (0, 0, 0)
    assert order_chances(answer.mean, answer.covariance)[1].tolist() == [1]


def test_the_same_seed_gives_the_same_digits_and_another_gives_others():
    found = world(np.random.default_rng(8))
    level = found.judged(np.arange(0, found.pool.pairs, 3))
    once, again, other = (estimate(found.pool, level, seed=seed).mean for seed in (1, 1, 2))
    assert once.tolist() == again.tolist() != other.tolist()


def test_the_order_of_two_systems():
    """Means .03 apart, deviation .03: wrong by .02 or more where a normal is below -5/3, in 4.8 of 100."""
    chance, best = order_chances(np.array([0.53, 0.5]), np.diag([0.03**2, 0]), draws=100_000)
    assert chance == pytest.approx(0.0478, abs=0.003)
    assert best == pytest.approx([0.8413, 0.1587], abs=0.005)


# Newton's method


def test_what_is_left_to_doubt_falls_as_that_of_a_sample():
    """With twice as many judged it is less than half, with all nothing; equal systems settle only with all."""
    found = world(np.random.default_rng(4), queries=8, systems=3, gains=[0, 1], cutoff=5)
    level, rounds = play(found, [20, 20], np.random.default_rng(1))
    none = np.zeros(found.pool.pairs, bool)
    share, left = forecast_of_variance(found.pool, level, level < 0), int((level < 0).sum())
    shares = [share(more) for more in (0, 10, 40, left)]
    assert shares[0] == pytest.approx(1)
    assert (np.diff(shares) < 0).all()
    assert shares[2] < 0.5
    assert shares[3] < 0.01
    told = estimate(found.pool, level, design(rounds, level >= 0, none, none.astype(int)))
    wide = replace(told, mean=np.array([0.5, 0.5, 0.5]), covariance=np.eye(3))
    assert judgments_to_settle(found.pool, level, level < 0, replace(wide, covariance=np.eye(3) * 1e-8)) == 5
    assert judgments_to_settle(found.pool, level, level < 0, replace(wide, covariance=np.eye(3) * 100)) == left
    level[np.flatnonzero(level < 0)[2:]] = 0
    assert judgments_to_settle(found.pool, level, level < 0, replace(wide, covariance=np.eye(3) * 1e-8)) == 2


def test_newton_alone_diverges_and_backtracking_does_not(monkeypatch):
    """From the model of other judgments, as the queue begins: in some worlds a plain step overshoots for good."""
    lost = []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        found = world(generator, gains=[0, 1])
        begin = fit(found.pool, play(found, [8], generator)[0], iterations=1).steps[0]
        task = models._task(found.pool, found.judged(generator.permutation(found.pool.pairs)[:60]), 0)
        cold = models.newton(task, task.mean, np.zeros(found.pool.queries), begin.variance)
        warm = models.newton(task, begin.fixed, begin.effect, begin.variance)
        with monkeypatch.context() as patched:
            patched.setattr(models, "LARGEST_ROUNDING_ERROR", np.inf)  # so that every whole step is taken
            plain = models.newton(task, begin.fixed, begin.effect, begin.variance)
        best = task.log_posterior(cold.fixed, cold.effect, begin.variance)
        assert task.log_posterior(warm.fixed, warm.effect, begin.variance) == pytest.approx(best, abs=1e-2)
        lost.append(best - task.log_posterior(plain.fixed, plain.effect, begin.variance))
    assert max(lost) > 1000


# Refusals


def small(grades: dict[str, float]):
    judgments, rankings = pack({"q": grades}, {"q": ["a", "b", "c"]})
    return judgments, [rankings]


@pytest.mark.parametrize(
    ("measure", "options", "says"),
    [
        ("AP", {}, "no expected value of AP: give nDCG with a cutoff"),
        ("nDCG", {}, "no expected value of nDCG: give nDCG with a cutoff"),
        ("nDCG@5", {"ideal": "retrieved"}, "need ideal=judged, not retrieved"),
        ("nDCG@5", {"unjudged": "condensed"}, "need unjudged=zero, not condensed"),
        ("nDCG@5", {"unjudged": 1}, "need unjudged=zero, not 1"),
        ("nDCG@5", {"undefined": "zero"}, "need undefined=skip, not zero"),
        ("nDCG@5", {"missing": "skip"}, "need missing=empty, not skip"),
        ("nDCG@5", {"ties": "average"}, "cannot have ties=average"),
        ("nDCG@5", {"negatives": "raw"}, "need negatives=minmax or clip, not raw"),
        ("nDCG@5", {"negatives": "minmax_closed"}, "need negatives=minmax or clip, not minmax_closed"),
    ],
)
def test_what_has_no_expected_value_is_refused_with_the_reason(measure, options, says):
    with pytest.raises(ValueError, match=says):
        pool_of(*small({"a": 1, "b": 0}), measure, Options(**options), (0, 1))


def test_grades_of_one_gain_are_refused():
    with pytest.raises(ValueError, match="at least two different gains; all have the gain 1"):
        pool_of(*small({"a": 1, "b": 1}), "nDCG@5", Options(), (1,))
    with pytest.raises(ValueError, match="at least two different gains; there is none"):
        pool_of(*small({}), "nDCG@5", Options(), ())


@pytest.mark.parametrize(("least", "most"), [(0, 11), (-11, 0), (-3, 11)])
def test_of_more_grades_than_levels_both_ends_and_0_stay(least, most):
    options = Options(negatives="minmax")
    found, _ = pool_of(*small({"a": 7, "b": 0}), "nDCG@5", options, range(least, most + 1))
    assert len(found.gains) == MOST_LEVELS
    assert {least, 0, most} <= set(found.gains.tolist())


def test_grades_that_are_put_together_are_one_level():
    many = np.arange(MOST_LEVELS + 1.0)
    put_together = Options(gain="map", gain_map={grade: grade // 2 for grade in many})
    found, level = pool_of(*small({"a": 7, "b": 0}), "nDCG@5", put_together, many)
    assert found.gains.tolist() == [0, 1, 2, 3, 4]
    assert level.tolist() == [3, 0, UNJUDGED]


def test_systems_and_documents_are_needed():
    judgments, rankings = pack({}, {"q": []})
    with pytest.raises(ValueError, match="no system"):
        pool_of(judgments, [], "nDCG@5", Options(), (0, 1))
    with pytest.raises(ValueError, match="no document"):
        pool_of(judgments, [rankings], "nDCG@5", Options(), (0, 1))


def test_a_decimal_between_the_grades_of_the_scale_is_a_level_of_its_own():
    found, level = pool_of(*small({"a": 1.5, "b": 0}), "nDCG@5", Options(), (0, 1, 2))
    assert found.gains.tolist() == [0, 1, 1.5, 2]
    assert level.tolist() == [2, 0, UNJUDGED]


def test_documents_that_no_system_retrieves_stand_in_the_ideal():
    judgments, rankings = pack({"q": {"a": 1, "x": 2}, "r": {"y": 1}}, {"q": ["b", "a"]})
    found, level = pool_of(judgments, [rankings], "nDCG@5", Options(), (0, 1, 2))
    assert found.rank[:, 0].tolist() == [1, 2, 101, 101]
    assert (level.tolist(), found.query.tolist()) == ([UNJUDGED, 1, 2, 1], [0, 0, 0, 1])
    assert found.document.tolist() == [1, 0, 2, 3]
    assert found.number.tolist() == [0, 1]
