"""One system: `hills` gives the numbers."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.tests.hills import analyst, make_hills, make_unjudged, rows_in, text_of
from ratings.models import Role
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db


def address(collection, name: str = "good") -> str:
    return f"/collections/{collection.slug}/systems/{collection.systems.get(name=name).pk}/"


def test_it_has_its_means_in_the_main_measures(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "Mean nDCG@10 of 0.8155" in page
    assert "P@10 0.1500" in page  # two of ten and one of ten
    assert "RR 0.7500" in page  # 1 and 1/2
    assert "R@100 1.0000" in page


def test_best_and_worst_query_are_named(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "Best: “text of q1” , 1.0000. Worst: “text of q2” , 0.6309." in page


def test_it_lists_its_rankings_and_those_that_are_missing(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "bad")))
    assert "text of q1 q1 0.4087 100 % 2" in page
    assert "text of q2 q2 0.0000 – no ranking" in page
    assert "1 of 2 queries" in page


def test_the_chart_of_a_system_that_lacks_a_ranking_is_json(client):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection, "bad"))
    text = response.content.decode().partition('<script id="bars-spec" type="application/json">')[2]
    spec = json.loads(text.partition("</script>")[0], parse_constant=pytest.fail)  # no NaN, which browsers refuse
    assert [(row["query"], row["value"], row["judged"]) for row in spec["datasets"]["bars"]] == [
        ("q1", pytest.approx(0.408728, abs=1e-6), 1.0),
        ("q2", 0.0, None),
    ]


def test_ties_by_average_leave_out_what_they_cannot_give(client):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection), {"ties": "average"})
    assert response.status_code == 200
    assert "RR" not in [standing.measure for standing in response.context["means"]]


def test_a_measure_that_the_options_cannot_give_is_refused(client):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection), {"ties": "average", "measure": "AP"})
    assert response.status_code == 400
    assert "ties=average cannot give AP" in text_of(response)


def test_without_judgments_it_says_so(client):
    collection = make_hills(grades={})
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "No query counts for a mean nDCG@10 yet: 2 not judged." in page


def test_a_query_that_counts_in_no_mean_is_neither_best_nor_worst_and_says_why(client):
    collection = make_unjudged()
    asked = {"measure": "CG@10", "unjudged": "-1"}
    response = analyst(client, collection).get(address(collection, "bad"), asked)
    page = text_of(response)
    # CG of q3 would be the lowest: three unjudged documents, each taken as grade -1.
    assert "CG@10 of each of 2 queries, best first (1 left out: 1 not judged)." in page
    assert "Worst: “text of q1” , −1.0000." in page
    assert "−3.0000 counts in no mean: not judged not judged" in page
    assert "q3" not in str(response.context["charts"]["bars"].spec["datasets"])


def test_where_all_queries_are_equal_none_is_best_or_worst(client):
    collection = make_hills(rankings={"good": {"q1": "a", "q2": "b"}}, grades={("q1", "a"): "3", ("q2", "b"): "2"})
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "best first. All are equal: 1.0000." in page and "Worst" not in page


def test_the_file_has_a_row_for_each_query(client):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection) + "scores.csv")
    rows = rows_in(response)
    assert [(row["query"], row["documents"]) for row in rows] == [("q1", "3"), ("q2", "2")]
    assert float(rows[1]["value"]) == pytest.approx(0.6309297535714575, abs=1e-15)


def test_raters_find_nothing(client):
    collection = make_hills()
    client.force_login(make_member(collection, "rita", Role.RATER))
    assert client.get(address(collection)).status_code == 404


def test_the_number_of_database_queries_does_not_grow(client, django_assert_num_queries):
    small = make_hills()
    analyst(client, small)
    with CaptureQueriesContext(connection) as first:
        client.get(address(small))
    queries = [f"q{n}" for n in range(1, 31)]
    large = make_hills(
        "large", queries=queries, rankings={f"s{n}": dict.fromkeys(queries, "abcd") for n in range(8)}
    )
    analyst(client, large, "bea")
    with django_assert_num_queries(len(first)):
        client.get(address(large, "s3"))
