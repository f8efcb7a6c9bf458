"""The bundle to cite: the same bytes, whole, read by others, and computed again to the last digit."""

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from evaluation import frozen
from evaluation.frozen import bundle
from evaluation.frozen.bundle import latex
from evaluation.frozen.tests.test_frozen import CASES, HILLS, MEASURES, freeze, make_tied
from evaluation.models import FrozenPart
from evaluation.page.numbers import decimals
from evaluation.scores import Asked, evaluate
from evaluation.tests.hills import make_hills, rate
from ratings.collection import sample
from ratings.models import Document, Query
from ratings.tests.cast import make_collection, make_ranking, make_sample

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CURVE = ["nDCG@10", "nDCG@5", "nDCG@1", "CG@10", "AP"]
ODD = '"quo,te;=#{}\\é日本%_&$'


def made(found) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(bundle.bundle(found))))


def saved(found, folder) -> str:
    path = folder / "b.zip"
    path.write_bytes(b"".join(bundle.bundle(found)))
    return str(path)


def changed(path: str, name: str, change) -> str:
    """The bundle with one file changed and all sums made anew, as somebody would who knows how."""
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    files[name] = change(files[name].decode()).encode()
    files["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {entry}\n" for entry, data in files.items() if entry != "SHA256SUMS"
    ).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in files.items():
            archive.writestr(entry, data)
    return path


def test_a_gap_stays_a_gap_when_it_is_computed_again(tmp_path):
    collection = make_hills()
    collection.systems.update(gaps=True)
    collection.systems.first().rankings.first().delete()
    collection.touch()
    found, _ = freeze(collection)
    assert '"gaps": true' in made(found).read("settings.json").decode()
    assert bundle.check(saved(found, tmp_path)).is_equal


def test_it_has_the_same_bytes_every_time():
    found, _ = freeze(sample.load(), measures=CURVE)
    first = b"".join(bundle.bundle(found))
    bundle.archive.pictures._cached_svg.cache_clear()
    assert b"".join(bundle.bundle(found)) == first


def test_it_holds_what_its_readme_says_and_sums_of_all_of_it():
    archive = made(freeze(sample.load(), measures=CURVE)[0])
    names = archive.namelist()
    assert archive.testzip() is None
    for name in ("settings.json", "judgments.jsonl", "runs/1-hybrid.run", "evaluation.json", "table.tex"):
        assert name in names
    for chart in ("means", "curves", "queries"):
        assert {f"charts/{chart}.{kind}" for kind in ("svg", "png", "pdf")} <= set(names)
    sums = dict(line.split("  ")[::-1] for line in archive.read("SHA256SUMS").decode().splitlines())
    assert sums == {n: hashlib.sha256(archive.read(n)).hexdigest() for n in names if n != "SHA256SUMS"}
    readme = archive.read("README.md").decode()
    for name in set(names) - {"README.md"}:
        assert name.rpartition(".")[0] in readme or name in readme
    facts = yaml.safe_load(archive.read("ir_metadata/1-hybrid.yml"))
    assert facts["tag"] == "hybrid" == archive.read("runs/1-hybrid.run").decode().split()[5]
    assert facts["research goal"]["evaluation"]["reported measures"] == CURVE
    assert facts["idealist"]["evaluation"] == json.loads(archive.read("about.json"))["hash"]


def test_the_hash_is_that_of_the_sums_of_its_files(tmp_path):
    found, _ = freeze(make_hills())
    archive = made(found)
    archive.extractall(tmp_path)
    command = re.search(r"    (sha256sum .* \| sha256sum)\n", archive.read("README.md").decode())[1]
    printed = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert printed.split()[0] == found.hash == HILLS


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_computed_again_it_gives_the_same_digits(tmp_path, changes):
    collection = sample.load()
    make_tied(collection)
    measures = ["nDCG@10", "DCG@10"] if changes.get("ties") == "average" else MEASURES
    checked = bundle.check(saved(freeze(collection, measures=measures, changes=changes)[0], tmp_path))
    assert checked.is_equal and checked.different == [] and checked.largest == 0
    assert checked.numbers > 4 * len(measures) * 17


def test_a_mean_over_a_log_is_computed_again_from_the_chances_in_the_files(tmp_path):
    collection = sample.load()
    keys = collection.queries.values_list("key", flat=True)
    drawn = [(key, 90 - n, 1.0) if n < 4 else (key, 40 - n, (40 - n) / 100) for n, key in enumerate(keys)]
    make_sample(collection, [*drawn, ("", 70, 1.0), ("", 20, 0.2)])
    collection.touch()
    living = evaluate(collection, Asked.of(collection))
    found, _ = freeze(collection)
    again = frozen.evaluation_of(found)
    assert again.standing("hybrid") == replace(living.standing("hybrid"), pk=None)
    assert again.label == living.label
    table, row = latex.table(found, again), again.standing("hybrid")
    assert r"& of the queries & searches & $n$" in table and "est=log" in table
    assert rf"& {row.plain:.4f} & {100 * row.traffic:.1f}\,\% & {row.queries} &" in table
    assert "over queries" not in made(found).read("README.md").decode()
    assert again.standing("hybrid").traffic < 0.95 and again.sampled.left_out == living.sampled.left_out
    assert (
        "weighted to all searches of the log from which 12 of the queries were drawn"
        in made(found).read("methods.txt").decode()
    )
    call_command("evaluate_bundle", saved(found, tmp_path), stdout=io.StringIO())


def test_where_too_few_queries_were_drawn_from_a_log_the_paragraph_says_how_many():
    collection = sample.load()
    keys = collection.queries.values_list("key", flat=True)
    make_sample(collection, [(key, 90 - n, 1.0) if n < 8 else (key, 9, 0.5) for n, key in enumerate(keys)])
    collection.touch()
    methods = made(freeze(collection)[0]).read("methods.txt").decode()
    assert "a test takes 10 drawn queries with a value for all, not eight queries" in methods


def test_qrels_and_runs_are_read_by_evaluate_files(tmp_path):
    collection = make_hills(grades={("q1", "a"): "3", ("q1", "d"): "1", ("q2", "b"): "2"})
    found, _ = freeze(collection, measures=["nDCG@10"])
    made(found).extractall(tmp_path)
    out = io.StringIO()
    files = [tmp_path / name for name in ("qrels.txt", "runs/1-bad.run", "runs/2-good.run")]
    call_command(
        "evaluate_files", *map(str, files), "--format=json", "--per-query", stdout=out, stderr=io.StringIO()
    )
    again = {row["system"]: row["per_query"] for row in json.loads(out.getvalue())["results"]}
    kept = json.loads((tmp_path / "evaluation.json").read_text())["results"]
    assert again == {row["system"]: row["per_query"] for row in kept}


def test_the_same_content_imported_from_its_files_has_the_same_hash(tmp_path):
    collection = make_hills(grades={("q1", "a"): "3", ("q1", "d"): "1", ("q2", "b"): "2"})
    found, _ = freeze(collection)
    made(found).extractall(tmp_path)
    queries = [json.loads(line) for line in (tmp_path / "queries.jsonl").read_text().splitlines()]
    (tmp_path / "queries.tsv").write_text("".join(f"{row['query']}\t{row['text']}\n" for row in queries))
    call_command("create_collection", "again", "--grades=0:0,1:1,2:2,3:3", stdout=io.StringIO())
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("import_queries", "again", str(tmp_path / "queries.tsv"), **quiet)
    call_command("import_run", "again", *(str(path) for path in sorted(tmp_path.glob("runs/*"))), **quiet)
    call_command("import_qrels", "again", str(tmp_path / "qrels.txt"), **quiet)
    out = io.StringIO()
    arguments = [f"--measure={measure}" for measure in MEASURES]
    call_command("freeze", "again", "--name=again", *arguments, stdout=out)
    assert out.getvalue().strip() == found.hash


def test_keys_and_names_with_odd_characters_come_back(tmp_path):
    collection = make_collection(queries=(ODD, "#q", "-1"), documents=(ODD, "#d", "=1+1"))
    for name in (ODD, "two  words\there", "../../etc/passwd", "=1+1"):
        make_ranking(collection, name, ODD, [ODD, "#d"])
        make_ranking(collection, name, "#q", ["=1+1", ODD])
    rate(collection, {(ODD, ODD): "3", ("#q", "#d"): "-1", ("#q", ODD): "2"})
    found, _ = freeze(collection)
    archive = made(found)
    assert all(name.isascii() and ".." not in name for name in archive.namelist())
    checked = bundle.check(saved(found, tmp_path))
    assert checked.is_equal and checked.numbers > 100
    kept = json.loads(archive.read("evaluation.json"))["results"]
    assert {row["system"] for row in kept} == {ODD, "two  words\there", "../../etc/passwd", "=1+1"}
    assert all(ODD in row["per_query"] for row in kept)
    # No cell of a table runs as a formula.
    cells = [cell for row in csv.reader(io.StringIO(archive.read("means.csv").decode())) for cell in row]
    assert "'=1+1" in cells and "=1+1" not in cells


# Charts and words


def test_charts_carry_title_and_words_and_no_address(tmp_path):
    archive = made(freeze(sample.load(), measures=CURVE)[0])
    for name in ("means", "curves", "queries"):
        svg = ET.fromstring(archive.read(f"charts/{name}.svg"))
        title, words_ = (svg.find(f"{{http://www.w3.org/2000/svg}}{tag}").text for tag in ("title", "desc"))
        assert title and words_
        text = archive.read(f"charts/{name}.svg").decode()
        assert "/collections/" not in text and "var(--" not in text and "<script" not in text
        assert archive.read(f"charts/{name}.png").startswith(b"\x89PNG")
        assert archive.read(f"charts/{name}.pdf").startswith(b"%PDF")
    assert "hybrid 0.8616" in archive.read("charts/means.svg").decode()


def test_the_tests_of_differences_are_named_with_what_they_found(tmp_path):
    """The same numbers as `compare` gives with as many draws, and computed again they are the same."""
    collection = sample.load()
    path = saved(freeze(collection, measures=["nDCG@10", "P@5"])[0], tmp_path)
    with zipfile.ZipFile(path) as archive:
        pairs = json.loads(archive.read("comparisons.json"))
        rows = list(csv.DictReader(io.StringIO(archive.read("comparisons.csv").decode())))
        text = archive.read("methods.txt").decode()
    out = io.StringIO()
    best, *others = pairs["systems"]
    options = ["--measure=nDCG@10", "--all-pairs", f"--draws={pairs['draws']}", "--format=json"]
    call_command("compare", collection.slug, best, *others, *options, stdout=out)
    said = json.loads(out.getvalue())["results"]
    assert len(pairs["results"]) == len(rows) == len(said) == len(others) * (len(others) + 1) // 2
    for ours, theirs in zip(pairs["results"], said, strict=True):
        assert all(
            ours[name] == theirs[name] for name in ("baseline", "system", "difference", "p", "p_hsd", "low")
        )
        assert f"{ours['system']} by {decimals(ours['difference'])}" in text or ours["baseline"] != best
    assert f"a randomised Tukey HSD test of all {len(said)} pairs" in text
    assert bundle.check(path).is_equal
    assert not bundle.check(changed(path, "comparisons.json", lambda t: t.replace('"p": 0.', '"p": 0.9'))).is_equal


def test_two_systems_are_compared_by_a_t_test():
    collection = sample.load()
    collection.systems.exclude(name__in=["hybrid", "keyword"]).delete()
    found, _ = freeze(collection)
    archive = made(found)
    (pair,) = json.loads(archive.read("comparisons.json"))["results"]
    text = archive.read("methods.txt").decode()
    assert "a paired t test (two-sided, at the level 0.05)" in text
    assert 0 < pair["p"] < 0.0001 and ", p < 0.0001)" in text


SPECIAL = "\\{}$&#_%^~<>|\"'`--?`!`"


def test_latex_takes_every_character():
    text = latex.escaped(SPECIAL + "é日\n")
    # What is left when all that was escaped is taken away has nothing that TeX would act upon.
    left = re.sub(r"\\[{}$&#_%]|\\[a-z]+\{\}", "", text)
    assert not set(left) & set('\\$&#_%^~<>|"`')
    assert left.count("{") == left.count("}")
    assert "--" not in text and "?`" not in text and "é日" in text
    assert latex.escaped("lsi-200") == "lsi-200"
    # At the beginning of a row, LaTeX would read on from the row before it: its end takes [2pt] and * as its own.
    assert latex.escaped("[2pt] *") == "{[}2pt] {*}"


def test_the_table_is_whole_and_needs_no_package():
    archive = made(freeze(make_hills(rankings={"50%_a&b": {"q1": "ad", "q2": "b"}, "bad": {"q1": "c"}}))[0])
    text = archive.read("table.tex").decode()
    assert "usepackage" not in text and r"\toprule" not in text
    assert r"50\%\_a\&b & 1.0000 &" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 3
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
    for opened in ("table", "tabular"):
        assert text.count(rf"\begin{{{opened}}}") == text.count(rf"\end{{{opened}}}") == 1
    assert HILLS not in text and text.startswith("% first, SHA-256 ")


# What is not right is said


def test_a_changed_number_is_named(tmp_path):
    path = saved(freeze(make_hills())[0], tmp_path)
    changed(path, "evaluation.json", lambda text: text.replace("0.6309297535714575", "0.6309297535714576"))
    checked = bundle.check(path)
    assert len(checked.different) == 1 and checked.is_equal  # rounding, and told
    assert checked.different[0].startswith("results good nDCG@10 per_query q2: 0.63092975357145")
    changed(path, "evaluation.json", lambda text: text.replace("0.6309297535714576", "0.63"))
    assert not bundle.check(path).is_equal
    errors = io.StringIO()
    with pytest.raises(CommandError, match="1 of .* differ"):
        call_command("evaluate_bundle", path, stderr=errors)
    assert "results good nDCG@10 per_query q2: 0.63 in the bundle" in errors.getvalue()


@pytest.mark.parametrize("name", ["judgments.jsonl", "runs/2-good.run", "settings.json", "queries.jsonl"])
def test_changed_content_has_another_hash_than_the_bundle_says(tmp_path, name):
    path = saved(freeze(make_hills())[0], tmp_path)
    changed(path, name, lambda text: text.replace("q1", "q7"))
    changed(path, name, lambda text: text + "\n")
    with pytest.raises(frozen.Broken, match="the content has the hash"):
        bundle.check(path)


def test_a_file_that_is_not_as_its_sum_says_is_refused(tmp_path):
    path = saved(freeze(make_hills())[0], tmp_path)
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    files["means.csv"] += b"x"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in files.items():
            archive.writestr(entry, data)
    with pytest.raises(frozen.Broken, match="means.csv was changed"):
        bundle.check(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.txt", "x")
    with pytest.raises(CommandError, match="more.txt.*Nothing was compared"):
        call_command("evaluate_bundle", path)


def apart(run: str) -> str:
    """The run with its first line at the end, so that the lines of that query are not together."""
    first, *others = run.splitlines(keepends=True)
    return "".join([*others, first])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("settings.json", lambda text: "{}"),
        ("settings.json", lambda text: json.dumps(json.loads(text) | {"measures": [1]})),
        ("judgments.jsonl", lambda text: text.replace("q1", "q7", 1)),
        ("runs/2-good.run", apart),
    ],
)
def test_a_bundle_that_was_made_by_hand_is_refused_where_it_cannot_be_read(tmp_path, monkeypatch, name, change):
    path = saved(freeze(make_hills())[0], tmp_path)
    with zipfile.ZipFile(path) as archive:
        its_hash = json.loads(archive.read("about.json"))["hash"]
    monkeypatch.setattr(sys.modules[bundle.check.__module__], "hash_of", lambda files: its_hash)
    with pytest.raises(CommandError, match="Nothing was compared"):
        call_command("evaluate_bundle", changed(path, name, change))


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04"])
def test_what_is_no_bundle_is_refused(tmp_path, data):
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with pytest.raises(CommandError, match="no whole bundle"):
        call_command("evaluate_bundle", str(path))
    with pytest.raises(CommandError, match="No such file"):
        call_command("evaluate_bundle", str(tmp_path / "y.zip"))


def test_content_that_was_changed_in_the_database_gives_no_bundle():
    found, _ = freeze(make_hills())
    other, _ = freeze(make_hills("other", grades={("q1", "a"): "0", ("q2", "b"): "1"}))
    judgments = other.parts.get(name="qrels.txt").content
    # As somebody could who passes by the program.
    QuerySet(FrozenPart).filter(frozen=found, name="judgments.jsonl").update(content=judgments)
    with pytest.raises(frozen.Broken, match="is not what was frozen"):
        list(bundle.bundle(found))


# The commands


def run(*arguments) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


def test_freeze_and_evaluate_bundle_by_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collection = make_hills()
    asked = ["--measure=nDCG@10", "--measure=P@5", "--gain=exponential"]
    sha = run("freeze", "hills", "--name", "The  first", *asked)
    found = collection.frozen_evaluations.get()
    assert (found.hash, found.name) == (sha, "The first")
    assert frozen.settings_of(found).options.gain == "exponential"
    Path("b.zip").write_bytes(b"".join(bundle.bundle(found)))
    said = run("evaluate_bundle", "b.zip")
    assert said.startswith("The first: equal to the last digit, ") and said.endswith("2 systems by 2 measures.")
    assert run("freeze", "hills", "--name=again", *asked) == sha


def test_what_commands_cannot_do_they_refuse():
    found, _ = freeze(make_hills())
    for arguments in (
        ["hills", "--name", " "],
        ["hills", "--name", "x", "--measure=nDGC"],
        ["hills", "--name", "x", "--by=nobody"],
        ["hills", "--name", "first", "--measure=P@5"],
        ["hills", "--name", "x", "--system=gut"],
        ["dales", "--name", "x"],
    ):
        with pytest.raises(CommandError):
            call_command("freeze", *arguments, stdout=io.StringIO())
    assert type(found).objects.get() == found


def test_documents_and_queries_that_nobody_judged_are_no_part_of_the_judgments():
    collection = make_hills()
    Document.objects.create(collection=collection, key="z")
    Query.objects.create(collection=collection, key="q3", text="text of q3")
    collection.touch()
    archive = made(freeze(collection)[0])
    assert archive.read("judgments.jsonl").count(b"\n") == 5
    assert archive.read("queries.jsonl").count(b"\n") == 3
