"""Agreement of raters: plain loops, scikit-learn, published figures and numbers by hand as judges."""

import csv
import gzip
from collections import Counter
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaluation import agreement
from evaluation.agreement import (
    KINDS,
    Table,
    alpha,
    alpha_interval,
    confusion,
    table,
)

NAN = float("nan")

# The example that Krippendorff's texts compute: twelve units, four observers, and holes.
BOOK = [
    [1, 1, NAN, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [NAN, 5, 5, 5],
    [NAN, NAN, 1, 1],
    [NAN, 3, NAN, NAN],
]


def of_rows(rows, scale=None) -> Table:
    """A table of one list of grades a pair, a place for each rater; None is nothing, nan "cannot judge"."""
    cells = [(p, r, g) for p, row in enumerate(rows) for r, g in enumerate(row) if g is not None]
    pair, rater, grade = zip(*cells, strict=True) if cells else ((), (), ())
    return table(pair, rater, grade, max(map(len, rows), default=0), scale)


def cohen(found: Table):
    return (SimpleNamespace(**row) for row in agreement.cohen(found))


def fleiss(found: Table) -> SimpleNamespace:
    return SimpleNamespace(**agreement.fleiss(found))


def percent(found: Table) -> SimpleNamespace:
    return SimpleNamespace(**agreement.percent(found))


def random_rows(seed: int, pairs: int = 40, raters: int = 4, grades: int = 4, holes: float = 0.3) -> list[list]:
    """Raters who agree more often than not."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, grades, pairs)
    noise = generator.integers(-1, 2, (pairs, raters)) * (generator.random((pairs, raters)) < 0.5)
    given = np.clip(truth[:, np.newaxis] + noise, 0, grades - 1).astype(float)
    given[generator.random((pairs, raters)) < holes] = NAN
    return given.tolist()


def alpha_by_loops(rows, kind: str) -> float:
    """Krippendorff's alpha as the book has it: a matrix of coincidences, and a distance for every two grades."""
    units = [[g for g in row if g is not None and g == g] for row in rows]
    units = [unit for unit in units if len(unit) > 1]
    coincidences = Counter()
    for unit in units:
        for one, other in permutations(range(len(unit)), 2):
            coincidences[unit[one], unit[other]] += 1 / (len(unit) - 1)
    given = Counter(g for unit in units for g in unit)
    n = sum(given.values())

    def distance(one, other) -> float:
        if kind == "nominal":
            return float(one != other)
        if kind == "interval":
            return (one - other) ** 2
        low, high = sorted((one, other))
        between = sum(count for grade, count in given.items() if low <= grade <= high)
        return (between - (given[low] + given[high]) / 2) ** 2

    observed = sum(count * distance(*cell) for cell, count in coincidences.items()) / n
    expected = sum(given[a] * given[b] * distance(a, b) for a in given for b in given) / (n * (n - 1))
    return 1 - observed / expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_plain_loops(kind, seed):
    rows = random_rows(seed, raters=2 + seed, holes=0.15 * seed)
    assert alpha(of_rows(rows), kind) == pytest.approx(alpha_by_loops(rows, kind), abs=1e-12)


def test_alpha_of_the_book():
    found = of_rows(BOOK)
    assert alpha(found, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert alpha(found, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert alpha(found, "interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand():
    # Two raters, three pairs: 1 1, 1 2, 2 2. One disagreement of three gives two of six coincidences off the
    # diagonal; of six grades three are 1, so that chance gives 2 * 3 * 3 of 6 * 5.
    assert alpha(of_rows([[1, 1], [1, 2], [2, 2]]), "nominal") == pytest.approx(1 - (2 / 6) / (18 / 30))


def test_perfect_agreement_is_1_and_a_pair_with_one_grade_counts_for_nothing():
    rows = [[0, 0], [1, 1], [3, 3]]
    for kind in KINDS:
        assert alpha(of_rows(rows), kind) == 1
        assert alpha(of_rows([*rows, [2, None], [NAN, 1]]), kind) == 1


def test_where_nothing_could_disagree_there_is_no_coefficient():
    for rows in ([[2, 2], [2, 2]], [[1, None], [None, 2]], [[1], [2]], []):
        found = of_rows(rows, scale=[1, 2])
        for kind in KINDS:
            assert np.isnan(alpha(found, kind))
            assert np.isnan(alpha_interval(found, kind)).all()
        assert np.isnan(fleiss(found).kappa)
        assert all(np.isnan([each.kappa, each.linear, each.quadratic]).all() for each in cohen(found))


def test_cannot_judge_is_no_grade_and_is_counted():
    with_hole = of_rows([*BOOK, [NAN, 1, 1, NAN], [NAN, NAN, NAN, NAN]])
    without = of_rows([*BOOK, [None, 1, 1, None]])
    assert (with_hole.cannot - without.cannot).tolist() == [2, 1, 1, 2]
    assert without.cannot.tolist() == [3, 1, 2, 1]
    assert alpha(with_hole, "ordinal") == alpha(without, "ordinal")
    assert percent(with_hole) == percent(without)


# The interval of alpha


def test_the_interval_of_alpha_resamples_pairs():
    rows = random_rows(3, pairs=60)
    found = of_rows(rows)
    generator, drawn = np.random.default_rng(8), []
    for _ in range(600):
        drawn.append(alpha_by_loops([rows[at] for at in generator.integers(0, 60, 60)], "ordinal"))
    low, high = alpha_interval(found, "ordinal", draws=4000)
    assert low == pytest.approx(np.quantile(drawn, 0.025), abs=0.03)
    assert high == pytest.approx(np.quantile(drawn, 0.975), abs=0.03)
    assert low < alpha(found, "ordinal") < high


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_makes_the_interval_of_alpha_and_pieces_do_not_change_it(kind, monkeypatch):
    found = of_rows(random_rows(4))
    whole = alpha_interval(found, kind)
    assert alpha_interval(found, kind) == whole
    assert alpha_interval(found, kind, seed=2) != whole
    monkeypatch.setattr("evaluation.agreement.krippendorff.COUNTS_AT_ONCE", 300)
    assert alpha_interval(found, kind) == pytest.approx(whole, abs=1e-12)


def test_resamples_without_variation_leave_no_interval():
    # Of 20 pairs one has another grade: a third of all resamples does not hold it.
    rows = [[1, 1]] * 19 + [[1, 2]]
    assert alpha(of_rows(rows), "nominal") == pytest.approx(0, abs=0.03)
    assert np.isnan(alpha_interval(of_rows(rows), "nominal")).all()
    assert np.isnan(alpha_interval(of_rows([[1, 2]]), "nominal")).all()


# Kappa, percent and the confusion of grades


@pytest.mark.parametrize("seed", range(3))
def test_kappa_is_that_of_scikit_learn(seed):
    rows = random_rows(seed)
    by_raters = {(each.first, each.second): each for each in cohen(of_rows(rows, scale=range(4)))}
    assert set(by_raters) == set(combinations(range(4), 2))
    for (one, other), each in by_raters.items():
        both = [(row[one], row[other]) for row in rows if row[one] == row[one] and row[other] == row[other]]
        first, second = zip(*both, strict=True)
        for weights, ours in ((None, each.kappa), ("linear", each.linear), ("quadratic", each.quadratic)):
            theirs = cohen_kappa_score(first, second, labels=[0, 1, 2, 3], weights=weights)
            assert ours == pytest.approx(theirs, abs=1e-12)
        assert each.pairs == len(both)
        assert each.agree == pytest.approx(np.mean([a == b for a, b in both]))
        assert each.within_one == pytest.approx(np.mean([abs(a - b) <= 1 for a, b in both]))


def test_kappa_by_hand():
    # Four of six agree; both gave 0 and 1 three times each, so that chance gives half.
    (found,) = cohen(of_rows([[0, 0], [0, 0], [1, 1], [1, 0], [0, 1], [1, 1]]))
    assert found.kappa == pytest.approx((4 / 6 - 1 / 2) / (1 - 1 / 2))


def test_weighted_kappa_goes_by_the_values_of_the_grades():
    # 0 and 10 are ten times as far apart as 0 and 1; as neighbours on the scale they would not be.
    near = next(cohen(of_rows([[0, 0], [1, 1], [10, 10], [0, 1]])))
    far = next(cohen(of_rows([[0, 0], [1, 1], [10, 10], [0, 10]])))
    assert near.kappa == pytest.approx(far.kappa, abs=0.05)
    assert near.linear > 0.9 > far.linear


def test_fleiss_by_hand():
    # Pairs 1 1, 1 2: half of the pairs agree; grades are 1, 1, 1, 2, so that chance gives 9 / 16 + 1 / 16.
    found = fleiss(of_rows([[1, 1], [1, 2]]))
    assert found.kappa == pytest.approx((0.5 - 0.625) / (1 - 0.625))
    assert (found.pairs, found.ratings) == (2, 2)


def test_fleiss_takes_the_pairs_with_the_usual_number_of_ratings():
    found = fleiss(of_rows(BOOK))
    assert (found.pairs, found.ratings) == (8, 4)
    even = fleiss(of_rows([[1, 1, None], [2, 2, 2]]))
    assert (even.pairs, even.ratings) == (1, 3)


def test_percent_counts_every_two_grades_of_a_pair():
    found = percent(of_rows([[0, 0, 1], [2, 0, None], [1, None, None]]))
    assert found.pairs == 4
    assert found.agree == pytest.approx(1 / 4)
    assert found.within_one == pytest.approx(3 / 4)
    assert np.isnan(percent(of_rows([[1, None]])).agree)


def test_the_confusion_of_grades_by_hand():
    counts = confusion(of_rows([[0, 0, 1], [2, 0, None], [1, 1, None]], scale=[0, 1, 2, 3]))
    assert counts.tolist() == [[1, 2, 1, 0], [2, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


# One rater, and pairs in dispute


def test_a_rater_beside_the_others_by_hand():
    strict, mild, alone = (
        SimpleNamespace(**row)
        for row in agreement.each_rater(of_rows([[0, 1, None], [1, 3, NAN], [2, 2, None], [None, None, 3]]))
    )
    assert (strict.ratings, strict.shared, strict.mean, strict.bias) == (3, 3, 1, -1)
    assert (strict.low, strict.high) == pytest.approx((-1 - 4.302653 / np.sqrt(3), -1 + 4.302653 / np.sqrt(3)))
    assert strict.spread == 1 and strict.agree == pytest.approx(1 / 3)
    assert (mild.bias, mild.agree) == (1, strict.agree)
    assert (alone.ratings, alone.cannot, alone.shared, alone.mean) == (1, 1, 0, 3)
    assert np.isnan([alone.bias, alone.low, alone.spread, alone.agree]).all()


def test_pairs_in_dispute_come_with_the_biggest_difference_first():
    found = agreement.disputed(of_rows([[1, 1], [0, 1], [0, 3], [None, 2], [0, 0, 3], [3, 0, 0]]))
    assert found["pair"].tolist() == [2, 4, 5, 1]
    assert found[0].tolist() == (2, 2, 0, 3, 1.5, pytest.approx(3 / np.sqrt(2)))
    assert len(agreement.disputed(of_rows([[1, None]]))) == 0


def test_steps_of_the_scale_and_not_values_make_the_biggest_difference():
    found = agreement.disputed(of_rows([[0, 100], [0, 2], [1, 1]], scale=[0, 1, 2, 100]))
    assert found["pair"].tolist() == [0, 1]
    found = agreement.disputed(of_rows([[3, 100], [0, 2]], scale=[0, 1, 2, 3, 100]))
    assert found["pair"].tolist() == [1, 0]


# Real raters


@pytest.mark.parametrize(
    ("column", "kappa", "ordinal"), [("relevance", 0.4854, 0.6651), ("new_relevance", 0.6746, 0.8315)]
)
def test_three_experts_before_and_after_discussion(shared, column, kappa, ordinal):
    path = shared / "data" / "crowd" / "nyt" / "experts_3x120.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pairs = sorted({(row["topic"], row["document_id"]) for row in rows})
    raters = sorted({row["worker_id"] for row in rows})
    grades = ["not_relevant", "relevant", "highly_relevant"]
    found = table(
        [pairs.index((row["topic"], row["document_id"])) for row in rows],
        [raters.index(row["worker_id"]) for row in rows],
        [grades.index(row[column]) for row in rows],
        len(raters),
    )
    assert (fleiss(found).pairs, fleiss(found).ratings) == (120, 3)
    assert fleiss(found).kappa == pytest.approx(kappa, abs=5e-5)
    assert alpha(found, "ordinal") == pytest.approx(ordinal, abs=5e-5)
