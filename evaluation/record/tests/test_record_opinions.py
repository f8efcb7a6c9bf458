import numpy as np
import pytest

from evaluation import record
from evaluation.record import cache
from ratings.tests.cast import make_collection

from ...tests.worked import rate

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def said(opinions: record.Opinions) -> set[tuple]:
    """Rows as (query, document key, rater name, grade), "cannot judge" as None."""
    keys = record.document_keys(np.unique(opinions.document).tolist())
    found = set()
    for place, grade in enumerate(opinions.grade.tolist()):
        query = opinions.queries["key"].iat[opinions.query[place]]
        who = opinions.raters[opinions.rater[place]]
        found.add((query, keys[opinions.document[place]], who, None if np.isnan(grade) else grade))
    return found


def test_opinions_are_all_that_people_said_of_one_collection():
    collection = make_collection(queries=("q10", "q2"))
    rate(collection, "q2", rater="zoe", a="-1", b="unclear")
    rate(collection, "q10", rater="ann", kind="person", a="3")
    rate(make_collection("valleys"), "q1", rater="ann", a="2")
    opinions = cache.opinions(collection)
    assert said(opinions) == {("q2", "a", "zoe", -1.0), ("q2", "b", "zoe", None), ("q10", "a", "ann", 3.0)}
    assert opinions.queries["key"].tolist() == ["q2", "q10"]
    assert list(opinions.raters.values()) == ["ann", "zoe"]
    assert opinions.scale == [-1, 0, 1, 2, 3]


def test_a_collection_without_ratings_has_no_opinions():
    opinions = cache.opinions(make_collection(queries=(), documents=(), scale={}))
    assert (opinions.query.size, opinions.grade.size, opinions.scale) == (0, 0, [])
