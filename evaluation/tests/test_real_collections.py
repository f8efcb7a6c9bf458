"""A real collection, from the import commands to the means that trec_eval prints. Others: measures and files."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction

from evaluation.measures import PROFILES
from evaluation.tests.worked import evaluated, summary_of
from ratings.models import Collection

# The fixture below holds the transaction; the mark has the database made when this module runs alone.
pytestmark = pytest.mark.django_db

TREC_EVAL = PROFILES["trec_eval -c"].revised(ties="trec_eval_9")  # the version that gave the expected numbers
MEASURES = {
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut_20": "nDCG@20",
    "ndcg": "nDCG",
    "map": "AP",
    "P_5": "P@5",
    "P_10": "P@10",
    "recip_rank": "RR",
    "recall_100": "R@100",
}


@pytest.fixture(scope="module")
def record(django_db_setup, django_db_blocker):
    """One transaction for the module: each collection is imported once, and none is left behind."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def imported(slug: str, topics: Path, qrels: Path, runs: dict[str, Path]) -> Collection:
    call_command("create_collection", slug)
    call_command("import_queries", slug, str(topics))
    for system, path in runs.items():
        call_command("import_run", slug, str(path), "--system", system, "--order", "score")
    call_command("import_qrels", slug, str(qrels))
    return Collection.objects.get(slug=slug)


def runs_in(folder: Path) -> dict[str, Path]:
    return {path.name.removesuffix(".run.gz"): path for path in sorted(folder.glob("*.run.gz"))}


@pytest.fixture(scope="module")
def cranfield(record, shared) -> Collection:
    folder = shared / "data" / "cranfield"
    return imported("cranfield", folder / "topics.tsv", folder / "qrels.cran.graded.txt", runs_in(folder / "runs"))


def expected_in(shared, name: str) -> dict[str, dict]:
    return json.loads((shared / "data" / name).read_text())["systems"]


def assert_means(collection: Collection, expected: dict[str, dict]) -> None:
    """Both are given to six decimals, so that half a millionth is the file's rounding."""
    evaluation = evaluated(collection, MEASURES.values(), TREC_EVAL)
    assert set(evaluation.systems) == set(expected)
    for system, numbers in expected.items():
        means = summary_of(evaluation).loc[system, "mean"]
        for name, measure in MEASURES.items():
            assert means[measure] == pytest.approx(numbers["mean_all"][name], abs=1e-6), (system, measure)
        assert summary_of(evaluation).loc[(system, "nDCG@10"), "queries"] == len(numbers["per_topic_ndcg_cut_10"])
        for query, value in numbers["per_topic_ndcg_cut_10"].items():
            assert evaluation.per_query.loc[query, ("nDCG@10", system)] == pytest.approx(value, abs=1e-6)


@pytest.mark.slow
def test_cranfield_scores_as_trec_eval_scores_it(cranfield, shared):
    expected = expected_in(shared, "cranfield/expected.graded.json")
    assert len(expected) == 6
    assert all(len(numbers["per_topic_ndcg_cut_10"]) == 225 for numbers in expected.values())
    assert_means(cranfield, expected)


def test_cranfield_qrels_come_out_as_they_went_in(cranfield, shared, tmp_path):
    path = tmp_path / "cranfield.qrels"
    call_command("export_qrels", "cranfield", "--output", str(path))

    def judged(file: Path) -> set[tuple[str, ...]]:
        return {tuple(line.split()[:1] + line.split()[2:]) for line in file.read_text().splitlines()}

    assert judged(path) == judged(shared / "data" / "cranfield" / "qrels.cran.graded.txt")
