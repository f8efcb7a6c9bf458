"""What runs score against qrels, straight from files: the same digits as after an import."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from evaluation.expected import estimate, pool_of
from evaluation.measures import Judgments, Options, Rankings

QRELS = "q1 0 a 3\nq1 0 b -1\nq1 0 c 1\nq2 0 a 0.5\nq10 0 a 0\n"
FIRST = "q1 Q0 a 1 9 first\nq1 Q0 b 2 8 first\nq2 Q0 x 1 9 first\nq2 Q0 a 2 9 first\n"
SECOND = "q1 Q0 c 1 9 second\nq2 Q0 a 1 9 second\nq10 Q0 a 1 9 second\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in {"qrels": QRELS, "first": FIRST, "second": SECOND}.items():
        Path(name).write_text(content)
    return tmp_path


def run(*arguments: str, command: str = "evaluate_files") -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refusal(*arguments: str) -> tuple[str, str]:
    err = io.StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("evaluate_files", *arguments, stdout=io.StringIO(), stderr=err)
    return str(refused.value), err.getvalue()


@pytest.mark.slow
def test_it_loads_no_pages_no_imports_and_no_pictures(folder):
    """They take as long as the command. What each module costs: python -X importtime manage.py evaluate_files …"""
    command = [
        sys.executable,
        "-X",
        "importtime",
        settings.BASE_DIR / "manage.py",
        "evaluate_files",
        "qrels",
        "first",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "evaluation.scores" in loaded
    assert not loaded & {"config.urls", "altair", "fido2", "PIL.Image", "scipy.stats", "ratings.importing.jobs"}


def test_it_needs_no_database_and_says_what_is_missing(folder):
    text, err = run("qrels", "first", "second", "--measure", "nDCG@10", "--measure", "P@1")
    assert [line.split()[0] for line in text.splitlines()[1:5]] == ["first"] * 2 + ["second"] * 2
    assert Options().fingerprint() in text.splitlines()
    assert err == "first: 1 query of the qrels has no ranking (q10).\n"


def test_json_and_csv_are_those_of_evaluate(folder):
    document = json.loads(run("qrels", "second", "--measure", "AP", "--per-query", "--format", "json")[0])
    (result,) = document["results"]
    assert (document["collection"], result["system"], result["measure"]) == ("qrels", "second", "AP")
    assert result["per_query"] == {"q1": 0.5, "q2": None, "q10": None}
    (row,) = csv.DictReader(io.StringIO(run("qrels", "second", "--measure", "AP", "--format", "csv")[0]))
    assert (row["mean"], row["queries"], row["why"]) == ("0.5", "1", "2 nothing to find")


def test_a_document_twice_may_keep_its_better_place_and_that_of_the_query_be_left_out(folder):
    Path("run").write_text("q1 Q0 q1 0 9.5 s\nq1 Q0 a 1 9 s\nq1 Q0 a 2 9 s\nq1 Q0 c 3 8 s\nq2 Q0 a 0 7 s\n")
    assert "give --keep-first" in refusal("qrels", "run")[1]
    for options, reciprocal in (["--keep-first"], 1 / 2), (["--keep-first", "--without-own"], 1):
        text, err = run("qrels", "run", "--measure", "RR", "--format", "json", "--per-query", *options)
        assert json.loads(text)["results"][0]["per_query"]["q1"] == reciprocal
        assert "better place: 1 left out" in err


def test_what_is_no_file_of_lines_is_named(folder):
    pq.write_table(pa.table({"query": ["q1"], "document": ["a"], "grade": [1]}), "qrels.parquet")
    assert "qrels.parquet: it is in the format parquet" in refusal("qrels.parquet", "first")[1]
    assert (
        "first.parquet: it is in the format"
        in refusal("qrels", str(Path("qrels.parquet").rename("first.parquet")))[1]
    )
    Path("page").write_text("<!doctype html><html><body>Sign in</body></html>")
    assert "it is an HTML page" in refusal("qrels", "page")[1]


def test_a_run_of_which_no_document_is_judged_is_told(folder):
    Path("other").write_text("q1 Q0 doc-a 1 9 other\nq2 Q0 doc-b 1 9 other\n")
    _, err = run("qrels", "other", "first")
    assert "other: no document of other is judged" in err and "first: no document" not in err


def test_options_profile_system_and_order_decide_as_in_evaluate(folder):
    def mean(*arguments: str) -> float:
        text, _ = run("qrels", "first", "second", "--system", "first", "--format", "json", *arguments)
        (result,) = json.loads(text)["results"]
        return result["mean"]

    assert mean("--measure", "RR", "--relevant-from", "0.5") == (1 + 1 / 2) / 2
    # x and a have the same score: by their keys, descending, x stays before a.
    assert mean("--measure", "RR", "--relevant-from", "0.5", "--order", "score") == (1 + 1 / 2) / 2
    assert mean("--measure", "RR", "--relevant-from", "0.5", "--profile", "trec_eval") == (1 + 1 / 2) / 2
    assert mean("--measure", "P@1", "--missing", "skip", "--undefined", "zero") == 1 / 2
    assert mean("--measure", "ERR@10") == mean("--measure", "ERR(gmax=3)@10")


def test_scores_that_differ_only_beyond_32_bits_are_told_apart_and_named_with_what_ties_them(folder):
    Path("one").write_text("q1 0 A 1\n")
    Path("near").write_text("q1 Q0 A 1 123456790 s\nq1 Q0 B 2 123456789 s\n")

    def mean(*arguments: str) -> tuple[float, str]:
        text, err = run("one", "near", "--measure", "RR", "--format", "json", "--profile", "trec_eval", *arguments)
        return json.loads(text)["results"][0]["mean"], err

    found, said = mean()
    assert found == 1
    assert said.startswith("near, line 2: the scores 123456790.0 and 123456789.0 ") and "ties=trec_eval_9" in said
    assert mean("--ties", "trec_eval_9")[0] == 1 / 2


def test_faults_are_printed_each_with_its_line_and_there_are_no_numbers(folder):
    Path("broken").write_text("q1 Q0 a 1\nq1 Q0 b 2 8 s\nq1 Q0 b 3 7 s\n" + "q1\n" * 30)
    message, printed = refusal("qrels", "broken")
    assert message == "Nothing was evaluated."
    lines = printed.splitlines()
    assert lines[0].startswith("broken, line 1: there are 4 columns, a run needs six.")
    assert lines[1].startswith("broken, line 3: document b of this ranking of s already appears on line 2.")
    assert len(lines) == 21
    assert lines[-1] == "and 12 more"


def test_what_cannot_be_done_is_refused_in_one_line(folder):
    for arguments in (
        ["qrels", "third"],
        ["nowhere", "first"],
        ["qrels", "."],
        ["qrels", "first", "--system", "frist"],
        ["qrels", "first", "--measure", "nDGC"],
        ["qrels", "first", "--profile", "trec"],
        ["qrels", "first", "--log-base", "1"],
    ):
        message, printed = refusal(*arguments)
        assert message and "\n" not in message and printed == ""


@pytest.mark.django_db
@pytest.mark.parametrize("options", [[], ["--profile", "trec_eval -c"], ["--unjudged", "condensed"]])
def test_the_digits_are_those_of_an_import_and_evaluate(shared, options):
    folder = shared / "data" / "cranfield"
    qrels, runs = str(folder / "qrels.cran.graded.txt"), sorted(map(str, (folder / "runs").glob("*.run.gz")))[:2]
    call_command("create_collection", "cranfield", stdout=io.StringIO())
    call_command("import_queries", "cranfield", str(folder / "topics.tsv"), stdout=io.StringIO())
    # Stated, for where ranks and scores agree both orders are the same; test_files has the others.
    call_command("import_run", "cranfield", *runs, "--order", "score", stdout=io.StringIO(), stderr=io.StringIO())
    call_command("import_qrels", "cranfield", qrels, stdout=io.StringIO())
    measures = [f"--measure={name}" for name in ("nDCG@10", "nDCG", "AP", "RR", "P@5", "Judged@10")]
    how = [*measures, *options, "--per-query", "--format", "json"]
    expected = json.loads(run("cranfield", *how, command="evaluate")[0])
    found = json.loads(run(qrels, *runs, "--order", "score", *how)[0])
    assert found["fingerprint"] == expected["fingerprint"]
    assert len(found["results"]) == 12
    assert found["results"] == expected["results"]


# Expected values

PARTLY = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
HALF = "q1 Q0 a 1 9 half\nq1 Q0 x 2 8 half\nq2 Q0 y 1 9 half\nq2 Q0 c 2 8 half\n"
REST = "q1 Q0 x 1 9 rest\nq1 Q0 b 2 8 rest\nq2 Q0 c 1 9 rest\n"


@pytest.fixture
def partly(folder) -> Path:
    for name, content in {"partly": PARTLY, "half": HALF, "rest": REST}.items():
        Path(name).write_text(content)
    return folder


def expected_means(**options: str) -> dict[str, float]:
    lists = {"half": {"q1": ["a", "x"], "q2": ["y", "c"]}, "rest": {"q1": ["x", "b"], "q2": ["c"]}}
    number = {key: place for place, key in enumerate("abcxy")}
    packed = Judgments(2, [0, 0, 1], [0, 1, 2], [2, 0, 1])
    rankings = [
        Rankings(np.cumsum([0, *map(len, each.values())]), [number[key] for keys in each.values() for key in keys])
        for each in lists.values()
    ]
    answer = estimate(*pool_of(packed, rankings, "nDCG@10", Options(**options)))
    return dict(zip(lists, answer.mean.tolist(), strict=True))


def test_expected_values_stand_beside_the_means_in_every_format(partly):
    wanted = expected_means()
    document = json.loads(run("partly", "half", "rest", "--expected", "--format", "json")[0])
    assert {each["system"]: each["expected"] for each in document["results"]} == pytest.approx(wanted, abs=1e-12)
    assert document["options"]["est"] == "model"
    made = f"{Options().fingerprint()} est=model draws=120 seed=225"
    assert document["fingerprint"] == made
    rows = list(csv.DictReader(io.StringIO(run("partly", "half", "rest", "--expected", "--format", "csv")[0])))
    assert {row["system"]: float(row["expected"]) for row in rows} == pytest.approx(wanted, abs=1e-12)
    assert {row["options"] for row in rows} == {made}
    text, err = run("partly", "half", "rest", "--expected")
    assert "no interval: files do not say how the judged documents were chosen" in err
    lines = text.splitlines()
    assert "expected" in lines[0].split()
    assert made in lines
    assert f"{wanted['half']:.4f}" in lines[1]


def test_a_system_alone_is_expected_what_it_is_beside_the_others(partly):
    """All runs tell the model what is relevant, whichever of them are printed."""
    document = json.loads(run("partly", "half", "rest", "--expected", "--system", "rest", "--format", "json")[0])
    (result,) = document["results"]
    assert result["expected"] == pytest.approx(expected_means()["rest"], abs=1e-12)


def test_the_order_of_files_and_lines_decides_nothing(partly):
    first = run("partly", "half", "rest", "--expected")[0]
    for name in ("partly", "half"):
        Path(name).write_text("".join(reversed(Path(name).read_text().splitlines(keepends=True))))
    assert run("partly", "rest", "half", "--expected")[0] == first


def test_what_is_judged_throughout_is_expected_to_stay(partly):
    Path("judged").write_text(PARTLY + "q1 0 x 1\nq2 0 y 0\n")
    document = json.loads(run("judged", "half", "rest", "--expected", "--format", "json")[0])
    for result in document["results"]:
        assert result["expected"] == pytest.approx(result["mean"], abs=1e-12)


def test_parts_of_a_system_share_their_unjudged_documents_with_the_others(partly):
    lines = HALF.splitlines(keepends=True)
    Path("one").write_text("".join(lines[:2]))
    Path("two").write_text("".join(lines[2:]))
    text = run("partly", "one", "two", "rest", "--system-from", "tag", "--expected", "--format", "json")[0]
    wanted = expected_means()
    for result in json.loads(text)["results"]:
        assert result["expected"] == pytest.approx(wanted[result["system"]], abs=1e-12)


def test_qrels_of_relevant_documents_alone_tell_nothing_of_others(partly):
    Path("relevant").write_text("q1 0 a 2\nq2 0 c 1\n")
    message, _ = refusal("relevant", "half", "--expected")
    assert message.startswith("expected values need judgments without gain, and every one here gains something")
    assert run("relevant", "half", "--expected", "--gain", "map:1=0,2=1")[0]


def test_expected_values_of_nothing_else(partly):
    for arguments in (
        ["--measure", "AP"],
        ["--measure", "nDCG@5", "--measure", "P@5"],
        ["--unjudged", "condensed"],
        ["--per-query", "--format", "csv"],
    ):
        assert refusal("partly", "half", "--expected", *arguments)[1] == ""
