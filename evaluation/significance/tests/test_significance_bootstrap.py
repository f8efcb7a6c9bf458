import numpy as np
import pytest

from evaluation.significance import bootstrap, bootstrap_interval
from evaluation.significance.draws import SEED


def test_two_queries_by_hand():
    # Resamples of (0, 1) have the means 0, 0.5, 0.5 and 1 with equal chance, so that 95 % of them reach from
    # 0 to 1: half a unit either side of the mean, widened by sqrt(2 / 1).
    low, high = bootstrap_interval(np.array([0.0, 1.0]))
    assert (low, high) == pytest.approx((0.5 - np.sqrt(0.5), 0.5 + np.sqrt(0.5)))


def test_the_level_cuts_the_tails_by_hand():
    # Of the same four means half lie from 0.25 to 0.75 of the way: the quartiles are about 0.5 -+ 0 or 0.5.
    # At level 0.4 both cuts, at 30 % and 70 %, fall on the mean 0.5 itself.
    assert bootstrap_interval(np.array([0.0, 1.0]), level=0.4) == pytest.approx((0.5, 0.5))


def test_equal_values_leave_no_doubt():
    assert bootstrap_interval(np.full(9, 0.1)) == (0.1, 0.1)


def test_fewer_than_two_queries_have_no_interval():
    assert np.isnan(bootstrap_interval(np.array([0.5]))).all()
    assert np.isnan(bootstrap_interval(np.empty(0))).all()
    low, high = bootstrap_interval(np.zeros((1, 3)))
    assert low.shape == high.shape == (3,)
    assert np.isnan(low).all()


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    values = np.random.default_rng(1).random(30)
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval(values) != bootstrap_interval(values, seed=2)


def test_columns_are_resampled_as_if_each_were_alone():
    values = np.random.default_rng(2).random((40, 21)) * np.logspace(-6, 6, 21)
    low, high = bootstrap_interval(values)
    for column in range(21):
        # To the last bit: a mean has one interval, whatever else is asked beside it.
        assert bootstrap_interval(values[:, column]) == (low[column], high[column])


def test_draws_taken_in_several_pieces_are_as_many(monkeypatch):
    values = np.random.default_rng(3).random(50)
    whole = bootstrap_interval(values)
    bootstrap._cached_resamples.cache_clear()
    monkeypatch.setattr(bootstrap, "ROWS_AT_ONCE", 7)
    assert bootstrap_interval(values) == whole


def test_draws_too_many_to_be_kept_are_the_same(monkeypatch):
    values = np.random.default_rng(6).random((50, 2))
    whole = bootstrap_interval(values)
    monkeypatch.setattr(bootstrap, "MOST_CACHED_BYTES", 0)
    monkeypatch.setattr(bootstrap, "_cached_resamples", None)
    np.testing.assert_array_equal(bootstrap_interval(values), whole)


def test_it_is_the_interval_of_drawing_the_values_themselves():
    values = np.random.default_rng(7).random(60)
    drawn = np.random.default_rng(SEED).integers(0, 60, (2000, 60))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    wider = np.sqrt(60 / 59)
    expected = (values.mean() + (low - values.mean()) * wider, values.mean() + (high - values.mean()) * wider)
    assert bootstrap_interval(values) == pytest.approx(expected, abs=1e-12)


def test_its_width_is_that_of_the_normal_theory_for_many_queries():
    values = np.random.default_rng(4).normal(size=2000)
    low, high = bootstrap_interval(values, draws=20_000)
    assert high - low == pytest.approx(2 * 1.96 * values.std(ddof=1) / np.sqrt(2000), rel=0.02)


@pytest.mark.parametrize("queries", [50, 225])
@pytest.mark.parametrize("shape", ["normal", "beta"])
def test_it_holds_the_true_mean_about_95_times_in_100(queries, shape):
    generator = np.random.default_rng(5)
    trials = 2000
    if shape == "normal":
        values, truth = generator.normal(0.5, 0.25, (queries, trials)), 0.5
    else:
        # Skewed as scores of hard queries are.
        values, truth = generator.beta(1, 2, (queries, trials)), 1 / 3
    low, high = bootstrap_interval(values)
    assert 0.93 <= ((low <= truth) & (truth <= high)).mean() <= 0.97


@pytest.mark.parametrize("bad", [[0.1, np.nan], np.zeros((2, 2, 2))])
def test_what_cannot_be_resampled_is_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        bootstrap_interval(bad)
