"""The panel of options: what it shows, and the address that it leads to."""

import re
from html import unescape

import pytest

from evaluation.tests.hills import analyst, make_hills, text_of

pytestmark = pytest.mark.django_db
URL = "/collections/hills/"


def fields(response) -> dict[str, str]:
    """What the panel's form would send as it stands, a browser's way."""
    form = re.search(r'<form class="form ask".*?</form>', response.content.decode(), re.S)[0]
    sent = {}
    for name, body in re.findall(r'<select[^>]* name="(\w+)"[^>]*>(.*?)</select>', form, re.S):
        options = re.findall(r"<option([^>]*)>([^<]*)", body)
        chosen = next((option for option in options if " selected" in option[0]), options[0])
        value = re.search(r'value="([^"]*)"', chosen[0])
        sent[name] = unescape(value[1] if value else chosen[1])
    for tag in re.findall(r"<input[^>]*>", form):
        sent[re.search(r'name="(\w+)"', tag)[1]] = unescape(re.search(r'value="([^"]*)"', tag)[1])
    return sent


def sent_on(client, response, **changes: str):
    """Where the form leads when some of its controls are changed."""
    return client.get(URL, fields(response) | changes)


def test_what_the_profile_has_is_chosen(client):
    response = analyst(client, make_hills()).get(URL, {"profile": "burges"})
    assert fields(response)["gain"] == "exponential"


@pytest.mark.parametrize(
    ("start", "changes", "ending"),
    [
        ({}, {}, ""),
        ({}, {"negatives": "raw"}, "?negatives=raw"),
        ({}, {"measure": "P@5", "rule": "max"}, "?measure=P@5&rule=max"),
        ({}, {"profile": "burges"}, "?profile=burges"),  # and not linear gain, which nobody touched
        ({"profile": "burges"}, {"gain": "linear"}, "?profile=burges&gain=linear"),
        ({"negatives": "raw"}, {"log_base": "10"}, "?log_base=10&negatives=raw"),
        ({"negatives": "raw"}, {"negatives": "minmax"}, ""),
        ({"negatives": "clip"}, {"profile": "trec_eval"}, "?profile=trec_eval"),  # has it itself
        ({"negatives": "raw"}, {"profile": "burges"}, "?profile=burges&negatives=raw"),
        ({}, {"gain": "map", "gain_map": "-1=0,0=0,1=1,2=2,3=5"}, "?gain=map:-1=0,0=0,1=1,2=2,3=5"),
        ({}, {"gain_map": "0=7"}, ""),  # of no use to linear gain
        ({}, {"unjudged": "grade", "unjudged_grade": "0.5"}, "?unjudged=0.5"),
        ({}, {"adjudications": "ignore"}, "?adjudications=ignore"),
        ({"expected": "1", "step": "all"}, {}, "?expected=1"),
    ],
)
def test_only_departures_go_into_the_address(client, start, changes, ending):
    response = analyst(client, make_hills()).get(URL, start)
    answer = sent_on(client, response, **changes)
    assert (answer.status_code, answer["Location"]) == (302, URL + ending)


def test_the_map_begins_with_the_grades_of_the_scale(client):
    response = analyst(client, make_hills()).get(URL)
    answer = sent_on(client, response, gain="map")
    assert answer["Location"] == URL + "?gain=map:-1=-1,0=0,1=1,2=2,3=3"
    assert "good 0.8155" in text_of(client.get(answer["Location"]))  # as linear gain


def test_an_assumed_grade_is_chosen_again_on_the_next_page(client):
    sent = fields(analyst(client, make_hills()).get(URL, {"unjudged": "1", "gain": "map:-1=0,0=0,1=1,2=2,3=5"}))
    assert (sent["unjudged"], sent["unjudged_grade"]) == ("grade", "1")
    assert (sent["gain"], sent["gain_map"]) == ("map", "-1=0,0=0,1=1,2=2,3=5")


@pytest.mark.parametrize(
    "changes",
    [
        {"negatives": "minmax_closed", "ideal": "retrieved"},
        {"ties": "average", "measure": "AP"},
        {"gain": "map", "gain_map": ""},
        {"unjudged": "grade", "unjudged_grade": "much"},
        {"log_base": "<1>"},
    ],
)
def test_what_is_refused_stays_in_the_open_panel(client, changes):
    response = analyst(client, make_hills()).get(URL)
    answer = client.get(sent_on(client, response, **changes)["Location"])
    assert answer.status_code == 400 and '<details class="panel" open>' in answer.content.decode()
    assert fields(answer).items() >= changes.items()


def test_text_that_means_the_same_is_no_departure(client):
    page = analyst(client, make_hills()).get(URL, {"log_base": "2.0", "gain": "linear"}).content.decode()
    assert "ot as in" not in page
    assert 'href="/collections/hills/scores.csv"' in page


def test_the_other_pages_have_the_panel_too(client):
    collection = make_hills()
    analyst(client, collection)
    query, system = collection.queries.first(), collection.systems.first()
    for place in ("queries/", f"queries/{query.pk}/", f"systems/{system.pk}/"):
        answer = client.get(URL + place, fields(client.get(URL + place)) | {"negatives": "raw"})
        assert answer["Location"] == URL + place + "?negatives=raw"
        assert "neg=raw" in text_of(client.get(answer["Location"]))
