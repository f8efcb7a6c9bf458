"""Whether systems keep their order with other raters: small worlds in which the answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from evaluation import agreement
from evaluation.judgments.rules import Ratings, combine
from evaluation.measures import Judgments


def ratings_of(*rows: tuple[int, int, float], adjudicated: Judgments | None = None) -> Ratings:
    """Ratings of one query: (document, rater, grade) each."""
    document, rater, grade = (np.array(column) for column in zip(*rows, strict=True))
    nothing = np.zeros(len(rows), np.int64)
    return Ratings(1, nothing, document, rater, grade.astype(float), np.ones(len(rows)), adjudicated)


def stability(ratings: Ratings, score, draws: int, seed: int = 225):
    raters = np.unique(ratings.rater).tolist()
    means = np.array([score(each) for each in agreement.worlds(ratings, ["q1"], raters, draws, seed)])
    return agreement.stability(ratings, means, raters, draws, seed)


def score(ratings: Ratings) -> np.ndarray:
    """Eight systems: system i returns document i alone and scores its judgment, nan where it has none."""
    judgments = combine(ratings)
    means = np.full(8, np.nan)
    means[judgments.document] = judgments.grade
    return means


def of(systems: int):
    """The same with fewer systems."""
    return lambda ratings: score(ratings)[:systems]


def test_raters_who_agree_leave_no_doubt():
    rows = [(document, rater, document) for document in range(6) for rater in range(3)]
    found = stability(ratings_of(*rows), of(6), draws=20)
    assert found.means.tolist() == found.low.tolist() == found.high.tolist() == [0, 1, 2, 3, 4, 5]
    assert (found.holds, found.leader_holds, found.tau, found.pairs) == (1, 1, 1, 6)
    assert [(each["rater"], each["ratings"], each["unjudged"], each["reversed"]) for each in found.left_out] == [
        (rater, 6, 0, []) for rater in range(3)
    ]
    assert (found.kept[~np.eye(6, dtype=bool)] == 1).all()
    assert np.isnan(np.diag(found.kept)).all()


def test_how_often_an_order_holds_by_hand():
    # Document 0 is a 1 for everybody. Of document 1 one says 0 and two say 2: a resample of three has the mean
    # 2 b / 3, where b of three drew a 2, and system 0 passes where b is 0 or 1: (1 + 3 * 2) / 27.
    rows = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 0), (1, 1, 2), (1, 2, 2)]
    found = stability(ratings_of(*rows), of(2), draws=4000)
    assert found.means == pytest.approx([1, 4 / 3])
    expected = 1 - 7 / 27
    assert found.holds == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))
    assert found.leader_holds == found.holds == found.kept[0, 1] == found.kept[1, 0]
    # One in 27 resamples has the mean 0 for system 1, and eight have 2: both ends reach them.
    assert (found.low.tolist(), found.high.tolist()) == ([1, 0], [1, 2])
    assert np.isnan(found.tau)


def test_a_rater_left_out_can_turn_the_order():
    rows = [(0, 7, 3), (0, 8, 1), (1, 8, 2), (1, 9, 1), (2, 9, 0)]
    found = stability(ratings_of(*rows), of(3), draws=5)
    assert found.means == pytest.approx([2, 1.5, 0])
    by_rater = {each["rater"]: SimpleNamespace(**each) for each in found.left_out}
    assert by_rater[7].means == pytest.approx([1, 1.5, 0])
    assert by_rater[7].reversed == [(0, 1)]
    assert by_rater[8].reversed == []
    # Without rater 9 nobody judges document 2, and its system has no mean.
    assert (by_rater[9].unjudged, np.isnan(by_rater[9].means[2:])) == (1, [True])


def test_one_rating_a_pair_or_one_rater_tells_nothing():
    assert stability(ratings_of((0, 0, 1), (1, 1, 2)), score, draws=1) is None
    assert stability(ratings_of((0, 0, 1), (1, 0, 2)), score, draws=1) is None


def test_systems_that_tie_have_no_order_to_keep():
    rows = [(0, 0, 1), (0, 1, 3), (1, 0, 2), (1, 1, 2)]
    found = stability(ratings_of(*rows), of(2), draws=50)
    assert np.isnan([found.holds, found.leader_holds]).all()
    assert np.isnan(found.kept).all()


def test_a_system_that_never_had_a_mean_has_no_order_to_lose():
    rows = [(0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 1, 2)]
    found = stability(ratings_of(*rows), of(3), draws=5)
    assert np.isnan(found.means[2]) and np.isnan(found.low[2])
    assert (found.holds, found.leader_holds, found.kept[0, 1]) == (1, 1, 1)
    assert np.isnan(found.kept[2]).all()
    nobody = stability(ratings_of(*rows), lambda ratings: np.full(2, np.nan), draws=5)
    assert np.isnan([nobody.holds, nobody.leader_holds, nobody.tau]).all()


def test_adjudicated_grades_are_not_resampled():
    decided = Judgments(1, np.array([0]), np.array([0]), np.array([3.0]))
    rows = [(0, 0, 0), (0, 1, 9), (1, 0, 2), (1, 1, 2)]
    found = stability(ratings_of(*rows, adjudicated=decided), of(2), draws=50)
    assert (found.low[0], found.high[0], found.holds) == (3, 3, 1)


def test_the_seed_makes_the_draws():
    rows = [(document, rater, (document * rater + rater) % 4) for document in range(5) for rater in range(4)]
    first, again, other = (stability(ratings_of(*rows), of(5), draws=30, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.kept, again.kept)
    assert (first.low.tolist(), first.tau) == (again.low.tolist(), again.tau)
    assert first.tau != other.tau


def test_tau_by_hand():
    grades = [6, 5, 4, 3, 2, 2.5]
    rows = [(document, 0, grade) for document, grade in enumerate(grades)] + [(4, 1, 9), (5, 1, -3)]
    found = stability(ratings_of(*rows), of(6), draws=5)
    assert found.means.tolist() == [6, 5, 4, 3, 5.5, -0.25]
    without = SimpleNamespace(**found.left_out[1])
    assert without.means == grades
    # Without rater 1 system 4 falls behind 1, 2, 3 and 5: four of fifteen pairs are turned.
    assert without.reversed == [(4, 1), (4, 2), (4, 3), (4, 5)]
    assert without.tau == pytest.approx((15 - 2 * 4) / 15)


def test_the_draws_of_a_query_do_not_depend_on_other_queries():
    generator = np.random.default_rng(5)
    grade, rater = generator.integers(0, 4, 24).astype(float), np.tile(np.arange(3), 8)
    document = np.repeat(np.arange(8), 3)
    both = Ratings(2, document // 4, document, rater, grade, np.ones(24))
    second = Ratings(1, np.zeros(12, np.int64), document[12:], rater[12:], grade[12:], np.ones(12))
    several = agreement.worlds(both, ["q1", "q2"], [1], draws=5)
    for each, alone in zip(several, agreement.worlds(second, ["q2"], [1], draws=5), strict=True):
        rows = each.query == 1
        assert each.rater[rows].tolist() == alone.rater.tolist()
        assert each.grade[rows].tolist() == alone.grade.tolist()
