"""Where two systems differ: what the page says of the queries of `make_field`; its files are the command's."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from evaluation.comparing.views import differences
from evaluation.results.comparison import DRAWS_ON_PAGES
from evaluation.tests.hills import QUERIES, analyst, make_field, make_hills, rows_in, spec_of, text_of
from ratings.tests.cast import make_sample

pytestmark = pytest.mark.django_db
URL = "/collections/hills/differences/"
PAIR = {"baseline": "fair", "system": "near"}  # near has the better document first on q1 … q10, fair on q1 … q5
GAIN = "+0.2033"  # 1 less nDCG of 1, 3 instead of 3, 1


def rows_of(response) -> list[str]:
    """The keys of the table, from the top down."""
    return [part.split("<")[0] for part in response.content.decode().split('<td class="mono">')[1:]]


def tagged(collection, **keys: list[str]):
    """Tags by the key of the query."""
    for key, tags in keys.items():
        collection.queries.filter(key=key).update(tags=tags)
    collection.touch()
    return collection


def test_it_says_on_how_many_queries_which_is_better_and_by_how_much(client):
    page = text_of(analyst(client, make_field()).get(URL, PAIR))
    assert "near is better than fair on 5, equal on 7 and worse on 0 of 12 queries" in page
    assert "The mean difference is +0.08 , 95 % interval" in page  # 5 × 0.2033 / 12 = 0.0847
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page and "n = 12" in page
    assert "near better on 5 equal on 7 worse on 0" in page


def test_of_a_log_every_page_has_the_plain_mean_and_the_share_of_the_searches(client):
    """q6, on which near gains, has 100 searches for certain; the others and one held back stand for 10 each."""
    collection = make_field()
    keys = [key for key in collection.queries.values_list("key", flat=True) if key != "q6"]
    make_sample(collection, [("q6", 100, 1.0), *((key, 1, 0.1) for key in keys), ("", 1, 0.1)])
    analyst(client, tagged(collection, q6=["sale"], q7=["sale"]))
    page = text_of(client.get(URL, PAIR))
    assert "of the queries +0.0847" in page  # 5 × 0.2033 / 12
    assert "12, with 95.5 % of the searches of the log" in page  # 210 of 220
    assert "sale tag 2 100 % 0 +0.2033 of the queries +0.2033" in page
    compared = text_of(client.get("/collections/hills/compare/", {"baseline": "fair"}))
    assert "12 95.5 %" in compared and "of the queries +0.0847" in compared
    near = text_of(client.get(f"/collections/hills/systems/{collection.systems.get(name='near').pk}/"))
    assert "12 95.5 %" in near and "of the queries" in near


def test_turned_around_or_without_names_it_has_the_opposite_or_the_best_two(client):
    analyst(client, make_field())
    turned = text_of(client.get(URL, {"baseline": "near", "system": "fair"}))
    assert "fair is better than near on 0, equal on 7 and worse on 5 of 12 queries" in turned
    assert "The mean difference is −0.08" in turned
    assert "best is better than near on 2" in text_of(client.get(URL))
    assert "best is better than worst on 12" in text_of(client.get(URL, {"baseline": "worst"}))


def test_each_query_is_a_bar_with_its_difference_that_leads_to_the_query(client):
    collection = make_field()
    bars = spec_of(analyst(client, collection).get(URL, PAIR), "bars")["datasets"]["deltas"]
    assert [bar["query"] for bar in bars[:5]] == ["q6", "q7", "q8", "q9", "q10"]
    assert [f"{bar['value']:+.4f}" for bar in bars] == [GAIN] * 5 + ["+0.0000"] * 7
    assert [(bar["start"], bar["end"]) for bar in bars[:2]] == [(0, 1), (1, 2)]
    pk = collection.queries.get(key="q6").pk
    assert bars[0]["url"] == f"/collections/hills/queries/{pk}/?system=fair&system=near"
    assert client.get(bars[0]["url"]).status_code == 200


def test_of_many_queries_every_third_is_drawn_as_wide_as_three(client, monkeypatch):
    monkeypatch.setattr(differences, "MOST_BARS", 5)
    response = analyst(client, make_field()).get(URL, PAIR)
    bars = spec_of(response, "bars")["datasets"]["deltas"]
    assert [(bar["start"], bar["end"]) for bar in bars] == [(0, 3), (3, 6), (6, 9), (9, 12)]
    assert "a bar for one query in 3" in text_of(response)
    assert len(rows_of(response)) == 12  # the table has all


def test_queries_without_a_value_are_counted_apart_and_come_last(client):
    collection = make_field()
    collection.systems.get(name="near").rankings.filter(query__key="q6").delete()
    collection.touch()
    response = analyst(client, collection).get(URL, PAIR | {"missing": "skip"})
    page = text_of(response)
    assert "on 4, equal on 7 and worse on 0 of 11 queries" in page
    assert "n = 11 (1 left out: 1 no ranking)" in page and "left out: no ranking" in page
    assert rows_of(response)[-1] == "q6"
    assert rows_of(client.get(URL, PAIR | {"missing": "skip", "sort": "difference"}))[-1] == "q6"
    document = client.get(URL + "differences.json", PAIR | {"missing": "skip"}).json()
    assert document["results"][0]["per_query"]["q6"] is None


def test_two_systems_without_a_query_in_common_have_no_difference(client):
    collection = tagged(make_hills(rankings={"good": {"q1": "ab"}, "bad": {"q2": "ab"}}), q1=["new"])
    response = analyst(client, collection).get(URL, {"missing": "skip"})
    assert "bars" not in response.context and rows_of(response) == ["q1", "q2"]
    assert client.get(URL + "segments.csv", {"missing": "skip"}).status_code == 200


def test_it_can_be_sorted(client):
    collection = make_field()
    collection.queries.filter(key="q3").update(text="one two three four")
    analyst(client, collection)
    for sort, first, last in (
        ("", "q6", "q12"),
        ("difference", "q1", "q10"),
        ("-key", "q12", "q1"),
        ("-words", "q3", "q12"),
        ("nonsense", "q6", "q12"),
    ):
        rows = rows_of(client.get(URL, PAIR | {"sort": sort}))
        assert (rows[0], rows[-1], len(rows)) == (first, last, 12)


def test_segments_are_drawn_with_their_n(client):
    collection = tagged(make_field(), **dict.fromkeys(QUERIES[:10], ["old"]), q11=["new", "old"])
    response = analyst(client, collection).get(URL, PAIR)
    drawn = spec_of(response, "by-tag-spec")["datasets"]["differences"]
    assert [row["label"] for row in drawn] == ["old (n = 11)", "new (n = 1)", "no tag (n = 1)"]
    assert [row["few"] for row in drawn] == [False, True, True]
    assert f"{drawn[0]['value']:+.4f}" == "+0.0924"  # 5 × 0.2033 / 11
    assert "Holm's correction for 1 of them" in text_of(response)


def test_what_is_beyond_chance_on_a_segment_is_said_in_the_sentence(client):
    first = {"good": 24, "bad": 2}
    queries = [f"q{n}" for n in range(1, 25)]
    collection = tagged(make_field(first=first, queries=queries), **dict.fromkeys(queries[:12], ["early"]))
    page = text_of(analyst(client, collection).get(URL))
    # Ten of the first twelve queries, 10 × 0.2033 / 12, and all of the others.
    assert "significantly on 2 of the 2 tested: tag early ( +0.1694 ), no tag ( +0.2033 )." in page


def test_the_table_can_be_cut_to_a_segment_and_to_some_words(client):
    analyst(client, tagged(make_field(), q2=["new"], q7=["new"]))
    assert rows_of(client.get(URL, PAIR | {"segment": "tag:new"})) == ["q7", "q2"]
    assert rows_of(client.get(URL, PAIR | {"q": "OF Q12"})) == ["q12"]


def test_the_files_have_the_digits_of_the_command_and_the_segments_besides(client):
    analyst(client, tagged(make_field(), q2=["new"], q7=["new"]))

    def command(form: str) -> str:
        out = io.StringIO()
        options = ["--draws", str(DRAWS_ON_PAGES), "--gain", "exponential", "--per-query", "--format", form]
        call_command("compare", "hills", "fair", "near", *options, stdout=out)
        return out.getvalue()

    params = PAIR | {"gain": "exponential"}
    document = client.get(URL + "differences.json", params).json()
    every = document.pop("segments")
    assert document == json.loads(command("json"))
    rows = client.get(URL + "queries.csv", params).content.decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(rows))) == list(csv.reader(io.StringIO(command("csv"))))
    table = rows_in(client.get(URL + "segments.csv", params))
    assert [(row["segment"], row["queries"]) for row in table] == [("new", "2"), ("", "10")]
    assert [float(row["difference"]) for row in table] == [row["difference"] for row in every]


def test_what_makes_no_sense_is_refused(client):
    analyst(client, make_field())
    same = {"baseline": "best", "system": "best"}
    for params in ({"baseline": "bets"}, {"system": "beast"}, same, {"measure": "nDGC"}, {"segment": "tag:gone"}):
        assert client.get(URL, params).status_code == 400
    for name in ("queries.csv", "segments.csv", "differences.json"):
        assert client.get(URL + name, same).status_code == 400


def test_it_opens_with_the_losses_against_the_best_rival_of_each_query(client):
    """x is the best system. y beats it on q1, and z on q2; each of them alone would show half of that."""
    rankings = {
        "x": {"q1": "ba", "q2": "ba", "q3": "ab"},
        "y": {"q1": "ab", "q2": "cb", "q3": "ba"},
        "z": {"q1": "cb", "q2": "ab", "q3": "ba"},
    }
    grades = {
        (query, document): value for query in ("q1", "q2", "q3") for document, value in (("a", "3"), ("b", "2"))
    }
    collection = make_hills(queries=("q1", "q2", "q3"), rankings=rankings, grades=grades)
    response = analyst(client, collection).get(URL)
    assert "x is worse than the best of the others on 2 of 3 queries" in text_of(response)
    assert {row["query"]: row["rival"] for row in response.context["losses"]} == {"q1": "y", "q2": "z"}
    # 3 + 2 / log2(3) = 4.261860 and 2 + 3 / log2(3) = 3.892789, of the ideal 4.261860.
    drawn = {row["query"]: row["value"] for row in spec_of(response, "rivals")["datasets"]["deltas"]}
    assert drawn["q1"] == pytest.approx((3.892789 - 4.261860) / 4.261860, abs=1e-6)
    assert "system=y&amp;system=x" in response.content.decode()
    # Who names a system has asked about a pair.
    assert "losses" not in client.get(URL, {"system": "x"}).context
