"""Pages of results ask the database as often of a large collection as of a small one."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.tests.hills import GRADES, analyst, make_hills, rate
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_pair

pytestmark = pytest.mark.django_db
MANY = [f"q{number}" for number in range(1, 31)]
RATERS = ("expert", "second")


def make_disputed(slug: str, queries: list[str], systems: int, raters: tuple[str, ...]):
    """Raters who differ on every query, and a decision on the first."""
    rankings = {f"s{number}": dict.fromkeys(queries, "abcd") for number in range(systems)}
    collection = make_hills(slug, queries=queries, rankings=rankings, grades=GRADES)
    collection.queries.filter(key="q2").update(tags=["new"])
    for place, rater in enumerate(raters):
        rate(collection, {(query, "a"): str(place % 4) for query in queries}, rater=rater)
    pair = make_pair(collection, "q1", "b")
    adjudicate(pair, grade(collection, "2"), reason="It is clear.", actor=None)
    return collection


@pytest.mark.parametrize(
    ("page", "most"),
    [
        ("", 42),
        ("queries/", None),
        ("queries/{query}/", None),
        ("systems/{system}/", None),
        ("compare/", 21),
        ("differences/", 16),
        ("agreement/", 33),
        ("agreement/drift/", 20),
    ],
)
def test_the_number_of_database_queries_does_not_grow(client, page, most):
    counts = []
    for slug, facts in {
        "small": (MANY[:2], 2, RATERS),
        "large": (MANY, 8, (*RATERS, "carla", "dora")),
    }.items():
        collection = make_disputed(slug, *facts)
        known = {"query": collection.queries.get(key="q1").pk, "system": collection.systems.get(name="s1").pk}
        analyst(client, collection, f"ann of {slug}")
        with CaptureQueriesContext(connection) as asked:
            assert client.get(f"/collections/{slug}/{page.format(**known)}").status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1] <= (most or counts[0])
