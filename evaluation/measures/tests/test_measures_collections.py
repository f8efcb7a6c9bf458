"""Real collections, against the numbers that trec_eval 9 gives and that NIST published."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from evaluation.measures import PROFILES, evaluate, parse_measure
from evaluation.tests.packing import pack

NAMES = {
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut_20": "nDCG@20",
    "ndcg": "nDCG",
    "map": "AP",
    "P_5": "P@5",
    "P_15": "P@15",
    "recip_rank": "RR",
    "recall_100": "R@100",
    "bpref": "Bpref",
}
SIX_DIGITS = 6e-7


def lines(path: Path) -> list[list[str]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [line.split() for line in text.decode().splitlines() if line.strip()]


def qrels(path: Path) -> dict[str, dict[str, float]]:
    judgments: dict[str, dict[str, float]] = {}
    for query, _, document, grade in lines(path):
        judgments.setdefault(query, {})[document] = float(grade)
    return judgments


def run(path: Path) -> dict[str, dict[str, float]]:
    rankings: dict[str, dict[str, float]] = {}
    for query, _, document, _, score, _ in lines(path):
        rankings.setdefault(query, {})[document] = float(score)
    return rankings


def means(judgments: dict, rankings: dict, profile: str, **revised: str) -> dict[str, float]:
    # trec_eval looks only at the queries that are judged.
    judged = {query: ranking for query, ranking in rankings.items() if query in judgments}
    options = PROFILES[profile].revised(**revised)
    scores = evaluate([*NAMES.values(), "Judged@10"], *pack(judgments, judged), options)
    return {str(measure): scores.mean(measure) for measure in scores.values}


@pytest.mark.parametrize(
    "expectations",
    [
        "cranfield/expected.graded.json",
        "trec-covid/round1/expected.dev.json",
        "trec_eval/expected.results.test.json",
        "trec_eval/expected.rel_level.json",  # holds grades of -1
    ],
)
@pytest.mark.slow
def test_every_system_of_a_real_collection_scores_as_in_trec_eval(shared, expectations):
    expected = json.loads((shared / "data" / expectations).read_text())
    judgments = qrels(shared / "data" / expected["qrels"])
    assert expected["systems"]
    for name, system in expected["systems"].items():
        rankings = run(shared / "data" / system["file"])
        for profile, mean_over in (("trec_eval -c", "mean_all"), ("trec_eval", "mean_retrieved")):
            found = means(judgments, rankings, profile, ties="trec_eval_9")
            for theirs, ours in NAMES.items():
                stated = system[mean_over].get(theirs)
                assert stated is None or found[ours] == pytest.approx(stated, abs=SIX_DIGITS), (name, ours)
        exponential = means(judgments, rankings, "trec_eval -c", gain="exponential")
        assert exponential["nDCG@10"] == pytest.approx(system["mean_all"]["ndcg_exp_cut_10"], abs=SIX_DIGITS)


def test_the_output_that_trec_eval_prints_of_its_own_example(shared):
    folder = shared / "data" / "trec_eval"
    printed = {name: value for name, query, value in lines(folder / "out.test.a") if query == "all"}
    measures = {"num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRelRet", "Rprec": "Rprec"}
    measures |= {"bpref": "Bpref", "success_1": "Success@1", "success_10": "Success@10", "map": "AP"}
    collection = pack(qrels(folder / "qrels.test"), run(folder / "results.test"))
    scores = evaluate(measures.values(), *collection, PROFILES["trec_eval"])
    for name, ours in measures.items():
        measure = parse_measure(ours)
        found = scores.values[measure].sum() if name.startswith("num_") else scores.mean(measure)
        assert found == pytest.approx(float(printed[name]), abs=5e-5), name


@pytest.mark.slow
def test_the_published_leaderboard_comes_out_to_four_digits(shared):
    folder = shared / "data" / "trec-covid" / "round1"
    judgments = qrels(folder / "qrels.covid-round1.txt.gz")
    with (folder / "leaderboard.csv").open() as text:
        published = {row["run"]: row for row in csv.DictReader(text)}
    files = sorted((folder / "runs").glob("*.run.gz"))
    assert len(files) == 10
    for file in files:
        name = file.name.removesuffix(".run.gz")
        found = means(judgments, run(file), "trec_eval -c")
        for theirs, ours in {"ndcg@10": "nDCG@10", "p@5": "P@5", "bpref": "Bpref", "MAP": "AP"}.items():
            assert found[ours] == pytest.approx(float(published[name][theirs]), abs=5.1e-5), (name, ours)
