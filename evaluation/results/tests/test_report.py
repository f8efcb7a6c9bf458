"""The same numbers, to the last digit, on the page, in its files and from the command."""

import csv
import io
import json
import re
from copy import deepcopy
from html import unescape

import pytest
from django.core.management import call_command

from evaluation.tests.hills import analyst, make_hills
from ratings.collection import sample

pytestmark = pytest.mark.django_db

# How the page is asked, and the command.
ASKED = {
    "default": ({}, []),
    "burges": ({"profile": "burges"}, ["--profile", "burges"]),
    "raw, median": ({"negatives": "raw", "rule": "median"}, ["--negatives", "raw", "--rule", "median"]),
}
BY_RATINGS = ({"rule": "max", "adjudications": "ignore"}, ["--rule", "max", "--adjudications", "ignore"])
GAINS = ("CG@10", "DCG@10", "IDCG@10")
MEASURES = ("nDCG@10", *GAINS)


@pytest.fixture(scope="module")
def loaded(standing):
    return sample.load()


@pytest.fixture
def collection(loaded):
    """Sixteen queries, three systems, 541 ratings of three raters: sums that need every digit of a float."""
    return deepcopy(loaded)


def command(collection, arguments: list[str], *, form: str, per_query: bool = False, measures=MEASURES) -> str:
    out = io.StringIO()
    arguments = [*arguments, *(f"--measure={measure}" for measure in measures), f"--format={form}"]
    call_command("evaluate", collection.slug, *arguments, *(["--per-query"] if per_query else []), stdout=out)
    return out.getvalue()


def digits(text: str) -> dict:
    """A JSON document in which numbers are the characters that the file has."""
    return json.loads(text, parse_float=str, parse_int=str)


def lines(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


def table(page: str, label: str) -> dict[str, list[str]]:
    """The full values in each row of the table in the box with this label, by the row's header."""
    body = re.search(rf'aria-label="{re.escape(label)}".*?<tbody>(.*?)</tbody>', page, re.S)[1]
    rows = re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', body, re.S)
    return {" ".join(re.sub("<[^>]+>", " ", unescape(head)).split()): carried(cells) for head, cells in rows}


def carried(html: str) -> list[str]:
    return re.findall(r'<data value="([^"]+)"', html)


@pytest.mark.parametrize("asked", ASKED)
def test_means_are_the_same_everywhere(client, collection, asked):
    params, arguments = ASKED[asked]
    address = f"/collections/{collection.slug}/"
    page = analyst(client, collection).get(address, params).content.decode()
    shown, sums = table(page, "Means of every system"), table(page, "Means of the cumulative gains")
    text = client.get(address + "scores.json", params).content.decode()
    rows = lines(client.get(address + "scores.csv", params).content.decode("utf-8-sig"))
    assert text == command(collection, [*arguments, "--bounds"], form="json")
    assert rows == lines(command(collection, [*arguments, "--bounds"], form="csv"))
    entries = digits(text)["results"]
    assert len(entries) == len(rows) == 3 * len(MEASURES)
    for entry, row in zip(entries, rows, strict=True):
        numbers = ["mean", "low", "high", "lowest", "highest", "judged"]
        assert [entry[name] or "" for name in numbers] == [row[name] for name in numbers]
        if entry["measure"] == "nDCG@10":
            assert shown[entry["system"]] == [entry[name] for name in numbers]
        else:
            assert sums[entry["system"]][GAINS.index(entry["measure"])] == entry["mean"]
    assert any(len(entry["mean"]) > 12 for entry in entries)


@pytest.mark.parametrize("asked", ASKED)
def test_the_values_of_every_query_are_the_same_everywhere(client, collection, asked):
    params, arguments = ASKED[asked]
    address = f"/collections/{collection.slug}/"
    overview = analyst(client, collection).get(address, params)
    page = client.get(address + "queries/", params).content.decode()
    text = client.get(address + "queries/scores.json", params).content.decode()
    assert text == command(collection, arguments, form="json", per_query=True, measures=["nDCG@10"])
    file = lines(client.get(address + "queries/scores.csv", params).content.decode("utf-8-sig"))
    printed = lines(command(collection, arguments, form="csv", per_query=True, measures=["nDCG@10"]))
    expected = {
        (entry["system"], query): value
        for entry in digits(text)["results"]
        for query, value in entry["per_query"].items()
    }
    assert len(expected) == 48
    assert {(row["system"], row["query"]): row["value"] for row in file} == expected
    assert {(row["system"], row["query"]): row["value"] for row in printed} == expected
    keys = dict(collection.queries.values_list("text", "key"))
    names = overview.context["heads"][4:7]  # after the text, the key, the mean and the spread
    for html in (page, overview.content.decode()):
        matrix = table(html, "nDCG@10 of every query and system")
        assert len(matrix) == 16
        for head, values in matrix.items():
            assert values[2:5] == [expected[name["text"], keys[head]] for name in names]


@pytest.mark.parametrize("asked", ASKED)
def test_the_sums_of_a_query_are_the_same_everywhere(client, collection, asked):
    params, arguments = ASKED[asked]
    query = collection.queries.get(key="q09")
    address = f"/collections/{collection.slug}/queries/{query.pk}/"
    page = analyst(client, collection).get(address, params).content.decode()
    entries = digits(client.get(address + "scores.json", params).content.decode())["results"]
    ranks = lines(client.get(address + "scores.csv", params).content.decode("utf-8-sig"))
    results = digits(command(collection, [*arguments, "--bounds"], form="json", per_query=True))["results"]
    lowest, highest = (
        {(each["system"], "q09"): each[name]["q09"] for each in results if name in each}
        for name in ("lowest_per_query", "highest_per_query")
    )
    expected = {(entry["system"], entry["measure"]): entry["per_query"]["q09"] for entry in results}
    shown = table(page, "Every system on this query")
    assert len(entries) == 3
    for entry in entries:
        system = entry["system"]
        assert [entry[measure] for measure in MEASURES] == [expected[system, measure] for measure in MEASURES]
        ends = [entry["lowest"], entry["highest"]]
        bounds = [value for value in ends if value is not None]
        assert shown[system][: 1 + len(bounds)] == [expected[system, "nDCG@10"], *bounds]
        assert shown[system][-3:-1] == [expected[system, "DCG@10"], expected[system, "CG@10"]]
        own = [row for row in ranks if (row["list"], row["system"]) == ("ranking", system)]
        assert [own[0]["lowest"], own[0]["highest"]] == [value or "" for value in ends]
        assert [lowest[system, "q09"], highest[system, "q09"]] == ends
        assert {tuple(row[measure] for measure in MEASURES) for row in own} == {
            tuple(expected[system, measure] for measure in MEASURES)
        }
        assert own[-1]["dcg"] == entry["ranking"][-1]["dcg"] == expected[system, "DCG@10"]
        assert entry["ideal"][-1]["dcg"] == expected[system, "IDCG@10"]
    feet = [carried(foot)[0] for foot in re.findall(r"<tfoot>(.*?)</tfoot>", page, re.S)]
    left, right = re.findall(r'<h2><a href="[^"]+">([^<]+)</a> <b class="score">', page)
    assert feet == [expected[left, "DCG@10"], expected[right, "DCG@10"], expected[left, "IDCG@10"]]


@pytest.mark.parametrize("asked", [*ASKED.values(), BY_RATINGS], ids=[*ASKED, "ratings alone"])
def test_one_fingerprint_stands_on_every_page_and_in_every_file(client, collection, asked):
    params, arguments = asked
    analyst(client, collection)
    fingerprint = json.loads(command(collection, arguments, form="json"))["fingerprint"]
    query, system = collection.queries.first(), collection.systems.first()
    for place in ("", "queries/", f"queries/{query.pk}/", f"systems/{system.pk}/"):
        address = f"/collections/{collection.slug}/{place}"
        page = client.get(address, params).content.decode()
        figures = re.findall(r"<figure.*?</figure>", page, re.S)
        assert figures and fingerprint in page  # once a page is enough: all of its figures have the same
        assert json.loads(client.get(address + "scores.json", params).content)["fingerprint"] == fingerprint
        rows = lines(client.get(address + "scores.csv", params).content.decode("utf-8-sig"))
        assert {row["options"] for row in rows} == {fingerprint}


def test_a_query_without_judgments_is_a_document_without_values(client):
    collection = make_hills(grades={("q1", "a"): "3"})
    query = collection.queries.get(key="q2")
    address = f"/collections/hills/queries/{query.pk}/scores"
    document = analyst(client, collection).get(address + ".json").json()
    good = next(entry for entry in document["results"] if entry["system"] == "good")
    assert (good["nDCG@10"], good["reason"]) == (None, "not judged")
    assert [rank["judgment"] for rank in good["ranking"]] == [None, None]
    # "bad" has no ranking for it, and stands in the file all the same.
    rows = lines(client.get(address + ".csv").content.decode("utf-8-sig"))
    assert [(row["system"], row["rank"]) for row in rows] == [("bad", ""), ("good", "1"), ("good", "2")]
    assert document["differences"] == []


def test_a_measure_that_states_its_gain_is_not_said_to_have_another(client, collection):
    address = f"/collections/{collection.slug}/"
    asked = {"measure": "nDCG(dcg='exp-log2')@10"}
    page = analyst(client, collection).get(address, asked).content.decode()
    stated = "nDCG(dcg=&#x27;exp-log2&#x27;)@10"
    assert f"{stated} exp log2" in page and f"{stated} lin log2" not in page
    assert "<code>CG@10 lin log2" in page
    rows = lines(client.get(address + "scores.csv", asked).content.decode("utf-8-sig"))
    said = {row["measure"]: row["options"] for row in rows}
    assert said["nDCG(dcg='exp-log2')@10"].startswith("exp log2")
    assert said["CG@10"].startswith("lin log2")
