"""Documents are found by their keys in two ways that give the same ids, and new ones are made once."""

import pytest
from django.db import connection

from ratings.importing.intake import Report, document_keys
from ratings.importing.intake.document_keys import DocumentIds
from ratings.models import Document, Job
from ratings.tests.cast import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

STORED = ["a", "b\\n", 'c"', "d'", "ключ", "é", "😀", "zebra", *(f"k{n}" for n in range(20))]
MANY = 100  # keys that are sought
WAYS = {"by the index": 0, "from what is kept": 10**6, "kept at first": 7}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """The look-up is forced to one of the ways, a few rows at a time."""
    monkeypatch.setattr(document_keys, "MOST_KEYS_KEPT", WAYS[request.param])
    monkeypatch.setattr(document_keys, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(document_keys, "ROWS_PER_READ", 3)
    return request.param


def stored(*names: str, slug: str = "hills"):
    collection = make_collection(slug, documents="")
    Document.objects.bulk_create(Document(collection=collection, key=name) for name in names)
    return collection


def running(collection) -> Job:
    return Job.objects.create(collection=collection, kind="results", state="running", attempt=1)


def ids_in(collection) -> dict[str, int]:
    return dict(Document.objects.filter(collection=collection).values_list("key", "pk"))


def test_each_key_gets_its_id_in_the_order_given_and_unknown_ones_get_none(way):
    collection, _ = stored(*STORED), stored("a", "other", slug="other")
    ids = ids_in(collection)
    asked = [*STORED[::-1], "other", "a", "unknown", "a", "A", "zebra"]
    documents = DocumentIds(collection, MANY)
    assert documents.find(asked).tolist() == [ids.get(key, 0) for key in asked]
    assert documents.find(["é", "no"]).tolist() == [ids["é"], 0] and documents.find([]).tolist() == []
    assert DocumentIds(make_collection("empty", documents=""), MANY).find(["a"]).tolist() == [0]


def test_missing_documents_are_made_once_with_only_their_key(way, monkeypatch):
    collection = stored("b")
    monkeypatch.setattr(document_keys, "DOCUMENTS_PER_INSERT", 2)
    report, told = Report(), []
    asked = ["z\\t", "b", "é", "z\\t", "a", "m'", 'n"']
    job = running(collection)
    documents = DocumentIds(collection, MANY)
    found = documents.find_or_make(job, asked, report, lambda *step: told.append(step))
    ids = ids_in(collection)
    assert found.tolist() == [ids[key] for key in asked]
    assert sorted(ids) == sorted(set(asked)) and report.counts["documents"] == 5
    assert [rows for _, _, rows in told] == [2, 4, 5] and told[-1][1] == 1
    made_in_order = Document.objects.filter(collection=collection).exclude(key="b").order_by("pk")
    assert [document.key for document in made_in_order] == sorted(set(asked) - {"b"}, key=str.encode)
    assert {(d.title, d.body, d.url, str(d.fields), d.job_id) for d in made_in_order} == {
        ("", "", "", "{}", job.pk)
    }
    # Some of the next ones are known, were just made, or are new.
    more = ["n0", "a", "b", "n1", "n2", "é"]
    again = documents.find_or_make(job, more, report)
    ids = ids_in(collection)
    assert again.tolist() == [ids[key] for key in more] and report.counts["documents"] == 8
    assert documents.find_or_make(job, asked + more, report).tolist() == [*found, *again]
    assert report.counts["documents"] == 8


def test_a_key_with_a_blank_ends_the_import_and_shifts_no_id():
    collection = stored("a", "b c", "d")
    with pytest.raises(ValueError, match="up to 'd' has a blank"):
        DocumentIds(collection, MANY)


@pytest.mark.parametrize(
    ("sought", "kept", "reads"),
    [(9, 1000, False), (10, 1000, True), (10, 27, False), (10, 28, True)],
    ids=["few sought", "enough sought", "too many to keep", "just few enough"],
)
def test_documents_are_read_where_many_of_few_are_sought(
    monkeypatch, django_assert_num_queries, sought, kept, reads
):
    monkeypatch.setattr(document_keys, "MOST_KEYS_KEPT", kept)
    collection = stored(*STORED)
    assert len(STORED) == 28 and document_keys.ROWS_READ_PER_LOOKUP == 3
    with django_assert_num_queries(3 if reads else 1) as queries:  # the last part is empty
        documents = DocumentIds(collection, sought)
    assert all("given.value" not in query["sql"] for query in queries.captured_queries)
    with django_assert_num_queries(0 if reads else 1) as queries:
        documents.find(STORED[:9])
    assert all("given.value" in query["sql"] for query in queries.captured_queries), connection.vendor


def test_what_outgrows_memory_is_found_by_the_index(monkeypatch, django_assert_num_queries):
    collection = stored("a", "b")
    monkeypatch.setattr(document_keys, "MOST_KEYS_KEPT", 4)
    job = running(collection)
    documents = DocumentIds(collection, MANY)
    documents.find_or_make(job, ["c", "d"], Report())
    with django_assert_num_queries(0):
        documents.find(["a", "d"])
    documents.find_or_make(job, ["e"], Report())
    ids = ids_in(collection)
    with django_assert_num_queries(1):
        assert documents.find(["a", "e", "f"]).tolist() == [ids["a"], ids["e"], 0]
