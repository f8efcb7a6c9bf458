"""Means over all searches of a log. The figures of an independent program are those of svy 0.35.0 (Python):

svy.Sample(rows, svy.Design(stratum="stratum", wgt="searches", singleton="skip")).estimation.mean("score")
"""

from itertools import product

import numpy as np
import pytest

from evaluation.measures import bounds_of_mean
from evaluation.significance import compare, paired
from evaluation.significance.gate import NOT_WORSE, UNDECIDED, WORSE, limits
from evaluation.significance.sampled import (
    CERTAIN,
    OUTSIDE,
    Sampled,
    bounds_of_estimate,
    estimate,
    mean_of_searches,
    pseudo_values,
)

STRATUM = np.array([CERTAIN] * 3 + [0] * 5 + [1] * 4)
SEARCHES = np.array([400.0, 250, 150, *[60] * 5, 30, 20, 45, 25])
SCORE = np.array([0.9, 0.55, 0.7, 0.4, 0.8, 0.35, 0.6, 0.5, 0.2, 0.75, 0.1, 0.45])
SECOND = np.array([0.85, 0.6, 0.75, 0.3, 0.9, 0.2, 0.5, 0.55, 0.1, 0.8, 0.0, 0.4])
TAIL = slice(3, 12)
ONE_STRATUM = slice(0, 8)
NAN = float("nan")


@pytest.mark.parametrize(
    ("rows", "values", "mean", "error"),
    [
        (ONE_STRATUM, SCORE, 0.6922727272727273, 0.02181818181818182),
        (ONE_STRATUM, SCORE - SECOND, 0.010909090909090933, 0.013220945065680898),
        (TAIL, SCORE, 0.4660714285714286, 0.07312972136378214),
        (slice(0, 12), SCORE, 0.6543032786885246, 0.027326456115072353),
        (slice(0, 12), SCORE - SECOND, 0.016188524590163955, 0.012456382169063992),
    ],
)
def test_means_and_standard_errors_are_those_of_another_program(rows, values, mean, error):
    sampled = Sampled(STRATUM[rows], SEARCHES[rows])
    pseudo = pseudo_values(values[rows, np.newaxis], sampled)[:, 0]
    assert estimate(values[rows], sampled).mean == pytest.approx(mean, abs=1e-14)
    assert pseudo.mean() == pytest.approx(mean, abs=1e-14)
    assert pseudo.std(ddof=1) / np.sqrt(len(pseudo)) == pytest.approx(error, abs=1e-14)


@pytest.mark.parametrize(
    ("rows", "low", "high"),
    [
        (ONE_STRATUM, 0.6316957431593209, 0.7528497113861337),  # 4 degrees of freedom
        (TAIL, 0.2931471159224064, 0.6389957412204508),  # 7
        (slice(0, 12), 0.5896864778487385, 0.7189200795283106),
    ],
)
def test_intervals_are_those_of_another_program(rows, low, high):
    found = estimate(SCORE[rows], Sampled(STRATUM[rows], SEARCHES[rows]))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-14)


def test_a_query_stands_for_its_count_by_its_chance():
    count, chance = np.array([60, 5, 10, NAN, 8]), np.array([1, 0.25, 0.5, NAN, 0.1])
    found = Sampled.of(count, chance, np.array(["head", "tail", "tail", "", "rare"], object))
    assert found.searches.tolist() == [60, 20, 20, 0, 80]
    assert found.stratum.tolist() == [CERTAIN, 3, 3, OUTSIDE, 2]
    assert (found.drawn, found.joined_strata.tolist()) == (3, [2, 2, 2])


def test_a_mean_by_hand():
    # 60 searches for certain with the score 1, and 40 in the tail: .6 · 1 + .4 · mean(0, .5) = .7.
    # Standard error: .4 · sd(0, .5) / sqrt(2) = .1, t with 1 degree 12.7062.
    sampled = Sampled(np.array([CERTAIN, 0, 0]), np.array([60.0, 20, 20]))
    found = estimate(np.array([1, 0, 0.5]), sampled)
    assert (found.mean, sampled.share(np.ones(3, bool))) == (pytest.approx(0.7), 1)
    assert (found.low, found.high) == pytest.approx((0.7 - 1.27062, 0.7 + 1.27062), abs=1e-5)


def test_a_query_without_a_value_is_left_out_of_its_stratum_and_lowers_the_share():
    sampled = Sampled(np.array([CERTAIN, CERTAIN, 0, 0, 0]), np.array([50.0, 10, 20, 20, 20]))
    values = np.array([1, NAN, 0, 0.5, NAN])
    assert estimate(values, sampled).mean == pytest.approx((60 * 1 + 60 * 0.25) / 120)
    assert sampled.share(~np.isnan(values)) == pytest.approx(90 / 120)


def test_what_is_left_out_counts_in_its_stratum_and_the_others_stand_for_it():
    """By hand: a head of 50 + 10 left out, a tail of 20 + 20 + 20 left out: .5 · 1 + .5 · mean(0, .5) = .625."""
    sampled = Sampled(np.array([CERTAIN, 0, 0]), np.array([50.0, 20, 20]), {CERTAIN: 10.0, 0: 20.0})
    found = estimate(np.array([1, 0, 0.5]), sampled)
    assert (found.mean, sampled.share(np.ones(3, bool))) == (pytest.approx(0.625), pytest.approx(90 / 120))
    assert found.high - found.mean == pytest.approx(12.7062 * 0.5 * 0.25, abs=1e-5)  # t, weight, standard error
    every = Sampled(np.array([CERTAIN, CERTAIN, 0, 0, 0]), np.array([50.0, 10, 20, 20, 20]))
    assert every.without(np.array([False, True, False, False, True])).left_out == sampled.left_out
    low, high = np.array([0.0, 0.2, 0.4]), np.array([1.0, 0.3, 0.9])
    certain = np.ones(3, bool)
    assert bounds_of_estimate(low, high, certain, certain, sampled) == pytest.approx((0.15, 0.8), abs=1e-14)


def test_where_all_of_a_stratum_is_left_out_nothing_has_an_interval():
    values = np.column_stack([SCORE, SECOND])
    sampled = Sampled(STRATUM, SEARCHES, {7: 1000.0})
    found = estimate(SCORE, sampled)
    assert found.mean == pytest.approx(0.6543032786885246)
    assert sampled.share(~np.isnan(SCORE)) == pytest.approx(1220 / 2220)
    assert np.isnan(found.low)
    assert np.isnan(bounds_of_estimate(SCORE, SCORE, SCORE > 0, SCORE > 0, sampled)).all()
    (pair,) = compare(values, [(0, 1)], sampled=sampled).pairs
    assert pair.low is None and "stratum" in pair.why["low"]
    outcome = limits(SECOND - SCORE, 0.02, 0.05, sampled)
    assert (outcome.verdict, outcome.low, outcome.needed) == (UNDECIDED, None, None)
    no_head = estimate(np.where(STRATUM == CERTAIN, NAN, SCORE), Sampled(STRATUM, SEARCHES))
    assert no_head.mean == pytest.approx(0.4660714285714286) and np.isnan(no_head.low)


def test_rounding_puts_no_mean_outside_of_its_interval_or_past_all_values():
    rng = np.random.default_rng(9)
    for n in range(2, 200):
        sampled = Sampled(np.where(np.arange(n) < n // 2, CERTAIN, 0), rng.uniform(1, 1e6, n))
        for values in (np.ones(n), np.full(n, 0.1), 1 - 1e-16 * rng.integers(0, 3, n)):
            found = estimate(values, sampled)
            assert values.min() <= found.mean <= values.max()
            assert not found.low > found.mean and not found.mean > found.high
            gated = limits(values, 0, 0.05, sampled)
            assert gated.low is None or gated.low <= gated.difference <= gated.high


def test_queries_outside_of_the_sample_count_in_nothing():
    inside = estimate(SCORE, Sampled(STRATUM, SEARCHES))
    outside = estimate(np.append(SCORE, 0.0), Sampled(np.append(STRATUM, OUTSIDE), np.append(SEARCHES, 0.0)))
    assert outside == inside


def test_equal_weights_give_the_plain_mean_and_its_t_interval():
    found = estimate(SCORE, Sampled.by_weight(np.full(12, 2.5)))
    low, high = paired.t_interval(SCORE[:, np.newaxis], 0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((SCORE.mean(), low[0], high[0]), abs=1e-14)


def test_what_has_no_sampling_error_and_what_has_no_interval():
    census = Sampled(np.array([CERTAIN, CERTAIN]), np.array([3.0, 1]))
    found = estimate(np.array([1.0, 0]), census)
    assert (found.mean, found.low, found.high) == (0.75, 0.75, 0.75)
    single = estimate(np.array([1.0, 0]), Sampled(np.array([CERTAIN, 0]), np.array([3.0, 1])))
    assert single.mean == 0.75 and np.isnan(single.low)
    head_and_tail = Sampled(np.array([CERTAIN, 0]), np.array([3.0, 1]))
    only_head = estimate(np.array([1.0, NAN]), head_and_tail)
    assert (only_head.mean, head_and_tail.share(np.array([True, False]))) == (1, 0.75) and np.isnan(only_head.low)
    nothing = estimate(np.array([NAN, NAN]), census)
    assert np.isnan(nothing.mean) and np.isnan(nothing.low) and census.share(np.zeros(2, bool)) == 0


@pytest.mark.parametrize(
    ("strata", "groups"),
    [([0, 0, 1, 2, 2], [0, 0, 0, 2, 2]), ([0, 1, 1], [0, 0, 0]), ([0], [0]), ([0, 1, 2], [0, 0, 0])],
)
def test_a_stratum_with_one_query_is_joined_to_a_neighbour(strata, groups):
    sampled = Sampled(np.array(strata), np.ones(len(strata)))
    assert sampled.joined_strata.tolist() == groups
    rows = pseudo_values(np.arange(len(strata))[:, np.newaxis], sampled)
    assert rows.mean() == pytest.approx(np.mean(np.arange(len(strata))))


def test_compared_systems_differ_by_the_difference_of_their_means_over_searches():
    sampled, both = Sampled(STRATUM, SEARCHES), np.column_stack([SECOND, SCORE])
    tests = compare(both, [(0, 1)], sampled=sampled)
    (pair,) = tests.pairs
    means = mean_of_searches(both, sampled)
    assert pair.difference == pytest.approx(means[1] - means[0], abs=1e-15)
    assert (pair.low, pair.high) == pytest.approx((-0.013266138773912688, 0.0456431879542406), abs=1e-14)
    assert (tests.queries, tests.drawn) == (12, 9)
    assert (pair.wins, pair.ties, pair.losses) == (7, 0, 5)
    assert pair.p is None and pair.why["p"] == "fewer than 10 queries that were drawn"


def test_a_comparison_of_all_queries_of_a_log_has_a_difference_without_an_interval():
    census = Sampled(np.full(12, CERTAIN), SEARCHES)
    (pair,) = compare(np.column_stack([SECOND, SCORE]), [(0, 1)], sampled=census).pairs
    assert pair.difference == pytest.approx((SEARCHES @ (SCORE - SECOND)) / SEARCHES.sum())
    assert pair.low is None and pair.why["low"] == "no query was drawn: all were taken for certain"


def test_a_comparison_with_a_single_drawn_query_has_a_difference_without_an_interval():
    """Such as in a segment of the log with few queries."""
    sampled = Sampled(np.array([CERTAIN, 0]), np.array([3.0, 1]))
    (pair,) = compare(np.array([[0.5, 0.7], [0.2, 0.6]]), [(0, 1)], sampled=sampled).pairs
    assert pair.difference == pytest.approx((3 * 0.2 + 0.4) / 4)
    assert (pair.low, pair.bootstrap_low, pair.why["low"]) == (None, None, "one query")


def test_the_gate_takes_the_difference_over_searches():
    # On the head, with nine tenths of the searches, the release loses .1. On the tail it gains .1.
    stratum, searches = np.array([CERTAIN] * 5 + [0] * 20), np.array([180.0] * 5 + [5.0] * 20)
    difference = np.concatenate([np.full(5, -0.1), np.tile([0.09, 0.11], 10)])
    by_log = limits(difference, 0.02, 0.05, Sampled(stratum, searches))
    assert (by_log.verdict, by_log.difference) == (WORSE, pytest.approx(0.9 * -0.1 + 0.1 * 0.1))
    assert limits(difference, 0.02, 0.05).verdict == NOT_WORSE
    few = limits(difference[:10], 0.02, 0.05, Sampled(stratum[:10], searches[:10]))
    assert (few.verdict, few.queries, few.needed) == (UNDECIDED, 10, 15)
    census = limits(difference[:5], 0.02, 0.05, Sampled(stratum[:5], searches[:5]))
    assert census.verdict == WORSE and census.low == census.high == census.difference


def test_bounds_are_those_of_all_choices_of_queries():
    rng = np.random.default_rng(4)
    stratum, searches = np.array([CERTAIN, CERTAIN, CERTAIN, 0, 0, 0]), rng.uniform(1, 9, 6)
    low = rng.uniform(0, 0.5, 6)
    high = low + rng.uniform(0, 0.5, 6)
    certain = np.array([True, False, False, True, False, False])
    sampled = Sampled(stratum, searches)
    means = []
    for chosen in product([False, True], repeat=4):
        has_value = certain.copy()
        has_value[[1, 2, 4, 5]] = chosen
        means += [estimate(np.where(has_value, end, NAN), sampled).mean for end in (low, high)]
    found = bounds_of_estimate(low, high, certain, np.ones(6, bool), sampled)
    assert found == pytest.approx((min(means), max(means)), abs=1e-14)
    assert np.isnan(bounds_of_estimate(low, high, stratum == 0, np.ones(6, bool), sampled)).all()
    alike = Sampled(np.zeros(6, np.int64), np.ones(6))
    plain = bounds_of_mean(low, high, certain, np.ones(6, bool))
    assert bounds_of_estimate(low, high, certain, np.ones(6, bool), alike) == pytest.approx(plain, abs=1e-14)
