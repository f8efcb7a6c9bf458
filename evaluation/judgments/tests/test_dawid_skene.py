"""No database: arrays, an oracle in plain loops, raters whose errors are known, and the data of the paper."""

import numpy as np
import pytest

from evaluation.judgments import dawid_skene
from evaluation.judgments.dawid_skene import TOLERANCE, estimate, most_probable
from evaluation.judgments.rules import Ratings, combine

# Dawid and Skene (1979), table 1: 45 patients, the first anaesthetist three times, four others once.
ANAESTHETISTS = """
111 1 1 1 1   333 4 3 3 4   112 2 1 2 2   222 3 1 2 1   222 3 2 2 2   222 3 3 2 2   122 2 1 1 1   333 3 4 3 3
222 2 2 2 3   232 2 2 2 3   444 4 4 4 4   222 3 3 4 3   111 1 1 1 1   222 3 2 1 2   121 1 1 1 1   111 2 1 1 1
111 1 1 1 1   111 1 1 1 1   222 2 2 2 1   222 1 3 2 2   222 2 2 2 2   222 2 2 2 1   222 3 2 2 2   221 2 2 2 2
111 1 1 1 1   111 1 1 1 1   232 2 2 2 2   111 1 1 1 1   111 1 1 1 1   112 1 1 2 1   111 1 1 1 1   333 3 2 3 3
111 1 1 1 1   222 2 2 2 2   222 3 2 3 2   433 4 3 4 3   221 2 2 3 2   232 3 2 3 3   333 3 4 3 2   111 1 1 1 1
111 1 1 1 1   121 2 1 1 1   232 2 2 2 2   121 1 1 1 1   222 2 2 2 2
"""


def rows_of_the_paper() -> tuple[np.ndarray, ...]:
    patients = [column.split() for line in ANAESTHETISTS.split("\n") for column in line.split("   ") if column]
    rows = [
        (patient, observer, int(said) - 1)
        for patient, observers in enumerate(patients)
        for observer, all_said in enumerate(observers)
        for said in all_said
    ]
    return tuple(np.array(rows).T)


def simulated(seed: int, errors: np.ndarray, prevalence: list[float], pairs: int, each: int):
    """Truth and ratings (pair, rater, label) by raters whose errors[rater, truth, label] are given."""
    generator = np.random.default_rng(seed)
    raters, classes = errors.shape[:2]
    truth = generator.choice(classes, pairs, p=prevalence)
    who = np.concatenate([generator.permutation(raters)[:each] for _ in range(pairs)])
    pair = np.repeat(np.arange(pairs), each)
    label = [generator.choice(classes, p=errors[rater, truth[p]]) for p, rater in zip(pair, who, strict=True)]
    return truth, pair, who, np.array(label)


def in_plain_loops(pair, rater, label, classes: int, smoothing: float) -> list[list[float]]:
    """The same estimate without arrays, until nothing moves by more than the tolerance."""
    rows = list(zip(pair.tolist(), rater.tolist(), label.tolist(), strict=True))
    of_pair = {p: [(r, c) for q, r, c in rows if q == p] for p, _, _ in rows}
    truth = {p: [sum(c == j for _, c in said) / len(said) for j in range(classes)] for p, said in of_pair.items()}
    while True:
        prevalence = [sum(share[j] for share in truth.values()) / len(truth) for j in range(classes)]
        counts, everybody = {}, {}
        for p, r, c in rows:
            for j in range(classes):
                counts[r, j, c] = counts.get((r, j, c), 0) + truth[p][j]
                everybody[j, c] = everybody.get((j, c), 0) + truth[p][j]

        def error(r, j, c, counts=counts, everybody=everybody):
            met = sum(everybody.get((j, other), 0) for other in range(classes))
            common = everybody.get((j, c), 0) / met if met else 0
            own = sum(counts.get((r, j, other), 0) for other in range(classes))
            return (
                (counts.get((r, j, c), 0) + smoothing * common) / (own + smoothing) if own + smoothing else common
            )

        before, truth = truth, {}
        for p, said in of_pair.items():
            likely = list(prevalence)
            for j in range(classes):
                for r, c in said:
                    likely[j] *= error(r, j, c)
            truth[p] = [value / sum(likely) for value in likely]
        if max(abs(truth[p][j] - before[p][j]) for p in truth for j in range(classes)) <= TOLERANCE:
            return [truth[p] for p in sorted(truth)]


def sure(accuracy: float, classes: int) -> np.ndarray:
    """Who names the truth this often, and otherwise anything else."""
    return np.full((classes, classes), (1 - accuracy) / (classes - 1)) + np.eye(classes) * (
        accuracy - (1 - accuracy) / (classes - 1)
    )


def test_the_anaesthetists_of_the_paper_get_its_estimates():
    pair, rater, label = rows_of_the_paper()
    unsmoothed = estimate(pair, rater, label, 4, smoothing=0)
    assert len(pair) == 45 * 7
    assert unsmoothed.mean(axis=1).round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    patients = most_probable(unsmoothed) + 1
    # Where the most frequent answer is another: patient 3, and the third and eleventh of the severe cases.
    assert {p + 1: patients[p] for p in (2, 1, 35)} == {3: 2, 2: 4, 36: 4}
    smoothed = estimate(pair, rater, label, 4)
    assert (most_probable(smoothed) == most_probable(unsmoothed)).all()
    assert np.abs((smoothed - unsmoothed).mean(axis=1)).max() < 0.002


@pytest.mark.parametrize("smoothing", [0, 0.5, 4])
def test_the_estimate_is_that_of_plain_loops_on_the_data_of_the_paper(smoothing):
    rows = rows_of_the_paper()
    expected = in_plain_loops(*rows, 4, smoothing)
    np.testing.assert_allclose(estimate(*rows, 4, smoothing).T, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("seed", "classes", "smoothing"), [(1, 2, 2), (2, 3, 3), (3, 5, 5), (3, 5, 0)])
def test_the_estimate_is_that_of_plain_loops_on_simulated_raters(seed, classes, smoothing):
    errors = np.random.default_rng(seed).dirichlet(np.ones(classes), (6, classes)) / 2 + np.eye(classes) / 2
    _, *rows = simulated(seed, errors, np.full(classes, 1 / classes), pairs=60, each=3)
    expected = in_plain_loops(*rows, classes, smoothing)
    np.testing.assert_allclose(estimate(*rows, classes, smoothing).T, expected, rtol=0, atol=1e-9)


def test_it_finds_the_truth_where_the_majority_is_fooled():
    # Two raters are careful; three say 1 more often than not, whatever the truth is.
    careless = np.array([[0.3, 0.65, 0.05], [0.1, 0.8, 0.1], [0.05, 0.7, 0.25]])
    errors = np.stack([sure(0.9, 3), sure(0.9, 3), careless, careless, careless])
    truth, pair, rater, label = simulated(5, errors, [0.4, 0.2, 0.4], pairs=600, each=5)
    found = most_probable(estimate(pair, rater, label, 3))
    votes = Ratings(1, np.zeros(len(pair), np.int64), pair, rater, label.astype(float))
    majority = combine(votes, "majority").grade
    assert (combine(votes, "dawid_skene").grade == found).all()
    assert (majority == truth).mean() < 0.75
    assert (found == truth).mean() > 0.9


@pytest.mark.parametrize("raters", [1, 7, 400])
def test_with_one_rater_a_pair_it_gives_what_was_rated(raters):
    generator = np.random.default_rng(8)
    label = generator.choice(5, 400, p=[0.9, 0.06, 0.02, 0.01, 0.01])
    found = estimate(np.arange(400), generator.integers(0, raters, 400), label, 5)
    assert (most_probable(found) == label).all()


def test_of_equally_probable_classes_it_takes_the_lowest():
    pair, rater, label = np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2]), np.array([2, 1, 1, 2])
    assert most_probable(estimate(pair, rater, label, 3)).tolist() == [1, 1]
    # The same with the two raters and the two labels exchanged: equal, but for rounding that can favour 1.
    said = [(0, 0), (1, 1), (0, 1), (1, 1), (0, 0), (0, 1), (0, 1)]
    even = estimate(np.repeat(np.arange(7), 2), np.tile([1, 2], 7), np.array(said).ravel(), 2)
    assert most_probable(even)[6] == 0


def test_more_than_it_can_weigh_is_refused_with_a_cure(monkeypatch):
    monkeypatch.setattr(dawid_skene, "MOST_CELLS", 45 * 7 * 4 - 1)
    with pytest.raises(ValueError, match="cannot weigh 315 ratings of 4 different grades.* such as median"):
        estimate(*rows_of_the_paper(), 4)
