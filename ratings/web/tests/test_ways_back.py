"""The page to which an act leads back, from the addresses that the browser tells."""

import pytest
from django.test import RequestFactory

from ratings.web.ways_back import page_before

ABOVE = "/collections/hills/pool/"
ACT = f"{ABOVE}make/"


@pytest.mark.parametrize(
    ("referer", "leads_to"),
    [
        ("http://testserver/collections/hills/people/?page=2", "/collections/hills/people/?page=2"),
        ("http://testserver/collections/hills/people/", "/collections/hills/people/"),
        (f"http://testserver{ACT}?x=1", ABOVE),  # where a refused form stands
        ("http://testserver/of/another/application/", ABOVE),
        ("https://evil.example.org/collections/hills/people/", ABOVE),
        ("", ABOVE),
    ],
)
def test_an_act_leads_back_to_the_page_of_its_form_or_to_the_one_above(referer, leads_to):
    request = RequestFactory().post(ACT, headers={"Referer": referer})
    assert page_before(request) == leads_to
