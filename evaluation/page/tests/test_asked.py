"""What may be asked in an address of a page of results."""

import pytest
from django.urls import reverse

from evaluation.measures import MEASURES
from evaluation.page.address import OFFERED_MEASURES
from evaluation.tests.hills import analyst, make_hills, text_of

pytestmark = pytest.mark.django_db
IN_ANOTHER_FORM = ["nDCG(dcg='exp-log2')@10", "ERR(gmax=3)@10", "RBPResidual", "NumRel"]


@pytest.mark.parametrize("name", ["overview", "queries", "query", "system"])
def test_every_page_answers_in_every_measure(client, name):
    collection = make_hills()
    analyst(client, collection)
    pk = {"query": collection.queries.get(key="q1").pk, "system": collection.systems.get(name="good").pk}.get(name)
    address = reverse(name, args=[collection.slug, *([pk] if pk else [])])
    for measure in [*OFFERED_MEASURES, *IN_ANOTHER_FORM]:
        response = client.get(address, {"measure": measure})
        assert response.status_code == 200, measure
        assert measure in response.content.decode().replace("&#x27;", "'"), measure


def test_the_highest_grade_of_the_scale_is_stated_where_a_measure_needs_it(client):
    analyst(client, make_hills())
    for name in [name for name, known in MEASURES.items() if known.needs_gmax]:
        assert f"{name}(gmax=3" in text_of(client.get("/collections/hills/", {"measure": f"{name}@10"}))


def test_an_assumed_grade_or_a_gain_that_is_too_large_is_refused(client):
    analyst(client, make_hills())
    for name in ("overview", "compare", "freeze", "overview_csv"):
        assert client.get(reverse(name, args=["hills"]), {"unjudged": "1e308"}).status_code == 400
    for gains in ({"gain": "exponential", "unjudged": "1000"}, {"gain": "map:-1=0,0=0,1=1,3=1e308"}):
        asked = gains | {"measure": "DCG@10"}
        assert client.get(reverse("compare", args=["hills"]), asked).status_code == 400
