"""What is read to be frozen: keys of many documents, results with their scores, and what raters are told."""

import numpy as np
import pytest

from evaluation import record
from ratings.models import Document, Guidelines
from ratings.tests.cast import make_collection, make_ranking

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def listed(collection, system: str) -> list[tuple]:
    found = record.load(collection)
    keys = record.Keys([found.rankings[system].documents])
    rows = record.results(collection, found, system)
    return [(place, keys.of(documents), scores) for place, documents, scores in rows]


def test_results_come_query_by_query_with_their_scores():
    collection = make_collection(queries=("q10", "q2", "q3"))
    make_ranking(collection, "bm25", "q10", "ca", [9.5, -1.0])
    make_ranking(collection, "bm25", "q2", "b", [0.1])
    make_ranking(collection, "bm25", "q3", "")
    assert listed(collection, "bm25") == [(0, ["b"], [0.1]), (2, ["c", "a"], [9.5, -1.0])]


def test_results_without_scores_get_one_by_rank():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abc")
    collection.systems.get().rankings.update(scores=None)
    assert listed(collection, "bm25") == [(0, ["a", "b", "c"], [1.0, 1 / 2, 1 / 3])]


@pytest.mark.parametrize("at_a_time", [1, 2, 3, 20_000])
def test_the_number_of_queries_is_that_of_the_pieces(at_a_time, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr("evaluation.record.keys.KEYS_AT_A_TIME", at_a_time)
    monkeypatch.setattr("evaluation.record.rankings.QUERIES_AT_A_TIME", at_a_time)
    collection = make_collection(queries=[f"q{number}" for number in range(6)])
    for number in range(6):
        make_ranking(collection, "bm25", f"q{number}", "dbca")
    found = record.load(collection)
    pks = found.rankings["bm25"].documents
    with django_assert_num_queries(-(-4 // at_a_time)):
        keys = record.Keys([pks, pks[::-1].astype(np.int64)])
    assert keys.of(pks[:4]) == ["d", "b", "c", "a"] and keys.of(pks[:0]) == []
    with django_assert_num_queries(-(-6 // at_a_time)):
        assert [place for place, *_ in record.results(collection, found, "bm25")] == list(range(6))


def test_keys_of_documents_that_are_gone_are_refused():
    collection = make_collection(documents=("é日", "b"))
    pks = np.array(sorted(collection.documents.values_list("pk", flat=True)))
    assert record.Keys([pks]).of(pks[::-1]) == ["b", "é日"]
    Document.objects.filter(pk=pks[0]).delete()
    with pytest.raises(ValueError, match="deleted meanwhile"):
        record.Keys([pks])


def test_what_raters_are_told_has_versions():
    collection = make_collection(scale={"-0.5": "Bad", "1": ""})
    assert record.terms(collection) == (1, 0, 0, [("-0.5", "Bad"), ("1", "")])
    Guidelines.objects.create(collection=collection, version=1, text="x")
    Guidelines.objects.create(collection=collection, version=2, text="y")
    assert record.terms(collection).guidelines_version == 2
