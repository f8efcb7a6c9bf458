import io
import json
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from evaluation.management.commands.compare import queries_lacking
from evaluation.management.commands.evaluate import NO_VALUE
from evaluation.measures import Options
from evaluation.results.leader import rows_against
from evaluation.significance import CANNOT_TELL, HIGHER
from ratings.tests.cast import make_collection, make_ranking

from ...tests.worked import rate

pytestmark = pytest.mark.django_db

QUERIES = [f"q{n}" for n in range(1, 13)]


def twelve_queries(slug: str = "hills"):
    """`good` answers twelve queries well, `mixed` the first four badly, `bad` all; q13 is rated by nobody."""
    collection = make_collection(slug, queries=(*QUERIES, "q13"))
    for place, query in enumerate(QUERIES):
        # More or less to gain, so that differences differ.
        rate(collection, query, a="3", b=str(place % 3), c="0")
        make_ranking(collection, "good", query, "abc")
        make_ranking(collection, "mixed", query, "cba" if place < 4 else "abc")
        make_ranking(collection, "bad", query, "cba")
    return collection


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("compare", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def as_json(*arguments: str) -> dict:
    return json.loads(run(*arguments, "--format", "json")[0])


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert refused.value.returncode == 1
    return str(refused.value)


def test_json_says_by_how_much_how_sure_and_what_made_it():
    twelve_queries()
    document = as_json("hills", "good", "bad", "--measure", "nDCG@10")
    assert document["collection"] == "hills"
    assert document["options"] == Options().as_dict()
    assert (document["systems"], document["correction"]) == (["good", "bad"], "holm")
    assert document["dropped"] == {"nDCG@10": {"q13": {"not judged": ["good", "bad"]}}}
    (row,) = document["results"]
    assert (row["baseline"], row["system"], row["measure"]) == ("good", "bad", "nDCG@10")
    assert (row["queries"], row["dropped"], row["wins"], row["ties"], row["losses"]) == (12, 1, 0, 0, 12)
    assert row["baseline_mean"] == 1
    assert row["difference"] == pytest.approx(row["system_mean"] - 1, abs=1e-15)
    assert row["low"] < row["difference"] < row["high"] < 0
    # All twelve differences have one sign: two of 2**12 ways to flip them are as far.
    assert (row["p_randomised"], row["exact"]) == (2 / 2**12, True)
    assert row["p_holm"] == row["p"] < 1e-6
    assert (row["verdict"], row["more"]) == ("lower", 0)
    assert row["p_hsd"] is None and row["why"]["p_hsd"]


def test_all_pairs_go_by_tukeys_hsd():
    twelve_queries()
    document = as_json("hills", "bad", "good", "mixed", "--all-pairs", "--draws", "500")
    assert document["correction"] == "hsd"
    assert [(row["baseline"], row["system"]) for row in document["results"]] == [
        ("bad", "good"),
        ("bad", "mixed"),
        ("good", "mixed"),
    ]
    for row in document["results"]:
        assert (row["verdict"] != "cannot tell") == (row["p_hsd"] < 0.05)


def test_bounds_tell_what_a_difference_can_still_become():
    collection = twelve_queries()
    for query in QUERIES:
        make_ranking(collection, "other", query, "adb")
    collection.touch()
    (plain,) = as_json("hills", "bad", "other", "--measure=nDCG@1")["results"]
    assert "lowest" not in plain and plain["verdict"] == "higher"
    # At rank 1 all is judged; d, below it, could be as good as the best, but no better.
    (settled,) = as_json("hills", "bad", "other", "--measure=nDCG@1", "--bounds")["results"]
    assert settled["lowest"] == settled["difference"] == settled["highest"]
    assert settled["verdict"] == "higher"
    (open_,) = as_json("hills", "bad", "other", "--measure=nDCG@3", "--bounds")["results"]
    assert open_["lowest"] < open_["difference"] < open_["highest"]
    assert "can become" in run("hills", "bad", "other", "--bounds")[0]
    _, unbounded = as_json("hills", "bad", "other", "--measure=nDCG@1", "--measure=P@1", "--bounds")["results"]
    assert (unbounded["lowest"], unbounded["why"]["lowest"]) == (None, "no bounds are known")


def test_what_is_not_known_is_refused_in_one_line():
    twelve_queries()
    for arguments in (
        ["god", "bad"],
        ["good", "good"],
        ["good", "bad", "--measure", "nDGC@10"],
        ["good", "bad", "--draws", "0"],
        ["good", "bad", "--seed", "-1"],
        ["good", "bad", "--format", "xml"],
    ):
        line = refusal("hills", *arguments)
        assert line and "\n" not in line


def test_without_ratings_there_is_no_number():
    collection = make_collection()
    make_ranking(collection, "one", "q1", "ab")
    make_ranking(collection, "two", "q1", "ba")
    (row,) = as_json("hills", "one", "two")["results"]
    assert (row["queries"], row["dropped"], row["difference"], row["baseline_mean"]) == (0, 2, None, None)


def test_how_many_queries_are_lacking_is_not_known_where_enough_showed_nothing():
    """By its effect so many queries usually show the difference; corrected for all comparisons they did not."""
    row = {
        "baseline": "a",
        "difference": 0.1,
        "more": 0,
        "p_holm": 0.06,
        "verdict": CANNOT_TELL,
        "wins": 1,
        "losses": 0,
    }
    told = row | {"verdict": HIGHER, "system": "b"}
    assert [queries_lacking(row), queries_lacking(told)] == [NO_VALUE, "0"]
    result = SimpleNamespace(rows=lambda: [row | {"system": "c"}, told], tests=SimpleNamespace(correction="holm"))
    assert [row["lacking"] for row in rows_against("a", result)] == ["enough", ""]
