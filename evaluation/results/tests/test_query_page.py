"""One query laid open: the sums on the page are those worked out in `hills`."""

import pytest

from evaluation.tests.hills import GRADES, RANKINGS, analyst, make_hills, make_unjudged, rate, rows_in, text_of
from ratings.desk import queue
from ratings.models import Rater, Role
from ratings.people.names import pseudonym
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater

pytestmark = pytest.mark.django_db


# mixed has d c a: 1 - 1 / log2(3) + 3 / 2 = 1.869070, so nDCG 2.869070 / 4.630930 = 0.619545.
THREE = RANKINGS | {"mixed": {"q1": "dca"}}


def address(collection, key: str = "q1") -> str:
    return f"/collections/{collection.slug}/queries/{collection.queries.get(key=key).pk}/"


def test_the_sums_of_a_query_with_a_harmful_document(client):
    collection = make_hills()
    visitor = analyst(client, collection)
    response = visitor.get(address(collection))
    page = text_of(response)
    # (3.630930 - 0.892789) / 4.630930 = 0.5913
    for sums in (
        f"good scores 1.00 , bad 0.41 . {WHY}",
        BY_RANK,
        "Empty list 0.2159 0.2159 0.0000 1 1.0000 −0.2159 0.6478 +0.8638 2 0.6309 0.4087 0.1362 −0.2725 "
        "3 0.5000 0.0000 0.0000 0.0000 nDCG@10 0.4087 1.0000 +0.5913",
        "c −1 × 1.0000 −1.0000",
        "3 × 0.6309 +1.8928 DCG, the sum 0.8928",
        "1 × 0.6309 +0.6309",
        "Worst list (−1 + 1) / (3.63093 + 1) 0.0000",
        "(0 + 1) / (3.63093 + 1) 0.2159",
        "bad (0.892789 + 1) / (3.63093 + 1) 0.4087",
        "good (3.63093 + 1) / (3.63093 + 1) 1.0000",
    ):
        assert sums in page
    turned = visitor.get(address(collection), {"system": ["good", "bad"]})
    assert turned.context["scored"] == response.context["scored"]


# 4.630930 is IDCG - W. bad: -1 and 1.892789, good: 3, 0.630930 and 0, each divided by that.
WHY = "In bad, “Title a” (3) is at rank 2, not 1; “Title c” (−1) does harm at rank 1; “Title d” (1) is missing."
BY_RANK = "Against good, bad loses 0.8638 at rank 1; it wins back 0.2725 at rank 2."


def test_a_sum_is_split_into_what_its_ranks_add(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection), {"measure": "CG@10"}))
    assert f"good scores 4.00 , bad 2.00 . {WHY}" in page
    assert "Against good, bad loses 4.0000 at rank 1; it wins back 2.0000" in page
    assert "Difference 1 1.0000 −1.0000 3.0000 +4.0000 2 0.6309 3.0000 1.0000 −2.0000" in page


@pytest.mark.parametrize("measure", ["AP", "IDCG@10"])
def test_of_a_measure_that_is_not_split_the_parts_are_those_of_ndcg(client, measure):
    collection = make_hills()
    response = analyst(client, collection).get(address(collection), {"measure": measure})
    assert str(response.context["parts"]["measure"]) == measure.replace(measure.partition("@")[0], "nDCG")
    assert BY_RANK in text_of(response) and not response.context["why"]


def test_an_unjudged_document_at_the_top_is_told_before_the_rest(client):
    rankings = {"early": {"q1": "ab"}, "late": {"q1": "ba"}}
    collection = make_hills(grades={("q1", "a"): "3"}, rankings=rankings)
    page = text_of(analyst(client, collection).get(address(collection)))
    assert "In late, the first result is unjudged; “Title a” (3) is at rank 2, not 1." in page


def test_lists_stand_first_and_how_they_are_computed_is_written_once(client):
    collection = make_hills()
    page = analyst(client, collection).get(address(collection)).content.decode()
    assert page.index('id="lists"') < page.index('<div class="folds">') < page.index('id="parts"')
    assert "data-spec" not in page[: page.index('<div class="folds">')]
    assert page.count("nDCG@10 lin log2 ideal=judged unj=0 neg=minmax") == 1


def test_three_lists_are_each_set_against_the_first(client):
    collection = make_hills(rankings=THREE)
    response = analyst(client, collection).get(address(collection), {"system": ["good", "bad", "mixed"]})
    page = text_of(response)
    assert "good scores 1.00 , mixed 0.62 , bad 0.41 ." in page
    # mixed - good: (1 - 3), (-0.630930 - 0.630930) and 1.5, each divided by 4.630930
    mixed = "Against good, mixed loses 0.4319 at rank 1 and 0.2725 at rank 2; it wins back 0.3239 at rank 3."
    assert f"{BY_RANK} {mixed}" in page
    assert "3 0.5000 0.0000 0.0000 0.0000 0.3239 +0.3239" in page
    assert "nDCG@10 1.0000 0.4087 −0.5913 0.6195 −0.3805" in page


def test_the_sums_of_a_query_with_an_unjudged_document(client):
    collection = make_hills()
    page = text_of(analyst(client, collection).get(address(collection, "q2")))
    assert "good 1.26186 / 2 0.6309" in page and "Worst list" not in page
    assert "a counted 0 0.0000" in page
    # Of the pool only a is open, which good has at rank 1 and bad not at all. At -1: good (-1 + 1.261860 + 1) /
    # (2 + 1) = 0.420620, an empty list 1 / 3. At 2 or 3: good 1, an empty list 0.
    assert "good 0.6309 0.4206 to 1.0000 1.2619 2.0000 50.0 %" in page
    assert "bad 0.0000 0.0000 to 0.3333 0.0000 0.0000 –" in page
    rate(collection, {("q2", "a"): "0"})
    assert "good 0.6309 final, 0.6309 1.2619" in text_of(client.get(address(collection, "q2")))


def names_of(response) -> list[str]:
    return [side["system"] for side in response.context["sides"]]


def test_the_address_chooses_the_lists_and_their_order(client):
    collection = make_hills(rankings=THREE)
    visitor = analyst(client, collection)
    assert names_of(visitor.get(address(collection))) == ["bad", "good"]  # the worst and the best
    assert names_of(visitor.get(address(collection), {"system": "mixed"})) == ["mixed", "good"]
    assert names_of(visitor.get(address(collection), {"system": ["good", "", "good"]})) == ["good", "mixed"]
    response = visitor.get(address(collection), {"system": ["mixed", "good", "bad"], "measure": "DCG@5"})
    assert names_of(response) == ["mixed", "good", "bad"]
    page = response.content.decode()
    end = "?measure=DCG@5&amp;system=mixed&amp;system=good&amp;system=bad"
    assert page.count(f'q2"{end}') == 0 and f'queries/{collection.queries.get(key="q2").pk}/{end}"' in page
    assert f'scores.csv{end}"' in page and f'scores.json{end}"' in page
    assert '<input type="hidden" name="measure" value="DCG@5">' in page


@pytest.mark.parametrize("place", ["", "scores.csv", "scores.json", "documents/"])
def test_lists_that_cannot_be_shown_are_refused(client, place):
    rankings = {"good": {"q1": "ad"}} | {f"system {n:02}": {"q1": "ab"} for n in range(9)}
    collection = make_hills(rankings=rankings)
    analyst(client, collection)
    for systems in (["god"], [*rankings][1:]):
        response = client.get(address(collection) + place, {"system": systems})
        assert response.status_code == 400


def test_the_lines_join_the_same_document(client):
    collection = make_hills()
    links = analyst(client, collection).get(address(collection)).context["sides"][0]["links"]
    # a: second in bad, first in good. c is only in bad, d and b only in good.
    assert links["shared"] == 1
    assert [line["end"] for line in links["lines"] if line["end"]] == [27]
    assert len(links["lines"]) == 4


def ways(response) -> list[list[tuple[str, str]]]:
    return [[(row["came"], row["goes"]) for row in side["rows"]] for side in response.context["sides"]]


def test_each_row_tells_its_way_from_list_to_list(client):
    collection = make_hills(rankings=THREE)
    asked = {"system": ["good", "bad", "mixed"]}
    response = analyst(client, collection).get(address(collection), asked)
    good, bad, mixed = ways(response)
    assert good == [("", ""), ("", "gone"), ("", "gone")]  # a d b, of which bad has a
    assert bad == [("new", ""), ("↓ was 1", "")]  # c a, which both are in mixed
    assert mixed == [("new", ""), ("↓ was 1", ""), ("↓ was 2", "")]  # d c a
    assert "2 gone 1 : its ratings Title d" in text_of(response)
    # Down to rank 1: a of good stands second in bad, c of bad second in mixed.
    assert ways(client.get(address(collection), asked | {"measure": "nDCG@1"})) == [
        [("", "↓ to 2")],
        [("new", "↓ to 2")],
        [("new", "")],
    ]


def test_without_systems_the_files_are_without_rows(client):
    collection = make_collection()
    visitor = analyst(client, collection)
    lines = visitor.get(address(collection) + "scores.csv").content.decode("utf-8-sig").splitlines()
    assert len(lines) == 1 and lines[0].startswith("query,")
    assert visitor.get(address(collection) + "scores.json").json()["results"] == []
    response = visitor.get(address(collection) + "scores.csv", {"system": "none"})
    assert response.status_code == 400


def test_a_query_that_nobody_judged_counts_in_no_mean(client):
    collection = make_unjudged()
    asked = {"measure": "DCG@10", "unjudged": "1"}
    page = text_of(analyst(client, collection).get(address(collection, "q3"), asked))
    assert "bad scores 2.13 (counts in no mean: not judged)" in page
    document = client.get(address(collection, "q3") + "scores.json", asked).json()
    assert document["differences"] == []
    assert [(each["reason"], each["why"]["DCG@10"]) for each in document["results"]] == [("not judged",) * 2] * 2
    assert "IDCG" not in text_of(client.get(address(collection, "q3"))).split("How it is computed")[0]


def test_long_rankings_without_a_cutoff_are_cut_in_the_page_and_not_in_the_sum(client):
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 60)]
    collection = make_hills(
        documents=letters, grades={("q1", letters[-1]): "3"}, rankings={"good": {"q1": "".join(letters)}}
    )
    response = analyst(client, collection).get(address(collection), {"measure": "nDCG"})
    page = text_of(response)
    assert "The sum includes 10 more ranks that are not shown." in page
    assert "DCG, the sum 0.5058" in page  # 3 / log2(61)


def test_the_files_hold_the_parts_of_the_lists_that_the_address_names(client):
    collection = make_hills(rankings=THREE)
    asked = {"system": ["good", "mixed"]}
    visitor = analyst(client, collection)
    document = visitor.get(address(collection) + "scores.json", asked).json()
    (told,) = document["differences"]
    assert (told["measure"], told["first"], told["second"], told["one_ideal"]) == (
        "nDCG@10",
        "good",
        "mixed",
        True,
    )
    assert [part["rank"] for part in told["parts"]] == [0, 1, 2, 3]
    by_rank = [0, -0.431879, -0.272485, 0.323909]
    assert [part["difference"] for part in told["parts"]] == pytest.approx(by_rank, abs=1e-6)
    assert [part["second"] for part in told["parts"]] == pytest.approx(
        [0.215939, 0.215939, -0.136243, 0.323909], abs=1e-6
    )
    assert told["difference"] == pytest.approx(-0.380455, abs=1e-6)
    assert told["second_value"] == next(e["nDCG@10"] for e in document["results"] if e["system"] == "mixed")
    rows = rows_in(visitor.get(address(collection) + "scores.csv", asked))
    rows = [row for row in rows if row["list"] == "difference"]
    assert [(row["of"], row["system"], row["against"], row["rank"]) for row in rows] == [
        ("nDCG@10", "mixed", "good", rank) for rank in "0123"
    ]
    assert [float(row["difference"]) for row in rows] == [part["difference"] for part in told["parts"]]
    # As the page, without names: what sets the best apart from the worst.
    (told,) = visitor.get(address(collection) + "scores.json", {"measure": "AP"}).json()["differences"]
    assert (told["measure"], told["first"], told["second"]) == ("nDCG", "bad", "good")


def said_of(response, key: str) -> dict:
    return next(judged for judged in response.context["opinions"] if judged["document"].key == key)


def make_disputed():
    """Of q1: a has 3 by an expert and 1 by boris; boris alone answered b, and cannot judge it; c is decided."""
    collection = make_hills(grades={key: value for key, value in GRADES.items() if key != ("q1", "b")})
    boris = make_rater(collection, "canary-boris")
    queue.save(
        boris,
        make_pair(collection, "q1", "a"),
        queue.Submission(grade=grade(collection, "1"), comment="Only <half> of it."),
    )
    queue.save(
        boris,
        make_pair(collection, "q1", "b", wanted=2),
        queue.Submission(reason="language", comment="It is Welsh."),
    )
    decided = collection.queries.get(key="q1").pairs.get(document__key="c")
    adjudicate(decided, grade(collection, "2"), reason="It was corrected.", actor=None)
    return collection, boris


@pytest.mark.parametrize("role", [Role.ANALYST, Role.ADMIN])
def test_a_grade_opens_what_each_rater_said_without_their_names(client, role):
    collection, boris = make_disputed()
    expert = collection.raters.get(name="expert")
    client.force_login(make_member(collection, "eva", role))
    response = client.get(address(collection))
    body, page = response.content.decode(), text_of(response)
    assert "canary" not in body and "expert" not in body
    a = said_of(response, "a")
    assert a["grade"] == 2 and "From two grades: the mean of the grades." in page
    assert {(each["rater"], each["grade"].plain, each["comment"]) for each in a["opinions"]} == {
        (pseudonym(boris.pk), "1", "Only <half> of it."),
        (pseudonym(expert.pk), "3", ""),
    }
    assert [each["rater"] for each in a["opinions"]] == sorted(each["rater"] for each in a["opinions"])
    assert f"{pseudonym(boris.pk)} 1 Related Only <half> of it." in page and "Only &lt;half&gt; of it." in body
    assert said_of(response, "b")["grade"] is None
    assert "? unjudged Unjudged: nobody who was asked could judge it." in page
    assert f"{pseudonym(boris.pk)} cannot judge: I do not read this language It is Welsh." in page
    assert "2 Decided as 2 Good, overriding the ratings: It was corrected." in page
    # Each opens by the grade in any list, of which the ideal names the document itself.
    opens = f'popovertarget="said-{a["document"].pk}"'
    assert (
        body.count(opens) == 4 and f'id="said-{a["document"].pk}" popover' in body
    )  # two lists, the ideal, "Close"
    assert "2 Title a: its ratings 2 × 1.0000" in page
    # Names are in the history of the pair, for admins alone.
    assert (f"/{a['pair'].token}/" in body) == (role == Role.ADMIN)


def test_what_does_not_count_and_what_weighs_is_told(client):
    collection, boris = make_disputed()
    Rater.objects.filter(pk=boris.pk).update(weight="0.5")
    response = analyst(client, collection).get(
        address(collection), {"rule": "weighted", "adjudications": "ignore"}
    )
    apart = {each["rater"]: each["apart"] for each in said_of(response, "a")["opinions"]}
    assert apart[pseudonym(boris.pk)] == "weight 0.5"
    assert said_of(response, "a")["grade"] == pytest.approx((3 + 0.5) / 1.5)
    assert "From one grade: " in text_of(response)
    assert "A decision for 2 Good is not used, as asked." in text_of(response)


@pytest.mark.parametrize(
    "options",
    [
        {"negatives": "raw"},
        {"negatives": "minmax_closed", "undefined": "zero"},
        {"negatives": "clip", "gain": "exponential", "discount": "jk2002"},
        {"unjudged": "condensed", "missing": "skip"},
        {"unjudged": "require"},
        {"unjudged": "3", "ties": "score"},
        {"ties": "average", "ideal": "retrieved", "undefined": "zero"},
        {"profile": "trec_eval", "measure": "nDCG"},
    ],
)
@pytest.mark.parametrize("key", ["q1", "q2"])
def test_page_and_files_answer_with_all_options(client, options, key):
    collection = make_hills(rankings=THREE)
    visitor = analyst(client, collection)
    asked = options | {"system": ["mixed", "good", "bad"]}
    assert visitor.get(address(collection, key), asked).status_code == 200
    for told in visitor.get(address(collection, key) + "scores.json", asked).json()["differences"]:
        total = sum(part["difference"] for part in told["parts"])
        assert total == pytest.approx(told["second_value"] - told["first_value"], abs=1e-12)
    assert visitor.get(address(collection, key) + "scores.csv", asked).status_code == 200


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


def test_the_documents_are_shown_as_raters_see_them_by_their_best_rank(client, django_assert_max_num_queries):
    collection = make_hills()
    visitor = analyst(client, collection)
    assert f"{address(collection)}documents/?system=" in visitor.get(address(collection)).content.decode()
    documents = collection.documents.filter(key__in=RANKINGS["good"]["q1"])
    documents.update(body="Seen by raters.", fields={"price": 5})
    with django_assert_max_num_queries(25):
        response = visitor.get(f"{address(collection)}documents/", {"system": ["good", "bad"]})
    cards = response.context["cards"]
    ranks = [min(rank for _, rank in card["ranks"] if rank) for card in cards]
    assert ranks == sorted(ranks)
    assert {card["document"].key for card in cards} == set(RANKINGS["good"]["q1"] + RANKINGS["bad"]["q1"])
    first = next(card for card in cards if card["ranks"][0] == ("good", 1))
    assert first["document"].key == RANKINGS["good"]["q1"][0]
    assert "Seen by raters." in first["drawn"].html and "price" not in first["drawn"].html
