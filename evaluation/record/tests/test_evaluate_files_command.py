"""What runs score against qrels, straight from files: the same digits as after an import."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from evaluation.measures import Options

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
