"""Simulations: figures by hand, a whole run on a small collection, and what a simulated year of a watch is."""

from pathlib import Path

import numpy as np
import pytest

from bench.simulations import _queue, watch
from bench.simulations import next as bench
from bench.simulations._judging import collections, exact
from evaluation.expected import Estimate
from evaluation.significance.nightly import Signs

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path) -> Path:
    """Twelve queries with forty judged documents, and a document that nobody judged first in every list."""
    generator = np.random.default_rng(4)
    (tmp_path / "small" / "runs").mkdir(parents=True)
    grade = generator.choice([-1, 0, 1, 2], (12, 40), p=[0.1, 0.5, 0.2, 0.2])
    lines = [f"{q} 0 d{d} {grade[q, d]}\n" for q in range(12) for d in range(40)]
    (tmp_path / "small" / "qrels.txt").write_text("".join(lines))
    for system in range(5):
        with (tmp_path / "small" / "runs" / f"s{system}.run").open("w") as file:
            for q in range(12):
                best = np.argsort(-(grade[q] + generator.normal(0, 1 + system, 40)))[:25]
                for rank, name in enumerate(["stranger", *(f"d{d}" for d in best)], 1):
                    file.write(f"{q} Q0 {name} {rank} {100 - rank} s{system}\n")
    return tmp_path


def test_tau_counts_ties_by_hand():
    """Of three pairs one is tied in the first, and the others agree."""
    assert bench.tau(np.array([1.0, 2, 3]), np.array([1.0, 2, 3])) == 1
    assert bench.tau(np.array([1.0, 1, 3]), np.array([1.0, 2, 3])) == pytest.approx(2 / np.sqrt(2 * 3))


def test_figures_of_an_estimate_by_hand():
    """Means are .1 too high, too low and right; standard deviations .05, so that intervals reach .082."""
    found = Estimate(np.array([0.6, 0.4, 0.7]), np.eye(3) * 0.05**2)
    figures = bench.figures(found, np.array([0.5, 0.5, 0.7]))
    assert figures["error"] == pytest.approx(0.1)
    assert figures["signs"] == 1
    assert figures["levels held"] == pytest.approx(1 / 3)
    assert figures["levels wide"] == pytest.approx(2 * 1.645 * 0.05, rel=1e-3)
    assert figures["pairs held"] == pytest.approx(2 / 3)
    assert figures["behind"] == 0


def test_lists_are_condensed_to_judged_documents_and_the_truth_is_known(folder):
    (make,) = collections(folder, ["cranfield"]).values()
    pool, truth = make().draw(1)
    assert (pool.systems, pool.queries, pool.gains.tolist()) == (3, 12, [0, 1, 2])
    assert (truth >= 0).all()
    assert (pool.rank.min(axis=0) == 1).all()
    assert pool.rank[pool.rank <= 100].max() <= 25
    means = exact(pool, truth)
    assert ((means > 0) & (means < 1)).all()


@pytest.mark.django_db
def test_the_queue_plays_the_same_draw_to_its_true_means(folder, monkeypatch):
    """With systems in the order of the pool, whatever order the app has them in."""
    monkeypatch.setattr(_queue, "prepared_here", lambda process: None)
    monkeypatch.setattr(_queue, "BUDGETS", (0.3, 1.0))
    monkeypatch.setattr("evaluation.deciding.state.SMALL_POOL_PAIRS", 0)
    (make,) = collections(folder, ["cranfield"]).values()
    pool, truth = make().draw(1)
    (_, level, early), (_, whole, late) = _queue.through_queue(pool, truth, 1)
    assert (level >= 0).sum() == round(0.3 * pool.pairs)
    assert early.covariance.shape == (3, 3)
    assert (whole == truth).all()
    assert late.mean == pytest.approx(exact(pool, truth), abs=1e-9)


def test_signs_that_are_kept_for_a_year_are_those_of_each_night():
    has_value = np.arange(20) % 3 > 0
    kept = watch.Kept([1, 2], range(20), 3_000)
    some = Signs([1, 2], np.flatnonzero(has_value).tolist(), 3_000)
    for start in (0, 2_000):
        assert kept.within(has_value).part(start).tolist() == some.part(start).tolist()


def test_unchanged_years_lose_nothing_on_the_mean_over_a_log(monkeypatch):
    monkeypatch.setattr(watch, "DISTINCT", 500)
    generator = np.random.default_rng(1)
    log = watch.Log(50, generator)
    touched = generator.random(500) < 0.1
    state = log.without_loss(np.where(touched, generator.laplace(0, 0.1, 500), 0.0)[np.newaxis], touched)
    assert state @ log.count / log.count.sum() == pytest.approx(0, abs=1e-15)
    assert (state[0, ~touched] == 0).all()
    assert log.pseudo(state).shape == (1, log.sampled.drawn)
    assert log.sampled.drawn < 50


def test_a_promoted_release_is_compared_with_itself_and_its_budget_goes_on():
    year = watch.Year(watch.SYMMETRIC, 50, 0.5, gaps=True, baselines=("last",))
    seen = list(watch.nights(year, np.random.default_rng(2)))
    promoted = next(night for night in seen if night.epoch == 1)
    assert promoted.day == watch.PROMOTED and not promoted.readings("last").any()
    assert promoted.readings("fixed").any()
    assert any(not night.has_value.all() for night in seen)
    alarm = watch.Watch(year, "last", 3)
    spent = 0.0
    for night in seen:
        alarm.tells(night)
        spent = alarm.spent + float(alarm.crossed.mean())
        assert spent <= watch.budget(watch.ALPHA, night.day)
    assert 0 < alarm.spent < spent
