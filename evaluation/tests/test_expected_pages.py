"""Expected values on the overview, on Compare and on their own page: beside the plain ones, never instead."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.analyses.expectations import Stage
from evaluation.decisive import Aim, draw_next, expected_of
from evaluation.measures import Options, parse_measure
from evaluation.views.expected import matrix
from evaluation.words import expectations
from evaluation.words.numbers import decimals, likely
from ratings import queue
from ratings.models import Collection, Document, Ranking, System

from .hills import analyst, make_hills, rows_in, spec_of, text_of
from .judged_worlds import Judged, make_rater, unfinished

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

URL, ASKED = "/collections/world/", {"measure": "nDCG@5"}
EXPECTED, COMPARE = f"{URL}expected/", f"{URL}compare/"


@pytest.fixture
def judged() -> Judged:
    return unfinished()


def told_of(judged: Judged):
    return expected_of(judged.collection, Aim(parse_measure("nDCG@5"), Options()))


def as_order(judged: Judged, order: str) -> None:
    Collection.objects.filter(pk=judged.collection.pk).update(order=order)


# The overview


def test_with_the_order_on_the_expected_value_leads(client, judged):
    told = told_of(judged)
    page = text_of(analyst(client, judged.collection).get(URL, ASKED))
    first = told.means[0]
    assert f"{first.system} has the highest expected mean nDCG@5, {decimals(first.mean)}" in page
    assert "The plain means mislead until all pairs are judged" in page
    assert "System Expected 90 % for missing judgments nDCG@5, plain 95 % interval Bounds" in page
    places = []
    for row in told.means:
        numbers = f"{decimals(row.mean)} {decimals(row.low)} to {decimals(row.high)} {decimals(row.plain)}"
        places.append(page.index(f"{row.system} {numbers}"))
    assert places == sorted(places)
    assert "nDCG@5 lin log2 ideal=judged unj=0 neg=minmax est=design" in page


def test_with_another_order_the_plain_value_leads_and_the_expected_one_stands_beside(client, judged):
    as_order(judged, "depth")
    told = told_of(judged)
    response = analyst(client, judged.collection).get(URL, ASKED)
    page = text_of(response)
    best = max(told.means, key=lambda row: row.plain)
    assert f"{best.system} has the highest mean nDCG@5, {decimals(best.plain)}" in page
    assert "mislead" not in page
    numbers = f"{decimals(best.plain)} {decimals(best.mean)} {decimals(best.low)} to {decimals(best.high)}"
    assert f"{best.system} {numbers}" in page
    assert "System nDCG@5 Expected 90 % for missing judgments" in page


def test_the_chart_has_the_expected_mean_its_interval_and_the_plain_one(client, judged):
    told = told_of(judged)
    response = analyst(client, judged.collection).get(URL, ASKED)
    rows = spec_of(response, "means")["datasets"]["means"]
    assert [row["system"] for row in rows] == [row.system for row in told.means]
    for row, mean in zip(rows, told.means, strict=True):
        numbers = [row[name] for name in ("expected", "expected_low", "expected_high", "mean")]
        assert numbers == [mean.mean, mean.low, mean.high, mean.plain]
        assert row["lowest"] <= row["mean"] <= row["highest"] and row["low"] is not None
        assert row["final"] is False and row["leader"] is (mean.system == told.leader)
    svg = client.get(URL, ASKED | {"chart": "means"})
    assert svg["Content-Type"] == "image/svg+xml"


def test_only_a_chance_of_95_percent_makes_a_leader(client, judged, monkeypatch):
    analyst(client, judged.collection)
    best = told_of(judged).means[0].best
    for least, leads in ((best, True), (best + 1e-9, False)):
        monkeypatch.setattr("evaluation.decisive.report.LEADER", least)
        judged.collection.touch()
        response = client.get(URL, ASKED)
        leaders = [row["leader"] for row in spec_of(response, "means")["datasets"]["means"]]
        assert leaders == [leads, False, False]
        assert ("It is the best with a chance of" in text_of(response)) is leads
        assert ("Which is the best is not settled" in text_of(response)) is not leads


def test_what_the_expected_values_leave_out_is_told(client, judged):
    analyst(client, judged.collection)
    assert "will not be judged" not in text_of(client.get(URL, ASKED))
    made = draw_next(judged.collection, seed=9)
    queue.retire(list(made.drawn.filter(kind="random").values_list("pair", flat=True))[:2])
    assert "Two drawn pairs will not be judged." in text_of(client.get(URL, ASKED))
    told = told_of(judged)
    assert told.nothing_found
    assert "nothing relevant found yet" in text_of(client.get(URL, ASKED))


def test_documents_outside_the_pool_are_told():
    class Told:
        means = [type("Row", (), {"outside": n}) for n in (2, 1)]
        nothing_found = skipped = 0
        machines = triage = ()

    (said,) = expectations.caveats(Told)
    assert said.startswith("Three documents above the cutoff are not in the pool, will not be judged")


def test_when_all_is_judged_the_mean_is_final_and_the_plain_one_leads(client, judged):
    judged.play(make_rater(judged.collection, "second"), 200)
    assert told_of(judged).final
    response = analyst(client, judged.collection).get(URL, ASKED)
    page = text_of(response)
    assert "It is full, because it is final" in page and "mislead" not in page and "final, 0." in page
    assert all(row["final"] for row in spec_of(response, "means")["datasets"]["means"])
    assert "It is final: all of the pool is judged." in text_of(client.get(EXPECTED, ASKED))


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
    page = text_of(client.get(EXPECTED, ASKED))
    assert "not all documents above the cutoff are in it. The means are the plain ones." in page
    assert "One document above the cutoff is not in the pool" in page and "final" not in page
    overview = text_of(client.get(URL, ASKED))
    assert "The expected means are the plain ones, without an interval: all of the pool is judged, but" in overview
    assert "because it is final" not in overview and "What a model expects" not in overview
    compared = text_of(client.get(COMPARE, ASKED))
    assert "mislead" not in overview + compared + page
    assert "No expected differences: all of the pool is judged, but not all documents" in compared


def test_without_rounds_nothing_is_estimated_unless_it_is_asked_for(client, monkeypatch):
    judged = unfinished(rounds=0)
    as_order(judged, "depth")
    judged.rate(make_rater(judged.collection, "first"), 30)
    told = told_of(judged)
    analyst(client, judged.collection)
    with monkeypatch.context() as patched:
        patched.setattr("evaluation.pages.expecting.expected_of", None)
        page = client.get(URL, ASKED).content.decode()
    assert "?measure=nDCG@5&amp;expected=1#expected" in page.replace("%40", "@")
    assert "Expected" not in page and "est=" not in page
    asked = text_of(client.get(URL, ASKED | {"expected": "1"}))
    assert "These means have no interval, because no round was drawn" in asked
    assert "“most informative first” draws the pairs to judge with known chances" in asked
    assert f"{told.means[0].system} {decimals(told.means[0].mean)}" in asked
    assert "90 % for missing judgments" not in asked and "est=model" in asked


def test_where_everything_is_judged_without_rounds_no_model_is_offered(client):
    page = text_of(analyst(client, make_hills()).get("/collections/hills/"))
    assert "What a model expects" not in page


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"measure": "AP"}, "No expected values: there is no expected value of AP"),
        ({"unjudged": "condensed"}, "No expected values: expected values need unjudged=zero"),
    ],
)
def test_one_quiet_line_says_why_there_is_none_only_where_rounds_exist(client, judged, asked, says):
    analyst(client, judged.collection)
    assert says in text_of(client.get(URL, asked))
    assert says in text_of(client.get(EXPECTED, asked))
    analyst(client, make_hills(), "bea")
    assert "No expected values" not in text_of(client.get("/collections/hills/", asked))


def test_a_pool_that_is_too_large_for_a_page_is_left_to_the_command(client, judged, monkeypatch):
    monkeypatch.setattr("evaluation.pages.expecting.MOST_PAIRS", 10)
    page = text_of(analyst(client, judged.collection).get(URL, ASKED))
    assert "The command evaluate --expected computes them." in page
    assert "mislead" in page and "has the highest mean nDCG@5" in page
    page = text_of(client.get(EXPECTED, ASKED))
    assert "The command evaluate --expected computes them." in page and "Choose a measure" not in page


def test_the_files_of_the_overview_name_both_numbers(client, judged):
    page = analyst(client, judged.collection).get(URL, ASKED).content.decode()
    assert "scores.csv?measure=nDCG@5&amp;expected=1" in page
    rows = rows_in(client.get(f"{URL}scores.csv?measure=nDCG@5&expected=1"))
    told = told_of(judged)
    for row in rows:
        if row["measure"] == "nDCG@5":
            assert float(row["expected"]) == told.of(row["system"]).mean and row["options"].endswith("est=design")
        else:
            assert row["expected"] == "" and "est=" not in row["options"]
    assert "expected" not in client.get(f"{URL}scores.csv?measure=nDCG@5").content.decode("utf-8-sig")


def test_another_round_is_seen_though_no_rating_came(client, judged):
    analyst(client, judged.collection)
    before = text_of(client.get(URL, ASKED))
    draw_next(judged.collection, seed=5)
    assert client.get(EXPECTED, ASKED).context["told"].rounds == 3
    assert client.get(URL, ASKED).context["expecting"].expected.rounds == 3
    assert before


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


def test_compare_has_the_expected_differences_where_rounds_exist(client, judged):
    told = told_of(judged)
    page = text_of(analyst(client, judged.collection).get(f"{URL}compare/", ASKED | {"baseline": "system0"}))
    for other in ("system1", "system2"):
        apart = told.difference("system0", other)
        assert f"{signed(apart.difference)} {signed(apart.low)} to {signed(apart.high)}" in page
    assert "Expected difference 90 % for missing judgments" in page
    assert "The plain means mislead until all pairs are judged" in page
    analyst(client, make_hills(), "bea")
    assert "Expected difference" not in text_of(client.get("/collections/hills/compare/"))


def signed(value: float) -> str:
    return decimals(value) if value < 0 else f"+{decimals(value)}"


def test_the_files_of_compare_have_them_too(client, judged):
    address = f"{URL}compare/"
    page = analyst(client, judged.collection).get(address, ASKED | {"baseline": "system0"}).content.decode()
    assert "differences.csv?measure=nDCG@5&amp;baseline=system0&amp;expected=1" in page
    asked = {"measure": "nDCG@5", "baseline": "system0", "expected": "1"}
    rows = rows_in(client.get(f"{address}differences.csv", asked))
    told = told_of(judged)
    for row in rows:
        assert float(row["expected"]) == told.difference("system0", row["system"]).difference
        assert row["options"].endswith("est=design")


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
    apart = told.difference(second, first)
    assert f"{signed(apart.low)} to {signed(apart.high)}" in page
    assert "6 of 380 such stops were wrong" in page and "Rater noise." in page
    assert f"chance of a wrong order {text_of_html(likely(told.wrong))}" in page


def text_of_html(text: str) -> str:
    from types import SimpleNamespace

    return text_of(SimpleNamespace(content=str(text).encode()))


def test_the_order_is_settled_from_ten_percent_down(client, judged, monkeypatch):
    wrong = told_of(judged).wrong
    analyst(client, judged.collection)
    for most, said in (
        (wrong, "Settled at 90 %: no two systems 0.02 apart"),
        (wrong - 1e-9, "Not settled: two systems"),
    ):
        monkeypatch.setattr("evaluation.decisive.report.WRONG", most)
        assert said in text_of(client.get(EXPECTED, ASKED))


def test_the_pairs_are_those_of_the_twenty_best_systems():
    class Told:
        without = ""
        means = [type("Row", (), {"system": f"s{place}", "mean": 1 - place / 100}) for place in range(21)]

        def difference(self, first: str, second: str) -> tuple[str, str]:
            return first, second

    rows = matrix(Told())
    names = [f"s{place}" for place in range(20)]
    assert [system for system, _ in rows] == names
    assert rows[0] == ("s0", [None, *((name, "s0") for name in names[1:])])


def test_it_draws_how_means_and_order_developed(client, judged):
    response = analyst(client, judged.collection).get(EXPECTED, ASKED)
    rounds = list(judged.collection.rounds.order_by("number"))
    rows = spec_of(response, "rounds")["datasets"]["rounds"]
    whens = ["before round 1", "before round 2", "now"]
    assert list(dict.fromkeys(row["when"] for row in rows)) == whens
    of_second = [row["expected"] for row in rows if row["when"] == "before round 2"]
    assert of_second == rounds[1].seen["mean"]
    told = told_of(judged)
    assert {row["system"]: row["expected"] for row in rows if row["when"] == "now"} == {
        row.system: row.mean for row in told.means
    }
    line = spec_of(response, "wrong")["datasets"]["rounds"]
    assert [row["wrong"] for row in line] == [rounds[1].seen["wrong"], told.wrong]
    assert f"before round 2 {rounds[1].judged}" in text_of(response)


def test_another_measure_has_the_numbers_and_says_where_the_lines_are(client, judged):
    response = analyst(client, judged.collection).get(EXPECTED, {"measure": "nDCG@3"})
    page = text_of(response)
    assert "Expected nDCG@3" in page and "developed" not in response.context["charts"]
    assert 'id="developed"' not in response.content.decode()
    assert "Rounds were also drawn for another measure" in page
    assert 'href="/collections/world/expected/?measure=nDCG@5"' in response.content.decode()


def test_without_rounds_it_says_what_to_do_next(client):
    judged = unfinished(rounds=0)
    analyst(client, judged.collection)
    assert "Nothing has been judged yet" in text_of(client.get(EXPECTED))
    judged.rate(make_rater(judged.collection, "first"), 3)
    assert "The worker draws the first one within minutes" in text_of(client.get(EXPECTED))
    as_order(judged, "depth")
    assert "Choose the order “most informative first” or “at random” on the page Pool." in text_of(
        client.get(EXPECTED)
    )


def test_rounds_of_which_nothing_is_judged_give_the_model_and_the_reason(client):
    judged = unfinished(rounds=0)
    judged.rate(make_rater(judged.collection, "first"), 30)
    draw_next(judged.collection, seed=1)
    page = text_of(analyst(client, judged.collection).get(EXPECTED, ASKED))
    assert "No interval can be given: no document that a round drew at random is judged yet" in page
    assert "Expected differences" not in page
    over = text_of(client.get(URL, ASKED))
    assert "These means have no interval, because no document that a round drew" in over
    assert "has the highest mean nDCG@5" in over and "est=design" not in over


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


def test_files_without_rounds_are_empty_and_say_why(client):
    analyst(client, make_hills())
    found = json.loads(client.get("/collections/hills/expected/expected.json").content)
    assert found["systems"] == [] and found["why"] == "No round was drawn."
    lines = client.get("/collections/hills/expected/differences.csv").content.decode("utf-8-sig").splitlines()
    assert len(lines) == 1 and lines[0].startswith("first,second,measure")


def test_a_stage_has_the_mean_width_of_its_intervals():
    stage = Stage("now", 3, 0.2, {"a": (0.5, 0.4, 0.6), "b": (0.7, 0.5, 0.9)}, {"a": 0.1, "b": 0.9})
    assert stage.width == pytest.approx(0.3)
    assert (stage.first, stage.of_first) == ("b", 0.9)
    none = Stage("before round 1", 0, None, {"a": (None, None, None)}, {"a": None})
    assert (none.width, none.first, none.of_first) == (None, "", None)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.62, "62 %"), (0.004, "<1 %"), (0.0, "0 %"), (0.995, ">99 %"), (1.0, "100 %"), (None, "–")],
)
def test_what_is_not_sure_is_neither_never_nor_always(value, text):
    assert text_of_html(likely(value)) == text
