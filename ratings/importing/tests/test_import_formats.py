"""Imports and exports in many formats: how queries are found, who rated, what is told, what is refused."""

from pathlib import Path

import pytest

from ratings.importing.intake.undoing import undo_import
from ratings.models import Query, Rating
from ratings.tests.cast import make_collection

from .test_import_commands import command, done

pytestmark = pytest.mark.django_db

RATERS = "--columns", "raters=Ann|Bob B."
WIDE = "query,docid,Ann,Bob B.\ntext of q1,a,3,unrateable\ntext of q2,b,,-1\n"
BOOK = """{"name": "B", "query_doc_pairs": [
{"query_text": "text of q1", "doc_id": "a", "judgements": [
  {"rating": 2.0, "user_email": "ann@example.org"},
  {"rating": null, "unrateable": true, "user_email": "bob@example.org"}]},
{"query_text": "red shoes", "doc_id": "e", "information_need": "To buy",
 "document_fields": "{\\"title\\": \\"E\\"}", "judgements": []}]}"""
SNAPSHOT = """{"name": "first try", "docs": {"7": [{"id": "b"}, {"id": "a"}]},
 "queries": [{"query_id": 7, "query_text": "text of q1"}]}"""


@pytest.fixture
def collection():
    return make_collection()


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def told() -> list[tuple]:
    rows = Rating.objects.values_list(
        "pair__query__key", "pair__document__key", "rater__name", "grade__value", "reason"
    )
    return sorted((q, d, r, None if g is None else str(g.normalize()), reason) for q, d, r, g, reason in rows)


# Who rated what


def test_a_column_for_each_rater_is_imported_by_the_texts_of_the_queries(collection, file):
    out, err, _ = command("import_ratings", "hills", file(WIDE, "wide.csv"), *RATERS)
    assert told() == [
        ("q1", "a", "Ann", "3", ""),
        ("q1", "a", "Bob B.", None, "other"),
        ("q2", "b", "Bob B.", "-1", ""),
    ]
    assert "document from 'docid', 2 columns as raters ('Ann', 'Bob B.')." in out
    assert "wide.csv: its queries are named by their text." in out
    assert err == ""


def test_who_rates_is_said_once_and_known_then(collection, file):
    path, document = file("query,id,Ann,Consensus\nq1,a,3,1\n"), ("--columns", "document=id")
    _, err, refused = command("import_ratings", "hills", path, *document)
    assert refused and told() == []
    assert "--columns 'raters=Ann|Consensus'" in err
    done("import_ratings", "hills", path, *document, "--columns", "raters=Ann")
    assert told() == [("q1", "a", "Ann", "3", "")]
    _, err, refused = command("import_ratings", "hills", path, *document)
    assert refused and "the column 'Consensus' may be" in err and "--columns raters=Ann." in err
    done("import_ratings", "hills", file("query,docid,Ann\nq1,a,1\n"))
    assert told() == [("q1", "a", "Ann", "1", "")]


def test_a_book_is_recognised_and_what_is_unrateable_stays_that(collection, file):
    out, _, _ = command("import_ratings", "hills", file(BOOK, "x"))
    assert "read as quepid-book, Quepid book (JSON)." in out
    assert told() == [
        ("q1", "a", "ann@example.org", "2", ""),
        ("q1", "a", "bob@example.org", None, "other"),
    ]


def test_grades_that_nobody_is_named_for_need_a_rater(collection, file):
    path = file("query,document,grade\nq1,a,1\nq1,b,2\n")
    _, err, refused = command("import_ratings", "hills", path)
    assert refused
    assert f"{path}, line 2: the line names no rater. Give --rater NAME." in err
    done("import_ratings", "hills", path, "--rater", "shop")
    done("import_qrels", "hills", path)
    assert [row[2] for row in told()] == ["qrels", "shop", "qrels", "shop"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--columns", "query"], "cannot read 'query' of --columns"),
        (["--columns", "query=a,query=b"], "--columns says twice what query is"),
        (["--columns", "colour=a"], "no column of ratings holds the 'colour'"),
        (["--map", "fine=good"], "the grade 'good' is not a decimal number"),
        (["--format", "trec-qrels"], "there is 1 column, qrels have four"),
    ],
)
def test_options_that_make_no_sense_are_refused(collection, file, option, said):
    _, err, refused = command("import_ratings", "hills", file("query,document,grade\nq1,a,1\n"), *option)
    assert refused
    assert said in err
    assert told() == []


def test_an_encoding_is_said(collection, file):
    path = file("query,document,rater,grade\nq1,a,René,1\n".encode("windows-1252"))
    _, err, refused = command("import_ratings", "hills", path)
    assert refused
    assert "line 2: byte 9 of the line, 0xe9, is not UTF-8" in err
    done("import_ratings", "hills", path, "--encoding", "windows-1252")
    assert told() == [("q1", "a", "René", "1", "")]


# Six columns: a run, or qrels with several grades


def test_of_qrels_with_several_aspects_one_is_chosen_and_none_becomes_a_system(collection, file):
    path = file("q1 0 a 2 3 1\nq1 0 b 0 -1 -1\nq2 0 a 1 0 0\n")
    for order in ([], ["--order", "score"]):
        _, err, refused = command("import_run", "hills", path, *order)
        assert refused and "use import_qrels" in err and "--system-from tag" in err
    _, err, refused = command("import_qrels", "hills", path)
    assert refused and "--columns query=1,document=3,grade=4" in err and "use import_run" in err
    done("import_qrels", "hills", path, "--columns", "query=1,document=3,grade=4")
    done("import_ratings", "hills", path, "--columns", "query=1,document=3,grade=5", "--rater", "second")
    assert told() == [
        ("q1", "a", "qrels", "2", ""),
        ("q1", "a", "second", "3", ""),
        ("q1", "b", "qrels", "0", ""),
        ("q1", "b", "second", "-1", ""),
        ("q2", "a", "qrels", "1", ""),
        ("q2", "a", "second", "0", ""),
    ]
    assert not collection.systems.exists()


# Whether there is a header


@pytest.mark.parametrize("text", ["query\nred shoes\n", "1,query\n2,red shoes\n"])
def test_nothing_is_written_where_the_first_line_may_be_a_header_or_a_query(collection, file, text):
    _, err, refused = command("import_queries", "hills", file(text))
    assert refused and "line 1: " in err and "--header yes" in err and "--header no" in err
    assert collection.queries.count() == 2
    done("import_queries", "hills", file(text), "--header", "no")
    assert collection.queries.count() == 2 + text.count("\n")


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("import_queries", "q8,eight\nq9,nine\n", []),
        ("import_documents", "d8,Eight\nd9,Nine\n", ["--columns", "id=1,title=2"]),
        ("import_run", "q1,a,1\nq1,b,2\n", ["--columns", "query=1,document=2,rank=3", "--system", "s"]),
        ("import_qrels", "q1,a,1\nq1,b,2\n", []),
        ("import_ratings", "q1,a,1\nq1,b,2\n", ["--rater", "Ann"]),
    ],
)
def test_every_import_reads_a_table_without_a_header(collection, file, name, text, columns):
    done(name, "hills", file(text), "--header", "no", *columns)
    done(name, "hills", file(text), "--header", "no", *columns)
    assert Rating.objects.count() in (0, 2)


# Which query


def test_names_that_are_keys_and_texts_at_once_are_refused_until_it_is_said(collection, file):
    Query.objects.create(collection=collection, key="q3", text="q1")
    path = file("query,document,rater,grade\nq1,a,ann,1\n")
    _, err, refused = command("import_ratings", "hills", path)
    assert refused
    assert "it names queries by key (q1) and by text (q1). If the keys count, give --queries-by key." in err
    done("import_ratings", "hills", path, "--queries-by", "text")
    assert told() == [("q3", "a", "ann", "1", "")]


def test_a_text_that_several_queries_have_is_refused(collection, file):
    Query.objects.create(collection=collection, key="q3", text="text of q1")
    _, err, refused = command("import_ratings", "hills", file(WIDE), *RATERS)
    assert refused
    assert "several queries of the collection have a text that it names (text of q1). Name them by key." in err


@pytest.mark.both_databases
def test_queries_without_a_key_are_those_with_their_text_or_get_one_made_of_it(collection, file):
    path = file(BOOK)
    for new in ("1 new", "0 new"):
        out, _, _ = command("import_queries", "hills", path)
        assert f"2 queries: {new}, 0 changed" in out
    assert list(Query.objects.order_by("pk").values_list("key", "text", "need")) == [
        ("q1", "text of q1", "need of q1"),
        ("q2", "text of q2", "need of q2"),
        ("red_shoes", "red shoes", "To buy"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("pairs.csv", "query,product_id,grade,rater\nq1,B1,1,A\nq1,B2,0,A\n", {}),
        ("run.csv", "query,document,rank,score,system\nq1,d1,1,9,bm25\n", {}),
        ("bare.txt", "q1\nred shoes\n", {"header": "no"}),
    ],
)
def test_a_key_that_stands_where_a_text_should_changes_no_query(file, name, text, options):
    collection = make_collection("shop", queries=["q1"])
    before = list(collection.queries.values())
    _, err, refused = command("import_queries", "shop", file(text, name), **options)
    assert refused and "is the key of a query of the collection, which has another text" in err
    assert list(collection.queries.values()) == before


@pytest.mark.parametrize("header", ["id,query,text", "text,query,qid"])
def test_of_two_columns_for_the_text_of_a_query_somebody_says_which(file, header):
    make_collection("shop", queries=[])
    rows = f"{header}\n" + ",".join("abc"[: header.count(",") + 1]) + "\n"
    _, err, refused = command("import_queries", "shop", file(rows, "queries.csv"), header="yes")
    assert refused and "the text may be in the column 'query' or 'text'" in err and "--columns" in err


def parts_of(collection, key: str = "a") -> tuple:
    return collection.documents.values_list("title", "body", "url", "fields").get(key=key)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("d.csv", "id,title\na,New\n", ("New", "B", "u", {"year": 1958})),
        ("d.csv", "id,title,text\na,,New\n", ("", "New", "u", {"year": 1958})),
        ("d.csv", "id,brand\na,Ace\n", ("T", "B", "u", {"brand": "Ace"})),
        ("d.jsonl", '{"id": "a", "text": "New"}\n', ("T", "New", "u", {"year": 1958})),
        ("d.jsonl", '{"id": "a", "title": null, "text": ""}\n', ("", "", "u", {"year": 1958})),
        ("d.sgml", "<DOC><DOCNO>a</DOCNO><TITLE>New</TITLE></DOC>\n", ("New", "B", "u", {"year": 1958})),
        ("d.sgml", "<DOC><DOCNO>a</DOCNO><TEXT></TEXT></DOC>\n", ("T", "", "u", {"year": 1958})),
        (
            "d.json",
            '{"query_doc_pairs": [{"query_text": "q", "doc_id": "a", "document_fields": {"title": "New"}}]}',
            ("New", "B", "u", {"year": 1958}),
        ),
    ],
)
def test_a_part_of_a_document_that_a_file_lacks_stays_as_it_is_stored(collection, file, name, text, parts):
    collection.documents.filter(key="a").update(title="T", body="B", url="u", fields={"year": 1958})
    out, _, _ = command("import_documents", "hills", file(text, name))
    assert "1 document: 0 new, 1 changed, 0 unchanged." in out
    assert parts_of(collection) == parts
    out, _, _ = command("import_documents", "hills", file(text, name))
    assert "1 document: 0 new, 0 changed, 1 unchanged." in out
    job = collection.jobs.get()
    assert undo_import(job) == []
    assert parts_of(collection) == ("T", "B", "u", {"year": 1958})


def test_a_snapshot_is_a_system_whose_name_may_have_blanks(collection, file):
    done("import_run", "hills", file(SNAPSHOT))
    out, _, _ = command("export_run", "hills", "first try")
    assert out == "q1 Q0 b 1 1.0 first%20try\nq1 Q0 a 2 0.5 first%20try\n"


# Export


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_ratings_come_back_as_they_were(collection, file, tmp_path, format):
    done("import_ratings", "hills", file(WIDE), *RATERS)
    before, first, second = told(), tmp_path / "first", tmp_path / "second"
    done("export_ratings", "hills", "--format", format, "--output", first)
    make_collection("dales")
    done("import_ratings", "dales", first)
    done("export_ratings", "dales", "--format", format, "--output", second)
    assert told() == sorted(before * 2)
    assert first.read_bytes() == second.read_bytes()
