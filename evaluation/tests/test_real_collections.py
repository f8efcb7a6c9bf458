"""Real collections, from the import commands to the means that trec_eval and NIST print for them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.db import transaction

from evaluation import scores
from evaluation.measures import PROFILES, Measure
from evaluation.tests.worked import evaluated
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


@pytest.fixture(scope="module")
def covid(record, shared) -> Collection:
    folder = shared / "data" / "trec-covid" / "round1"
    topics, qrels = folder / "topics.covid-round1.xml", folder / "qrels.covid-round1.txt.gz"
    return imported("covid", topics, qrels, runs_in(folder / "runs"))


def trec_eval_test(shared, tmp_path: Path, slug: str, qrels: str) -> Collection:
    folder = shared / "data" / "trec_eval"
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{number}\ttopic {number}\n" for number in (301, 302, 303)))
    return imported(slug, topics, folder / qrels, {"results.test": folder / "results.test"})


def expected_in(shared, name: str) -> dict[str, dict]:
    return json.loads((shared / "data" / name).read_text())["systems"]


def assert_means(collection: Collection, expected: dict[str, dict]) -> None:
    """Both are given to six decimals, so that half a millionth is the file's rounding."""
    evaluation = evaluated(collection, MEASURES.values(), TREC_EVAL)
    assert set(evaluation.systems) == set(expected)
    for system, numbers in expected.items():
        means = evaluation.summary.loc[system, "mean"]
        for name, measure in MEASURES.items():
            assert means[measure] == pytest.approx(numbers["mean_all"][name], abs=1e-6), (system, measure)
        assert evaluation.summary.loc[(system, "nDCG@10"), "queries"] == len(numbers["per_topic_ndcg_cut_10"])
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


@pytest.mark.slow
def test_trec_covid_scores_as_the_leaderboard_of_nist(covid, shared):
    board = csv.DictReader(
        (shared / "data" / "trec-covid" / "round1" / "leaderboard.csv").read_text().splitlines()
    )
    published = {row["run"]: float(row["ndcg@10"]) for row in board}
    summary = evaluated(covid, ["nDCG@10"], TREC_EVAL).summary.xs("nDCG@10", level="measure")
    assert len(summary) == 10
    for system, mean in summary["mean"].items():
        assert mean == pytest.approx(published[system], abs=1e-4), system


def test_trec_covid_scores_as_trec_eval_scores_it_for_every_topic(covid, shared):
    assert_means(covid, expected_in(shared, "trec-covid/round1/expected.dev.json"))


def test_the_test_file_of_trec_eval_gives_what_trec_eval_prints(record, shared, tmp_path):
    collection = trec_eval_test(shared, tmp_path, "results-test", "qrels.test")
    assert_means(collection, expected_in(shared, "trec_eval/expected.results.test.json"))


def test_negative_grades_gain_nothing_for_trec_eval(record, shared, tmp_path):
    collection = trec_eval_test(shared, tmp_path, "rel-level", "qrels.rel_level")
    assert (scores.read(collection, scores.Asked(Measure("nDCG", 10), TREC_EVAL))[1].grade < 0).sum() == 304
    assert_means(collection, expected_in(shared, "trec_eval/expected.rel_level.json"))
    ours = evaluated(collection, ["nDCG@10"], scores.options_for(collection, ties="score")).summary["mean"]
    theirs = evaluated(collection, ["nDCG@10"], TREC_EVAL).summary["mean"]
    assert not np.isclose(ours, theirs).any()
