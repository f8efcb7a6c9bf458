"""The pages of judges in every state, as axe and a ruler see them."""

import re
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from evaluation import frozen, scores
from evaluation.deciding.drawing import draw_next
from evaluation.tests.judged_worlds import make_rater, unfinished
from ratings.judges import sample as samples
from ratings.judges import uses, versions
from ratings.models import Collection, Judge, JudgeRun, JudgeVersion, MachineGrade, Pair, Probe, Role
from ratings.tests.cast import make_asked, make_collection, make_member, make_pair

from .looks import examine

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

State, Problem = JudgeRun.State, MachineGrade.Problem
MESSAGE = "It answers 401: no such key. Check address, model, key and parameters."


def look(page: Page, collection: Collection, *addresses: str) -> None:
    for address in addresses:
        page.goto(f"/collections/{collection.slug}/{address}")
        examine(page, address)


def version_of(judge: Judge, model: str = "llama3.1:8b") -> JudgeVersion:
    return versions.make_version(judge, versions.VersionSettings(model, "http://127.0.0.1:11434/v1"))[0]


def run_in(version: JudgeVersion, state: str, pairs: list[Pair], choice: str = "pool") -> JudgeRun:
    """A run in this state: of its pairs the first is graded, and each other one has another problem, or waits."""
    over = state in (State.DONE, State.CANCELLED, State.CAPPED)
    run = JudgeRun.objects.create(
        version=version, choice=choice, state=state, pairs=len(pairs), graded=1, calls=3, most_calls=40,
        ungraded=len(pairs) - 1 if over else 0, cost=Decimal("0.0123"), most_cost=Decimal("0.5"),
        tokens_in=1_234, tokens_out=56, beat_at=timezone.now(), message=MESSAGE if state == State.FAILED else "",
    )  # fmt: skip
    of = {"run": run, "version": version, "at": timezone.now(), "model": version.model, "tries": 1}
    problems = iter(Problem)
    for place, pair in enumerate(pairs):
        said = {"state": "graded", "value": 3, "answer": '{"grade": 3}'}
        if place and over:
            said = {
                "state": "ungraded",
                "problem": next(problems),
                "detail": "it answers 500",
                "answer": "I " * 200,
            }
        elif place:
            said = {"state": "waiting"}
        MachineGrade.objects.create(query=pair.query, document=pair.document, **of, **said)
    return run


def probed(version: JudgeVersion) -> JudgeRun:
    facts = {"choice": "probes", "state": State.DONE, "pairs": 4, "graded": 3, "ungraded": 1, "most_calls": 8}
    run = JudgeRun.objects.create(version=version, **facts)
    query = version.judge.collection.queries.first()
    for kind in Probe.Kind:
        said = (
            {"state": "graded", "value": 3}
            if kind != Probe.Kind.EMPTY
            else {"state": "ungraded", "problem": "refusal"}
        )
        Probe.objects.create(run=run, version=version, query=query, kind=kind, at=timezone.now(), **said)
    return run


def test_a_judge_from_its_name_to_its_runs(visit, settings):
    """Nobody has rated anything."""
    settings.PULL_HOSTS = ["127.0.0.1/32"]
    collection = make_collection(documents="abcdefghijkl")
    make_member(collection, "admin", Role.ADMIN)
    pairs = [make_pair(collection, query, document) for query in ("q1", "q2") for document in "abcdefghijkl"]
    page = visit.sign_in(visit.page(), "admin")
    look(page, collection, "judges/")
    judge = versions.make_judge(collection, "llama")
    own, against = f"judges/{judge.pk}/", f"machines/{judge.pk}/"
    look(page, collection, own, against)
    version = version_of(judge)
    version_of(judge, "qwen3:8b")
    look(page, collection, own, against)
    samples.draw(judge, 6, seed=1)
    wish = f"?version={version.pk}&size=3&seed=1&depth=5&concurrency=4&per_minute=0"
    look(page, collection, "judges/", own, against, f"{own}{wish}&choice=pool", f"{own}{wish}&choice=sample")
    look(page, collection, f"{own}?choice=nonsense")
    for place, state in enumerate((State.QUEUED, State.RUNNING, State.PAUSED, State.FAILED)):
        look(page, collection, f"judges/runs/{run_in(version, state, pairs[3 * place : 3 * place + 3]).pk}/")
    done = run_in(version, State.DONE, pairs[12:])
    look(page, collection, f"judges/runs/{done.pk}/", f"judges/runs/{done.pk}/?problem=refusal")
    JudgeRun.objects.filter(pk=done.pk).update(state=State.CAPPED)
    look(page, collection, f"judges/runs/{done.pk}/")
    look(page, collection, f"judges/runs/{probed(version).pk}/")
    for use in ("expected", "alone", "triage"):
        uses.switch_on(version, use)
    look(page, collection, own)
    page.locator("#version").get_by_role("button").click()  # without what a version needs
    examine(page, "a refused version")
    # A page whose form is refused says so in the console too; nothing else may.
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]


def test_a_judge_beside_people(visit):
    """Pairs that nobody drew, then a sample, with tags, answers again and probes."""
    judged = unfinished()
    collection = judged.collection
    make_member(collection, "eva", Role.ADMIN)
    collection.queries.filter(key__in=["q1", "q2", "q3"]).update(tags=["long", "shoes"])
    run = make_asked(collection, *Pair.objects.filter(query__collection=collection))
    version, judge = run.version, run.version.judge
    for grade in run.grades.all():  # right, but every fourth time
        truth = judged.truth[grade.query_id, grade.document_id].value
        MachineGrade.objects.filter(pk=grade.pk).update(value=truth if grade.pk % 4 else 3)
    page, against = visit.sign_in(visit.page(), "eva"), f"machines/{judge.pk}/"
    samples.take_rated(judge)
    look(page, collection, against)
    judged.rate(make_rater(collection, "all"), 10_000)
    samples.draw(judge, 120, seed=1)
    look(page, collection, against)
    again = JudgeRun.objects.create(version=version, choice="again", state=State.DONE, pairs=30, most_calls=60)
    for grade in list(run.grades.order_by("pk")[:30]):
        grade.pk, grade.run, grade.repeat, grade.value = None, again, 2, grade.value if grade.pk % 7 else 0
        grade._state.adding = True
        grade.save()
    probed(version)
    look(page, collection, against, f"{against}?measure=DCG@5", f"{against}?gain=map:0=0,1=1")
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 400 ", c)]


def test_numbers_that_machines_touched(visit):
    judged = unfinished()
    collection = judged.collection
    make_member(collection, "eva", Role.ADMIN)
    run = make_asked(collection, *Pair.objects.filter(query__collection=collection))
    MachineGrade.objects.filter(run=run, pk__in=list(run.grades.values_list("pk", flat=True)[::2])).update(value=0)
    for use in ("expected", "alone", "triage"):
        uses.switch_on(run.version, use)
    made = draw_next(collection, seed=5)
    judged.rate(make_rater(collection, "late"), made.drawn.count())
    found, _ = frozen.freeze(collection, "Spring", scores.Asked.of(collection), expected=True)
    page, ask = visit.sign_in(visit.page(), "eva"), "?measure=nDCG@5"
    addresses = [ask, f"compare/{ask}", f"expected/{ask}", f"pool/decisive/{ask}"]
    look(page, collection, *addresses, f"frozen/{found.short}/")
