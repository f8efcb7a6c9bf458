"""One pair of systems on the same queries: SciPy, plain loops and numbers by hand as judges."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evaluation.significance import paired, power


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float64)[:, np.newaxis]


def some_differences(queries: int = 30, pairs: int = 4, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.05, 0.2, (queries, pairs))


def test_the_t_test_is_that_of_scipy():
    differences = some_differences()
    expected = stats.ttest_1samp(differences, 0)
    t, p = paired.t_test(differences)
    np.testing.assert_allclose(t, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(p, expected.pvalue, rtol=1e-10)


def test_the_t_test_of_two_systems_is_that_of_scipy():
    values = np.random.default_rng(2).random((25, 2))
    t, p = paired.t_test(paired.differences(values, [0], [1]))
    expected = stats.ttest_rel(values[:, 1], values[:, 0])
    assert (t[0], p[0]) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


def test_the_t_test_by_hand():
    # The mean is 2, the deviation sqrt((1 + 0 + 1) / 2) = 1, and t = 2 / (1 / sqrt(3)).
    t, p = paired.t_test(column(1, 2, 3))
    assert t[0] == pytest.approx(2 * np.sqrt(3))
    # Student's t with two degrees of freedom has a closed form: 1 - |t| / sqrt(t**2 + 2).
    assert p[0] == pytest.approx(1 - np.sqrt(12 / 14))


def test_the_t_interval_is_that_of_scipy_and_touches_0_where_p_is_5_percent():
    differences = some_differences()
    low, high = paired.t_interval(differences, 0.95)
    expected = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    np.testing.assert_allclose((low, high), (expected.low, expected.high), rtol=1e-10)
    shifted = differences - low
    np.testing.assert_allclose(paired.t_test(shifted)[1], 0.05, rtol=1e-9)


def test_exact_randomisation_is_that_of_scipy():
    differences = some_differences(queries=12)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, axis=0
    )
    np.testing.assert_allclose(paired.randomisation(differences, draws=7, seed=1), expected.pvalue, rtol=1e-12)


def test_exact_randomisation_is_a_loop_over_all_signs():
    # Tenths that no float holds: -0.1 - 0.2 + 0.3 is as far from 0 as 0.1 + 0.2 - 0.3, though floats differ.
    differences = [0.1, 0.2, -0.3, 0.1]
    as_far = sum(
        abs(sum(s * round(10 * d) for s, d in zip(signs, differences, strict=True))) >= 1
        for signs in product((1, -1), repeat=4)
    )
    assert paired.randomisation(column(*differences), draws=7, seed=1)[0] == as_far / 16


def test_drawn_randomisation_is_close_to_the_exact_one(monkeypatch):
    differences = some_differences(queries=14)
    exact = paired.randomisation(differences, draws=7, seed=1)
    monkeypatch.setattr(paired, "EXACT_BELOW", 14)
    drawn = paired.randomisation(differences, draws=20_000, seed=1)
    assert (drawn != exact).any()
    deviation = np.sqrt(exact * (1 - exact) / 20_000)
    assert (np.abs(drawn - exact) < 4 * deviation + 1e-4).all()


def test_drawn_randomisation_counts_what_was_observed_among_the_draws():
    # Thirty wins of the same size: not one of 999 draws is as far.
    assert paired.randomisation(np.ones((30, 1)), draws=999, seed=3)[0] == 1 / 1000


def test_drawn_randomisation_is_a_loop_over_its_draws(monkeypatch):
    differences = some_differences(queries=17, pairs=2)
    flips = np.concatenate(list(paired._random_flips(17, 500, 9)))
    assert flips.shape == (500, 17)
    assert 0.45 < flips.mean() < 0.55
    for place in range(2):
        whole = abs(differences[:, place].sum())
        as_far = sum(abs((np.where(row, -1, 1) * differences[:, place]).sum()) >= whole - 1e-12 for row in flips)
        assert paired.randomisation(differences, 500, 9)[place] == (as_far + 1) / 501
    together = paired.randomisation(differences, 500, 9)
    monkeypatch.setattr(paired, "ROWS_AT_ONCE", 64)
    np.testing.assert_array_equal(np.concatenate(list(paired._random_flips(17, 500, 9))), flips)
    np.testing.assert_array_equal(paired.randomisation(differences, 500, 9), together)


def test_the_same_seed_gives_the_same_p_and_another_seed_another():
    differences = some_differences()
    first = paired.randomisation(differences, 1000, seed=1)
    np.testing.assert_array_equal(paired.randomisation(differences, 1000, seed=1), first)
    assert (paired.randomisation(differences, 1000, seed=2) != first).any()
    np.testing.assert_array_equal(paired.randomisation(differences[:, 2:3], 1000, seed=1), first[2:3])


def test_wilcoxon_by_hand():
    # Ten differences of different size, all for one system: two of 2**10 signs are as far.
    assert paired.wilcoxon(column(*range(1, 11)))[0] == pytest.approx(2 / 2**10)


def test_wilcoxon_of_few_queries_is_a_loop_over_all_signs():
    # 0.2 and -0.2 share the ranks 2 and 3; the zeros have none, and so push no rank up.
    ranks = [1, 2.5, -2.5, 4, -5, 0, 0]
    as_far = sum(
        abs(sum(s * r for s, r in zip(signs, ranks, strict=True))) >= abs(sum(ranks))
        for signs in product((1, -1), repeat=7)
    )
    assert paired.wilcoxon(column(0.1, 0.2, -0.2, 0.3, -0.4, 0, 0))[0] == as_far / 2**7
    # 1 + 2 + 3 - 4 is no further than 14 of 16 sums; with ranks that begin at 3 it would be 10.
    assert paired.wilcoxon(column(0.1, 0.2, 0.3, -0.4, 0, 0))[0] == 14 / 16


def test_wilcoxon_of_many_queries_without_ties_is_exact_in_scipy():
    differences = some_differences(queries=30)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    np.testing.assert_allclose(paired.wilcoxon(differences), expected, rtol=1e-12)


@pytest.mark.parametrize("queries", [15, 49, 50, 51, 400])
@pytest.mark.parametrize("decimals", [1, 9])
def test_wilcoxon_is_that_of_scipy_with_and_without_ties(queries, decimals):
    differences = np.round(np.random.default_rng(queries).normal(0.1, 1, (queries, 20)), decimals)
    differences[:, 0] = 0.5  # all tied, on one side
    differences[:, 1] = np.where(np.arange(queries) == 3, -0.25, 0)  # all but one are zero
    for place, column in enumerate(differences.T):
        ties = len(np.unique(np.abs(column[column != 0]))) < queries
        method = "asymptotic" if ties or queries > paired.EXACT_RANKS else "exact"
        expected = stats.wilcoxon(column, method=method).pvalue
        assert paired.wilcoxon(differences)[place] == pytest.approx(expected, rel=1e-12)


def test_wilcoxon_with_a_zero_goes_by_the_normal_approximation():
    differences = some_differences(queries=30, pairs=1)
    differences[0] = 0
    assert paired.wilcoxon(differences)[0] == pytest.approx(signed_rank_p(differences[1:, 0]), rel=1e-12)


def test_wilcoxon_leaves_zeros_out():
    differences = some_differences(queries=80)
    differences[:20] = 0
    differences[:, 3] = 0
    p = paired.wilcoxon(differences)
    for place in range(3):
        assert p[place] == pytest.approx(signed_rank_p(differences[20:, place]), rel=1e-12)
    assert np.isnan(p[3])


def signed_rank_p(differences: np.ndarray) -> float:
    """By the normal approximation, for sizes that are all different."""
    n, ranks = len(differences), np.abs(differences).argsort().argsort() + 1
    z = (ranks[differences > 0].sum() - n * (n + 1) / 4) / np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return 2 * stats.norm.sf(abs(z))


def test_what_is_rounding_alone_is_a_tie():
    values = np.array([[0.1 + 0.2, 0.3], [0.5, 0.75], [1.0, 0.5]])
    differences = paired.differences(values, [0], [1])
    assert differences.ravel().tolist() == [0.0, 0.25, -0.5]
    assert paired.tally(differences).ravel().tolist() == [1, 1, 1]


def test_differences_that_cancel_have_the_mean_0_and_not_one_of_rounding():
    differences = column(0.1, 0.2, -0.3)
    assert differences.mean() != 0
    assert paired.mean(differences)[0] == 0


def test_equal_differences_have_no_t_and_nothing_that_differs_has_no_p():
    differences = np.column_stack([np.full(20, 0.1), np.zeros(20)])
    t, p = paired.t_test(differences)
    assert np.isnan([t, p]).all()
    assert paired.deviation(differences).tolist() == [0, 0]
    randomised = paired.randomisation(differences, 999, 1)
    assert randomised[0] == 1 / 1000
    assert np.isnan(randomised[1])


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_two_equal_systems_are_told_apart_as_rarely_as_the_level_says(shape):
    generator = np.random.default_rng(11)
    trials, queries = 2000, 20
    if shape == "normal":
        differences = generator.normal(0, 0.2, (queries, trials))
    else:
        # Two systems that are as good, and differ much on few queries.
        differences = generator.beta(0.5, 2, (queries, trials)) - generator.beta(0.5, 2, (queries, trials))
    _, p = paired.t_test(differences)
    randomised = paired.randomisation(differences, 999, 1)
    # 99.9 % of tests that reject 5 % of the time reject this often.
    low, high = stats.binom.interval(0.999, trials, 0.05)
    assert low <= (p <= 0.05).sum() <= high
    assert low <= (randomised <= 0.05).sum() <= high


def test_the_number_of_queries_is_that_of_the_noncentral_t():
    for effect in (0.1, 0.3, 0.5, 0.8):
        for alpha in (0.05, 0.01):
            needed = power.queries_needed(effect, alpha)
            assert abs(needed - smallest_sample(effect, alpha)) <= 2, (effect, alpha)


def smallest_sample(effect: float, alpha: float) -> int:
    """The first n at which the paired t test sees the effect four times in five."""
    n = np.arange(2, 3000)
    limit = stats.t.ppf(1 - alpha / 2, n - 1)
    return int(n[np.argmax(stats.nct.sf(limit, n - 1, effect * np.sqrt(n)) >= 0.8)])


def test_the_numbers_of_queries_that_sakai_designs_for():
    # A deviation of 0.246 or of 0.309, and the differences that one wants to see.
    assert [power.queries_needed(d / 0.246, 0.05) for d in (0.2, 0.1, 0.05)] == [14, 50, 192]
    assert [power.queries_needed(d / 0.309, 0.05) for d in (0.2, 0.1, 0.05)] == [21, 77, 302]


def test_the_least_effect_is_the_one_that_needs_so_many_queries():
    for n in (10, 50, 225):
        effect = power.least_effect(n, 0.05)
        assert power.queries_needed(effect * 1.0001, 0.05) == n
        assert power.queries_needed(effect * 0.9999, 0.05) == n + 1
    assert power.queries_needed(0.0, 0.05) is None
    assert power.least_effect(1, 0.05) is None
