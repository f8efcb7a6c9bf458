"""Expected values on the overview, on Compare and on their own page: beside the plain ones, never instead."""

import json
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.deciding.drawing import draw_next
from evaluation.deciding.report import expected_of
from evaluation.measures import Options, parse_measure
from evaluation.page.numbers import decimals, likely
from evaluation.scores import Asked
from ratings.models import Collection, Document, Ranking, System

from ...tests.hills import analyst, rows_in, spec_of, text_of
from ...tests.judged_worlds import Judged, make_rater, unfinished

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

URL, ASKED = "/collections/world/", {"measure": "nDCG@5"}
EXPECTED, COMPARE = f"{URL}expected/", f"{URL}compare/"
MISLEADS = "The plain means mislead until all pairs are judged"
NOTHING_FOUND = "One query has nothing relevant found yet."


@pytest.fixture
def judged() -> Judged:
    return unfinished()


def told_of(judged: Judged):
    return expected_of(judged.collection, Asked(parse_measure("nDCG@5"), Options()))


def as_order(judged: Judged, order: str) -> None:
    Collection.objects.filter(pk=judged.collection.pk).update(order=order)


# The overview


def test_with_the_order_on_the_expected_value_leads(client, judged):
    told = told_of(judged)
    page = text_of(analyst(client, judged.collection).get(URL, ASKED))
    first = told.means[0]
    assert f"{first.system} has the highest expected mean nDCG@5, {decimals(first.mean)}" in page
    places = []
    for row in told.means:
        numbers = f"{decimals(row.mean)} {decimals(row.low)} to {decimals(row.high)} {decimals(row.plain)}"
        places.append(page.index(f"{row.system} {numbers}"))
    assert places == sorted(places)
    assert "nDCG@5 lin log2 ideal=judged unj=0 neg=minmax est=design" in page
    assert "Order of the systems" in page and f"chance of a wrong order {text_of_html(likely(told.wrong))}" in page
    assert MISLEADS in page and NOTHING_FOUND in page


def test_with_another_order_the_plain_value_leads_and_the_expected_one_stands_beside(client, judged):
    as_order(judged, "depth")
    page = text_of(analyst(client, judged.collection).get(URL, ASKED))
    best = max(told_of(judged).means, key=lambda row: row.plain)
    assert f"{best.system} has the highest mean nDCG@5, {decimals(best.plain, 2)}" in page
    numbers = f"{decimals(best.plain)} {decimals(best.mean)} {decimals(best.low)} to {decimals(best.high)}"
    assert f"{best.system} {numbers}" in page


def test_the_chart_has_the_expected_mean_its_interval_and_the_plain_one(client, judged):
    told = told_of(judged)
    rows = spec_of(analyst(client, judged.collection).get(URL, ASKED), "means")["datasets"]["means"]
    assert [row["system"] for row in rows] == [row.system for row in told.means]
    for row, mean in zip(rows, told.means, strict=True):
        numbers = [row[name] for name in ("expected", "expected_low", "expected_high", "mean")]
        assert numbers == [mean.mean, mean.low, mean.high, mean.plain]
        assert row["lowest"] <= row["mean"] <= row["highest"] and row["low"] is not None
        assert row["final"] is False and row["leader"] is (mean.system == told.leader)


def test_only_a_chance_of_95_percent_makes_a_leader(client, judged, monkeypatch):
    analyst(client, judged.collection)
    best = told_of(judged).means[0].best
    for least, leads in ((best, True), (best + 1e-9, False)):
        monkeypatch.setattr("evaluation.scores.expected.LEADER_CHANCE", least)
        judged.collection.touch()
        rows = spec_of(client.get(URL, ASKED), "means")["datasets"]["means"]
        assert [row["leader"] for row in rows] == [leads, False, False]


def test_when_all_is_judged_the_mean_is_final(client, judged):
    judged.play(make_rater(judged.collection, "second"), 200)
    assert told_of(judged).final
    response = analyst(client, judged.collection).get(URL, ASKED)
    assert all(row["final"] for row in spec_of(response, "means")["datasets"]["means"])
    assert "mislead" not in text_of(response) and "Order of the systems" not in text_of(response)


def test_documents_outside_a_judged_pool_leave_the_means_open(client, judged):
    judged.play(make_rater(judged.collection, "second"), 200)
    late = System.objects.create(collection=judged.collection, name="late")
    new = Document.objects.create(collection=judged.collection, key="new", body="new")
    Ranking.objects.create(system=late, query=judged.collection.queries.first(), documents=[new.pk])
    judged.collection.touch()
    told = told_of(judged)
    assert not told.final and told.est == "model" and told.wrong is None
    assert [(row.low, row.high, row.best) for row in told.means] == [(None, None, None)] * 4
    assert {row.system: row.outside for row in told.means}["late"] == 1
    analyst(client, judged.collection)
    for address in (URL, EXPECTED, COMPARE):
        page = text_of(client.get(address, ASKED))
        assert "because it is final" not in page and "mislead" not in page


def test_without_rounds_nothing_is_estimated_unless_it_is_asked_for(client, monkeypatch):
    judged = unfinished(rounds=0)
    as_order(judged, "depth")
    judged.rate(make_rater(judged.collection, "first"), 30)
    told = replace(told_of(judged), nothing_found=1)
    analyst(client, judged.collection)
    with monkeypatch.context() as patched:
        patched.setattr("evaluation.deciding.estimator.expected_of", None)
        assert "est=" not in client.get(URL, ASKED).content.decode()
    monkeypatch.setattr("evaluation.deciding.estimator.expected_of", lambda *given: told)
    asked = text_of(client.get(URL, ASKED | {"expected": "1"}))
    assert f"{told.means[0].system} {decimals(told.means[0].mean)}" in asked
    assert "90 % for missing judgments" not in asked and "est=model" in asked
    assert "Order of the systems" not in asked and NOTHING_FOUND in asked


def test_the_files_name_both_numbers(client, judged):
    analyst(client, judged.collection)
    told, asked = told_of(judged), ASKED | {"expected": "1"}
    for row in rows_in(client.get(f"{URL}scores.csv", asked)):
        if row["measure"] == "nDCG@5":
            assert float(row["expected"]) == told.of(row["system"]).mean and row["options"].endswith("est=design")
        else:
            assert row["expected"] == "" and "est=" not in row["options"]
    assert "expected" not in client.get(f"{URL}scores.csv", ASKED).content.decode("utf-8-sig")
    for row in rows_in(client.get(f"{COMPARE}differences.csv", asked | {"baseline": "system0"})):
        assert float(row["expected"]) == told.difference("system0", row["system"]).difference
        assert row["options"].endswith("est=design")


def test_another_round_is_seen_though_no_rating_came(client, judged):
    analyst(client, judged.collection).get(URL, ASKED)
    draw_next(judged.collection, seed=5)
    assert client.get(EXPECTED, ASKED).context["expected_means"].rounds == 3
    assert client.get(URL, ASKED).context["expecting"].expected.rounds == 3


def test_expected_values_cost_few_queries_and_none_while_nothing_changes(client, judged):
    analyst(client, judged.collection)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as seen:
            client.get(URL, ASKED)
        counts.append(len(seen))
    as_order(judged, "depth")
    plain = unfinished(rounds=0, slug="plain")
    plain.rate(make_rater(plain.collection, "first"), 30)
    analyst(client, plain.collection, "bea")
    without = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as seen:
            client.get("/collections/plain/", ASKED)
        without.append(len(seen))
    assert counts[0] - without[0] <= 8
    assert counts[1] <= without[1] + 1  # which machines help to predict


# Compare


def test_compare_has_the_expected_differences(client, judged):
    told = told_of(judged)
    page = text_of(analyst(client, judged.collection).get(COMPARE, ASKED | {"baseline": "system0"}))
    for other in ("system1", "system2"):
        apart = told.difference("system0", other)
        assert f"{signed(apart.difference)} {signed(apart.low)} to {signed(apart.high)}" in page
    assert MISLEADS in page


def signed(value: float) -> str:
    return decimals(value) if value < 0 else f"+{decimals(value)}"


# The page of its own


def test_the_page_has_standings_pairs_and_the_rule(client, judged):
    told = told_of(judged)
    page = text_of(analyst(client, judged.collection).get(EXPECTED, ASKED))
    for row in told.means:
        chance = text_of_html(likely(row.best))
        numbers = (
            f"{decimals(row.mean)} {decimals(row.low)} to {decimals(row.high)} {chance} {decimals(row.plain)}"
        )
        assert f"{row.system} {numbers}" in page
    first, second = told.means[0].system, told.means[1].system
    assert f"{first} has the highest expected mean nDCG@5" in page and NOTHING_FOUND in page
    apart = told.difference(second, first)
    assert f"{signed(apart.low)} to {signed(apart.high)}" in page
    assert "6 of 380 such stops were wrong" in page and "Rater noise." in page
    assert f"chance of a wrong order {text_of_html(likely(told.wrong))}" in page


def text_of_html(text: str) -> str:
    from types import SimpleNamespace

    return text_of(SimpleNamespace(content=str(text).encode()))


def test_it_draws_how_means_and_order_developed(client, judged):
    response = analyst(client, judged.collection).get(EXPECTED, ASKED)
    rounds = list(judged.collection.rounds.order_by("number"))
    rows = spec_of(response, "rounds")["datasets"]["rounds"]
    of_second = [row["expected"] for row in rows if row["when"] == "before round 2"]
    assert of_second == rounds[1].seen["mean"]
    told = told_of(judged)
    now = {row["system"]: row["expected"] for row in rows if row["when"] == "now"}
    assert now == {row.system: row.mean for row in told.means}
    line = spec_of(response, "wrong")["datasets"]["rounds"]
    assert [row["wrong"] for row in line] == [rounds[1].seen["wrong"], told.wrong]


def test_its_files_have_pairs_stages_and_everything(client, judged):
    told = told_of(judged)
    analyst(client, judged.collection)
    rows = rows_in(client.get(f"{EXPECTED}differences.csv", ASKED))
    assert len(rows) == 3
    for row in rows:
        apart = told.difference(row["first"], row["second"])
        assert [float(row[name]) for name in ("difference", "low", "high")] == [
            apart.difference,
            apart.low,
            apart.high,
        ]
        assert apart.difference >= 0 and row["est"] == "design" and row["options"] == told.options
    rounds = rows_in(client.get(f"{EXPECTED}rounds.csv", ASKED))
    assert len(rounds) == 9 and rounds[-1]["when"] == "now" and rounds[0]["best"] == ""
    found = json.loads(client.get(f"{EXPECTED}expected.json", ASKED).content)
    assert found["facts"]["wrong"] == told.wrong and found["options"] == told.options
    assert [row["system"] for row in found["systems"]] == [row.system for row in told.means]
    assert len(found["stages"]) == 3 and len(found["differences"]) == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.62, "62 %"), (0.004, "<1 %"), (0.0, "0 %"), (0.995, ">99 %"), (1.0, "100 %"), (None, "–")],
)
def test_what_is_not_sure_is_neither_never_nor_always(value, text):
    assert text_of_html(likely(value)) == text
