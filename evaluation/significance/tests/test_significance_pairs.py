"""Systems against each other: every number of a comparison, its verdict, and the reason where there is none."""

from dataclasses import fields
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from evaluation.significance import (
    Comparison,
    bootstrap_interval,
    common_queries,
    compare,
    holm,
    tukey_hsd,
)
from evaluation.significance.pairs import (
    ALL_THE_SAME,
    FEW_QUERIES,
    NO_DIFFERENCE,
    NO_QUERY,
    NONE_DIFFERS,
    ONE_QUERY,
)

ALWAYS = {"wins", "ties", "losses", "verdict", "why"}
P_VALUES = {"p", "p_randomised", "p_wilcoxon", "p_holm", "p_hsd"}


def some_values(queries: int = 40, systems: int = 4) -> np.ndarray:
    generator = np.random.default_rng(21)
    better = np.array([0, 0.25, 0.02, -0.02, 0.1])[:systems]
    return generator.random((queries, 1)) + generator.random((queries, systems)) * 0.4 + better


def lacking(found: Comparison) -> set[str]:
    return {each.name for each in fields(found) if getattr(found, each.name) is None}


def test_every_number_of_a_comparison_is_the_one_that_others_compute():
    values = some_values()
    found = compare(values, [(0, 1), (0, 2), (0, 3)], draws=2000, seed=5)
    for place, second in enumerate((1, 2, 3)):
        each, difference = found.pairs[place], values[:, second] - values[:, 0]
        test = stats.ttest_1samp(difference, 0)
        assert each.difference == pytest.approx(difference.mean())
        assert (each.low, each.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
        assert (each.bootstrap_low, each.bootstrap_high) == pytest.approx(bootstrap_interval(difference))
        assert each.deviation == pytest.approx(difference.std(ddof=1))
        assert each.effect == pytest.approx(difference.mean() / difference.std(ddof=1))
        assert (each.t, each.p) == pytest.approx((test.statistic, test.pvalue))
        assert each.p_wilcoxon == pytest.approx(stats.wilcoxon(difference).pvalue)
        assert each.p_randomised == pytest.approx(test.pvalue, abs=0.03)
        assert (each.wins, each.ties, each.losses) == ((difference > 0).sum(), 0, (difference < 0).sum())
        assert each.p_hsd == tukey_hsd(values, 2000, 5).p[0, second]
        assert lacking(each) == set()
    assert [each.p_holm for each in found.pairs] == holm(np.array([each.p for each in found.pairs])).tolist()
    assert found.critical == tukey_hsd(values, 2000, 5).critical
    assert (found.queries, found.draws, found.seed, found.exact) == (40, 2000, 5, False)


def test_the_verdict_is_that_of_the_adjusted_p():
    values = some_values()
    verdicts = [each.verdict for each in compare(values, [(0, 1), (1, 0), (0, 2)]).pairs]
    assert verdicts == ["higher", "lower", "cannot tell"]
    # Alone this difference is significant; as one of many it is not.
    noise = np.random.default_rng(3).normal(size=40)
    difference = (noise - noise.mean()) / noise.std(ddof=1) + 0.36  # t is 0.36 times the root of 40
    values = np.column_stack([np.zeros(40), difference])
    alone, among = compare(values, [(0, 1)]), compare(values, [(0, 1)] * 10)
    assert alone.pairs[0].p == among.pairs[0].p < 0.05 < among.pairs[0].p_holm
    assert (alone.pairs[0].verdict, among.pairs[0].verdict) == ("higher", "cannot tell")
    assert alone.pairs[0].more == 0 < among.pairs[0].more
    assert among.pairs[0].needed == 40 + among.pairs[0].more
    # To be seen among ten it must be larger, or seen more often.
    assert among.pairs[0].needed > alone.pairs[0].needed
    assert among.pairs[0].detectable > alone.pairs[0].detectable


def test_all_pairs_go_by_tukey_hsd_and_two_systems_by_the_randomisation_test():
    values = some_values()
    by_hsd = compare(values, list(combinations(range(4), 2)), correction="hsd").pairs
    assert all((each.verdict != "cannot tell") == (each.p_hsd < 0.05) for each in by_hsd)
    (two,) = compare(values[:, :2], [(0, 1)], correction="hsd").pairs
    assert (two.p_hsd, two.verdict) == (None, "higher")
    assert two.why == {"p_hsd": "two systems make one comparison"}


def test_what_can_be_seen_grows_with_the_queries():
    few, many = (compare(some_values(n), [(0, 2)]).pairs[0] for n in (20, 80))
    assert few.detectable > many.detectable > 0
    # 0.8 = power; the deviation, times what level and power ask for, by the root of the queries.
    assert many.detectable == pytest.approx(many.deviation * 2.8016 / np.sqrt(80), rel=0.02)


def test_fewer_than_ten_queries_have_intervals_and_no_p():
    (nine,) = compare(some_values(9), [(0, 1)]).pairs
    assert lacking(nine) == P_VALUES
    assert set(nine.why.values()) == {FEW_QUERIES}
    assert (nine.verdict, nine.low < nine.difference < nine.high) == ("cannot tell", True)
    ten = compare(some_values(10), [(0, 1)])
    assert lacking(ten.pairs[0]) == set()
    assert ten.exact and not compare(some_values(15), [(0, 1)]).exact


def test_however_large_a_difference_it_takes_ten_queries():
    values = np.column_stack([np.zeros(6), np.linspace(0.5, 0.7, 6)])
    (found,) = compare(values, [(0, 1)]).pairs
    # The size alone would ask for three.
    assert (found.verdict, found.needed, found.more) == ("cannot tell", 10, 4)


def test_one_query_has_a_difference_and_none_has_nothing():
    (one,) = compare(some_values(1), [(0, 1)]).pairs
    assert {each.name for each in fields(one)} - lacking(one) == ALWAYS | {"difference"}
    assert set(one.why.values()) == {ONE_QUERY}
    (none,) = compare(np.empty((0, 2)), [(0, 1)]).pairs
    assert {each.name for each in fields(none)} - lacking(none) == ALWAYS
    assert (set(none.why.values()), none.verdict) == ({NO_QUERY}, "cannot tell")
    assert compare(some_values(), []).pairs == []


def test_systems_that_do_not_differ_have_no_p_of_1():
    values = some_values()
    values[:, 1] = values[:, 0]
    same, other = compare(values, [(0, 1), (0, 2)]).pairs
    assert lacking(same) == P_VALUES | {"effect", "t", "detectable", "needed", "more"}
    assert set(same.why.values()) == {NONE_DIFFERS}
    assert (same.difference, same.low, same.high, same.verdict) == (0, 0, 0, "cannot tell")
    # What was no comparison counts for none in the adjustment of others.
    assert other.p_holm == other.p


def test_a_difference_that_is_always_the_same_has_no_t_but_a_verdict():
    values = some_values()
    values[:, 1] = values[:, 0] + 0.1
    (found,) = compare(values, [(0, 1)], draws=999).pairs
    assert lacking(found) == {"effect", "t", "p", "detectable", "needed", "more"}
    assert set(found.why.values()) == {ALL_THE_SAME}
    assert (found.p_randomised, found.p_holm, found.verdict) == (0.001, 0.001, "higher")


def test_too_few_queries_for_many_comparisons_are_the_reason_why_nothing_is_detectable():
    generator = np.random.default_rng(5)
    pairs = [(0, other) for other in range(1, 13)]
    few, enough = (compare(generator.random((queries, 13)), pairs, draws=50).pairs[0] for queries in (4, 6))
    assert (few.detectable, few.why["detectable"]) == (None, "too few queries for so many comparisons")
    assert enough.detectable > 0


def test_differences_that_cancel_need_no_number_of_queries():
    values = np.zeros((20, 2))
    values[:, 1] = [0.1, -0.1] * 10
    (found,) = compare(values, [(0, 1)]).pairs
    assert (found.difference, found.p, found.effect) == (0, 1, 0)
    assert {name: found.why[name] for name in ("needed", "more")} == dict.fromkeys(
        ("needed", "more"), NO_DIFFERENCE
    )


def test_pairs_in_blocks_are_as_those_alone(monkeypatch):
    values, pairs = some_values(systems=5), list(combinations(range(5), 2))
    whole = compare(values, pairs, draws=500)
    monkeypatch.setattr("evaluation.significance.pairs.PAIRS_AT_ONCE", 3)
    assert compare(values, pairs, draws=500).pairs == whole.pairs


def test_only_queries_where_all_systems_have_a_value_are_common():
    values = np.array([[1, 2], [np.nan, 2], [1, np.nan], [0, 0]])
    assert common_queries(values).tolist() == [True, False, False, True]
    assert common_queries(np.empty((2, 0))).tolist() == [True, True]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"values": [[0.1, np.nan]]}, "values must be finite"),
        ({"values": [0.1, 0.2]}, "values must be finite"),
        ({"draws": 0}, "draws must be from 1"),
        ({"draws": 1_000_001}, "draws must be from 1"),
        ({"seed": -1}, "seed must not be negative"),
        ({"correction": "bonferroni"}, "correction must be holm or hsd"),
    ],
)
def test_what_cannot_be_compared_is_refused(bad, says):
    with pytest.raises(ValueError, match=says):
        compare(**{"values": some_values(), "pairs": [(0, 1)], **bad})
