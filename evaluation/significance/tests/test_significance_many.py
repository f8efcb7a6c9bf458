"""Many comparisons at once: Holm by hand, Tukey's HSD by a plain loop."""

import numpy as np
import pytest

from evaluation.significance import holm, shuffles, tukey_hsd
from evaluation.significance.paired import differences, randomisation


def test_holm_by_hand():
    # The least of four times 4, the next times 3, and so on; none below the one before it, and none above 1.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.4, 0.6])).tolist() == [0.8, 0.8]
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


def test_holm_of_one_changes_nothing_and_what_has_no_p_counts_for_none():
    assert holm(np.array([0.03])).tolist() == [0.03]
    assert holm(np.array([0.03, np.nan, 0.02])).tolist() == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)
    assert holm(np.array([np.nan])).tolist() == pytest.approx([np.nan], nan_ok=True)
    assert holm(np.empty(0)).size == 0


def some_values(queries: int = 20, systems: int = 4) -> np.ndarray:
    generator = np.random.default_rng(3)
    return generator.random((queries, 1)) + generator.random((queries, systems)) * 0.5 + [0.3, 0, 0, 0.1][:systems]


def test_tukey_hsd_agrees_with_a_plain_loop_of_shuffles():
    values = some_values()
    generator, ranges = np.random.default_rng(4), []
    for _ in range(4000):
        means = np.mean([generator.permutation(row) for row in values], axis=0)
        ranges.append(means.max() - means.min())
    found = tukey_hsd(values, draws=4000, seed=5)
    assert found.critical == pytest.approx(np.quantile(ranges, 0.95), rel=0.05)
    assert np.isnan(np.diag(found.p)).all()
    for a in range(4):
        for b in range(a):
            expected = np.mean(np.array(ranges) >= abs(values[:, a].mean() - values[:, b].mean()))
            # Four standard deviations of the difference of two such shares.
            assert abs(found.p[a, b] - expected) <= 4 * np.sqrt(2 * expected * (1 - expected) / 4000) + 1e-3
            assert found.p[a, b] == found.p[b, a]


def test_every_system_gets_every_value_of_a_query_as_often():
    # One query: the means after a shuffle are its values in another order.
    values = np.array([[0.0, 1.0, 10.0, 100.0]])
    seen, left = np.zeros((4, 4)), values[0]
    for seed in range(50):
        for row in _shuffled(values, 100, seed):
            for place, value in enumerate(row):
                seen[place, np.flatnonzero(left == value)[0]] += 1
    # 5,000 draws: each value in each place 1,250 times, give or take four standard deviations.
    assert (np.abs(seen - 1250) < 4 * np.sqrt(5000 * 0.25 * 0.75)).all()


def _shuffled(values: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """float64[draws, systems]: the means after each shuffle."""
    return shuffles.shuffled_sums(values, draws, seed).T / len(values)


def test_tukey_hsd_of_two_systems_is_the_randomisation_test():
    values = some_values(systems=2)
    by_shuffles = tukey_hsd(values, draws=20_000, seed=6).p[0, 1]
    by_signs = randomisation(differences(values, [0], [1]), draws=20_000, seed=6)[0]
    assert by_shuffles == pytest.approx(by_signs, abs=4 * np.sqrt(2 * by_signs / 20_000))


def test_what_was_observed_is_among_the_shuffles_and_equals_what_is_as_far():
    # Of one query every shuffle has the values that it has, and the same distance between the best and the worst.
    assert tukey_hsd(np.array([[0.1, 0.2, 0.4]]), 99, 1).p[0, 2] == 1
    # That a system is best and another worst on all of forty queries will not come by chance.
    values = some_values(40) + [0, 1, 2, 3]
    assert tukey_hsd(values, 99, 1).p[0, 3] == 1 / 100


def test_draws_taken_in_pieces_are_as_many_and_the_seed_makes_them(monkeypatch):
    values = some_values()
    whole = tukey_hsd(values, 300, seed=7)
    assert tukey_hsd(values, 300, seed=7).critical == whole.critical
    assert tukey_hsd(values, 300, seed=8).critical != whole.critical
    monkeypatch.setattr(shuffles, "MOST_CACHED_BYTES", 0)
    assert tukey_hsd(values, 300, seed=7).critical == whole.critical
    monkeypatch.setattr(shuffles, "ROWS_AT_ONCE", 77)
    assert tukey_hsd(values, 300, seed=7).critical == pytest.approx(whole.critical, rel=0.1)


@pytest.mark.parametrize("changed", [1, 4, 30])
def test_sums_of_a_few_changed_rows_are_those_of_all_rows_to_the_last_bit(monkeypatch, changed):
    values = some_values(40)
    shuffles.shuffled_sums(values, 200, seed=3)
    after = values.copy()
    after[:changed] = np.random.default_rng(1).random((changed, values.shape[1]))
    found = shuffles.shuffled_sums(after, 200, seed=3)
    monkeypatch.setattr(shuffles, "MOST_CACHED_BYTES", 0)
    assert (found == shuffles.shuffled_sums(after, 200, seed=3)).all()
    assert (found != shuffles.shuffled_sums(values, 200, seed=3)).any()


def test_only_changed_rows_are_added_again(monkeypatch):
    values, added = some_values(40), []
    shuffles.shuffled_sums(values, 50, seed=11)
    every = shuffles._sums
    monkeypatch.setattr(shuffles, "_sums", lambda whole, orders: added.append(len(whole)) or every(whole, orders))
    after = values.copy()
    after[7] /= 2
    shuffles.shuffled_sums(after, 50, seed=11)
    shuffles.shuffled_sums(after, 50, seed=11)
    shuffles.shuffled_sums(1 - after, 50, seed=11)
    assert added == [1, 1, 40]


def test_systems_that_are_all_equal_are_told_apart_as_rarely_as_the_level_says():
    generator = np.random.default_rng(9)
    trials = 300
    rejected = sum(
        np.nanmin(tukey_hsd(generator.random((15, 4)), draws=199, seed=trial).p) <= 0.05 for trial in range(trials)
    )
    # 5 % of 300 are 15; fewer than 2 or more than 31 would happen once in ten thousand.
    assert 2 <= rejected <= 31


def test_what_no_query_tells_apart_has_no_p():
    found = tukey_hsd(np.tile(np.random.default_rng(1).random((12, 1)), 3), 99, 1)
    assert np.isnan(found.p).all() and np.isnan(found.critical)
    assert np.isnan(tukey_hsd(np.ones((12, 1)), 99, 1).critical)
    assert np.isnan(tukey_hsd(np.empty((0, 3)), 99, 1).p).all()
