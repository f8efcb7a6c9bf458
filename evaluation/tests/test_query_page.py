"""One query laid open: the sums on the page are those worked out in `hills`."""

import csv
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.tests.hills import GRADES, analyst, make_hills, rate, text_of
from ratings.models import Role
from ratings.tests.cast import make_collection, make_member, make_pair

pytestmark = pytest.mark.django_db


def address(collection, key: str = "q1") -> str:
    return f"/collections/{collection.slug}/queries/{collection.queries.get(key=key).pk}/"


def test_the_sentence_says_who_wins_and_why(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "good scores 1.0000 , bad 0.4087 ." in page
    # (3.630930 - 0.892789) / 4.630930 = 0.5913: from good documents (3.630930 - 1.892789) / 4.630930 = 0.3753,
    # and 1 / 4.630930 = 0.2159 from the harmful one that good leaves out.
    assert "Of the 0.5913 between them, 0.3753 comes from documents graded above 0 and 0.2159 from harmful" in page


def test_the_rows_add_up_to_the_sum_below(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "1 −1 Harmful Title c −1 × 1.0000 −1.0000" in page or "1 −1 Title c −1 × 1.0000 −1.0000" in page
    assert "3 × 0.6309 +1.8928 DCG, the sum 0.8928" in page
    assert "1 × 0.6309 +0.6309" in page
    assert "IDCG 3.6309" in page


def test_the_arithmetic_gives_the_value(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "Worst list (−1 + 1) / (3.63093 + 1) 0.0000" in page
    assert "Empty list, the neutral point (0 + 1) / (3.63093 + 1) 0.2159" in page
    assert "bad (0.892789 + 1) / (3.63093 + 1) 0.4087" in page
    assert "good (3.63093 + 1) / (3.63093 + 1) 1.0000" in page


def test_without_negative_judgments_it_is_a_plain_quotient(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "good 1.26186 / 2 0.6309" in page
    assert "Worst list" not in page


def test_a_missing_ranking_is_said_and_not_taken_for_an_empty_one(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "This system has no ranking for this query: an empty list." in page


def test_an_unjudged_document_is_marked(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "1 ? unjudged Title a counted 0 0.0000" in page


def test_what_a_list_leaves_out_is_named(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "Missing from a top 10" in page
    assert page.split("Missing from a top 10")[1].count("not found") == 1  # d is not in what bad returned


def test_the_address_chooses_the_sides(client):
    collection = make_hills()
    pks = dict(collection.systems.values_list("name", "pk"))
    response = analyst(client, collection).get(address(collection), {"left": pks["good"], "right": pks["bad"]})
    assert [side.system.name for side in response.context["sides"]] == ["good", "bad"]
    assert f"left={pks['good']}&amp;right={pks['bad']}" in response.content.decode()  # of the next query


def test_the_lines_join_the_same_document(client):
    collection = make_hills()
    links = analyst(client, collection).get(address(collection)).context["links"]
    # a: second in bad, first in good. c is only in bad, d and b only in good.
    assert links["shared"] == 1
    assert [line["end"] for line in links["lines"] if line["end"]] == [27]
    assert len(links["lines"]) == 4


def test_one_system_stands_alone(client):
    collection = make_hills(rankings={"good": {"q1": "adb"}})
    response = analyst(client, collection).get(address(collection))
    assert response.status_code == 200
    assert response.context["right"] is None
    assert "good scores 1.0000" in text_of(response)


def test_no_systems_yet(client):
    collection = make_hills(rankings={})
    assert "import_run hills" in text_of(analyst(client, collection).get(address(collection)))


def test_a_query_that_nobody_judged_shows_its_rankings_without_a_value(client):
    collection = make_hills(grades={("q1", "a"): "3"})
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "Nobody has judged a document of this query yet" in page
    assert "Title a" in page
    assert "– undefined: not judged" in page
    assert "manage pool hills" in page
    assert "Ideal list – # Grade Gain × disc. Adds not judged yet" in page
    lists = page.split("How it is computed")[0]
    for empty in ("nothing left to find", "0 / 0", "IDCG", "Where is it won?"):
        assert empty not in lists


def test_a_query_that_waits_for_raters_need_not_be_pooled(client):
    collection = make_hills(grades={("q1", "a"): "3"})
    make_pair(collection, "q2", "a", wanted=2)
    make_pair(collection, "q2", "b")
    make_pair(collection, "q1", "b")
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "3 ratings are waiting for raters." in page
    assert "manage pool" not in page


def test_every_system_has_its_judged_share_in_percent(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert re.search(r"Judged@10 good 0.6309 .* 1.2619 2.0000 50.0 % bad 0.0000 .* 0.0000 0.0000 –", page)


def test_what_a_value_can_still_become_stands_beside_it(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    # Of the pool only a is open, which good has at rank 1 and bad not at all. At -1: good (-1 + 1.261860 + 1) /
    # (2 + 1) = 0.420620, an empty list 1 / 3. At 2 or 3: good 1, an empty list 0.
    assert "good 0.6309 0.4206 to 1.0000 1.2619" in page
    assert "bad 0.0000 0.0000 to 0.3333 0.0000" in page
    assert "Under each nDCG@10: what it can still become, whatever grades the unjudged" in page


def test_a_value_that_nothing_can_change_is_final(client):
    collection = make_hills(grades={**GRADES, ("q2", "a"): "0"})
    assert "good 0.6309 final, 0.6309 1.2619" in text_of(
        analyst(client, collection).get(address(collection, "q2"))
    )


def test_a_measure_without_bounds_has_no_column_for_them(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2"), {"measure": "P@5"}))
    assert "still become" not in page


def test_long_rankings_without_a_cutoff_are_cut_in_the_page_and_not_in_the_sum(client):
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 60)]
    collection = make_hills(
        documents=letters, grades={("q1", letters[-1]): "3"}, rankings={"good": {"q1": "".join(letters)}}
    )
    response = analyst(client, collection).get(address(collection), {"measure": "nDCG"})
    page = text_of(response)
    assert "and 10 more ranks, in the sum but not shown" in page
    assert "DCG, the sum 0.5058" in page  # 3 / log2(61)


def test_several_raters_are_averaged(client):
    collection = make_hills()
    rate(collection, {("q1", "a"): "2"}, rater="second")
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "2.5 × 1.0000 +2.5000" in page


def test_previous_and_next_keep_the_order_of_keys(client):
    queries = ("q1", "q2", "q10")
    collection = make_hills(queries=queries)
    middle = analyst(client, collection).get(address(collection, "q2"))
    pks = dict(collection.queries.values_list("key", "pk"))
    assert (middle.context["previous"], middle.context["next"]) == (pks["q1"], pks["q10"])
    assert client.get(address(collection, "q10")).context["next"] is None


def test_many_systems_are_chosen_from_a_list_and_all_are_in_the_table(client):
    rankings = {f"system {n:02}": {"q1": "ab"} for n in range(12)}
    collection = make_hills(rankings=rankings)
    page = text_of(analyst(client, collection).get(address(collection)))
    assert page.count("system 11") >= 3  # both lists of choices and the table


def test_the_file_holds_each_rank_and_the_ideal(client):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection) + "scores.csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    bad = [row for row in rows if row["system"] == "bad"]
    assert [(row["document"], row["judgment"]) for row in bad] == [("c", "-1.0"), ("a", "3.0")]
    assert sum(float(row["adds"]) for row in bad) == pytest.approx(float(bad[-1]["dcg"]), abs=1e-15)
    assert [row["document"] for row in rows if row["list"] == "ideal"] == ["a", "d"]


def test_a_key_with_quotes_and_breaks_names_no_second_file(client):
    collection = make_hills()
    collection.queries.filter(key="q1").update(key='é";\r\nx=1')
    found = collection.queries.exclude(key="q2").get()
    response = analyst(client, collection).get(address(collection, found.key) + "scores.csv")
    name = "attachment; filename*=utf-8''hills-query-%C3%A9-x1-nDCG%4010.csv"
    assert response["Content-Disposition"] == name


def test_queries_of_other_collections_and_other_roles_find_nothing(client):
    collection, other = make_hills(), make_collection("other")
    analyst(client, collection)
    foreign = other.queries.first().pk
    assert client.get(f"/collections/hills/queries/{foreign}/").status_code == 404
    client.force_login(make_member(collection, "rita", Role.RATER))
    assert client.get(address(collection)).status_code == 404
    assert client.get(address(collection) + "scores.csv").status_code == 404


def test_the_number_of_database_queries_does_not_grow(client, django_assert_num_queries):
    small = make_hills()
    analyst(client, small)
    with CaptureQueriesContext(connection) as first:
        client.get(address(small))
    queries = [f"q{n}" for n in range(1, 31)]
    rankings = {f"s{n}": dict.fromkeys(queries, "abcd") for n in range(8)}
    large = make_hills("large", queries=queries, rankings=rankings, grades=GRADES)
    analyst(client, large, "bea")
    with django_assert_num_queries(len(first)):
        client.get(address(large))
