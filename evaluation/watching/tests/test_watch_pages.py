"""The pages of watches, their files, the command and the calls."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from prometheus_client import generate_latest

from config.health.metrics import registry
from evaluation.models import Night, Verdict, Watch
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.models import Assignment, Baseline, Engine, Ranking, Role, System
from ratings.tests.calls import make_caller, pointers
from ratings.tests.cast import (
    Imported,
    grade,
    make_collection,
    make_member,
    make_rankings,
    make_rater,
    record_imported,
    signed_in,
    text,
)

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 2, 3, tzinfo=UTC)
FORM = {"name": "Nightly", "zone": "Europe/Berlin", "days": ["0", "4"], "depth": "10", "measure": "nDCG@5"}
FORM |= {"margin": "0.03", "budget": "0.05", "keep_days": "100", "at": "03:00"}


@pytest.fixture
def shop(db):
    shop = make_collection(queries=[f"q{i}" for i in range(12)])
    make_rankings(shop, {"base": dict.fromkeys([f"q{i}" for i in range(12)], "abcd")})
    return shop


@pytest.fixture
def admin(shop):
    return signed_in(make_member(shop, "lead", Role.ADMIN))


def page(client, name: str, *args, **params) -> str:
    response = client.get(reverse(name, args=["hills", *args]), params)
    assert response.status_code == 200
    return text(response)


def test_a_watch_is_made_changed_paused_and_removed(admin, shop):
    engine = Engine.objects.create(collection=shop, name="live", dialect="json", address="http://127.0.0.1:9/")
    assert "Nothing is watched yet" in page(admin, "watches")
    assert "New watch" in page(admin, "new_watch")
    admin.post(reverse("make_watch", args=["hills"]), FORM | {"engine": engine.pk, "options": "gain=exponential"})
    watch = Watch.objects.get()
    assert (watch.days, watch.margin, watch.zone) == ([0, 4], 0.03, "Europe/Berlin")
    assert watch.asked["measure"] == "nDCG@5" and watch.asked["gain"] == "exponential"
    assert watch.next_at.astimezone(UTC).hour in (1, 2) and watch.next_at.weekday() in (0, 4)
    form = page(admin, "change_watch", watch.pk)
    assert "Change Nightly" in form
    admin.post(reverse("pause_watch", args=["hills", watch.pk]), {"paused": "1"})
    watch.refresh_from_db()
    assert watch.paused and watch.next_at is None
    admin.post(reverse("save_watch", args=["hills", watch.pk]), FORM | {"engine": engine.pk, "margin": "0.1"})
    watch.refresh_from_db()
    assert watch.margin == 0.1 and "gain" not in watch.asked
    admin.post(reverse("remove_watch", args=["hills", watch.pk]))
    assert not Watch.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"measure": "nonsense"}, "nonsense"),
        ({"measure": "Judged@10"}, "is not better"),
        ({"options": "ties=trec_eval_9"}, "Leave ties out"),
        ({"options": "colour=red"}, "colour"),
        ({"margin": "2"}, "from 0 to 1"),
        ({"budget": "0"}, "from 0.001 to 0.5"),
        ({"at": ""}, "Say when"),
        ({"days": []}, "Say when"),
    ],
)
def test_a_watch_that_cannot_be_is_refused_with_a_cure(admin, shop, wrong, said):
    engine = Engine.objects.create(collection=shop, name="live", dialect="json", address="http://127.0.0.1:9/")
    answer = admin.post(reverse("make_watch", args=["hills"]), FORM | {"engine": engine.pk} | wrong)
    assert answer.status_code == 400 and said in text(answer) and not Watch.objects.exists()


def test_two_watches_have_two_names(admin, shop):
    make_watch(shop)
    assert "Another watch has this name" in text(admin.post(reverse("make_watch", args=["hills"]), FORM))


def test_the_trend_and_a_night_show_the_numbers_of_that_night(admin, shop):
    watch = make_watch(shop)
    make_night(watch, kind="not worse", due_at=AT)
    night = make_night(watch, due_at=AT + timedelta(days=1))
    Night.objects.create(watch=watch, due_at=AT + timedelta(days=2), state="gap", problem="It is down.")
    shown = page(admin, "watch", watch.pk)
    assert "Worse than the fixed baseline, base : −0.100" in shown and "It is down." in shown
    assert "An alarm stands" in shown and "0.5000" in shown
    address = reverse("watch", args=["hills", watch.pk])
    assert [admin.get(address, {"today": on}).context["today"] for on in "10"] == [True, False]
    shown = page(admin, "night", watch.pk, night.pk)
    assert "text of q0" in shown and "▼ −0.1000" in shown and "Answer the alarm" in shown
    query = shop.queries.get(key="q0")
    lists = page(admin, "night_query", watch.pk, night.pk, query.pk)
    assert "This night" in lists and "The fixed baseline" in lists and "not judged" in lists


def test_a_night_at_work_has_no_page_yet(admin, shop):
    night = Night.objects.create(watch=make_watch(shop), due_at=AT)
    assert admin.get(reverse("night", args=["hills", night.watch_id, night.pk])).status_code == 404
    assert "is at work" in page(admin, "watch", night.watch_id)


def test_analysts_read_and_change_nothing(shop):
    watch = make_watch(shop)
    night = make_night(watch)
    analyst = signed_in(make_member(shop, "anna", Role.ANALYST))
    assert "Answer the alarm" not in page(analyst, "night", watch.pk, night.pk)
    assert "Run now" not in page(analyst, "watch", watch.pk)


def test_the_first_night_of_an_alarm_leads_to_the_last_which_is_answered(admin, shop):
    watch = make_watch(shop)
    fine = make_night(watch, kind="not worse", due_at=AT)
    first = make_night(watch, due_at=AT + timedelta(days=1))
    last = make_night(watch, due_at=AT + timedelta(days=2))
    link = f"{reverse('night', args=['hills', watch.pk, last.pk])}#answer"
    shown = admin.get(reverse("night", args=["hills", watch.pk, first.pk])).content.decode()
    assert link in shown and "Answer the alarm" not in shown
    assert "stands" not in page(admin, "night", watch.pk, fine.pk)
    assert "Answer the alarm" in page(admin, "night", watch.pk, last.pk)


def test_two_alarms_have_a_form_each_and_the_error_is_in_that_which_was_sent(admin, shop):
    night = make_night(make_watch(shop))
    second = night.verdicts.get()
    second.pk, second.baseline = None, "release"
    second.save(force_insert=True)
    address = reverse("answer_alarm", args=["hills", night.watch_id, night.pk])
    answer = admin.post(address, {"baseline": "release", "answer": "fault"})
    ids = re.findall(r' id="([^"]+)"', answer.content.decode())
    assert len(ids) == len(set(ids)) and {"id_fixed_reason", "id_release_reason"} <= set(ids)
    assert answer.status_code == 400 and answer.content.decode().count("This field is required.") == 1


def test_an_alarm_is_answered_as_a_fault_once(admin, shop):
    night = make_night(make_watch(shop))
    address = reverse("answer_alarm", args=["hills", night.watch_id, night.pk])
    assert admin.post(address, {"baseline": "fixed", "answer": "fault"}).status_code == 400
    admin.post(address, {"baseline": "fixed", "answer": "fault", "reason": "a wrong synonym"})
    verdict = Verdict.objects.get()
    assert (verdict.answer, verdict.reason, verdict.answered_by.username) == ("fault", "a wrong synonym", "lead")
    assert "An alarm stands" not in page(admin, "watch", night.watch_id)
    again = admin.post(address, {"baseline": "fixed", "answer": "fault", "reason": "again"}, follow=True)
    assert "Somebody answered this alarm already" in text(again)


def test_an_alarm_answered_as_a_release_makes_a_system_of_the_night(admin, shop):
    night = make_night(make_watch(shop))
    address = reverse("answer_alarm", args=["hills", night.watch_id, night.pk])
    sent = {"baseline": "fixed", "answer": "release", "reason": "wanted so"}
    assert "Give the release a name" in text(admin.post(address, sent))
    assert "is a system already" in text(admin.post(address, sent | {"system": "base"}))
    admin.post(address, sent | {"system": "release 7"})
    system = System.objects.get(name="release 7")
    assert system.gaps and Ranking.objects.filter(system=system).count() == 12
    assert Baseline.objects.get(kind="release").system == system


def test_a_release_has_no_documents_that_were_deleted_since(admin, shop):
    night = make_night(make_watch(shop))
    Ranking.objects.all().delete()  # which would keep it
    first, *others = shop.documents.order_by("pk")[:3]
    first.delete()
    sent = {"baseline": "fixed", "answer": "release", "reason": "wanted so", "system": "release 7"}
    admin.post(reverse("answer_alarm", args=["hills", night.watch_id, night.pk]), sent)
    for ranking in System.objects.get(name="release 7").rankings.all():
        assert ranking.documents.tolist() == [document.pk for document in others]


def test_raters_are_asked_for_what_only_one_of_night_and_baseline_returned(admin, shop):
    night = make_night(make_watch(shop))  # a b c, and the baseline a b c d
    admin.post(reverse("ask_raters_of_night", args=["hills", night.watch_id, night.pk]), {"wanted": "2"})
    assert Assignment.objects.filter(pair__document__key="d").count() == Assignment.objects.count() == 12 * 2


def test_the_files_have_every_night_with_its_options(admin, shop):
    watch = make_watch(shop)
    make_night(watch, due_at=AT)
    address = reverse("watch_csv", args=["hills", watch.pk])
    header, row = admin.get(address, {"raw": "1"}).content.decode().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(cells["mean"]) == 0.5 and cells["label"] == "nDCG@10 lin log2"
    assert (cells["fixed_system"], cells["fixed_verdict"], cells["release_system"]) == ("base", "worse", "")
    told = admin.get(reverse("watch_json", args=["hills", watch.pk])).json()
    assert told["nights"][0]["verdicts"][0]["spent"] == 0.1 + 0.2


def test_a_command_and_a_call_add_a_night_from_a_system(admin, shop, capsys):
    watch = make_watch(shop, name="after the build")
    with pytest.raises(CommandError, match="It has after the build"):
        call_command("watch", "hills", "Nightly")
    with pytest.raises(CommandError, match="no system"):
        call_command("watch", "hills", watch.name, "--system", "none")
    call_command("watch", "hills", watch.name, "--system", "base")
    assert "n = 0" in capsys.readouterr().out  # nothing is judged
    caller = make_caller(make_member(shop, "tool", Role.ADMIN), shop, "read", "import")
    answer = caller.post(f"/collections/hills/watches/{watch.pk}/nights", {"system": "base"})
    assert answer.status_code == 200 and answer.json()["state"] == "told"
    assert len(caller.get(f"/collections/hills/watches/{watch.pk}").json()["nights"]) == 2
    assert caller.get("/collections/hills/watches").json()[0]["alarms"] == []
    call_command("watch", "hills", watch.name, "--format", "json")
    assert len(json.loads(capsys.readouterr().out)["nights"]) == 2


def test_a_command_makes_changes_pauses_runs_and_removes_a_watch(shop, capsys):
    Engine.objects.create(collection=shop, name="live", dialect="json", address="http://127.0.0.1:9/")
    call_command("watch", "hills", "Nightly", "--make", "engine=live", "at=03:00", "days=0,4", "margin=0.03")
    watch = Watch.objects.get()
    assert (watch.engine.name, watch.days, watch.margin, watch.depth) == ("live", [0, 4], 0.03, 20)
    assert watch.next_at.weekday() in (0, 4) and watch.asked["measure"] == "nDCG@10"
    call_command("watch", "hills", "Nightly", "--change", "measure=nDCG@5", "options=gain=exponential")
    watch.refresh_from_db()
    assert (watch.asked["measure"], watch.asked["gain"]) == ("nDCG@5", "exponential")
    assert (watch.engine.name, watch.days, watch.margin) == ("live", [0, 4], 0.03)
    call_command("watch", "hills", "Nightly", "--pause")
    watch.refresh_from_db()
    assert watch.paused and watch.next_at is None
    call_command("watch", "hills", "Nightly", "--resume")
    watch.refresh_from_db()
    assert not watch.paused and watch.next_at
    call_command("watch", "hills", "Nightly", "--run")
    assert "gap: " in capsys.readouterr().out and watch.nights.count() == 1  # the host is not allowed
    call_command("watch", "hills", "Nightly", "--remove")
    assert not Watch.objects.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--make", "paused=False"], "Pause a watch with --pause, and go on with --resume."),
        (["--make", "engine=other"], "engine: No engine 'other' is connected."),
        (["--make", "margin=2"], "margin: Choose a number from 0 to 1."),
        (["--make", "colour=red"], "colour: There is no such field. Fields are name, engine, depth,"),
        (["--make", "margin"], "'margin' says no value: write FIELD=VALUE"),
        (["--run"], "There is no watch 'Nightly' in hills. It has none. Make one with --make."),
    ],
)
def test_a_command_refuses_a_watch_by_the_rules_of_the_page(shop, words, said):
    with pytest.raises(CommandError) as error:
        call_command("watch", "hills", "Nightly", *words)
    assert said in str(error.value) and not Watch.objects.exists()


def test_a_call_makes_changes_pauses_runs_and_removes_a_watch(shop):
    Engine.objects.create(collection=shop, name="live", dialect="json", address="http://127.0.0.1:9/")
    lead = make_member(shop, "lead", Role.ADMIN)
    caller = make_caller(lead, shop, "import", "read")
    sent = {"name": "Nightly", "engine": "live", "at": "03:00", "days": [0, 4], "margin": 0.03}
    answer = caller.post("/collections/hills/watches", sent)
    assert answer.status_code == 201
    made = answer.json()
    assert sent.items() <= (made | {"name": made["watch"], "at": made["at"][:5]}).items()
    assert made["next_at"] and Watch.objects.get().created_by == lead
    path = f"/collections/hills/watches/{made['id']}"
    changed = caller.patch(path, {"measure": "nDCG@5", "paused": True}).json()
    assert changed["asked"]["measure"] == "nDCG@5" and changed["paused"] and changed["next_at"] is None
    assert (changed["engine"], changed["days"], changed["margin"]) == ("live", [0, 4], 0.03)
    refused = caller.patch(path, {"margin": 2, "engine": "live"})
    assert refused.status_code == 422 and pointers(refused) == ["/margin"]
    assert pointers(caller.patch(path, {"engine": "other"})) == ["/engine"]
    assert caller.post(f"{path}/nights", {}).json()["state"] == "gap"  # the host is not allowed
    assert caller.patch(path, {"engine": "", "paused": False}).json()["engine"] is None
    assert "asks no engine" in caller.post(f"{path}/nights", {}).json()["detail"]
    assert caller.delete(path).status_code == 204 and not Watch.objects.exists()
    assert caller.delete(path).status_code == 404


def test_a_watch_that_the_rules_of_today_refuse_can_be_paused(shop):
    watch = make_watch(shop, asked={"measure": "Judged@10"})
    caller = make_caller(make_member(shop, "boss", Role.ADMIN), shop, "import")
    path = f"/collections/hills/watches/{watch.pk}"
    assert caller.patch(path, {"margin": 0.1}).status_code == 422
    assert caller.patch(path, {"paused": True}).json()["paused"]


def test_no_watch_of_a_collection_that_is_put_away_changes(shop):
    watch = make_watch(shop)
    type(shop).objects.update(put_away_at=AT)
    caller = make_caller(make_member(shop, "lead", Role.ADMIN), shop, "import")
    path = "/collections/hills/watches"
    for answer in (
        caller.post(path, {"name": "Other"}),
        caller.patch(f"{path}/{watch.pk}", {"paused": True}),
        caller.post(f"{path}/{watch.pk}/nights", {"system": "base"}),
        caller.delete(f"{path}/{watch.pk}"),
    ):
        assert answer.status_code == 422 and "put away" in answer.json()["detail"]


def test_the_first_page_has_the_last_night_and_an_alarm(shop):
    make_night(make_watch(shop))
    analyst = signed_in(make_member(shop, "anna", Role.ANALYST))
    shown = text(analyst.get("/"))
    assert "Alarm: Nightly" in shown and "worse than base" in shown
    rater = signed_in(make_member(shop, "rater", Role.RATER))
    assert "Nightly" not in text(rater.get("/"))


def test_the_first_page_draws_the_last_nights_and_names_a_gap(shop):
    watch = make_watch(shop)
    for day, mean in enumerate((0.2, 0.4, None, 0.3, 0.2)):
        if mean is None:
            Night.objects.create(watch=watch, due_at=AT + timedelta(days=day), state="gap")
            continue
        night = make_night(watch, due_at=AT + timedelta(days=day))
        Night.objects.filter(pk=night.pk).update(means=night.means | {"mean": mean})
    analyst = signed_in(make_member(shop, "anna", Role.ANALYST))
    shown = analyst.get("/").content.decode()
    assert re.findall('points="([^"]+)"', shown) == ["0.0,18.0 25.0,2.0", "75.0,10.0 100.0,18.0"]
    assert "Means of the last 4 nights, from 0.2000 to 0.4000" in shown and "a gap" not in text(analyst.get("/"))
    Night.objects.create(watch=watch, due_at=AT + timedelta(days=5), state="gap")
    assert "; a gap on 7 Mar" in text(analyst.get("/"))


def test_pages_say_that_a_gap_came_after_the_last_night(admin, shop):
    watch = make_watch(shop)
    make_night(watch, due_at=AT)
    assert "The last night is a gap" not in page(admin, "watch", watch.pk)
    Night.objects.create(watch=watch, due_at=AT + timedelta(days=1), state="gap", problem="It is down.")
    shown = page(admin, "watch", watch.pk)
    assert "The last night is a gap , 3 March, 03:00: It is down. What follows is of 2 March" in shown
    assert "gap 3 Mar 2026" in page(admin, "watches")


def test_charts_have_the_share_judged_and_can_be_taken_away(admin, shop):
    watch = make_watch(shop)
    for day in range(2):
        make_night(watch, due_at=AT + timedelta(days=day))
    response = admin.get(reverse("watch", args=["hills", watch.pk]))
    charts = response.context["charts"]
    assert charts.keys() == {"nights", "judged", "fixed"}
    for chart in charts.values():
        assert f"chart={chart.id}&amp;picture=png" in response.content.decode()
    assert charts["nights"].spec["datasets"]["nights"][0]["judged"] == 0.1 + 0.2
    assert '"judged"' in json.dumps(charts["nights"].spec["layer"])


def test_metrics_have_the_last_night_of_each_watch(shop):
    watch = make_watch(shop)
    make_night(watch, due_at=AT)
    text = generate_latest(registry).decode()
    label = f'{{collection="{shop.pk}",watch="{watch.pk}"}}'
    assert f"idealist_watch_mean{label} 0.5" in text and f"idealist_watch_alarms{label} 1.0" in text
    assert f"idealist_watch_gap{label} 0.0" in text
    assert f"idealist_watch_judged{label} {0.1 + 0.2}" in text and f"idealist_watch_queries{label} 12.0" in text
    of_baseline = f'{{baseline="fixed",collection="{shop.pk}",watch="{watch.pk}"}}'
    for name, number in (("", -0.1), ("_low", -0.2), ("_high", -0.05)):
        assert f"idealist_watch_difference{name}{of_baseline} {number}" in text


def test_pages_of_nights_stay_where_the_scale_outgrew_what_the_watch_asks(admin, shop):
    watch = make_watch(shop, asked={"measure": "nDCG@10", "gain": "map:0=0,1=1"})  # the scale has more grades
    rating = Imported(shop.queries.first().pk, shop.documents.first().pk, grade(shop, "3"))
    record_imported(make_rater(shop, "trec"), [rating])
    night = make_night(watch)
    assert "base" in page(admin, "night", watch.pk, night.pk)
    assert "This night" in page(admin, "night_query", watch.pk, night.pk, shop.queries.first().pk)
    assert "base" in page(admin, "watch", watch.pk)
    answer = admin.get(reverse("watch", args=["hills", watch.pk]), {"today": "1"})
    assert answer.status_code == 400 and "map" in text(answer)
    answer = admin.post(reverse("ask_raters_of_night", args=["hills", watch.pk, night.pk]), {"wanted": "1"})
    assert answer.status_code == 302
