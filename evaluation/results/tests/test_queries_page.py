"""Every query with what each system scored: `hills` gives the numbers."""

import re

import pytest

from evaluation.results.views import queries
from evaluation.tests.hills import analyst, make_hills, make_unjudged, rows_in, text_of

pytestmark = pytest.mark.django_db
URL = "/collections/hills/queries/"


def rows_of(response) -> list[str]:
    """The queries of the table, from the top down."""
    page = response.content.decode()
    return [part.split("<")[0] for part in page.split('<td class="mono">')[1:]]


def test_each_query_has_its_values_mean_spread_and_judgments(client):
    page = text_of(analyst(client, make_hills()).get(URL))
    # good 1, bad 0.408728: mean 0.704364, spread 0.591272, four judged documents.
    assert "text of q1 q1 0.7044 0.5913 1.0000 0.4087 4" in page
    assert "text of q2 q2 0.3155 0.6309 0.6309 0.0000 1" in page


def test_it_can_be_sorted_and_searched(client):
    analyst(client, make_hills())
    for sort in ("", "-mean", "key", "nonsense"):
        assert rows_of(client.get(URL, {"sort": sort})) == ["q1", "q2"]
    for sort in ("mean", "-spread", "-text", "judged", "-key"):
        assert rows_of(client.get(URL, {"sort": sort})) == ["q2", "q1"]
    assert rows_of(client.get(URL, {"q": "OF Q2"})) == ["q2"]


def test_it_can_be_sorted_by_a_system_with_undefined_queries_last(client):
    grades = {("q1", "b"): "0", ("q2", "b"): "2", ("q3", "a"): "1"}
    rankings = {"good": {"q1": "a", "q2": "ab", "q3": "a"}}
    collection = make_hills(queries=("q1", "q2", "q3"), grades=grades, rankings=rankings)
    pk = collection.systems.get().pk
    analyst(client, collection)
    assert rows_of(client.get(URL, {"sort": f"s{pk}"})) == ["q2", "q3", "q1"]
    assert rows_of(client.get(URL, {"sort": f"-s{pk}"})) == ["q3", "q2", "q1"]


def shades_of(response) -> dict[str, list[str]]:
    """The classes of the cells by the key of their query."""
    rows = response.content.decode().split('<td class="mono">')[1:]
    return {row.split("<")[0]: re.findall(r'<td class="(h\w)"', row) for row in rows}


def test_every_value_has_its_shade_and_what_is_worse_than_an_empty_list_or_undefined_has_its_own(client):
    rankings = {"good": {"q1": "adb", "q2": "ab"}, "bad": {"q1": "ca"}, "worse": {"q1": "c"}}
    collection = make_hills(queries=("q1", "q2", "q3"), rankings=rankings)
    response = analyst(client, collection).get(URL)
    # q1: 1, 0.4087, and c alone, which is 0 where an empty list has 0.2159; q2: 0.6309 and twice nothing.
    assert shades_of(response) == {"q1": ["h5", "h3", "h0"], "q2": ["h4", "h1", "h1"], "q3": ["hu"] * 3}
    page = text_of(response)
    assert "▼ below the score of an empty list 0.0000" in page and "undefined: not judged" in page


def test_a_value_that_counts_in_no_mean_has_no_shade_and_says_why(client):
    response = analyst(client, make_unjudged()).get(URL, {"measure": "NumRet@10"})
    # The strongest shade is that of 2, the highest value that counts.
    assert shades_of(response) == {"q1": ["h5", "h3"], "q2": ["h5", "h1"], "q3": ["hu"] * 2}
    page = text_of(response)
    assert "text of q3 q3 – undefined: not judged – undefined: not judged" in page  # its mean and its spread
    assert "2.0000 counts in no mean: not judged 3.0000 counts in no mean: not judged" in page
    pk = response.context["collection"].systems.get(name="bad").pk
    assert rows_of(client.get(URL, {"measure": "NumRet@10", "sort": f"-s{pk}"})) == ["q1", "q2", "q3"]


def test_a_large_table_leaves_digits_to_its_files(client, monkeypatch):
    exact = analyst(client, make_hills()).get(URL)
    monkeypatch.setattr(queries, "MOST_EXACT", 3)
    short = client.get(URL)
    assert '<data value="0.4087' in exact.content.decode() and "<data " not in short.content.decode()
    assert "0.7044 0.5913 1.0000 0.4087 4" in text_of(short)


def test_an_undefined_value_is_an_empty_cell_with_its_reason(client):
    collection = make_hills(grades={("q1", "a"): "3"})
    response = analyst(client, collection).get(URL + "scores.csv")
    rows = {(row["query"], row["system"]): row for row in rows_in(response)}
    assert (rows["q2", "good"]["value"], rows["q2", "good"]["why"]) == ("", "not judged")
