"""Small files in the shape of those that people of this job have: read, or refused with a cure that works."""

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


def test_qrels_that_repeat_a_line_are_no_question(collection, file):
    done("import_qrels", "c", file("q1 0 d1 2\nq1 0 d1 2\n"))
    assert len(told()) == 1


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
    assert "has U+2013 where 'waterproof jacket' has U+0020: let them be alike." in err


def test_texts_that_look_alike_and_are_two_queries_are_not_confused(empty, file):
    done("import_queries", "c", file("q1\tcafé\nq2\tcafe\u0301\n", "q.tsv"))
    done("import_ratings", "c", file("query,doc_id,grade\ncafe\u0301,d,1\ncafé,d,2\n"), "--rater", "n")
    assert told() == [("q1", "d", "n", 2), ("q2", "d", "n", 1)]
    assert "caf" in refusal("import_ratings", "c", file("query,doc_id,grade\ncaf\u200bé,d,1\n"), "--rater", "n")


# Documents in JSON


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"id": 1, "title": "Red shoe", "text": "x"}\n{"id": 2, "title": "Boot", "text": "y"}\n', "d.jsonl"),
        (
            '[\n {"id": "1", "title": "Red shoe", "text": "x"},\n {"id": 2, "title": "Boot", "text": "y"}\n]',
            "d.json",
        ),
    ],
)
def test_documents_have_integer_ids_and_stand_on_lines_or_in_a_list(collection, file, text, name):
    path = file(text, name)
    done("import_documents", "c", path)
    assert list(Document.objects.values_list("key", "title", "body")) == [
        ("1", "Red shoe", "x"),
        ("2", "Boot", "y"),
    ]


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


@pytest.mark.parametrize(
    "text",
    [
        '[{"query": "red shoes", "doc_id": "d1", "grade": 2}, {"query": "q2", "doc_id": "d2", "grade": 0}]',
        '[\n{"Query": "red shoes", "docId": "d1", "Is": "2"},\n\n{"Query": "q2", "docId": "d2", "Is": 0}]\n',
    ],
)
def test_ratings_and_runs_stand_in_a_json_list(collection, file, text):
    path = file(text, "list.json")
    columns = "query=Query,document=docId,grade=Is" if "docId" in text else "query=query"
    if "docId" in text:
        assert "--columns query=NAME,document=NAME,grade=NAME" in refusal("import_ratings", "c", path)
    done("import_ratings", "c", path, "--rater", "n", "--columns", columns, "--queries-by", "text")
    assert told() == [("q1", "d1", "n", 2)]
