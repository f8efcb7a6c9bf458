"""The page that compares systems: what it says, that its files are the command's, and what it refuses."""

import csv
import io
import json
import re
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from evaluation.comparing import chosen, verdicts
from evaluation.results import comparison, leader
from evaluation.results.comparison import DRAWS_ON_PAGES
from evaluation.significance import CANNOT_TELL
from evaluation.tests.hills import FIRST, analyst, make_field, make_hills, rate, text_of

pytestmark = pytest.mark.django_db
URL = "/collections/hills/compare/"


def of_command(*arguments: str, form: str = "json") -> str:
    out = io.StringIO()
    draws = ["--draws", str(DRAWS_ON_PAGES)]
    call_command("compare", "hills", *arguments, *draws, "--format", form, stdout=out)
    return out.getvalue()


def test_of_the_open_pairs_the_one_that_lacks_the_fewest_queries_is_nearest():
    open_ = {"verdict": CANNOT_TELL, "significant": False, "ties": 0}
    rows = [open_ | {"system": name, "more": more} for name, more in {"a": 300, "b": 40, "c": None}.items()]
    told = verdicts.said(SimpleNamespace(tests=SimpleNamespace(queries=10)), rows)
    assert told["nearest"]["system"] == "b" and told["open"] == ["a", "b", "c"]


def test_a_picture_file_of_the_differences_says_what_it_shows(client):
    response = analyst(client, make_field()).get(URL, {"chart": "forest", "picture": "svg"})
    told = " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())
    assert ": difference in mean nDCG@10 from best" in told
    assert "95 % interval of the difference, n = 12" in told
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in told
    assert 'filename="hills-forest.svg"' in response["Content-Disposition"]


def test_the_best_is_compared_with_all_others_and_the_verdict_allows_for_all_pairs(client):
    response = analyst(client, make_field()).get(URL)
    page = text_of(response)
    assert "fair ( −0.12 ) and worst ( −0.20 ) are significantly lower than best in nDCG@10." in page
    assert "by Tukey's HSD for all pairs of four systems" in page and "n = 12" in page
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page
    verdicts = {row["system"]: row["verdict"] for row in response.context["rows"]}
    assert verdicts == {"near": "cannot tell", "fair": "lower", "worst": "lower"}
    few = analyst(client, make_hills("few"), "bea").get("/collections/few/compare/")
    assert [row["verdict"] for row in few.context["rows"]] == ["cannot tell"]


def test_too_few_queries_say_on_how_many_one_is_worse_and_how_many_are_lacking(client):
    collection = make_field("few", first={"good": 6, "bad": 0}, queries=[f"q{n}" for n in range(6)])
    page = text_of(analyst(client, collection).get("/collections/few/compare/"))
    assert "bad is worse than good on 6 of 6 queries. Too few for a test" in page
    assert "rate four more queries" in page


def test_the_files_have_the_digits_of_the_command(client):
    analyst(client, make_field())
    for params, arguments in [
        ({}, ("best", "near", "fair", "worst", "--all-pairs")),
        ({"baseline": "fair"}, ("fair", "best", "near", "worst")),
        ({"baseline": "fair", "pairs": "all"}, ("fair", "best", "near", "worst", "--all-pairs")),
        (
            {"baseline": "fair", "system": ["worst"], "gain": "exponential"},
            ("fair", "worst", "--gain", "exponential"),
        ),
    ]:
        document = client.get(URL + "differences.json", params).json()
        assert document == json.loads(of_command(*arguments)), params
        rows = client.get(URL + "differences.csv", params).content.decode("utf-8-sig")
        assert list(csv.reader(io.StringIO(rows))) == list(
            csv.reader(io.StringIO(of_command(*arguments, form="csv")))
        )


def test_the_matrix_has_every_pair_both_ways(client):
    response = analyst(client, make_field()).get(URL)
    cells = dict(response.context["matrix"])
    assert list(cells) == ["best", "near", "fair", "worst"]
    assert cells["best"][0] is None
    assert cells["best"][3]["value"] == -cells["worst"][0]["value"] > 0
    assert cells["best"][3]["significant"] and not cells["best"][1]["significant"]


def test_one_system_cannot_be_compared(client):
    analyst(client, make_hills(rankings={"good": {"q1": "adb"}}))
    assert (client.get(URL).status_code, client.get(URL + "differences.csv").status_code) == (200, 400)


def test_what_makes_no_sense_is_refused(client):
    analyst(client, make_field())
    for params in ({"baseline": "bets"}, {"system": "beast"}, {"pairs": "some"}, {"measure": "nDGC"}):
        assert client.get(URL, params).status_code == 400
        assert client.get(URL + "differences.json", params).status_code == 400


def test_more_systems_than_can_be_compared_are_cut(client, monkeypatch):
    for module in (chosen, leader):
        monkeypatch.setattr(module, "MOST_COMPARED", 3)
    response = analyst(client, make_field()).get(URL)
    assert response.context["selection"].systems == ("best", "near", "fair")
    named = client.get(URL, {"baseline": "worst"})
    assert named.context["selection"].systems == ("worst", "best", "near")
    assert client.get(URL, {"system": list(FIRST)}).status_code == 400


def test_tests_are_made_once_for_each_state_of_the_collection(client, monkeypatch):
    collection = make_field()
    made = []
    monkeypatch.setattr(
        comparison,
        "compared",
        lambda *args, _real=comparison.compared, **kw: made.append(1) or _real(*args, **kw),
    )
    analyst(client, collection)
    for address in (URL, URL, "/collections/hills/", URL + "differences.csv"):
        assert client.get(address).status_code == 200
    assert len(made) == 1
    rate(collection, {("q1", "a"): "2"}, rater="second")
    client.get(URL)
    assert len(made) == 2


def test_on_few_queries_the_table_says_how_many_more_a_test_takes(client):
    """Six queries, on all of which one system is better: ten are the fewest for a test."""
    collection = make_field(first={"best": 6, "worst": 0}, queries=[f"q{n}" for n in range(6)])
    page = text_of(analyst(client, collection).get("/collections/hills/compare/"))
    assert "rate four more queries" in page and "at least 4" in page
