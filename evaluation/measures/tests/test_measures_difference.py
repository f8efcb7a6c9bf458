"""The difference of two values of a query, split by rank: worked by hand, and parts that add up."""

from itertools import product
from math import fsum
from random import Random

import pytest

from evaluation.measures import (
    Difference,
    Options,
    difference,
    evaluate,
    explain,
    parse_measure,
)
from evaluation.tests.packing import pack
from evaluation.tests.random_collections import collection


def split(grades: dict, first: list, second: list, measure: str = "nDCG", **options) -> Difference | None:
    packed = (pack({"q": grades}, {"q": each}) for each in (first, second))
    return difference(*(explain(10, *each, Options(**options), 0) for each in packed), measure)


def adds(found: Difference) -> list[tuple[int, float, float]]:
    return [(part.rank, round(part.first, 6), round(part.second, 6)) for part in found.parts]


# IDCG = 3 + 1 / log2(3) = 3.630930, W = -1: a rank's part of nDCG is what it adds to DCG, divided by 4.630930.
HILL = {"a": 3, "b": 0, "c": -1, "d": 1}


def test_a_worked_difference():
    found = split(HILL, list("ca"), list("adb"))
    # c a: -1 / 4.630930 and 3 / log2(3) / 4.630930; a d b: 3 / 4.630930, 1 / log2(3) / 4.630930, nothing
    assert adds(found) == [(1, -0.215939, 0.647818), (2, 0.408728, 0.136243), (3, 0, 0)]
    assert [round(part.difference, 6) for part in found.parts] == [0.863757, -0.272485, 0]
    assert (found.of_empty_list.first, found.of_empty_list.second) == pytest.approx((0.215939, 0.215939), abs=1e-6)
    assert (found.first, found.second) == pytest.approx((0.408728, 1), abs=1e-6)
    assert found.difference == pytest.approx(0.591272, abs=1e-6)
    assert found.one_ideal


def test_dcg_and_cg_are_split_into_what_each_rank_adds():
    assert adds(split(HILL, list("ca"), list("adb"), "DCG")) == [(1, -1, 3), (2, 1.892789, 0.63093), (3, 0, 0)]
    found = split(HILL, list("ca"), list("adb"), "CG")
    assert adds(found) == [(1, -1, 3), (2, 3, 1), (3, 0, 0)]
    assert (found.of_empty_list.first, found.of_empty_list.second, found.first, found.second) == (0, 0, 2, 4)


def test_measured_on_ideals_of_their_own_an_empty_list_has_its_part_of_the_difference():
    # c a: IDCG 3, W -1; a d b: IDCG 3.630930, W 0
    found = split(HILL, list("ca"), list("adb"), ideal="retrieved")
    assert not found.one_ideal
    assert (found.of_empty_list.first, found.of_empty_list.second) == (0.25, 0)
    assert [part.first for part in found.parts] == pytest.approx([-0.25, 0.473197, 0], abs=1e-6)
    assert found.difference == pytest.approx(1 - (0.892789 + 1) / 4, abs=1e-6)


@pytest.mark.parametrize("undefined", ["skip", "zero"])
def test_without_something_to_find_nothing_is_split(undefined):
    assert split({"a": 0}, ["a"], [], undefined=undefined) is None


def test_taken_for_0_because_nothing_was_found_it_has_no_parts():
    """a alone on its own ideal has 0 by definition, and not from its ranks."""
    grades = {"a": 0, "b": 2}
    assert split(grades, ["a"], ["b"], ideal="retrieved", undefined="zero") is None
    assert split(grades, ["b", "a"], ["b"], ideal="retrieved", undefined="zero").difference == 0


def test_best_and_worst_lists_that_differ_by_rounding_measure_nothing():
    """At ranks that all weigh the same, the closed lists are the same numbers in another order."""
    tenths = {"a": 0.1, "b": 0.1, "c": 0.2, "d": 0.9}
    ways = {"discount": "jk2002", "log_base": 10, "negatives": "minmax_closed", "undefined": "zero"}
    opened = explain(10, *pack({"q": tenths}, {"q": ["a"]}), Options(**ways), 0)
    assert opened.idcg > opened.min_dcg and opened.span == 0
    assert difference(opened, opened, "nDCG") is None


def test_what_has_no_value_has_no_parts():
    assert split({}, ["a"], ["b"]) is None
    assert split({"a": 1}, ["a", "x"], ["a"], unjudged="require") is None
    ranked, absent = (pack({"q": {"a": 1}}, rankings) for rankings in ({"q": ["a"]}, {}))
    opened = [explain(10, *each, Options(missing="skip"), 0) for each in (ranked, absent)]
    assert [difference(*opened, measure) for measure in ("CG", "DCG", "nDCG")] == [None] * 3


WAYS = [
    {"gain": gain, "discount": discount, "log_base": base, "negatives": negatives, "ties": ties, **more}
    for gain, (discount, base), negatives, ties, more in product(
        ("linear", "exponential", "exponential_signed"),
        (("log_shift", 2), ("log_shift", 10), ("jk2002", 3)),
        ("minmax", "minmax_closed", "raw", "clip"),
        ("rank", "score", "average"),
        ({}, {"ideal": "retrieved"}, {"unjudged": "condensed"}, {"unjudged": 1, "undefined": "zero"}),
    )
    if not (negatives == "minmax_closed" and "ideal" in more)
]


@pytest.mark.parametrize("measure", ["CG", "DCG", "nDCG"])
@pytest.mark.slow
def test_the_parts_add_up_to_each_value_and_to_the_difference(measure):
    """Under all options: to the values that `evaluate` gives, which knows of no parts."""
    random = Random(measure)
    seen = 0
    for way in WAYS:
        options, cutoff = Options(**way), random.choice((1, 3, 10, None))
        judged, first = collection(random, 1, random.choice(("whole", "decimal", "signed", "labels")))
        _, second = collection(random, 1)
        packed = [pack(judged, rankings) for rankings in (first, second)]
        opened = [explain(cutoff, *each, options, 0) for each in packed]
        name = measure if cutoff is None else f"{measure}@{cutoff}"
        values = [evaluate([name], *each, options).values[parse_measure(name)][0] for each in packed]
        found = difference(*opened, measure)
        if found is None:
            continue
        seen += 1
        parts = [found.of_empty_list, *found.parts]
        size = max(1, fsum(abs(part.first) + abs(part.second) for part in parts))
        assert fsum(part.first for part in parts) == pytest.approx(values[0], abs=1e-12 * size)
        assert fsum(part.second for part in parts) == pytest.approx(values[1], abs=1e-12 * size)
        total = fsum(part.difference for part in parts)
        assert total == pytest.approx(values[1] - values[0], abs=1e-12 * size)
        assert found.one_ideal or options.ideal == "retrieved"
        if found.one_ideal:
            assert found.of_empty_list.difference == 0
    assert seen > len(WAYS) / 3
