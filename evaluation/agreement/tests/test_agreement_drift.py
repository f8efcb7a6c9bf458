"""How raters change over time: numbers by hand, and SciPy as the judge of the interval."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from evaluation import agreement
from evaluation.agreement import FEWEST_GRADES, Table, courses, table

NAN = float("nan")


def of_rows(rows: list[tuple], raters: int = 2, scale=(0, 1, 2, 3)) -> Table:
    """A table of (pair, rater, grade, moment)."""
    pair, rater, grade, moment = zip(*rows, strict=True)
    return table(pair, rater, grade, raters, scale, moment)


def course_of(grades: list[float], others: list[float | None], moments=None) -> agreement.Course:
    """Of one rater, beside another one who graded the same pairs; None for a pair that they did not."""
    moments = range(len(grades)) if moments is None else moments
    rows = [(pair, 0, grade, at) for pair, (grade, at) in enumerate(zip(grades, moments, strict=True))]
    rows += [(pair, 1, grade, 0) for pair, grade in enumerate(others) if grade is not None]
    return courses(of_rows(rows))[0]


def test_halves_are_in_the_order_of_time_by_hand():
    # In time: pairs 2, 0, 3, 1; distances 1, 0 and then 2, 2.
    found = course_of([1, 3, 2, 3], [1, 1, 1, 1], moments=[20, 40, 10, 30])
    assert (found.early, found.late, found.moved) == (0.5, 2, 1.5)
    assert (found.shared_early, found.shared_late, found.ratings) == (2, 2, 4)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_the_move_is_that_of_welch(seed):
    generator = np.random.default_rng(seed)
    grades, others = generator.integers(0, 4, 61), generator.integers(0, 4, 61)
    found = course_of(grades.tolist(), others.tolist())
    early, late = np.array_split(grades - others, 2)
    oracle = ttest_ind(late, early, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-12)
    assert found.moved == pytest.approx(late.mean() - early.mean())


def test_pairs_that_nobody_else_graded_are_in_the_mix_and_in_no_distance():
    found = course_of([3, 3, 1, 1], [None, 2, 1, None])
    assert (found.shared_early, found.early, found.shared_late, found.late) == (1, 1, 1, 0)
    assert found.moved == -1 and np.isnan([found.low, found.high]).all()
    alone = course_of([3, 3], [None, None])
    assert np.isnan([alone.early, alone.late, alone.moved]).all()


def test_a_move_is_told_only_beyond_chance_and_on_enough_grades():
    def of(n: int, late: float) -> agreement.Course:
        return course_of([1, 2] * (n // 2) + [1 + late, 2 + late] * (n // 2), [1] * (2 * n))

    assert of(FEWEST_GRADES, 1).significant and not of(FEWEST_GRADES, 0).significant
    assert not of(FEWEST_GRADES - 2, 1).significant
    # Without any spread the interval is the move itself.
    same = course_of([1] * FEWEST_GRADES + [2] * FEWEST_GRADES, [1] * (2 * FEWEST_GRADES))
    assert (same.moved, same.low, same.high, same.significant) == (1, 1, 1, True)


def test_periods_are_as_long_as_each_other_and_hold_every_grade_once():
    grades = [0] * 30 + [3] * 31
    found = course_of(grades, [1] * 61)
    assert [(each.first, each.last) for each in found.periods] == [(1, 21), (22, 41), (42, 61)]
    assert [each.given for each in found.periods] == [[21, 0, 0, 0], [9, 0, 0, 11], [0, 0, 0, 20]]
    assert [each.bias for each in found.periods] == [-1, pytest.approx((9 * -1 + 11 * 2) / 20), 2]
    assert [each.shared for each in found.periods] == [21, 20, 20]


def test_grades_that_came_at_once_have_no_order():
    at_once = course_of([1] * 50, [1] * 50, moments=[7] * 27 + list(range(100, 123)))
    assert (at_once.in_order, at_once.periods, at_once.ratings) == (False, [], 50)
    assert np.isnan(at_once.moved)
    assert course_of([1] * 50, [1] * 50, moments=[7] * 26 + list(range(100, 124))).in_order


def test_cannot_judge_is_no_grade_and_who_gave_none_has_no_course():
    found = of_rows([(0, 0, 1, 0), (1, 0, NAN, 1), (0, 2, NAN, 0)], raters=3)
    assert [(each.rater, each.ratings) for each in courses(found)] == [(0, 1)]
    assert courses(table([], [], [], 0, [0, 1], [])) == []


def test_rounding_is_no_move():
    # 1 less the mean of 0, 0 and 1, which no sum of doubles gives exactly.
    rows = [(pair, rater, grade, pair) for pair in range(43) for rater, grade in enumerate((1, 0, 0, 1))]
    found = courses(of_rows(rows, raters=4))[0]
    assert found.early == pytest.approx(2 / 3) and (found.moved, found.significant) == (0, False)
    moved = [(pair, rater, grade + (pair > 21 and rater == 0), at) for pair, rater, grade, at in rows]
    found = courses(of_rows(moved, raters=4))[0]
    assert found.significant and (found.low, found.high) == pytest.approx((1, 1))


@pytest.mark.parametrize(
    ("grades", "told"),
    [
        ("0123" * 10, False),  # the others' own grades
        ("1230" * 10, True),  # all wrong, and spread as the others'
        ("1212" * 10, False),  # timid, and closer than chance
        ("0" * 40, True),  # always the lowest, whatever the document
        ("1230" * 4, False),  # all wrong, on fewer than FEWEST_GRADES
    ],
)
def test_grades_no_closer_than_by_chance_are_told_in_any_order_of_time(grades, told):
    others = [int(grade) for grade in "0123" * 10][: len(grades)]
    for moments in (None, [0] * len(grades)):
        assert course_of([int(grade) for grade in grades], others, moments).by_chance is told
    assert not course_of([1] * 40, [1] * 40).by_chance
