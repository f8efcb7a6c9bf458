"""What may be asked in an address of a page of results."""

import pytest
from django.urls import reverse

from evaluation.measures import MEASURES
from evaluation.pages.asked import OFFERED
from evaluation.tests.hills import analyst, make_hills, text_of

pytestmark = pytest.mark.django_db
IN_ANOTHER_FORM = ["nDCG(dcg='exp-log2')@10", "ERR(gmax=3)@10", "RBPResidual", "NumRel"]


@pytest.mark.parametrize("measure", [*OFFERED, *IN_ANOTHER_FORM])
def test_every_page_answers_in_every_measure(client, measure):
    collection = make_hills()
    asked = analyst(client, collection)
    query, system = collection.queries.get(key="q1"), collection.systems.get(name="good")
    for name, pk in [("overview", None), ("queries", None), ("query", query.pk), ("system", system.pk)]:
        args = [collection.slug] if pk is None else [collection.slug, pk]
        response = asked.get(reverse(name, args=args), {"measure": measure})
        assert response.status_code == 200, name
        assert measure in response.content.decode().replace("&#x27;", "'"), name


@pytest.mark.parametrize("name", [name for name, known in MEASURES.items() if known.needs_gmax])
def test_the_highest_grade_of_the_scale_is_stated_where_a_measure_needs_it(client, name):
    response = analyst(client, make_hills()).get("/collections/hills/", {"measure": f"{name}@10"})
    assert f"{name}(gmax=3" in text_of(response)


def test_the_arithmetic_of_a_query_is_that_of_the_measure_asked(client):
    collection = make_hills()
    address = reverse("query", args=[collection.slug, collection.queries.get(key="q1").pk])
    asked = analyst(client, collection)
    own = text_of(asked.get(address, {"measure": "nDCG(dcg='exp-log2')@10"}))
    exponential = text_of(asked.get(address, {"measure": "nDCG@10", "gain": "exponential"}))
    # a gains 2^3 - 1 and d 1, so that IDCG is 7 + 1/log2(3)
    assert "IDCG 7.6309" in own and "IDCG 7.6309" in exponential


@pytest.mark.parametrize("name", ["overview", "queries", "compare", "freeze", "overview_csv"])
def test_an_assumed_grade_that_no_scale_can_have_is_refused(client, name):
    response = analyst(client, make_hills()).get(reverse(name, args=["hills"]), {"unjudged": "1e308"})
    assert response.status_code == 400
    assert "unjudged must have at most six digits before the point, not 1e+308." in text_of(response)


@pytest.mark.parametrize(
    "gains", [{"gain": "exponential", "unjudged": "1000"}, {"gain": "map:-1=0,0=0,1=1,3=1e308"}]
)
def test_a_gain_whose_square_overflows_is_refused(client, gains):
    response = analyst(client, make_hills()).get(reverse("compare", args=["hills"]), gains | {"measure": "DCG@10"})
    assert response.status_code == 400
    assert "is too large." in text_of(response)
