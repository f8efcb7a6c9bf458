"""One system: `hills` gives the numbers."""

import json

import pytest

from evaluation.tests.hills import analyst, make_hills, make_unjudged, text_of

pytestmark = pytest.mark.django_db


def address(collection, name: str = "good") -> str:
    return f"/collections/{collection.slug}/systems/{collection.systems.get(name=name).pk}/"


def test_it_has_its_means_in_the_main_measures(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    # P@10: two of ten and one of ten; RR: 1 and 1/2.
    for number in ("Mean nDCG@10 of 0.82", "P@10 0.1500", "RR 0.7500", "R@100 1.0000"):
        assert number in page
    assert "Best: “text of q1” , 1.00. Worst: “text of q2” , 0.63." in page


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
    assert "RR" not in [standing.measure for standing in response.context["means"]]
    assert client.get(address(collection), {"ties": "average", "measure": "AP"}).status_code == 400


def test_a_query_that_counts_in_no_mean_is_neither_best_nor_worst_and_says_why(client):
    collection = make_unjudged()
    asked = {"measure": "CG@10", "unjudged": "-1"}
    response = analyst(client, collection).get(address(collection, "bad"), asked)
    page = text_of(response)
    # CG of q3 would be the lowest: three unjudged documents, each taken as grade -1.
    assert "CG@10 of each of 2 queries, best first (1 left out: 1 not judged)." in page
    assert "Worst: “text of q1” , −1.00." in page
    assert "−3.0000 counts in no mean: not judged not judged" in page
    assert "q3" not in str(response.context["charts"]["bars"].spec["datasets"])
