"""Draws: numbers worked out by hand, and what must hold of every draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings.importing.sampling.drawing import (
    POINTS_MOVED,
    Stratum,
    chances,
    drawn,
    drawn_more,
    mixed_order,
    outlook,
    shared_out,
    thirds,
)
from ratings.tests.thorough import examples

COUNTS = [50, 20, 10, 10, 5, 5]


def stratum_of(counts: list[int]) -> Stratum:
    """The stratum of queries with these counts of searches, in any order."""
    values, queries = np.unique(np.array(counts, np.int64), return_counts=True)
    return Stratum("", values[::-1], queries[::-1])


def every(stratum: Stratum, values: np.ndarray) -> list:
    """The value of each query, from that of each count."""
    return np.repeat(values, stratum.queries_per_count).tolist()


def falling(stratum: Stratum) -> np.ndarray:
    """The order of the counts on the line where none is moved."""
    return np.arange(len(stratum.search_counts))


def test_a_query_that_would_be_drawn_twice_is_taken_for_certain_and_the_rest_shared_out_anew():
    """50 of 100 searches with 3 places: 1.5 draws. The other two go to the other 50: 20 of them would get 0.8."""
    stratum = stratum_of(COUNTS)
    assert every(stratum, chances(stratum, 3)) == pytest.approx([1, 0.8, 0.4, 0.4, 0.2, 0.2])
    # With 4 places 20 searches would get 1.2 of the three that are left, and then 10 of 30 get 2/3.
    assert every(stratum, chances(stratum, 4)) == pytest.approx([1, 1, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert every(stratum, chances(stratum, 6)) == [1] * 6
    assert every(stratum, chances(stratum, 9)) == [1] * 6
    assert every(stratum, chances(stratum, 3, even=True)) == [0.5] * 6


@pytest.mark.parametrize(
    ("start", "places"),
    [(0.0, [0, 1, 3]), (0.5, [0, 1, 3]), (0.79, [0, 1, 4]), (0.81, [0, 2, 5]), (0.99, [0, 2, 5])],
)
def test_points_at_a_distance_of_1_hit_queries_that_are_as_long_as_their_chances(start, places):
    """Ends of the queries on the line: 1, 1.8, 2.2, 2.6, 2.8, 3."""
    stratum = stratum_of(COUNTS)
    found = drawn(stratum, chances(stratum, 3), start, falling(stratum)).tolist()
    by_hand = [
        next(i for i, end in enumerate([1, 1.8, 2.2, 2.6, 2.8, 3.0001]) if start + j < end) for j in range(3)
    ]
    assert found == by_hand
    assert found[:1] == places[:1]


counts = st.lists(st.integers(1, 60), min_size=1, max_size=40)
starts = st.floats(0, 1, exclude_max=True)


@given(counts, st.integers(1, 40), starts, st.booleans())
@hypothesis_settings(max_examples=examples(60), deadline=None)
def test_chances_add_up_to_the_size_and_as_many_queries_are_drawn(counts, size, start, even):
    stratum = stratum_of(counts)
    chance = chances(stratum, size, even=even)
    expected = min(size, stratum.size)
    assert (chance > 0).all() and (chance <= 1).all()
    assert (chance * stratum.queries_per_count).sum() == pytest.approx(expected)
    assert (np.diff(chance) <= 0).all()  # the more frequent, the likelier
    places = drawn(stratum, chance, start, falling(stratum))
    assert len(set(places.tolist())) == len(places) == expected
    assert places.min() >= 0 and places.max() < stratum.size
    certain = np.flatnonzero(np.repeat(chance, stratum.queries_per_count) == 1)
    assert set(certain.tolist()) <= set(places.tolist())


@given(counts, st.integers(1, 30), st.integers(0, 30), starts, starts, st.booleans())
@hypothesis_settings(max_examples=examples(60), deadline=None)
def test_what_was_drawn_stays_and_about_as_many_more_are_drawn(counts, size, more, start, again, even):
    stratum = stratum_of(counts)
    former, chance = (chances(stratum, n, even=even) for n in (size, size + more))
    assert (chance >= former - 1e-12).all()
    before = drawn(stratum, former, start, falling(stratum))
    added = drawn_more(stratum, before, former, chance, again, falling(stratum))
    both = {*before.tolist(), *added.tolist()}
    assert len(both) == len(before) + len(added)
    assert abs(len(both) - min(size + more, stratum.size)) <= 2
    assert set(np.flatnonzero(np.repeat(chance, stratum.queries_per_count) == 1).tolist()) <= both


ZIPF = (10_000 / np.arange(1, 301)).astype(int)
DRAWS = 4_000


def frequencies(stratum: Stratum, draw) -> np.ndarray:
    times = np.zeros(stratum.size)
    for seed in range(DRAWS):
        times[draw(np.random.default_rng(seed))] += 1
    return times / DRAWS


@pytest.mark.parametrize("even", [False, True])
def test_over_many_draws_each_query_comes_as_often_as_its_chance_says(even):
    stratum = stratum_of(ZIPF)
    chance = chances(stratum, 50, even=even)
    found = frequencies(
        stratum, lambda rng: drawn(stratum, chance, rng.random(), mixed_order(stratum, chance, rng))
    )
    assert_like(found, np.repeat(chance, stratum.queries_per_count))


def test_queries_move_a_few_points_on_the_line():
    stratum = stratum_of(ZIPF)
    chance = chances(stratum, 50)
    lengths = chance * stratum.queries_per_count
    middle = np.cumsum(lengths) - lengths / 2
    order = mixed_order(stratum, chance, np.random.default_rng(1))
    assert sorted(order) == [*range(len(chance))] and (order != np.arange(len(chance))).any()
    assert (np.abs(middle[order] - middle) <= 2 * POINTS_MOVED + lengths.max()).all()


@pytest.mark.parametrize("even", [False, True])
def test_after_more_were_drawn_each_query_has_the_chance_of_the_larger_sample(even):
    """50, then 100, then 150. The twin draws the others as if nothing had been drawn before."""
    stratum = stratum_of(ZIPF)
    steps = [chances(stratum, size, even=even) for size in (50, 100, 150)]
    sizes = []

    def union(rng, more=drawn_more) -> np.ndarray:
        places = drawn(stratum, steps[0], rng.random(), mixed_order(stratum, steps[0], rng))
        for former, chance in zip(steps, steps[1:], strict=False):
            added = more(stratum, places, former, chance, rng.random(), mixed_order(stratum, chance, rng))
            places = np.concatenate([places, added])
        sizes.append(len(places))
        return places

    found = frequencies(stratum, union)
    assert_like(found, np.repeat(steps[-1], stratum.queries_per_count))
    assert np.mean(sizes) == pytest.approx(150, abs=0.1)
    assert {*sizes} <= {148, 149, 150, 151, 152}

    def naive(of, before, former, chance, start, order) -> np.ndarray:
        return np.setdiff1d(drawn(of, chance, start, order), before)

    with pytest.raises(AssertionError):
        assert_like(
            frequencies(stratum, lambda rng: union(rng, naive)), np.repeat(steps[-1], stratum.queries_per_count)
        )


def assert_like(found: np.ndarray, chance: np.ndarray) -> None:
    """Within 4.5 standard errors of a binomial share each."""
    error = np.sqrt(chance * (1 - chance) / DRAWS)
    assert found[error == 0].tolist() == chance[error == 0].tolist()
    z = (found - chance)[error > 0] / error[error > 0]
    assert np.abs(z).max() < 4.5


def test_each_third_has_a_third_of_the_searches():
    """50 + 20 + 10 + 10 + 5 + 5: the first query reaches 33.3, the second 66.7."""
    found = {part.name: every(part, part.search_counts) for part in thirds(stratum_of(COUNTS))}
    assert found == {"head": [50], "torso": [20], "tail": [10, 10, 5, 5]}
    alike = [part.size for part in thirds(stratum_of([2] * 9))]
    assert alike == [3, 3, 3]
    assert [part.name for part in thirds(stratum_of([7]))] == ["head"]


@given(counts)
@hypothesis_settings(max_examples=examples(60), deadline=None)
def test_the_thirds_have_each_query_once_in_the_order_of_the_log(counts):
    stratum = stratum_of(counts)
    parts = thirds(stratum)
    assert sum((every(part, part.search_counts) for part in parts), []) == every(stratum, stratum.search_counts)


@pytest.mark.parametrize(
    ("places", "shares", "room", "given"),
    [
        (10, [1, 1], [99, 99], [5, 5]),
        (10, [2, 1], [99, 99], [7, 3]),
        (10, [1, 1, 1], [2, 99, 99], [2, 4, 4]),
        (10, [1, 0], [99, 99], [10, 0]),
        (10, [1, 1], [3, 4], [3, 4]),
        (0, [1, 1], [3, 4], [0, 0]),
    ],
)
def test_places_are_shared_out_in_whole_numbers(places, shares, room, given):
    assert shared_out(places, shares, room) == given


def test_the_outlook_says_what_the_head_holds_and_how_wide_an_interval_will_be():
    """By hand: 60 of 100 searches are certain, and ten others stand for 40: .4 × t(.975, 9) × .3 / sqrt(10)."""
    stratum = stratum_of([60] + [1] * 40)
    found = outlook([(stratum, chances(stratum, 11))])
    assert found[:4] == (11, 1, 0.6, 4)
    assert found.margin == pytest.approx(0.4 * 2.262157 * 0.3 / np.sqrt(10), rel=1e-6)
    assert outlook([(stratum, chances(stratum, 41))]) == (41, 41, 1, 0, 0)
    assert outlook([(stratum, chances(stratum, 2))]).margin is None
    assert outlook([(stratum, chances(stratum, 3))]).margin == 0.5  # t of one degree is 12.7


def test_the_outlook_of_an_even_draw_is_wider():
    """Twenty queries of 9 and twenty of 1, each with the chance 1/2: .3² × 20 × (81 + 1) / .5 / 200²."""
    stratum = stratum_of([9, 1] * 20)
    even = outlook([(stratum, chances(stratum, 20, even=True))])
    assert even.margin == pytest.approx(2.093024 * 0.3 * np.sqrt(20 * (81 + 1) / 0.5) / 200, rel=1e-6)
    assert even.margin > 1.2 * outlook([(stratum, chances(stratum, 20))]).margin
