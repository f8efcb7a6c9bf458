"""A machine's grades as features of the model: narrower intervals, and drawn judgments that keep them honest."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.expected import (
    Estimate,
    Pool,
    design,
    estimate,
    fit,
    pool_of,
)
from evaluation.expected.estimate import means
from evaluation.expected.features import MOST_GRADES, features
from evaluation.measures import Judgments, Options, Rankings

from ...tests.worlds import World, play, world

DRAWS = 40
ROUNDS = [40, 40]
ALL_SEEN = np.zeros((0, 1), np.int8)


def machine_of(found: World, generator: np.random.Generator, flattered: int | None = None) -> np.ndarray:
    """Grades of a machine that often errs, and is missing for a tenth: float64[pairs, 1].

    What the system `flattered` has among its first ten gets two grades more.
    """
    seen = found.truth + generator.normal(0, 0.9, found.pool.pairs)
    if flattered is not None:
        seen += 2.0 * (found.pool.rank[:, flattered] <= 10)
    grade = np.clip(np.round(seen), 0, found.pool.steps)
    grade[generator.random(len(grade)) < 0.1] = np.nan
    return grade[:, np.newaxis]


def kappa(truth: np.ndarray, grade: np.ndarray) -> float:
    """Cohen's kappa where both gave a grade."""
    both = ~np.isnan(grade)
    first, second = truth[both], grade[both].astype(int)
    table = np.zeros((10, 10))
    np.add.at(table, (first, second), 1 / len(first))
    chance = table.sum(axis=0) @ table.sum(axis=1)
    return float((np.trace(table) - chance) / (1 - chance))


def answered(found: World, seed: int) -> Estimate:
    """What is expected after two rounds; with the machine of the pool, if it has one."""
    level, rounds = play(found, ROUNDS, np.random.default_rng(seed))
    none = np.zeros(found.pool.pairs, bool)
    return estimate(found.pool, level, design(rounds, level >= 0, none, none.astype(int)))


def three_pairs(**more) -> Pool:
    return Pool(np.zeros(3, int), np.array([[1], [2], [3]]), np.array([0.0, 1]), 2, **more)


def test_features_of_a_machine_by_hand():
    """Grades 0, 2 and none: one column for "2 or more", one for "none", each with mean 0 and deviation 1."""
    plain = three_pairs().features
    found = three_pairs(machine=np.array([[0.0], [2.0], [np.nan]])).features
    assert (found.values[:, : plain.values.shape[1]] == plain.values).all()
    said = found.values[:, plain.values.shape[1] :]
    assert said[:, 0] == pytest.approx([-1, 1, 0], abs=1e-6)
    assert said[:, 1] == pytest.approx(np.array([-1, -1, 2]) / np.sqrt(2), abs=1e-6)
    assert found.mean[-2:].tolist() == [0, 0]


@pytest.mark.parametrize("nothing", [np.nan, 1.0], ids=["no grade", "one grade for all"])
def test_a_machine_that_tells_nothing_changes_no_digit(nothing):
    found = world(np.random.default_rng(3), gains=[0, 1, 2])
    silent = replace(found, pool=replace(found.pool, machine=np.full((found.pool.pairs, 1), nothing)))
    one, other = answered(found, 1), answered(silent, 1)
    assert (one.mean == other.mean).all()
    assert (one.covariance == other.covariance).all()


def test_many_different_grades_make_few_columns():
    rank, grade = np.arange(1, 101)[:, np.newaxis], np.linspace(0, 1, 100)[:, np.newaxis]
    assert (
        features(rank, 10, 100, grade).values.shape[1] == features(rank, 10, 100).values.shape[1] + MOST_GRADES - 1
    )


def test_grades_come_to_their_pairs_and_are_no_judgments():
    """Documents 7 and 8 of query 0 are ranked; the machine also grades 9, which nobody retrieved."""
    judgments = Judgments(1, [0], [7], [1.0])
    ranking = Rankings([0, 2], [7, 8])
    pool, level = pool_of(judgments, [ranking], "nDCG@2", Options(), [0, 1])
    graded = pool.with_machines(Judgments(1, [0, 0], [8, 9], [3.0, 2.0]), Judgments(1, [0], [7], [0.0]))
    assert pool.document.tolist() == [7, 8]
    assert graded.machine[1].tolist()[0] == 3.0
    assert np.isnan(graded.machine[0, 0])
    assert graded.machine[0, 1] == 0.0
    assert level.tolist() == [1, -1]
    assert pool.machine is None


def test_where_all_is_judged_a_machine_changes_nothing():
    found = world(np.random.default_rng(5), gains=[0, 1, 2])
    graded = replace(found.pool, machine=machine_of(found, np.random.default_rng(1)))
    assert (estimate(found.pool, found.truth).mean == estimate(graded, found.truth).mean).all()


@pytest.fixture(scope="module")
def played() -> dict[str, np.ndarray]:
    """Errors, and standard deviations, of three means without a machine, with one, and with a flatterer.

    "lead" and "alone": the same of how far the flattered one leads another, by the estimate and by the machine.
    """
    found = {name: [] for name in ("plain", "machine", "flatterer", "agreed", "lead", "alone")}
    for seed in range(DRAWS):
        generator = np.random.default_rng([17, seed])
        true = world(generator, queries=12, systems=3, gains=[0, 1, 2], cutoff=10)
        (mean,) = means(true.pool, true.truth, ALL_SEEN)
        for name, flattered in (("plain", None), ("machine", None), ("flatterer", 0)):
            graded = None if name == "plain" else machine_of(true, generator, flattered)
            told = answered(replace(true, pool=replace(true.pool, machine=graded)), seed)
            found[name].append([told.mean - mean, np.sqrt(np.diag(told.covariance))])
            if name == "machine":
                found["agreed"].append(kappa(true.truth, graded[:, 0]))
            if name == "flatterer":
                lead, low, high = told.difference(1, 0)
                found["lead"].append([lead - (mean[0] - mean[1]), (high - low) / 2 / 1.645])
                (alone,) = means(true.pool, np.nan_to_num(graded[:, 0]).astype(int), ALL_SEEN)
                found["alone"].append(alone[0] - alone[1] - (mean[0] - mean[1]))
    return {name: np.array(values) for name, values in found.items()}


def held(each: np.ndarray) -> float:
    return float((np.abs(each[:, 0]) <= 1.645 * each[:, 1]).mean())


@pytest.mark.slow
def test_a_machine_narrows_intervals_and_they_still_cover(played):
    assert played["agreed"].mean() == pytest.approx(0.4, abs=0.07)
    assert played["machine"][:, 1].mean() < 0.93 * played["plain"][:, 1].mean()
    assert held(played["machine"]) >= 0.86
    assert held(played["plain"]) >= 0.86


@pytest.mark.slow
def test_who_is_flattered_by_a_machine_gains_less_than_half_a_standard_error(played):
    """Neither its mean nor its lead. By the machine's grades alone its lead would gain more than two."""
    level, lead = played["flatterer"][:, :, 0], played["lead"]
    for errors, deviations in (level.T, lead.T):
        assert abs(errors.mean()) < 0.5 * deviations.mean()
    assert held(played["flatterer"]) >= 0.86
    assert played["alone"].mean() > 2 * lead[:, 1].mean()


def test_the_model_learns_how_far_a_machine_can_be_believed():
    """A machine that is always wrong helps as much as one that is always right; one that guesses does not."""
    generator = np.random.default_rng(8)
    found = world(generator, queries=12, systems=3, gains=[0, 1], cutoff=10)
    level = np.where(np.arange(found.pool.pairs) % 2 == 0, found.truth, -1)
    hidden = level < 0

    def told(grade: np.ndarray) -> float:
        chances = fit(replace(found.pool, machine=grade[:, np.newaxis].astype(float)), level).chances()[hidden, 0]
        return float(np.abs(found.truth[hidden] - chances).mean())

    right, wrong = told(found.truth), told(1 - found.truth)
    assert right == pytest.approx(wrong, abs=1e-3)
    assert right < 0.1 < 0.2 < told(generator.integers(0, 2, found.pool.pairs))
