import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from evaluation.measures import Options
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_pair, make_ranking

from ...tests.worked import (
    HYBRID_Q1,
    KEYWORD_Q1,
    KEYWORD_Q2,
    NEUTRAL_Q2,
    worked_collection,
)

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("evaluate", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def as_json(*arguments: str) -> dict:
    return json.loads(run(*arguments, "--format", "json")[0])


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert refused.value.returncode == 1
    return str(refused.value)


@pytest.mark.parametrize("name", [name for name, app in get_commands().items() if app == "evaluation"])
def test_every_command_prints_its_help(name):
    assert load_command_class("evaluation", name).create_parser("manage.py", name).format_help()


def test_json_holds_what_scripts_depend_on():
    worked_collection()
    document = as_json("hills", "--measure", "nDCG@10", "--system", "keyword", "--per-query")
    assert document["collection"] == "hills"
    assert document["options"] == Options().as_dict()
    (result,) = document["results"]
    assert (result["system"], result["measure"]) == ("keyword", "nDCG@10")
    assert (result["queries"], result["undefined"], result["why"]) == (2, 0, {})
    assert result["mean"] == pytest.approx((KEYWORD_Q1 + KEYWORD_Q2) / 2, abs=1e-15)
    assert result["low"] < result["mean"] < result["high"]
    assert result["judged"] == pytest.approx((2 / 3 + 1) / 2)
    assert result["per_query"] == pytest.approx({"q1": KEYWORD_Q1, "q2": KEYWORD_Q2}, abs=1e-15)


def test_json_says_which_options_made_the_numbers():
    worked_collection()
    document = as_json("hills", "--profile", "trec_eval -c", "--gain", "map:-1=0,0=0,1=1,2=3,3=7", "--rule", "max")
    assert (document["profile"], document["rule"]) == ("trec_eval -c", "max")
    assert document["options"]["gain"] == "map:-1=0,0=0,1=1,2=3,3=7"
    assert document["options"]["ties"] == "score"
    assert document["fingerprint"].startswith("map:-1=0")
    assert document["fingerprint"].endswith(" rule=max")


def test_no_value_is_null_and_an_unjudged_query_sums_to_nothing():
    collection = worked_collection()
    collection.queries.create(key="q3", text="rated by nobody")
    make_ranking(collection, "keyword", "q3", "abc")
    results = as_json(
        "hills",
        "--system=keyword",
        "--per-query",
        *(f"--measure={name}@10" for name in ("nDCG", "CG", "DCG", "IDCG")),
    )["results"]
    by_measure = {result["measure"]: result for result in results}
    assert by_measure["nDCG@10"]["per_query"]["q3"] is None
    assert [by_measure[f"{name}@10"]["per_query"]["q3"] for name in ("CG", "DCG", "IDCG")] == [0.0, 0.0, 0.0]
    assert {(r["queries"], r["undefined"]) for r in results} == {(2, 1)}
    assert by_measure["CG@10"]["why"] == {"not judged": 1}
    assert {json.dumps(result["why_per_query"]) for result in results} == {'{"q3": "not judged"}'}
    # q1 gathers 2 + 3 and q2 -1 + 1; q3 counts in no mean.
    assert by_measure["CG@10"]["mean"] == 2.5


def test_option_flags_override_the_profile_and_one_query_has_no_interval():
    worked_collection()
    asked = ["hills", "--profile", "trec_eval", "--system=hybrid", "--measure=RR"]
    skipped, emptied = (as_json(*asked, *more)["results"][0] for more in ([], ["--missing=empty"]))
    assert (skipped["queries"], emptied["queries"]) == (1, 2)
    assert (skipped["mean"], skipped["low"], skipped["high"]) == (1.0, None, None)


@pytest.mark.parametrize(
    ("flag", "value", "name"),
    [
        ("--gain", "exponential", "gain"),
        ("--discount", "jk2002", "discount"),
        ("--log-base", "10", "log_base"),
        ("--ideal", "retrieved", "ideal"),
        ("--unjudged", "-1", "unjudged"),
        ("--negatives", "raw", "negatives"),
        ("--undefined", "zero", "undefined"),
        ("--missing", "skip", "missing"),
        ("--ties", "average", "ties"),
        ("--relevant-from", "2", "relevant_from"),
    ],
)
def test_every_option_has_its_flag(flag, value, name):
    worked_collection()
    changed = {"unjudged": -1.0, "log_base": 10.0, "relevant_from": 2.0}.get(name, value)
    assert as_json("hills", flag, value)["options"] == Options(**{name: changed}).as_dict()


def test_an_adjudicated_grade_counts_unless_it_is_to_be_ignored():
    collection = worked_collection()
    pair = make_pair(collection, "q1", "d")
    adjudicate(pair, grade(collection, "3"), reason="checked", actor=None)
    arguments = ["hills", "--measure=CG@3", "--system=keyword", "--per-query"]
    # b a d of q1: 2 and 3, and 3 for d.
    assert as_json(*arguments)["results"][0]["per_query"]["q1"] == 8
    ignored = as_json(*arguments, "--adjudications=ignore")
    assert ignored["results"][0]["per_query"]["q1"] == 5
    assert (ignored["adjudications"], ignored["fingerprint"][-21:]) == ("ignore", " adjudications=ignore")


def test_bounds_tell_what_a_value_can_still_become():
    worked_collection()
    arguments = ["hills", "--measure=nDCG@2", "--measure=P@2", "--system=keyword", "--bounds"]
    ndcg, precision = as_json(*arguments, "--per-query")["results"]
    # Of the two systems' lists down to rank 2 all documents are judged.
    assert ndcg["lowest_per_query"] == ndcg["highest_per_query"] == ndcg["per_query"]
    assert (precision["lowest"], precision["highest"]) == (None, None)
    assert "lowest_per_query" not in precision
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--per-query", "--format=csv")[0])))
    assert [row["lowest"] == row["value"] for row in rows] == [True, True, False, False]
    assert "can become" in run(*arguments)[0] and "can become" not in run("hills")[0]
    assert "lowest" not in as_json("hills")["results"][0]


def test_a_mean_by_query_weight_is_given_only_where_weights_differ():
    collection = worked_collection()
    assert "weighted" not in as_json("hills")["results"][0]
    collection.queries.filter(key="q1").update(weight=3)
    collection.touch()
    (result,) = as_json("hills", "--system=keyword")["results"]
    assert result["weighted"] == pytest.approx((3 * KEYWORD_Q1 + KEYWORD_Q2) / 4, abs=1e-15)
    assert "weighted mean" in run("hills")[0]


def test_a_count_has_its_total():
    worked_collection()
    assert "total" not in as_json("hills")["results"][0]
    (result,) = as_json("hills", "--system=keyword", "--measure=NumRet")["results"]
    assert (result["mean"], result["total"]) == (2.5, 5)  # three documents and two
    assert run("hills", "--system=keyword", "--measure=NumRet")[0].splitlines()[1].split()[-4] == "5"


def test_the_collection_says_from_where_a_document_is_relevant():
    collection = worked_collection()
    collection.relevant_from = 3
    collection.save()
    document = as_json("hills", "--measure", "P@1", "--system", "keyword")
    assert document["options"]["relevant_from"] == "3"
    assert document["results"][0]["mean"] == 0
    assert as_json("hills", "--measure=P@1", "--system=keyword", "--relevant-from=2")["results"][0]["mean"] == 0.5


def test_the_table_is_aligned_and_ends_with_what_made_it():
    worked_collection()
    text, err = run("hills", "--measure", "nDCG@10", "--measure", "CG@1")
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "system"
    assert [line.split()[:3] for line in lines[1:5]] == [
        ["hybrid", "nDCG@10", "0.7500"],
        ["hybrid", "CG@1", "1.5000"],
        ["keyword", "nDCG@10", f"{(KEYWORD_Q1 + KEYWORD_Q2) / 2:.4f}"],
        ["keyword", "CG@1", "0.5000"],
    ]
    assert len({line.index("0") for line in (lines[1], lines[3])}) == 1
    assert lines[3].split()[-3:] == ["2", "0", "83.3%"]
    assert lines[-1] == Options().fingerprint()
    assert err == ""


def test_the_table_of_every_query_has_a_column_for_each_system():
    worked_collection()
    text, _ = run("hills", "--per-query")
    table = [line.split() for line in text.splitlines() if line.startswith(("nDCG@10", "q"))]
    assert table == [
        ["nDCG@10", "hybrid", "keyword"],
        ["q1", f"{HYBRID_Q1:.4f}", f"{KEYWORD_Q1:.4f}"],
        ["q2", f"{NEUTRAL_Q2:.4f}", f"{KEYWORD_Q2:.4f}"],
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--measure", "nDCG@0"],
        ["--system", "keywords"],
        ["--profile", "trec"],
        ["--gain", "map:0=0,1=1"],
        ["--log-base", "1"],
        ["--rule", "avarage"],
        ["--format", "xml"],
    ],
)
def test_what_is_not_known_is_refused_in_one_line(arguments):
    worked_collection()
    line = refusal("hills", *arguments)
    assert line and "\n" not in line
