import io
import json

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from evaluation.measures import Options

from ...tests.worked import HYBRID_Q1, KEYWORD_Q1, KEYWORD_Q2, NEUTRAL_Q2, worked_collection

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


def test_a_count_has_its_total():
    worked_collection()
    assert "total" not in as_json("hills")["results"][0]
    (result,) = as_json("hills", "--system=keyword", "--measure=NumRet")["results"]
    assert (result["mean"], result["total"]) == (2.5, 5)  # three documents and two
    assert run("hills", "--system=keyword", "--measure=NumRet")[0].splitlines()[1].split()[-4] == "5"


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


def test_each_mean_has_its_own_interval_in_the_table_where_weights_differ():
    collection = worked_collection()
    collection.queries.filter(key="q1").update(weight=3)
    collection.touch()
    (row,) = as_json("hills", "--system=keyword")["results"]
    ends = [
        f"{row[low]:.4f} to {row[high]:.4f}" for low, high in (("low", "high"), ("weighted_low", "weighted_high"))
    ]
    table = run("hills", "--system=keyword")[0]
    assert ends[0] != ends[1] and all(interval in table for interval in ends)
