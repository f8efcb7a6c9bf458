"""The page of the decisive order, the worker that draws for it, and what it forecasts."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from evaluation.deciding import apps
from evaluation.deciding.aims import aim_of
from evaluation.deciding.drawing import draw_due, draw_next
from evaluation.deciding.report import expected_of
from evaluation.deciding.state import State
from evaluation.deciding.stop import forecast
from evaluation.measures import Options, parse_measure
from evaluation.scores import Asked
from ratings.desk import queue
from ratings.importing import chores
from ratings.models import Collection, Role, Round
from ratings.tests.cast import make_member, make_rater

from ...tests.hills import text_of
from ...tests.judged_worlds import Judged, small_world, stored

pytestmark = pytest.mark.django_db

NDCG = parse_measure("nDCG@5")


@pytest.fixture
def judged() -> Judged:
    return stored(small_world())


@pytest.fixture
def admin(client, judged):
    client.force_login(make_member(judged.collection, "ada", Role.ADMIN))
    return client


def state_of(judged: Judged) -> State:
    return State.of(judged.collection, Asked(NDCG, Options()))


def page(collection: Collection, query: str = "", name: str = "decisive") -> str:
    return reverse(name, args=[collection.slug]) + query


@pytest.fixture
def drawing(monkeypatch) -> None:
    """No pool is small."""
    monkeypatch.setattr("evaluation.deciding.state.SMALL_POOL_PAIRS", 0)


def test_the_order_is_chosen_with_some_systems(admin, judged, drawing):
    Collection.objects.update(order="query")
    asked = "?measure=nDCG@5&system=system0&system=system2"
    assert "Not in use" in text_of(admin.get(page(judged.collection, asked)))
    sent = admin.post(page(judged.collection, asked, "choose_decisive"))
    assert sent.status_code == 302
    judged.collection.refresh_from_db()
    assert judged.collection.order == "decisive"
    assert aim_of(judged.collection).systems == ("system0", "system2")
    shown = admin.get(sent["Location"], follow=True)  # the page asks what is stored
    assert shown.context["chosen"] == ["system0", "system2"] and str(shown.context["asked"].measure) == "nDCG@5"
    made = draw_next(judged.collection)
    assert made.aim["systems"] == ["system0", "system2"] and made.aim["gains"] == [0, 1, 3]


def test_an_unknown_system_is_refused(admin, judged):
    for name, send in (("decisive", admin.get), ("choose_decisive", admin.post)):
        assert send(page(judged.collection, "?system=system0&system=sistem1", name)).status_code == 400
    judged.collection.refresh_from_db()
    assert judged.collection.aim == {}


def test_a_stored_system_that_was_deleted_is_left_out(admin, judged):
    admin.post(page(judged.collection, "?system=system0&system=system2", "choose_decisive"))
    judged.collection.systems.get(name="system2").delete()
    shown = admin.get(page(judged.collection), follow=True)
    assert shown.status_code == 200 and shown.context["chosen"] == ["system0"]


def test_all_systems_mean_later_ones_too(admin, judged):
    admin.post(page(judged.collection, "?measure=nDCG@5&gain=exponential", "choose_decisive"))
    judged.collection.refresh_from_db()
    aim = aim_of(judged.collection)
    assert aim.systems is None and aim.options == Options(gain="exponential")


def test_what_has_no_expected_value_is_refused(admin, judged):
    Collection.objects.update(order="query")
    for asked in ("?measure=AP", "?measure=nDCG@5&unjudged=condensed", "?measure=nDCG"):
        assert admin.get(page(judged.collection, asked)).context["refused"]
        admin.post(page(judged.collection, asked, "choose_decisive"))
    assert Collection.objects.get().order == "query"


def test_the_worker_draws_when_little_of_what_is_drawn_is_left(judged):
    assert apps.draw_due in [chore.do for chore in chores.of_apps]
    rater = make_rater(judged.collection)
    assert draw_due() == 1
    assert draw_due() == 0  # enough is drawn
    first = Round.objects.get()
    judged.rate(rater, first.drawn.count() - 1)
    assert draw_due() == 1
    assert Round.objects.count() == 2


@pytest.mark.slow
def test_of_a_small_pool_raters_get_the_top_of_the_lists_and_no_interval_is_shown(admin, judged):
    """No document of the round stands lower in all lists than one that was left out."""
    aim, rater = Asked(NDCG, Options()), make_rater(judged.collection)
    assert draw_due() == 1
    first, state = Round.objects.get(), State.of(judged.collection, aim)
    assert (first.method, first.precision, first.threshold) == ("depth-1", 0, None)
    assert set(first.drawn.values_list("kind", flat=True)) == {"greedy"}
    best, chosen = state.pool.rank.min(axis=1), np.isin(state.pair, first.drawn.values_list("pair", flat=True))
    assert chosen.sum() == 30 and best[chosen].max() <= best[~chosen].min()
    judged.rate(rater, 30)
    told = expected_of(judged.collection, aim)
    assert (told.judged, told.est, told.wrong) == (30, "model", None)
    assert "judged from the top of the lists" in told.without
    shown = admin.get(page(judged.collection, "?measure=nDCG@5"))
    assert "more informative than drawn ones" in text_of(shown) and "plan" not in shown.context
    assert admin.get(page(judged.collection, name="expected")).status_code == 200
    while draw_due():
        judged.rate(rater, 100)
    told = expected_of(judged.collection, aim)
    assert told.final and [row.low for row in told.means] == [row.mean for row in told.means]


def test_what_was_begun_at_random_goes_on_so_in_a_small_pool(judged):
    judged.play(make_rater(judged.collection), 1)
    assert draw_due() == 1
    assert Round.objects.get(number=2).method == "rounds-1"
    assert Round.objects.get(number=2).drawn.filter(kind="random").exists()


def test_a_small_pool_that_has_grown_is_drawn_from_and_has_an_interval(judged, monkeypatch):
    rater = make_rater(judged.collection)
    draw_due()
    judged.rate(rater, 30)
    monkeypatch.setattr("evaluation.deciding.state.SMALL_POOL_PAIRS", 100)
    assert draw_due() == 1
    judged.rate(rater, 40)
    assert Round.objects.get(number=2).method == "rounds-1"
    assert expected_of(judged.collection, Asked(NDCG, Options())).est == "design"


def test_many_raters_at_work_get_a_larger_round(judged):
    raters = [make_rater(judged.collection, f"rater{number}") for number in range(3)]
    for rater in raters:
        queue.claim(rater)
    draw_due()
    assert Round.objects.get().drawn.count() >= 50


@pytest.mark.slow
def test_a_collection_without_more_to_draw_is_looked_at_again_when_it_changes(judged, monkeypatch):
    judged.play(make_rater(judged.collection), 100)
    tries = []
    monkeypatch.setattr("evaluation.deciding.drawing.draw_next", lambda *args, **kwargs: tries.append(1))
    assert draw_due() + draw_due() == 0
    assert len(tries) == 1
    judged.collection.touch()
    draw_due()
    assert len(tries) == 2


def test_other_orders_and_collections_that_are_put_away_get_no_rounds(judged):
    Collection.objects.update(order="depth")
    assert draw_due() == 0
    Collection.objects.update(order="decisive", put_away_at="2026-03-02T09:00Z")
    assert draw_due() == 0


@pytest.mark.slow
def test_the_forecast_falls_with_judgments(judged):
    rater = make_rater(judged.collection)
    judged.play(rater, 1)
    told = expected_of(judged.collection, Asked(NDCG, Options()))
    early = forecast(judged.collection, state_of(judged), told)
    assert not early.settled and (early.more is None or 0 < early.more <= early.left)
    if early.more is not None:
        assert early.fewest <= early.more <= early.most <= early.left
    judged.play(rater, 100)
    late = forecast(judged.collection, state_of(judged), expected_of(judged.collection, Asked(NDCG, Options())))
    assert late.settled and (late.more, late.left) == (0, 0)


def test_the_command_draws_a_round_and_gives_raters_the_order(judged, capsys):
    Collection.objects.update(order="query")
    call_command("draw_round", "world", measure="nDCG@3", system=["system0", "system1"], seed=4)
    made = Round.objects.get()
    assert (
        f"Round 1: {made.drawn.count()} of 206 pairs, 10 of them the most informative ones"
        in capsys.readouterr().out
    )
    assert Collection.objects.get().order == "decisive"
    assert (made.seed, made.aim["measure"], made.aim["systems"]) == (4, "nDCG@3", ["system0", "system1"])
    call_command("draw_round", "world")  # about the same
    assert Round.objects.get(number=2).aim["measure"] == "nDCG@3"


def test_a_command_that_cannot_draw_changes_nothing(judged):
    Collection.objects.update(order="query")
    for given in (
        {"measure": "AP"},
        {"system": ["bm25"]},
        {"unjudged": "condensed"},
        {"seed": 2**63},
        {"seed": -1},
    ):
        with pytest.raises(CommandError):
            call_command("draw_round", "world", **given)
    assert Collection.objects.get().order == "query" and not Round.objects.exists()


def test_a_pool_that_changes_while_a_round_is_drawn_overtakes_it(judged, monkeypatch):
    """Its new pairs could not be drawn, and would count as if they could."""
    read = State.of

    def read_then_changed(*args, **kwargs) -> State:
        state = read(*args, **kwargs)
        judged.collection.touch()
        return state

    monkeypatch.setattr(State, "of", read_then_changed)
    assert draw_next(judged.collection) is None and not Round.objects.exists()
    monkeypatch.setattr(State, "of", read)
    assert draw_next(judged.collection).number == 1
