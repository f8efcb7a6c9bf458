"""The bench of which document to judge next: its figures by hand, and a whole run on a small collection."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.simulations import _queue
from bench.simulations import next as bench
from bench.simulations._judging import BUDGETS, collections, exact
from evaluation.expected import Estimate

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


def test_a_run_prints_every_table_and_is_not_played_twice(folder, monkeypatch, capsys):
    kept = folder / "kept.jsonl"
    options = ["--data", str(folder), "--draws", "2", "--batch", "5", "--processes", "1", "--keep", str(kept)]
    monkeypatch.setattr(sys, "argv", ["next", *options])
    bench.main()
    text = capsys.readouterr().out
    assert "| small (" in text
    assert text.count("| small | batches of 5 |") == 3
    lines = kept.read_text().splitlines()
    assert len(lines) == 2 * 3 * len(BUDGETS)
    assert json.loads(lines[-1])["budget"] == BUDGETS[-1]
    bench.main()
    assert kept.read_text().splitlines() == lines


@pytest.mark.django_db
def test_the_queue_plays_the_same_draw_to_its_true_means(folder, monkeypatch):
    """With systems in the order of the pool, whatever order the app has them in."""
    monkeypatch.setattr(_queue, "prepared_here", lambda process: None)
    monkeypatch.setattr(_queue, "BUDGETS", (0.3, 1.0))
    monkeypatch.setattr("evaluation.deciding.state.SMALL", 0)
    (make,) = collections(folder, ["cranfield"]).values()
    pool, truth = make().draw(1)
    (_, level, early), (_, whole, late) = _queue.through_queue(pool, truth, 1)
    assert (level >= 0).sum() == round(0.3 * pool.pairs)
    assert early.covariance.shape == (3, 3)
    assert (whole == truth).all()
    assert late.mean == pytest.approx(exact(pool, truth), abs=1e-9)
