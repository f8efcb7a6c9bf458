"""A machine's grades against people's: by hand, by real grades, and by the chances of a sample."""

import gzip

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaluation.agreement import alpha, table
from evaluation.agreement.machine import NAMES, Paired, confusion, figures


def paired_of(person, machine, query=None, weight=None, grades=(0, 1, 2)) -> Paired:
    n = len(person)
    return Paired(
        np.array(grades, np.float64),
        np.arange(n) if query is None else np.array(query),
        np.array(person, np.int64),
        np.array(machine, np.int64),
        np.ones(n) if weight is None else np.array(weight, np.float64),
    )


def test_figures_by_hand():
    # Two the same, one above by 2, one below by 1.
    found = figures(paired_of([0, 1, 0, 2], [0, 1, 2, 1]))
    assert [found[name].value for name in ("same", "higher", "lower", "bias")] == [0.5, 0.25, 0.25, 0.25]
    # People: 0 half, 1 and 2 a quarter each; the machine: 0 and 2 a quarter, 1 half. By chance the same in
    # 1/8 + 1/8 + 1/16 = 5/16; the mean distance by chance is 14/16, and its mean square 20/16.
    assert found["kappa"].value == pytest.approx(1 - (1 / 2) / (11 / 16))
    assert found["linear"].value == pytest.approx(1 - (3 / 4) / (14 / 16))
    assert found["quadratic"].value == pytest.approx(1 - (5 / 4) / (20 / 16))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappas_are_those_of_scikit_learn(weights):
    generator = np.random.default_rng(4)
    person = generator.integers(0, 4, 500)
    machine = np.clip(person + generator.integers(-1, 2, 500), 0, 3)
    name = weights or "kappa"
    found = figures(paired_of(person, machine, grades=range(4)), draws=2)[name].value
    assert found == pytest.approx(cohen_kappa_score(person, machine, weights=weights), abs=1e-12)


def test_alpha_is_krippendorff_s_of_two_raters():
    generator = np.random.default_rng(3)
    person, machine = generator.integers(0, 3, (2, 200))
    grades = np.column_stack([person, machine]).ravel()
    two = table(np.repeat(np.arange(200), 2), np.tile([0, 1], 200), grades, 2)
    assert figures(paired_of(person, machine))["alpha"].value == pytest.approx(alpha(two, "interval"), abs=1e-12)


def test_confusion_is_by_the_grade_of_people():
    found = confusion(paired_of([0, 0, 1], [0, 2, 1]))
    assert found[:2].tolist() == [[0.5, 0, 0.5], [0, 1, 0]] and np.isnan(found[2]).all()


def test_a_pair_counts_by_the_inverse_of_its_chance():
    # A pair of chance 1/3 stands for three.
    weighted = figures(paired_of([0, 1], [0, 2], weight=[1, 3]))
    written_out = figures(paired_of([0, 1, 1, 1], [0, 2, 2, 2]))
    assert all(weighted[name].value == pytest.approx(written_out[name].value) for name in NAMES)
    assert weighted["same"].value == 0.25


def test_without_rows_or_of_one_query_there_is_no_interval():
    none = figures(paired_of([], []))
    assert all(np.isnan([each.value, each.low, each.high]).all() for each in none.values())
    one = figures(paired_of([0, 1], [0, 2], query=[4, 4]))
    assert one["same"].value == 0.5 and np.isnan(one["same"].low)
    same = figures(paired_of([1, 1], [1, 1]))
    assert same["same"].value == 1 and np.isnan(same["kappa"].value)


def test_the_machine_of_trec_rag_2025_agrees_as_its_authors_report(shared):
    def grades(name: str) -> dict[tuple[str, str], int]:
        with gzip.open(shared / "data" / "machine" / name, "rt") as lines:
            return {(q, d): int(g) for q, _, d, g in map(str.split, lines)}

    people, machine = grades("qrels.rag25.test.txt.gz"), grades("qrels.rag25.test-umbrela2.txt.gz")
    assert people.keys() == machine.keys() and len(people) == 10_284
    queries = {query: place for place, query in enumerate(sorted({query for query, _ in people}))}
    found = figures(
        paired_of(
            list(people.values()),
            [machine[pair] for pair in people],
            [queries[query] for query, _ in people],
            grades=range(5),
        )
    )
    assert round(found["kappa"].value, 4) == 0.2333 and round(found["quadratic"].value, 3) == 0.492
    assert round(found["higher"].value, 3) == 0.333 and round(found["lower"].value, 3) == 0.226
    assert found["quadratic"].low < 0.492 < found["quadratic"].high
