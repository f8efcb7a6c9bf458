"""Archives, packed files and workbooks, by command and by page; and what a few bytes may become."""

import gzip
import io

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from ratings.formats.tests.test_archives import tarred, zipped, zst
from ratings.formats.tests.test_xlsx import made, with_shared_text
from ratings.models import Document, Job, Query, Ranking, Rating
from ratings.tests.cast import make_collection

from .test_import_commands import command, done, file  # noqa: F401, a fixture
from .test_imports_page import act, admin, collection, own_folder, page, send, sent  # noqa: F401, fixtures
from .test_imports_page import work as worker

pytestmark = pytest.mark.django_db

BM25 = b"q1 Q0 a 1 3.5 bm25\nq2 Q0 b 1 9 bm25\n"
DENSE = b"q1 Q0 b 1 3.5 dense\n"
RUNS = {"runs/bm25.run": BM25, "runs/dense.run.gz": gzip.compress(DENSE)}
HEAD = ("query", "document", "rater", "grade")
GRADES = (HEAD, ("q1", "a", "ann", 1), ("q1", "b", "ann", 7), ("q2", "a", "ben", 0))


@pytest.mark.parametrize("content", [zipped(RUNS), tarred(RUNS), gzip.compress(tarred(RUNS)), zst(tarred(RUNS))])
def test_all_runs_of_an_archive_are_one_import(collection, file, content):  # noqa: F811
    done("import_run", "hills", file(content, "runs.any"))
    assert sorted(Ranking.objects.values_list("system__name", "query__key")) == [
        ("bm25", "q1"),
        ("bm25", "q2"),
        ("dense", "q1"),
    ]
    assert Job.objects.get().files == [{"name": "runs.any"}]


def test_a_refusal_names_the_file_in_the_archive_and_nothing_is_written(collection, file):  # noqa: F811
    content = zipped(RUNS | {"runs/odd.run": b"q1 Q0 a 1\n"})
    _, err, refused = command("import_run", "hills", file(content, "runs.zip"))
    assert refused and "runs.zip/runs/odd.run, line 1: there are 4 columns" in err
    assert not Ranking.objects.exists()
    _, err, refused = command("import_run", "hills", file(zipped(RUNS)[:-9], "cut.zip"))
    assert refused and "cut.zip: the archive is cut off or damaged" in err
    # A format that is said hides nothing of it.
    _, err, refused = command("import_run", "hills", "--format", "trec-run", file(zipped({}), "no.zip"))
    assert refused and "no.zip: there is no file in the archive" in err


BEIR = {
    "corpus.jsonl": b'{"_id": "a", "title": "A", "text": "Words", "metadata": {}}\n',
    "queries.jsonl": b'{"_id": "q1", "text": "fog", "metadata": {}}\n',
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n",
}


@pytest.mark.parametrize(
    ("name", "names", "others"),
    [
        ("import_documents", ["corpus.jsonl", "queries.jsonl"], ["queries.jsonl"]),
        ("import_documents", ["queries.jsonl", "corpus.jsonl"], ["corpus.jsonl"]),
        ("import_documents", list(BEIR), ["queries.jsonl", "qrels/test.tsv"]),
        ("import_queries", ["corpus.jsonl", "queries.jsonl"], ["queries.jsonl"]),
    ],
)
def test_files_of_another_kind_are_refused_by_their_names(collection, file, name, names, others):  # noqa: F811
    before = Document.objects.count(), Query.objects.count()
    apart = [file(BEIR[each], each.replace("/", "-")) for each in names]
    together = [file(zipped({each.replace("/", "-"): BEIR[each] for each in names}), "beir.zip")]
    for given in (apart, together):
        _, err, refused = command(name, "hills", *given)
        assert refused and (Document.objects.count(), Query.objects.count()) == before
        assert err.count("its columns are not those of") == len(others)
        for other in others:
            assert f"/{other.replace('/', '-')}: its columns are not those of" in err


def test_tables_of_pairs_are_of_one_kind_whatever_is_imported_from_them(collection, file):  # noqa: F811
    table = "query_id,query,product_id,title,grade\nq1,fog,{0},Title {0},1\n"
    files = [file(table.format(key).encode(), f"{key}.csv") for key in "xy"]
    done("import_documents", "hills", *files)
    assert set(Document.objects.filter(key__in="xy").values_list("title", flat=True)) == {"Title x", "Title y"}


def test_a_sheet_is_chosen_on_the_page(admin):  # noqa: F811
    job = sent(admin, "ratings", made(*GRADES, Other="visible"), "r.xlsx")
    html = page(admin, job)
    assert "Choose it under “Sheet”." in html and '<option value="Other">Other</option>' in html
    act(admin, "check_import", job, {"kind": "ratings", "sheet": "Sheet"})
    worker()
    html = page(admin, Job.objects.get())
    assert "Read as <b>xlsx</b>" in html and '<td dir="auto">ann</td>' in html
    assert "grade 7 is not on the scale" in html
    assert Job.objects.get().options["sheet"] == "Sheet"
    act(admin, "check_import", job, {"kind": "ratings", "sheet": "None"}, 400)


@pytest.mark.parametrize("length", [201, 500])
def test_a_query_may_have_a_long_key(file, length):  # noqa: F811
    make_collection(queries=())
    key = "q" * length
    done("import_queries", "hills", file(f"{key}\tfog\n"))
    done("import_qrels", "hills", file(f"{key} 0 a 1\n"))
    done("import_run", "hills", file(f"{key} Q0 a 1 1 s\n"))
    assert Query.objects.get().key == key and Rating.objects.exists() and Ranking.objects.exists()
    _, err, refused = command("import_queries", "hills", file(f"{key}{'q' * 300}\tfog\n"))
    assert refused and "is longer than 500 characters" in err


# What a few bytes may become


def bomb() -> bytes:
    """A Parquet table in which one text stands for all rows: 100,000 times 10,000 characters."""
    keys = pa.array([f"d{i}" for i in range(100_000)])
    text = pa.array(["x" * 10_000]).dictionary_encode()
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), text.dictionary)
    out = io.BytesIO()
    pq.write_table(pa.table({"id": keys, "text": texts}), out, compression="zstd")
    return out.getvalue()


CASE = b'{"queries": [{"query_text": "%b", "ratings": {%b}}]}'
BOMBS = {
    "bomb.parquet": ("documents", bomb),
    "bomb.xlsx": ("documents", lambda: with_shared_text(3_000, b"x" * 10_000)),
    # Long names of columns stand in each document, and a long query in each rating.
    "bomb.csv": (
        "documents",
        lambda: (
            ("id," + ",".join(f"{i:0900}" for i in range(300)) + "\n").encode()
            + b"".join(b"d%d%b\n" % (i, b"," * 300) for i in range(200))
        ),
    ),
    "bomb.json": (
        "ratings",
        lambda: CASE % (b"x" * 5_000, b",".join(b'"%d": 1' % i for i in range(20_000))),
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_grows_beyond_measure_as_rows_is_refused(name, collection, file, settings, monkeypatch):  # noqa: F811
    settings.LARGEST_RATIO = 20
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_000_000)
    kind, content = BOMBS[name]
    if kind == "ratings":
        collection.queries.create(key="x", text="x" * 5_000)
    before = Document.objects.count()
    rater = ["--rater", "ann"] if kind == "ratings" else []
    _, err, refused = command(f"import_{kind}", "hills", file(content(), name), *rater)
    assert refused and "to more than 20 times its size" in err, err
    assert Document.objects.count() == before and not Rating.objects.exists()


def test_all_files_of_an_import_have_one_limit(collection, file, settings, monkeypatch):  # noqa: F811
    settings.LARGEST_UNPACKED = 3 << 20
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_000_000)
    lines = b"".join(b'{"id": "%%s-%d", "text": "%b"}\n' % (i, b"fog %d " % i * 20) for i in range(7_000))
    paths = [file(gzip.compress(lines % ((b"%d" % n,) * 7_000)), f"{n}.gz") for n in range(3)]
    done("import_documents", "hills", paths[0])
    _, err, refused = command("import_documents", "hills", *paths)
    assert refused and "to more than 3 megabytes" in err


GRADED = b"query-id\tcorpus-id\tscore\nq8\ta\t1\n" * 9
SPLITS = BEIR | {
    "queries.jsonl": b'{"_id": "q8", "text": "fog", "tags": ["long"]}\n{"_id": "q9", "text": "sea"}\n',
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq8\ta\t1\nq8\tb\t0\n",
    "qrels/dev.tsv": b"query-id\tcorpus-id\tscore\nq8\tb\t0\nq9\tz\t1\n",
}


def tags() -> dict[str, list[str]]:
    return dict(Query.objects.filter(key__in=["q8", "q9"]).values_list("key", "tags"))


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_data_set_of_beir_is_one_import_whose_splits_are_tags(collection, file, tmp_path, as_folder):  # noqa: F811
    path = tmp_path / "set"
    if as_folder:
        (path / "qrels").mkdir(parents=True)
        for name, content in SPLITS.items():
            (path / name).write_bytes(content)
    else:
        path.write_bytes(zipped({f"set/{name}": content for name, content in SPLITS.items()}))
    out, _, _ = command("import_beir", "hills", path, "--splits", "test", "--rater", "BEIR")
    assert "2 ratings from qrels: 2 new" in out
    assert tags() == {"q8": ["long", "dev", "test"]}
    assert Document.objects.get(key="a").title == "A" and not Document.objects.filter(key="z").exists()
    out, _, _ = command("import_beir", "hills", path, "--rater", "BEIR")
    assert "2 queries: 1 new, 0 changed, 1 unchanged." in out and "1 line repeats an earlier one." in out
    assert tags() == {"q8": ["long", "dev", "test"], "q9": ["dev"]}
    ratings = Rating.objects.filter(rater__name="BEIR").values_list("query__key", "document__key", "grade__value")
    assert sorted(ratings) == [("q8", "a", 1), ("q8", "b", 0), ("q9", "z", 1)]
    assert sorted(Job.objects.values_list("kind", flat=True)) == ["documents", *["queries"] * 2, *["ratings"] * 2]
    done("import_beir", "hills", path, "--rater", "BEIR")
    assert Job.objects.count() == 5, "repeating it changes nothing"


@pytest.mark.parametrize(
    ("files", "options", "refusal"),
    [
        ({"corpus.jsonl": SPLITS["corpus.jsonl"]}, [], "there is no queries.jsonl and no qrels/test.tsv in it"),
        (SPLITS, ["--splits", "train"], "there is no split 'train' in it. Choose among dev, test."),
        (SPLITS | {"qrels/dev.tsv": b"query-id\tcorpus-id\tscore\nq9\ta\t77\n"}, [], "the grade 77 is not on the"),
        (SPLITS | {"qrels/dev.tsv": b"query-id\tcorpus-id\tscore\nq8\tb\t1\n"}, [], "b has another grade for the"),
        (SPLITS | {"corpus.jsonl": b"{]\n"}, [], "corpus.jsonl, line 1"),
        (
            SPLITS | {"qrels/cut.tsv.gz": gzip.compress(GRADED)[:-9]},
            [],
            "qrels/cut.tsv.gz: it is cut off or damaged",
        ),
        (SPLITS | {"qrels/bare.tsv": b""}, [], "qrels/bare.tsv: it holds nothing to import"),
    ],
)
def test_a_data_set_is_imported_whole_or_not_at_all(collection, file, files, options, refusal):  # noqa: F811
    before = Document.objects.count(), Query.objects.count()
    _, err, refused = command("import_beir", "hills", file(zipped(files), "set.zip"), *options)
    assert refused and refusal in err
    assert (Document.objects.count(), Query.objects.count()) == before
    assert not Rating.objects.exists() and not Job.objects.exists()


def test_a_data_set_is_checked_and_imported_on_the_page_and_undone_part_by_part(admin):  # noqa: F811
    job = sent(admin, "", zipped(SPLITS), "set.zip")
    html = page(admin, job)
    assert "3 ratings by 1 rater for 2 queries: 3 new" in html and "2 queries: 2 new" in html
    assert not Rating.objects.exists() and "were not known" not in html
    act(admin, "check_import", job, {"kind": "beir", "splits": "dev", "rater": "qrels"})
    worker()
    assert "2 ratings by 1 rater for 2 queries: 2 new" in page(admin, job)
    act(admin, "start_import", job)
    worker()
    job.refresh_from_db()
    assert (job.state, job.report["counts"]["new"]) == ("published", 4)
    assert "Undo this import" not in page(admin, job)
    assert tags() == {"q8": ["long", "dev", "test"], "q9": ["dev"]}
    parts = Job.objects.exclude(pk=job.pk)
    assert {part.by for part in parts} == {job.by}
    assert [part.kind for part in parts] == ["ratings", "documents", "queries"]
    act(admin, "undo_job", job)
    assert Rating.objects.count() == 2
    act(admin, "undo_job", parts[0])
    assert not Rating.objects.exists()


def test_a_refused_data_set_leaves_its_job_refused(admin):  # noqa: F811
    job = sent(admin, "beir", zipped({"corpus.jsonl": SPLITS["corpus.jsonl"]}), "set.zip")
    assert "here is no queries.jsonl and no qrels/test.tsv in it" in page(admin, job)
    act(admin, "start_import", job)
    worker()
    job.refresh_from_db()
    assert job.state == "refused" and Job.objects.count() == 1
