"""What runs score against qrels, straight from files: the same digits as after an import."""

import csv
import io
import json
from pathlib import Path

import pytest
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


def test_it_needs_no_database_and_says_what_is_missing(folder):
    text, err = run("qrels", "first", "second", "--measure", "nDCG@10", "--measure", "P@1")
    lines = [line.split() for line in text.splitlines()]
    assert [line[:2] for line in lines[1:5]] == [
        ["first", "nDCG@10"],
        ["first", "P@1"],
        ["second", "nDCG@10"],
        ["second", "P@1"],
    ]
    assert Options().fingerprint() in text.splitlines()
    assert err == "first: 1 query of the qrels has no ranking (q10).\n"


def test_json_and_csv_are_those_of_evaluate(folder):
    document = json.loads(run("qrels", "second", "--measure", "AP", "--per-query", "--format", "json")[0])
    (result,) = document["results"]
    assert (document["collection"], result["system"], result["measure"]) == ("qrels", "second", "AP")
    assert result["per_query"] == {"q1": 0.5, "q2": None, "q10": None}
    (row,) = csv.DictReader(io.StringIO(run("qrels", "second", "--measure", "AP", "--format", "csv")[0]))
    assert (row["mean"], row["queries"], row["why"]) == ("0.5", "1", "2 nothing to find")


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


def test_the_numbers_can_go_to_a_file(folder):
    assert run("qrels", "second", "--format", "json", "--output", "numbers.json")[0] == ""
    assert json.loads(Path("numbers.json").read_text())["results"]


def test_faults_are_printed_each_with_its_line_and_there_are_no_numbers(folder):
    Path("broken").write_text("q1 Q0 a 1\nq1 Q0 b 2 8 s\nq1 Q0 b 3 7 s\n" + "q1\n" * 30)
    message, printed = refusal("qrels", "broken")
    assert message == "Nothing was evaluated."
    lines = printed.splitlines()
    assert lines[0].startswith("broken, line 1: there are 4 columns, a run needs six.")
    assert lines[1].startswith("broken, line 3: document b of this ranking of s stands already on line 2.")
    assert len(lines) == 21
    assert lines[-1] == "and 12 more"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["qrels", "third"], "third: No such file or directory."),
        (["nowhere", "first"], "nowhere: No such file or directory."),
        (["qrels", "."], ".: Is a directory."),
        (["qrels", "first", "--system", "frist"], "unknown system 'frist'; did you mean first?"),
        (["qrels", "first", "--measure", "nDGC"], "unknown measure 'nDGC'; did you mean nDCG?"),
        (["qrels", "first", "--profile", "trec"], "unknown profile 'trec'; did you mean trec_eval?"),
        (["qrels", "first", "--format", "xml"], "unknown format 'xml'; known are table, csv, json"),
        (["qrels", "first", "--log-base", "1"], "log_base must be greater than 1"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(folder, arguments, says):
    message, printed = refusal(*arguments)
    assert says in message
    assert "\n" not in message
    assert printed == ""


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
