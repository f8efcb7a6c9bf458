"""Rounds with known chances: the weights of judgments, and intervals that cover because of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evaluation.expected import (
    Estimate,
    Pool,
    Round,
    at_random,
    by_depth,
    design,
    draw_batches,
    draw_round,
    estimate,
)
from evaluation.expected.estimate import means
from ratings.tests.thorough import examples

from ...tests.worlds import World, certain, play

DRAWS = examples(2_000)


def die() -> np.random.Generator:
    """Chance that is always the same."""
    return np.random.default_rng(5)


def drawn(rows: list[int], rate: list[float], keys: list[float], precision: float, greedy=()) -> Round:
    alone = np.arange(len(rows))
    chances = np.ones(len(rows))
    return Round(np.array(greedy, int), np.array(rows), alone, chances, np.array(rate), np.array(keys), precision)


def test_chances_and_weights_by_hand():
    """Two rounds that weigh 1 and 3; the chance of rate r under the threshold t is 1 - exp(-rt)."""
    first = drawn([0, 1], [0.5, 1.0], [0.1, 0.2, 2 * np.log(2)], 1, greedy=[2])
    assert first.chance() == pytest.approx([0.5, 0.75])
    assert first.chance(1) == pytest.approx([1 - np.exp(-0.1)])
    second = drawn([3, 4], [1.0, 1.0], [0.1, 0.2, np.log(4 / 3)], 3, greedy=[5])
    every, none = np.ones(7, bool), np.zeros(7, bool)
    birth = np.array([0, 0, 0, 0, 1, 0, 0])
    found = design([first, second], every, none, birth)
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 5]  # 6 was judged before
    weights = [(1 / 0.5 + 3) / 4, (1 / 0.75 + 3) / 4, 1, 3 / 0.25 / 4, 1 / 0.25, 3 / 4]
    assert found.weight == pytest.approx(weights)
    assert found.evidence == 4


def test_a_round_counts_down_to_its_first_open_pair():
    """Of four drawn, the third has no answer: two count by the third key, and the fourth is known only."""
    keys = [0.1, 0.2, np.log(2), 0.9, 1.0]
    each, judged = drawn([0, 1, 2, 3], [1.0] * 4, keys, 5), np.array([True, True, False, True])
    found = design([each], judged, np.zeros(4, bool), np.zeros(4, int))
    assert found.rows.tolist() == [0, 1, 3]
    assert found.weight == pytest.approx([2, 2, 1])
    skipped = design([each], judged, ~judged, np.zeros(4, int))
    assert skipped.weight == pytest.approx([1 / (1 - np.exp(-1.0))] * 3)


def test_judgments_outside_rounds_are_no_evidence():
    judged, birth = np.array([True, True]), np.zeros(2, int)
    found = design([certain(0), certain(1)], judged, ~judged, birth)
    assert (found.weight.tolist(), found.evidence) == ([1, 1], 0)
    three = Pool(np.zeros(3, int), np.array([[1], [2], [3]]), np.array([0.0, 1]), 2)
    without = design([certain(0)], np.array([True, False, False]), np.zeros(3, bool), np.zeros(3, int))
    assert estimate(three, np.array([1, -1, -1]), without).covariance is None


def test_a_round_of_all_that_is_left_draws_each_for_certain():
    each = draw_round(np.array([4, 7]), np.ones(2), np.ones(2), 5, np.random.default_rng(1))
    assert (len(each.greedy), sorted(each.drawn), each.chance().tolist()) == (0, [4, 7], [1, 1])


def test_a_third_is_greedy_and_the_same_seed_draws_the_same():
    score = np.linspace(1, 2, 30)
    once, again = (draw_round(np.arange(30), score, score, 12, np.random.default_rng(seed=3)) for _ in range(2))
    assert once.greedy.tolist() == [29, 28, 27, 26]
    assert len(once.drawn) == 8
    assert (np.diff(once.keys) > 0).all()
    assert once.drawn.tolist() == again.drawn.tolist()


def test_the_top_of_the_lists_by_hand():
    """Ranks 1 of both systems, then 1 of one, then 2 of one; they are certain, and weigh nothing."""
    rank = np.array([[3, 2], [1, 9], [1, 1], [101, 4]])
    each = by_depth(np.array([10, 11, 12, 13]), rank, 3, die())
    assert each.greedy.tolist() == [12, 11, 10]
    assert (len(each.drawn), each.precision) == (0, 0)
    judged, none = np.isin(np.arange(14), each.greedy), np.zeros(14, bool)
    found = design([each], judged, none, none.astype(int))
    assert (found.weight.tolist(), found.evidence) == ([1, 1, 1], 0)


SCORE = np.array([9, 4, 1, 1, 0.5, 2, 3, 0.1, 5, 0.5] * 2)


def weight_of_each(draw: Callable[..., Round], birth: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """How many standard errors the mean weight of each pair is from 1, over many draws of three rounds.

    draw: of open rows, their scores and rates, and a generator. Some pairs come after the first round.
    """
    generator, pairs = np.random.default_rng(11), len(birth)
    score, total = SCORE[:pairs], np.zeros((draws, pairs))
    for number in range(draws):
        open_pairs, rounds = np.ones(pairs, bool), []
        for place in range(3):
            rows = np.flatnonzero(open_pairs & (birth <= place))
            each = draw(rows, score[rows], np.sqrt(score[rows]), generator)
            rounds.append(replace(each, precision=1.0 + place))  # as if scores were known before the first round
            open_pairs[each.greedy] = open_pairs[each.drawn] = False
        found = design(rounds, ~open_pairs, np.zeros(pairs, bool), birth)
        total[number, found.rows] = found.weight
    return (total.mean(axis=0) - 1) / np.maximum(total.std(axis=0) / np.sqrt(draws), 1e-12)


LATE = np.array([0] * 8 + [1] * 2)  # the last two pairs come after the first round


def three_of(rows, score, rate, generator) -> Round:
    return draw_round(rows, score, rate, 3, generator)


@pytest.mark.slow
def test_every_weight_is_1_on_average_while_the_pool_grows():
    assert np.abs(weight_of_each(three_of, LATE)).max() < 4


# Equal chances, as in the random order


def three_by_equal_chances(rows, score, rate, generator) -> Round:
    return at_random(rows, 3, 1.0, generator)


def test_equal_chances_by_hand():
    """Of ten four: 4 / 10 each. The first three answers are a sample of three."""
    each = at_random(np.arange(20, 30), 4, 2.0, np.random.default_rng(1))
    assert len(set(each.drawn)) == 4 and set(each.drawn) <= set(range(20, 30)) and not len(each.greedy)
    assert each.chance() == pytest.approx([0.4] * 4, rel=1e-14)
    assert each.chance(3) == pytest.approx([0.3] * 3, rel=1e-14)
    assert each.precision == pytest.approx(1 / (10 * 2.0 * 0.6 / 0.4), rel=1e-14)


def test_of_rounds_by_equal_chances_every_judgment_weighs_as_many_of_the_pool_by_hand():
    """3 + 2 + 4 of 12 are judged, so each weighs 12 / 9, whichever round it is of."""
    generator, judged, rounds = np.random.default_rng(2), np.zeros(12, bool), []
    for size in (3, 2, 4):
        rounds.append(at_random(np.flatnonzero(~judged), size, 0.1, generator))
        judged[rounds[-1].drawn] = True
    none = np.zeros(12, bool)
    assert design(rounds, judged, none, none.astype(int)).weight == pytest.approx([12 / 9] * 9, rel=1e-12)


def test_by_equal_chances_the_correction_is_doubted_as_much_as_it_is_large():
    generator = np.random.default_rng(4)
    found = deceptive(generator)
    level, rounds = play(found, [80, 80], generator, 0)
    none = np.zeros(found.pool.pairs, bool)
    kept = design(rounds, level >= 0, none, none.astype(int))
    assert kept.equal_chances and not design([], level >= 0, none, none.astype(int)).equal_chances
    wide, narrow = (estimate(found.pool, level, each) for each in (kept, replace(kept, equal_chances=False)))
    shift = wide.mean - estimate(found.pool, level).mean
    assert wide.mean == pytest.approx(narrow.mean, abs=1e-14)
    assert wide.covariance - narrow.covariance == pytest.approx(np.outer(shift, shift), abs=1e-12)


@pytest.mark.parametrize("left", [0, 2])
def test_by_equal_chances_all_that_is_left_is_certain(left):
    each = at_random(np.arange(left), 5, 1.0, np.random.default_rng(1))
    assert each.chance().tolist() == [1.0] * left


@pytest.mark.slow
def test_every_weight_by_equal_chances_is_1_on_average_while_the_pool_grows():
    assert np.abs(weight_of_each(three_by_equal_chances, LATE)).max() < 4


# Batches: units of several documents

QUERY = np.repeat(np.arange(7), [4, 2, 3, 2, 4, 1, 4])
# Of some queries the last pair comes after the first round.
LATE_IN_QUERIES = np.isin(np.arange(20), [3, 8, 14, 19]).astype(int)


def four_batches_of(batch: int) -> Callable[..., Round]:
    """One greedy and three at random."""

    def drawn(rows, score, rate, generator) -> Round:
        return draw_batches(QUERY[rows], rows, score, rate, 4, batch, generator)

    return drawn


def test_the_chance_of_a_document_is_that_of_its_batch_times_its_own_by_hand():
    unit, within, rate, keys = [0, 0, 1, 1, 2], [0.5, 0.25, 1.0, 0.5, 1.0], [0.5, 1.0, 2.0], [0.1, 0.2, 0.3]
    each = Round(
        np.array([9]),
        np.arange(5),
        np.array(unit),
        np.array(within),
        np.array(rate),
        np.array([*keys, 2 * np.log(2)]),
        1.0,
    )
    assert each.chance() == pytest.approx([0.25, 0.125, 0.75, 0.375, 15 / 16])
    # Of the first two units, the key of the third is the threshold.
    of_first, of_second = 1 - np.exp(-0.15), 1 - np.exp(-0.3)
    assert each.chance(2) == pytest.approx([0.5 * of_first, 0.25 * of_first, of_second, 0.5 * of_second])


def test_a_batch_counts_when_all_its_answers_are_there():
    """Of three batches the second misses an answer: the first counts by the second key, the rest is known only."""
    each = Round(
        np.zeros(0, int),
        np.arange(6),
        np.array([0, 0, 1, 1, 2, 2]),
        np.full(6, 0.5),
        np.ones(3),
        np.array([0.1, np.log(2), 0.9, 1.0]),
        5.0,
    )
    judged, none = np.array([True, True, True, False, True, True]), np.zeros(6, bool)
    found = design([each], judged, none, none.astype(int))
    assert found.rows.tolist() == [0, 1, 2, 4, 5]
    # One batch tells nothing of how many others there are.
    assert (found.weight.tolist(), found.evidence) == ([1] * 5, 0)
    found = design([each], judged, ~judged, none.astype(int))
    assert found.weight == pytest.approx([1 / (0.5 * (1 - np.exp(-1.0)))] * 5)


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.slow
def test_every_weight_of_batches_is_1_on_average_while_the_pool_grows(batch):
    assert np.abs(weight_of_each(four_batches_of(batch), LATE_IN_QUERIES)).max() < 4


def test_a_third_of_the_batches_is_greedy_and_the_same_seed_draws_the_same():
    """Nine queries of ten; the later a query and a document, the more it tells."""
    query, score = np.repeat(np.arange(9), 10), np.linspace(1, 2, 90)
    once, again = (
        draw_batches(query, np.arange(90), score, score, 6, 4, np.random.default_rng(seed=3)) for _ in range(2)
    )
    assert sorted(once.greedy) == [76, 77, 78, 79, 86, 87, 88, 89]
    assert np.bincount(once.unit).tolist() == [4] * 4
    assert [len(set(query[once.drawn[once.unit == unit]])) for unit in range(4)] == [1] * 4
    assert not set(once.greedy) & set(once.drawn)
    assert (np.diff(once.keys) > 0).all()
    assert once.drawn.tolist() == again.drawn.tolist()


@pytest.mark.parametrize(("batches", "greedy"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 2), (8, 3)])
def test_at_least_three_batches_are_at_random(batches, greedy):
    query, score = np.repeat(np.arange(9), 10), np.linspace(1, 2, 90)
    each = draw_batches(query, np.arange(90), score, score, batches, 5, die())
    assert (len(each.greedy), len(each.rate)) == (5 * greedy, batches - greedy)


def test_what_a_greedy_batch_leaves_of_its_query_can_be_drawn():
    query, score = np.repeat(np.arange(4), 4), np.arange(16.0) + 1
    each = [draw_batches(query, np.arange(16), score, score, 4, 2, np.random.default_rng(s)) for s in range(20)]
    assert all(sorted(one.greedy) == [14, 15] for one in each)
    assert any({12, 13} <= set(one.drawn) for one in each)


@pytest.mark.parametrize("query", [[2, 2, 5], [2, 2, 2, 5]], ids=["fewer", "as many"])
def test_no_more_rows_than_asked_for_are_all_drawn_for_certain(query):
    rows = np.arange(len(query)) + 4
    each = draw_batches(np.array(query), rows, np.ones(len(rows)), np.ones(len(rows)), 2, 2, die())
    assert (len(each.greedy), sorted(each.drawn)) == (0, rows.tolist())
    assert each.chance().tolist() == [1] * len(rows)


def test_a_query_smaller_than_a_batch_gives_all_it_has():
    """Five queries of one document and one of twenty, of which a batch is cut."""
    query, rows = np.array([0, 1, 2, 3, 4] + [5] * 20), np.arange(25)
    each = draw_batches(query, rows, np.ones(25), np.ones(25), 4, 5, die())
    assert query[each.greedy].tolist() == [5] * 5
    assert len(each.rate) == 3
    for unit, size in enumerate(np.bincount(each.unit)):
        (of,) = set(query[each.drawn[each.unit == unit]])
        assert size == (5 if of == 5 else 1)


def test_of_one_query_a_sample_is_drawn():
    """Its batch is certain, its documents are not."""
    each = draw_batches(np.full(30, 7), np.arange(30), np.ones(30), np.ones(30), 4, 5, die())
    assert (len(each.greedy), len(each.drawn), each.keys[-1]) == (0, 5, np.inf)
    assert each.unit.tolist() == [0] * 5
    assert ((each.chance() > 0) & (each.chance() < 1)).all()


# Coverage


def deceptive(generator: np.random.Generator) -> World:
    """Twenty queries that no feature tells the truth about: one system finds much where it is not expected, in the
    middle of its list, and another finds next to nothing."""
    ranks = [np.column_stack([generator.permutation(40) + 1 for _ in range(3)]) for _ in range(20)]
    levels = []
    for rank in ranks:
        first, second, third = rank.T
        chance = np.where((first >= 4) & (first <= 10), 0.6, 0.15)
        chance = np.where((second <= 10) & (first > 10), 0.04, chance)
        chance = np.where((third <= 10) & (third % 2 == 0), 0.65, chance)
        level = (generator.random(40) < chance).astype(int)
        level[0] |= not level.any()
        levels.append(level)
    query = np.repeat(np.arange(20), 40)
    return World(Pool(query, np.concatenate(ranks), np.array([0.0, 1.0]), 10), np.concatenate(levels))


def covered(answer: Estimate, truth: np.ndarray) -> list[bool]:
    """Whether the 90 % intervals of three means and of their three differences hold the truth."""
    low, high = answer.interval()
    held = list((low <= truth) & (truth <= high))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        _, least, most = answer.difference(first, second)
        held.append(least <= truth[second] - truth[first] <= most)
    return held


@pytest.mark.parametrize("batch", [1, 5, 0], ids=["one by one", "batches of 5", "equal chances"])
@pytest.mark.slow
def test_intervals_cover_where_the_model_is_wrong(batch):
    held = []
    for seed in range(150):
        generator = np.random.default_rng(seed)
        found = deceptive(generator)
        level, rounds = play(found, [60, 60, 60, 60], generator, batch)
        none = np.zeros(found.pool.pairs, bool)
        (truth,) = means(found.pool, found.truth, np.zeros((0, 1), np.int8))
        answer = estimate(found.pool, level, design(rounds, level >= 0, none, none.astype(int)))
        held += covered(answer, truth)
    assert 0.86 <= np.mean(held) <= 0.98
