"""Documents are found by their keys in two ways that give the same ids, and new ones are made once."""

import pytest
from django.db import connection

from ratings.intake import Report, keys
from ratings.intake.publishing import Landing
from ratings.models import Document, Job

from .cast import make_collection

pytestmark = pytest.mark.django_db

STORED = ["a", "b\\n", 'c"', "d'", "ключ", "é", "😀", "zebra", *(f"k{n}" for n in range(20))]
WAYS = {"by the index": 0, "by reading all": 10**6}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """The look-up is forced to one of the ways, a few rows at a time."""
    monkeypatch.setattr(keys, "READ_ALL", WAYS[request.param])
    monkeypatch.setattr(keys, "BATCH", 3)
    monkeypatch.setattr(keys, "_PART", keys._PART.replace(f"LIMIT {keys.PART}", "LIMIT 3"))
    return request.param


def stored(*names: str, slug: str = "hills"):
    collection = make_collection(slug, documents="")
    Document.written.bulk_create(Document(collection=collection, key=name) for name in names)
    return collection


def staging(collection) -> Job:
    return Job.objects.create(collection=collection, kind="results", state="running", staging=True, attempt=1)


def ids_in(collection) -> dict[str, int]:
    return dict(Document.written.filter(collection=collection).values_list("key", "pk"))


def test_each_key_gets_its_id_in_the_order_given_and_unknown_ones_get_none(way):
    collection, _ = stored(*STORED), stored("a", "other", slug="other")
    ids = ids_in(collection)
    asked = [*STORED[::-1], "other", "a", "unknown", "a", "A", "zebra"]
    assert keys.known_ids(collection, asked).tolist() == [ids.get(key, 0) for key in asked]
    assert keys.known_ids(collection, []).tolist() == []
    assert keys.known_ids(make_collection("empty", documents=""), ["a"]).tolist() == [0]


def test_documents_of_another_import_under_way_are_unknown(way):
    collection = stored("a", "b")
    job = staging(collection)
    Document.written.filter(key="b").update(job=job)
    ids = ids_in(collection)
    assert keys.known_ids(collection, ["b", "a"]).tolist() == [0, ids["a"]]
    assert keys.ids_of(Landing(job), ["b", "a"], Report()).tolist() == [ids["b"], ids["a"]]


def test_missing_documents_are_made_once_with_only_their_key(way, monkeypatch):
    collection = stored("b")
    monkeypatch.setattr(keys, "PIECE", 2)
    monkeypatch.setattr(keys, "LARGE_PIECE", 2)
    report, told = Report(), []
    asked = ["z\\t", "b", "é", "z\\t", "a", "m'", 'n"']
    place = Landing(staging(collection))
    found = keys.ids_of(place, asked, report, lambda *step: told.append(step))
    ids = ids_in(collection)
    assert found.tolist() == [ids[key] for key in asked]
    assert sorted(ids) == sorted(set(asked)) and report.counts["documents"] == 5
    assert [rows for _, _, rows in told] == [2, 4, 5] and told[-1][1] == 1
    made = Document.written.filter(collection=collection).exclude(key="b")
    assert {(d.title, d.body, d.url, str(d.fields), d.job_id) for d in made} == {("", "", "", "{}", place.job.pk)}
    assert keys.ids_of(place, asked, report).tolist() == found.tolist() and report.counts["documents"] == 5


def test_a_key_with_a_blank_ends_the_import_and_shifts_no_id(monkeypatch):
    collection = stored("a", "b c", "d")
    monkeypatch.setattr(keys, "READ_ALL", 10**6)
    with pytest.raises(ValueError, match="up to 'd' has a blank"):
        keys.known_ids(collection, ["d"])


def test_few_keys_of_a_large_collection_are_found_by_the_index(django_assert_num_queries):
    collection = stored(*STORED)
    for asked, finds in ((["a"], True), (STORED[:10], False)):
        with django_assert_num_queries(2 if finds else 3) as queries:
            keys.known_ids(collection, asked)
        assert ("given.value" in queries.captured_queries[1]["sql"]) is finds, connection.vendor
