"""Prediction-powered estimates: by hand, without bias, with intervals that cover, and with twins that do not.

The simulations draw from the 10,284 pairs of TREC RAG 2025 that NIST's assessors and UMBRELA graded.
"""

import gzip
from dataclasses import dataclass, replace

import numpy as np
import pytest

from evaluation.agreement.powered import Powered, Sampled, powered
from ratings.tests.thorough import examples

SYSTEMS, TOP = 6, 10


def sampled_of(stratum, predicted, rows, gain) -> Sampled:
    return Sampled(
        np.array(stratum), np.array(predicted, np.float64), np.array(rows, np.int64), np.array(gain, np.float64)
    )


def test_people_alone_by_hand():
    # Two strata of two pairs, one drawn of each. The factor of a stratum is the gain of the other: 1 and 3.
    found = powered(sampled_of([0, 0, 1, 1], [0, 0, 0, 0], [0, 2], [3, 1]), np.ones(4), machine=False)
    # Stratum 0: predicted 1 + 1, corrected by 2 · (3 − 1). Stratum 1: 3 + 3, corrected by 2 · (1 − 3).
    assert found.value == pytest.approx(2 + 4 + 6 - 4)
    # Σ weight² · odds = 4, times the mean squared error 4; two pairs: two degrees of freedom.
    assert found.variance == pytest.approx(16)
    assert found.high - found.value == pytest.approx(2.919986 * 4, rel=1e-6)
    assert found.factor == 0


def test_a_machine_that_is_right_leaves_no_doubt():
    generator = np.random.default_rng(1)
    gain, stratum = generator.integers(0, 4, 60).astype(float), np.arange(60) % 6
    rows = np.arange(24)
    found = powered(Sampled(stratum, 2 * gain + 1, rows, gain[rows]), np.full(60, 1 / 60))
    assert found.value == pytest.approx(gain.mean(), abs=1e-6) and found.factor == pytest.approx(0.5, abs=1e-6)
    assert found.width < 1e-5


def test_where_all_pairs_were_drawn_there_is_no_doubt():
    gain = np.array([3.0, 0, 1, 2])
    found = powered(Sampled(np.array([0, 0, 1, 1]), np.zeros(4), np.arange(4), gain), np.ones(4))
    assert (found.value, found.low, found.high) == (6, 6, 6)


def test_without_two_sampled_pairs_of_a_system_there_is_no_interval():
    weight = np.array([1.0, 1, 0, 0])
    found = powered(sampled_of([0, 0, 0, 0], [1, 2, 0, 3], [0, 3], [1, 2]), weight)
    assert np.isfinite(found.value) and np.isnan([found.low, found.high]).all()


def test_a_stratum_that_was_not_drawn_is_refused():
    with pytest.raises(ValueError, match="no sampled pair"):
        powered(sampled_of([0, 0, 1], [0, 0, 0], [0], [1]), np.ones(3))


def test_pairs_without_a_machine_s_grade_are_predicted_by_its_mean():
    with_mean = sampled_of([0] * 6, [1, 3, 2, 2, 1, 3], [0, 1, 2], [1, 2, 1])
    without = replace(with_mean, predicted=np.array([1, 3, np.nan, np.nan, 1, 3]))
    assert powered(with_mean, np.ones(6)) == powered(without, np.ones(6))


# In simulation


@dataclass(frozen=True, eq=False)
class Graded:
    """Pairs with the grade of a person and of the machine; the gain of a grade is its value."""

    query: np.ndarray  # int64[pairs]
    person: np.ndarray  # float64[pairs]
    machine: np.ndarray  # float64[pairs]


@pytest.fixture(scope="module")
def graded(shared) -> Graded:
    def grades(name: str) -> dict[tuple[str, str], float]:
        with gzip.open(shared / "data" / "machine" / name, "rt") as file:
            return {(query, document): float(grade) for query, _, document, grade in map(str.split, file)}

    people, machine = grades("qrels.rag25.test.txt.gz"), grades("qrels.rag25.test-umbrela2.txt.gz")
    both = sorted(people.keys() & machine.keys())
    _, query = np.unique([query for query, _ in both], return_inverse=True)
    return Graded(query, *(np.array([each[pair] for pair in both]) for each in (people, machine)))


def draw(stratum: np.ndarray, share: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Of each stratum its share of pairs, one at least."""
    rows = np.argsort(stratum, kind="stable")
    every = np.split(rows, np.flatnonzero(np.diff(stratum[rows])) + 1)
    sizes = [max(1, round(share[number] * len(each))) for number, each in enumerate(every)]
    drawn = [generator.choice(each, size, replace=False) for each, size in zip(every, sizes, strict=True)]
    return np.sort(np.concatenate(drawn))


def systems_of(found: Graded, generator: np.random.Generator) -> np.ndarray:
    """float64[pairs, systems], the weights of mean DCG@10: systems of rising quality. The last one is flattered:

    it has in its first places what the machine grades above people.
    """
    weight = np.zeros((len(found.query), SYSTEMS))
    for system in range(SYSTEMS):
        for query in range(found.query.max() + 1):
            rows = np.flatnonzero(found.query == query)
            seen = (
                (found.machine - found.person)[rows]
                if system == SYSTEMS - 1
                else found.person[rows] * 0.3 * system
            )
            top = rows[np.argsort(-(seen + generator.normal(0, 1, len(rows))))[:TOP]]
            weight[top, system] = 1 / np.log2(np.arange(2, len(top) + 2))
    return weight / (found.query.max() + 1)


class Played:
    """Estimates of means and of all differences over many draws, and what is true."""

    def __init__(self, found: Graded, share: float, draws: int, blind: bool = False, by_machine: bool = False):
        generator = np.random.default_rng(3)
        weight = systems_of(found, generator)
        pairs = [(a, b) for b in range(SYSTEMS) for a in range(b)]
        self.targets = [*weight.T, *(weight[:, a] - weight[:, b] for a, b in pairs)]
        self.true = np.array([found.person @ each for each in self.targets])
        shared, (stratum, shares) = (weight**2).sum(axis=1), strata_of(found, share, by_machine)
        known = np.zeros_like(stratum) if blind else stratum
        rows = [draw(stratum, shares, generator) for _ in range(draws)]
        samples = [Sampled(known, found.machine, each, found.person[each]) for each in rows]
        self.both, self.alone = (
            [[powered(sample, each, shared, machine) for each in self.targets] for sample in samples]
            for machine in (True, False)
        )

    def covered(self, estimates: list[list[Powered]], part: slice) -> float:
        """The share of intervals that hold the true value."""
        low, high = (
            np.array([[getattr(each, end) for each in row] for row in estimates]) for end in ("low", "high")
        )
        return float(((low <= self.true) & (self.true <= high))[:, part].mean())

    def biases(self, estimates: list[list[Powered]]) -> np.ndarray:
        """The mean error of each target in standard errors of one estimate."""
        off = np.array([[each.value for each in row] for row in estimates]) - self.true
        return off.mean(axis=0) / off.std(axis=0)


MEANS, DIFFERENCES = slice(0, SYSTEMS), slice(SYSTEMS, None)
FLATTERED = SYSTEMS - 1


def strata_of(found: Graded, share: float, by_machine: bool) -> tuple[np.ndarray, np.ndarray]:
    """The stratum of each pair, and the share of each stratum that is drawn.

    Queries; or queries and whether the machine's grade is high: then three times as many of the low ones.
    """
    if not by_machine:
        return found.query, np.full(found.query.max() + 1, share)
    high = found.machine >= 2
    _, stratum = np.unique(found.query * 2 + high, return_inverse=True)
    of_high = np.bincount(stratum, high) > 0
    return stratum, np.where(of_high, share / 2, share * 1.5)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.slow
def test_intervals_of_means_and_differences_cover(graded, share):
    """90 % intervals. A thousand draws give .89 to .92 (`--thorough`); fifty leave room for chance."""
    played = Played(graded, share, examples(50))
    for part in (MEANS, DIFFERENCES):
        assert 0.85 <= played.covered(played.both, part) <= 0.95
        assert 0.85 <= played.covered(played.alone, part) <= 0.95


@pytest.mark.slow
def test_a_machine_that_flatters_a_system_does_not_move_its_estimate(graded):
    played = Played(graded, 0.1, examples(100))
    assert np.abs(played.biases(played.both)).max() < 0.5


def test_the_machine_alone_is_moved_by_it(graded):
    flattered = systems_of(graded, np.random.default_rng(3))[:, FLATTERED]
    (one,) = Played(graded, 0.1, 1).both
    assert graded.machine @ flattered > one[FLATTERED].high


@pytest.mark.slow
def test_unequal_chances_cover_and_a_twin_that_ignores_them_does_not(graded):
    honest, blind = (Played(graded, 0.1, 30, blind=each, by_machine=True) for each in (False, True))
    assert honest.covered(honest.both, MEANS) >= 0.84
    assert np.abs(honest.biases(honest.both)).max() < 0.6
    assert blind.covered(blind.alone, MEANS) < 0.75 and np.abs(blind.biases(blind.alone)).max() > 1


def test_a_better_machine_saves_width(graded):
    """One that errs by one grade in a third of the pairs: the interval is narrower by a fifth or more."""
    generator = np.random.default_rng(4)
    weight, pairs = systems_of(graded, generator)[:, 3], len(graded.query)
    err = np.where(generator.random(pairs) < 0.3, generator.choice([-1, 1], pairs), 0)
    rows = draw(graded.query, np.full(graded.query.max() + 1, 0.2), generator)
    sample = Sampled(graded.query, graded.person + err, rows, graded.person[rows])
    assert powered(sample, weight).width < 0.8 * powered(sample, weight, machine=False).width
