"""The pages of frozen evaluations: a new one, the list with the line over time, one of them, two compared."""

import io
import json
import re
import zipfile

import pytest
from django.db.models import QuerySet
from django.test import Client

from evaluation import frozen
from evaluation.comparing.views import compare
from evaluation.frozen.changes import Changes
from evaluation.frozen.tests.test_frozen import MEASURES, freeze
from evaluation.models import FrozenEvaluation, FrozenPart
from evaluation.tests.hills import analyst, make_field, make_hills, make_unjudged, rate, rows_in, spec_of, text_of
from ratings.models import Guidelines, Role
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_ranking

pytestmark = pytest.mark.django_db
URL = "/collections/hills/frozen/"
LABEL = "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax"


def decide(collection, query: str, document: str, value: str) -> None:
    adjudicate(make_pair(collection, query, document), grade(collection, value), reason="x", actor=None)


def two_of(collection) -> tuple[FrozenEvaluation, FrozenEvaluation]:
    """Before and after: a judgment came, one changed; good has another list for q1; new guidelines."""
    first, _ = freeze(collection, "before")
    decide(collection, "q2", "a", "3")
    decide(collection, "q1", "d", "2")
    collection.systems.get(name="good").rankings.filter(query__key="q1").delete()
    make_ranking(collection, "good", "q1", "dab")
    Guidelines.objects.create(collection=collection, version=1, text="new")
    collection.touch()
    second, _ = freeze(collection, "after")
    return first, second


# To freeze one


def test_what_the_overview_shows_is_frozen_with_its_options(client):
    analyst(client, make_hills())
    overview = client.get("/collections/hills/?measure=P@5&relevant_from=2").content.decode()
    address = re.search(r'href="(/collections/hills/frozen/new/[^"]*)"', overview)[1].replace("&amp;", "&")
    response = client.post(address, {"name": " The  first ", "note": "Why."}, follow=True)
    assert response.redirect_chain[0][1] == 302
    found = FrozenEvaluation.objects.get()
    assert (found.name, found.note, found.created_by.username) == ("The first", "Why.", "ann")
    asked = frozen.settings_of(found)
    assert [str(measure) for measure in asked.measures][:4] == ["P@5", "CG@5", "DCG@5", "IDCG@5"]
    assert asked.options.relevant_from == 2


@pytest.mark.both_databases
def test_the_same_again_leads_to_the_one_that_is_there(client):
    analyst(client, make_hills())
    for name in ("first", "second"):
        response = client.post(URL + "new/", {"name": name}, follow=True)
    assert "already frozen as “first”" in text_of(response)
    assert FrozenEvaluation.objects.get().name == "first"


@pytest.mark.both_databases
def test_a_name_that_will_not_do_freezes_nothing_and_the_form_is_kept(client):
    collection = make_hills()
    freeze(collection, "taken")
    analyst(client, collection)
    for name in ("", "x" * 121, "taken"):
        response = client.post(URL + "new/", {"name": name, "note": "my note"})
        assert response.status_code == 400 and "my note" in response.content.decode()
    assert FrozenEvaluation.objects.count() == 1


@pytest.mark.both_databases
def test_options_without_a_meaning_freeze_nothing(client):
    response = analyst(client, make_hills()).post(URL + "new/?gain=cubic", {"name": "x"})
    assert response.status_code == 400 and not FrozenEvaluation.objects.exists()


@pytest.mark.parametrize("role", [Role.RATER, None])
def test_who_does_not_see_results_can_freeze_nothing(client, role):
    collection = make_hills()
    client.force_login(make_member(collection if role else make_collection("sea"), "sam", role or Role.ADMIN))
    assert client.post(URL + "new/", {"name": "x"}).status_code == 404
    assert not FrozenEvaluation.objects.exists()


def test_without_a_csrf_token_nothing_is_frozen():
    client = Client(enforce_csrf_checks=True)
    assert analyst(client, make_hills()).post(URL + "new/", {"name": "x"}).status_code == 403
    assert not FrozenEvaluation.objects.exists()


# One of them


def test_one_keeps_its_numbers_when_ratings_come(client):
    collection = make_hills()
    found, _ = freeze(collection)
    rate(collection, {("q1", "a"): "0"}, rater="second")
    response = analyst(client, collection).get(f"{URL}{found.short}/")
    page = text_of(response)
    assert "good has the highest mean nDCG@10, 0.82" in page and "bad 0.2044" in page
    assert found.hash in page and "5 from 5 ratings of 1 rater" in page and LABEL in page
    assert [row["system"] for row in spec_of(response, "means")["datasets"]["means"]] == ["good", "bad"]
    assert text_of(client.get(f"{URL}{found.hash}/")) == page


@pytest.mark.parametrize("measure", ["nDCG@10", "NumRet@10"])
@pytest.mark.parametrize("first", [{"x": 12, "y": 10, "z": 0}, {"x": 12, "y": 2}, {"x": 3, "y": 3}])
def test_results_the_page_before_freezing_and_the_frozen_page_say_the_same_of_the_best(client, first, measure):
    """The intervals of the means of x and y overlap where the test of their differences tells them apart."""
    collection = make_field(first=first)
    analyst(client, collection)
    said = [
        client.get(f"/collections/hills/{page}", {"measure": measure}).context["lead"]
        for page in ("", "frozen/new/")
    ]
    found, _ = freeze(collection, measures=[measure, "nDCG@5"])
    said.append(client.get(f"{URL}{found.short}/").context["lead"])
    assert said == said[:1] * 3


def test_the_lead_and_the_paragraph_on_methods_have_the_same_verdicts_on_many_systems(client, monkeypatch):
    """Both test all pairs. The best two alone would differ significantly."""
    monkeypatch.setattr(compare, "MOST_COMPARED", 2)
    collection = make_field(first={"x": 12, "y": 8, "z": 0})
    found, _ = freeze(collection, measures=["nDCG@10"])
    context = analyst(client, collection).get(f"{URL}{found.short}/").context
    assert re.search(r"y by \S+ \([^)]*; no difference shown\), z by \S+ \([^;]*\)\.", context["methods"])
    assert "significantly better than <b>z</b>" in context["lead"]
    assert context["lead"].endswith("Whether it is better than <b>y</b> <em>cannot be told</em>.")


def test_its_files_have_what_was_frozen(client):
    collection = make_hills()
    found, _ = freeze(collection)
    analyst(client, collection)
    rate(collection, {("q1", "a"): "0"}, rater="second")
    rows = rows_in(client.get(f"{URL}{found.short}/means.csv"))
    means = {(row["system"], row["measure"]): float(row["mean"]) for row in rows}
    assert means["good", "nDCG@10"] == pytest.approx(0.8154648767857287, abs=1e-15)
    document = client.get(f"{URL}{found.short}/evaluation.json").json()
    assert document["results"][4]["per_query"] == {"q1": 1.0, "q2": 0.6309297535714575}
    rows = rows_in(client.get(f"{URL}{found.short}/queries.csv"))
    assert len(rows) == 2 * 2 * len(MEASURES)
    response = client.get(f"{URL}{found.short}/bundle.zip", headers={"Accept-Encoding": "gzip"})
    assert response["Content-Disposition"] == f'attachment; filename="hills-first-{found.short}.zip"'
    assert response.streaming and response["Content-Encoding"] == "identity"
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))
    assert archive.testzip() is None and json.loads(archive.read("about.json"))["hash"] == found.hash


def test_of_a_bundle_that_cannot_be_made_nothing_is_sent(client, monkeypatch):
    collection = make_hills()
    found, _ = freeze(collection)
    client = analyst(client, collection)
    client.raise_request_exception = False
    address = f"{URL}{found.short}/bundle.zip"

    def breaks(*asked, **more):
        raise RuntimeError("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr("evaluation.frozen.bundle.archive.pictures.svg", breaks)
        response = client.get(address)
    assert response.status_code == 500 and "Content-Disposition" not in response
    other, _ = freeze(make_hills("other", grades={("q1", "a"): "0", ("q2", "b"): "1"}))
    judgments = other.parts.get(name="qrels.txt").content
    QuerySet(FrozenPart).filter(frozen=found, name="judgments.jsonl").update(content=judgments)
    response = client.get(address)
    assert response.status_code == 500 and "Content-Disposition" not in response
    assert "judgments.jsonl is not what was frozen" in text_of(response)


@pytest.mark.parametrize("key", ["0" * 12, "abc", "first", "../..", "Z" * 12])
def test_what_is_not_frozen_is_not_found(client, key):
    collection = make_hills()
    freeze(collection)
    assert analyst(client, collection).get(f"{URL}{key}/").status_code == 404


def test_nobody_finds_those_of_another_collection(client):
    found, _ = freeze(make_hills())
    make_hills("sea")
    client.force_login(make_member(make_collection("other"), "sam", Role.ADMIN))
    assert client.get(f"{URL}{found.short}/").status_code == 404
    analyst(client, make_collection("third"), "ben")
    for name in ("", "bundle.zip", "means.csv"):
        assert client.get(f"/collections/third/frozen/{found.short}/{name}").status_code == 404


# The list and the line


def test_the_line_has_the_means_in_order_and_marks_what_changed(client):
    collection = make_hills()
    two_of(collection)
    response = analyst(client, collection).get(URL)
    data = spec_of(response, "over-time")["datasets"]
    # q1 afterwards: DCG of d a b 2 + 3 / log2(3) = 3.892789, ideal 3 + 2 / log2(3) = 4.261860, worst −1; q2: 1.
    after = ((3.8927892607 + 1) / (4.2618595071 + 1) + 1) / 2
    means = {(row["system"], row["place"]): row["mean"] for row in data["means"]}
    assert means["good", 1] == pytest.approx(0.8154648768) and means["good", 2] == pytest.approx(after)
    # bad afterwards: DCG of c a −1 + 3 / log2(3) = 0.892789, so (0.892789 + 1) / 5.261860 on q1; q2: 0.
    assert means["bad", 2] == pytest.approx((0.8927892607 + 1) / 5.2618595071 / 2)
    assert data["marks"] == [{"place": 1.5, "what": "guidelines, systems"}]
    assert f"good has the highest mean nDCG@10, {after:.2f} in the latest." in text_of(response)


def test_what_was_frozen_with_other_options_is_not_on_the_line(client):
    collection = make_hills()
    freeze(collection, "first")
    freeze(collection, "other", changes={"gain": "exponential"})
    freeze(collection, "third", measures=["nDCG@10"])
    data = spec_of(analyst(client, collection).get(URL, {"line": LABEL}), "over-time")["datasets"]
    assert {row["name"] for row in data["means"]} == {"first", "third"}


def test_a_line_that_cannot_be_is_not_found(client):
    collection = make_hills()
    freeze(collection)
    assert analyst(client, collection).get(URL, {"line": "nDCG@7 lin"}).status_code == 404


# Two compared


def test_means_and_queries_stand_side_by_side(client):
    collection = make_hills()
    two_of(collection)
    response = analyst(client, collection).get(URL + "compare/", {"system": "bad"})
    # bad on q1: 1.892789 / 4.630930 before, 1.892789 / (4.261860 + 1) after; nothing on q2.
    before, after = 1.8927892607 / 4.6309297536, 1.8927892607 / 5.2618595071
    assert f"text of q1 q1 {before:.4f} {after:.4f} −{before - after:.4f} 1" in text_of(response)
    changed = {row["system"]: row["difference"] for row in response.context["means"]}
    assert changed["bad"] == pytest.approx((after - before) / 2)
    bars = spec_of(response, "bars")["datasets"]["deltas"]
    assert [(row["query"], row["value"] >= 0) for row in bars] == [("q2", True), ("q1", False)]
    assert all(row["value"] == row["second"] - row["first"] and "/queries/" in row["url"] for row in bars)


def test_a_mean_that_only_one_of_them_has_differs_by_no_number(client):
    collection = make_hills(grades={("q1", "a"): "0"})
    freeze(collection, "before")
    decide(collection, "q1", "a", "3")
    freeze(collection, "after")
    client = analyst(client, collection)
    latest = client.get(URL + "compare/").context
    asked = {"first": latest["second"].short, "second": latest["first"].short}
    for rows in (latest["means"], client.get(URL + "compare/", asked).context["means"]):
        good = next(row for row in rows if row["system"] == "good")
        assert {good["before"].mean, good["after"].mean} == {None, 1.0}
        assert good["difference"] is None


def test_options_that_differ_are_named(client):
    collection = make_hills()
    freeze(collection, rule="median")
    freeze(collection, "second", changes={"gain": "exponential"})
    page = text_of(analyst(client, collection).get(URL + "compare/"))
    assert "gain : linear became exponential" in page and "rule : median became mean" in page


def test_without_a_measure_in_common_there_is_no_number(client):
    collection = make_hills()
    freeze(collection, measures=["AP"])
    freeze(collection, "second", measures=["P@5"])
    assert analyst(client, collection).get(URL + "compare/changes.csv").status_code == 404


def test_the_files_of_a_comparison_have_every_digit(client):
    collection = make_hills()
    two_of(collection)
    found = rows_in(analyst(client, collection).get(URL + "compare/changes.csv"))
    (row,) = (row for row in found if (row["system"], row["query"]) == ("good", "q2"))
    assert (row["before"], row["after"]) == ("0.6309297535714575", "1.0")
    assert float(row["difference"]) == 1.0 - 0.6309297535714575
    rows = [[*row.values()] for row in rows_in(client.get(URL + "compare/changes.csv?judgments"))]
    assert rows == [["q1", "d", "changed", "1.0", "2.0"], ["q2", "a", "added", "", "3.0"]]


def test_a_query_that_counts_in_no_mean_is_no_change_and_says_why(client):
    collection = make_unjudged()
    one, _ = freeze(collection, "before", measures=["CG@10"], changes={"unjudged": "1"})
    rate(collection, {("q3", "a"): "3"})
    freeze(collection, "after", measures=["CG@10"], changes={"unjudged": "1"})
    rows = rows_in(analyst(client, collection).get(URL + "compare/changes.csv"))
    (row,) = (row for row in rows if (row["system"], row["query"]) == ("good", "q3"))
    said = [row[name] for name in ("before", "after", "difference", "why before", "why after")]
    assert said == ["2.0", "4.0", "", "not judged", ""]
    result = client.get(f"{URL}{one.short}/evaluation.json").json()["results"][0]
    assert result["why_per_query"] == {"q3": "not judged"}


@pytest.mark.parametrize("asked", [{"first": "0" * 12}, {"measure": "AP@3"}, {"system": "worse"}])
def test_what_cannot_be_compared_is_not_found(client, asked):
    collection = make_hills()
    two_of(collection)
    assert analyst(client, collection).get(URL + "compare/", asked).status_code == 404


def test_the_same_grades_in_another_form_are_no_change():
    """A file with one negative grade has another form than qrels; the other grades are the same."""
    collection = make_hills(grades={("q1", "a"): "3", ("q1", "d"): "1", ("q2", "b"): "2"})
    first, _ = freeze(collection)
    decide(collection, "q1", "c", "-1")
    second, _ = freeze(collection, "second")
    assert list(Changes(first, second).each_judgment()) == [("q1", "c", None, -1.0)]


def test_other_scores_in_the_same_order_are_no_other_ranking():
    collection = make_hills()
    first, _ = freeze(collection)
    collection.systems.get(name="good").rankings.filter(query__key="q1").delete()
    make_ranking(collection, "good", "q1", "adb", [30.0, 20.0, 10.0])
    collection.touch()
    second, new = freeze(collection, "second")
    assert new and Changes(first, second).rankings == {}
    assert Changes(first, second).scores == ["good"]


# All of them


def test_an_account_freezes_so_many_a_day(client, monkeypatch):
    monkeypatch.setattr("evaluation.frozen.views.frozen.MOST_A_DAY", 1)
    analyst(client, make_hills())
    sent = [client.post(f"{URL}new/?measure={name}@5", {"name": name}).status_code for name in ("P", "nDCG")]
    assert sent == [302, 429] and FrozenEvaluation.objects.count() == 1


def test_the_name_that_the_form_offers_is_free_a_second_time_on_a_day(client):
    collection = make_hills()
    for place in range(3):
        form = analyst(client, collection, f"ana{place}").get(f"{URL}new/").context["freeze_form"]
        freeze(collection, form["name"].value())
        decide(collection, "q1", "bcd"[place], "3")  # equal content is frozen only once
    names = list(collection.frozen_evaluations.order_by("pk").values_list("name", flat=True))
    assert names[1:] == [f"{names[0]} (2)", f"{names[0]} (3)"]
