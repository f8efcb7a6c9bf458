"""Machine grades as a feature of expected values: switched on by an admin, and named on what they touch."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from evaluation import frozen
from evaluation.deciding.drawing import draw_from, draw_next, triage
from evaluation.deciding.report import expected_of
from evaluation.deciding.state import State
from evaluation.frozen import bundle
from evaluation.measures import Options, parse_measure
from evaluation.scores import Asked
from evaluation.tests.worked import evaluated, recomputed, summary_of
from ratings.desk import queue
from ratings.judges import uses
from ratings.models import AuditEvent, JudgeRun, MachineGrade, Pair, Rater, Role
from ratings.pool import rounds
from ratings.tests.cast import make_asked, make_member

from ...tests.hills import text_of
from ...tests.judged_worlds import Judged, make_rater, unfinished

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

NDCG5 = parse_measure("nDCG@5")
AIM = Asked(NDCG5)
NAMED = "llama, version 1 (llama3)"


@pytest.fixture
def judged() -> Judged:
    return unfinished()


def asked_of(judged: Judged, wrong: int = 4, name: str = "llama") -> JudgeRun:
    """A judge that graded all of the pool by the truth, but every `wrong`-th pair as the lowest."""
    pairs = list(Pair.objects.filter(query__collection=judged.collection).order_by("pk"))
    run = make_asked(judged.collection, *pairs, name=name)
    for place, pair in enumerate(pairs):
        grade = judged.truth[pair.query_id, pair.document_id]
        value = judged.collection.grades.order_by("value").first().value if place % wrong == 0 else grade.value
        MachineGrade.objects.filter(run=run, query=pair.query_id, document=pair.document_id).update(value=value)
    return run


def client_of(judged: Judged, client):
    client.force_login(make_member(judged.collection, "root", Role.ADMIN))
    return client


def test_off_a_machine_touches_nothing_and_on_only_expected_values(judged):
    collection = judged.collection
    before, plain = expected_of(collection, AIM), summary_of(evaluated(collection, ["nDCG@5"], Options()))
    run = asked_of(judged)
    assert expected_of(collection, AIM).means == before.means
    uses.switch_on(run.version, "expected")
    after = expected_of(collection, AIM)
    assert (before.est, after.est) == ("design", "design+machine")
    assert after.options == before.options + "+machine"
    assert [row.plain for row in after.means] != [] and after.means != before.means
    assert {row.system: row.plain for row in after.means} == {row.system: row.plain for row in before.means}
    assert after.facts()["machines"] == [
        {"judge": "llama", "version": 1, "model": "llama3", "sha256": run.version.fingerprint}
    ]
    assert summary_of(evaluated(collection, ["nDCG@5"], Options())).equals(plain)
    uses.switch_off(run.version.judge, "expected")
    assert expected_of(collection, AIM).means == before.means


def test_grades_come_to_their_pairs_and_first_answers_count(judged):
    run = asked_of(judged)
    uses.switch_on(run.version, "expected")
    row = MachineGrade.objects.filter(run=run).order_by("pk").last()
    again = {"version": run.version, "query": row.query, "document": row.document, "state": "graded"}
    MachineGrade.objects.create(run=run, repeat=2, value=-9, **again)
    state = State.of(judged.collection, AIM)
    said = {
        (query, document): float(value)
        for query, document, value in run.grades.filter(repeat=1).values_list("query", "document", "value")
    }
    pks = state.record.queries["pk"].to_numpy()[state.pool.number[state.pool.query]]
    pairs = zip(pks.tolist(), state.pool.document.tolist(), strict=True)
    found = dict(zip(pairs, state.pool.machine[:, 0].tolist(), strict=True))
    assert found == said and len(said) == state.pool.pairs


def test_new_grades_of_a_machine_in_use_are_seen_without_a_rating(judged):
    run = asked_of(judged)
    late = list(run.grades.order_by("pk").values_list("pk", flat=True)[::2])
    MachineGrade.objects.filter(pk__in=late).update(state="waiting", value=None)
    JudgeRun.objects.filter(pk=run.pk).update(graded=run.pairs - len(late))
    uses.switch_on(run.version, "expected")
    before = expected_of(judged.collection, AIM).means
    MachineGrade.objects.filter(pk__in=late).update(state="graded", value=0)
    JudgeRun.objects.filter(pk=run.pk).update(graded=run.pairs)
    assert expected_of(judged.collection, AIM).means != before


def test_a_version_without_grades_is_refused_and_one_judge_has_one_version(judged):
    run = make_asked(judged.collection)
    with pytest.raises(ValueError, match="has graded no pair yet"):
        uses.switch_on(run.version, "expected")
    assert not run.version.judge.uses.exists()
    assert not uses.switch_off(run.version.judge, "expected")


def rows_of(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))


def test_every_page_file_and_command_names_it(judged, client, capsys):
    collection, client = judged.collection, client_of(judged, client)
    uses.switch_on(asked_of(judged).version, "expected")

    def asked(name: str, **more: str):
        return client.get(reverse(name, args=[collection.slug]), {"measure": "nDCG@5", **more})

    for name in ("overview", "compare", "expected"):
        page = text_of(asked(name))
        assert NAMED in page and "est=design+machine" in page, name
    told = asked("expected_json").json()
    # The first round was drawn without it.
    assert told["stages"][-1]["machines"] == [NAMED] and told["stages"][0]["machines"] == []
    rows = rows_of(asked("expected_rounds_csv").content.decode())
    assert {row["when"]: row["machines"] for row in rows}["now"] == NAMED and rows[0]["machines"] == ""
    for name in ("overview_csv", "compare_csv"):
        rows = rows_of(asked(name, expected="1").content.decode())
        assert {row["est"] for row in rows if row["measure"] == "nDCG@5"} == {"design+machine"}, name
    answer = asked("overview_json", expected="1").json()
    assert answer["expected"]["nDCG@5"]["machines"][0]["version"] == 1
    for command in (["evaluate", collection.slug], ["compare", collection.slug, "system0"]):
        call_command(*command, "--measure", "nDCG@5", "--expected")
        printed = capsys.readouterr()
        assert "est=design+machine" in printed.out and NAMED in printed.err


def test_a_frozen_one_keeps_what_it_takes_to_compute_it_again(judged, client, tmp_path):
    collection = judged.collection
    without, _ = frozen.freeze(collection, "without", AIM, expected=True)
    uses.switch_on(asked_of(judged).version, "expected")
    found, new = frozen.freeze(collection, "with", AIM, expected=True)
    assert new and json.loads(found.settings)["format"] == 2 and json.loads(without.settings)["format"] == 1
    evaluation, again = frozen.evaluation_of(found), recomputed(found)
    told = expected_of(collection, AIM)
    outlook = evaluation.expected[NDCG5]
    assert outlook.facts()["machines"] == told.facts()["machines"]
    for row in told.means:
        assert outlook.row(row.system)["expected"] == again.expected[NDCG5].row(row.system)["expected"]
        assert outlook.row(row.system)["expected"] == pytest.approx(row.mean, abs=0.02)
    assert "machines.jsonl" in [file.name for file in frozen.files_of(found)]
    assert "machines.jsonl" not in [file.name for file in frozen.files_of(without)]
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(bundle.bundle(found)))
    call_command("evaluate_bundle", str(path))  # refuses where a digit differs
    with zipfile.ZipFile(path) as parts:
        (name,) = (name for name in parts.namelist() if name.endswith("machines.jsonl"))
        lines = parts.read(name).decode().splitlines()
    assert len(lines) == told.pairs and set(json.loads(lines[0])) == {"query", "document", "grades"}
    page = text_of(client_of(judged, client).get(reverse("frozen_evaluation", args=[collection.slug, found.hash])))
    assert NAMED in page and "est=design+machine" in page
    # Frozen before, it stays as it was.
    assert not frozen.evaluation_of(without).expected[NDCG5].facts()["machines"]


def test_an_admin_switches_it_on_and_off_and_the_audit_knows(judged, client):
    client, run = client_of(judged, client), asked_of(judged)
    judge = run.version.judge
    address = reverse("use_judge", args=[judged.collection.slug, judge.pk])
    for version in (run.version.pk, ""):
        client.post(address, {"use": "expected", "version": version})
        assert judge.uses.exists() == bool(version)
    noted = AuditEvent.objects.filter(act="judge.use").order_by("pk").values_list("about", "detail")
    assert list(noted) == [("llama", {"use": "expected", "version": version}) for version in (1, None)]
    other = make_asked(judged.collection, name="other").version.pk
    for sent in ({"use": "gold", "version": run.version.pk}, {"use": "expected", "version": other}):
        assert client.post(address, sent).status_code == 404


def test_raters_numbers_are_the_same_and_no_rater_was_made(judged):
    raters = Rater.objects.count()
    run = asked_of(judged)
    uses.switch_on(run.version, "expected")
    state = State.of(judged.collection, AIM)
    assert Rater.objects.count() == raters and not np.isnan(state.pool.machine).any()
    assert (state.level == State.of(judged.collection, AIM, ()).level).all()
    assert queue.waiting_in_rounds(judged.collection, 10_000) >= 0


# Triage


def test_triage_is_named_on_the_round_and_on_numbers_once_it_touched_them(judged, client, capsys, tmp_path):
    collection, client, rater = judged.collection, client_of(judged, client), make_rater(judged.collection, "late")
    run = asked_of(judged)
    uses.switch_on(run.version, "triage")
    before = expected_of(collection, AIM)
    assert (before.est, before.triage) == ("design", ())
    made = draw_next(collection, seed=9)
    assert made.seen["triage"] == [NAMED] and "machines" not in made.seen
    assert expected_of(collection, AIM).est == "design"  # nobody has rated one of its pairs
    judged.rate(rater, made.drawn.count())
    uses.switch_off(run.version.judge, "triage")  # what was drawn stays named
    told = expected_of(collection, AIM)
    assert (told.est, told.triage, told.machines) == ("design+triage", (NAMED,), ())
    ask = "?measure=nDCG@5"
    for name in ("overview", "compare", "expected"):
        page = text_of(client.get(reverse(name, args=[collection.slug]) + ask))
        assert NAMED in page and "est=design+triage" in page, name
    answer = client.get(reverse("overview_json", args=[collection.slug]) + ask + "&expected=1").json()
    assert answer["expected"]["nDCG@5"]["triage"] == [NAMED] and answer["options"]["est"] == "design+triage"
    call_command("evaluate", collection.slug, "--measure", "nDCG@5", "--expected")
    printed = capsys.readouterr()
    assert "est=design+triage" in printed.out and NAMED in printed.err
    stages = rows_of(client.get(reverse("expected_rounds_csv", args=[collection.slug]) + ask).content.decode())
    assert {row["when"]: row["triage"] for row in stages} == {
        "before round 1": "", "before round 2": "", "before round 3": NAMED, "now": ""
    }  # fmt: skip
    header, *lines = rounds.table(collection)
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert {row["round"]: row["triage"] for row in rows} == {1: "[]", 2: "[]", 3: json.dumps([NAMED])}
    found, _ = frozen.freeze(collection, "triaged", AIM, expected=True)
    assert recomputed(found).expected[NDCG5].facts()["triage"] == [NAMED]
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(bundle.bundle(found)))
    call_command("evaluate_bundle", str(path))  # refuses where a digit differs
    assert NAMED in client.get(reverse("frozen_evaluation", args=[collection.slug, found.hash])).content.decode()


def test_triage_changes_the_rates_that_are_stored_and_no_number_before(judged):
    """The same round without it, and with a judge that graded nothing of the pool, is the same."""
    run, plain = asked_of(judged), summary_of(evaluated(judged.collection, ["nDCG@5"], Options()))
    state = State.of(judged.collection, AIM)
    assert triage(judged.collection, state) == ((), None)
    before = expected_of(judged.collection, AIM).means
    uses.switch_on(run.version, "triage")
    named, factors = triage(judged.collection, state)
    assert list(map(str, named)) == [NAMED] and factors.min() >= 1 and np.ptp(factors) > 0.5
    assert expected_of(judged.collection, AIM).means == before
    assert summary_of(evaluated(judged.collection, ["nDCG@5"], Options())).equals(plain)
    drawn, _ = draw_from(state, 30, 7, factors=factors)
    same, _ = draw_from(state, 30, 7)
    assert not np.array_equal(drawn.rate, same.rate)
    MachineGrade.objects.filter(run=run).update(repeat=2)
    assert triage(judged.collection, state) == ((), None)


def test_raters_cannot_tell_triage(judged, client):
    """What they are sent is a pair of the round, as any other, without a word of it."""
    uses.switch_on(asked_of(judged).version, "triage")
    made = draw_next(judged.collection, seed=9)
    rater = make_rater(judged.collection, "blind")
    (task,) = queue.claim(rater)
    assert made.drawn.filter(pair=task.pair).exists()
    client.force_login(rater.user)
    page = client.get(reverse("rate", args=[judged.collection.slug])).content.decode()
    assert not any(word in page for word in ("llama", "triage", "machine"))
