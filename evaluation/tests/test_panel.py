"""The panel of options: what it shows, and the address that it leads to."""

import re
from html import unescape

import pytest

from evaluation.measures import Options
from evaluation.measures.options import CHOICES
from evaluation.tests.hills import analyst, make_hills, text_of
from evaluation.words import options as panel

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


def test_every_option_has_a_control_with_every_value_and_its_words(client):
    page = analyst(client, make_hills()).get(URL).content.decode()
    for name in (*Options().as_dict(), *panel.OF_JUDGMENTS):
        field = re.search(rf'<label for="option-{name}">[A-Z].*?id="option-{name}-says">.*?</p>', page, re.S)[0]
        assert re.search(r'class="helptext"[^>]*>.{20,}</p>', field, re.S)
        for value in CHOICES.get(name, panel.OF_JUDGMENTS.get(name, ())):
            assert re.search(rf'<option value="{value}"[^>]*>{value}: \w', field), f"{name} {value} has no words"


def test_an_option_that_nobody_has_put_into_words_has_a_control_too(monkeypatch):
    monkeypatch.setitem(panel.CHOICES, "missing", (*CHOICES["missing"], "later"))
    monkeypatch.delitem(panel.ABOUT, "missing")
    usual = Options().as_dict() | {"rule": "mean", "adjudications": "use"}
    control = next(each for each in panel.controls(usual, usual, []) if each["name"] == "missing")
    assert control["label"] == "missing"
    assert "later" in [choice["value"] for choice in control["choices"]]


def test_what_the_profile_has_is_chosen_and_nothing_departs(client):
    response = analyst(client, make_hills()).get(URL, {"profile": "burges"})
    assert fields(response)["gain"] == "exponential"
    page = text_of(response)
    assert "ot as in" not in page and "Back to the profile" not in page


def test_departures_are_marked_and_lead_back(client):
    response = analyst(client, make_hills()).get(URL, {"profile": "burges", "negatives": "raw", "rule": "median"})
    page = text_of(response)
    assert "Options 2 not as in burges" in page
    assert "Not as in burges: minmax. How nDCG treats negative gains." in page  # in the panel
    assert "Negative gains as they are, without a lower end not as in burges" in page  # in the list of what holds
    assert (
        '<a href="/collections/hills/?profile=burges">Back to the profile burges</a>' in response.content.decode()
    )


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
    ("changes", "says"),
    [
        ({"negatives": "minmax_closed", "ideal": "retrieved"}, "minmax_closed cannot stand with ideal=retrieved"),
        ({"ties": "average", "measure": "AP"}, "ties=average cannot give AP"),
        ({"gain": "map", "gain_map": "0=0,1"}, "must list grade=gain"),
        ({"gain": "map", "gain_map": ""}, "must list grade=gain"),
        ({"unjudged": "grade", "unjudged_grade": ""}, "the grade that is assumed for them is missing"),
        ({"unjudged": "grade", "unjudged_grade": "much"}, "not 'much'"),
        ({"log_base": "<1>"}, "log_base must be a finite number, not '<1>'"),
        ({"rule": "best"}, "unknown rule 'best'"),
        ({"profile": "none", "negatives": "raw"}, "unknown profile 'none'"),
    ],
)
def test_what_is_refused_stays_in_the_open_panel_with_its_reason(client, changes, says):
    response = analyst(client, make_hills()).get(URL)
    answer = client.get(sent_on(client, response, **changes)["Location"])
    assert answer.status_code == 400
    assert says in text_of(answer)
    assert '<details class="panel" open>' in answer.content.decode()
    kept = fields(answer)
    assert {name: kept[name] for name in changes if name != "profile"} == {
        name: value for name, value in changes.items() if name != "profile"
    }


def test_the_base_alone_marks_the_discount(client):
    page = text_of(analyst(client, make_hills()).get(URL, {"log_base": "10"}))
    assert "Discount 1 / log10(rank + 1) not as in default" in page


def test_text_that_means_the_same_is_no_departure(client):
    page = analyst(client, make_hills()).get(URL, {"log_base": "2.0", "gain": "linear"}).content.decode()
    assert "ot as in" not in page
    assert 'href="/collections/hills/scores.csv"' in page


@pytest.mark.parametrize("place", ["queries/", "queries/{query}/", "systems/{system}/"])
def test_the_other_pages_have_the_panel_too(client, place):
    collection = make_hills()
    address = URL + place.format(query=collection.queries.first().pk, system=collection.systems.first().pk)
    response = analyst(client, collection).get(address)
    answer = client.get(address, fields(response) | {"negatives": "raw"})
    assert answer["Location"] == address + "?negatives=raw"
    assert "neg=raw" in text_of(client.get(answer["Location"]))
