import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation import record
from evaluation.record import reading
from ratings.models import Ranking
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_pair, make_ranking

from ...tests.worked import rate, worked_collection

pytestmark = pytest.mark.django_db


def pks(collection, keys: str) -> list[int]:
    return [collection.documents.get(key=key).pk for key in keys]


@pytest.mark.both_databases
def test_queries_come_in_the_natural_order_of_their_keys():
    collection = make_collection(queries=("q10", "q2", "10", "9", "09", "a"))
    read = record.load(collection)
    assert read.queries["key"].tolist() == ["09", "9", "10", "a", "q2", "q10"]
    assert read.queries["pk"].iloc[0] == collection.queries.get(key="09").pk
    assert read.queries["weight"].tolist() == [1.0] * 6


@pytest.mark.both_databases
def test_ratings_carry_query_document_rater_and_the_value_of_the_grade():
    collection = make_collection(scale={"-0.5": "Bad", "1.25": "Good"})
    rate(collection, "q2", rater="b", a="1.25")
    rate(collection, "q1", rater="a", a="-0.5")
    ratings = record.load(collection).ratings
    (a,) = pks(collection, "a")
    rows = sorted(zip(ratings.query, ratings.document, ratings.grade, strict=True))
    assert rows == [(0, a, -0.5), (1, a, 1.25)]
    names = dict(collection.raters.values_list("pk", "name"))
    assert {names[rater]: query for rater, query in zip(ratings.rater, ratings.query, strict=True)} == {
        "a": 0,
        "b": 1,
    }


@pytest.mark.both_databases
def test_ratings_carry_the_weight_of_their_rater():
    collection = make_collection()
    rate(collection, "q1", rater="light", a="1")
    rate(collection, "q1", rater="heavy", a="2", b="3")
    collection.raters.filter(name="heavy").update(weight="2.125")
    ratings = record.load(collection).ratings
    assert sorted(zip(ratings.grade.tolist(), ratings.weight.tolist(), strict=True)) == [
        (1, 1),
        (2, 2.125),
        (3, 2.125),
    ]


@pytest.mark.both_databases
def test_adjudications_come_with_and_without_ratings_and_are_no_ratings():
    collection = make_collection(scale={"-0.5": "Bad", "1.25": "Good"})
    rate(collection, "q1", a="1.25")
    adjudicate(make_pair(collection, "q1", "a"), grade(collection, "-0.5"), reason="spam", actor=None)
    adjudicate(make_pair(collection, "q2", "b"), grade(collection, "1.25"), reason="clear", actor=None)
    other = make_collection("valleys")
    adjudicate(make_pair(other, "q1", "a"), grade(other, "3"), reason="clear", actor=None)
    ratings = record.load(collection).ratings
    assert ratings.grade.tolist() == [1.25]
    decided = ratings.adjudicated
    a, b = pks(collection, "ab")
    assert list(zip(decided.query, decided.document, decided.grade, strict=True)) == [(0, a, -0.5), (1, b, 1.25)]


@pytest.mark.both_databases
def test_what_goes_while_it_is_read_is_left_out(monkeypatch):
    collection = make_collection()
    for query in ("q1", "q2"):
        rate(collection, query, a="1")
        adjudicate(make_pair(collection, query, "b"), grade(collection, "2"), reason="clear", actor=None)
    before = reading.queries_of
    monkeypatch.setattr(reading, "queries_of", lambda *given: before(*given).iloc[:1])
    ratings = record.load(collection).ratings
    assert (ratings.grade.tolist(), ratings.weight.tolist()) == ([1.0], [1.0])
    assert ratings.adjudicated.grade.tolist() == [2.0]


@pytest.mark.both_databases
def test_rankings_are_packed_query_after_query_and_tell_empty_from_missing():
    collection = make_collection(queries=("q1", "q2", "q3", "q4"))
    make_ranking(collection, "s", "q4", "ca")
    make_ranking(collection, "s", "q3", "")
    make_ranking(collection, "s", "q1", "abd")
    rankings = record.load(collection).rankings["s"]
    assert rankings.offsets.tolist() == [0, 3, 3, 3, 5]
    assert rankings.documents.tolist() == pks(collection, "abdca")
    assert rankings.present.tolist() == [True, False, True, True]
    assert rankings.scores is None


@pytest.mark.both_databases
def test_tied_documents_carry_the_order_of_their_keys():
    collection = make_collection(documents=["d9", "d10", "é", "z", "x"])
    ids = dict(collection.documents.values_list("key", "pk"))
    listed = ["d9", "x", "é", "d10", "z"]
    make_ranking(collection, "s", "q1", "", scores=[])
    # As 32-bit numbers 1.00000001 and 1 tie; the score of x is its own. The order is not that of the scores.
    Ranking.objects.update(
        documents=np.array([ids[key] for key in listed]), scores=np.array([1.0, 5.0, 1.00000001, 1.0, 1.0])
    )
    rankings = record.load(collection, ties="score").rankings["s"]
    tiebreak = dict(zip(listed, rankings.tiebreak.tolist(), strict=True))
    assert sorted(["d9", "d10", "z", "é"], key=tiebreak.get) == ["d10", "d9", "z", "é"]
    assert tiebreak["x"] == 0


def test_a_system_without_the_scores_that_ties_need_is_named_with_its_queries():
    collection = make_collection()
    make_ranking(collection, "scored", "q1", "ab")
    make_ranking(collection, "bare", "q2", "ab")
    Ranking.objects.filter(system__name="bare").update(scores=None)
    for ties in ("score", "average"):
        with pytest.raises(ValueError, match=f"ties={ties} needs scores, and bare has none for 1 queries: q2"):
            record.load(collection, ties=ties)
    assert record.load(collection, ["scored"], ties="score").systems == ("scored",)


@pytest.mark.both_databases
def test_systems_come_by_name_and_only_those_asked_for():
    collection = worked_collection()
    assert record.load(collection).systems == ("hybrid", "keyword")
    read = record.load(collection, ["keyword"])
    assert (read.systems, list(read.rankings)) == (("keyword",), ["keyword"])
    assert record.load(collection, ()).rankings == {}


def test_an_unknown_system_is_named_with_the_nearest():
    collection = worked_collection()
    with pytest.raises(ValueError, match="unknown system 'keywords'; did you mean keyword"):
        record.load(collection, ["keywords"])
    with pytest.raises(ValueError, match="unknown system 'x'; known are hybrid, keyword"):
        record.load(collection, ["x"])
    with pytest.raises(ValueError, match="there are none yet"):
        record.load(make_collection("bare"), ["x"])


def test_the_number_of_database_queries_does_not_grow():
    def asked(collection, ties: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            record.load(collection, ties=ties)
        return len(captured)

    small = worked_collection()
    large = make_collection("large", queries=[f"q{i}" for i in range(1, 31)])
    for key in large.queries.values_list("key", flat=True):
        rate(large, key, a="1", b="2")
        rate(large, key, rater=f"rater of {key}", a="2")
        adjudicate(make_pair(large, key, "a"), grade(large, "3"), reason="clear", actor=None)
        for system in "uvwxyz":
            make_ranking(large, system, key, "abcd", scores=[1.0, 1.0, 1.0, 0.5])
    assert asked(small, "rank") == asked(large, "rank") == 8
    assert asked(large, "score") == 9
