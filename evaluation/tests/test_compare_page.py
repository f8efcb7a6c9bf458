"""The page that compares systems: what it says, that its files are the command's, and what it refuses."""

import csv
import io
import json
import re
from html import unescape
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.analyses import comparison
from evaluation.draws import TESTS_ON_PAGES
from evaluation.measures import MEASURES
from evaluation.significance import CANNOT_TELL
from evaluation.tests.hills import FIRST, analyst, make_field, make_hills, rate, spec_of, text_of
from evaluation.views import compare
from ratings.models import Role
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db
URL = "/collections/hills/compare/"


def of_command(*arguments: str, form: str = "json") -> str:
    out = io.StringIO()
    draws = ["--draws", str(TESTS_ON_PAGES)]
    call_command("compare", "hills", *arguments, *draws, "--format", form, stdout=out)
    return out.getvalue()


def test_of_the_open_pairs_the_one_that_lacks_the_fewest_queries_is_nearest():
    open_ = {"verdict": CANNOT_TELL, "significant": False, "ties": 0}
    rows = [open_ | {"system": name, "more": more} for name, more in {"a": 300, "b": 40, "c": None}.items()]
    told = compare.said(SimpleNamespace(tests=SimpleNamespace(queries=10)), rows)
    assert told["nearest"]["system"] == "b" and told["open"] == ["a", "b", "c"]


def test_the_best_is_compared_with_all_others_and_the_verdict_allows_for_all_pairs(client):
    page = text_of(analyst(client, make_field()).get(URL))
    assert "fair ( −0.1186 ) and worst ( −0.2033 ) are significantly lower than best in nDCG@10." in page
    assert "Whether near differs from best cannot be told . If" in page
    assert "at 0.05, by Tukey's HSD for all pairs of four systems" in page
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page and "n = 12" in page


def test_where_every_query_differs_by_the_same_the_randomisation_test_decides_and_nothing_is_final(client):
    page = text_of(analyst(client, make_field(first={"best": 12, "worst": 0})).get(URL, {"baseline": "best"}))
    assert "Verdict at 0.05, by the randomisation test Interval" in page
    assert "– undefined: every query differs by the same" in page and "final" not in page
    assert "worst: no value where every query differs by the same." in page


def test_systems_that_are_equal_on_every_query_are_said_to_be_that(client):
    page = text_of(analyst(client, make_field(first={"x": 7, "y": 7, "z": 0})).get(URL))
    assert "y equals x on every query." in page
    assert "– undefined: no query differs" in page and "every query differs by the same" not in page


def test_each_test_that_gave_a_verdict_is_named(client):
    """near differs from best on two of twelve queries, worst on all."""
    collection = make_field(first={"best": 12, "near": 10, "worst": 0})
    page = text_of(analyst(client, collection).get(URL, {"baseline": "best"}))
    assert "by the paired t test and the randomisation test with Holm's correction for two comparisons" in page


def test_the_verdict_leads_to_the_queries_on_which_the_best_and_the_next_differ(client):
    page = analyst(client, make_field()).get(URL, {"measure": "nDCG@5"}).content.decode()
    address = unescape(re.search(r'<a href="([^"]+)">On which queries\?</a>', page)[1])
    said = text_of(client.get(address))
    assert "near is better than best on" in said and "nDCG@5 of near minus that of best" in said


def test_a_named_baseline_is_compared_with_fewer_corrections(client):
    page = text_of(analyst(client, make_field()).get(URL, {"baseline": "fair"}))
    assert "Differences from fair" in page
    assert "the paired t test with Holm's correction for three comparisons" in page
    assert "All pairs" in page and "those of 0." in page  # the matrix goes by HSD all the same


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


def test_page_picture_and_file_have_the_same_digits(client):
    response = analyst(client, make_field()).get(URL, {"baseline": "fair"})
    rows = {
        row["system"]: row for row in client.get(URL + "differences.json", {"baseline": "fair"}).json()["results"]
    }
    drawn = spec_of(response, "forest")["datasets"]["differences"]
    assert [row["label"] for row in drawn] == ["best", "near", "worst"]
    for row in drawn:
        for name, column in (("value", "difference"), ("low", "low"), ("high", "high")):
            assert row[name] == rows[row["label"]][column]
        assert f'value="{rows[row["label"]]["difference"]!r}"' in response.content.decode()


def test_the_matrix_has_every_pair_both_ways(client):
    response = analyst(client, make_field()).get(URL)
    cells = dict(response.context["matrix"])
    assert list(cells) == ["best", "near", "fair", "worst"]
    assert cells["best"][0] is None
    assert cells["best"][3]["value"] == -cells["worst"][0]["value"] > 0
    assert cells["best"][3]["significant"] and not cells["best"][1]["significant"]


def test_three_systems_have_no_matrix(client):
    first = {name: FIRST[name] for name in ("best", "near", "worst")}
    response = analyst(client, make_field(first=first)).get(URL)
    assert "matrix" not in response.context


def test_two_systems_are_one_comparison(client):
    page = text_of(analyst(client, make_field(first={"best": 12, "fair": 5})).get(URL))
    assert "at 0.05, by the paired t test Interval" in page
    assert "Holm" not in page and "corrects for all pairs" not in page


def test_too_few_queries_cannot_tell(client):
    page = text_of(analyst(client, make_hills()).get(URL))
    assert "Whether they differ cannot be told : two queries in common, and a test takes at least 10." in page
    assert "none: too few queries" in page and "Randomisation test" not in page


def test_queries_that_are_left_out_are_told(client):
    collection = make_field()
    collection.systems.get(name="worst").rankings.filter(query__key="q12").delete()
    collection.touch()
    page = text_of(analyst(client, collection).get(URL, {"missing": "skip"}))
    assert "n = 11 (1 left out: 1 no ranking)" in page


def test_one_system_cannot_be_compared(client):
    collection = make_hills(rankings={"good": {"q1": "adb"}})
    analyst(client, collection)
    assert "fewer than two systems have a mean" in text_of(client.get(URL))
    response = client.get(URL + "differences.csv")
    assert response.status_code == 400 and b"fewer than two systems" in response.content


def test_a_collection_without_anything_says_what_to_do(client):
    collection = make_hills(queries=(), rankings={}, grades={})
    assert "import_queries hills" in text_of(analyst(client, collection).get(URL))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"baseline": "bets"}, "did you mean best"),
        ({"system": "beast"}, "did you mean best"),
        ({"pairs": "some"}, "unknown pairs"),
        ({"measure": "nDGC"}, "did you mean nDCG"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_form(client, params, message):
    analyst(client, make_field())
    response = client.get(URL, params)
    assert response.status_code == 400
    assert message in text_of(response)
    assert client.get(URL + "differences.json", params).status_code == 400


def test_more_systems_than_can_be_compared_are_cut_and_told(client, monkeypatch):
    monkeypatch.setattr(compare, "MOST", 3)
    response = analyst(client, make_field()).get(URL)
    assert response.context["selection"].systems == ("best", "near", "fair")
    assert "1 more system is not compared here" in text_of(response)
    named = client.get(URL, {"baseline": "worst"})
    assert named.context["selection"].systems == ("worst", "best", "near")
    refused = client.get(URL, {"system": list(FIRST)})
    assert refused.status_code == 400 and "at most 3 systems" in text_of(refused)


def test_the_options_are_kept_when_the_baseline_changes_and_the_other_way_round(client):
    page = analyst(client, make_field()).get(
        URL, {"baseline": "fair", "system": ["best", "worst"], "gain": "exponential"}
    )
    text = page.content.decode()
    who, options = text.split('aria-label="Which systems are compared"')[1].split(
        'aria-label="Measure and options"'
    )
    assert '<input type="hidden" name="gain" value="exponential">' in who
    for name, value in [("baseline", "fair"), ("system", "best"), ("system", "worst")]:
        assert f'<input type="hidden" name="{name}" value="{value}">' in options
    moved = client.get(
        URL, {"panel": "default", "profile": "default", "measure": "P@1", "system": ["best", "worst"]}
    )
    assert moved.url == URL + "?measure=P@1&system=best&system=worst"


def controls(response) -> tuple[list[str], list[str]]:
    """What the form would send again: the chosen options, by their first word, and the ticked systems."""
    form = response.content.decode().split('aria-label="Which systems are compared"')[1].split("</form>")[0]
    return re.findall(r" selected>(\w+)", form), re.findall(r'name="system" value="(\w+)" checked', form)


@pytest.mark.parametrize(
    ("params", "chosen", "ticked"),
    [
        ({"system": ["fair"]}, [], "fair"),
        ({"baseline": "near", "system": ["near"]}, ["near"], "near"),
        ({"baseline": "near", "system": ["near"], "pairs": "all"}, ["near", "all"], "near"),
    ],
)
def test_the_form_is_kept_where_one_system_is_ticked(client, params, chosen, ticked):
    response = analyst(client, make_field()).get(URL, params)
    assert response.status_code == 200
    assert f"Only {ticked} is chosen, so there is nothing to compare. Tick another system." in text_of(response)
    assert controls(response) == (chosen, [ticked])
    refused = client.get(URL + "differences.csv", params)
    assert refused.status_code == 400 and b"Tick another system." in refused.content


def test_all_pairs_are_not_sent_unless_they_are_chosen(client):
    analyst(client, make_field())
    assert controls(client.get(URL)) == ([], ["best", "near", "fair", "worst"])
    assert controls(client.get(URL, {"baseline": "fair", "pairs": "all"}))[0] == ["fair", "all"]


def test_tests_are_made_once_for_each_state_of_the_collection(client, monkeypatch):
    collection = make_field()
    made = []
    monkeypatch.setattr(
        compare.comparison,
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


def test_uneven_judging_is_told_with_what_to_do(client):
    collection = make_hills()  # good: three of four places judged; bad: all
    page = analyst(client, collection).get(URL)
    assert "Judged unevenly: Judged@10 is 100 % for bad and 75.0 % for good" in text_of(page)
    assert "An admin can ask raters to fill its holes" in text_of(page)
    client.force_login(make_member(collection, "eva", Role.ADMIN))
    good = collection.systems.get(name="good")
    assert f'/collections/hills/pool/holes/?system={good.pk}"' in client.get(URL).content.decode()
    even = make_field("even")
    client.force_login(make_member(even, "ann", Role.ANALYST))
    assert "Judged unevenly" not in text_of(client.get("/collections/even/compare/"))


def test_it_is_only_read(client):
    analyst(client, make_hills())
    for path in ("", "differences.csv", "differences.json"):
        assert client.post(URL + path).status_code == 405


def test_every_measure_can_be_compared(client):
    analyst(client, make_field())
    for name, definition in MEASURES.items():
        response = client.get(URL, {"measure": f"{name}@10" if definition.takes_cutoff else name})
        assert response.status_code in (200, 400), name
        if response.status_code == 400:
            assert 'role="alert"' in response.content.decode()


def test_the_number_of_database_queries_does_not_grow(client, django_assert_num_queries):
    analyst(client, make_field())
    with CaptureQueriesContext(connection) as first:
        client.get(URL)
    assert len(first) <= 16
    queries = [f"q{n}" for n in range(1, 31)]
    large = make_field("large", {f"s{n}": 3 * n for n in range(8)}, queries)
    analyst(client, large, "bea")
    with django_assert_num_queries(len(first)):
        client.get("/collections/large/compare/")
