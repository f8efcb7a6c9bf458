"""The commands as scripts use them: arguments, the two outputs, exit status, and real collections."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ratings.models import Collection, Document, Ranking, Rating, System
from ratings.tests.cast import make_collection, make_ranking

pytestmark = pytest.mark.django_db

RUN = "q1 Q0 a 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 b 1 9 bm25\n"


def command(*arguments: object, **options) -> tuple[str, str, bool]:
    """Standard output, standard error, and whether the command refused."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*map(str, arguments), stdout=out, stderr=err, **options)
    except CommandError as error:
        return out.getvalue(), err.getvalue() + str(error), True
    return out.getvalue(), err.getvalue(), False


def done(*arguments: object) -> str:
    """Standard error of a command that must not refuse."""
    _, err, refused = command(*arguments)
    assert not refused, err
    return err


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# create_collection


def test_a_collection_is_made_with_its_scale_or_waits_for_it():
    command("create_collection", "hills", "--name", "The hills", "--grades", "-1:Harmful,0:No,0.5:Half: way,1")
    collection = Collection.objects.get(slug="hills")
    assert collection.name == "The hills"
    grades = [(g.plain, g.label, g.meaning) for g in collection.grades.all()]
    assert grades == [("-1", "Harmful", ""), ("0", "No", ""), ("0.5", "Half", "way"), ("1", "", "")]
    command("create_collection", "sea")
    assert Collection.objects.get(slug="sea").name == "sea"


def test_a_collection_that_cannot_be_is_refused():
    make_collection("hills")
    grades = [["a", "--grades", text] for text in ("0:No,0.0:Never", "low:Bad", "1234567", "1:" + "x" * 61)]
    for arguments in (["hills"], ["two words"], ["x" * 81], ["a", "--name", "x" * 201], *grades):
        assert command("create_collection", *arguments)[2]
    assert Collection.objects.count() == 1


# What all imports have in common


def test_facts_go_to_standard_output_and_warnings_to_standard_error(file):
    make_collection(queries=["q1", "q2", "q3"])
    out, err, refused = command("import_run", "hills", file(RUN))
    assert out == "bm25: 2 rankings with 3 results; 2 new, 0 unchanged.\n"
    assert err == "Warning: 1 query has no ranking by bm25 (q3).\n"
    assert not refused


def test_twenty_refusals_are_printed_and_the_others_counted(file):
    make_collection()
    path = file("q1\ta\n" + "one\n" * 1_254)
    out, err, refused = command("import_queries", "hills", path)
    lines = err.split("\n")
    assert lines[0].startswith(f"{path}, line 2: the query is empty.")
    assert lines[20:] == ["and 1,234 more", "Nothing was written."]
    assert (out, refused) == ("", True)


def test_an_unknown_collection_and_a_missing_file_are_refused(file):
    assert command("import_run", "hills", file(RUN))[1:] == (
        "There is no collection 'hills'. Make it with create_collection.",
        True,
    )
    make_collection()
    for arguments in (["nowhere.run"], [file(RUN), "nowhere.run"], [file(RUN), "--system", "a\x01b"]):
        _, err, refused = command("import_run", "hills", *arguments)
        assert refused and err.endswith("Nothing was written.")
        assert not System.objects.exists()


def test_every_file_may_be_gzipped_and_cut_off_gzip_writes_nothing(file):
    make_collection()
    packed = gzip.compress(RUN.encode())
    _, err, refused = command("import_run", "hills", file(packed[:-6], "cut"))
    assert refused and "cut, line 1: the gzip data are cut off or damaged here" in err
    assert Ranking.objects.count() == 0
    done("import_run", "hills", file(packed, "whole"))
    assert Ranking.objects.count() == 2


def test_standard_input_is_a_file(monkeypatch):
    make_collection()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    done("import_run", "hills", "-")
    assert Ranking.objects.count() == 2


# Exports


def test_exports_write_to_standard_output_or_to_a_file(file, tmp_path):
    make_collection()
    done("import_run", "hills", file(RUN))
    done("import_qrels", "hills", file("q1 0 a 3\n"))
    text = RUN.replace("9 bm25", "9.0 bm25")
    assert command("export_run", "hills", "bm25") == (text, "", False)
    assert command("export_run", "hills", "bm25", "--output", tmp_path / "out") == ("", "", False)
    assert (tmp_path / "out").read_text() == text
    out, _, _ = command("export_ratings", "hills")
    assert out.startswith("query,document,rater,grade,reason,comment,seconds,rated_at\r\nq1,a,qrels,3,,,,")
    command("export_ratings", "hills", "--output", tmp_path / "ratings.csv")
    assert (tmp_path / "ratings.csv").read_bytes() == out.encode()


def test_an_export_that_fails_leaves_no_file_and_keeps_the_old_one(tmp_path):
    collection = make_collection(queries=["#1"])
    make_ranking(collection, "my system", "#1", "a")
    (tmp_path / "out").write_text("old")
    _, err, refused = command("export_run", "hills", "my system", "--output", tmp_path / "out")
    assert refused and "#1" in err
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out", "old")]
    assert command("export_ratings", "hills", "--output", tmp_path / "no" / "out")[2]


@pytest.mark.parametrize("export", [["export_run", "hills", "bm25"], ["export_ratings", "hills"]])
def test_a_binary_format_needs_a_file(export):
    make_ranking(make_collection(), "bm25", "q1", "a")
    _, err, refused = command(*export, "--format", "parquet")
    assert refused and "Parquet is not text. Give --output FILE." in err


# Real collections


@pytest.mark.slow
def test_cranfield_is_imported_whole_and_again_without_a_change(shared):
    data = shared / "data" / "cranfield"
    runs = sorted((data / "runs").iterdir())
    command("create_collection", "cran")
    assert done("import_documents", "cran", data / "documents.jsonl.gz") == (
        "Warning: 2 documents have neither a title nor a body: 471, 995.\n"
    )
    found = []
    for _ in range(2):
        assert done("import_queries", "cran", data / "topics.tsv") == ""
        assert done("import_run", "cran", *runs) == ""
        assert done("import_qrels", "cran", data / "qrels.cran.graded.txt") == ""
        counts = tuple(model.objects.count() for model in (Document, Ranking, Rating))
        assert counts == (1_400, 6 * 225, 1_837)
        found.append(Collection.objects.get().version)
    assert found[0] == found[1]
    assert [g.plain for g in Collection.objects.get().grades.all()] == ["1", "2", "3", "4"]
    out, _, _ = command("export_run", "cran", "lsi-200")
    with gzip.open(data / "runs" / "lsi-200.run.gz", "rt") as original:
        rows = [[*cells[:4], repr(float(cells[4])), cells[5]] for cells in map(str.split, original)]
    assert [line.split() for line in out.splitlines()] == rows
    _, err, refused = command("import_qrels", "cran", data / "cranqrel")
    assert refused and "line 1: there are 3 columns, qrels have four" in err


TREC_COVID_IN_RANK_ORDER = [
    ("BBGhelani1", 0),
    ("BBGhelani2", 0),
    ("BM25R2", 0),
    ("PL2c1.0", 8_458),
    ("ixa-ir-filter-query", 15_629),
    ("run1", 11),
    ("tm_lda400", 4_048),
    ("wistud_noSearch", 8_937),
]


@pytest.mark.slow
def test_trec_covid_is_imported_with_its_ties_and_contradictions(shared):
    data = shared / "data" / "trec-covid" / "round1"
    command("create_collection", "covid")
    done("import_queries", "covid", data / "topics.covid-round1.xml")
    done("import_qrels", "covid", data / "qrels.covid-round1.txt.gz")
    files = {name: data / "runs" / f"{name}.run.gz" for name, _ in TREC_COVID_IN_RANK_ORDER}
    out, err, refused = command("import_run", "covid", *files.values())
    assert not refused, err
    found = {line.split(":")[0]: line for line in out.splitlines() if "tied" in line}
    for name, ties in TREC_COVID_IN_RANK_ORDER:
        assert (f" {ties:,} of " in found[name]) if ties else (name not in found)
    for name, count, rankings in [("ERST_NARRATIVE", "28,367", 30), ("UB_NLP_RUN_1", "14,454", 29)]:
        _, err, refused = command("import_run", "covid", data / "runs" / f"{name}.run.gz")
        assert refused
        assert f"ranks and scores of {name} contradict each other {count} times" in err
        assert f"in {rankings} of 30 rankings: rank " in err and "If the rank counts, give --order rank." in err
        done("import_run", "covid", data / "runs" / f"{name}.run.gz", "--order", "score")
    assert Ranking.objects.count() == 300
