"""The overview: its numbers are those worked out in `hills`."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation import frozen, scores
from evaluation.measures import parse_measure
from evaluation.results import heat
from evaluation.results.trust import unevenly_judged
from evaluation.scores import Asked, Evaluation, Standing
from evaluation.tests.hills import GRADES, analyst, make_hills, make_unjudged, rate, rows_in, spec_of, text_of
from ratings.models import Anchor, Pair
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_pair, make_ranking, make_rankings

pytestmark = pytest.mark.django_db
URL = "/collections/hills/"


def test_its_numbers_are_those_worked_out_by_hand(client):
    response = analyst(client, make_hills()).get(URL)
    page = text_of(response)
    assert "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page and "n = 2" in page
    assert page.index("good 0.8155") < page.index("bad 0.2044")
    assert "Judged@10 87.5 %" in page and "good 75.0 %" in page  # good: 3 of 3 and 1 of 2; bad: 2 of 2
    assert "Unjudged in the top 10 1 of 7 places" in page and "Ratings 5 by 1 rater on 5 pairs" in page
    # 0.215939 for q1, where a harmful document can be avoided, and 0 for q2.
    assert "score of an empty list, 0.1080" in page
    assert spec_of(response, "means")["datasets"]["means"][0]["neutral"] == pytest.approx(0.215939 / 2, abs=1e-6)


def test_every_mean_has_its_n_where_not_all_queries_count(client):
    """bad has no ranking for q2; nothing is to be found on q3, where CG is 0 and counts."""
    rankings = {"good": {"q1": "adb", "q2": "ab", "q3": "a"}, "bad": {"q1": "ca"}}
    collection = make_hills(queries=("q1", "q2", "q3"), grades=GRADES | {("q3", "a"): "0"}, rankings=rankings)
    gains = text_of(analyst(client, collection).get(URL, {"missing": "skip"})).split("Means of CG@10")[1]
    assert "good 2.0000 n = 3" in gains and "bad 2.0000 n = 1" in gains  # (3 + 1, 2 and 0) / 3, and 3 - 1


def test_the_best_system_is_told_from_the_others_by_the_tests_of_the_page_that_compares(client):
    # a is the better document of every query; x has it first on all of twelve, y on ten, z on none.
    queries = [f"q{n}" for n in range(1, 13)]
    rankings = {
        name: {query: "ab" if place < n else "ba" for place, query in enumerate(queries)}
        for name, n in (("x", 12), ("y", 10), ("z", 0))
    }
    grades = {(query, document): value for query in queries for document, value in (("a", "3"), ("b", "1"))}
    analyst(client, make_hills(queries=queries, rankings=rankings, grades=grades))
    told = "significantly better than z on the same queries. Whether it is better than y cannot be told"
    assert f"x has the highest mean nDCG@10, 1.00, {told}" in text_of(client.get(URL))
    rows = {row["system"]: row["verdict"] for row in client.get(f"{URL}compare/").context["rows"]}
    assert rows == {"y": "cannot tell", "z": "lower"}


@pytest.mark.parametrize(("least", "warns"), [(0.9, True), (0.91, False), (None, False)])
def test_a_tenth_is_uneven(least, warns):
    numbers = {"mean": 0.5, "low": None, "high": None, "queries": 1, "undefined": 0, "reasons": {}}
    shares = {"a": 1.0, "b": least}
    rows = [Standing(system=name, measure="AP", judged=share, **numbers) for name, share in shares.items()]
    standings = {(row.system, "AP"): row for row in rows}
    asked = Asked(parse_measure("AP"))
    evaluation = Evaluation(asked, (asked.measure,), table=None, stored=standings)
    said = unevenly_judged(evaluation, ["a", "b"], 0)
    assert bool(said) is warns
    if warns:
        assert (said["most"].system, said["least"].system, said["as_zero"], said["or_worse"]) == (
            "a",
            "b",
            True,
            False,
        )


def test_holes_are_counted_over_the_queries_that_the_judged_share_is_of(client):
    # q2 is judged and has nothing to find: its hole, a, is no more in the holes than in the share.
    collection = make_hills(grades={("q1", "a"): "3", ("q1", "d"): "1", ("q1", "b"): "0", ("q2", "b"): "0"})
    page = text_of(analyst(client, collection).get(URL))
    assert "Judged@10 75.0 %" in page  # good: 3 of 3; bad: 1 of 2, c is unjudged
    assert "Unjudged in the top 10 1 of 5 places" in page


def test_values_below_the_neutral_point_are_counted(client):
    rankings = {"good": {"q1": "ad", "q2": "b"}, "worse": {"q1": "c", "q2": "b"}}
    response = analyst(client, make_hills(rankings=rankings)).get(URL)
    assert "1 value lies below the score of an empty list" in text_of(response)
    below = [cell for cell in spec_of(response, "heat")["datasets"]["cells"] if cell.get("below")]
    assert [(cell["query"], cell["system"]) for cell in below] == [("q1", "worse")]


def test_an_undefined_query_is_counted_and_never_shown_as_nought(client):
    collection = make_hills(grades={("q1", "a"): "3", ("q2", "b"): "0"})
    response = analyst(client, collection).get(URL)
    assert "Undefined queries 1 of 2 1 nothing to find" in text_of(response)
    cells = {(c["query"], c["system"]): c["value"] for c in spec_of(response, "heat")["datasets"]["cells"]}
    assert cells["q2", "good"] is None


def test_a_query_that_counts_in_no_mean_is_not_won_and_says_why(client):
    collection = make_unjudged()
    response = analyst(client, collection).get(URL, {"measure": "DCG@10", "unjudged": "1"})
    # q3 has the larger DCG for "bad", and nobody judged it. On q1 and q2 "good" is above "bad".
    assert "good wins 2 queries, of 2." in text_of(response)
    cells = [cell for cell in spec_of(response, "heat")["datasets"]["cells"] if cell["query"] == "q3"]
    assert [(cell["value"], cell["why"]) for cell in cells] == [
        (None, "1.6309, counts in no mean: not judged"),
        (None, "2.1309, counts in no mean: not judged"),
    ]
    assert "counted in no mean: not judged" in text_of(response)


def test_many_cells_are_drawn_as_lines_of_shades_without_a_script(client, monkeypatch):
    monkeypatch.setattr(heat, "MOST_CELLS", 3)
    grades = {("q1", "a"): "3", ("q1", "c"): "-1", ("q2", "b"): "2"}
    rankings = {"good": {"q1": "a", "q2": "ab"}, "bad": {"q1": "c", "q2": "b"}}
    response = analyst(client, make_hills(queries=("q1", "q2", "q3"), grades=grades, rankings=rankings)).get(URL)
    (good, bad) = response.context["heat"]["lines"]
    # By their median q2 (1 and 0.6309) is easier than q1 (1 and 0, where an empty list has 1/4); q3 is undefined.
    assert dict(good["paths"])["h4"] == "M0 0h1v1h-1z" and dict(good["paths"])["h5"] == "M1 0h1v1h-1z"
    assert dict(bad["paths"])["h5"] == "M0 0h1v1h-1z" and dict(bad["paths"])["h0"] == "M1 0.5h1v0.5h-1z"
    assert not any("M2" in path for line in (good, bad) for _, path in line["paths"])
    page = response.content.decode()
    assert 'viewBox="0 0 3 1"' in page and 'id="heat"' not in page
    assert "undefined, left empty at the end: not judged" in text_of(response)


def test_what_a_mean_can_still_become_is_drawn_and_told(client):
    response = analyst(client, make_hills()).get(URL)
    # q1 is judged; the a of q2 is not, and there good can end between 0.420620 and 1, bad between 0 and 1 / 3.
    row = spec_of(response, "means")["datasets"]["means"][0]
    assert (row["lowest"], row["highest"]) == pytest.approx(((1 + 0.4206198) / 2, 1.0), abs=1e-7)
    assert re.search(r"good 0.8155 [\d. to]+ 0.7103 to 1.0000 2 0 75.0 %", text_of(response))


def test_bounds_are_not_final_where_the_mean_can_stay_undefined(client):
    # At 1 to 3 the open document is relevant and alone at rank 1: the mean becomes 1. At 0 nothing is to find.
    scale = {"0": "Bad", "1": "Fair", "3": "Good"}
    collection = make_collection(scale=scale)
    make_rankings(collection, {"good": {"q1": "ba"}})
    rate(collection, {("q1", "a"): "0"})
    assert "1.0000 if defined" in text_of(analyst(client, collection).get(URL))
    page = text_of(client.get(f"{URL}queries/{collection.queries.get(key='q1').pk}/"))
    assert "1.0000 if defined" in page


def test_where_bounds_would_take_too_long_there_are_none(client, monkeypatch):
    analyst(client, make_hills())
    monkeypatch.setattr("evaluation.page.address.MOST_BOUNDED", 2 * 2 * 10 - 1)
    for params in ({"measure": "nDCG"}, {"measure": "nDCG@10"}):
        assert "evaluate --bounds" in text_of(client.get(URL, params))
        assert "lowest" not in client.get(URL + "scores.csv", params).content.decode("utf-8-sig")


def test_a_collection_that_is_only_adjudicated_has_numbers(client):
    collection = make_collection("hills", queries=("q1",))
    make_ranking(collection, "only", "q1", "ab")
    pair = make_pair(collection, "q1", "a")
    assert "Nothing has been judged yet" in text_of(analyst(client, collection).get(URL))
    adjudicate(pair, grade(collection, "2"), reason="Read twice.", actor=None)
    page = text_of(client.get(URL))
    assert "Nothing has been judged yet" not in page and "only 1.0000" in page


def test_the_mean_by_query_weight_is_another_number_with_its_own_name(client):
    collection = make_hills()
    assert "By query weight" not in text_of(analyst(client, collection).get(URL))
    collection.queries.filter(key="q1").update(weight=3)
    collection.touch()
    page = text_of(client.get(URL))
    # (3 * 1 + 0.630930) / 4; the mean stays what it is.
    assert "By query weight" in page and re.search(r"good 0.8155 .* 0.9077 .* 2 0 75.0 %", page)
    rows = rows_in(client.get(URL + "scores.csv"))
    weighted = {(row["system"], row["measure"]): row["weighted"] for row in rows}
    assert float(weighted["good", "nDCG@10"]) == pytest.approx((3 + 0.6309297535714575) / 4, abs=1e-15)


def test_gold_hits_stand_beside_the_numbers_as_soon_as_a_gold_pair_is_answered(client):
    collection = make_hills(grades={("q1", "a"): "3", ("q1", "b"): "0"})
    for rater, value in (("ada", "3"), ("bob", "2")):
        rate(collection, {("q1", "a"): value}, rater=rater)
    assert "Gold hits" not in text_of(analyst(client, collection).get(URL))
    pair = Pair.objects.get(query__key="q1", document__key="a")
    long_ago = timezone.now() - timedelta(days=9_999)
    Anchor.objects.create(pair=pair, use=Anchor.Use.GOLD, grade=grade(collection, "3"), created_at=long_ago)
    # Wilson's interval of two in three, by hand: 0.6667 -> 0.2077 to 0.9385.
    assert "Gold hits 67 % 2 of 3, 95 % interval 21 % to 94 %" in text_of(client.get(URL))


@pytest.mark.parametrize("measure", ["NumRet@10", "Judged@10", "RBPResidual(p=0.8)", "IDCG@10", "NumRel"])
def test_where_more_is_not_better_nothing_is_called_better(client, measure):
    """x returns a document more than y on each query, and half of what it returns is judged."""
    queries = [f"q{n}" for n in range(1, 13)]
    rankings = {
        "x": dict.fromkeys(queries, "acbd"),
        "y": dict.fromkeys(queries, "ab"),
        "z": dict.fromkeys(queries, "a"),
    }
    grades = {(query, document): value for query in queries for document, value in (("a", "3"), ("b", "1"))}
    collection = make_hills(queries=queries, rankings=rankings, grades=grades)
    analyst(client, collection)
    found, _ = frozen.freeze(collection, "one", scores.Asked.of(collection, measure=measure))
    frozen.freeze(collection, "two", scores.Asked.of(collection, measure=measure, relevant_from="2"))
    pages = [
        "",
        "compare/",
        "differences/",
        "queries/",
        "agreement/",
        "frozen/",
        "frozen/new/",
        f"frozen/{found.short}/",
    ]
    pages += [f"systems/{collection.systems.get(name='y').pk}/", "frozen/compare/"]
    for page in pages:
        response = client.get(URL + page, {} if page.startswith("frozen/compare") else {"measure": measure})
        told = re.sub(r'<form class="form ask".*?</form>', " ", response.content.decode(), flags=re.S)
        response.content = told.encode()
        assert not re.search(r"\b(better|best|worse|worst|easiest|hardest|wins?|leads?)\b", text_of(response)), (
            page
        )
        assert not re.search(r'"text": "(easiest|hardest)', told), page


def test_one_answer_stands_first_and_the_rest_is_folded(client):
    """The heading names the collection, one chart is open, and how it is computed is written once beside it."""
    page = analyst(client, make_hills()).get(URL).content.decode()
    assert re.search(r"<h1>Hills</h1>\s*<p class=\"lead\"><b>good</b> has the highest mean nDCG@10, 0\.82\.", page)
    shown = re.sub(r"<details.*?</details>", "", page[: page.index('<div class="folds">')], flags=re.S)
    assert shown.count("data-spec") == 1 and page.count("data-spec") == 3
    assert page.count("nDCG@10 lin log2 ideal=judged unj=0 neg=minmax") == 1
    # No tile without news: every query counts here.
    assert "Undefined queries" not in shown and "Ratings" not in shown


def test_no_tile_stands_without_a_number(client):
    response = analyst(client, make_unjudged()).get(URL)  # with one rater
    tiles = response.content.decode().partition('<dl class="trust"')[2].partition("</dl>")[0]
    assert "–" not in tiles and "Agreement" not in tiles
