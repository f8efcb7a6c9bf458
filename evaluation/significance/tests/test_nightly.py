"""The test over many nights, held against Hall's t in plain Python and against all flips of few queries.

How often it alarms in a simulated year: bench/simulations/watch.py.
"""

from collections.abc import Iterator
from itertools import product
from math import sqrt

import numpy as np
import pytest

from evaluation.significance import nightly
from evaluation.significance.nightly import (
    FLIPS,
    Look,
    Signs,
    budget,
    drop_of,
    drops_of,
    is_skewed,
    look,
    skewness,
)

SEED = (7, 1)
KEYS = range(100, 112)


def hall(values: list[float]) -> float:
    """Hall's transformed t of a mean of 0, by the moments themselves."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / n
    skew = sum((value - mean) ** 3 for value in values) / n / variance**1.5
    t = mean / sqrt(variance / (n - 1))
    return t + skew / sqrt(n) * (t**2 / 3 + 1 / 6) + skew**2 / n * t**3 / 27


def path(seed: int, queries: int = 12, count: int = 20) -> Iterator[np.ndarray]:
    """Correlated nights: each brings new differences to a third of the queries, and the others keep theirs."""
    generator = np.random.default_rng(seed)
    state = generator.normal(0, 0.1, queries)
    for _ in range(count):
        state = np.where(generator.random(queries) < 1 / 3, generator.normal(0, 0.1, queries), state)
        yield state


def looks(nights: list[np.ndarray], signs: Signs, alpha: float = 0.1) -> list[Look]:
    """The look of each of these nights, which are spread evenly over a year."""
    found: list[Look] = []
    for number, night in enumerate(nights, 1):
        before = found[-1].crossed if found else None
        found.append(look([night], signs, before, budget(alpha, 365 * number / len(nights))))
    return found


def test_the_statistic_by_hand():
    """Mean .5, variance 3/4, t = .5 / sqrt(.75 / 3) = 1; third moment -3/4, by √4 and √.75³: -1 / √3.

    1 - 1 / √3 / 3 + 1 / 3 / 27 - 1 / √3 / 6 = .7236709...
    """
    assert drop_of([np.array([1.0, 1, 1, -1])]) == pytest.approx(-(1 + 1 / 81 - 1 / (2 * sqrt(3))), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_statistic_is_minus_halls_t_of_each_flip(seed):
    difference = np.random.default_rng(seed).exponential(0.1, 12) - 0.08
    signs = Signs(SEED, KEYS, 64)
    expected = [-hall((row * difference).tolist()) for row in signs.part(0)]
    assert drops_of([difference], signs) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert drop_of([difference]) == pytest.approx(expected[0], rel=1e-4)


@pytest.mark.parametrize(("seed", "lost"), [(0, 0.0), (1, 0.03), (2, 0.06), (3, 0.1)])
def test_p_of_one_night_is_that_of_all_flips(seed, lost):
    difference = np.random.default_rng(seed).normal(-lost, 0.1, 10)
    observed = hall(difference.tolist())
    all_flips = [hall((flip * difference).tolist()) <= observed + 1e-9 for flip in product([1, -1], repeat=10)]
    p = sum(all_flips) / 2**10
    assert 0.001 < p < 0.7
    found = look([difference], Signs(SEED, range(10)), None, 0.01)
    assert found.p == pytest.approx(p, abs=4 * sqrt(p * (1 - p) / FLIPS))
    # The bound on p that a budget gives is the verdict of a single night.
    assert found.is_alarm == (found.p <= 0.01)


@pytest.mark.parametrize("seed", range(6))
def test_a_path_crosses_as_in_plain_arithmetic_with_gaps(seed):
    """Night by night the most extreme flips that have not crossed cross, as many as the budget lets."""
    flips, keys = 500, np.arange(24)  # with so many queries no two flips are equal
    signs, crossed = Signs(SEED, keys.tolist(), flips).part(0).astype(float), set()
    before = None
    for number, state in enumerate(path(seed, 24), 1):
        held = (keys != number) | (number % 3 != 0)  # on each third night, a query has no value
        may_spend = budget(0.3, 365 * number / 20)
        found = look([state[held]], Signs(SEED, keys[held].tolist(), flips), before, may_spend)
        drops = [-hall(row) for row in (signs * state)[:, held].tolist()]
        assert found.p == len(crossed | {flip for flip in range(flips) if drops[flip] >= drops[0]}) / flips
        waiting = sorted(set(range(flips)) - crossed, key=lambda flip, of=drops: -of[flip])
        now = waiting[: int(may_spend * flips) - len(crossed)]
        crossed |= {flip for flip in now if flip or state[held].mean() < 0}
        assert set(np.flatnonzero(found.crossed)) == crossed
        assert found.drop == pytest.approx(drops[0], rel=1e-3, abs=1e-4)
        before = found.crossed


class All(Signs):
    """All signs of eight queries, instead of random ones."""

    def part(self, start: int) -> np.ndarray:
        return np.array(list(product([1, -1], repeat=8)), np.float32)


def test_as_many_mirror_images_of_a_path_alarm_as_the_budget_says():
    """Each of them is as likely if the search is as good as its baseline. A twin without a budget fails."""
    nights, signs = list(path(4, 8, 10)), All(SEED, range(8), 2**8)
    images = [[night * flip for night in nights] for flip in product([1.0, -1.0], repeat=8)]
    alarms = [looks(image, signs)[-1].is_alarm for image in images]
    assert sum(alarms) == int(0.1 * 2**8)
    each_night = [any(look([night], signs, None, 0.1).is_alarm for night in image) for image in images]
    assert sum(each_night) > 2 * sum(alarms)


@pytest.mark.parametrize("touched", [12, 3])  # of three queries, many flips are equal
def test_never_more_flips_cross_than_the_budget_allows_and_what_crossed_stays(touched):
    nights = [np.where(np.arange(12) < touched, night, 0.0) for night in path(1)]
    found = looks(nights, Signs(SEED, KEYS, 2_000))
    spent = [each.spent for each in found]
    assert all(part <= 0.1 * number / 20 for number, part in enumerate(spent, 1))
    assert all(
        not (before.crossed & ~after.crossed).any() for before, after in zip(found, found[1:], strict=False)
    )
    # Where all flips differ, the budget is spent whole; where many are equal, none of the equal ones may cross.
    assert spent[-1] == (0.1 if touched == 12 else pytest.approx(0.05, abs=0.05))


def test_a_budget_accrues_over_a_year():
    assert (budget(0.05, 0), budget(0.05, 365), budget(0.05, 730)) == (0, 0.05, 0.1)
    assert budget(0.05, 73) == pytest.approx(0.01)


def test_a_large_loss_waits_for_a_budget_and_a_gain_never_alarms():
    lost, signs = np.linspace(-0.5, -0.3, 12), Signs(SEED, KEYS, 2_000)
    nothing = look([lost], signs, None, 0.0)
    assert (nothing.is_alarm, nothing.spent, nothing.threshold) == (False, 0, np.inf)
    assert look([lost], signs, nothing.crossed, 0.01).is_alarm
    gained = look([-lost], signs, None, 1.0)
    assert (gained.is_alarm, gained.p, gained.spent) == (False, 1, 1 - 1 / 2_000)


def test_where_no_query_differs_nothing_is_spent():
    found = look([np.zeros(12)], Signs(SEED, KEYS, 2_000), None, 0.05)
    assert (found.is_alarm, found.spent, found.drop, found.p) == (False, 0, 0, 1)


def test_an_alarm_that_was_not_confirmed_leaves_the_budget_spent():
    alarm = look([np.linspace(-0.5, -0.3, 12)], Signs(SEED, KEYS, 2_000), None, 0.01)
    calm = alarm.without_alarm()
    assert (alarm.is_alarm, calm.is_alarm) == (True, False)
    assert calm.crossed[1:].tolist() == alarm.crossed[1:].tolist()
    assert alarm.spent - calm.spent == pytest.approx(1 / 2_000)
    assert (calm.drop, calm.p, calm.threshold) == (alarm.drop, alarm.p, alarm.threshold)


def test_an_alarm_holds_in_both_readings():
    signs, lost = Signs(SEED, KEYS, 2_000), np.linspace(-0.3, -0.1, 12)
    kept = lost + 0.21  # with the gain that the model expects of what nobody judged
    alone, both = look([lost], signs, None, 0.02), look([lost, kept], signs, None, 0.02)
    assert alone.is_alarm and not both.is_alarm
    assert both.drop == drop_of([lost, kept]) == drop_of([kept]) < alone.drop
    assert both.p > 0.3
    still = look([lost, lost + 0.05], signs, None, 0.02)
    assert still.is_alarm and still.drop == drop_of([lost + 0.05])


def test_a_query_has_the_same_signs_whichever_other_queries_there_are():
    whole = Signs(SEED, [5, 9, 2], 100).part(0)
    assert set(np.unique(whole)) == {-1, 1}
    assert (whole[0] == 1).all()
    assert Signs(SEED, [9], 100).part(0)[:, 0].tolist() == whole[:, 1].tolist()
    assert Signs(SEED, [2, 7, 5], 100).part(0)[:, [2, 0]].tolist() == whole[:, [0, 2]].tolist()
    assert abs(Signs(SEED, range(200), 2_000).part(0)[1:].mean()) < 4 / sqrt(200 * 2_000)


def test_signs_and_looks_do_not_depend_on_how_many_flips_are_in_memory(monkeypatch):
    nights, signs = list(path(3)), Signs(SEED, KEYS, 1_001)
    whole, found = signs.part(0), looks(nights, signs)
    monkeypatch.setattr(nightly, "FLIPS_AT_ONCE", 64)
    parts = [signs.part(start) for start in range(0, 1_001, 64)]
    assert [len(part) for part in parts] == [64] * 15 + [41]
    assert np.concatenate(parts).tolist() == whole.tolist()
    again = looks(nights, Signs(SEED, KEYS, 1_001))
    assert [each.crossed.tolist() for each in again] == [each.crossed.tolist() for each in found]


def test_a_seed_gives_the_same_look_and_another_seed_other_flips():
    nights = list(path(2))
    first, again, other = (looks(nights, Signs(seed, KEYS, 2_000))[-1] for seed in (SEED, SEED, (7, 2)))
    assert first.crossed.tolist() == again.crossed.tolist()
    assert first.p == again.p
    assert first.crossed.tolist() != other.crossed.tolist()
    assert first.p == pytest.approx(other.p, abs=0.05)


def test_skewness_by_hand_and_where_it_matters():
    """Mean 1/4, second moment 3/16, third 3/32."""
    few = np.array([0.0, 0, 0, 1])
    assert skewness(few) == pytest.approx((3 / 32) / (3 / 16) ** 1.5)
    assert skewness(-few) == pytest.approx(-skewness(few))
    assert skewness(np.full(9, 0.1)) == skewness(np.zeros(0)) == 0
    assert is_skewed(np.tile(few, 24))
    assert not is_skewed(np.tile(few, 25))  # 100 queries
    assert not is_skewed(np.tile(-few, 24))
    slight = np.array([-1.0, -1, 0, 1, 1.3])
    assert 0 < skewness(slight) < 0.5 and not is_skewed(slight)
