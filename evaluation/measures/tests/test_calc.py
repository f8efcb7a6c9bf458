"""Dicts and frames give the numbers of trec_eval, and the folder works alone, as `idealist_measures`."""

import math
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pandas as pd
import pytest
import pytrec_eval

from evaluation.measures import PROFILES, calc
from evaluation.tests.random_collections import collection

from .test_measures_collections import lines, qrels, run

FOLDER = Path(__file__).resolve().parents[1]
QRELS = {"q1": {"a": 3, "b": 1}, "q2": {"a": 0, "c": 2}, "q3": {"a": 1}}
RUN = {"q1": {"b": 0.5, "a": 0.25}, "q2": {"c": 7.0}, "unknown": {"a": 1.0}}
TREC = {"nDCG@10": "ndcg_cut_10", "nDCG": "ndcg", "AP": "map", "P(rel=1)@5": "P_5", "RR": "recip_rank"}
TREC |= {"NumRelRet": "num_rel_ret", "Bpref": "bpref", "Rprec": "Rprec", "Success@1": "success_1"}
ASKED = {"ndcg", "ndcg_cut.10", "map", "P.5", "recip_rank", "num_rel_ret", "bpref", "Rprec", "success.1"}


def frame(by_query: dict, value: str) -> pd.DataFrame:
    rows = [(query, *row) for query, numbers in by_query.items() for row in numbers.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def test_values_are_those_of_trec_eval_for_each_query():
    judged, ranked = collection(Random("calc"), queries=300)
    judged = {query: grades for query, grades in judged.items() if grades}
    # pytrec_eval rounds scores to 32 bits, so that it gets whole numbers in their order.
    places = {q: sorted(of, key=lambda key, of=of: (of[key], key)) for q, of in ranked.items() if of}
    whole = {query: {key: float(place) for place, key in enumerate(keys)} for query, keys in places.items()}
    theirs = pytrec_eval.RelevanceEvaluator(judged, ASKED).evaluate(whole)
    found = calc(TREC, judged, ranked)
    assert len(theirs) > 200
    for ours, name in TREC.items():
        expected = {query: theirs[query][name] if query in theirs else 0.0 for query in judged}
        assert found.per_query[ours] == pytest.approx(expected, abs=1e-9), ours
        mean = sum(expected.values()) / (1 if ours == "NumRelRet" else len(expected))
        assert found.aggregated[ours] == pytest.approx(mean), ours


def test_the_sample_of_trec_eval_gives_what_it_prints(shared):
    folder = shared / "data" / "trec_eval"
    printed = {name: value for name, query, value in lines(folder / "out.test.a") if query == "all"}
    found = calc(TREC, qrels(folder / "qrels.test"), run(folder / "results.test")).aggregated
    for ours, name in TREC.items():
        assert found[ours] == pytest.approx(float(printed[name]), abs=5.1e-5), ours


def test_frames_give_what_dicts_give_in_any_order_of_rows():
    mixed = frame(RUN, "score").sample(frac=1, random_state=3)
    found = calc(["nDCG@10", "P(rel=2)@5"], frame(QRELS, "relevance"), mixed)
    assert found == calc(["nDCG@10", "P(rel=2)@5"], QRELS, RUN)
    shown = pd.DataFrame(found.per_query)
    assert shown.loc["q1", "nDCG@10"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert shown.loc["q3"].tolist() == [0.0, 0.0]  # no ranking: an empty one, as by -c


def test_the_defaults_of_the_server_are_a_profile_and_each_option_is_text():
    judged = {"q1": {"a": 0}, "q2": {"b": 2, "c": 1}}
    ranked = {"q1": {"a": 1.0}, "q2": {"c": 2.0, "b": 1.0}}
    assert calc(["nDCG"], judged, ranked).per_query["nDCG"]["q1"] == 0
    found = calc(["nDCG"], judged, ranked, profile="default", gain="exponential")
    assert math.isnan(found.per_query["nDCG"]["q1"])  # there is nothing to find
    assert found.aggregated["nDCG"] == found.per_query["nDCG"]["q2"]
    assert found.options == PROFILES["default"].revised(gain="exponential")
    assert calc(["ERR@2"], judged, ranked).aggregated.keys() == {"ERR(gmax=2)@2"}


@pytest.mark.parametrize(
    ("judged", "ranked", "said"),
    [
        (QRELS, {"q9": {"a": 1.0}}, "no query of the run is judged: it begins with q9, and the qrels with q1"),
        (QRELS, {"q1": {"a": math.nan}}, "document a of query q1 has nan as its score"),
        (QRELS, {}, "no row with a score"),
        (frame(QRELS, "grade"), RUN, "the frame has no column relevance"),
        (pd.concat([frame(QRELS, "relevance")] * 2), RUN, "query q1 has document a twice"),
    ],
)
def test_what_has_no_meaning_is_refused(judged, ranked, said):
    with pytest.raises(ValueError, match=said):
        calc(["nDCG"], judged, ranked)


def installed(folder: Path) -> None:
    """The package `idealist_measures` in the folder: the wheel where hatchling is there, else the modules."""
    if find_spec("hatchling"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
        (wheel,) = folder.glob("idealist_measures-*.whl")
        shutil.unpack_archive(wheel, folder, format="zip")
    else:
        shutil.copytree(FOLDER, folder / "idealist_measures", ignore=shutil.ignore_patterns("tests"))


def test_the_folder_is_a_package_that_needs_numpy_alone(tmp_path):
    installed(tmp_path)
    code = (
        "import sys; from idealist_measures import calc;"
        "found = calc(['nDCG@1'], {'q': {'a': 2, 'b': 1}}, {'q': {'a': 1.0, 'b': 2.0}});"
        "print(found.aggregated['nDCG@1'], {'django', 'pandas', 'scipy', 'evaluation'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "0.5 set()\n"
    assert not (tmp_path / "idealist_measures" / "tests").exists()
