from math import sqrt

import numpy as np
import pytest
from scipy import stats

from evaluation.significance.gate import NOT_WORSE, UNDECIDED, WORSE, Limits, agreed, limits, overall
from evaluation.significance.sampled import CERTAIN, OUTSIDE, Sampled

ALPHA, MARGIN = 0.05, 0.02


def test_limits_by_hand():
    # Mean -.1, standard deviation .1 · sqrt(16 / 15), sixteen queries: the standard error is .1 / sqrt(15).
    found = limits(np.array([0.0, -0.2] * 8), MARGIN, ALPHA)
    half = 1.7530503556925547 * 0.1 / sqrt(15)  # the 95 % quantile of t with 15 degrees, from tables
    assert (found.difference, found.queries) == (pytest.approx(-0.1, abs=1e-15), 16)
    assert (found.low, found.high) == pytest.approx((-0.1 - half, -0.1 + half), abs=1e-12)
    assert (found.verdict, found.needed) == (WORSE, None)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.01])
def test_verdicts_are_those_of_two_one_sided_t_tests(seed, alpha):
    generator = np.random.default_rng(seed)
    difference = generator.normal(generator.uniform(-0.1, 0.06), 0.1, 40)
    worse = stats.ttest_1samp(difference, -MARGIN, alternative="less").pvalue < alpha
    not_worse = stats.ttest_1samp(difference, -MARGIN, alternative="greater").pvalue < alpha
    told = limits(difference, MARGIN, alpha).verdict
    assert told == (WORSE if worse else NOT_WORSE if not_worse else UNDECIDED)


def test_where_no_query_differs_a_release_is_not_worse_even_without_a_margin():
    assert limits(np.zeros(3), 0.0, ALPHA).verdict == NOT_WORSE
    assert limits(np.zeros(0), 0.0, ALPHA).verdict == UNDECIDED


def test_a_stratum_of_a_log_without_a_value_leaves_it_open_though_no_query_differs():
    sampled = Sampled(stratum=np.zeros(20, np.int64), searches=np.ones(20))
    assert limits(np.zeros(20), MARGIN, ALPHA, sampled).verdict == NOT_WORSE
    without_head = Sampled(sampled.stratum, sampled.searches, left_out={CERTAIN: 9.0})
    assert limits(np.zeros(20), MARGIN, ALPHA, without_head).verdict == UNDECIDED


def test_queries_outside_the_sample_of_a_log_decide_nothing():
    outside = Sampled(stratum=np.full(20, OUTSIDE), searches=np.zeros(20))
    assert limits(np.linspace(0.1, 0.2, 20), 0.02, 0.05, outside) == Limits(None, None, None, 20, UNDECIDED)


def test_few_queries_that_differ_decide_nothing_and_say_how_many_would():
    found = limits(np.full(9, -0.5), MARGIN, ALPHA)
    assert (found.difference, found.low, found.verdict, found.needed) == (-0.5, None, UNDECIDED, 10)


def test_where_every_query_loses_just_the_margin_no_number_of_queries_decides():
    found = limits(np.full(20, -0.5), 0.5, ALPHA)
    assert (found.low, found.high, found.verdict, found.needed) == (-0.5, -0.5, UNDECIDED, None)


def test_the_number_of_queries_that_would_decide_decides():
    difference = np.random.default_rng(3).normal(-0.05, 0.2, 60)
    found = limits(difference, MARGIN, ALPHA)
    assert found.verdict == UNDECIDED
    # As many queries as said, alike, with the power of four in five: the observed mean alone then decides.
    more = np.resize(difference, found.needed)
    more += found.difference - more.mean()
    assert limits(more, MARGIN, ALPHA).verdict != UNDECIDED


@pytest.mark.parametrize(("margin", "alpha"), [(-0.01, 0.05), (float("nan"), 0.05), (0.02, 0), (0.02, 0.5)])
def test_a_margin_and_a_level_have_a_range(margin, alpha):
    with pytest.raises(ValueError, match="margin|alpha"):
        limits(np.zeros(20), margin, alpha)


def test_a_verdict_holds_in_every_reading_and_against_every_anchor():
    assert agreed([WORSE, WORSE]) == WORSE
    assert agreed([WORSE, UNDECIDED]) == agreed([NOT_WORSE, WORSE]) == UNDECIDED
    assert overall([NOT_WORSE, WORSE]) == overall([UNDECIDED, WORSE]) == WORSE
    assert overall([NOT_WORSE, UNDECIDED]) == UNDECIDED
    assert overall([NOT_WORSE, NOT_WORSE]) == NOT_WORSE


def test_a_release_as_good_as_its_anchor_is_called_worse_at_most_at_the_stated_rate():
    generator = np.random.default_rng(5)
    told = [limits(generator.normal(0, 0.15, 50), 0.0, ALPHA).verdict for _ in range(2_000)]
    assert told.count(WORSE) / 2_000 == pytest.approx(ALPHA, abs=0.015)
