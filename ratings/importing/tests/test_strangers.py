"""Small files in the shape of those that people of this job have: read, or refused with a cure that works."""

import io
import json
import shlex
from pathlib import Path

import pytest

from ratings.importing.intake.undoing import undo_import
from ratings.models import Collection, Document, Rating, RatingEvent

from .test_import_commands import command, done

pytestmark = pytest.mark.django_db

QUERIES = "q1\tred shoes\nq2\twaterproof jacket\nq3\tcafé table\n"


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def empty():
    command("create_collection", "c", "--grades", "0:a,1:b,2:c,3:d")
    return Collection.objects.get(slug="c")


@pytest.fixture
def collection(empty, file):
    done("import_queries", "c", file(QUERIES, "queries.tsv"))
    return empty


def refusal(*arguments: object) -> str:
    """What a command that must refuse says."""
    _, err, refused = command(*arguments)
    assert refused, err
    return err


def told() -> list[tuple]:
    """Query, document, rater and grade of each rating."""
    rows = Rating.objects.values_list("pair__query__key", "pair__document__key", "rater__name", "grade__value")
    return sorted((q, d, r, None if g is None else float(g)) for q, d, r, g in rows)


# A pair that is rated again

DIFFER = "query,doc_id,grade\nred shoes,d1,2\nred shoes,d1,0\nred shoes,d2,1\nwaterproof jacket,d3,0\n"
EQUAL = "query,doc_id,grade\nred shoes,d1,2\nred shoes,d1,2\nred shoes,d2,1\nred shoes,d2,1\n"
AGAIN = """query,doc_id,rater,grade,rated_at
red shoes,d1,Ann,3,2026-03-02T09:00:00Z
red shoes,d1,Ann,1,2026-03-01T09:00:00Z
red shoes,d2,Ann,0,2026-03-01T09:01:00Z
"""


@pytest.mark.parametrize(("text", "grades"), [(DIFFER, [2, 0]), (EQUAL, [2, 2])])
def test_each_row_without_a_name_may_be_of_another_rater(collection, file, text, grades):
    path = file(text)
    err = refusal("import_ratings", "c", path, "--rater", "r")
    assert "If each is of another rater, give --repeats raters." in err and "--repeats last" in err
    done("import_ratings", "c", path, "--rater", "r", "--repeats", "raters")
    assert [row[2:] for row in told() if row[1] == "d1"] == [("r", grades[0]), ("r 2", grades[1])]
    assert len(told()) == len(text.splitlines()) - 1
    out, _, _ = command("import_ratings", "c", path, "--rater", "r", "--repeats", "raters")
    assert "0 new, 0 changed" in out


@pytest.mark.parametrize("grades", [[2, 0], [2, 2]])
@pytest.mark.parametrize("name", ["t.qrels", "t.letor", "t.json"])
def test_each_line_without_a_name_may_be_of_another_rater_where_equal_ones_are_one(collection, file, name, grades):
    rows = [("d1", grade) for grade in grades] + [("d2", 1)]
    ratings = [{"docId": document, "rating": str(grade)} for document, grade in rows]
    opensearch = {"judgmentRatings": [{"query": "red shoes", "ratings": ratings}]}
    path = file({
        "t.qrels": "".join(f"q1 0 {document} {grade}\n" for document, grade in rows),
        "t.letor": "".join(f"{grade} qid:q1 1:0.5 # {document}\n" for document, grade in rows),
        "t.json": json.dumps(opensearch),
    }[name], name)  # fmt: skip
    if grades[0] != grades[1]:
        err = refusal("import_ratings", "c", path, "--rater", "r", "--repeats", "refuse")
        assert "If each is of another rater, give --repeats raters." in err and "Keep one" not in err
    done("import_ratings", "c", path, "--rater", "r", "--repeats", "raters")
    assert told() == sorted([("q1", "d1", "r", grades[0]), ("q1", "d1", "r 2", grades[1]), ("q1", "d2", "r", 1)])


@pytest.mark.both_databases
def test_of_a_pair_that_a_rater_rates_again_the_latest_may_count(collection, file):
    path = file(AGAIN)
    assert "--repeats last" in refusal("import_ratings", "c", path)
    out, _, _ = command("import_ratings", "c", path, "--repeats", "last")
    assert "2 ratings from ratings: 2 new" in out and "1 earlier rating" in out
    assert told() == [("q1", "d1", "Ann", 3), ("q1", "d2", "Ann", 0)]
    events = RatingEvent.objects.filter(pair__document__key="d1").order_by("pk")
    assert [(float(e.value), e.created_at.day) for e in events] == [(1, 1), (3, 2)]
    out, _, _ = command("import_ratings", "c", path, "--repeats", "last")
    assert "0 new, 0 changed, 2 unchanged" in out and RatingEvent.objects.count() == 3
    assert undo_import(collection.jobs.get(kind="ratings")) == [] and told() == []


# Texts that look alike


@pytest.mark.parametrize(
    "text", ["cafe\u0301 table", "café\u00a0table", "café  table", "caf\u200bé table\ufeff", "\u3000café\ttable"]
)
def test_a_query_is_found_by_how_its_text_looks(collection, file, text):
    path = file(f'query,doc_id,grade\n"{text}",d9,2\nred shoes,d1,1\n')
    out, err, _ = command("import_ratings", "c", path, "--rater", "n")
    assert ("q3", "d9", "n", 2) in told() and len(told()) == 2, out + err
    out, _, _ = command("import_queries", "c", file(f"query\n{text.strip()}\n"), "--header", "yes")
    assert "1 query: 0 new, 0 changed, 1 unchanged" in out
    assert [query.text for query in collection.queries.filter(key="q3")] == ["café table"]


@pytest.mark.parametrize("ratings", ["", "red shoes,d1,1\n"])
def test_a_spelling_that_stays_apart_is_named_by_its_code_points(collection, file, ratings):
    path = file("query,doc_id,grade\n" + ratings + "waterproof\u2013jacket,d1,1\n")
    _, err, _ = command("import_ratings", "c", path, "--rater", "n")
    assert "has U+2013 where 'waterproof jacket' has U+0020." in err


def test_texts_that_look_alike_and_are_two_queries_are_not_confused(empty, file):
    done("import_queries", "c", file("q1\tcafé\nq2\tcafe\u0301\n", "q.tsv"))
    done("import_ratings", "c", file("query,doc_id,grade\ncafe\u0301,d,1\ncafé,d,2\n"), "--rater", "n")
    assert told() == [("q1", "d", "n", 2), ("q2", "d", "n", 1)]
    assert "caf" in refusal("import_ratings", "c", file("query,doc_id,grade\ncaf\u200bé,d,1\n"), "--rater", "n")


# Documents in JSON


OTHER_NAMES = (
    '{"objectID": "d1", "name": "Red shoe", "price": 3}\n{"objectID": "d2", "text": "Boot", "price": 4}\n'
)


def test_json_lines_with_other_names_ask_for_columns(collection, file):
    path = file(OTHER_NAMES, "d.jsonl")
    assert "--columns id=NAME" in refusal("import_documents", "c", path)
    done("import_documents", "c", path, "--columns", "id=objectID,title=name")
    assert [(d.key, d.title, d.body, d.fields) for d in Document.objects.order_by("key")] == [
        ("d1", "Red shoe", "", {"price": 3}),
        ("d2", "", "Boot", {"price": 4}),
    ]


# Ids with blanks, titles, marks and empty cells

IDS = "id,title,text\nAnnual Report 2023.pdf,Annual report,x\nshop/red shoe.html,Red shoe,y\n"
IDS_IN_RATINGS = "query,doc_id,grade\nQ 1,Annual Report 2023.pdf,2\nred shoes,shop/red shoe.html,1\n"


@pytest.mark.parametrize("lines", [False, True])
def test_ids_with_blanks_are_kept_alike_in_every_file(empty, file, lines):
    queries = file("query_id,query\nQ 1,red shoes\nQ 2,jacket\n", "q.csv")
    documents = file('{"id": "Annual Report 2023.pdf"}\n{"id": "shop/red shoe.html"}' if lines else IDS, "d.csv")
    done("import_queries", "c", queries)
    assert "d.csv: ids with blanks have %20 for each" in command("import_documents", "c", documents)[0]
    ratings = file(IDS_IN_RATINGS, "r.csv"), "--rater", "r"
    done("import_ratings", "c", *ratings, "--queries-by", "key")
    assert [(q, d) for q, d, *_ in told()] == [("Q%201", "Annual%20Report%202023.pdf")]
    done("import_ratings", "c", *ratings, "--queries-by", "text")
    assert [(q, d) for q, d, *_ in told()][1] == ("Q%201", "shop/red%20shoe.html")
    exported, before = command("export_qrels", "c")[0], told()
    assert "Q%201 0 Annual%20Report%202023.pdf 2" in exported
    done("import_ratings", "c", file(exported, "back.qrels"), "--rater", "r")
    assert told() == before and Document.objects.count() == 2


SPACED = "Annual Report 2023.pdf"
JSON_WITH_IDS = {
    "quepid-book": {
        "query_doc_pairs": [{"query_text": "red shoes", "doc_id": SPACED, "judgements": [{"rating": 2}]}]
    },
    "quepid-case": {"queries": [{"query": "red shoes", "ratings": {SPACED: 2}}]},
    "opensearch": {"judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": SPACED, "rating": 2}]}]},
    "by-query": {"q1": {SPACED: 2}},
    "rank-eval": {"requests": [{"id": "q1", "ratings": [{"_id": SPACED, "rating": 2}]}]},
    "rre": {"queries": [{"placeholders": {"$query": "red shoes"}, "relevant_documents": {"2": [SPACED]}}]},
}


@pytest.mark.parametrize("content", JSON_WITH_IDS.values(), ids=JSON_WITH_IDS)
def test_ids_with_blanks_are_kept_in_json_as_in_tables(collection, file, content):
    path = file(json.dumps(content), "r.json")
    done("import_ratings", "c", path, "--rater", "r")
    assert [(q, d, grade) for q, d, _, grade in told()] == [("q1", "Annual%20Report%202023.pdf", 2)]


def workbook(*rows: list) -> bytes:
    from openpyxl import Workbook

    book, stream = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


TABLE = [["Query", "Doc ID", "Rating"], ["red shoes", "d1", 3], ["waterproof jacket", "d3", 2]]


def csv_of(*rows: list) -> str:
    return "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


@pytest.mark.parametrize("above", [[["Judgments, March"], []], [["Judgments"]], [["Judgments"], [], ["By Ann"]]])
@pytest.mark.parametrize(("made", "name"), [(workbook, "t.xlsx"), (csv_of, "t.csv")])
def test_a_title_may_stand_above_the_header(collection, file, above, made, name):
    path, line = file(made(*above, *TABLE), name), len(above) + 1
    assert f"give --header {line}." in refusal("import_ratings", "c", path, "--rater", "t")
    done("import_ratings", "c", path, "--rater", "t", "--header", line)
    assert told() == [("q1", "d1", "t", 3), ("q2", "d3", "t", 2)]


@pytest.mark.parametrize(("made", "name"), [(workbook, "t.xlsx"), (csv_of, "t.csv")])
def test_of_two_header_rows_the_lower_one_may_name_some_columns_alone(collection, file, made, name):
    rows = [["Query", "Doc ID", "Ratings", None], [None, None, "Ann", "Bob"], ["red shoes", "d1", 3, 2]]
    path = file(made(*rows), name)
    err = refusal("import_ratings", "c", path, "--header", 2)
    assert "line 2: no column holds the query" in err and "query=1" in err
    done("import_ratings", "c", path, "--header", 2, "--columns", "query=1,document=2,raters=Ann|Bob")
    assert told() == [("q1", "d1", "Ann", 3), ("q1", "d1", "Bob", 2)]


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv"])
def test_the_query_may_stand_in_the_first_of_several_rows(collection, file, name):
    rows = [TABLE[0], ["red shoes", "d1", 3], [None, "d2", 0], [None, "d4", 1], ["waterproof jacket", "d3", 2]]
    path = file((workbook if name == "t.xlsx" else csv_of)(*rows), name)
    assert "If the query above counts for it, give --fill-down." in refusal(
        "import_ratings", "c", path, "--rater", "t"
    )
    done("import_ratings", "c", path, "--rater", "t", "--fill-down")
    assert told() == [("q1", "d1", "t", 3), ("q1", "d2", "t", 0), ("q1", "d4", "t", 1), ("q2", "d3", "t", 2)]


LONE_MARKS = 'd1\tA red shoe.\nd2\t"Brown boot, he said.\nd3\tRain jacket.\nd4\t"Another" starts here\nd5\tLast.\n'


@pytest.mark.parametrize(
    "text", [LONE_MARKS, 'd1\tA\nd2\t"Brown\nd3\tRain\nd4\tboot"\n', 'd1\tA\nd2\t"Brown\nd3\tRain\n']
)
def test_quotation_marks_may_be_text(collection, file, text):
    columns = "--header", "no", "--columns", "id=1,body=2"
    path = file(text, "d.tsv")
    assert "If quotation marks are a part of the texts, give --quoting none." in refusal(
        "import_documents", "c", path, *columns
    )
    done("import_documents", "c", path, *columns, "--quoting", "none")
    assert [f"{d.key}\t{d.body}\n" for d in Document.objects.order_by("key")] == text.splitlines(keepends=True)


# Words as grades, and columns between blanks


@pytest.mark.parametrize(
    "words", [["3 - Perfect", "0 - Irrelevant"], ["4/5", "0/5"], ["100 %", "0 %"], ["L2", "L0"]]
)
def test_words_with_digits_may_stand_for_grades(collection, file, words):
    path = file(f"query,doc_id,rater,grade\nred shoes,d1,Ann,{words[0]}\nred shoes,d2,Ann,{words[1]}\n")
    assert f"--map {shlex.quote(words[0] + '=GRADE')}" in refusal("import_ratings", "c", path)
    done("import_ratings", "c", path, "--map", f"{words[0]}=3,{words[1]}=0")
    assert told() == [("q1", "d1", "Ann", 3), ("q1", "d2", "Ann", 0)]


@pytest.mark.parametrize(("name", "head", "row"), [
    ("t.csv", "query,doc_id,rater,grade\n", "q1,{},Ann,{}\n"), ("t.qrels", "", "q1 0 {} {}\n"),
    ("t.csv", "query,doc_id,Ann\n", "q1,{},{}\n"),
])  # fmt: skip
def test_a_word_may_stand_for_cannot_judge(collection, file, name, head, row):
    path = file(head + row.format("d1", 2) + row.format("d2", "n/a"), name)
    chosen = ("--columns", "raters=Ann") if "rater" not in head and head else ()
    chosen += ("--rater", "Ann") if name == "t.qrels" else ()
    assert "If it stands for no grade, give --map n/a=unrateable." in refusal("import_ratings", "c", path, *chosen)
    done("import_ratings", "c", path, *chosen, "--map", "n/a=unrateable")
    assert told() == [("q1", "d1", "Ann", 2), ("q1", "d2", "Ann", None)]
    assert Rating.objects.get(grade=None).reason == "other"


@pytest.mark.parametrize("word", ["Yes, fully", "x = y"])
def test_a_word_with_a_comma_or_an_equals_sign_may_stand_for_a_grade(collection, file, word):
    path = file(f'query,doc_id,rater,grade\nq1,d1,Ann,"{word}"\n')
    err = refusal("import_ratings", "c", path)
    assert f"the grade '{word}' is not" in err
    (cure,) = shlex.split(err[err.index("--map") :].partition(". If")[0])[1:]
    done("import_ratings", "c", path, "--map", cure.replace("GRADE", "2"))
    assert told() == [("q1", "d1", "Ann", 2)]


def test_spellings_that_differ_in_capital_letters_are_named_in_words(collection, file):
    err = refusal("import_ratings", "c", file("query,doc_id,grade\nRed  Shoes,d1,1\n"), "--rater", "n")
    assert "'Red  Shoes' and 'red shoes' differ in capital letters. Write them alike." in err


# One table of queries, products and grades

PAIRS = """query,product_id,title,brand,votes,Ann,grade
red shoes,p1,Red shoe,Altra,3,2,2
waterproof jacket,p1,Red shoe,Altra,5,0,0
red shoes,p2,Boot,Bergen,1,1,1
"""


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.jsonl"])
def test_of_a_table_of_pairs_documents_get_what_is_the_same_in_all_their_rows(collection, file, name):
    head, *rows = [line.split(",") for line in PAIRS.splitlines()]
    content = {
        "t.csv": PAIRS,
        "t.xlsx": workbook(head, *rows) if name == "t.xlsx" else "",
        "t.jsonl": "".join(json.dumps(dict(zip(head, row, strict=True))) + "\n" for row in rows),
    }[name]
    path = file(content, name)
    out, err, _ = command("import_documents", "c", path)
    assert "of these left out, as they differ" in out and "belong to the pair: 'Ann', 'votes'." in out, err
    assert list(Document.objects.order_by("key").values_list("key", "title", "fields")) == [
        ("p1", "Red shoe", {"brand": "Altra"}),
        ("p2", "Boot", {"brand": "Bergen"}),
    ]
    out, _, _ = command("import_documents", "c", path)
    assert "0 new, 0 changed, 2 unchanged" in out


def test_another_title_of_a_document_is_refused_unless_it_belongs_to_the_pair(collection, file):
    path = file(PAIRS.replace("jacket,p1,Red shoe", "jacket,p1,Shoe"))
    err = refusal("import_documents", "c", path)
    assert "line 3: document p1 has another title on line 2." in err and "--columns title=" in err
    done("import_documents", "c", path, "--columns", "title=")
    assert set(Document.objects.values_list("title", flat=True)) == {""}


# Files that are nearly in a format


@pytest.mark.parametrize(
    ("text", "columns"), [("q1\td1\t1\nq1\td2\t2\n", "2,rank=3"), ("q1 Q0 d1 1 9.5\nq1 Q0 d2 2 8.5\n", "3,rank=4")]
)
def test_runs_of_three_or_five_columns_are_read_as_a_table(collection, file, text, columns):
    path = file(text, "bm25.run")
    assert f"give --columns query=1,document={columns}." in refusal("import_run", "c", path)
    assert "Give --system NAME" in refusal("import_run", "c", path, "--columns", f"query=1,document={columns}")
    done("import_run", "c", path, "--columns", f"query=1,document={columns}", "--system", "bm25")
    assert [len(r.documents) for r in collection.systems.get(name="bm25").rankings.all()] == [2]


def test_qrels_of_three_columns_with_words_are_read_as_a_table(collection, file):
    path = file("q1 d1 L2\nq1 d2 L0\n", "t.qrels")
    columns = "--columns", "query=1,document=2,grade=3"
    assert f"give {shlex.join(columns)}." in refusal("import_qrels", "c", path)
    assert "If the first line is a row, give --header no." in refusal("import_qrels", "c", path, *columns)
    done("import_qrels", "c", path, *columns, "--header", "no", "--map", "L2=2,L0=0")
    assert told() == [("q1", "d1", "qrels", 2), ("q1", "d2", "qrels", 0)]


def test_decimal_commas_of_runs_and_qrels_are_named(collection, file):
    err = refusal("import_run", "c", file("q1 Q0 d1 1 2,5 r\nq1 Q0 d2 2 1,5 r\n", "r.run"))
    assert "line 1: the score '2,5' is not a finite number" in err and "Write a decimal point" in err
    err = refusal("import_qrels", "c", file("q1 0 d1 1,5\n", "q.qrels"))
    assert "the grade '1,5' is not a decimal number" in err and "Write a decimal point" in err


@pytest.mark.parametrize("text", ['{"query": "q1", "hits": [{"id": "d1"}]}\n', '{"data": [{"query": "q1"}]}'])
def test_unknown_json_is_refused_with_a_form_that_works(collection, file, text):
    for kind in ("run", "ratings"):
        err = refusal(f"import_{kind}", "c", file(text, "x.json"))
        given = err.partition("such as ")[2].partition("}")[0] + "}"
        rater = ("--rater", "r") if kind == "ratings" else ()
        done(f"import_{kind}", "c", file(given + "\n", "y.jsonl"), *rater)


def test_a_nan_in_json_is_named(collection, file):
    for text in ('{"query": "q1", "document": "d1", "grade": NaN}\n', '[{"query": "q1", "grade": NaN}]'):
        assert "NaN is not a JSON number" in refusal("import_ratings", "c", file(text, "n.jsonl"), "--rater", "r")


def test_a_ranking_in_json_is_no_snapshot_of_quepid(collection, file):
    assert "Quepid" not in refusal("import_run", "c", file('{"qid": "q1", "docs": ["d1", "d2"]}\n', "r.jsonl"))


def test_documents_of_a_bulk_request_are_read(collection, file):
    text = '{"index": {"_id": "d1"}}\n{"title": "Shoe"}\n{"create": {"_id": "d2"}}\n{"title": "Boot"}\n'
    done("import_documents", "c", file(text, "bulk.ndjson"))
    assert list(Document.objects.order_by("key").values_list("key", "title")) == [("d1", "Shoe"), ("d2", "Boot")]
    assert "no column holds the id" in refusal("import_documents", "c", file('{"index": {}}\n{"title": "x"}\n'))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_header_in_the_middle_is_no_row(collection, file, mark):
    err = refusal("import_queries", "c", file(f"id,text\nq8,tent\n{mark}id,text\nq9,rope\n"))
    assert "line 3: the line repeats the names of the columns" in err
    assert not collection.queries.filter(key="id").exists()


def test_a_table_without_a_known_rater_asks_for_its_column(collection, file):
    path = file("query,doc_id,who,grade\nq1,d1,Ann,2\nq1,d1,Bob,1\n")
    assert "If a column names the rater, give --columns rater=NAME." in refusal("import_ratings", "c", path)
    done("import_ratings", "c", path, "--columns", "rater=who")
    assert told() == [("q1", "d1", "Ann", 2), ("q1", "d1", "Bob", 1)]


# JSON of other tools, and topics of other tracks


def test_ratings_of_rank_eval_are_read(collection, file):
    rating = {"_index": "i", "_id": "d1", "rating": 0}
    requests = [
        {"id": "q1", "request": {"query": {"match": {"text": "x"}}}, "ratings": [rating, rating | {"_id": "d2"}]},
        {"id": "waterproof jacket", "request": {}, "ratings": [{"_index": "i", "_id": "d3", "rating": 1}]},
    ]
    path = file(json.dumps({"requests": requests[:1], "metric": {"dcg": {"k": 10}}}), "r.json")
    done("import_ratings", "c", path, "--rater", "o")
    assert told() == [("q1", "d1", "o", 0), ("q1", "d2", "o", 0)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"took": 3, "hits": {"hits": [{"_id": "d1", "_score": 1.5, "_source": {"title": "x"}}]}},
            "Connect the eng",
        ),
        ({"responseHeader": {"status": 0}, "response": {"docs": [{"id": "d1"}]}}, "Connect"),
        ([{"id": 1, "annotations": [{"result": []}], "data": {"query": "red shoes"}}], "as CSV"),
    ],
)
def test_json_of_another_tool_is_named_with_what_to_do(collection, file, content, said):
    path = file(json.dumps(content), "x.json")
    assert said in refusal("import_ratings", "c", path) and said in refusal("import_run", "c", path)


LANGUAGES = (
    "<queries>\n<query><id> 15 </id><en> iron poor diet </en><fr> pauvre en fer </fr></query>\n</queries>\n"
)


def test_queries_in_xml_have_tags_to_choose(empty, file):
    path = file(LANGUAGES, "q.xml")
    err = refusal("import_queries", "c", path)
    assert "it has the tags 'en', 'fr'" in err and "--columns text=NAME" in err
    done("import_queries", "c", path, "--columns", "text=en")
    done("import_queries", "c", file('<queries><query id="16">tea</query></queries>', "p.xml"))
    done("import_queries", "c", file("<queries><query><qid>17</qid><text>ice</text></query></queries>", "r.xml"))
    assert sorted(empty.queries.values_list("key", "text")) == [
        ("15", "iron poor diet"),
        ("16", "tea"),
        ("17", "ice"),
    ]


def test_judgments_may_stand_in_a_saved_answer_of_opensearch(collection, file):
    source = {"judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": "d1", "rating": "2.0"}]}]}
    path = file(json.dumps({"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_source": source}]}}), "g.json")
    done("import_ratings", "c", path, "--rater", "o")
    assert told() == [("q1", "d1", "o", 2)]


def test_the_turns_of_conversations_are_queries(empty, file):
    turns = [{"number": 1, "raw_utterance": "What is it?"}, {"number": 2, "raw_utterance": "Is it treatable?"}]
    topics = [{"number": 31, "description": "Types.", "turn": turns, "title": "a disease"}]
    done("import_queries", "c", file(json.dumps(topics), "t.json"))
    done("import_qrels", "c", file("31_1 0 d1 2\n31_2 0 d2 1\n", "t.qrels"))
    assert told() == [("31_1", "d1", "qrels", 2), ("31_2", "d2", "qrels", 1)]


# The cases beside the project: what refuses each file, the options with which it is read, and what comes

NUMBERS = "the last 3 of 6 columns are numbers, as grades for several aspects are"
CASES = [
    ("import_ratings 01-consensus.csv", "may be raters", "--columns raters=Ann|Bob", "48 ratings"),
    ("import_ratings 01-median-and-variance.csv --columns document=id", "such as a mean", "", ""),
    ("import_qrels 02-three-aspects.qrels", NUMBERS, "--columns query=1,document=3,grade=4", "5 ratings"),
    ("import_run 02-three-aspects.qrels", NUMBERS, "", ""),
    ("import_run 02-three-aspects-more.qrels --order score", NUMBERS, "", ""),
    ("import_queries 03-letor-4.txt", "the text of query 10032 is empty", "", ""),
    ("import_ratings 05-unnamed-differ.csv --rater r", "of another rater", "--repeats raters", "4 ratings"),
    ("import_ratings 05-unnamed-equal.csv --rater r", "of another rater", "--repeats raters", "5 ratings"),
    ("import_ratings 05-rated-again.csv", "the later one counts", "--repeats last", "1 earlier rating"),
    ("import_documents 06-blank-ids.csv", "", "", "2 documents"),
    ("import_ratings 06-blank-ids-ratings.csv --rater r", "", "", "2 ratings"),
    ("import_queries 06-blank-query-ids.csv", "", "", "2 queries"),
    ("import_ratings 07-nfd.csv --rater r", "", "", "2 ratings"),
    ("import_ratings 07-no-break-space.csv --rater r", "", "", "3 ratings"),
    ("import_documents 08-array.json", "", "", "2 documents"),
    ("import_documents 08-integer-ids.jsonl", "", "", "2 documents"),
    ("import_documents 08-other-names.jsonl", "id=NAME", "--columns id=objectID,title=name", "2 documents"),
    ("import_run 09-dict-run.json --system s", "", "", "2 rankings with 5 results"),
    ("import_ratings 09-dict-qrels.json --rater r", "", "", "3 ratings"),
    ("import_ratings 09-rank-eval.json --rater r", "none of its queries (amsterdam, berlin)", "", ""),
    ("import_documents 10-lone-quotes.tsv --header no --columns id=1,body=2", "quotation marks are a part",
     "--quoting none", "5 documents"),
    ("import_ratings 11-grade-words.csv", "--map '3 - Perfect=GRADE'",
     "--map '3 - Perfect=3,2 - Good=2,0 - Irrelevant=0'", "3 ratings"),
    ("import_ratings 12-three-columns.qrels --rater r --header no --columns query=1,document=2,grade=3",
     "--map L0=GRADE", "--map L0=0,L2=2,L4=3", "3 ratings"),
    ("import_ratings 12-five-columns.qrels --rater r --header no --columns query=1,document=3,grade=5", "", "",
     "4 ratings"),
    ("import_queries 13-long-query.jsonl", "", "", "1 query"),
    ("import_ratings 13-long-ratings.csv --rater r", "", "", "2 ratings"),
    ("import_ratings 14-title-row.xlsx --rater r", "--header 3", "--header 3", "2 ratings"),
    ("import_qrels 15-conversations.qrels", "", "", "3 ratings"),
    ("import_ratings 16-qrels.parquet --rater r", "", "", "3 ratings"),
    ("import_run 16-twice.run", "the better place counts", "--keep-first", "2 rankings with 3 results"),
    ("import_ratings 17-merged-cells.xlsx --rater r", "the query above counts", "--fill-down", "5 ratings"),
    ("import_ratings 17-fill-down.csv --rater r", "the query above counts", "--fill-down", "5 ratings"),
    ("import_queries 18-queries.xml", "it has the tags 'en', 'fr'", "--columns text=en", "1 query"),
]  # fmt: skip


def folder_of_cases(shared: Path) -> Path:
    folder = shared / "cases" / "strangers-3"
    return folder if folder.is_dir() else pytest.skip(f"there is no {folder}")


@pytest.mark.parametrize(("line", "refused", "cure", "made"), CASES, ids=[case[0].split()[1] for case in CASES])
def test_each_case_of_the_folder_is_read_or_refused_with_a_cure_that_works(
    shared, empty, monkeypatch, line, refused, cure, made
):
    monkeypatch.chdir(folder_of_cases(shared))
    for queries in ("queries.tsv", "11-queries.tsv", "13-long-query.tsv", "15-conversations.json"):
        done("import_queries", "c", queries)
    name, *arguments = shlex.split(line)
    if refused:
        assert refused in refusal(name, "c", *arguments)
    if made:
        out, err, stopped = command(name, "c", *arguments, *shlex.split(cure))
        assert made in out and not stopped, err


def test_a_column_of_a_consensus_that_is_left_out_is_no_rater(shared, collection, monkeypatch):
    monkeypatch.chdir(folder_of_cases(shared))
    done("import_ratings", "c", "01-consensus.csv", "--columns", "raters=Ann|Bob")
    done("import_run", "c", "01-consensus.run")
    agreement, _, _ = command("agreement", "c", "--format", "json")
    scores, _, _ = command("evaluate", "c", "--measure", "nDCG@10", "--format", "json")
    coefficients = {row["name"]: row["value"] for row in json.loads(agreement)["coefficients"]}
    assert (coefficients["alpha_nominal"], coefficients["alpha_ordinal"]) == pytest.approx(
        (0.0972, 0.4517), abs=5e-5
    )
    assert json.loads(scores)["results"][0]["mean"] == pytest.approx(0.5226, abs=5e-5)
